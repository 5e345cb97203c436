#include "cli/settings.h"

static ridge_setting *find(ridge_settings_of *s, int option) {
    for (int i = 0; i < s->n; i++)
        if (s->setting[i].option == option) return &s->setting[i];
    return NULL;
}

ridge_status ridge_settings_for(const ridge_options *o, const ridge_target *target, ridge_settings_of *s,
                                ridge_error *error) {
    *s = (ridge_settings_of){.combinations = 1};
    for (int i = 0; i < o->n_settings; i++) {
        char name[64];
        const char *values = NULL;
        RIDGE_TRY(ridge_parse_setting(o->settings[i], name, sizeof name, &values, error));
        const int k = ridge_target_option(target, name);
        if (k < 0) continue;
        if (find(s, k))
            return ridge_fail(error, RIDGE_INVALID, "--option %.40s is given twice: write %.40s=A,B for both", name,
                              name);
        ridge_setting *setting = &s->setting[s->n++];
        setting->option = k;
        RIDGE_TRY(ridge_parse_option_values(&target->options[k], values, setting->value, &setting->n, error));
        if (s->combinations > RIDGE_MAX_SIZES / setting->n)
            return ridge_fail(error, RIDGE_INVALID, "--option: more than %d combinations of values", RIDGE_MAX_SIZES);
        s->combinations *= setting->n;
    }
    return RIDGE_OK;
}

void ridge_settings_apply(const ridge_settings_of *s, int i, double option[RIDGE_MAX_OPTIONS]) {
    for (int k = s->n - 1; k >= 0; k--) {
        const ridge_setting *setting = &s->setting[k];
        option[setting->option] = setting->value[i % setting->n];
        i /= setting->n;
    }
}

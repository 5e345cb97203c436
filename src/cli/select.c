#include "cli/select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "verify/npy.h"

/* ---- targets
 * --------------------------------------------------------------------------------------------------------- */

/* Edits (insert, delete, replace) from a to b: finds what a mistyped name meant. */
static int edit_distance(const char *a, const char *b) {
    enum { LONGEST = 63 };
    int row[LONGEST + 1], n = (int)strlen(b);
    if (n > LONGEST || strlen(a) > LONGEST) return LONGEST;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

static ridge_status no_such_target(const char *pattern, ridge_error *error) {
    const char *colon = strchr(pattern, ':'), *name = colon ? colon + 1 : pattern, *nearest = NULL;
    int half = (int)strlen(name) / 2, best = half < 5 ? half + 1 : 6; /* one more than is still the same word */
    for (int i = 0; i < ridge_target_count; i++) {
        int distance = edit_distance(name, ridge_targets[i]->name);
        if (distance < best) best = distance, nearest = ridge_targets[i]->name;
    }
    return ridge_fail(error, RIDGE_NOT_FOUND, "no target matches '%.60s'%s%s%s (ridge list shows all)", pattern,
                      nearest ? ": did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

ridge_status ridge_select_targets(const ridge_options *o, const ridge_target **targets, int *n, ridge_error *error) {
    for (int p = 0; p < o->n_patterns; p++) {
        bool any = false;
        for (int i = 0; i < ridge_target_count; i++) any |= ridge_pattern_matches(o->patterns[p], ridge_targets[i]);
        if (!any) return no_such_target(o->patterns[p], error);
    }
    *n = 0;
    for (int i = 0; i < ridge_target_count; i++) {
        const ridge_target *t = ridge_targets[i];
        bool wanted = o->n_patterns == 0;
        for (int p = 0; p < o->n_patterns; p++) wanted |= ridge_pattern_matches(o->patterns[p], t);
        if (wanted && (!o->chapter || strcmp(o->chapter, t->chapter) == 0)) targets[(*n)++] = t;
    }
    if (*n == 0)
        return ridge_fail(error, RIDGE_NOT_FOUND, "no target of chapter '%.40s' is selected (ridge list shows all)",
                          o->chapter ? o->chapter : "");
    return RIDGE_OK;
}

/* ---- cases
 * ------------------------------------------------------------------------------------------------------------- */

static bool has_dtype(const ridge_target *target, ridge_dtype dtype) {
    for (int i = 0; i < target->n_cases; i++)
        if (target->cases[i].dtype == dtype) return true;
    return false;
}

/* A case on one backend: variants of different backends are never measured against each other. */
static ridge_status add_on(ridge_selection *s, const ridge_options *o, const ridge_target *target, const ridge_case *c,
                           ridge_backend backend, ridge_error *error) {
    ridge_selected item = {.target = target, .c = *c, .backend = backend};
    for (int v = 0; v < target->n_variants && item.n_variants < RIDGE_MAX_SELECTED_VARIANTS; v++) {
        const ridge_variant *variant = &target->variants[v];
        if (ridge_variant_backend(variant) != backend) continue;
        if (o->variant && fnmatch(o->variant, variant->name, 0) != 0) continue;
        item.variants[item.n_variants++] = v;
    }
    if (item.n_variants == 0) return RIDGE_OK;
    ridge_selected *more = realloc(s->items, (size_t)(s->n + 1) * sizeof *more);
    if (!more) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d cases", s->n + 1);
    s->items = more;
    s->items[s->n++] = item;
    return RIDGE_OK;
}

/* Takes what --option says of this target into c. */
static void take_settings(const ridge_options *o, const ridge_target *target, ridge_case *c) {
    for (int i = 0; i < o->n_settings; i++) {
        char name[64];
        double value = 0;
        (void)ridge_parse_setting(o->settings[i], name, sizeof name, &value, NULL); /* it was looked at before */
        const int option = ridge_target_option(target, name);
        if (option >= 0) c->option[option] = value;
    }
}

static bool is_selected(const ridge_selection *s, const ridge_target *target, const ridge_case *c) {
    for (int i = 0; i < s->n; i++)
        if (s->items[i].target == target && ridge_case_same(&s->items[i].c, c)) return true;
    return false;
}

static ridge_status add(ridge_selection *s, const ridge_options *o, const ridge_target *target, const ridge_case *like,
                        ridge_error *error) {
    ridge_case told = *like, *c = &told;
    take_settings(o, target, c);
    if (o->n_settings > 0 && is_selected(s, target, c)) return RIDGE_OK; /* differed only in what is now told */
    const char *why = target->reject ? target->reject(c) : NULL;
    if (why) return ridge_fail(error, RIDGE_INVALID, "%s cannot take these sizes: %s", target->name, why);
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) {
        const char *name = ridge_backend_name((ridge_backend)b);
        if (!ridge_case_is_for(c, (ridge_backend)b) || (o->backend && strcmp(name, o->backend) != 0)) continue;
        RIDGE_TRY(add_on(s, o, target, c, (ridge_backend)b, error));
    }
    return RIDGE_OK;
}

/* The backends that have cases of this type. */
static unsigned backends_taking(const ridge_target *target, ridge_dtype dtype) {
    unsigned only = 0;
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++)
        if (ridge_target_takes(target, (ridge_backend)b, dtype)) only |= 1u << b;
    return only;
}

static void dims_text(const ridge_target *target, char *text, size_t size) {
    text[0] = '\0';
    for (int d = 0; d < ridge_target_rank(target); d++)
        (void)snprintf(text + strlen(text), size - strlen(text), "%s%s", d ? "x" : "", target->dims[d]);
}

static ridge_status add_sizes(ridge_selection *s, const ridge_options *o, const ridge_target *target,
                              ridge_error *error) {
    char dims[120];
    dims_text(target, dims, sizeof dims);
    for (int i = 0; i < o->sizes.n; i++) {
        const ridge_size *size = &o->sizes.size[i];
        if (size->rank != ridge_target_rank(target))
            return ridge_fail(error, RIDGE_INVALID, "%s takes sizes of %d extents, %s, not of %d", target->name,
                              ridge_target_rank(target), dims, size->rank);
        for (int d = 1; d < RIDGE_DTYPE_COUNT; d++) {
            if (!has_dtype(target, (ridge_dtype)d) || (o->dtype && o->dtype != (ridge_dtype)d)) continue;
            ridge_case c = {.dtype = (ridge_dtype)d, .only = backends_taking(target, (ridge_dtype)d)};
            memcpy(c.dim, size->dim, sizeof c.dim);
            ridge_target_options(target, c.option);
            RIDGE_TRY(add(s, o, target, &c, error));
        }
    }
    return RIDGE_OK;
}

static ridge_status add_cases(ridge_selection *s, const ridge_options *o, const ridge_target *target, bool edges,
                              ridge_error *error) {
    for (int i = 0; i < target->n_cases; i++) {
        const ridge_case *c = &target->cases[i];
        if ((c->edge && !edges) || (!c->edge && o->edges) || (o->dtype && c->dtype != o->dtype)) continue;
        RIDGE_TRY(add(s, o, target, c, error));
    }
    return RIDGE_OK;
}

/* ---- the user's own arrays
 * ------------------------------------------------------------------------------------------------ */

static int find_input(const ridge_target *target, const char *name) {
    for (int i = 0; i < target->n_in; i++)
        if (strcmp(target->in[i].name, name) == 0) return i;
    return -1;
}

static ridge_status no_such_input(const ridge_target *target, const char *name, ridge_error *error) {
    char names[160] = "";
    for (int i = 0; i < target->n_in; i++)
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", target->in[i].name);
    return ridge_fail(error, RIDGE_INVALID, "%s has no input '%.40s': it has %s", target->name, name, names);
}

/* Takes the extents an array fixes into c; -1 stands for one not yet known. */
static ridge_status take_shape(const ridge_target *target, int input, const ridge_npy *npy, const char *file,
                               ridge_case *c, ridge_error *error) {
    const ridge_tensor_spec *spec = &target->in[input];
    if (npy->rank != spec->rank)
        return ridge_fail(error, RIDGE_INVALID, "%.120s: input %s of %s has %d dimensions, the array has %d", file,
                          spec->name, target->name, spec->rank, npy->rank);
    for (int d = 0; d < spec->rank; d++) {
        int64_t *extent = &c->dim[spec->dim[d]];
        if (*extent >= 0 && *extent != npy->shape[d])
            return ridge_fail(error, RIDGE_INVALID, "%.120s: %s is %lld elsewhere and %lld in input %s", file,
                              target->dims[spec->dim[d]], (long long)*extent, (long long)npy->shape[d], spec->name);
        *extent = npy->shape[d];
    }
    return RIDGE_OK;
}

static ridge_status convert_inputs(ridge_selection *s, const ridge_target *target, const ridge_npy *npys,
                                   const ridge_case *c, ridge_error *error) {
    for (int i = 0; i < target->n_in; i++) {
        if (!npys[i].data) continue;
        const ridge_tensor_spec *spec = &target->in[i];
        int64_t limit = spec->fill == RIDGE_FILL_INDEX ? c->dim[spec->index_dim] : 0;
        void *data = NULL;
        RIDGE_TRY(ridge_npy_convert(&npys[i], ridge_spec_dtype(spec, c), limit, spec->name, &data, error));
        s->user[i].data = data;
        s->has_user = true;
    }
    return RIDGE_OK;
}

static ridge_status read_inputs(ridge_selection *s, const ridge_options *o, const ridge_target *target, ridge_npy *npys,
                                ridge_error *error) {
    ridge_case c = {.dtype = o->dtype ? o->dtype : target->cases[0].dtype};
    ridge_target_options(target, c.option);
    for (int d = 0; d < RIDGE_MAX_RANK; d++) c.dim[d] = -1;
    if (o->sizes.n == 1 && o->sizes.size[0].rank == ridge_target_rank(target))
        memcpy(c.dim, o->sizes.size[0].dim, sizeof c.dim);
    for (int i = 0; i < o->n_inputs; i++) {
        char name[64];
        const char *file;
        RIDGE_TRY(ridge_parse_input(o->inputs[i], name, sizeof name, &file, error));
        int input = find_input(target, name);
        if (input < 0) return no_such_input(target, name, error);
        if (npys[input].data) return ridge_fail(error, RIDGE_INVALID, "--input %s is given twice", name);
        RIDGE_TRY(ridge_npy_read(file, &npys[input], error));
        RIDGE_TRY(take_shape(target, input, &npys[input], file, &c, error));
    }
    for (int d = 0; d < ridge_target_rank(target); d++)
        if (c.dim[d] < 0)
            return ridge_fail(error, RIDGE_INVALID, "the inputs do not say how large '%s' is: give --sizes too",
                              target->dims[d]);
    RIDGE_TRY(convert_inputs(s, target, npys, &c, error));
    c.only = backends_taking(target, c.dtype);
    return add(s, o, target, &c, error);
}

static ridge_status select_inputs(ridge_selection *s, const ridge_options *o, const ridge_target *target,
                                  ridge_error *error) {
    if (o->dtype && !has_dtype(target, o->dtype))
        return ridge_fail(error, RIDGE_INVALID, "%s has no %s", target->name, ridge_dtype_name(o->dtype));
    ridge_npy npys[RIDGE_MAX_INPUTS] = {0};
    ridge_status status = read_inputs(s, o, target, npys, error);
    for (int i = 0; i < RIDGE_MAX_INPUTS; i++) ridge_npy_free(&npys[i]);
    return status;
}

/* Each --option must mean something to one of the targets at least. */
static ridge_status check_settings(const ridge_options *o, const ridge_target *const *targets, int n,
                                   ridge_error *error) {
    for (int i = 0; i < o->n_settings; i++) {
        char name[64], known[200] = "";
        double value = 0;
        bool any = false;
        RIDGE_TRY(ridge_parse_setting(o->settings[i], name, sizeof name, &value, error));
        for (int t = 0; t < n; t++) {
            any |= ridge_target_option(targets[t], name) >= 0;
            for (int k = 0; k < RIDGE_MAX_OPTIONS && n == 1 && targets[t]->options[k].name; k++)
                (void)snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", k ? ", " : ": it has ",
                               targets[t]->options[k].name);
        }
        if (!any)
            return ridge_fail(error, RIDGE_INVALID, "%s has no option '%.40s'%s",
                              n == 1 ? targets[0]->name : "none of these targets", name, known);
    }
    return RIDGE_OK;
}

/* ---- all together
 * ------------------------------------------------------------------------------------------------------------ */

/* A target's cases come backend by backend. */
static int by_backend(const ridge_selected *a, const ridge_selected *b) {
    return a->target == b->target && a->backend > b->backend;
}

static void group_by_backend(ridge_selection *s) {
    for (int i = 1; i < s->n; i++)
        for (int k = i; k > 0 && by_backend(&s->items[k - 1], &s->items[k]); k--) {
            const ridge_selected swap = s->items[k];
            s->items[k] = s->items[k - 1];
            s->items[k - 1] = swap;
        }
}

ridge_status ridge_select(const ridge_options *o, bool edges, ridge_selection *s, ridge_error *error) {
    *s = (ridge_selection){0};
    const ridge_target **targets = calloc((size_t)ridge_target_count + 1, sizeof *targets);
    if (!targets) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the list of targets");
    int n = 0;
    ridge_status status = ridge_select_targets(o, targets, &n, error);
    if (status == RIDGE_OK) status = check_settings(o, targets, n, error);
    if (status == RIDGE_OK && o->n_inputs > 0) {
        status = n == 1 ? select_inputs(s, o, targets[0], error)
                        : ridge_fail(error, RIDGE_INVALID, "--input needs exactly one target, not %d: name it", n);
    } else {
        for (int i = 0; i < n && status == RIDGE_OK; i++)
            status = o->sizes.n > 0 ? add_sizes(s, o, targets[i], error) : add_cases(s, o, targets[i], edges, error);
    }
    free(targets);
    group_by_backend(s);
    if (status == RIDGE_OK && s->n == 0)
        return ridge_fail(error, RIDGE_NOT_FOUND, "no variant matches --variant, --backend and --dtype together");
    return status;
}

ridge_status ridge_selection_fit(const ridge_options *o, const ridge_machine *machine, ridge_selection *s,
                                 ridge_error *error) {
    if (o->backend || machine->gpu.sm) return RIDGE_OK;
    int kept = 0;
    for (int i = 0; i < s->n; i++)
        if (s->items[i].backend != RIDGE_BACKEND_cuda) s->items[kept++] = s->items[i];
    s->n = kept;
    if (kept > 0) return RIDGE_OK;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "nothing of this can run here: %s", machine->no_gpu);
}

void ridge_selection_free(ridge_selection *s) {
    for (int i = 0; i < RIDGE_MAX_INPUTS; i++) free((void *)(uintptr_t)s->user[i].data);
    free(s->items);
    *s = (ridge_selection){0};
}

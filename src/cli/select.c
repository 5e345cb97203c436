#include "cli/select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/settings.h"
#include "cli/values.h"
#include "ridge/targets.h"
#include "verify/npy.h"

enum { MOST_CASES = 16384 };

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static bool has_dtype(const ridge_target *target, ridge_dtype dtype) {
    for (int i = 0; i < target->n_cases; i++)
        if (target->cases[i].dtype == dtype) return true;
    return false;
}

/* "fused_l2norm has no" or "none of the selected targets has": what comes next is what they lack. */
static const char *lacks(const ridge_target *const *targets, int n, char *text, size_t size) {
    (void)snprintf(text, size, "%.60s has%s", n == 1 ? targets[0]->name : "none of the selected targets",
                   n == 1 ? " no" : "");
    return text;
}

static ridge_status no_such_dtype(ridge_dtype dtype, const ridge_target *const *targets, int n, ridge_error *error) {
    ridge_words words = {0};
    char none[80], all[100];
    for (int t = 0; t < n; t++)
        for (int c = 0; c < targets[t]->n_cases; c++)
            ridge_words_add(&words, ridge_dtype_name(targets[t]->cases[c].dtype));
    ridge_words_join(&words, all, sizeof all);
    return ridge_fail(error, RIDGE_NOT_FOUND, "--dtype: %s cases of type %s (known: %s)",
                      lacks(targets, n, none, sizeof none), ridge_dtype_name(dtype), all);
}

/* A single way runs where it is asked for. */
static bool is_wanted(const ridge_options *o, const ridge_variant *variant) {
    if (o->variant && ridge_variant_forced(variant) && !strchr(o->variant, ':')) return false;
    return !o->variant || fnmatch(o->variant, variant->name, 0) == 0 ||
           fnmatch(o->variant, ridge_variant_short_name(variant), 0) == 0;
}

static bool is_wanted_on(const ridge_options *o, ridge_backend backend) {
    return !o->backend || strcmp(ridge_backend_name(backend), o->backend) == 0;
}

/* A case on one backend: variants of different backends are never compared. */
static ridge_status add_item(ridge_selection *s, const ridge_lab_item *item, ridge_error *error) {
    if (item->n_variants == 0) return RIDGE_OK;
    if (s->n == MOST_CASES)
        return ridge_fail(error, RIDGE_INVALID, "more than %d cases: choose fewer sizes, options or targets",
                          MOST_CASES);
    ridge_lab_item *more = realloc(s->items, (size_t)(s->n + 1) * sizeof *more);
    if (!more) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d cases", s->n + 1);
    s->items = more;
    s->items[s->n++] = *item;
    return RIDGE_OK;
}

/* Peers in Python are an item of their own where the selection has them apart. */
static ridge_status add_on(ridge_selection *s, const ridge_options *o, const ridge_target *target, const ridge_case *c,
                           ridge_backend backend, ridge_error *error) {
    ridge_lab_item item[2] = {{.target = target, .c = *c, .backend = backend}};
    item[1] = item[0];
    for (int v = 0; v < target->n_variants; v++) {
        const ridge_variant *variant = &target->variants[v];
        ridge_lab_item *to = &item[s->apart && ridge_python_is(variant)];
        if (ridge_variant_backend(variant) != backend || !is_wanted(o, variant)) continue;
        if (to->n_variants < RIDGE_LAB_MAX_VARIANTS) to->variants[to->n_variants++] = v;
    }
    RIDGE_TRY(add_item(s, &item[0], error));
    return add_item(s, &item[1], error);
}

static bool is_selected(const ridge_selection *s, const ridge_target *target, const ridge_case *c) {
    for (int i = 0; i < s->n; i++)
        if (s->items[i].target == target && ridge_case_same(&s->items[i].c, c)) return true;
    return false;
}

static ridge_status add_one(ridge_selection *s, const ridge_options *o, const ridge_target *target, const ridge_case *c,
                            ridge_error *error) {
    if (o->n_settings > 0 && is_selected(s, target, c)) return RIDGE_OK; /* differed only in the options now set */
    const char *why = target->reject ? target->reject(c) : NULL;
    if (why) return ridge_fail(error, RIDGE_INVALID, "%s cannot take these sizes: %s", target->name, why);
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) {
        if (!ridge_case_is_for(c, (ridge_backend)b) || !is_wanted_on(o, (ridge_backend)b)) continue;
        RIDGE_TRY(add_on(s, o, target, c, (ridge_backend)b, error));
    }
    return RIDGE_OK;
}

/* The case with each combination of the values of --option. */
static ridge_status add(ridge_selection *s, const ridge_options *o, const ridge_target *target, const ridge_case *like,
                        ridge_error *error) {
    ridge_settings_of settings;
    RIDGE_TRY(ridge_settings_for(o, target, &settings, error));
    for (int i = 0; i < settings.combinations; i++) {
        ridge_case c = *like;
        ridge_settings_apply(&settings, i, c.option);
        RIDGE_TRY(add_one(s, o, target, &c, error));
    }
    return RIDGE_OK;
}

/* Backends that have cases of this type. */
static unsigned backends_taking(const ridge_target *target, ridge_dtype dtype) {
    unsigned only = 0;
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++)
        if (ridge_target_takes(target, (ridge_backend)b, dtype)) only |= 1u << b;
    return only;
}

/* How many extents users give. */
static int given_extents(const ridge_target *target) {
    return target->derive ? target->n_sizes : ridge_target_rank(target);
}

/* With the extents that follow from those given. */
static ridge_size complete(const ridge_target *target, const ridge_size *given) {
    ridge_size size = *given;
    if (!target->derive || size.rank != target->n_sizes) return size;
    target->derive(size.dim);
    size.rank = ridge_target_rank(target);
    return size;
}

static void dims_text(const ridge_target *target, char *text, size_t size) {
    text[0] = '\0';
    for (int d = 0; d < given_extents(target); d++)
        (void)snprintf(text + strlen(text), size - strlen(text), "%s%s", d ? "x" : "", target->dims[d]);
}

static ridge_status add_sizes(ridge_selection *s, const ridge_options *o, const ridge_target *target,
                              ridge_error *error) {
    char dims[120];
    dims_text(target, dims, sizeof dims);
    for (int i = 0; i < o->sizes.n; i++) {
        const ridge_size size = complete(target, &o->sizes.size[i]);
        if (size.rank != ridge_target_rank(target))
            return ridge_fail(error, RIDGE_INVALID, "%s takes sizes of %d extents, %s, not of %d", target->name,
                              given_extents(target), dims, size.rank);
        for (int d = 1; d < RIDGE_DTYPE_COUNT; d++) {
            if (!has_dtype(target, (ridge_dtype)d) || (o->dtype && o->dtype != (ridge_dtype)d)) continue;
            ridge_case c = {.dtype = (ridge_dtype)d, .only = backends_taking(target, (ridge_dtype)d)};
            memcpy(c.dim, size.dim, sizeof c.dim);
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

/* ---- the user's own arrays --------------------------------------------------------------------------------------- */

static int find_input(const ridge_target *target, const char *name) {
    for (int i = 0; i < target->n_in; i++)
        if (strcmp(target->in[i].name, name) == 0) return i;
    return -1;
}

static ridge_status no_such_input(const ridge_target *target, const char *name, ridge_error *error) {
    ridge_words words = {0};
    char all[160], hint[120];
    for (int i = 0; i < target->n_in; i++) ridge_words_add(&words, target->in[i].name);
    ridge_words_join(&words, all, sizeof all);
    return ridge_fail(error, RIDGE_INVALID, "%s has no input '%.40s'%s (known: %s)", target->name, name,
                      ridge_words_hint(&words, name, hint, sizeof hint), all);
}

/* Sets the extents in c that an array determines; -1: unknown so far. */
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
    if (o->sizes.n == 1) {
        const ridge_size size = complete(target, &o->sizes.size[0]);
        if (size.rank == ridge_target_rank(target)) memcpy(c.dim, size.dim, sizeof c.dim);
    }
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
    bool known = target->derive != NULL;
    for (int d = 0; d < given_extents(target); d++) known = known && c.dim[d] >= 0;
    if (known) target->derive(c.dim); /* reject() tells where the inputs say otherwise */
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
    if (o->dtype && !has_dtype(target, o->dtype)) return no_such_dtype(o->dtype, &target, 1, error);
    ridge_npy npys[RIDGE_MAX_INPUTS] = {0};
    ridge_status status = read_inputs(s, o, target, npys, error);
    for (int i = 0; i < RIDGE_MAX_INPUTS; i++) ridge_npy_free(&npys[i]);
    return status;
}

static ridge_status no_such_option(const ridge_target *const *targets, int n, const char *name, ridge_error *error) {
    ridge_words words = {0};
    char none[80], all[100] = "none", hint[80];
    for (int t = 0; t < n; t++)
        for (int k = 0; k < RIDGE_MAX_OPTIONS && targets[t]->options[k].name; k++)
            ridge_words_add(&words, targets[t]->options[k].name);
    if (words.n > 0) ridge_words_join(&words, all, sizeof all);
    return ridge_fail(error, RIDGE_INVALID, "--option: %s option '%.40s'%s (known: %s)",
                      lacks(targets, n, none, sizeof none), name, ridge_words_hint(&words, name, hint, sizeof hint),
                      all);
}

/* Each --option must exist in at least one of the targets. */
static ridge_status check_settings(const ridge_options *o, const ridge_target *const *targets, int n,
                                   ridge_error *error) {
    for (int i = 0; i < o->n_settings; i++) {
        char name[64];
        const char *values;
        bool any = false;
        RIDGE_TRY(ridge_parse_setting(o->settings[i], name, sizeof name, &values, error));
        for (int t = 0; t < n; t++) any |= ridge_target_option(targets[t], name) >= 0;
        if (!any) return no_such_option(targets, n, name, error);
    }
    return RIDGE_OK;
}

/* ---- nothing selected: which option excluded everything? --------------------------------------------------------- */

static bool any_variant_wanted(const ridge_options *o, const ridge_target *const *targets, int n) {
    for (int t = 0; t < n; t++)
        for (int v = 0; v < targets[t]->n_variants; v++)
            if (is_wanted(o, &targets[t]->variants[v])) return true;
    return false;
}

static bool any_has_dtype(ridge_dtype dtype, const ridge_target *const *targets, int n) {
    for (int t = 0; t < n; t++)
        if (has_dtype(targets[t], dtype)) return true;
    return false;
}

static ridge_status no_such_variant(const char *typed, const ridge_target *const *targets, int n, ridge_error *error) {
    ridge_words words = {0};
    char none[80], all[100], hint[80];
    for (int t = 0; t < n; t++) ridge_variants_of(targets[t], &words);
    ridge_words_join(&words, all, sizeof all);
    return ridge_fail(error, RIDGE_NOT_FOUND, "--variant: %s variant '%.40s'%s (known: %s)",
                      lacks(targets, n, none, sizeof none), typed, ridge_words_hint(&words, typed, hint, sizeof hint),
                      all);
}

static ridge_status nothing_selected(const ridge_options *o, const ridge_target *const *targets, int n,
                                     ridge_error *error) {
    if (o->variant && !any_variant_wanted(o, targets, n)) return no_such_variant(o->variant, targets, n, error);
    if (o->dtype && !any_has_dtype(o->dtype, targets, n)) return no_such_dtype(o->dtype, targets, n, error);
    return ridge_fail(error, RIDGE_NOT_FOUND,
                      "no variant and case match --variant, --backend and --dtype together: leave one out");
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

bool ridge_item_is_peers(const ridge_lab_item *item) {
    return item->n_variants > 0 && ridge_python_is(&item->target->variants[item->variants[0]]);
}

/* A target's cases are sorted by backend, then by case order; those of peers alone come last. */
static ridge_status group_by_backend(ridge_selection *s, ridge_error *error) {
    if (s->n == 0) return RIDGE_OK;
    ridge_lab_item *grouped = malloc((size_t)s->n * sizeof *grouped);
    if (!grouped) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d cases", s->n);
    int n = 0;
    for (int first = 0, end; first < s->n; first = end) {
        for (end = first + 1; end < s->n && s->items[end].target == s->items[first].target;) end++;
        for (int k = 0; k < 2 * RIDGE_BACKEND_COUNT; k++)
            for (int i = first; i < end; i++)
                if (s->items[i].backend == (ridge_backend)(k / 2) && ridge_item_is_peers(&s->items[i]) == (k % 2 == 1))
                    grouped[n++] = s->items[i];
    }
    free(s->items);
    s->items = grouped;
    return RIDGE_OK;
}

static ridge_status add_all(ridge_selection *s, const ridge_options *o, bool edges, const ridge_target *const *targets,
                            int n, ridge_error *error) {
    RIDGE_TRY(check_settings(o, targets, n, error));
    if (o->n_inputs > 0) {
        if (n != 1) return ridge_fail(error, RIDGE_INVALID, "--input needs exactly one target, not %d: name it", n);
        RIDGE_TRY(select_inputs(s, o, targets[0], error));
    }
    for (int i = 0; i < n && o->n_inputs == 0; i++)
        RIDGE_TRY(o->sizes.n > 0 ? add_sizes(s, o, targets[i], error) : add_cases(s, o, targets[i], edges, error));
    return s->n == 0 ? nothing_selected(o, targets, n, error) : group_by_backend(s, error);
}

/* Replaces targets that have ways by copies that have them as variants, which the selection owns. */
static ridge_status expand_ways(ridge_selection *s, const ridge_target **targets, int n, ridge_error *error) {
    for (int t = 0; t < n; t++) {
        if (!ridge_target_has_ways(targets[t])) continue;
        RIDGE_TRY(ridge_expand_ways(targets[t], &s->expanded[s->n_expanded], error));
        targets[t] = &s->expanded[s->n_expanded++].target;
    }
    return RIDGE_OK;
}

ridge_status ridge_select_peers(const ridge_options *o, ridge_selection *s, const ridge_target **targets, int n,
                                ridge_error *error) {
    if (!o->peers || o->mutants) return RIDGE_OK;
    RIDGE_TRY(ridge_peers_find(o->peers, &s->peers, error));
    for (int t = 0; t < n; t++) {
        if (!ridge_peers_have(&s->peers, targets[t])) continue;
        RIDGE_TRY(ridge_expand_peers(targets[t], &s->peers, &s->expanded[s->n_expanded], error));
        targets[t] = &s->expanded[s->n_expanded++].target;
    }
    return RIDGE_OK;
}

/* Room for copies of each target, those of files among them: one with ways, one with peers. */
ridge_status ridge_selection_open(ridge_selection *s, ridge_error *error) {
    *s = (ridge_selection){
        .expanded = calloc(2 * (size_t)(ridge_target_count + RIDGE_MOST_ADDED_TARGETS), sizeof *s->expanded)};
    return s->expanded ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the list of targets");
}

ridge_status ridge_select(const ridge_options *o, bool edges, ridge_selection *s, ridge_error *error) {
    RIDGE_TRY(ridge_selection_open(s, error));
    s->apart = edges;
    const ridge_target **targets = NULL;
    int n = 0;
    ridge_status status = ridge_select_targets(o, &targets, &n, error);
    if (status == RIDGE_OK && (o->variant ? strchr(o->variant, ':') != NULL : edges))
        status = expand_ways(s, targets, n, error);
    if (status == RIDGE_OK) status = ridge_select_peers(o, s, targets, n, error);
    if (status == RIDGE_OK) status = add_all(s, o, edges, targets, n, error);
    free(targets);
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
    for (int i = 0; i < s->n_expanded; i++) ridge_expanded_free(&s->expanded[i]);
    free(s->expanded);
    free(s->items);
    ridge_peers_free(&s->peers);
    *s = (ridge_selection){0};
}

/* ---- for list ---------------------------------------------------------------------------------------------------- */

static bool is_listed(const ridge_options *o, const ridge_case *c) {
    if (o->dtype && c->dtype != o->dtype) return false;
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++)
        if (ridge_case_is_for(c, (ridge_backend)b) && is_wanted_on(o, (ridge_backend)b)) return true;
    return false;
}

/* copy: an ordinary target that owns its cases and variants. */
static ridge_status narrow_one(const ridge_options *o, const ridge_target *target, ridge_target *copy,
                               ridge_error *error) {
    ridge_case *cases = calloc((size_t)target->n_cases + 1, sizeof *cases);
    ridge_variant *variants = calloc((size_t)target->n_variants + 1, sizeof *variants);
    *copy = *target;
    copy->cases = cases;
    copy->variants = variants;
    copy->n_cases = copy->n_variants = 0;
    if (!cases || !variants) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the list of targets");
    for (int i = 0; i < target->n_cases; i++)
        if (is_listed(o, &target->cases[i])) cases[copy->n_cases++] = target->cases[i];
    for (int v = 0; v < target->n_variants; v++)
        if (is_wanted(o, &target->variants[v]) && is_wanted_on(o, ridge_variant_backend(&target->variants[v])))
            variants[copy->n_variants++] = target->variants[v];
    return RIDGE_OK;
}

ridge_status ridge_narrow(const ridge_options *o, const ridge_target **targets, int *n, ridge_target **copies,
                          ridge_error *error) {
    int kept = 0;
    *copies = calloc((size_t)*n + 1, sizeof **copies); /* the last one has no name */
    if (!*copies) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the list of targets");
    for (int i = 0; i < *n; i++) RIDGE_TRY(narrow_one(o, targets[i], &(*copies)[i], error));
    for (int i = 0; i < *n; i++) kept += (*copies)[i].n_cases > 0 && (*copies)[i].n_variants > 0;
    if (kept == 0) return nothing_selected(o, targets, *n, error);
    const int all = *n;
    *n = 0;
    for (int i = 0; i < all; i++)
        if ((*copies)[i].n_cases > 0 && (*copies)[i].n_variants > 0) targets[(*n)++] = &(*copies)[i];
    return RIDGE_OK;
}

void ridge_narrowed_free(ridge_target *copies) {
    for (ridge_target *copy = copies; copy && copy->name; copy++) {
        free((void *)(uintptr_t)copy->cases);
        free((void *)(uintptr_t)copy->variants);
    }
    free(copies);
}

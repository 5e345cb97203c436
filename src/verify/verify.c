/* Verifies a variant on one case: runs and checks each combination of fill and layout that applies. */
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/combination.h"
#include "verify/shortcut.h"
#include "verify/trial.h"
#include "verify/view.h"

/* Oracle FLOP (about 2 s on one core) above which a check looks at drawn rows instead of all. */
#define FULL_COST 4e9
static ridge_status check_run(const ridge_trial *trial, double cost, uint64_t seed, ridge_check *check,
                              ridge_error *error) {
    if (cost <= FULL_COST) return ridge_check_full(&trial->ops, trial->team, check, error);
    int64_t rows = (int64_t)((double)trial->c->dim[0] * (FULL_COST / 4 / cost));
    return ridge_check_sample(&trial->ops, seed, rows > 8 ? rows : 8, trial->team, check, error);
}

static void tell(ridge_check *check, const ridge_combination *m, const char *text) {
    check->ok = false;
    (void)snprintf(check->text, sizeof check->text, "%s: %.150s", m->name, text);
}

/* FNV-1a over 64-bit words. Every type's values are doubles without loss, but for i64 beyond 2^53. */
static uint64_t digest_values(uint64_t digest, const double *value, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = UINT64_C(0x7ff8000000000000);
        if (!isnan(value[i])) memcpy(&bits, &value[i], sizeof bits);
        digest = (digest ^ bits) * UINT64_C(0x100000001b3);
        digest ^= digest >> 32; /* else the low bits would depend on low bits alone */
    }
    return digest;
}

static uint64_t digest_outputs(const ridge_operands *ops, uint64_t digest) {
    enum { STEP = 1024 };
    double value[STEP];
    for (int t = ops->target->n_in; t < ridge_operands_count(ops); t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        for (int64_t first = 0, n; first < view.elements; first += n) {
            n = view.elements - first < STEP ? view.elements - first : STEP;
            ridge_view_load(&view, first, n, value);
            digest = digest_values(digest, value, n);
        }
    }
    return digest;
}

/* Accumulates the worst errors of all runs, the report for a correct variant. */
static void gather(ridge_check *all, const ridge_check *one) {
    all->worst = fmax(all->worst, one->worst);
    all->max_abs_error = fmax(all->max_abs_error, one->max_abs_error);
    all->max_rel_error = fmax(all->max_rel_error, one->max_rel_error);
    all->rows_checked = one->rows_checked < all->rows_checked ? one->rows_checked : all->rows_checked;
}

/* The name of the way that ran; "several" when runs went to different ones. */
static void note_way(const ridge_trial *trial, ridge_verified_runs *got) {
    const char *name = trial->way ? trial->way->name : "";
    if (got->runs > 1 && strcmp(got->way, name) != 0) name = "several";
    (void)snprintf(got->way, sizeof got->way, "%.*s", (int)sizeof got->way - 1, name);
}

/* A variant may refuse a layout, which is not a wrong result: a way by its table, a peer library when it is called. */
static const char *refusal(const ridge_trial *trial, const ridge_combination *m) {
    const char *why = NULL;
    (void)ridge_combination_way(trial->target, trial->variant, trial->c, &trial->here, &m->layout, &why);
    return why;
}
static bool may_refuse(const ridge_trial *trial) {
    return ridge_variant_forced(trial->variant) || trial->variant->role == RIDGE_PEER;
}

/* *got counts the run unless the variant refuses the layout; *got->refused is then the reason. */
static ridge_status verify_combination(ridge_trial *trial, const ridge_combination *m, double cost, uint64_t seed,
                                       ridge_verified_runs *got, ridge_error *error) {
    bool clean = true;
    ridge_check one;
    ridge_error why = {0};
    const char *refused = may_refuse(trial) ? refusal(trial, m) : NULL;
    ridge_status status = refused ? ridge_fail(&why, RIDGE_UNSUPPORTED, "%s", refused)
                                  : ridge_trial_run(trial, &m->layout, m->kind, seed, &clean, &why);
    if (status == RIDGE_UNSUPPORTED && may_refuse(trial)) {
        if (!got->refused[0])
            (void)snprintf(got->refused, sizeof got->refused, "%.*s", (int)sizeof got->refused - 1, why.text);
        return RIDGE_OK;
    }
    if (status != RIDGE_OK) return ridge_fail(error, status, "%s", why.text);
    got->runs++;
    note_way(trial, got);
    RIDGE_TRY(check_run(trial, cost, seed, &one, error));
    got->digest = digest_outputs(&trial->ops, got->digest);
    gather(&got->check, &one);
    if (!one.ok)
        tell(&got->check, m, one.text);
    else if (!clean)
        tell(&got->check, m, "memory behind the scratch was written to");
    return RIDGE_OK;
}

/* Rows that are cut leave two of the largest tiles of any kernel, and the tail. */
enum { TILE_ROWS = 128 };

static void set_rows(const ridge_target *target, int64_t rows, ridge_case *c) {
    c->dim[0] = rows;
    if (target->derive) target->derive(c->dim);
}

void ridge_case_cut(const ridge_target *target, double most, ridge_case *c) {
    const int64_t tail = c->dim[0] % TILE_ROWS, tiles = c->dim[0] / TILE_ROWS;
    int64_t kept = 2;
    ridge_case usual = *c;
    set_rows(target, c->dim[0], &usual);
    if (!ridge_case_same(&usual, c)) return; /* extents that derive() does not make */
    if (tiles <= kept || ridge_check_full_cost(target, c) <= most) return;
    for (int64_t high = tiles; high - kept > 1;) {
        const int64_t middle = kept + (high - kept) / 2;
        set_rows(target, middle * TILE_ROWS + tail, c);
        *(ridge_check_full_cost(target, c) <= most ? &kept : &high) = middle;
    }
    set_rows(target, kept * TILE_ROWS + tail, c);
}

ridge_status ridge_verify_variant(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                  const ridge_abilities *here, ridge_team *team, uint64_t seed, int layouts,
                                  ridge_verified_runs *got, ridge_error *error) {
    ridge_trial trial;
    int order[RIDGE_COMBINATIONS];
    *got = (ridge_verified_runs){.check = {.ok = true, .rows = c->dim[0], .rows_checked = c->dim[0]}};
    const double cost = ridge_check_full_cost(target, c);
    const int n = ridge_combinations_draw(target, c, seed, order);
    RIDGE_TRY(ridge_trial_create(&trial, target, c, variant, here, team, error));
    ridge_status status = RIDGE_OK;
    for (int i = 0; i < n && status == RIDGE_OK && got->check.ok && (layouts == 0 || got->runs < layouts); i++)
        status = verify_combination(&trial, &ridge_combinations[order[i]], cost, seed + (uint64_t)order[i], got, error);
    ridge_trial_destroy(&trial);
    if (status != RIDGE_OK) got->check.ok = false;
    return status;
}

/* ---- mutants ------------------------------------------------------------------------------- */

/* A shortcut is refuted by far, or not at all: where low bits matter, and else on ordinary values. */
static ridge_status verify_shortcut(ridge_trial *trial, const ridge_mutant *mutant, uint64_t seed, bool *applied,
                                    bool *caught, ridge_error *error) {
    static const ridge_layout dense = {0};
    static const ridge_fill_kind kinds[] = {RIDGE_PRECISION, RIDGE_RANDOM};
    ridge_check check;
    bool clean = true;
    trial->shortcut = mutant->shortcut;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !*caught; i++) {
        RIDGE_TRY(ridge_trial_run(trial, &dense, kinds[i], seed, &clean, error));
        if (!trial->shortened) continue;
        *applied = true;
        RIDGE_TRY(ridge_check_full(&trial->ops, trial->team, &check, error));
        *caught = !check.ok && !(check.worst <= RIDGE_SHORTCUT_FACTOR);
    }
    return RIDGE_OK;
}

/* The outputs of one run with a mutant. `right`: the operands' memory after that run. */
static ridge_status verify_corrupted(ridge_trial *trial, const char *right, const ridge_mutant *mutant, uint64_t seed,
                                     bool *applied, bool *caught, ridge_error *error) {
    ridge_check check;
    memcpy(trial->ops.memory, right, trial->ops.bytes);
    *applied = mutant->apply(&trial->ops, seed);
    if (!*applied) return RIDGE_OK;
    RIDGE_TRY(ridge_check_until_wrong(&trial->ops, trial->team, &check, error));
    *caught = !check.ok;
    return RIDGE_OK;
}

/* Runs the variant, whose outputs have to be right before any is corrupted. */
static ridge_status run_right(ridge_trial *trial, uint64_t seed, ridge_error *error) {
    static const ridge_layout odd = {.row_pad = 3, .misalign = 1}, dense = {0};
    const ridge_layout *layout = trial->c->edge && trial->variant->role != RIDGE_PEER ? &odd : &dense;
    ridge_check check;
    bool clean = true;
    RIDGE_TRY(ridge_trial_run(trial, layout, RIDGE_RANDOM, seed, &clean, error));
    RIDGE_TRY(ridge_check_full(&trial->ops, trial->team, &check, error));
    if (check.ok) return RIDGE_OK;
    return ridge_fail(error, RIDGE_WRONG, "%s %s was wrong before any mutant: %s", trial->target->name,
                      trial->variant->name, check.text);
}

static ridge_status verify_mutants(ridge_trial *trial, uint64_t seed, ridge_mutants_met *met, ridge_error *error) {
    RIDGE_TRY(run_right(trial, seed, error));
    char *right = malloc(trial->ops.bytes);
    if (!right) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu bytes of outputs", trial->ops.bytes);
    memcpy(right, trial->ops.memory, trial->ops.bytes);
    ridge_status status = RIDGE_OK;
    /* Shortcuts, which fill the operands anew, come last in the list. */
    for (int m = 0; m < ridge_mutant_count && status == RIDGE_OK; m++) {
        const ridge_mutant *mutant = &ridge_mutants[m];
        bool applied = false, caught = false;
        status = mutant->apply ? verify_corrupted(trial, right, mutant, seed + (uint64_t)m, &applied, &caught, error)
                               : verify_shortcut(trial, mutant, seed, &applied, &caught, error);
        met->applied |= (uint32_t)applied << m;
        met->caught |= (uint32_t)caught << m;
    }
    free(right);
    return status;
}

ridge_status ridge_verify_mutants(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                  const ridge_abilities *here, ridge_team *team, uint64_t seed, ridge_mutants_met *met,
                                  ridge_error *error) {
    ridge_trial trial;
    *met = (ridge_mutants_met){0, 0};
    RIDGE_TRY(ridge_trial_create(&trial, target, c, variant, here, team, error));
    const ridge_status status = verify_mutants(&trial, seed, met, error);
    ridge_trial_destroy(&trial);
    return status;
}

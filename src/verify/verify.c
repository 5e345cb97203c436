/* Verifies a variant on one case: runs and checks each combination of fill and layout that applies. */
#include "verify/verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/trial.h"
#include "verify/view.h"

/* Oracle FLOP (about 2 s on one core) above which a check looks at drawn rows instead of all. */
#define FULL_COST 4e9
/* Oracle FLOP below which every combination runs. Above it, a subset runs that covers every fill and every layout
 * property. */
#define CHEAP_COST 2e7

typedef enum when { ALWAYS, EDGE, CHEAP } when;

typedef struct combination {
    const char *name;
    ridge_fill_kind kind;
    ridge_layout layout;
    when when; /* ALWAYS: all cases. EDGE: edge cases and cheap cases. CHEAP: cheap cases only. */
} combination;

/* Odd paddings give each row another alignment. Operands that lie elsewhere differ from each other in that, too:
 * kernels that move whole pieces of 16 bytes have to shift one against the other. */
static const combination combinations[] = {
    {"exact fill, dense", RIDGE_EXACT, {0, 0, 0}, ALWAYS},
    {"random fill, dense", RIDGE_RANDOM, {0, 0, 0}, ALWAYS},
    {"exact fill, padded rows", RIDGE_EXACT, {5, 0, 0}, CHEAP},
    {"random fill, padded rows", RIDGE_RANDOM, {16, 0, 0}, CHEAP},
    {"exact fill, misaligned", RIDGE_EXACT, {0, 7, 0}, CHEAP},
    {"random fill, each operand elsewhere", RIDGE_RANDOM, {0, 1, 1}, CHEAP},
    {"exact fill, padded, each operand elsewhere", RIDGE_EXACT, {1, 3, 1}, CHEAP},
    {"random fill, padded and misaligned", RIDGE_RANDOM, {3, 1, 0}, EDGE},
    {"special values, dense", RIDGE_SPECIAL, {0, 0, 0}, CHEAP},
    {"special values, padded and misaligned", RIDGE_SPECIAL, {3, 1, 0}, EDGE},
};
enum { COMBINATIONS = sizeof combinations / sizeof combinations[0] };

static bool applies(const combination *m, const ridge_case *c, double cost) {
    if (m->when == ALWAYS) return true;
    if (m->kind == RIDGE_SPECIAL && !c->edge) return false;
    return cost < CHEAP_COST || (c->edge && m->when == EDGE);
}

static ridge_status check_run(const ridge_trial *trial, double cost, uint64_t seed, ridge_check *check,
                              ridge_error *error) {
    if (cost <= FULL_COST) return ridge_check_full(&trial->ops, trial->team, check, error);
    int64_t rows = (int64_t)((double)trial->c->dim[0] * (FULL_COST / 4 / cost));
    return ridge_check_sample(&trial->ops, seed, rows > 8 ? rows : 8, trial->team, check, error);
}

static void tell(ridge_check *check, const combination *m, const char *text) {
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

/* A peer library, or a single way, may reject a layout; that is not a wrong result. */
static bool refused(const ridge_trial *trial, const combination *m, ridge_status status) {
    const bool odd_layout = m->layout.row_pad != 0 || m->layout.misalign != 0 || m->layout.apart != 0;
    const bool may = trial->variant->role == RIDGE_PEER || ridge_variant_forced(trial->variant);
    return status == RIDGE_UNSUPPORTED && may && odd_layout;
}

static ridge_status verify_combination(ridge_trial *trial, const combination *m, double cost, uint64_t seed,
                                       ridge_verified_runs *got, ridge_error *error) {
    bool clean = true;
    ridge_check one;
    ridge_status status = ridge_trial_run(trial, &m->layout, m->kind, seed, &clean, error);
    if (refused(trial, m, status)) return RIDGE_OK;
    RIDGE_TRY(status);
    got->runs++;
    RIDGE_TRY(check_run(trial, cost, seed, &one, error));
    got->digest = digest_outputs(&trial->ops, got->digest);
    gather(&got->check, &one);
    if (!one.ok)
        tell(&got->check, m, one.text);
    else if (!clean)
        tell(&got->check, m, "memory behind the scratch was written to");
    return RIDGE_OK;
}

/* Marks the combinations to run: all that apply, or `layouts` of them in a row that begins at random. */
static void choose(const ridge_case *c, double cost, uint64_t seed, int layouts, bool chosen[COMBINATIONS]) {
    int fit[COMBINATIONS], n = 0;
    uint64_t start = seed * (uint64_t)layouts;
    for (int d = 0; d < RIDGE_MAX_RANK; d++) start = start + 31 * (uint64_t)c->dim[d] + (uint64_t)c->dtype;
    for (int i = 0; i < COMBINATIONS; i++) {
        chosen[i] = false;
        if (applies(&combinations[i], c, cost)) fit[n++] = i;
    }
    const int wanted = layouts > 0 && layouts < n ? layouts : n;
    for (int i = 0; i < wanted; i++) chosen[fit[(start + (uint64_t)i) % (uint64_t)n]] = true;
}

void ridge_case_cut(const ridge_target *target, double most, ridge_case *c) {
    int64_t low = 1, high = c->dim[0];
    if (high <= 1 || ridge_check_full_cost(target, c) <= most) return;
    while (high - low > 1) {
        c->dim[0] = low + (high - low) / 2;
        *(ridge_check_full_cost(target, c) <= most ? &low : &high) = c->dim[0];
    }
    c->dim[0] = low;
}

ridge_status ridge_verify_variant(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                  const ridge_abilities *here, ridge_team *team, uint64_t seed, int layouts,
                                  ridge_verified_runs *got, ridge_error *error) {
    ridge_trial trial;
    bool chosen[COMBINATIONS];
    *got = (ridge_verified_runs){.check = {.ok = true, .rows = c->dim[0], .rows_checked = c->dim[0]}};
    double cost = ridge_check_full_cost(target, c);
    choose(c, cost, seed, layouts, chosen);
    RIDGE_TRY(ridge_trial_create(&trial, target, c, variant, here, team, error));
    ridge_status status = RIDGE_OK;
    for (int i = 0; i < COMBINATIONS && status == RIDGE_OK && got->check.ok; i++)
        if (chosen[i]) status = verify_combination(&trial, &combinations[i], cost, seed + (uint64_t)i, got, error);
    ridge_trial_destroy(&trial);
    if (status != RIDGE_OK) got->check.ok = false;
    return status;
}

ridge_status ridge_verify_mutant(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                 const ridge_abilities *here, const ridge_mutant *mutant, ridge_team *team,
                                 uint64_t seed, bool *applied, bool *caught, ridge_error *error) {
    static const ridge_layout odd = {.row_pad = 3, .misalign = 1}, dense = {0};
    ridge_trial trial;
    ridge_check check;
    bool clean = true;
    *applied = *caught = false;
    RIDGE_TRY(ridge_trial_create(&trial, target, c, variant, here, team, error));
    const ridge_layout *layout = c->edge && variant->role != RIDGE_PEER ? &odd : &dense;
    ridge_status status = ridge_trial_run(&trial, layout, RIDGE_RANDOM, seed, &clean, error);
    if (status == RIDGE_OK) status = ridge_check_full(&trial.ops, team, &check, error);
    if (status == RIDGE_OK && !check.ok)
        status = ridge_fail(error, RIDGE_WRONG, "%s %s was wrong before mutant %s: %s", target->name, variant->name,
                            mutant->name, check.text);
    if (status == RIDGE_OK) *applied = mutant->apply(&trial.ops, seed);
    if (*applied) {
        status = ridge_check_full(&trial.ops, team, &check, error);
        *caught = status == RIDGE_OK && !check.ok;
    }
    ridge_trial_destroy(&trial);
    return status;
}

/* Running a variant once, as verification needs it. */
#include "verify/trial.h"

#include <string.h>

#include "verify/space.h"

/* Behind the scratch lie bytes that must survive; the scratch itself starts as NaNs whatever type it is read as. */
enum { SCRATCH_GUARD = 4096, SCRATCH_GUARD_BYTE = 0x5a, SCRATCH_BYTE = 0xff };

static ridge_status allowed(const ridge_trial *t, ridge_isa isa, ridge_error *error) {
    const char *why = t->target->reject ? t->target->reject(t->c) : NULL;
    if (why) return ridge_fail(error, RIDGE_INVALID, "%s: %s", t->target->name, why);
    why = t->variant->unavailable ? t->variant->unavailable(t->c) : NULL;
    if (why) return ridge_fail(error, RIDGE_UNSUPPORTED, "%s %s: %s", t->target->name, t->variant->name, why);
    if ((unsigned)isa >= RIDGE_ISA_COUNT || !t->variant->run[isa])
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%s %s: not built for %s", t->target->name, t->variant->name,
                          ridge_isa_name(isa));
    return RIDGE_OK;
}

static ridge_status make_scratch(ridge_trial *t, ridge_error *error) {
    int threads = ridge_team_size(t->team);
    void *memory = NULL;
    t->scratch_bytes = t->variant->scratch ? t->variant->scratch(t->c, threads) : 0;
    if (__builtin_add_overflow(t->scratch_bytes, (size_t)SCRATCH_GUARD, &t->scratch_memory))
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu bytes of scratch", t->scratch_bytes);
    RIDGE_TRY(ridge_space_alloc(t->scratch_memory, &memory, error));
    t->scratch = memory;
    return RIDGE_OK;
}

ridge_status ridge_trial_create(ridge_trial *t, const ridge_target *target, const ridge_case *c,
                                const ridge_variant *variant, ridge_isa isa, ridge_team *team, ridge_error *error) {
    *t = (ridge_trial){.target = target, .c = c, .variant = variant, .team = team};
    RIDGE_TRY(allowed(t, isa, error));
    t->run = variant->run[isa];
    RIDGE_TRY(make_scratch(t, error));
    ridge_status status = RIDGE_OK;
    if (variant->prepare) status = variant->prepare(c, ridge_team_size(team), &t->plan);
    if (status != RIDGE_OK) {
        t->plan = NULL; /* a failed prepare has nothing to release */
        ridge_trial_destroy(t);
        return ridge_fail(error, status, "%s %s: prepare: %s", target->name, variant->name,
                          ridge_status_string(status));
    }
    return RIDGE_OK;
}

static void drop_operands(ridge_trial *t) {
    ridge_space_free(t->memory, t->memory_bytes);
    t->memory = NULL;
}

void ridge_trial_destroy(ridge_trial *t) {
    if (t->plan && t->variant->release) t->variant->release(t->plan);
    ridge_space_free(t->scratch, t->scratch_memory);
    drop_operands(t);
    *t = (ridge_trial){0};
}

static bool scratch_held(const ridge_trial *t) {
    for (size_t i = 0; i < SCRATCH_GUARD; i++)
        if (t->scratch[t->scratch_bytes + i] != SCRATCH_GUARD_BYTE) return false;
    return true;
}

ridge_status ridge_trial_run(ridge_trial *t, const ridge_layout *layout, ridge_fill_kind kind, uint64_t seed,
                             bool *clean, ridge_error *error) {
    size_t bytes;
    RIDGE_TRY(ridge_operands_bytes(t->target, t->c, layout, &bytes, error));
    if (bytes != t->memory_bytes) drop_operands(t);
    if (!t->memory) RIDGE_TRY(ridge_space_alloc(bytes, &t->memory, error));
    t->memory_bytes = bytes;
    ridge_operands_place(&t->ops, t->target, t->c, layout, t->memory);
    ridge_operands_fill(&t->ops, kind, seed, t->team);
    memset(t->scratch, SCRATCH_BYTE, t->scratch_bytes);
    memset(t->scratch + t->scratch_bytes, SCRATCH_GUARD_BYTE, SCRATCH_GUARD);
    ridge_call call = {.dim = t->c->dim,
                       .dtype = t->c->dtype,
                       .in = t->ops.in,
                       .out = t->ops.out,
                       .scratch = t->scratch,
                       .team = t->team,
                       .plan = t->plan};
    if (t->variant->own_threads) ridge_team_rest(t->team);
    ridge_status status = t->run(&call);
    *clean = scratch_held(t);
    if (status != RIDGE_OK)
        return ridge_fail(error, status, "%s %s: %s", t->target->name, t->variant->name, ridge_status_string(status));
    return RIDGE_OK;
}

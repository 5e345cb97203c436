/* Runs a variant once for verification. */
#include "verify/trial.h"

#include <string.h>

#include "verify/on_gpu.h"
#include "verify/shortcut.h"
#include "verify/space.h"
#include "verify/view.h"

/* Guard bytes after the scratch must keep their value. The scratch is initialized with bytes that are NaN in every
 * floating-point type. */
enum { SCRATCH_GUARD = 4096, SCRATCH_GUARD_BYTE = 0x5a, SCRATCH_BYTE = 0xff };

static ridge_status allowed(const ridge_trial *t, ridge_error *error) {
    const ridge_isa isa = t->here.isa;
    const char *why = t->target->reject ? t->target->reject(t->c) : NULL;
    if (why) return ridge_fail(error, RIDGE_INVALID, "%s: %s", t->target->name, why);
    why = t->variant->unavailable ? t->variant->unavailable(t->c) : NULL;
    if (why) return ridge_fail(error, RIDGE_UNSUPPORTED, "%s %s: %s", t->target->name, t->variant->name, why);
    if ((unsigned)isa >= RIDGE_ISA_COUNT || !ridge_variant_has_code(t->variant, isa))
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%s %s: not built for %s", t->target->name, t->variant->name,
                          ridge_isa_name(isa));
    return RIDGE_OK;
}

static void drop_scratch(ridge_trial *t) {
    ridge_space_free(t->scratch, t->scratch_memory);
    if (t->stream) ridge_cuda_free(t->gpu_scratch);
    t->scratch = NULL, t->gpu_scratch = NULL;
}

/* As many bytes as the ways that take this call need, and a guard behind them. */
static ridge_status make_scratch(ridge_trial *t, const ridge_call *call, ridge_error *error) {
    ridge_problem problem;
    void *memory = NULL;
    ridge_problem_of(t->target, call, &t->here, &problem);
    problem.here.threads = ridge_team_size(t->team);
    const size_t bytes = ridge_variant_scratch(t->variant, &problem);
    if (!t->scratch || bytes != t->scratch_bytes) {
        drop_scratch(t);
        t->scratch_bytes = bytes;
        if (__builtin_add_overflow(bytes, (size_t)SCRATCH_GUARD, &t->scratch_memory))
            return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %zu bytes of scratch", bytes);
        RIDGE_TRY(ridge_space_alloc(t->scratch_memory, &memory, error));
        t->scratch = memory;
        if (t->stream) RIDGE_TRY(ridge_cuda_alloc(t->scratch_memory, &t->gpu_scratch, error));
    }
    memset(t->scratch, SCRATCH_BYTE, bytes);
    memset(t->scratch + bytes, SCRATCH_GUARD_BYTE, SCRATCH_GUARD);
    return RIDGE_OK;
}

/* Opens the GPU and a stream once per process; all trials use it. */
static ridge_status gpu_stream(ridge_stream **stream, ridge_error *error) {
    static ridge_stream *only;
    static ridge_gpu gpu;
    if (!only) {
        RIDGE_TRY(ridge_cuda_open(&gpu, error));
        RIDGE_TRY(ridge_stream_create(0, &only, error));
    }
    *stream = only;
    return RIDGE_OK;
}

ridge_status ridge_trial_create(ridge_trial *t, const ridge_target *target, const ridge_case *c,
                                const ridge_variant *variant, const ridge_abilities *here, ridge_team *team,
                                ridge_error *error) {
    *t = (ridge_trial){.target = target, .c = c, .variant = variant, .here = *here, .team = team};
    RIDGE_TRY(allowed(t, error));
    if (ridge_variant_backend(variant) == RIDGE_BACKEND_cuda) RIDGE_TRY(gpu_stream(&t->stream, error));
    ridge_status status = RIDGE_OK;
    (void)ridge_why(); /* clears the reason of the previous trial */
    if (variant->prepare) status = variant->prepare(c, ridge_team_size(team), &t->plan);
    if (status != RIDGE_OK) {
        t->plan = NULL; /* a failed prepare has nothing to release */
        ridge_trial_destroy(t);
        return ridge_fail(error, status, "%s %s: prepare: %s%s", target->name, variant->name,
                          ridge_status_string(status), ridge_why());
    }
    return RIDGE_OK;
}

static void drop_operands(ridge_trial *t) {
    ridge_space_free(t->memory, t->memory_bytes);
    if (t->stream) ridge_where_free(t->variant->where, t->gpu_memory, t->memory_bytes);
    t->memory = t->gpu_memory = NULL;
}

void ridge_trial_destroy(ridge_trial *t) {
    if (t->plan && t->variant->release) t->variant->release(t->plan);
    drop_scratch(t);
    drop_operands(t);
    *t = (ridge_trial){0};
}

static bool scratch_held(const ridge_trial *t) {
    for (size_t i = 0; i < SCRATCH_GUARD; i++)
        if (t->scratch[t->scratch_bytes + i] != SCRATCH_GUARD_BYTE) return false;
    return true;
}

static ridge_status said(const ridge_trial *t, ridge_status status, ridge_error *error) {
    if (status == RIDGE_OK) return RIDGE_OK;
    return ridge_fail(error, status, "%s %s: %s%s", t->target->name, t->variant->name, ridge_status_string(status),
                      ridge_why());
}

static ridge_call call_of(const ridge_trial *t, const ridge_operands *ops) {
    return (ridge_call){.dim = t->c->dim,
                        .dtype = t->c->dtype,
                        .option = t->c->option,
                        .in = ops->in,
                        .out = ops->out,
                        .plan = t->plan};
}

static ridge_status run_here(ridge_trial *t, ridge_error *error) {
    ridge_call call = call_of(t, &t->ops);
    RIDGE_TRY(make_scratch(t, &call, error));
    call.scratch = t->scratch, call.team = t->team;
    if (t->variant->own_threads) ridge_team_rest(t->team);
    return said(t, ridge_variant_run_way(t->target, t->variant, &t->here, &call, &t->way), error);
}

/* Copies to or from the tensors' memory; the CPU copies if it is not device memory. */
static ridge_status bring(const ridge_variant *variant, void *to, const void *from, size_t bytes, ridge_error *error) {
    if (variant->where == RIDGE_IN_DEVICE) return ridge_cuda_copy(to, from, bytes, error);
    memcpy(to, from, bytes);
    return RIDGE_OK;
}

/* Copies operands and scratch to the GPU, guards included, and back after the launch. The host does all checks. */
static ridge_status run_on_gpu(ridge_trial *t, ridge_error *error) {
    ridge_operands there;
    ridge_error why = {0};
    if (!t->gpu_memory) RIDGE_TRY(ridge_where_alloc(t->variant->where, t->memory_bytes, &t->gpu_memory, error));
    ridge_where_place(&there, t->variant->where, t->target, t->c, &t->ops.layout, t->gpu_memory);
    ridge_call call = call_of(t, &there);
    RIDGE_TRY(make_scratch(t, &call, error));
    call.scratch = t->gpu_scratch, call.stream = ridge_stream_handle(t->stream);
    RIDGE_TRY(bring(t->variant, t->gpu_memory, t->ops.memory, t->ops.bytes, error));
    RIDGE_TRY(ridge_cuda_copy(t->gpu_scratch, t->scratch, t->scratch_memory, error));
    (void)ridge_why(); /* clears the reason of earlier launches */
    RIDGE_TRY(said(t, ridge_variant_run_way(t->target, t->variant, &t->here, &call, &t->way), error));
    ridge_status waited = ridge_stream_wait(t->stream, &why);
    if (waited != RIDGE_OK)
        return ridge_fail(error, waited, "%s %s: %.200s", t->target->name, t->variant->name, why.text);
    RIDGE_TRY(bring(t->variant, t->ops.memory, t->gpu_memory, t->ops.bytes, error));
    return ridge_cuda_copy(t->scratch, t->gpu_scratch, t->scratch_memory, error);
}

static void refill_inputs(const ridge_operands *ops) {
    for (int t = 0; t < ops->target->n_in; t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        for (int64_t position = 0; position < view.elements;) {
            ridge_view_run run;
            const int64_t first = position;
            if (!ridge_view_next(&view, &position, view.elements, &run)) break;
            ridge_operands_make(ops, t, first, run.n, run.at);
        }
    }
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
    t->shortened = t->shortcut != RIDGE_DTYPE_NONE && ridge_shortcut_round(&t->ops, t->shortcut);
    ridge_status status = t->stream ? run_on_gpu(t, error) : run_here(t, error);
    if (t->shortened) refill_inputs(&t->ops);
    *clean = !t->scratch || scratch_held(t);
    return status;
}

/* ridge_apply: validates the tensors, selects the variant, and runs it. */
#include <string.h>

#include "device/cuda.h"
#include "ops/context.h"
#include "ops/request.h"

/* What the caller wants to run: "cuda/optimized:rows_warp", in its parts. */
typedef struct wish {
    char variant[64]; /* "": the optimized one */
    const char *way;  /* NULL: the cheapest */
} wish;

static ridge_status wish_of(const char *name, wish *w, ridge_error *error) {
    const char *colon = name ? strchr(name, ':') : NULL;
    const size_t n = !name ? 0 : colon ? (size_t)(colon - name) : strlen(name);
    *w = (wish){0};
    if (n >= sizeof w->variant)
        return ridge_fail(error, RIDGE_NOT_FOUND, "no variant has a name as long as '%.60s…'", name);
    memcpy(w->variant, name ? name : "", n);
    if (colon) w->way = colon + 1;
    return RIDGE_OK;
}

static ridge_status choose(const ridge_request *r, const char *name, const ridge_abilities *here,
                           const ridge_variant **chosen, ridge_error *error) {
    const char *why = "the target has no variant for this device";
    bool known = false;
    for (int v = 0; v < r->target->n_variants; v++) {
        const ridge_variant *variant = &r->target->variants[v];
        if (*name ? strcmp(name, variant->name) != 0 : variant->role != RIDGE_OPTIMIZED) continue;
        known = true;
        if (ridge_variant_backend(variant) != r->backend) {
            if (*name) why = "the variant is not for the device of these tensors";
            continue;
        }
        const char *obstacle = ridge_variant_obstacle(variant, &r->c, here);
        if (!obstacle) return *chosen = variant, RIDGE_OK;
        why = obstacle;
    }
    if (!known && *name) return ridge_fail(error, RIDGE_NOT_FOUND, "%s has no variant '%.60s'", r->target->name, name);
    return ridge_fail(error, RIDGE_UNSUPPORTED, "%s: %s", r->target->name, why);
}

/* False if all outputs are empty. */
static bool has_work(const ridge_request *r) {
    for (int o = 0; o < r->target->n_out; o++)
        if (r->bytes[r->target->n_in + o] > 0) return true;
    return false;
}

/* One way, or a variant without ways (NULL). scratch: bytes of this way alone: others may need far more. */
static ridge_status run_way(ridge_context *context, ridge_place place, const ridge_request *r,
                            const ridge_variant *variant, const ridge_way *way, size_t scratch, ridge_call *call,
                            ridge_error *error) {
    RIDGE_TRY(ridge_context_scratch(context, place, scratch, &call->scratch, error));
    (void)ridge_why(); /* clears the reason of an earlier call */
    call->way = way;
    const ridge_status status = (way ? way->run : variant->run)[context->isa](call);
    if (status == RIDGE_OK) return context->ran = way, RIDGE_OK;
    return ridge_fail(error, status, "%s %s: %s%s", r->target->name, variant->name, ridge_status_string(status),
                      ridge_why());
}

/* The way that the caller named, and no other. */
static ridge_status run_named(ridge_context *context, ridge_place place, const ridge_request *r,
                              const ridge_variant *variant, const char *name, const ridge_problem *problem,
                              ridge_call *call, ridge_error *error) {
    const ridge_way *way = ridge_way_find(variant, name);
    if (!way)
        return ridge_fail(error, RIDGE_NOT_FOUND, "%s %s has no way '%.60s'", r->target->name, variant->name, name);
    const ridge_plan plan = ridge_way_plan(variant, way, problem);
    if (plan.refusal)
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%s %s:%s: %s", r->target->name, variant->name, name, plan.refusal);
    return run_way(context, place, r, variant, way, plan.scratch, call, error);
}

/* The cheapest way; where the device has no room for it, the next one. */
static ridge_status run_variant(ridge_context *context, ridge_place place, const ridge_request *r,
                                const ridge_variant *variant, const char *named, const ridge_abilities *here,
                                ridge_call *call, ridge_error *error) {
    ridge_problem problem;
    ridge_error last = {0}; /* the caller's has the last failure, or none */
    uint64_t tried = 0;
    ridge_status status = RIDGE_UNSUPPORTED;
    const char *why = NULL;
    size_t scratch = 0;
    ridge_problem_of(r->target, call, here, &problem);
    if (variant->n_ways == 0 && !named)
        return run_way(context, place, r, variant, NULL, ridge_variant_scratch(variant, &problem), call, error);
    if (named) return run_named(context, place, r, variant, named, &problem, call, error);
    for (const ridge_way *way;
         status == RIDGE_UNSUPPORTED && (way = ridge_way_next(variant, &problem, &tried, &scratch));)
        status = run_way(context, place, r, variant, way, scratch, call, &last);
    if (status == RIDGE_OK) return status;
    if (tried) return ridge_fail(error, status, "%s", last.text);
    (void)ridge_way_choose(variant, &problem, &why);
    return ridge_fail(error, status, "%s: %s", r->target->name, why);
}

static ridge_status run_on(ridge_context *context, const ridge_request *r, const char *name,
                           const ridge_abilities *here, ridge_error *error) {
    const ridge_variant *variant = NULL;
    wish wanted;
    ridge_call call = {.dim = r->c.dim,
                       .dtype = r->c.dtype,
                       .option = r->c.option,
                       .in = r->tensor,
                       .out = r->tensor + r->target->n_in,
                       .team = context->team,
                       .stream = context->stream};
    RIDGE_TRY(wish_of(name, &wanted, error));
    RIDGE_TRY(choose(r, wanted.variant, here, &variant, error));
    if (!has_work(r)) return RIDGE_OK;
    const ridge_place place = {r->backend, r->device};
    RIDGE_TRY(ridge_context_plan(context, place, variant, &r->c, &call.plan, error));
    return run_variant(context, place, r, variant, wanted.way, here, &call, error);
}

static ridge_status run_on_gpu(ridge_context *context, const ridge_request *r, const char *variant,
                               ridge_abilities *here, ridge_error *error) {
    int previous = 0;
    ridge_error why = {0};
    ridge_status status = ridge_cuda_enter(r->device, &previous, &here->sm, &here->sm_count, &why);
    if (status != RIDGE_OK)
        return ridge_fail(error, status, "%s: CUDA device %d cannot be used: %s", r->target->name, r->device, why.text);
    status = run_on(context, r, variant, here, error);
    ridge_cuda_leave(previous);
    return status;
}

ridge_status ridge_apply(ridge_context *context, const char *target, const char *variant, const DLTensor *in, int n_in,
                         const DLTensor *out, int n_out, const double *options, ridge_error *error) {
    ridge_request r;
    if (!context) return ridge_fail(error, RIDGE_INVALID, "the context is NULL");
    context->ran = NULL;
    RIDGE_TRY(ridge_request_make(&r, target, in, n_in, out, n_out, options, error));
    if (context->tf32 && r.c.dtype == RIDGE_F32 && ridge_target_takes(r.target, r.backend, RIDGE_TF32))
        r.c.dtype = RIDGE_TF32;
    ridge_abilities here = {.isa = context->isa, .threads = ridge_team_size(context->team), .tuned = context->tuned};
    if (r.backend == RIDGE_BACKEND_cpu) return run_on(context, &r, variant, &here, error);
    return run_on_gpu(context, &r, variant, &here, error);
}

ridge_status ridge_apply_packed(const ridge_packed_call *c) {
    if (!c) return RIDGE_INVALID;
    return ridge_apply(c->context, c->target, c->variant, c->in, c->n_in, c->out, c->n_out, c->options, c->error);
}

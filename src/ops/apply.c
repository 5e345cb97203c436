/* From tensors to a call: which target, which shape, which variant. */
#include "ops/context.h"

#include <string.h>

#include "device/cuda.h"

/* ---- what the tensors say --------------------------------------------------------------------------------------- */

/* Takes the extents a tensor fixes into c; -1 stands for one not yet known. */
static ridge_status take_tensor(const ridge_target *target, const ridge_tensor_spec *spec, const DLTensor *t,
                                ridge_case *c, ridge_error *error) {
    const ridge_dtype dtype = ridge_dtype_of(t), want = spec->dtype ? spec->dtype : c->dtype;
    if (t->ndim != spec->rank)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s has %d dimensions, not %d", target->name, spec->name, t->ndim,
                          spec->rank);
    if (dtype == RIDGE_DTYPE_NONE || (want && dtype != want))
        return ridge_fail(error, RIDGE_INVALID, "%s: %s is of type %s, not %s", target->name, spec->name,
                          ridge_dtype_name(dtype), want ? ridge_dtype_name(want) : "f32, bf16 or f16");
    if (!spec->dtype) c->dtype = dtype;
    for (int d = 0; d < spec->rank; d++) {
        int64_t *extent = &c->dim[spec->dim[d]];
        if (*extent >= 0 && *extent != t->shape[d])
            return ridge_fail(error, RIDGE_INVALID, "%s: %s is %lld in %s and %lld elsewhere", target->name,
                              target->dims[spec->dim[d]], (long long)t->shape[d], spec->name, (long long)*extent);
        *extent = t->shape[d];
    }
    return RIDGE_OK;
}

/* From the last dimension (or, of a matrix by columns, the first) on: contiguous, and none overlapping the one below.
 */
static bool lies_in_order(const DLTensor *t, bool by_columns) {
    int64_t below = 1;
    for (int i = 0; t->strides && i < t->ndim; i++) {
        const int d = by_columns ? i : t->ndim - 1 - i;
        if (t->shape[d] <= 1) continue;
        if (i == 0 ? t->strides[d] != 1 : t->strides[d] < below) return false;
        below = t->strides[d] * t->shape[d];
    }
    return true;
}

/* What tensor.h promises to kernels; `bit` is the tensor's in ridge_case.flipped. */
static ridge_status check_strides(const ridge_target *target, const ridge_tensor_spec *spec, const DLTensor *t,
                                  unsigned bit, ridge_case *c, ridge_error *error) {
    if (lies_in_order(t, false)) return RIDGE_OK;
    if (!spec->either_order)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s is not row-major: its last dimension must be contiguous",
                          target->name, spec->name);
    if (!lies_in_order(t, true))
        return ridge_fail(error, RIDGE_INVALID, "%s: %s is neither row-major nor column-major", target->name,
                          spec->name);
    c->flipped |= bit;
    return RIDGE_OK;
}

static ridge_status backend_of(const DLTensor *t, ridge_backend *backend, ridge_error *error) {
    switch (t->device.device_type) {
        case kDLCPU:
        case kDLCUDAHost: return *backend = RIDGE_BACKEND_cpu, RIDGE_OK;
        case kDLCUDA:
        case kDLCUDAManaged: return *backend = RIDGE_BACKEND_cuda, RIDGE_OK;
        default: return ridge_fail(error, RIDGE_UNSUPPORTED, "tensors are on a device that ridge does not know");
    }
}

typedef struct request {
    const ridge_target *target;
    ridge_case c;
    ridge_backend backend;
    int device;
} request;

/* first: the number of the first of these tensors among all. */
static ridge_status take_all(request *r, const ridge_tensor_spec *specs, const DLTensor *t, int n, int first,
                             ridge_error *error) {
    for (int i = 0; i < n; i++) {
        ridge_backend backend = RIDGE_BACKEND_cpu;
        RIDGE_TRY(backend_of(&t[i], &backend, error));
        if (r->device >= 0 && (backend != r->backend || t[i].device.device_id != r->device))
            return ridge_fail(error, RIDGE_INVALID, "%s: %s is on another device than %s", r->target->name,
                              specs[i].name, r->target->in[0].name);
        r->backend = backend;
        r->device = t[i].device.device_id;
        RIDGE_TRY(take_tensor(r->target, &specs[i], &t[i], &r->c, error));
        RIDGE_TRY(check_strides(r->target, &specs[i], &t[i], 1u << (first + i), &r->c, error));
    }
    return RIDGE_OK;
}

static ridge_status understand(const char *name, const DLTensor *in, int n_in, const DLTensor *out, int n_out,
                               const double *options, request *r, ridge_error *error) {
    *r = (request){.target = ridge_target_find(name), .device = -1};
    if (!r->target) return ridge_fail(error, RIDGE_NOT_FOUND, "there is no target '%.60s'", name);
    if (n_in != r->target->n_in || n_out != r->target->n_out)
        return ridge_fail(error, RIDGE_INVALID, "%s takes %d inputs and %d outputs, not %d and %d", name,
                          r->target->n_in, r->target->n_out, n_in, n_out);
    for (int d = 0; d < RIDGE_MAX_RANK; d++) r->c.dim[d] = -1;
    RIDGE_TRY(take_all(r, r->target->in, in, n_in, 0, error));
    RIDGE_TRY(take_all(r, r->target->out, out, n_out, n_in, error));
    for (int d = 0; d < RIDGE_MAX_RANK; d++)
        if (r->c.dim[d] < 0) r->c.dim[d] = 0; /* beyond the target's rank */
    ridge_target_options(r->target, r->c.option);
    if (options) memcpy(r->c.option, options, sizeof r->c.option);
    const char *why = r->target->reject ? r->target->reject(&r->c) : NULL;
    return why ? ridge_fail(error, RIDGE_INVALID, "%s: %s", name, why) : RIDGE_OK;
}

/* ---- which variant ---------------------------------------------------------------------------------------------- */

static ridge_status choose(const request *r, const char *name, const ridge_abilities *here,
                           const ridge_variant **chosen, ridge_error *error) {
    const char *why = "the target has no variant for this device";
    bool known = false;
    for (int v = 0; v < r->target->n_variants; v++) {
        const ridge_variant *variant = &r->target->variants[v];
        if (name ? strcmp(name, variant->name) != 0 : variant->role != RIDGE_OPTIMIZED) continue;
        known = true;
        if (ridge_variant_backend(variant) != r->backend) continue;
        const char *obstacle = ridge_variant_obstacle(variant, &r->c, here);
        if (!obstacle) return *chosen = variant, RIDGE_OK;
        why = obstacle;
    }
    if (name && !known) return ridge_fail(error, RIDGE_NOT_FOUND, "%s has no variant '%.60s'", r->target->name, name);
    return ridge_fail(error, RIDGE_UNSUPPORTED, "%s: %s", r->target->name, why);
}

static ridge_status run_on(ridge_context *context, const request *r, const char *name, const ridge_abilities *here,
                           const DLTensor *in, const DLTensor *out, ridge_error *error) {
    const ridge_variant *variant = NULL;
    ridge_call call = {.dim = r->c.dim,
                       .dtype = r->c.dtype,
                       .option = r->c.option,
                       .in = in,
                       .out = out,
                       .team = context->team,
                       .stream = context->stream};
    RIDGE_TRY(choose(r, name, here, &variant, error));
    const ridge_place place = {r->backend, r->device};
    RIDGE_TRY(ridge_context_plan(context, place, variant, &r->c, &call.plan, error));
    size_t bytes = variant->scratch ? variant->scratch(&r->c, ridge_team_size(context->team)) : 0;
    RIDGE_TRY(ridge_context_scratch(context, place, bytes, &call.scratch, error));
    (void)ridge_why(); /* a call before this one may have left words */
    ridge_status status = variant->run[here->isa](&call);
    if (status == RIDGE_OK) return RIDGE_OK;
    return ridge_fail(error, status, "%s %s: %s%s", r->target->name, variant->name, ridge_status_string(status),
                      ridge_why());
}

ridge_status ridge_apply(ridge_context *context, const char *target, const char *variant, const DLTensor *in, int n_in,
                         const DLTensor *out, int n_out, const double *options, ridge_error *error) {
    request r;
    RIDGE_TRY(understand(target, in, n_in, out, n_out, options, &r, error));
    if (context->tf32 && r.c.dtype == RIDGE_F32 && ridge_target_takes(r.target, r.backend, RIDGE_TF32))
        r.c.dtype = RIDGE_TF32;
    ridge_abilities here = {.isa = context->isa};
    if (r.backend == RIDGE_BACKEND_cpu) return run_on(context, &r, variant, &here, in, out, error);
    int previous = 0;
    RIDGE_TRY(ridge_cuda_enter(r.device, &previous, &here.sm, error));
    ridge_status status = run_on(context, &r, variant, &here, in, out, error);
    ridge_cuda_leave(previous);
    return status;
}

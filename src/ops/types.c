/* Types of few bits under the names of others. NumPy has none of the floats, PyTorch has e2m1 as pairs, and DLPack has no ue4m3:
 * bytes pass for floats of 8 bits, and for pairs of e2m1. */
#include <string.h>

#include "core/dtype.h"
#include "ops/request.h"

ridge_dtype ridge_request_passes_as(ridge_dtype dtype) { return dtype == RIDGE_UE4M3 ? RIDGE_E4M3 : dtype; }

static bool is_byte(DLDataType type) { return type.code == kDLUInt && type.bits == 8 && type.lanes == 1; }
static bool is_pair(DLDataType type) { return type.code == RIDGE_DLPACK_E2M1 && type.bits == 4 && type.lanes == 2; }

/* Counts single values instead of pairs; false on overflow, and where pairs do not lie side by side. */
static bool count_values(DLTensor *t) {
    const int last = t->ndim - 1;
    if (t->strides && t->shape[last] > 1 && t->strides[last] != 1) return false;
    for (int d = 0; t->strides && d < last; d++)
        if (__builtin_mul_overflow(t->strides[d], 2, &t->strides[d])) return false;
    return !__builtin_mul_overflow(t->shape[last], 2, &t->shape[last]);
}

const DLTensor *ridge_request_as_values(ridge_request *r, int k, const DLTensor *t) {
    const ridge_dtype dtype = ridge_request_spec(r, k)->dtype;
    const int bits = ridge_dtype_bits(dtype);
    const bool packed = ridge_dtype_is_packed(dtype);
    if (bits == 0 || bits > 8 || ridge_dtype_is_integer(dtype) ||
        (!is_byte(t->dtype) && !(packed && is_pair(t->dtype))))
        return t;
    if (t->ndim < 1 || t->ndim > RIDGE_MAX_TENSOR_RANK || !t->shape) return t; /* which the layout refuses */
    DLTensor *named = &r->renamed[k];
    *named = *t;
    named->dtype = ridge_dtype_to_dlpack(ridge_request_passes_as(dtype));
    named->shape = memcpy(r->renamed_shape[k], t->shape, (size_t)t->ndim * sizeof *t->shape);
    if (t->strides) named->strides = memcpy(r->renamed_strides[k], t->strides, (size_t)t->ndim * sizeof *t->strides);
    return !packed || count_values(named) ? named : t;
}

ridge_status ridge_request_check_packed(const ridge_request *r, int k, ridge_error *error) {
    const ridge_tensor_spec *spec = ridge_request_spec(r, k);
    const DLTensor *t = &r->tensor[k];
    if (t->dtype.bits >= 8) return RIDGE_OK;
    if (t->shape[t->ndim - 1] % 2)
        return ridge_fail(error, RIDGE_INVALID, "%s: the last extent of %s is %lld: elements of 4 bits come in pairs",
                          r->target->name, spec->name, (long long)t->shape[t->ndim - 1]);
    for (int d = 0; d < t->ndim - 1; d++)
        if (t->shape[d] > 1 && t->strides[d] % 2)
            return ridge_fail(error, RIDGE_INVALID,
                              "%s: %s has stride %lld in dimension %d: rows of 4-bit elements begin with whole bytes",
                              r->target->name, spec->name, (long long)t->strides[d], d);
    return RIDGE_OK;
}

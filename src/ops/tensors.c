/* Checks of one tensor beside its shape: device, type, data. */
#include "ops/request.h"

const ridge_tensor_spec *ridge_request_spec(const ridge_request *r, int k) {
    return k < r->target->n_in ? &r->target->in[k] : &r->target->out[k - r->target->n_in];
}

/* ---- device ----------------------------------------------------------------------------------------------------- */

ridge_status ridge_request_take_device(ridge_request *r, int k, const DLTensor *t, ridge_error *error) {
    const char *name = ridge_request_spec(r, k)->name;
    const int type = (int)t->device.device_type;
    const bool cpu = type == kDLCPU || type == kDLCUDAHost;
    if (type == 0 && !t->data && t->ndim == 0) /* what stands for an input that is left out, where it cannot be */
        return ridge_fail(error, RIDGE_INVALID, "%s: %s is not given", r->target->name, name);
    if (!cpu && type != kDLCUDA && type != kDLCUDAManaged)
        return ridge_fail(error, RIDGE_UNSUPPORTED,
                          "%s: %s is on %s; ridge takes tensors on the CPU or on a CUDA device", r->target->name, name,
                          ridge_words_device(t->device).text);
    const ridge_backend backend = cpu ? RIDGE_BACKEND_cpu : RIDGE_BACKEND_cuda;
    const int device = cpu ? 0 : t->device.device_id; /* the device id of CPU-readable memory is ignored */
    if (device < 0)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s is on CUDA device %d, which does not exist", r->target->name,
                          name, device);
    if (k == 0) r->backend = backend, r->device = device;
    if (backend != r->backend || device != r->device)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s is on another device (%s) than %s", r->target->name, name,
                          ridge_words_device(t->device).text, ridge_request_spec(r, 0)->name);
    return RIDGE_OK;
}

/* ---- type ------------------------------------------------------------------------------------------------------- */

static ridge_status refuse_type(const ridge_request *r, const ridge_tensor_spec *spec, DLDataType type,
                                ridge_error *error) {
    const char *target = r->target->name;
    if (!ridge_target_has(r->target, r->backend))
        return ridge_fail(error, RIDGE_UNSUPPORTED, "%s has no variant for %s, where %s is", target,
                          ridge_words_backend(r->backend), spec->name);
    const ridge_words is = ridge_words_type(type);
    if (spec->dtype != RIDGE_DTYPE_NONE)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s is of type %s; it takes %s%s", target, spec->name, is.text,
                          ridge_dtype_name(spec->dtype), spec->fill == RIDGE_FILL_INDEX ? " or i64" : "");
    if (r->c.dtype != RIDGE_DTYPE_NONE)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s is of type %s, but tensors before it are of type %s", target,
                          spec->name, is.text, ridge_dtype_name(r->c.dtype));
    const DLTensor probe = {.dtype = type};
    const ridge_dtype dtype = ridge_dtype_of(&probe);
    bool elsewhere = false;
    for (int b = 0; dtype && b < RIDGE_BACKEND_COUNT; b++)
        elsewhere = elsewhere || ridge_target_takes(r->target, (ridge_backend)b, dtype);
    return ridge_fail(error, elsewhere ? RIDGE_UNSUPPORTED : RIDGE_INVALID, "%s: %s is of type %s; on %s it takes %s",
                      target, spec->name, is.text, ridge_words_backend(r->backend),
                      ridge_words_taken(r->target, r->backend).text);
}

/* Rejects a type that no case of the backend has: kernels would misinterpret its bytes. */
ridge_status ridge_request_take_type(ridge_request *r, int k, const DLTensor *t, ridge_error *error) {
    const ridge_tensor_spec *spec = ridge_request_spec(r, k);
    if (t->dtype.lanes != 1)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s has elements of %d lanes; ridge takes elements of one lane",
                          r->target->name, spec->name, t->dtype.lanes);
    const ridge_dtype dtype = ridge_dtype_of(t);
    bool right = dtype != RIDGE_DTYPE_NONE;
    if (spec->dtype != RIDGE_DTYPE_NONE) {
        right = right && (dtype == ridge_request_passes_as(spec->dtype) ||
                          (spec->dtype == RIDGE_I32 && spec->fill == RIDGE_FILL_INDEX && dtype == RIDGE_I64));
    } else if (r->c.dtype != RIDGE_DTYPE_NONE) {
        right = right && (dtype == r->c.dtype || (spec->wide_option > 0 && dtype == RIDGE_F32));
    } else {
        right = right && ridge_target_takes(r->target, r->backend, dtype);
        if (right) r->c.dtype = dtype;
    }
    return right ? RIDGE_OK : refuse_type(r, spec, t->dtype, error);
}

/* ---- data ------------------------------------------------------------------------------------------------------- */

/* Bytes from the first to the end of the last element; false on overflow of the address space. */
static bool bytes_of(const DLTensor *t, size_t *bytes) {
    int64_t last = 0, part;
    *bytes = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (t->shape[d] == 0) return true;
        if (__builtin_mul_overflow(t->shape[d] - 1, t->strides[d], &part) || __builtin_add_overflow(last, part, &last))
            return false;
    }
    const int64_t bits = t->dtype.bits;
    if (__builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, bits, &last) || last > PTRDIFF_MAX)
        return false;
    *bytes = (size_t)last / 8;
    return true;
}

static ridge_status check_range(const ridge_request *r, const ridge_tensor_spec *spec, const DLTensor *t,
                                ridge_error *error) {
    const int64_t extent = r->c.dim[spec->index_dim], rows = t->shape[0], columns = t->ndim > 1 ? t->shape[1] : 1;
    const bool wide = t->dtype.bits == 64;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const int64_t at = i * t->strides[0] + j;
            const int64_t value = wide ? ((const int64_t *)t->data)[at] : ((const int32_t *)t->data)[at];
            if (value < 0 || value >= extent)
                return ridge_fail(error, RIDGE_INVALID, "%s: %s has the value %lld, outside [0, %lld)", r->target->name,
                                  spec->name, (long long)value, (long long)extent);
        }
    return RIDGE_OK;
}

/* Address of empty tensors with NULL data. Kernels add offsets of 0 to the address, which C forbids for NULL. */
static _Alignas(64) char nothing[64];

/* Requires the tensor's layout. */
ridge_status ridge_request_take_data(ridge_request *r, int k, const DLTensor *t, ridge_error *error) {
    const ridge_tensor_spec *spec = ridge_request_spec(r, k);
    DLTensor *taken = &r->tensor[k];
    const size_t size = ((size_t)t->dtype.bits + 7) / 8;
    uintptr_t begin, end;
    taken->data = t->data;
    if (!bytes_of(taken, &r->bytes[k]) || __builtin_add_overflow((uintptr_t)t->data, t->byte_offset, &begin) ||
        __builtin_add_overflow(begin, r->bytes[k], &end))
        return ridge_fail(error, RIDGE_INVALID, "%s: %s reaches beyond the address space: check its shape and strides",
                          r->target->name, spec->name);
    if (r->bytes[k] == 0) {
        if (!t->data && r->backend == RIDGE_BACKEND_cpu) taken->data = nothing;
        return RIDGE_OK;
    }
    if (!t->data) return ridge_fail(error, RIDGE_INVALID, "%s: the data of %s is NULL", r->target->name, spec->name);
    if (begin % size)
        return ridge_fail(error, RIDGE_INVALID,
                          "%s: %s is misaligned: its address is no multiple of %zu, its element size", r->target->name,
                          spec->name, size);
    taken->data = (char *)t->data + t->byte_offset;
    return spec->in_range && r->backend == RIDGE_BACKEND_cpu ? check_range(r, spec, taken, error) : RIDGE_OK;
}

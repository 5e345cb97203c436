/* Makes a request from tensors: target, shape, options. */
#include "ops/request.h"

#include <math.h>

/* A tensor that may be absent, and is. */
static bool is_absent(const ridge_request *r, int k, const DLTensor *t) {
    return ridge_request_spec(r, k)->given_option > 0 && !t->data;
}

static ridge_status take(ridge_request *r, int k, const DLTensor *t, ridge_error *error) {
    if (is_absent(r, k, t)) return RIDGE_OK;
    RIDGE_TRY(ridge_request_take_device(r, k, t, error));
    t = ridge_request_as_values(r, k, t);
    RIDGE_TRY(ridge_request_take_type(r, k, t, error));
    RIDGE_TRY(ridge_request_take_layout(r, k, t, error));
    RIDGE_TRY(ridge_request_check_packed(r, k, error));
    return ridge_request_take_data(r, k, t, error);
}

static ridge_status take_all(ridge_request *r, const DLTensor *in, const DLTensor *out, ridge_error *error) {
    const int n_in = r->target->n_in, n_out = r->target->n_out;
    if ((n_in > 0 && !in) || (n_out > 0 && !out))
        return ridge_fail(error, RIDGE_INVALID, "%s: the list of %s is NULL", r->target->name,
                          n_in > 0 && !in ? "inputs" : "outputs");
    for (int i = 0; i < n_in; i++) RIDGE_TRY(take(r, i, &in[i], error));
    for (int o = 0; o < n_out; o++) RIDGE_TRY(take(r, n_in + o, &out[o], error));
    return RIDGE_OK;
}

/* An absent tensor has a shape, and no data. */
static void make_absent(ridge_request *r, int k) {
    const ridge_tensor_spec *spec = ridge_request_spec(r, k);
    r->bytes[k] = 0;
    r->tensor[k] = (DLTensor){.device = r->tensor[0].device,
                              .dtype = ridge_dtype_to_dlpack(ridge_spec_dtype(spec, &r->c)),
                              .ndim = ridge_spec_shape(spec, &r->c, r->shape[k]),
                              .shape = r->shape[k]};
}

/* Options that say which inputs are given, and with them which outputs are wanted. */
static ridge_status take_given(ridge_request *r, const DLTensor *in, const DLTensor *out, ridge_error *error) {
    for (int i = 0; i < r->target->n_in; i++) {
        const ridge_tensor_spec *spec = ridge_request_spec(r, i);
        if (spec->given_option == 0) continue;
        r->c.option[spec->given_option - 1] = is_absent(r, i, &in[i]) ? 0 : 1;
        if (is_absent(r, i, &in[i])) make_absent(r, i);
    }
    for (int o = 0; o < r->target->n_out; o++) {
        const int k = r->target->n_in + o;
        if (!is_absent(r, k, &out[o])) continue;
        if (ridge_spec_given(ridge_request_spec(r, k), &r->c))
            return ridge_fail(error, RIDGE_INVALID, "%s: the data of %s is NULL", r->target->name,
                              ridge_request_spec(r, k)->name);
        make_absent(r, k);
    }
    return RIDGE_OK;
}

static ridge_status take_options(ridge_request *r, const double *options, ridge_error *error) {
    ridge_target_options(r->target, r->c.option);
    for (int i = 0; options && i < RIDGE_MAX_OPTIONS && r->target->options[i].name; i++) {
        if (!isfinite(options[i]))
            return ridge_fail(error, RIDGE_INVALID, "%s: %s is %g; it must be a finite number", r->target->name,
                              r->target->options[i].name, options[i]);
        r->c.option[i] = options[i];
    }
    return RIDGE_OK;
}

/* Options that types of tensors set. Tensors of one option have one type. */
static ridge_status take_wide(ridge_request *r, ridge_error *error) {
    const ridge_tensor_spec *first[RIDGE_MAX_OPTIONS] = {NULL};
    for (int i = 0; i < r->target->n_in + r->target->n_out; i++) {
        const ridge_tensor_spec *spec = ridge_request_spec(r, i);
        if (spec->wide_option == 0 || !ridge_spec_given(spec, &r->c)) continue;
        const int option = spec->wide_option - 1;
        const double wide = ridge_dtype_of(&r->tensor[i]) == r->c.dtype ? 0 : 1;
        if (first[option] && fabs(wide - r->c.option[option]) > 0)
            return ridge_fail(error, RIDGE_INVALID, "%s: %s and %s are of different types", r->target->name,
                              first[option]->name, spec->name);
        first[option] = spec;
        r->c.option[option] = wide;
    }
    return RIDGE_OK;
}

/* Whether every extent that tensors have is at most what derive() makes of these sizes. */
static bool reaches(const ridge_target *target, const int64_t known[RIDGE_MAX_RANK], int size, int64_t extent) {
    int64_t dim[RIDGE_MAX_RANK];
    memcpy(dim, known, sizeof dim);
    dim[size] = extent;
    target->derive(dim);
    for (int d = target->n_sizes; d < RIDGE_MAX_RANK; d++)
        if (known[d] > dim[d]) return false;
    return true;
}
/* A size that no tensor has, such as the columns of a matrix of which tensors have half: the least from which the extents follow
 * that they do have. reject() looks whether they all do. */
static void complete(ridge_request *r) {
    for (int size = 0; r->target->derive && size < r->target->n_sizes; size++) {
        int64_t below = -1, reached = INT64_C(1) << 48;
        if (r->c.dim[size] >= 0) continue;
        while (reached - below > 1) {
            const int64_t middle = below + (reached - below) / 2;
            if (reaches(r->target, r->c.dim, size, middle))
                reached = middle;
            else
                below = middle;
        }
        r->c.dim[size] = reached;
    }
}

ridge_status ridge_request_make(ridge_request *r, const char *target, const DLTensor *in, int n_in, const DLTensor *out,
                                int n_out, const double *options, ridge_error *error) {
    if (!target) return ridge_fail(error, RIDGE_INVALID, "the name of the target is NULL");
    r->target = ridge_target_find(target);
    if (!r->target) return ridge_fail(error, RIDGE_NOT_FOUND, "there is no target '%.60s'", target);
    if (n_in != r->target->n_in || n_out != r->target->n_out)
        return ridge_fail(error, RIDGE_INVALID, "%s takes %d inputs and %d outputs, not %d and %d", target,
                          r->target->n_in, r->target->n_out, n_in, n_out);
    r->c = (ridge_case){.dtype = RIDGE_DTYPE_NONE};
    r->rows = NULL;
    for (int d = 0; d < RIDGE_MAX_RANK; d++) r->c.dim[d] = -1;
    RIDGE_TRY(take_all(r, in, out, error));
    complete(r);
    for (int d = 0; d < RIDGE_MAX_RANK; d++)
        if (r->c.dim[d] < 0) r->c.dim[d] = 0; /* dimensions past the target's rank */
    RIDGE_TRY(take_options(r, options, error));
    RIDGE_TRY(take_given(r, in, out, error));
    RIDGE_TRY(take_wide(r, error));
    const char *why = r->target->reject ? r->target->reject(&r->c) : NULL;
    if (why) return ridge_fail(error, RIDGE_INVALID, "%s: %s", target, why);
    return ridge_request_check_overlap(r, error);
}

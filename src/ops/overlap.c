/* Tests whether tensors share memory. Interleaved views (columns of one wide matrix) do not. The test is exact if both
 * tensors have the same row stride, or if one has a single row. For other layouts it compares address ranges. */
#include "ops/request.h"

/* A tensor as `rows` runs of `width` bytes, `stride` bytes apart. deep: the tensor does not have that form. Elements of
 * four bits lie in pairs. */
typedef struct runs {
    uintptr_t at;
    int64_t rows, stride, width;
    bool deep;
} runs;

static runs runs_of(const DLTensor *t) {
    const int64_t bits = t->dtype.bits;
    const bool column_major = t->ndim > 1 && t->strides[0] < t->strides[t->ndim - 1];
    runs r = {.at = (uintptr_t)t->data, .rows = 1, .width = 1}; /* in elements, at first */
    for (int i = 0; i < t->ndim; i++) {
        const int d = column_major ? i : t->ndim - 1 - i;
        const int64_t extent = t->shape[d], stride = t->strides[d];
        if (extent == 1) continue;
        if (r.rows == 1 && stride == r.width)
            r.width *= extent;
        else if (r.rows == 1)
            r.rows = extent, r.stride = stride;
        else if (stride == r.rows * r.stride)
            r.rows *= extent;
        else
            r.deep = true;
    }
    r.width = r.width * bits / 8, r.stride = r.stride * bits / 8;
    return r;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static bool ranges_meet(int64_t a, int64_t a_n, int64_t b, int64_t b_n) { return a < b + b_n && b < a + a_n; }

/* Both have the same stride, at least both widths. A row of b that begins at byte m of row i of a overlaps that row if
 * m is within a's width. It overlaps row i + 1 if it extends past the stride. */
static bool rows_meet(const runs *a, const runs *b) {
    const int64_t distance = (int64_t)(b->at - a->at), first = floor_div(distance, a->stride);
    const int64_t column = distance - first * a->stride;
    if (column < a->width && ranges_meet(0, a->rows, first, b->rows)) return true;
    return column + b->width > a->stride && ranges_meet(0, a->rows, first + 1, b->rows);
}

/* b is a single run. Only the first row of a that ends after b's begin matters. */
static bool run_meets(const runs *a, const runs *b) {
    const int64_t begin = (int64_t)(b->at - a->at);
    if (a->rows == 1) return ranges_meet(0, a->width, begin, b->width);
    int64_t row = floor_div(begin - a->width, a->stride) + 1;
    if (row < 0) row = 0;
    return row < a->rows && row * a->stride < begin + b->width;
}

/* *exact: a result of true is certain. */
static bool overlap(const DLTensor *t, const DLTensor *u, bool *exact) {
    const runs a = runs_of(t), b = runs_of(u);
    *exact = !a.deep && !b.deep;
    if (*exact && b.rows == 1) return run_meets(&a, &b);
    if (*exact && a.rows == 1) return run_meets(&b, &a);
    if (*exact && a.stride == b.stride && a.width <= a.stride && b.width <= a.stride) return rows_meet(&a, &b);
    *exact = false;
    return true;
}

static bool identical(const DLTensor *a, const DLTensor *b) {
    if (a->data != b->data || a->ndim != b->ndim || a->dtype.code != b->dtype.code || a->dtype.bits != b->dtype.bits)
        return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d] || a->strides[d] != b->strides[d]) return false;
    return true;
}

/* Compares output `out` with tensor `other`, whose address ranges overlap. */
static ridge_status check_pair(const ridge_request *r, int out, int other, ridge_error *error) {
    const ridge_tensor_spec *spec = ridge_request_spec(r, out), *beside = ridge_request_spec(r, other);
    const bool input = other < r->target->n_in, same = identical(&r->tensor[out], &r->tensor[other]);
    bool exact = true;
    if (same && input && (spec->in_place & RIDGE_IN_PLACE_OF(other))) return RIDGE_OK;
    if (same && input)
        return ridge_fail(error, RIDGE_INVALID,
                          "%s: %s is %s itself, but the operation does not work in place: give "
                          "it memory of its own",
                          r->target->name, spec->name, beside->name);
    if (!overlap(&r->tensor[out], &r->tensor[other], &exact)) return RIDGE_OK;
    return ridge_fail(error, RIDGE_INVALID, "%s: %s %s %s: give it memory of its own", r->target->name, spec->name,
                      exact ? "overlaps" : "lies in the address range of", beside->name);
}

ridge_status ridge_request_check_overlap(const ridge_request *r, ridge_error *error) {
    const int n_in = r->target->n_in, n = n_in + r->target->n_out;
    for (int out = n_in; out < n; out++) {
        const uintptr_t at = (uintptr_t)r->tensor[out].data;
        for (int k = 0; r->bytes[out] && k < out; k++) {
            const uintptr_t other = (uintptr_t)r->tensor[k].data;
            if (r->bytes[k] == 0 || at >= other + r->bytes[k] || other >= at + r->bytes[out]) continue;
            RIDGE_TRY(check_pair(r, out, k, error));
        }
    }
    return RIDGE_OK;
}

/* Converts a tensor's shape and strides to the rank of its spec.
 *
 * The target's first dimension counts rows. Row-wise inputs and outputs begin with it and may have zero or more leading
 * dimensions in its place. These fold into one dimension if a single stride covers all rows. */
#include "ops/request.h"

typedef struct layout {
    const ridge_request *r;
    const ridge_tensor_spec *spec;
    const DLTensor *t; /* as passed */
    ridge_error *error;
    int leading;    /* dimensions that fold into the first */
    int64_t *shape; /* result, of the spec's rank */
    int64_t *strides;
} layout;

#define REFUSE(l, ...) ridge_fail((l)->error, RIDGE_INVALID, __VA_ARGS__)
#define NAMES(l) (l)->r->target->name, (l)->spec->name

/* ---- shape ------------------------------------------------------------------------------------------------------ */

static ridge_status check_rank(layout *l, bool folds) {
    const int ndim = l->t->ndim, inner = l->spec->rank - 1;
    if (ndim < 0 || ndim > RIDGE_MAX_TENSOR_RANK)
        return REFUSE(l, "%s: %s has %d dimensions; ridge takes tensors of 0 to %d", NAMES(l), ndim,
                      RIDGE_MAX_TENSOR_RANK);
    if (ndim > 0 && !l->t->shape) return REFUSE(l, "%s: the shape of %s is NULL", NAMES(l));
    if (folds ? ndim < inner : ndim != inner + 1)
        return REFUSE(l, "%s: %s has %d dimensions, not %s%d", NAMES(l), ndim, folds ? "at least " : "",
                      folds ? inner : inner + 1);
    for (int d = 0; d < ndim; d++)
        if (l->t->shape[d] < 0)
            return REFUSE(l, "%s: %s has the negative extent %lld in dimension %d", NAMES(l), (long long)l->t->shape[d],
                          d);
    l->leading = ndim - inner;
    return RIDGE_OK;
}

/* False on overflow. */
static bool product(const int64_t *extents, int n, int64_t *result) {
    *result = 1;
    for (int d = 0; d < n; d++)
        if (extents[d] == 0) return *result = 0, true;
    for (int d = 0; d < n; d++)
        if (__builtin_mul_overflow(*result, extents[d], result)) return false;
    return true;
}

static ridge_status take_extents(const layout *l) {
    int64_t elements;
    if (!product(l->t->shape, l->t->ndim, &elements) || !product(l->t->shape, l->leading, &l->shape[0]))
        return REFUSE(l, "%s: %s has more elements than the address space holds", NAMES(l));
    for (int d = 1; d < l->spec->rank; d++) l->shape[d] = l->t->shape[l->leading + d - 1];
    return RIDGE_OK;
}

/* The leading dimensions must be the same in every row-wise tensor. */
static ridge_status check_leading(ridge_request *r, layout *l) {
    if (!r->rows) {
        r->rows = l->t, r->rows_name = l->spec->name, r->n_rows = l->leading;
        return RIDGE_OK;
    }
    bool same = l->leading == r->n_rows;
    for (int d = 0; same && d < l->leading; d++) same = l->t->shape[d] == r->rows->shape[d];
    if (same || (l->leading == 1 && r->n_rows == 1))
        return RIDGE_OK; /* an unequal single extent gets the text of a named extent */
    return REFUSE(l, "%s: the leading dimensions are %s in %s and %s in %s: they must be the same", r->target->name,
                  ridge_words_shape(l->leading, l->t->shape).text, l->spec->name,
                  ridge_words_shape(r->n_rows, r->rows->shape).text, r->rows_name);
}

static ridge_status take_named_extents(ridge_request *r, const layout *l) {
    for (int d = 0; d < l->spec->rank; d++) {
        int64_t *extent = &r->c.dim[l->spec->dim[d]];
        if (*extent >= 0 && *extent != l->shape[d])
            return REFUSE(l, "%s: %s is %lld in %s and %lld elsewhere", r->target->name,
                          r->target->dims[l->spec->dim[d]], (long long)l->shape[d], l->spec->name, (long long)*extent);
        *extent = l->shape[d];
    }
    return RIDGE_OK;
}

/* ---- strides ---------------------------------------------------------------------------------------------------- */

static void dense_strides(const layout *l) {
    int64_t below = 1;
    for (int d = l->spec->rank - 1; d >= 0; d--) {
        l->strides[d] = below;
        if (__builtin_mul_overflow(below, l->shape[d], &below)) below = 0; /* an empty tensor */
    }
}

static ridge_status check_positive(const layout *l) {
    for (int d = 0; d < l->t->ndim; d++)
        if (l->t->shape[d] > 1 && l->t->strides[d] <= 0)
            return REFUSE(l, "%s: %s has stride %lld in dimension %d; strides must be positive: make it contiguous",
                          NAMES(l), (long long)l->t->strides[d], d);
    return RIDGE_OK;
}

/* Computes one stride for all leading dimensions; 0 if together they have one row. */
static ridge_status fold(const layout *l, int64_t *stride) {
    int64_t span = 0; /* rows in the dimensions below, times their stride */
    *stride = 0;
    for (int d = l->leading - 1; d >= 0; d--) {
        const int64_t extent = l->t->shape[d], step = l->t->strides[d];
        if (extent == 1) continue;
        if (*stride == 0)
            *stride = step;
        else if (step != span)
            return REFUSE(l,
                          "%s: the leading dimensions of %s do not fold into rows: dimension %d has stride %lld, not "
                          "%lld: make it contiguous",
                          NAMES(l), d, (long long)step, (long long)span);
        if (__builtin_mul_overflow(step, extent, &span)) return REFUSE(l, "%s: the strides of %s overflow", NAMES(l));
    }
    return RIDGE_OK;
}

/* The dimensions from the innermost outwards: the last first, or the first (column-major). Those whose order is free follow
 * their strides, of extent 1 before all others. */
static void nest(const layout *l, const int64_t *strides, bool column_major, int dims[RIDGE_MAX_RANK]) {
    const int rank = l->spec->rank, fixed = rank - l->spec->any_order;
    for (int i = 0; i < rank; i++) dims[i] = column_major ? i : rank - 1 - i;
    if (l->spec->any_order == 0) return;
    for (int i = fixed + 1; i < rank; i++)
        for (int j = i; j > fixed; j--) {
            const int inner = dims[j - 1], outer = dims[j];
            const bool single = l->shape[outer] == 1 && l->shape[inner] > 1;
            if (!single && (l->shape[inner] == 1 || strides[outer] >= strides[inner])) break;
            dims[j - 1] = outer, dims[j] = inner;
        }
}

/* Checks the strides from the innermost dimension outwards (row-major: the last; column-major: the first). The
 * innermost is contiguous, and each other stride is at least the span below it. Dimensions with extent 1 get the stride
 * of a dense tensor. Returns the offending dimension, or -1. */
static int order(const layout *l, const int64_t *strides, bool column_major) {
    int64_t below = 1;
    const int rank = l->spec->rank;
    int dims[RIDGE_MAX_RANK];
    nest(l, strides, column_major, dims);
    for (int i = 0; i < rank; i++) {
        const int d = dims[i];
        const int64_t extent = l->shape[d];
        l->strides[d] = extent == 1 ? below : strides[d];
        if (extent == 1) continue;
        if (i == 0 ? strides[d] != 1 : strides[d] < below) return d;
        if (__builtin_mul_overflow(strides[d], extent, &below)) return d;
    }
    return -1;
}

static ridge_status refuse_order(const layout *l, const int64_t *strides, int d) {
    if (l->spec->takes_column_major) return REFUSE(l, "%s: %s is neither row-major nor column-major", NAMES(l));
    if (d == l->spec->rank - 1)
        return REFUSE(l, "%s: the last dimension of %s has stride %lld, not 1: make it contiguous", NAMES(l),
                      (long long)strides[d]);
    return REFUSE(l, "%s: %s overlaps itself: stride %lld of dimension %d is less than the elements below it", NAMES(l),
                  (long long)strides[d], d + l->leading - 1);
}

static ridge_status take_strides(ridge_request *r, const layout *l, unsigned bit) {
    int64_t strides[RIDGE_MAX_RANK];
    bool empty = false;
    for (int d = 0; d < l->spec->rank; d++) empty = empty || l->shape[d] == 0;
    if (empty || !l->t->strides) return dense_strides(l), RIDGE_OK;
    RIDGE_TRY(check_positive(l));
    RIDGE_TRY(fold(l, &strides[0]));
    for (int d = 1; d < l->spec->rank; d++) strides[d] = l->t->strides[l->leading + d - 1];
    const int wrong = order(l, strides, false);
    if (wrong < 0) return RIDGE_OK;
    if (!l->spec->takes_column_major || order(l, strides, true) >= 0) return refuse_order(l, strides, wrong);
    r->c.column_major |= bit;
    return RIDGE_OK;
}

ridge_status ridge_request_take_layout(ridge_request *r, int k, const DLTensor *t, ridge_error *error) {
    const ridge_tensor_spec *spec = ridge_request_spec(r, k);
    layout l = {.r = r, .spec = spec, .t = t, .error = error, .shape = r->shape[k], .strides = r->strides[k]};
    const bool folds = spec->dim[0] == 0 && (spec->by_row || k >= r->target->n_in);
    RIDGE_TRY(check_rank(&l, folds));
    RIDGE_TRY(take_extents(&l));
    if (folds) RIDGE_TRY(check_leading(r, &l));
    RIDGE_TRY(take_named_extents(r, &l));
    RIDGE_TRY(take_strides(r, &l, 1u << k));
    r->tensor[k] =
        (DLTensor){.device = t->device, .dtype = t->dtype, .ndim = spec->rank, .shape = l.shape, .strides = l.strides};
    return RIDGE_OK;
}

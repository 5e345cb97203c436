/* One tensor of a set of operands, in two orders: as it lies in memory, in lines of contiguous elements, which is how
 * it is filled and scanned; and by rows, which is how it is compared and named. For a tensor that lies by rows both are
 * the dense row-major index; a column-major matrix lies by columns. Internal to verify. */
#ifndef RIDGE_VERIFY_VIEW_H
#define RIDGE_VERIFY_VIEW_H

#include <string.h>

#include "verify/operands.h"

/* Guard bytes before and after each tensor. Their sum is an odd number of cache lines, so that tensors whose sizes are
 * powers of two do not all start at the same offset within a page (stores and loads 4 KiB apart disturb each other). */
enum { RIDGE_GUARD_FRONT = 448, RIDGE_GUARD_REAR = 384, RIDGE_GUARD_PERIOD = 64 };

typedef struct ridge_view {
    char *base; /* first element */
    ridge_dtype dtype;
    size_t size; /* bytes of an element */
    int64_t elements;
    int64_t line; /* elements of a contiguous line; a dense tensor is one line */
    int64_t row;  /* elements of one index of dimension 0 */
    int64_t span; /* elements from the first to the end of the last, gaps included */
    int rank;     /* of the lines' coordinates: 0 when dense */
    bool column_major;
    int64_t rows;                                                     /* extent of dimension 0 */
    const int64_t *shape;                                             /* as named */
    const int64_t *strides;                                           /* likewise */
    int64_t line_shape[RIDGE_MAX_RANK], line_strides[RIDGE_MAX_RANK]; /* in the order of memory */
    double roundoff; /* of the coarser of its type and the case's: what its values may be expected to be good for */
    const ridge_tensor_spec *spec;
} ridge_view;

/* Tensors are numbered inputs first. */
static inline int ridge_operands_count(const ridge_operands *ops) { return ops->target->n_in + ops->target->n_out; }
ridge_view ridge_operands_view(const ridge_operands *ops, int tensor);

/* Where the memory of a tensor, its rear guard included, ends and that of the next begins. */
const char *ridge_operands_area_end(const ridge_operands *ops, int tensor);

/* The team for work on the whole set, or NULL where waking it would cost more than the work. */
static inline ridge_team *ridge_operands_team(const ridge_operands *ops, ridge_team *team) {
    return ops->bytes < 65536 ? NULL : team;
}

/* Elements from the base to the start of a line. */
int64_t ridge_view_line_offset(const ridge_view *view, int64_t line);

/* A contiguous run of elements: `n` of them from index `first` in the order of memory, at `at`. */
typedef struct ridge_view_run {
    int64_t first, n;
    char *at;
} ridge_view_run;

/* The next run of [*position, end), in the order of memory; false when there is none. */
bool ridge_view_next(const ridge_view *view, int64_t *position, int64_t end, ridge_view_run *run);

/* Elements first … first+n-1, by rows, as fp64, dense. */
void ridge_view_load(const ridge_view *view, int64_t first, int64_t n, double *values);

/* The place in memory's order of an element counted by rows, and the other way round. */
int64_t ridge_view_to_memory(const ridge_view *view, int64_t element);
int64_t ridge_view_to_rows(const ridge_view *view, int64_t position);

/* What fill writes at places first … first+n-1 of input `tensor`, in the order of memory, in its dtype. */
void ridge_operands_make(const ridge_operands *ops, int tensor, int64_t first, int64_t n, void *values);

/* How an input's elements come from their hashes, for whoever makes them elsewhere (a GPU): element i of the tensor is
 * made of ridge_random32(ridge_random32_key(seed, i / RIDGE_RANDOM_BLOCK), i % RIDGE_RANDOM_BLOCK). */
typedef struct ridge_recipe {
    uint64_t seed;
    bool integer; /* v = low + (hash * range >> 32); else v = (2 (hash >> 8) - 2^24 + 1) / 2^24 */
    uint32_t range;
    int32_t low;
    float scale, shift; /* an element of a floating-point type is shift + scale * v, rounded; scale is a power of two */
} ridge_recipe;
ridge_recipe ridge_operands_recipe(const ridge_operands *ops, int tensor);

/* RIDGE_GUARD_PERIOD bytes repeated over all guards of a tensor, twice in a row so that any phase is contiguous. The
 * byte at address a is pattern[a % RIDGE_GUARD_PERIOD]. */
void ridge_guard_pattern(const ridge_operands *ops, int tensor, unsigned char pattern[2 * RIDGE_GUARD_PERIOD]);

/* The bits of poison: a signalling NaN, which no arithmetic yields (results are quiet); for i32 a number far outside
 * any index range. */
uint64_t ridge_poison_bits(ridge_dtype dtype);

#endif

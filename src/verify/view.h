/* A view of one tensor of an operand set, with two element orders. Memory order, in lines of contiguous elements,
 * serves fills and scans. Row-major order serves comparisons and messages. The two differ only for column-major
 * matrices. Internal to verify. */
#ifndef RIDGE_VERIFY_VIEW_H
#define RIDGE_VERIFY_VIEW_H

#include <string.h>

#include "core/dtype.h"
#include "core/random.h"
#include "verify/operands.h"

/* Guard bytes before and after each tensor. Their sum is an odd number of cache lines, so that tensors whose sizes are
 * powers of two start at different page offsets. Equal offsets cause 4 KiB aliasing of loads and stores. */
enum { RIDGE_GUARD_FRONT = 448, RIDGE_GUARD_REAR = 384, RIDGE_GUARD_PERIOD = 64 };

typedef struct ridge_view {
    char *base; /* first element */
    ridge_dtype dtype;
    size_t size; /* bytes of an element; of a pair, if they are packed */
    int64_t elements;
    int64_t line; /* elements per contiguous line; a dense tensor is one line */
    int64_t row;  /* elements per index of dimension 0 */
    int64_t span; /* elements from the first to the last inclusive, gaps included */
    int rank;     /* number of line coordinates; 0: dense */
    bool column_major;
    int64_t rows;                                                     /* extent of dimension 0 */
    const int64_t *shape;                                             /* in the order of dimensions */
    const int64_t *strides;                                           /* in the order of dimensions */
    int64_t line_shape[RIDGE_MAX_RANK], line_strides[RIDGE_MAX_RANK]; /* in memory order */
    double roundoff; /* unit roundoff of the coarser of its type and the case's type */
    const ridge_tensor_spec *spec;
} ridge_view;

/* Bytes of so many elements side by side; of packed ones, whole bytes alone. */
static inline size_t ridge_view_bytes(const ridge_view *view, int64_t elements) {
    return (size_t)elements * view->size >> ridge_dtype_is_packed(view->dtype);
}

/* Tensors are numbered inputs first. */
static inline int ridge_operands_count(const ridge_operands *ops) { return ops->target->n_in + ops->target->n_out; }
ridge_view ridge_operands_view(const ridge_operands *ops, int tensor);

/* End of a tensor's memory, rear guard included; the next tensor's memory begins there. */
const char *ridge_operands_area_end(const ridge_operands *ops, int tensor);

/* The team for work on the whole set; NULL if waking it takes longer than the work. */
static inline ridge_team *ridge_operands_team(const ridge_operands *ops, ridge_team *team) {
    return ops->bytes < 65536 ? NULL : team;
}

/* Elements from the base to the start of a line. */
int64_t ridge_view_line_offset(const ridge_view *view, int64_t line);

/* A contiguous run: `n` elements from memory-order index `first`. The first one is element `skip` of those at address
 * `at`: 0, unless elements are packed and it is not the first of its byte. */
typedef struct ridge_view_run {
    int64_t first, n;
    char *at;
    int skip;
} ridge_view_run;

/* Returns the next run of [*position, end) in memory order and advances *position; false at the end. */
bool ridge_view_next(const ridge_view *view, int64_t *position, int64_t end, ridge_view_run *run);

/* Loads elements first … first+n-1 in row-major order as fp64. */
void ridge_view_load(const ridge_view *view, int64_t first, int64_t n, double *values);

/* Convert a row-major index to a memory-order index, and back. */
int64_t ridge_view_to_memory(const ridge_view *view, int64_t element);
int64_t ridge_view_to_rows(const ridge_view *view, int64_t position);

/* Writes "x[3,17]" for a row-major index. */
void ridge_view_name(const ridge_view *view, int64_t element, char *text, size_t size);

/* Address of the byte in which the element so many elements behind the base begins. */
static inline char *ridge_view_at(const ridge_view *view, int64_t elements) {
    return view->base + ridge_view_bytes(view, elements);
}

/* Regenerates the fill of input `tensor` at memory-order indices first … first+n-1, in its dtype. Packed elements:
 * `first` is even. */
void ridge_operands_make(const ridge_operands *ops, int tensor, int64_t first, int64_t n, void *values);

/* Maps a hash to an element of an input; the GPU's fill uses it. The hash of element i is
 * ridge_random32(ridge_random32_key(seed, i / RIDGE_RANDOM_BLOCK), i % RIDGE_RANDOM_BLOCK). */
typedef struct ridge_recipe {
    uint64_t seed;
    bool integer; /* v = low + (hash * range >> 32); else v = (2 (hash >> 8) - 2^24 + 1) / 2^24 */
    uint32_t range;
    int32_t low;
    float scale, shift; /* an element of a floating-point type is shift + scale * v, rounded; scale is a power of two */
    int64_t ends;       /* 0, or the number of elements of RIDGE_FILL_ENDS: ridge_end_of */
    bool complete;      /* the last of them is `range` */
    bool pattern;       /* RIDGE_FILL_PATTERN: ridge_codes_of */
} ridge_recipe;
/* A word of RIDGE_FILL_PATTERN: each digit to the base 6 of the hash is one of the codes. */
RIDGE_RANDOM_FN int32_t ridge_codes_of(uint32_t hash) {
    uint32_t word = 0;
    for (int i = 0; i < 8; i++, hash /= 6) word |= (0xed9c84u >> 4 * (hash % 6) & 15) << 4 * i;
    return (int32_t)word;
}
/* Element i of RIDGE_FILL_ENDS. Only products and a quotient, which the CPU and a GPU round alike. */
RIDGE_RANDOM_FN int32_t ridge_end_of(const ridge_recipe *r, int64_t i, uint32_t hash) {
    const double part = ((double)i * 65536 + (double)(hash >> 16)) / ((double)r->ends * 65536); /* below 1 */
    return i + 1 == r->ends && r->complete ? (int32_t)r->range : (int32_t)(part * part * (double)r->range);
}
ridge_recipe ridge_operands_recipe(const ridge_operands *ops, int tensor);

/* The guard pattern of a tensor: RIDGE_GUARD_PERIOD bytes, stored twice so that any phase is contiguous. The byte at
 * address a is pattern[a % RIDGE_GUARD_PERIOD]. */
void ridge_guard_pattern(const ridge_operands *ops, int tensor, unsigned char pattern[2 * RIDGE_GUARD_PERIOD]);

/* Bits of poison: a signalling NaN, which no arithmetic produces (results are quiet NaNs); for i32, a value far outside
 * any index range. Packed elements have no such value: ridge_poison_write gives them a pattern. */
uint64_t ridge_poison_bits(ridge_dtype dtype);
void ridge_poison_write(ridge_dtype dtype, char *at, int64_t elements);

#endif

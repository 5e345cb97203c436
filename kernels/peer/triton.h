/* Triton's kernels without Python at run time: ridge_peers/triton_ahead.py compiles them where Triton is installed
 * (cmake/triton.cmake), for Hopper, and writes this table. Elsewhere it is empty, and the variants say "not built". */
#ifndef RIDGE_KERNELS_PEER_TRITON_H
#define RIDGE_KERNELS_PEER_TRITON_H

#include "ridge/target.h"

/* One instance of a kernel: its constants are part of its code. */
typedef struct triton_kernel {
    const char *name;      /* of the function in triton_kernels.py, without its first underscore */
    const char *symbol;    /* in the image */
    const char *signature; /* types of its arguments, as Triton writes them */
    ridge_dtype dtype;     /* of the operands */
    bool aligned;          /* addresses, strides and extents are multiples of 16 */
    int64_t columns, rows; /* of a program's tile */
    bool whole;            /* a program holds rows with all of their columns */
    int arguments, threads, shared;
    const unsigned char *image; /* a fat binary: machine code and PTX */
} triton_kernel;
extern const triton_kernel triton_kernels[];
extern const int triton_kernel_count;

/* `unavailable` of a variant; the second one of a kernel whose programs hold whole rows of so many columns. */
const char *triton_absent(const ridge_case *c);
const char *triton_holds(const char *name, const ridge_case *c, int64_t columns);

/* What a launch is for: results of so many rows and columns. */
typedef struct triton_want {
    const char *name;
    ridge_dtype dtype;
    int64_t rows, columns;
    bool aligned;
} triton_want;
/* The instance with the fewest columns that holds them, and of those (or of tiles that need not) the largest tile of which every
 * SM has one, else the smallest. NULL: there is none. */
const triton_kernel *triton_find(triton_want want);
int64_t triton_programs(const triton_kernel *kernel, int64_t rows, int64_t columns);
/* For `prepare`: loads what triton_find finds, aligned and not, which no capture may have to do. */
ridge_status triton_load(triton_want want);
/* Launches so many programs of it; `arguments` has the address of each argument, in order. RIDGE_UNSUPPORTED: kernel is NULL. */
ridge_status triton_launch(const triton_kernel *kernel, int64_t programs, void **arguments, int n, void *stream);

/* Whether the matrix's address and the stride of its rows, in elements, are multiples of 16. */
static inline bool triton_is_aligned(const DLTensor *t) {
    return (uintptr_t)ridge_data(t) % 16 == 0 && (t->ndim < 2 || ridge_row_stride(t) % 16 == 0);
}

/* A variant of them. fn is its run; fn_unavailable and fn_prepare are beside it. Code for 9.0a runs there alone, as
 * a way can say. */
#define TRITON_DECLARE(fn)                                                   \
    const char *fn##_unavailable(const ridge_case *);                        \
    ridge_status fn##_prepare(const ridge_case *, int threads, void **plan); \
    ridge_status fn(const ridge_call *)
#define TRITON_WAY(fn, idea_) \
    { .name = "hopper", .idea = idea_, .needs = 90, .below = 91, .run = RIDGE_CUDA(fn) }
#define TRITON_VARIANT(name_, idea_, fn, ways_)                                                                   \
    .name = name_, .role = RIDGE_PEER, .idea = idea_, .ways = RIDGE_LIST(ways_), .unavailable = fn##_unavailable, \
    .prepare = fn##_prepare

#endif

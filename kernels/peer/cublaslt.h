/* cuBLASLt, opened at run time: the matrix product of unfused variants.
 *
 * .unavailable calls cublaslt_unavailable; .prepare calls cublaslt_plan_create; run is one cublaslt_run with scratch of
 * CUBLASLT_WORKSPACE bytes; .release = cublaslt_plan_destroy. */
#ifndef RIDGE_PEER_CUBLASLT_H
#define RIDGE_PEER_CUBLASLT_H

#include "ridge/target.h"

enum { CUBLASLT_WORKSPACE = 32 << 20 };

/* NULL when it can be used, else why not. The case is not looked at. */
const char *cublaslt_unavailable(const ridge_case *c);

/* z[rows, classes] = x[rows, depth] w + b, for each of several w and z: row-major, with w transposed ([classes, depth])
 * or x transposed ([depth, rows]) on request. f32, tf32 (fp32 in memory), bf16 or f16; sums in fp32. */
typedef struct cublaslt_shape {
    int64_t rows, depth, classes;
    int batch; /* number of w, b and z; all share x */
    bool turned, x_turned;
    ridge_dtype dtype, to; /* to: of z; NONE: dtype */
} cublaslt_shape;

typedef struct cublaslt_operands {
    const void *x, *w, *b; /* b: NULL, or one value a class in the storage type; with one w only */
    void *z;
    int64_t x_row, w_row, z_row; /* row strides in memory, in elements */
    int64_t w_next, z_next;      /* strides between matrices of the batch */
} cublaslt_operands;

typedef struct cublaslt_plan cublaslt_plan;

/* Selects an algorithm by the library's heuristic for dense operands, or for the given strides. */
ridge_status cublaslt_plan_create(const cublaslt_shape *shape, cublaslt_plan **plan);
ridge_status cublaslt_plan_create_for(const cublaslt_shape *shape, const cublaslt_operands *like, cublaslt_plan **plan);
/* Enqueues the product. For other operands than the plan's the call itself selects an algorithm: correct, but slow.
 */
ridge_status cublaslt_run(const cublaslt_plan *plan, const cublaslt_operands *operands, void *workspace, void *stream);
/* The same for a shape whose layout may differ from the plan's. */
ridge_status cublaslt_run_as(const cublaslt_plan *plan, const cublaslt_shape *shape, const cublaslt_operands *operands,
                             void *workspace, void *stream);
void cublaslt_plan_destroy(void *plan); /* NULL is allowed */

/* ---- the quickest algorithm instead of the first guess ---- */

enum { CUBLASLT_CANDIDATES = 64 };

/* Asks for the library's algorithms, best guess first, and keeps up to CUBLASLT_CANDIDATES; their number, 0: none. */
int cublaslt_plan_candidates(cublaslt_plan *plan);
void cublaslt_plan_take(cublaslt_plan *plan, int candidate);
const cublaslt_shape *cublaslt_plan_shape(const cublaslt_plan *plan);
/* Measures all of them on random operands of the plan's shape, one matrix of each, in memory of its own, and keeps the
 * quickest: in events around whole series, the faster half again and longer (cublaslt_search.cu). */
ridge_status cublaslt_plan_search(cublaslt_plan *plan);

#endif

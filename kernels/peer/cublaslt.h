/* cuBLASLt as the library that unfused variants take their matrix product from, opened at run time.
 *
 * .unavailable calls cublaslt_unavailable; .prepare calls cublaslt_plan_create; run is one cublaslt_run with scratch of
 * CUBLASLT_WORKSPACE bytes; .release = cublaslt_plan_destroy. */
#ifndef RIDGE_PEER_CUBLASLT_H
#define RIDGE_PEER_CUBLASLT_H

#include "ridge/target.h"

enum { CUBLASLT_WORKSPACE = 32 << 20 };

/* NULL when it can be used, else why not. The case is not looked at. */
const char *cublaslt_unavailable(const ridge_case *c);

/* z[rows, classes] = x[rows, depth] w + b, for each of several w and z: row-major, or w turned ([classes, depth]), or x
 * turned ([depth, rows]). f32, tf32 (fp32 in memory), bf16 or f16; sums in fp32. */
typedef struct cublaslt_shape {
    int64_t rows, depth, classes;
    int batch; /* how many w, b and z; all share x */
    bool turned, x_turned;
    ridge_dtype dtype, to; /* to: of z; NONE: dtype */
} cublaslt_shape;

typedef struct cublaslt_operands {
    const void *x, *w, *b; /* b: NULL, or one value a class in the storage type; with one w only */
    void *z;
    int64_t x_row, w_row, z_row; /* elements from one row to the next, as they lie in memory */
    int64_t w_next, z_next;      /* from one of several to the next */
} cublaslt_operands;

typedef struct cublaslt_plan cublaslt_plan;

/* Asks the library for its best guess of an algorithm for dense operands, or for those whose strides are given. */
ridge_status cublaslt_plan_create(const cublaslt_shape *shape, cublaslt_plan **plan);
ridge_status cublaslt_plan_create_for(const cublaslt_shape *shape, const cublaslt_operands *like, cublaslt_plan **plan);
/* Enqueues the product. Others than the plan is for get an algorithm of their own guessed in the call: right, not fast.
 */
ridge_status cublaslt_run(const cublaslt_plan *plan, const cublaslt_operands *operands, void *workspace, void *stream);
/* The same for a shape that may lie otherwise than the plan's. */
ridge_status cublaslt_run_as(const cublaslt_plan *plan, const cublaslt_shape *shape, const cublaslt_operands *operands,
                             void *workspace, void *stream);
void cublaslt_plan_destroy(void *plan); /* NULL is allowed */

#endif

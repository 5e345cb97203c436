/* softmax(x w + b) by way of logits in memory: a product by whichever way of gemm is the quickest (gemm/ways.h), then a
 * launch that adds the bias and makes softmax of rows (softmax_rows.cuh). Of one head or several, of any type, order and
 * alignment. Of C and CUDA: the plan and the launches read the same linear_logits.
 *
 * Logits are fp32. One head at a time, they lie in the place of p where that is fp32, else in scratch. Several heads may be
 * packed: their weights are copied side by side, so that one product has the classes of all. That pays where a head's
 * classes are too few to fill tiles. */
#ifndef RIDGE_LINEAR_LOGITS_H
#define RIDGE_LINEAR_LOGITS_H

#include "cuda/linear/softmax_ways.h"
#include "ridge/target.h"

enum {
    LINEAR_LOGITS_X,
    LINEAR_LOGITS_W,
    LINEAR_LOGITS_BIAS,
    LINEAR_LOGITS_INPUTS
}; /* tensors; p is the first output */

typedef struct linear_logits_plan {
    int64_t rows, heads, depth, classes;
    bool packed;           /* one product for all heads; else one for each */
    bool in_place;         /* logits are in the place of p */
    int64_t line, head;    /* elements from one row's logits to the next, from one head's to the next */
    size_t w, z, product;  /* offsets in scratch: packed weights, logits, what the product's way needs */
    ridge_problem problem; /* of a product */
    const ridge_way *way;  /* of gemm; NULL: none takes it */
    ridge_plan plan;
} linear_logits_plan;

/* dims: places of the extents. The operands of `p` are x, w, b and p of the target. */
linear_logits_plan linear_logits_of(const linear_softmax_dims *dims, const ridge_problem *p);
/* Of a way whose `own` are the linear_softmax_dims. */
ridge_plan linear_logits_plan_of(const ridge_way *way, const ridge_problem *p);

RIDGE_CUDA_DECLARE(linear_logits_cuda);

#define LINEAR_LOGITS_WAY(dims)                                                                          \
    {                                                                                                    \
        .name = "logits", .idea = "gemm's quickest product to memory, then bias and softmax row by row", \
        .plan = linear_logits_plan_of, .run = RIDGE_CUDA(linear_logits_cuda), .own = dims                \
    }

#endif

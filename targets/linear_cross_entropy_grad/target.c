/* Loss and gradients together: linear_cross_entropy, then linear_cross_entropy_backward with its lse.
 * x: [batch, depth], w: [classes, depth], b: [classes], labels: i32 or i64, dloss: f32 [batch] -> loss, lse, dx, dw,
 * db. 6 batch depth classes FLOP for three products, 8 for each logit; every operand once. */
#include "linear_cross_entropy_grad.h"

#define CE_SUMMARY "loss and gradients of softmax regression in one call"
#define CE_INPUTS_OF CE_INPUTS, CE_DLOSS_INPUT
#define CE_OUTPUTS                                                      \
    {.name = "loss", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32}, \
        {.name = "lse", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32, .given = true}, CE_GRADIENT_OUTPUTS
#define CE_DW (1 << (5 + 3))
#define CE_LARGE 8
#define CE_LARGE_CASE \
    { .dim = {4096, 2048, 16384}, CE_TIMED(BF16), CE_ONLY_CUDA }
#define CE_CPU_IDEA "logits and their gradient of a block of rows stay in cache, vectors along the batch"
#define CE_IDEA "logits once: their exponentials become the gradients when the rows' sums are known"
#include "linear/loss_target.h"

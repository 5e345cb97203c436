/* dx = G w, dw = G^T x, db = sum_i G_i, G = dloss ((1 + 2 zl lse) exp(z - lse) - (1-s) [label] - s/classes), z = x w^T
 * + b x: [batch, depth], w: [classes, depth], b: [classes], labels: i32 or i64, lse, dloss: f32 [batch] -> dx, dw as x
 * and w, db. 6 batch depth classes FLOP for three products, 8 for each logit; every operand once. */
#include "linear_cross_entropy_backward.h"

#define CE_SUMMARY "gradients of linear_cross_entropy from its saved lse"
#define CE_INPUTS_OF CE_INPUTS, CE_LSE_INPUT, CE_DLOSS_INPUT
#define CE_OUTPUTS CE_GRADIENT_OUTPUTS
#define CE_DW (1 << (6 + 1))
#define CE_LARGE 0
#define CE_LARGE_CASE \
    { .dim = {4096, 2048, 16384}, CE_TIMED(BF16), CE_ONLY_CUDA }
#define CE_CPU_IDEA "logits and their gradient of a block of rows stay in cache, vectors along the batch"
#define CE_IDEA "gradients of logits for a chunk of rows at a time, three products by tensor cores"
#include "linear/loss_target.h"

/* loss_i = (1-s)(lse_i - z_i,label) + s (lse_i - mean z_i) + zl lse_i^2, z = x w^T + b, lse_i = log sum exp z_i
 * x: [batch, depth], w: [classes, depth], b: [classes], labels: i32 or i64 [batch] -> loss, lse: f32 [batch].
 * 2 batch depth classes FLOP for the logits, 5 each for bias, maximum, subtraction, exp and sum; every operand once. */
#include "linear_cross_entropy.h"

#define CE_SUMMARY "cross-entropy of x w^T + b, logits never in memory"
#define CE_INPUTS_OF CE_INPUTS
#define CE_OUTPUTS                                                        \
    {.name = "loss", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32}, { \
        .name = "lse", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32   \
    }
#define CE_DW 0
#define CE_LARGE 8
#define CE_LARGE_CASE \
    { .dim = {8192, 4096, 32768}, CE_TIMED(BF16), CE_ONLY_CUDA }
#define CE_CPU_IDEA "logits of a block of rows stay in cache, vectors along the batch"
#define CE_IDEA "logits in registers only: parts of a softmax for every tile, tensor cores fed by TMA"
#include "linear/loss_target.h"

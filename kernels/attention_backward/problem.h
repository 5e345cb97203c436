/* Attention's gradients, as its kernels choose and take them. Dims, options and the mask are attention's
 * (attention/problem.h); P = exp(s - lse) is computed again from q, k and lse. For a query i of head h and a key j that it
 * sees:
 *
 *     delta_i = out_i . dout_i,  g_ij = P_ij (dout_i . v_j - delta_i) cap'(scale q_i . k_j)
 *     dq_i = scale sum_j g_ij k_j,  dk_j = scale sum_i g_ij q_i,  dv_j = sum_i P_ij dout_i
 *     dsink_h = -sum_i exp(sink_h - lse_i) delta_i
 *
 * Sums over i are also over the heads that share the key. A row whose lse is -inf has P = 0. Of C and CUDA. */
#ifndef RIDGE_ATTENTION_BACKWARD_PROBLEM_H
#define RIDGE_ATTENTION_BACKWARD_PROBLEM_H

#include "attention/problem.h"

/* Places in in[] and out[]. */
enum {
    BACKWARD_Q,
    BACKWARD_K,
    BACKWARD_V,
    BACKWARD_OUT,
    BACKWARD_LSE,
    BACKWARD_DOUT,
    BACKWARD_SINK,
    BACKWARD_SLOPE,
    BACKWARD_INPUTS
};
enum { BACKWARD_DQ, BACKWARD_DK, BACKWARD_DV, BACKWARD_DSINK };

#ifdef __cplusplus
extern "C" {
#endif

/* 5 products: 6 d + 4 v FLOP a score that is not masked. */
double attention_backward_flops(const ridge_case *c);
double attention_backward_bytes_read(const ridge_case *c);
double attention_backward_bytes_written(const ridge_case *c);

/* The mask as keys see queries: key j is seen by the queries [j + shift - left, j + shift + right] that exist. */
ATTENTION_INLINE attention_mask attention_mask_transposed(attention_mask mask) {
    attention_mask transposed;
    transposed.shift = -mask.shift, transposed.left = mask.right, transposed.right = mask.left;
    return transposed;
}

/* Queries of a head, with room for what tiles of queries and steps read behind them. */
ATTENTION_INLINE int64_t backward_line(int64_t m) { return (m + 127) / 128 * 128 + 128; }

/* Floats of a row of a part's sums: pairs. */
ATTENTION_INLINE int64_t backward_part_line(int columns) { return (columns + 1) / 2 * 2; }

#ifdef __cplusplus
}
#endif

#endif

/* Norms of rows, with an activation and a residual: what targets and kernels of the family have in common.
 *
 *   s = x, or x + residual rounded to the storage type
 *   l2      h = s / max(||s||, eps)
 *   layer   h = (s - mean) / sqrt(var + eps) gamma + beta
 *   rms     h = s / sqrt(mean of s^2 + eps) gamma
 *   y = activation(h)
 *
 * Inputs: x, residual where there is one, gamma, beta. Outputs: y, and s where there is a residual. */
#ifndef RIDGE_MODEL_ROW_NORM_H
#define RIDGE_MODEL_ROW_NORM_H

#include <stdbool.h>

typedef enum row_norm_kind { ROW_NORM_L2, ROW_NORM_LAYER, ROW_NORM_RMS } row_norm_kind;

/* A target's norm. */
typedef struct row_norm_form {
    row_norm_kind kind;
    bool residual;
} row_norm_form;

/* Options of such a target; values of the second. ROW_NORM_WIDE is not 0 where gamma and beta are f32 and x is not. */
enum { ROW_NORM_EPS, ROW_NORM_ACTIVATION, ROW_NORM_WIDE };
enum { ROW_NORM_NONE, ROW_NORM_GELU, ROW_NORM_GELU_TANH, ROW_NORM_SILU, ROW_NORM_RELU, ROW_NORM_ACTIVATIONS };

static inline int row_norm_weights(row_norm_kind kind) {
    return kind == ROW_NORM_LAYER ? 2 : kind == ROW_NORM_RMS ? 1 : 0;
}

/* gelu in its tanh form is h / (1 + 2^-(a h + b h^3)). */
#define ROW_NORM_TANH_A 0x1.26aec2p1f  /* 2 sqrt(2 / pi) log2 e */
#define ROW_NORM_TANH_B 0x1.a5a7d0p-4f /* 0.044715 times that */

#endif

/* Norms of rows, with an activation and a residual: what targets and kernels of the family have in common.
 *
 *   s = x, or x + residual rounded to the storage type
 *   l2      h = s / max(||s||, eps)
 *   layer   h = (s - mean) / sqrt(var + eps) gamma + beta
 *   rms     h = s / sqrt(mean of s^2 + eps) gamma
 *   y = activation(h)
 *
 * Inputs: x, residual where there is one, gamma, beta. Outputs: y, and s where there is a residual. Of C and CUDA. */
#ifndef RIDGE_KERNELS_MODEL_ROW_NORM_H
#define RIDGE_KERNELS_MODEL_ROW_NORM_H

#include <stdbool.h>

#include "model/activation.h"

typedef enum row_norm_kind { ROW_NORM_L2, ROW_NORM_LAYER, ROW_NORM_RMS } row_norm_kind;

/* A target's norm. */
typedef struct row_norm_form {
    row_norm_kind kind;
    bool residual;
} row_norm_form;

/* Options of such a target; the second is of model/activation.h. ROW_NORM_WIDE is not 0 where gamma and beta are f32
 * and x is not. */
enum { ROW_NORM_EPS, ROW_NORM_ACTIVATION, ROW_NORM_WIDE };

/* The row_cut of types of so many bytes: a thread has 64 bytes of a row, or 16 elements of a long one. */
#define ROW_NORM_CUT(bytes) \
    { 64 / (bytes), 16, false }

static inline int row_norm_weights(row_norm_kind kind) {
    return kind == ROW_NORM_LAYER ? 2 : kind == ROW_NORM_RMS ? 1 : 0;
}

#endif

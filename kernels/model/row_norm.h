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
#include "model/norm_eps.h"

typedef enum row_norm_kind { ROW_NORM_L2, ROW_NORM_LAYER, ROW_NORM_RMS } row_norm_kind;

/* A target's norm. eps and activation are those of a target without options; eps is 0 where they are options. */
typedef struct row_norm_form {
    row_norm_kind kind;
    bool residual;
    float eps;
    int activation;
} row_norm_form;

/* Options of such a target; the second is of model/activation.h. ROW_NORM_WIDE is not 0 where gamma and beta are f32
 * and x is not. */
enum { ROW_NORM_EPS, ROW_NORM_ACTIVATION, ROW_NORM_WIDE };

static inline float row_norm_eps(row_norm_form form, const double *option) {
    return form.eps > 0 ? form.eps : (float)option[ROW_NORM_EPS];
}
static inline int row_norm_activation(row_norm_form form, const double *option) {
    return form.eps > 0 ? form.activation : (int)option[ROW_NORM_ACTIVATION];
}
static inline bool row_norm_wide(row_norm_form form, const double *option) {
    return !(form.eps > 0) && option[ROW_NORM_WIDE] > 0;
}

/* The row_cut of types of so many bytes: a thread has 64 bytes of a row, or 16 elements of a long one. */
#define ROW_NORM_CUT(bytes) \
    { 64 / (bytes), 16, false }

/* row_traits of targets without options, whose GPU kernels are rows/norm_fixed.cuh. */
#define FUSED_L2NORM_ROWS \
    { 0, {8, 32, true}, {16, 32, false}, 0, 0 }
#define NORM_ACTIVATION_ROWS \
    { 2, {16, 32, true}, {64, 64, true}, 0, 0 }
#define NORM_ACTIVATION_RMS_ROWS \
    { 1, {8, 32, false}, {16, 32, false}, 0, 0 }

static inline int row_norm_weights(row_norm_kind kind) {
    return kind == ROW_NORM_LAYER ? 2 : kind == ROW_NORM_RMS ? 1 : 0;
}

#endif

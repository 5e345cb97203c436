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

/* The activation that a kernel has which knows its norm: rows/norm_fixed.cuh. */
static inline int row_norm_own_activation(row_norm_kind kind) {
    return kind == ROW_NORM_LAYER ? ACTIVATION_GELU : kind == ROW_NORM_RMS ? ACTIVATION_SILU : ACTIVATION_NONE;
}
/* Whether such a kernel computes this; else one that asks for everything does: rows/norm_any.cuh. */
static inline bool row_norm_is_fixed(row_norm_form form, const double *option) {
    const int activation = row_norm_activation(form, option);
    return !form.residual && !row_norm_wide(form, option) &&
           (activation == ACTIVATION_NONE || activation == row_norm_own_activation(form.kind));
}

/* row_traits of the former: weights, and the row_cuts of f32 and of 16 bit. */
#define ROW_NORM_L2_TRAITS \
    { 0, {8, 32, true}, {16, 32, false}, 0, 0, true, NULL }
#define ROW_NORM_LAYER_TRAITS \
    { 2, {16, 32, true}, {64, 64, true}, 0, 0, true, NULL }
#define ROW_NORM_RMS_TRAITS \
    { 1, {8, 32, false}, {16, 32, false}, 0, 0, true, NULL }

/* The row_cut of the latter, of types of so many bytes: a thread has 64 bytes of a row, or 32 elements of a long one. */
#define ROW_NORM_CUT(bytes) \
    { 64 / (bytes), 32, false }

static inline int row_norm_weights(row_norm_kind kind) {
    return kind == ROW_NORM_LAYER ? 2 : kind == ROW_NORM_RMS ? 1 : 0;
}

#endif

/* Weights of a row's columns beside its elements, f32 ones of bf16 rows, too. */
#ifndef RIDGE_KERNELS_CPU_ROW_WEIGHTS_H
#define RIDGE_KERNELS_CPU_ROW_WEIGHTS_H

#include "cpu/row.h"

/* In the order of a pair of bf16 elements where these are the row's: even places, then odd ones. */
VF_INLINE vf2 row_weights(const void *weights, int64_t j, int64_t count, vf_type of_row, vf_type type) {
    if (!is_bf16(of_row) || is_bf16(type)) return row_load(weights, j, count, type);
    float part[VF2_LANES] = {0};
    const float *from = (const float *)weights + j;
    for (int64_t k = 0; k < count; k++) part[k % 2 * VF_LANES + k / 2] = from[k];
    return vf2_load_f32(part);
}

#endif

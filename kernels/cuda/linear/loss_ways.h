/* The ways of the cross-entropy family on a GPU: who makes the products. Of C and CUDA:
 * kernels/model/linear_loss_ways.c says what each refuses, costs, moves and needs; linear/loss.cuh runs them.
 *
 *   skinny_*   up to 128 classes in fp32: skinny/ways.h, but skinny_single
 *   split      fp32 in hi and lo parts of fp16: linear/loss_split.cuh
 *   tiles      16 bits by wgmma
 *   ffma       fp32 multiply-adds: any type, order and alignment */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_WAYS_H
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_WAYS_H

#include "cuda/skinny/ways.h"
#include "ridge/target.h"

/* Behind those of skinny/ways.h. */
typedef enum linear_loss_way {
    LINEAR_LOSS_SPLIT = SKINNY_WAYS,
    LINEAR_LOSS_TILES,
    LINEAR_LOSS_FFMA,
    LINEAR_LOSS_WAYS
} linear_loss_way;

#endif

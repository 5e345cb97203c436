/* The ways of the cross-entropy family on a GPU: who makes the products. Of C and CUDA:
 * kernels/linear/loss_ways.c says what each refuses, costs, moves and needs; linear/loss.cuh runs them.
 * Beside them all three targets have the way of linear/loss.h, whose logits are in memory.
 *
 *   skinny_*   up to 128 classes in fp32: skinny/ways.h, but skinny_single
 *   split      fp32 in hi and lo parts of fp16: linear/loss_split.cuh
 *   half       tf32 in one part of fp16, likewise
 *   tiles      16 bits by wgmma
 *   ffma       fp32 multiply-adds: any type, order and alignment
 *   few_rows   up to 64 rows: w is read once for each product: gemv/, linear/few_rows.cu
 *   thin       up to 128 classes, 64 in f32, by mma.sync, gradients, too; operands as they lie: linear/loss_thin.cuh
 *   copied     operands that TMA does not take, copied to aligned memory for one of the others: gemm/repack.cuh */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_WAYS_H
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_WAYS_H

#include "cuda/linear/problem.h"
#include "cuda/skinny/ways.h"
#include "ridge/target.h"

enum {
    LINEAR_SHARES_MOST = 32,
    LINEAR_SHARED_SMS = 132 /* that shares are made for, on every device: scratch depends on it */
};

/* Behind those of skinny/ways.h. */
typedef enum linear_loss_way {
    LINEAR_LOSS_SPLIT = SKINNY_WAYS,
    LINEAR_LOSS_HALF,
    LINEAR_LOSS_TILES,
    LINEAR_LOSS_FFMA,
    LINEAR_LOSS_FEW_ROWS,
    LINEAR_LOSS_COPIED,
    LINEAR_LOSS_THIN,
    LINEAR_LOSS_WAYS
} linear_loss_way;

/* A problem. */
typedef struct linear_loss_facts {
    ridge_dtype dtype;
    int bytes; /* of an element */
    int64_t batch, depth, classes;
    bool gradients, forward; /* forward: losses are made, too */
    linear_matrix x, w, dx, dw;
    int sm, sm_count;
    bool copies; /* operands lie in scratch: what is behind their lines is nobody's */
} linear_loss_facts;
/* NULL: the way takes it. */
const char *linear_loss_refusal(int way, const linear_loss_facts *f);
double linear_loss_microseconds(int way, const linear_loss_facts *f);
/* The facts of copied operands, and the cheapest way that takes them, but for those in `tried`; -1: none. */
linear_loss_facts linear_loss_copied(const linear_loss_facts *f);
int linear_loss_of_copied(const linear_loss_facts *copied, unsigned tried);

#endif

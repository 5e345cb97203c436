/* The cross-entropies by way of logits in memory: a product by gemm's quickest way, one pass over rows that makes losses
 * and the gradients of logits, and two more products. Of any type, order and alignment. Of C and CUDA: the plan and the
 * launches read the same linear_loss_plan.
 *
 * Logits are fp32, of as many rows at a time as a budget holds; with gradients of 16 bits that is all rows, since dw would be
 * rounded once a chunk. Gradients of the logits have the type of x; fp32 ones lie in the place of the logits. Those of f16
 * have a power of two as their scale: their products come in fp32, and a pass undoes it. Where some row is so much smaller than the largest that f16 would lose its
 * bits, gradients are made again in fp32 and multiplied by multiply-adds, in launches that otherwise return at once. */
#ifndef RIDGE_LINEAR_LOSS_H
#define RIDGE_LINEAR_LOSS_H

#include "linear/product.h"
#include "model/cross_entropy.h"

typedef struct linear_loss_plan {
    int64_t rows, chunk, depth, classes; /* chunk: rows at a time */
    int64_t line;                        /* elements from one row of logits, or of gradients, to the next */
    bool forward, gradients;
    bool read_again;         /* rows of logits, where gradients are wanted besides statistics */
    bool ranged;             /* gradients of f16, with a scale */
    bool dx_apart, dw_apart; /* made in fp32 in scratch, then stored, or added to what other chunks gave */
    size_t z, g, columns, row, range, dx, dw, product;    /* offsets in scratch */
    linear_product of[CE_PRODUCTS], of_last[CE_PRODUCTS]; /* of a chunk, and of the last one */
    ridge_plan plan;
} linear_loss_plan;

linear_loss_plan linear_loss_of(const ce_places *at, const ridge_problem *p);
/* Of a way whose `own` are the ce_places. */
ridge_plan linear_loss_plan_of(const ridge_way *way, const ridge_problem *p);

RIDGE_CUDA_DECLARE(linear_loss_cuda);

#define LINEAR_LOSS_WAY(places)                                                                             \
    {                                                                                                       \
        .name = "logits", .idea = "gemm's quickest products, logits in memory, one pass over rows between", \
        .plan = linear_loss_plan_of, .run = RIDGE_CUDA(linear_loss_cuda), .own = places                     \
    }

#endif

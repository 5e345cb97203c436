/* The plan of a matrix times a vector, A of one row or B of one column, where lines of the matrix run along K: bandwidth-bound by
 * it, and one launch reads it once, of any type and at any address.
 *
 * A group of lanes has four lines at a time: eight lanes where K is small, a warp, or where lines are few up to eight warps of a
 * block, and up to eight blocks that are a cluster. Lanes load 16 bytes of a line; between 16-byte boundaries, the lines of a group
 * are those that begin alike, so that what x takes is paid once for all of them. */
#ifndef RIDGE_GEMM_VECTOR_H
#define RIDGE_GEMM_VECTOR_H

#include "gemm/problem.h"

enum {
    GEMM_VECTOR_WARPS = 8,   /* of a block */
    GEMM_VECTOR_LINES = 4,   /* of a group of lanes, at a time */
    GEMM_VECTOR_LANES = 8,   /* of a group, where K is small */
    GEMM_VECTOR_BLOCKS = 3,  /* of an SM */
    GEMM_VECTOR_CLUSTER = 8, /* blocks of a cluster, at most */
};

/* How lines and x come: both in packs that lie alike; lines in packs, to which those of x are shifted (16 bits, between boundaries);
 * single elements of both (fp32, likewise); lines in packs, x by elements, which lie apart. */
typedef enum gemm_vector_loads {
    GEMM_VECTOR_PACKS,
    GEMM_VECTOR_SHIFTED,
    GEMM_VECTOR_SINGLES,
    GEMM_VECTOR_ELEMENTS
} gemm_vector_loads;

/* Loads of a lane that are under way together, of a line; width: elements of a load. */
#ifdef __cplusplus
constexpr
#endif
    static inline int
    gemm_vector_steps(int width) {
    return width > 1 ? 2 : 8;
}

/* A vector x[k] times w[outputs, k]. */
typedef struct gemm_vector_operands {
    bool column; /* x is B, and outputs are rows of C; else it is A, and they are columns */
    int64_t outputs, k;
    gemm_matrix w;
    int64_t x_step; /* from one of K to the next */
    unsigned x_offset;
} gemm_vector_operands;
gemm_vector_operands gemm_vector_operands_of(const gemm_problem *g);
/* What no way of these takes. */
const char *gemm_vector_refusal(const gemm_problem *g);

typedef struct gemm_vector {
    gemm_vector_operands of;
    gemm_vector_loads loads;
    int log_apart; /* lines of a group are 2^log_apart lines apart */
    int lanes;     /* of a group: the least, or a warp */
    int log_warps; /* 2^log_warps warps are a group, of 32 lanes each; of more than a block's, all those of a cluster */
    int64_t blocks;
} gemm_vector;

gemm_vector gemm_vector_of(const gemm_problem *g);
ridge_plan gemm_vector_plan(const ridge_way *way, const ridge_problem *p);

#endif

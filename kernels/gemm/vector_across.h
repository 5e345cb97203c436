/* The plan of a matrix times a vector, A of one row or B of one column, where lines of the matrix run across K: one launch reads it
 * once, of any type and at any address.
 *
 * A block has a strip of outputs. 2^log_lanes threads have a row of it, 16 bytes each, and every thread has all rows of its strip
 * that are `apart` from each other. Between 16-byte boundaries such rows begin alike, so that a thread's pieces hold the same outputs in
 * each: it adds them in registers, shifts nothing, and says at the end which outputs they are. A strip has a piece less than its threads
 * then. Where strips are few, blocks of a cluster have parts of K. */
#ifndef RIDGE_GEMM_VECTOR_ACROSS_H
#define RIDGE_GEMM_VECTOR_ACROSS_H

#include "gemm/vector.h"

enum {
    GEMM_ACROSS_THREADS = 512, /* of a block */
    GEMM_ACROSS_STEPS = 8,     /* loads of a thread that are under way together */
    GEMM_ACROSS_BLOCKS = 2     /* of an SM */
};

typedef struct gemm_vector_across {
    gemm_vector_operands of;
    int log_lanes;
    int64_t strip; /* outputs of a block */
    int cluster;   /* blocks that share a strip */
    int64_t each;  /* rows of K of a block */
    int64_t blocks;
    double us; /* predicted */
} gemm_vector_across;

gemm_vector_across gemm_vector_across_of(const gemm_problem *g);
ridge_plan gemm_vector_across_plan(const ridge_way *way, const ridge_problem *p);

#endif

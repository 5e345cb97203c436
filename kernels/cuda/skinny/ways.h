/* The kernels of a linear layer with few classes, as ways: x w + b in fp32, whole rows of logits at a time. Of C and
 * CUDA; skinny/run.cuh runs them, kernels/linear/cost.c says how long each takes.
 *
 *   classes            up to 16          up to 56                  up to 128
 *   operands aligned   narrow, shared    cluster; stream, wgmma    stream, wgmma (compute capability 9.0 only)
 *   not aligned        single */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_WAYS_H
#define RIDGE_KERNELS_CUDA_SKINNY_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SKINNY_CLASSES = 128, /* at most */
    SKINNY_DEPTH = 16,    /* at least; and the pieces in which aligned operands are moved */
    SKINNY_FEWEST = 16,   /* classes: at most, of `narrow` */
    SKINNY_FEW = 56,      /* likewise, of `cluster` */
    SKINNY_STREAM_DEPTH = 1024,
    SKINNY_STREAM_ROWS = 72 /* of a cluster of 8 */
};

typedef enum skinny_way {
    SKINNY_SINGLE,
    SKINNY_NARROW,
    SKINNY_SHARED,
    SKINNY_CLUSTER,
    SKINNY_STREAM,
    SKINNY_WGMMA,
    SKINNY_WAYS
} skinny_way;

typedef struct skinny_facts {
    int64_t batch, heads, depth, classes;
    bool pieces; /* x and w lie so that TMA moves rows of them: whole pieces of 16 bytes */
    int sm, sm_count;
} skinny_facts;

/* Clusters of `blocks` blocks, one block an SM, that run at once: an H200's 132 SMs have room for 15 of 8. */
static inline int64_t skinny_room(int sm_count, int blocks) {
    const int64_t room = (int64_t)sm_count * (blocks >= 8 ? 91 : blocks >= 4 ? 97 : 100) / 100 / blocks;
    return room > 0 ? room : 1;
}

/* NULL: the way takes such operands. */
static inline const char *skinny_refusal(int way, const skinny_facts *f) {
    const int64_t n = f->classes;
    if (n > SKINNY_CLASSES) return "for up to 128 classes";
    if (f->depth < SKINNY_DEPTH) return "for a depth of at least 16";
    if (way == SKINNY_SINGLE) return NULL;
    if (!f->pieces || f->depth % SKINNY_DEPTH != 0) return "for a depth in multiples of 16, and aligned operands";
    if (way == SKINNY_NARROW || way == SKINNY_SHARED) return n > SKINNY_FEWEST ? "for up to 16 classes" : NULL;
    if (n <= SKINNY_FEWEST) return "for 17 classes and more";
    if (way == SKINNY_CLUSTER) return n > SKINNY_FEW ? "for up to 56 classes" : NULL;
    if (f->sm / 10 != 9) return "needs wgmma (compute capability 9.0)";
    if (way == SKINNY_WGMMA) return NULL;
    if (f->heads > 1) return "for a single head";
    if (f->batch > skinny_room(f->sm_count, 8) * SKINNY_STREAM_ROWS) return "for rows that clusters have all at once";
    return f->depth > SKINNY_STREAM_DEPTH ? "for a depth of up to 1024" : NULL;
}

#endif

/* Cross-entropy of a linear layer and its gradients on a CPU, fp32: what linear_cross_entropy, its backward and the two
 * together have in common.
 *
 *     z = x w^T + b     lse_i = log sum_j exp z_ij     loss_i as kernels/model/cross_entropy.h says
 *     G_ij = dloss_i ((1 + 2 zl lse_i) exp(z_ij - lse_i) - (1 - s)[j = label_i] - s / C), 0 in ignored rows
 *     dx = G w          dw = G^T x          db_j = sum_i G_ij */
#ifndef RIDGE_CPU_LINEAR_CE_H
#define RIDGE_CPU_LINEAR_CE_H

#include "ridge/target.h"

/* The rows' labels, of 32 or of 64 bits. */
typedef struct linear_ce_labels {
    const void *base;
    bool wide;
} linear_ce_labels;
/* -1, no class, for what 32 bits cannot hold: classes count to less. */
static inline int32_t linear_ce_label(linear_ce_labels labels, int64_t row) {
    if (!labels.wide) return ((const int32_t *)labels.base)[row];
    const int64_t label = ((const int64_t *)labels.base)[row];
    return label >= INT32_MIN && label <= INT32_MAX ? (int32_t)label : -1;
}

typedef struct linear_ce {
    int64_t rows, depth, classes;
    const float *x, *w, *b;
    int64_t x_row;
    int64_t w_class, w_depth; /* strides of w: one of them is 1 */
    linear_ce_labels labels;
    const float *lse_in; /* NULL: not known */
    const float *dloss;  /* NULL: no gradients */
    float *loss, *lse;   /* NULL: not wanted, both */
    float *dx, *dw, *db; /* NULL: not wanted, all */
    int64_t dx_row, dw_class, dw_depth;
    double ignore;
    float smoothing, z_loss;
    void *scratch;
    ridge_team *team;
} linear_ce;

/* From a call of a target whose tensors are at these places. */
struct ce_places;
linear_ce linear_ce_of(const ridge_call *call, const struct ce_places *at);

/* Whether a row counts. */
static inline bool linear_ce_counts(const linear_ce *job, int64_t row) {
    const int32_t label = linear_ce_label(job->labels, row);
    return label >= 0 && label < job->classes && !((double)label >= job->ignore && (double)label <= job->ignore);
}

/* G = up (p - every), and less 1 - smoothing for the label's class before it is multiplied: an upstream gradient may be
 * infinite. `p`: the factor of p. */
typedef struct linear_ce_factors {
    float up, p, every;
} linear_ce_factors;
static inline linear_ce_factors linear_ce_of_row(const linear_ce *job, int64_t row, float lse) {
    if (!linear_ce_counts(job, row)) return (linear_ce_factors){0, 0, 0};
    return (linear_ce_factors){job->dloss[row], 1 + 2 * job->z_loss * lse, job->smoothing / (float)job->classes};
}

/* From a row's logarithmic sum, its label's logit and, with smoothing, the sum of its logits. */
static inline float linear_ce_loss(const linear_ce *job, int64_t row, float lse, float z_label, float z_sum) {
    if (!linear_ce_counts(job, row)) return 0;
    float loss = (1 - job->smoothing) * (lse - z_label);
    if (job->smoothing > 0) loss += job->smoothing * (lse - z_sum / (float)job->classes);
    return job->z_loss > 0 || job->z_loss < 0 ? loss + job->z_loss * lse * lse : loss;
}

/* Fused: the logits of some rows and classes are made in cache, turned into what is wanted, and forgotten. */
#define LINEAR_CE_DECLARE(isa) ridge_status linear_ce_fused_##isa(const linear_ce *job);
RIDGE_ISA_LIST(LINEAR_CE_DECLARE)
#undef LINEAR_CE_DECLARE
size_t linear_ce_fused_scratch(const ridge_case *c, bool gradients, int threads);

/* How the fused kernel cuts its work; over all instruction sets. */
#define LINEAR_CE_NR 32         /* rows of a strip, at most */
#define LINEAR_CE_ROWS 128      /* of a block, at most */
#define LINEAR_CE_LOGITS 131072 /* of a block: half of a second-level cache */
#define LINEAR_CE_CLASSES 1024  /* of a block, where they do not all fit */
#define LINEAR_CE_ALL 4096      /* so many still fit beside the least of rows */
#define LINEAR_CE_KC 512        /* depth of a slice */
#define LINEAR_CE_PAD 64
static inline int64_t linear_ce_block_classes(int64_t classes) {
    return classes <= LINEAR_CE_ALL ? classes : LINEAR_CE_CLASSES;
}
/* Whether each thread packs w for itself: it is small. */
static inline bool linear_ce_own_w(int64_t classes, int64_t depth) { return classes * depth <= 1 << 18; }
/* Whether threads add up gradients apart from each other: so many floats for all of their sums. */
#define LINEAR_CE_APART (1 << 24)
static inline bool linear_ce_apart(int64_t classes, int64_t depth, int threads) {
    return linear_ce_block_classes(classes) * (depth + 1) <= LINEAR_CE_APART / threads;
}
static inline int64_t linear_ce_block_rows(int64_t classes) {
    const int64_t rows = LINEAR_CE_LOGITS / linear_ce_block_classes(classes) / LINEAR_CE_NR * LINEAR_CE_NR;
    return rows > LINEAR_CE_ROWS ? LINEAR_CE_ROWS : rows < LINEAR_CE_NR ? LINEAR_CE_NR : rows;
}

#endif

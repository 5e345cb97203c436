/* fp32 CPU kernels shared by linear_cross_entropy, linear_cross_entropy_backward and linear_cross_entropy_grad.
 *
 *     z = x w^T + b     lse_i = log sum_j exp z_ij     loss_i as kernels/model/cross_entropy.h says
 *     G_ij = dloss_i ((1 + 2 zl lse_i) exp(z_ij - lse_i) - (1 - s)[j = label_i] - s / C), 0 in ignored rows
 *     dx = G w          dw = G^T x          db_j = sum_i G_ij */
#ifndef RIDGE_CPU_LINEAR_CE_H
#define RIDGE_CPU_LINEAR_CE_H

#include "ridge/target.h"

/* Labels of the rows, i32 or i64. */
typedef struct linear_ce_labels {
    const void *base;
    bool wide;
} linear_ce_labels;
/* -1 (no class) for a label that does not fit in 32 bits. */
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
    const float *lse_in; /* NULL: unknown */
    const float *dloss;  /* NULL: no gradients */
    float *loss, *lse;   /* both NULL: not requested */
    float *dx, *dw, *db; /* all NULL: not requested */
    int64_t dx_row, dw_class, dw_depth;
    double ignore;
    float smoothing, z_loss;
    void *scratch;
    ridge_team *team;
} linear_ce;

/* Builds a job from a call; `at` says where the target has its tensors. */
struct ce_places;
linear_ce linear_ce_of(const ridge_call *call, const struct ce_places *at);

/* Whether the row is not ignored. */
static inline bool linear_ce_counts(const linear_ce *job, int64_t row) {
    const int32_t label = linear_ce_label(job->labels, row);
    return label >= 0 && label < job->classes && !((double)label >= job->ignore && (double)label <= job->ignore);
}

/* G = up (p - every), with 1 - smoothing subtracted for the label's class before the multiplication by up, which may be
 * infinite. `p` is the factor of the probability. */
typedef struct linear_ce_factors {
    float up, p, every;
} linear_ce_factors;
static inline linear_ce_factors linear_ce_of_row(const linear_ce *job, int64_t row, float lse) {
    if (!linear_ce_counts(job, row)) return (linear_ce_factors){0, 0, 0};
    return (linear_ce_factors){job->dloss[row], 1 + 2 * job->z_loss * lse, job->smoothing / (float)job->classes};
}

/* Loss of a row from its lse, its label's logit and, with smoothing, the sum of its logits. */
static inline float linear_ce_loss(const linear_ce *job, int64_t row, float lse, float z_label, float z_sum) {
    if (!linear_ce_counts(job, row)) return 0;
    float loss = (1 - job->smoothing) * (lse - z_label);
    if (job->smoothing > 0) loss += job->smoothing * (lse - z_sum / (float)job->classes);
    return job->z_loss > 0 || job->z_loss < 0 ? loss + job->z_loss * lse * lse : loss;
}

/* Gradients of an empty batch: zero. */
static inline void linear_ce_clear_gradients(const linear_ce *job) {
    for (int64_t c = 0; c < job->classes; c++) {
        job->db[c] = 0;
        for (int64_t d = 0; d < job->depth; d++) job->dw[c * job->dw_class + d * job->dw_depth] = 0;
    }
}

/* Fused kernel: logits of a block of rows and classes exist only in cache. */
#define LINEAR_CE_DECLARE(isa) ridge_status linear_ce_fused_##isa(const linear_ce *job);
RIDGE_ISA_LIST(LINEAR_CE_DECLARE)
#undef LINEAR_CE_DECLARE

/* Softmax, loss and gradient of n rows of logits without bias, z[i * classes + j], from row `row` on. Loss and lse are
 * written; with dloss G replaces the logits. */
#define LINEAR_CE_DECLARE(isa) void linear_ce_rows_##isa(const linear_ce *job, int64_t row, int64_t n, float *z);
RIDGE_ISA_LIST(LINEAR_CE_DECLARE)
#undef LINEAR_CE_DECLARE

/* Unfused, chunk by chunk of rows: logits [LINEAR_CE_CHUNK elements or so] stay in L3. */
#define LINEAR_CE_DECLARE(isa) ridge_status linear_ce_chunks_##isa(const linear_ce *job);
RIDGE_ISA_LIST(LINEAR_CE_DECLARE)
#undef LINEAR_CE_DECLARE
#define LINEAR_CE_ALONE 16384       /* below this many logits one thread is faster than two */
#define LINEAR_CE_CHUNK 2097152     /* logits of a chunk: some stay in L2, all in L3 */
#define LINEAR_CE_CHUNK_ROWS 64     /* fewest rows: products with fewer read w too often */
#define LINEAR_CE_CHUNK_L2 65536    /* logits of a chunk that stays in L2 */
#define LINEAR_CE_CHUNK_L2_ROWS 512 /* if it has that many rows */
static inline int64_t linear_ce_chunk_rows(int64_t rows, int64_t classes) {
    const int64_t l2 = LINEAR_CE_CHUNK_L2 / classes, l3 = LINEAR_CE_CHUNK / classes;
    const int64_t most = l2 >= LINEAR_CE_CHUNK_L2_ROWS ? l2 : l3 > LINEAR_CE_CHUNK_ROWS ? l3 : LINEAR_CE_CHUNK_ROWS;
    const int64_t chunks = (rows + most - 1) / most;
    return chunks > 0 ? (rows + chunks - 1) / chunks : 0;
}

/* Block sizes of the fused kernel; maxima over all instruction sets. */
#define LINEAR_CE_NR 32         /* most rows per strip */
#define LINEAR_CE_ROWS 128      /* most rows per block */
#define LINEAR_CE_LOGITS 131072 /* logits per block: half of a 1 MiB L2 */
#define LINEAR_CE_CLASSES 1024  /* classes per block, where not all fit */
#define LINEAR_CE_ALL 4096      /* most classes that fit in one block, with the fewest rows */
#define LINEAR_CE_KC 512        /* depth per slice */
#define LINEAR_CE_PAD 64
static inline int64_t linear_ce_block_classes(int64_t classes) {
    return classes <= LINEAR_CE_ALL ? classes : LINEAR_CE_CLASSES;
}
/* Whether w is small enough that each thread packs its own copy. */
static inline bool linear_ce_own_w(int64_t classes, int64_t depth) { return classes * depth <= 1 << 18; }
/* Threads accumulate dw and db separately while all their sums take at most LINEAR_CE_APART floats. */
#define LINEAR_CE_APART (1 << 24)
static inline bool linear_ce_apart(int64_t classes, int64_t depth, int threads) {
    return linear_ce_block_classes(classes) * (depth + 1) <= LINEAR_CE_APART / threads;
}
static inline int64_t linear_ce_block_rows(int64_t classes) {
    const int64_t rows = LINEAR_CE_LOGITS / linear_ce_block_classes(classes) / LINEAR_CE_NR * LINEAR_CE_NR;
    return rows > LINEAR_CE_ROWS ? LINEAR_CE_ROWS : rows < LINEAR_CE_NR ? LINEAR_CE_NR : rows;
}

#endif

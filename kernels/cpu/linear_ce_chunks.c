/* Cross-entropy of a linear layer and its gradients, unfused: three products of gemm_product.h around a pass over the
 * logits. A chunk of rows at a time, so that logits stay in L3 and need no memory of their own. */
#include <string.h>

#include "cpu/gemm_product.h"
#include "cpu/linear_ce.h"
#include "cpu/vec.h"

typedef struct chunk {
    const linear_ce *job;
    int64_t row, n;
    float *z; /* [n][classes] */
} chunk;

static void rows_fn(void *arg, int rank, int size) {
    const chunk *k = arg;
    int64_t begin, end;
    ridge_share(k->n, 1, rank, size, &begin, &end);
    RIDGE_ISA_FN(linear_ce_rows)(k->job, k->row + begin, end - begin, k->z + begin * k->job->classes);
}

/* db += sum over the rows of G; the first chunk starts from 0. Classes in blocks whose sums stay in L1. */
static void biases_fn(void *arg, int rank, int size) {
    enum { BLOCK = 2048 };
    const chunk *k = arg;
    const linear_ce *job = k->job;
    int64_t begin, end;
    ridge_share(job->classes, 16, rank, size, &begin, &end);
    for (int64_t j0 = begin; j0 < end; j0 += BLOCK) {
        const int64_t n = end - j0 < BLOCK ? end - j0 : BLOCK;
        float *restrict db = job->db + j0;
        if (k->row == 0) memset(db, 0, sizeof *db * (size_t)n);
        for (int64_t i = 0; i < k->n; i++) {
            const float *restrict g = k->z + i * job->classes + j0;
            for (int64_t j = 0; j < n; j++) db[j] += g[j];
        }
    }
}

static const float *x_of(const chunk *k) { return k->job->x + k->row * k->job->x_row; }

static void make_logits(const chunk *k, void *scratch) {
    const linear_ce *job = k->job;
    const gemm_product z = {.m = k->n,
                            .n = job->classes,
                            .k = job->depth,
                            .a = x_of(k),
                            .a_row = job->x_row,
                            .a_depth = 1,
                            .b = job->w,
                            .b_depth = job->w_depth,
                            .b_column = job->w_class,
                            .c = k->z,
                            .c_row = job->classes};
    gemm_product_best(&z, scratch, job->team);
}

static void make_dx(const chunk *k, void *scratch) {
    const linear_ce *job = k->job;
    const gemm_product dx = {.m = k->n,
                             .n = job->depth,
                             .k = job->classes,
                             .a = k->z,
                             .a_row = job->classes,
                             .a_depth = 1,
                             .b = job->w,
                             .b_depth = job->w_class,
                             .b_column = job->w_depth,
                             .c = job->dx + k->row * job->dx_row,
                             .c_row = job->dx_row};
    gemm_product_best(&dx, scratch, job->team);
}

/* dw = G^T x, or for a column-major dw its transpose x^T G. */
static void make_dw(const chunk *k, void *scratch) {
    const linear_ce *job = k->job;
    const bool turned = job->dw_depth != 1;
    const gemm_product dw = {.m = turned ? job->depth : job->classes,
                             .n = turned ? job->classes : job->depth,
                             .k = k->n,
                             .a = turned ? x_of(k) : k->z,
                             .a_row = 1,
                             .a_depth = turned ? job->x_row : job->classes,
                             .b = turned ? k->z : x_of(k),
                             .b_depth = turned ? job->classes : job->x_row,
                             .b_column = 1,
                             .c = job->dw,
                             .c_row = turned ? job->dw_depth : job->dw_class,
                             .add = k->row > 0};
    gemm_product_best(&dw, scratch, job->team);
}

ridge_status RIDGE_ISA_FN(linear_ce_chunks)(const linear_ce *job) {
    const int64_t rows = linear_ce_chunk_rows(job->rows, job->classes);
    ridge_team *team = rows * job->classes < LINEAR_CE_ALONE ? NULL : job->team;
    float *z = job->scratch;
    void *scratch = z + (rows * job->classes + LINEAR_CE_PAD) / LINEAR_CE_PAD * LINEAR_CE_PAD;
    if (job->dx && job->rows == 0) linear_ce_clear_gradients(job);
    for (int64_t row = 0; row < job->rows; row += rows) {
        chunk k = {job, row, job->rows - row < rows ? job->rows - row : rows, z};
        make_logits(&k, scratch);
        ridge_team_run(team, rows_fn, &k);
        if (!job->dx) continue;
        ridge_team_run(team, biases_fn, &k);
        make_dx(&k, scratch);
        make_dw(&k, scratch);
    }
    return RIDGE_OK;
}

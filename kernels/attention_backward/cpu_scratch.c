#include "attention_backward/cpu.h"
#include "cpu/gemm_product.h"

static int64_t more(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t wider(const int64_t *dim) { return more(dim[ATTENTION_D], dim[ATTENTION_V]); }

static int64_t rows_of(const int64_t *dim) { return dim[ATTENTION_HEADS] / dim[ATTENTION_KV_HEADS] * dim[ATTENTION_M]; }

int64_t backward_cpu_statistics(const int64_t *dim) {
    const int64_t queries = dim[ATTENTION_BATCH] * dim[ATTENTION_HEADS] * dim[ATTENTION_M];
    return (2 * queries + 31) / 32 * 32; /* what follows begins a line */
}
/* Keys, their panels, values' panels, both gradients; S, D and slants of a row; queries and gradients of the result. */
int64_t backward_cpu_thread(const int64_t *dim) {
    const int64_t d = dim[ATTENTION_D], v = dim[ATTENTION_V];
    const int64_t floats = BACKWARD_KEYS * (3 * d + 2 * v) + (2 * BACKWARD_QUERIES + 1) * BACKWARD_KEYS +
                           rows_of(dim) * (d + v) + 3 * GEMM_PRODUCT_PAD;
    return (floats + GEMM_PRODUCT_PAD - 1) / GEMM_PRODUCT_PAD * GEMM_PRODUCT_PAD;
}

/* As few parts as keep nine of ten threads busy; no more than four jobs a thread, each of which has sums of its own. */
backward_jobs backward_cpu_jobs(const int64_t *dim, int threads) {
    enum { JOBS = 4 };
    backward_jobs jobs = {.units = dim[ATTENTION_BATCH] * dim[ATTENTION_KV_HEADS], .rows = rows_of(dim), .parts = 1};
    for (int parts = 1; parts <= threads && jobs.units * parts <= JOBS * threads; parts++) {
        const int64_t all = jobs.units * parts, rounds = (all + threads - 1) / threads;
        jobs.parts = parts;
        if (10 * all >= 9 * rounds * threads) return jobs;
    }
    if (jobs.units >= threads) jobs.parts = 1;
    return jobs;
}
static int64_t sums(const int64_t *dim, int threads) {
    const backward_jobs jobs = backward_cpu_jobs(dim, threads);
    return jobs.rows * dim[ATTENTION_D] * (jobs.parts > 1 ? jobs.units * jobs.parts : threads);
}

int64_t backward_cpu_scores(const int64_t *dim) { return dim[ATTENTION_M] * dim[ATTENTION_N] + GEMM_PRODUCT_PAD; }

size_t attention_backward_cpu_scratch(const ridge_case *c, int threads) {
    return sizeof(float) *
           (size_t)(backward_cpu_statistics(c->dim) + threads * backward_cpu_thread(c->dim) + sums(c->dim, threads));
}

size_t attention_backward_cpu_baseline_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[ATTENTION_M], n = c->dim[ATTENTION_N], columns = wider(c->dim);
    size_t products = gemm_product_scratch(m, n, columns, threads);
    const size_t others[2] = {gemm_product_scratch(m, columns, n, threads),
                              gemm_product_scratch(n, columns, m, threads)};
    for (int i = 0; i < 2; i++) products = others[i] > products ? others[i] : products;
    const int64_t slants = threads * n;
    return sizeof(float) * (size_t)(backward_cpu_statistics(c->dim) + 2 * backward_cpu_scores(c->dim) + slants) +
           products;
}

/* S and D are written, read and written by the softmax, and read once and twice. */
void attention_backward_cpu_baseline_traffic(const ridge_case *c, ridge_traffic *traffic) {
    const double heads = (double)c->dim[ATTENTION_BATCH] * (double)c->dim[ATTENTION_HEADS];
    const double scores = 4 * heads * (double)c->dim[ATTENTION_M] * (double)c->dim[ATTENTION_N];
    *traffic = (ridge_traffic){.read = attention_backward_bytes_read(c) + 5 * scores,
                               .written = attention_backward_bytes_written(c) + 4 * scores};
}

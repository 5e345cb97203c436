#include "attention_backward/cpu.h"
#include "cpu/gemm_product.h"

static int64_t more(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t wider(const int64_t *dim) { return more(dim[ATTENTION_D], dim[ATTENTION_V]); }

int64_t backward_cpu_statistics(const int64_t *dim) {
    return 2 * dim[ATTENTION_BATCH] * dim[ATTENTION_HEADS] * dim[ATTENTION_M];
}
/* S and D, slants of a row, sums, and what the products need. */
int64_t backward_cpu_thread(const int64_t *dim) {
    const int64_t products = more(gemm_product_thread_floats(BACKWARD_OWN, BACKWARD_PASSING, wider(dim)),
                                  gemm_product_thread_floats(BACKWARD_OWN, wider(dim), BACKWARD_PASSING));
    return (int64_t)(2 * BACKWARD_OWN + 1) * BACKWARD_PASSING + BACKWARD_OWN * 2 * wider(dim) + products +
           GEMM_PRODUCT_PAD;
}
int64_t backward_cpu_scores(const int64_t *dim) { return dim[ATTENTION_M] * dim[ATTENTION_N] + GEMM_PRODUCT_PAD; }

size_t attention_backward_cpu_scratch(const ridge_case *c, int threads) {
    return sizeof(float) * (size_t)(backward_cpu_statistics(c->dim) + threads * backward_cpu_thread(c->dim));
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

#include "attention/cpu.h"
#include "cpu/gemm_product.h"

static int64_t more(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t attention_thread_floats(int64_t d, int64_t v) {
    const int64_t products = more(gemm_product_thread_floats(ATTENTION_FEW, ATTENTION_KEYS, d),
                                  gemm_product_thread_floats(ATTENTION_FEW, v, ATTENTION_KEYS));
    const int64_t block = ATTENTION_QUERIES * ATTENTION_KEYS + ATTENTION_KEYS * (d + v);
    return (block + ATTENTION_TILE * (d + v) + products + 3 * GEMM_PRODUCT_PAD) / GEMM_PRODUCT_PAD * GEMM_PRODUCT_PAD;
}

size_t attention_cpu_scratch(const ridge_case *c, int threads) {
    return sizeof(float) * (size_t)(threads * attention_thread_floats(c->dim[ATTENTION_D], c->dim[ATTENTION_V]));
}

size_t attention_cpu_baseline_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[ATTENTION_M], n = c->dim[ATTENTION_N];
    const size_t scores = sizeof(float) * (size_t)(m * n + GEMM_PRODUCT_PAD);
    const size_t first = gemm_product_scratch(m, n, c->dim[ATTENTION_D], threads);
    const size_t second = gemm_product_scratch(m, c->dim[ATTENTION_V], n, threads);
    return scores + (first > second ? first : second);
}

/* Scores are written, read and written by softmax, and read. */
void attention_cpu_baseline_traffic(const ridge_case *c, ridge_traffic *traffic) {
    const double heads = (double)c->dim[ATTENTION_BATCH] * (double)c->dim[ATTENTION_HEADS];
    const double scores = 4 * heads * (double)c->dim[ATTENTION_M] * (double)c->dim[ATTENTION_N];
    *traffic = (ridge_traffic){.read = attention_bytes_read(c) + 2 * scores,
                               .written = attention_bytes_written(c) + 2 * scores};
}

/* A polynomial at every element, by Horner's rule: p = c[terms-1], then p = p x + c[k] for k = terms-2 … 0. Each step
 * depends on the previous one; only different elements are independent. See README.md. */
#include "cpu/row.h"

RIDGE_CPU_DECLARE(compute_bound_cpu_baseline);
RIDGE_CPU_DECLARE(compute_bound_cpu_optimized);

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Terms whose arithmetic takes as long as a vector's operands take through a core's caches. Work per byte is
 * proportional to the number of terms. */
enum { TERMS_A_PASS = 16 };

static double work_in_bytes(const ridge_call *call) {
    return row_call_bytes(call, 2) * (1.0 + (double)call->dim[2] / TERMS_A_PASS);
}

static const float *row_of(const DLTensor *t, int64_t i) { return row_in(t, i, VF_F32); }

/* ---- optimized ----
 * CHAINS vectors in flight: latency of a multiply-add (4 or 5 cycles) times its throughput (2 per cycle), and a few
 * more to fill the gaps at block boundaries. With sixteen registers the multiply-add reads x from L1. */

enum { CHAINS = 12 };

/* chains is a constant at every call. */
VF_INLINE void horner(const float *x, float *y, const float *c, int64_t terms, const int chains) {
    vf p[CHAINS], v[CHAINS];
    vf top = vf_set1(c[terms - 1]);
    UNROLL for (int i = 0; i < chains; i++) {
        v[i] = vf_load(x + i * VF_LANES);
        p[i] = top;
    }
    for (int64_t k = terms - 2; k >= 0; k--) {
        vf term = vf_set1(c[k]);
        UNROLL for (int i = 0; i < chains; i++) p[i] = vf_fma(p[i], v[i], term);
    }
    UNROLL for (int i = 0; i < chains; i++) vf_store(y + i * VF_LANES, p[i]);
}

VF_INLINE void horner_tail(const float *x, float *y, const float *c, int64_t terms, int n) {
    vf v = vf_load_n(x, n), p = vf_set1(c[terms - 1]);
    for (int64_t k = terms - 2; k >= 0; k--) p = vf_fma(p, v, vf_set1(c[k]));
    vf_store_n(y, n, p);
}

/* Prefetches the next block while this one is computed. That is thousands of cycles ahead, beyond the reach of the
 * hardware prefetcher. */
static void optimized_row(const float *x, float *y, const float *c, int64_t terms, int64_t n) {
    enum { BLOCK = CHAINS * VF_LANES };
    int64_t j = 0;
    for (; j + BLOCK <= n; j += BLOCK) {
        for (int64_t i = 0; i < BLOCK; i += ROW_LINE / 4) {
            vf_prefetch(x + j + BLOCK + i);
            __builtin_prefetch(y + j + BLOCK + i, 1, 3);
        }
        horner(x + j, y + j, c, terms, CHAINS);
    }
    for (; j + 4 * VF_LANES <= n; j += 4 * VF_LANES) horner(x + j, y + j, c, terms, 4);
    for (; j + VF_LANES <= n; j += VF_LANES) horner(x + j, y + j, c, terms, 1);
    if (j < n) horner_tail(x + j, y + j, c, terms, (int)(n - j));
}

static void optimized_part(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    int64_t rows = end - begin, n = call->dim[1];
    const float *c = ridge_data(&call->in[1]);
    row_merge(call, 1, 1, &rows, &n);
    for (int64_t i = begin; i < begin + rows; i++)
        optimized_row(row_of(&call->in[0], i), row_out(&call->out[0], i, VF_F32), c, call->dim[2], n);
}
ridge_status RIDGE_ISA_FN(compute_bound_cpu_optimized)(const ridge_call *call) {
    if (call->dtype != RIDGE_F32) return RIDGE_UNSUPPORTED;
    return row_run_sized(call, work_in_bytes(call), optimized_part, NULL, NULL);
}

/* ---- baseline: one vector at a time ----
 * Uses explicit vectors, since only some compiler versions vectorize the outer of two loops. */

static void baseline_row(const float *x, float *y, const float *c, int64_t terms, int64_t n) {
    int64_t j = 0;
    for (; j + VF_LANES <= n; j += VF_LANES) {
        vf v = vf_load(x + j), p = vf_set1(c[terms - 1]);
        for (int64_t k = terms - 2; k >= 0; k--) p = vf_fma(p, v, vf_set1(c[k]));
        vf_store(y + j, p);
    }
    if (j < n) horner_tail(x + j, y + j, c, terms, (int)(n - j));
}

static void baseline_part(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    for (int64_t i = begin; i < end; i++)
        baseline_row(row_of(&call->in[0], i), row_out(&call->out[0], i, VF_F32), ridge_data(&call->in[1]), call->dim[2],
                     call->dim[1]);
}
ridge_status RIDGE_ISA_FN(compute_bound_cpu_baseline)(const ridge_call *call) {
    if (call->dtype != RIDGE_F32) return RIDGE_UNSUPPORTED;
    return row_run_sized(call, work_in_bytes(call), baseline_part, NULL, NULL);
}

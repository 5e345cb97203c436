/* Losses of few classes and their gradients. Logits: skinny/thin.cuh, and what a warp makes of 16 rows of them in
 * shared memory. dx = G w: skinny/thin_outer.cuh. dw = G^T x, with db: skinny/thin_across.cuh. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_LOSS_THIN_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_LOSS_THIN_CUH

#include "cuda/linear/loss_shares.cuh"
#include "cuda/skinny/thin_across.cuh"
#include "cuda/skinny/thin_outer.cuh"
#include "cuda/tile/reduce.cuh"

namespace ridge {

/* Four lanes have a row. */
template <typename G>
struct thin_losses {
    loss_rows r;
    const float *bias, *given_lse; /* given_lse: NULL where it is computed */
    thin_lines<G> gradient;        /* to: NULL: losses alone. Classes up to a multiple of 8: see thin_across.cuh */

    /* Of a row, g or g + 8 (Which): from logits in units of log 2 to gradients. */
    template <int Which, int NT>
    __device__ void row_of_fragment(float (&z)[NT][4], int row) const {
        const int first = (int)threadIdx.x % 4 * 2;
        const bool exists = row < r.rows;
        const int label = exists ? r.labels[row] : -1;
        float log_sum = (given_lse && exists ? given_lse[row] : 0.0f) * log2_e;
        if (!given_lse) {
            float most = -0x1p100f, sum = 0.0f, all = 0.0f, of_label = 0.0f;
#pragma unroll
            for (int t = 0; t < NT; t++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const float v = z[t][2 * Which + e];
                    const int c = t * 8 + first + e;
                    if (c < r.classes) most = v > most ? v : most, all += v;
                    if (c == label) of_label = v;
                }
            most = quad_max(most);
#pragma unroll
            for (int t = 0; t < NT; t++)
#pragma unroll
                for (int e = 0; e < 2; e++)
                    if (t * 8 + first + e < r.classes) sum += exp2f(z[t][2 * Which + e] - most);
            sum = quad_sum(sum), all = quad_sum(all), of_label = quad_sum(of_label);
            log_sum = sum > 0.0f ? most + log2f(sum) : NAN;
            if (first == 0 && exists) finish_loss(r, row, label, log_sum, all, of_label);
        }
        if (!gradient.to) return;
        const row_gradient g = gradient_of_row(log_sum, exists ? r.dloss[row] : 0.0f, label, r.classes, r.options);
#pragma unroll
        for (int t = 0; t < NT; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                float &v = z[t][2 * Which + e];
                v = g.label < 0 ? 0.0f : fmaf(g.coef, exp2f(v - g.log_sum), -g.off);
                if (t * 8 + first + e == g.label) v -= g.hit;
            }
    }
    template <int NT>
    __device__ void fragment(float (&z)[NT][4], const thin_where &at) const {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int t = 0; t < NT; t++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int c = t * 8 + lane % 4 * 2 + e % 2;
                z[t][e] = (z[t][e] + (c < r.classes ? bias[c] : 0.0f)) * log2_e;
            }
        row_of_fragment<0>(z, (int)at.row(lane / 4));
        row_of_fragment<1>(z, (int)at.row(lane / 4 + 8));
        if (gradient.to) thin_store_fragment(gradient, z, at);
    }
};

/* Of `rows` rows from `first` on: losses, and where `gradient` is not NULL the gradients of their logits there. */
template <typename T, typename G, bool Exact>
ridge_status linear_thin_losses(const linear_loss_call &c, int64_t first, int64_t rows, G *gradient) {
    const thin_weights<T> w = {(const T *)c.w.base, 0, c.w.line, c.w.step, 1, c.classes(), (int)c.w.columns};
    thin_args<T> a = {};
    a.x = (const T *)c.x.base + first * c.x.line, a.line = c.x.line, a.rows = rows, a.depth = (int)c.x.columns;
    thin_losses<G> op = {};
    op.r = loss_rows_of(c, first, rows);
    op.bias = c.bias, op.given_lse = c.given_lse ? c.given_lse + first : NULL;
    op.gradient = thin_lines_of(gradient, c.at.gradient_stride, rows, (c.classes() + 7) / 8 * 8);
    return thin_run<Exact>(w, a, c.scratch + c.at.thin, op, c.stream);
}

/* dx = g w. */
template <typename T, typename G, bool Exact>
ridge_status linear_thin_dx(const linear_loss_call &c, const matrix_view &g, const matrix_view &dx) {
    outer_args<G, T> p = {};
    p.a = (const G *)g.base, p.a_line = g.line, p.rows = g.rows, p.terms = c.classes();
    p.b = (const T *)c.w.base, p.b_line = c.w.step, p.b_step = c.w.line;
    p.c = (T *)dx.base, p.c_line = dx.line, p.columns = (int)dx.columns;
    return outer_run<Exact>(p, c.stream);
}

/* dw (+)= g^T x, db (+)= the sums of g's columns. */
template <typename T, typename G, bool Exact>
ridge_status linear_thin_dw(const linear_loss_call &c, const matrix_view &g, const matrix_view &x, bool add) {
    across_args<G, T> p = {};
    p.phases = thin_phases_of((uintptr_t)x.base, x.line, x.rows, (int)sizeof(T));
    const int shares = across_shares(x.rows, x.columns, c.classes(), (int)sizeof(T), p.phases.count);
    sums_of_shares<T> s = shares_of<T>(c, c.dw, shares);
    p.a = (const G *)g.base, p.a_line = g.line, p.b = (const T *)x.base, p.b_line = x.line;
    p.rows = x.rows, p.m = c.classes(), p.n = (int)x.columns;
    p.sums = s.sums, p.a_sums = c.part<float>(c.at.columns);
    RIDGE_TRY(across_run<Exact>(p, c.stream));
    s.stride = across_stride(p.n), s.next = s.stride * p.m, s.add = add;
    RIDGE_TRY(add_all_shares(s, c.stream));
    return add_column_sums(p.a_sums, shares, p.m, c.db, add, NULL, c.stream);
}

}  // namespace ridge

#endif

/* Few columns of many rows (skinny/thin*.cuh), rows of two phases: x w in bf16, whose depth the warps of two blocks of a
 * cluster share; x w in fp32, whose logits go by rows of shared memory; A^T B and the sums of A's columns; C = A B of
 * few terms. Rows, columns and depth have tails. */
#include "cuda/skinny/thin_across.cuh"
#include "cuda/skinny/thin_outer.cuh"
#include "operand.h"

using namespace ridge;
using bf16 = __nv_bfloat16;

/* Logits as they are, from fragments or, ByRows, from shared memory. */
template <bool ByRows>
struct store_logits {
    thin_lines<float> to;
    template <int NT>
    __device__ void fragment(float (&sums)[NT][4], const thin_where &at) const {
        thin_store_fragment(to, sums, at);
    }
    __device__ bool by_rows(void) const { return ByRows; }
    __device__ void rows(const float *z, int pitch, const thin_where &at) const {
        const int lane = (int)threadIdx.x % 32, of_run = thin_lanes(to.columns);
        for (int i = lane / of_run; i < 16; i += 32 / of_run)
            if (at.row(i) < to.rows)
                thin_write(to.to + at.row(i) * to.line, z + i * pitch, to.columns, lane % of_run, of_run);
    }
};

/* w: [depth, columns]. */
template <int NT, bool Exact, typename T>
static long logits(const char *name, int rows, int depth, int columns) {
    const operand<T> x((size_t)rows * depth, 0), of_w((size_t)depth * columns, 2000000);
    std::vector<float> z((size_t)rows * columns);
    float *const z_device = device_array<float>(z.size(), NULL);
    const thin_weights<T> w = {of_w.device, 0, 1, columns, 1, columns, depth};
    thin_args<T> a = {};
    a.x = x.device, a.line = depth, a.rows = rows, a.depth = depth;
    void *const room = device_array<char>((size_t)thin_bytes_most(columns, depth, sizeof(T), Exact), NULL);
    const store_logits<Exact> op = {thin_lines_of(z_device, columns, rows, columns)};
    if (thin_launch<NT, Exact>(w, a, room, op, 0) != RIDGE_OK) exit(2);
    to_host(z.data(), z_device, z.size());
    comparison c = {name, 1e-2};
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0.0;
            for (int k = 0; k < depth; k++) sum += (double)x[i * depth + k] * of_w[k * columns + j];
            c.compare(z[i * columns + j], sum, i, j);
        }
    return c.wrong;
}

/* A: [rows, m] in lines of 24; B: [rows, n]. The shares of the rows are added here. */
static long across(void) {
    constexpr int rows = 300, m = 19, n = 100, line = 24;
    const operand<bf16> a(rows * line, 0), b(rows * n, 1000000);
    across_args<bf16, bf16> p = {};
    p.phases = thin_phases_of((uintptr_t)b.device, n, rows, 2);
    const int shares = across_shares(rows, n, m, 2, p.phases.count);
    p.a = a.device, p.a_line = line, p.b = b.device, p.b_line = n, p.rows = rows, p.m = m, p.n = n;
    std::vector<float> sums((size_t)shares * m * n), a_sums((size_t)shares * m);
    p.sums = device_array<float>(sums.size(), NULL), p.a_sums = device_array<float>(a_sums.size(), NULL);
    if (across_run<false>(p, 0) != RIDGE_OK) exit(2);
    to_host(sums.data(), p.sums, sums.size()), to_host(a_sums.data(), p.a_sums, a_sums.size());
    comparison of_b = {"A^T B", 1e-2}, of_a = {"sums of A", 1e-2};
    for (int i = 0; i < m; i++) {
        double expected = 0.0, found = 0.0;
        for (int r = 0; r < rows; r++) expected += a[r * line + i];
        for (int s = 0; s < shares; s++) found += a_sums[s * m + i];
        of_a.compare(found, expected, i, 0);
        for (int j = 0; j < n; j++) {
            expected = found = 0.0;
            for (int r = 0; r < rows; r++) expected += (double)a[r * line + i] * b[r * n + j];
            for (int s = 0; s < shares; s++) found += sums[(s * m + i) * n + j];
            of_b.compare(found, expected, i, j);
        }
    }
    return of_a.wrong + of_b.wrong;
}

/* A: [rows, terms] in lines of 24; B: [terms, columns]. */
static long outer(void) {
    constexpr int rows = 300, terms = 19, columns = 100, line = 24;
    const operand<bf16> a(rows * line, 0), b(terms * columns, 1000000);
    std::vector<bf16> y((size_t)rows * columns);
    outer_args<bf16, bf16> p = {};
    p.a = a.device, p.a_line = line, p.rows = rows, p.terms = terms;
    p.b = b.device, p.b_line = 1, p.b_step = columns;
    p.c = device_array<bf16>(y.size(), NULL), p.c_line = columns, p.columns = columns;
    if (outer_run<false>(p, 0) != RIDGE_OK) exit(2);
    to_host(y.data(), p.c, y.size());
    comparison c = {"product of few terms", 5e-2};
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0.0;
            for (int k = 0; k < terms; k++) sum += (double)a[i * line + k] * b[k * columns + j];
            c.compare(on_host(y[i * columns + j]), sum, i, j);
        }
    return c.wrong;
}

int main(void) {
    long wrong = logits<2, false, bf16>("logits in bf16", 75, 1500, 13);
    wrong += logits<1, true, float>("logits in fp32", 75, 70, 7);
    return wrong + across() + outer() > 0;
}

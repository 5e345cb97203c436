/* C = A B^T by fp32 multiply-adds: gemm/any_tile.cuh's slices in shared memory, in tiles of 16 shared by a cluster of
 * two, and in tiles of 64. The second product overlaps the first and takes its result as an operand. */
#include "cuda/gemm/any.cuh"
#include "program.h"

#include <vector>

using ridge::any_matrix;

struct store_all {
    float *c;
    int rows, columns;
    template <int R, int N, class Place>
    __device__ void tile(const float (&v)[R][N], const Place &place) const {
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int j = 0; j < N; j++)
                if (place.row(i) < rows && place.column(j) < columns)
                    c[place.row(i) * columns + place.column(j)] = v[i][j];
    }
};

template <class S>
static void product(const float *a, const float *b, float *c, int m, int n, int depth, int blocks) {
    ridge::matrix_view x = {}, y = {};
    x.base = (void *)a, x.rows = m, x.columns = depth, x.line = depth, x.step = 1;
    y.base = (void *)b, y.rows = n, y.columns = depth, y.line = depth, y.step = 1;
    const any_matrix<float> left(x), right(y);
    const int turn = S::groups * S::slice, each = ((depth + blocks - 1) / blocks + turn - 1) / turn * turn;
    const ridge::any_depth steps = {depth, blocks == 1 ? depth : each};
    const dim3 grid((unsigned)((m + S::side - 1) / S::side * blocks), (unsigned)((n + S::side - 1) / S::side));
    const auto kernel = ridge::any_product<S, float, float, store_all>;
    const int bytes = S::floats * 4;
    require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
    if (ridge::launch_overlapping(kernel, {grid, ridge::ANY_THREADS, bytes, blocks}, 0, true, left, right, (int64_t)m,
                                  (int64_t)n, steps, 1, (const unsigned *)NULL, store_all{c, m, n}) != RIDGE_OK)
        exit(2);
}

static std::vector<float> expected(const std::vector<float> &a, const std::vector<float> &b, int m, int n, int depth) {
    std::vector<float> c((size_t)m * n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < depth; k++) sum += (double)a[i * depth + k] * b[j * depth + k];
            c[i * n + j] = (float)sum;
        }
    return c;
}

int main(void) {
    constexpr int m = 21, n = 36, depth = 700, last = 70;
    std::vector<float> a(m * depth), b(n * depth), d(last * n), c(m * n), e(last * m);
    for (size_t i = 0; i < a.size(); i++) a[i] = value_of((unsigned)i);
    for (size_t i = 0; i < b.size(); i++) b[i] = value_of((unsigned)i + 1000000);
    for (size_t i = 0; i < d.size(); i++) d[i] = value_of((unsigned)i + 2000000);
    float *c_device = device_array<float>(c.size(), NULL), *e_device = device_array<float>(e.size(), NULL);
    const float *a_device = device_array(a.size(), a.data()), *b_device = device_array(b.size(), b.data());
    const float *d_device = device_array(d.size(), d.data()); /* all before the launches: a copy would wait for them */
    product<ridge::any_small>(a_device, b_device, c_device, m, n, depth, 2);
    product<ridge::any_medium>(d_device, c_device, e_device, last, m, n, 1);
    to_host(c.data(), c_device, c.size()), to_host(e.data(), e_device, e.size());
    const std::vector<float> right = expected(a, b, m, n, depth), behind = expected(d, right, last, m, n);
    comparison of_c = {"first product", 1e-3}, of_e = {"second product", 1e-2};
    for (int i = 0; i < m * n; i++) of_c.compare(c[i], right[i], i / n, i % n);
    for (int i = 0; i < last * m; i++) of_e.compare(e[i], behind[i], i / m, i % m);
    return of_c.wrong + of_e.wrong > 0;
}

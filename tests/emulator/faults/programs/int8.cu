/* Products in int8 by gemm/int8.cuh. One pair of blocks takes all tiles, three of rows and two of columns with tails, and more slices
 * of K than stages; then tiles of three shares of K, the last of which is shorter; then an element a thread, of lines that end within
 * a word. */
#include "gemm/int8.cuh"
#include "program.h"

#include <vector>

using namespace ridge;
using shape = matmul_shape<int8_t, INT8_tiles>;
using epilogue = int8_epilogue<shape>;

constexpr int m = 300, n = 200, k = 7 * 128 - 14, line = 7 * 128;

static std::vector<int8_t> numbers(int rows, unsigned first) {
    std::vector<int8_t> v((rows - 1) * line + k);
    for (size_t i = 0; i < v.size(); i++) v[i] = (int8_t)(127 * value_of(first + (unsigned)i));
    return v;
}
static std::vector<float> scales(int count) {
    std::vector<float> v(count);
    for (int i = 0; i < count; i++) v[i] = 0.01f + 0.005f * value_of((unsigned)i);
    return v;
}

int main(void) {
    const std::vector<int8_t> a = numbers(m, 0), b = numbers(n, 1000000);
    const std::vector<float> left = scales(m), right = scales(n);
    const int8_t *const a_device = device_array(a.size(), a.data()), *const b_device = device_array(b.size(), b.data());
    const float *const left_device = device_array(left.size(), left.data()), *const right_device = device_array(
                                                                                 right.size(), right.data());
    __nv_bfloat16 *const tiles = device_array<__nv_bfloat16>(m * n, NULL);
    float *const elements = device_array<float>(m * n, NULL);

    CUtensorMap a_map, b_map;
    epilogue e = {};
    if (!make_map<int8_t>(&a_map, {a_device, k, m, line}, shape::a_box) ||
        !make_map<int8_t>(&b_map, {b_device, k, n, line}, shape::b_box) ||
        !make_map<__nv_bfloat16>(&e.map, {tiles, n, m, n}, 64))
        return 2;
    e.of_rows = left_device, e.of_columns = right_device, e.rows = m, e.columns = n;
    matmul_plan plan = matmul_whole(k, shape::K, 8, true, true);
    plan.m_tiles = (m + shape::M - 1) / shape::M, plan.n_tiles = (n + shape::columns - 1) / shape::columns;
    constexpr int bytes = matmul_shared_bytes<shape, epilogue>;
    const auto kernel = matmul_kernel<shape, epilogue>;
    require(allow_shared((const void *)kernel, bytes), "cudaFuncSetAttribute");
    const ridge::launch_shape one = {dim3(shape::cluster), shape::threads, bytes, shape::cluster};
    if (ridge::launch_overlapping(kernel, one, 0, true, a_map, b_map, plan, e) != RIDGE_OK) return 2;
    float *const shared = device_array<float>(m * n, NULL);
    const gemm8_shares shares = {device_array<int>(3 * m * gemm8_share_line(n), NULL), 3};
    const int8_product of_shares = {{(void *)a_device, m, k, line, 1},
                                    {(void *)b_device, n, k, line, 1},
                                    {shared, m, n, n, 1},
                                    left_device,
                                    right_device,
                                    RIDGE_F32};
    if (int8_by_tiles<INT8_narrow>(of_shares, 0, shares) != RIDGE_OK) return 2;
    const int8_element<float, true> element = {{a_device, line}, {b_device, line}, {elements, n},
                                               left_device,      right_device,     k};
    plain_kernel<<<dim3(1, m), plain_threads>>>(m, n, element);

    std::vector<__nv_bfloat16> of_tiles(m * n);
    std::vector<float> of_elements(m * n), of_parts(m * n);
    to_host(of_tiles.data(), tiles, of_tiles.size());
    to_host(of_elements.data(), elements, of_elements.size());
    to_host(of_parts.data(), shared, of_parts.size());
    comparison by_tiles = {"tiles", 0.0}, by_shares = {"shares", 0.0}, by_elements = {"elements", 0.0};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int d = 0; d < k; d++) sum += a[i * line + d] * b[j * line + d];
            const double want = (double)sum * left[i] * right[j];
            by_tiles.limit = 0x1.1p-8 * fabs(want), by_elements.limit = 0x1p-21 * fabs(want);
            by_shares.limit = by_elements.limit;
            by_shares.compare((double)of_parts[i * n + j], want, i, j);
            by_tiles.compare((double)__bfloat162float(of_tiles[i * n + j]), want, i, j);
            by_elements.compare((double)of_elements[i * n + j], want, i, j);
        }
    return by_tiles.wrong + by_shares.wrong + by_elements.wrong > 0;
}

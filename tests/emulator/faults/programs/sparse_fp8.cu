/* A product of e4m3 whose A is 2:4 sparse, by sparse/fp8.cuh: sparse wgmma of 8-bit types, of which each lane has a whole word of
 * codes. One cluster takes all tiles, so that the ring turns; a tail of each extent. */
#include "sparse/fp8.cuh"
#include "program.h"

#include <vector>

using namespace ridge;
using shape = matmul_shape<e4m3, sparse_tuning(128, 4)>;
using epilogue = sparse_fp8_epilogue<shape>;

int main(void) {
    constexpr int m = 300, n = 200, k = 928, words = k / 32;
    static constexpr unsigned pattern[6] = {4, 8, 12, 9, 13, 14};
    std::vector<unsigned char> a(m * k / 2), b(n * k);
    std::vector<unsigned> codes(m * words);
    std::vector<float> c(m * n);
    const float scales[2] = {0.5f, 0.125f};
    for (int i = 0; i < m * k / 2; i++) a[i] = (unsigned char)rule_e4m3(value_of(i));
    for (int i = 0; i < n * k; i++) b[i] = (unsigned char)rule_e4m3(value_of(i + 1000000));
    for (int i = 0; i < m * words; i++)
        for (int four = 0; four < 8; four++) codes[i] |= pattern[(7 * i + 5 * four) % 6] << 4 * four;
    float *const c_device = device_array<float>(c.size(), NULL), *const scale = device_array(2, scales);

    CUtensorMap a_map, b_map;
    const matrix_lines left = {device_array(a.size(), a.data()), k / 2, m, k / 2},
                       right = {device_array(b.size(), b.data()), k, n, k};
    if (!make_map<e4m3>(&a_map, left, shape::a_box, map_type<e4m3>, shape::a_line) ||
        !make_map<e4m3>(&b_map, right, shape::b_box))
        return 2;
    epilogue e = {};
    e.a = fp8_scale({scale, 1, 0, 0}), e.b = fp8_scale({scale + 1, 1, 0, 0});
    e.rows = m, e.columns = n, e.wide = c_device, e.line = n, e.pairs = true;
    e.kept.codes = device_array(codes.size(), codes.data());
    e.kept.line = words, e.kept.rows = m, e.kept.words = words;
    matmul_plan plan = matmul_whole(k, shape::K, 8);
    plan.m_tiles = (m + shape::M - 1) / shape::M, plan.n_tiles = (n + shape::N - 1) / shape::N;
    constexpr int bytes = matmul_shared_bytes<shape, epilogue>;
    const auto kernel = matmul_kernel<shape, epilogue>;
    require(allow_shared((const void *)kernel, bytes), "cudaFuncSetAttribute");
    const ridge::launch_shape one = {dim3(shape::cluster), shape::threads, bytes, shape::cluster};
    if (ridge::launch_overlapping(kernel, one, 0, true, a_map, b_map, plan, e) != RIDGE_OK) return 2;

    to_host(c.data(), c_device, c.size());
    comparison elements = {"product", 0.02};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int at = 0; at < k / 2; at++) {
                const unsigned code = pattern_code(codes[i * words + at / 16], at / 2 % 8);
                const int place = at % 2 ? pattern_second(code) : pattern_first(code);
                sum += (double)rule_value_e4m3(a[i * k / 2 + at]) * rule_value_e4m3(b[j * k + at / 2 * 4 + place]);
            }
            elements.compare(c[i * n + j], sum / 16, i, j);
        }
    return elements.wrong > 0;
}

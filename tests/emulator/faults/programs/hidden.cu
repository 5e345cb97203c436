/* Hidden values of a SwiGLU layer of e4m3 operands by gemm/fp8_hidden.cuh: blocks of a pair send each other maxima of rows through
 * DSMEM, set after set, and a warp makes codes beside the products. One pair takes all tiles; three tiles of rows with a tail, two pairs of columns. */
#include "gemm/fp8_hidden.cuh"
#include "program.h"

#include <vector>

using namespace ridge;
using shape = matmul_shape<e4m3, FP8_HIDDEN>;
using epilogue = fp8_hidden_epilogue<shape>;

int main(void) {
    constexpr int m = 300, d = 272, f = 256, slices = 3;
    std::vector<unsigned char> x(m * d), w1(2 * f * d), codes(m * f);
    std::vector<float> x_scale(m * slices), w1_scale(2 * f / 128 * slices), scales(m * f / 128);
    for (int i = 0; i < m * d; i++) x[i] = (unsigned char)rule_e4m3(value_of(i));
    for (int i = 0; i < 2 * f * d; i++) w1[i] = (unsigned char)rule_e4m3(value_of(i + 1000000));
    for (size_t i = 0; i < x_scale.size(); i++) x_scale[i] = 0.5f + 0.25f * value_of((unsigned)i + 7);
    for (size_t i = 0; i < w1_scale.size(); i++) w1_scale[i] = 0.25f + 0.125f * value_of((unsigned)i + 77);
    unsigned char *const codes_device = device_array<unsigned char>(codes.size(), NULL);
    float *const scales_device = device_array<float>(scales.size(), NULL);

    CUtensorMap a_map, b_map;
    if (!make_map<e4m3>(&a_map, {device_array(x.size(), x.data()), d, m, d}, shape::a_box) ||
        !make_map<e4m3>(&b_map, {device_array(w1.size(), w1.data()), d, 2 * f, d}, shape::b_box))
        return 2;
    epilogue e = {};
    e.a = fp8_scale({device_array(x_scale.size(), x_scale.data()), 1, slices, 1});
    e.b = fp8_scale({device_array(w1_scale.size(), w1_scale.data()), 128, slices, 1});
    e.ups = f / 128 * slices;
    e.to = {m, codes_device, f, scales_device, f / 128};
    matmul_plan plan = matmul_whole(d, shape::K, 8);
    e.last = plan.slices - 1;
    plan.pair = f;
    plan.m_tiles = (m + shape::M - 1) / shape::M, plan.n_tiles = f / shape::columns;
    constexpr int bytes = matmul_shared_bytes<shape, epilogue>;
    const auto kernel = matmul_kernel<shape, epilogue>;
    require(allow_shared((const void *)kernel, bytes), "cudaFuncSetAttribute");
    const ridge::launch_shape one = {dim3(shape::cluster), shape::threads, bytes, shape::cluster};
    if (ridge::launch_overlapping(kernel, one, 0, true, a_map, b_map, plan, e) != RIDGE_OK) return 2;

    to_host(codes.data(), codes_device, codes.size());
    to_host(scales.data(), scales_device, scales.size());
    comparison values = {"hidden", 0.0};
    const auto dot = [&](int i, int j) {
        double sum = 0;
        for (int k = 0; k < d; k++)
            sum += (double)rule_value_e4m3(x[i * d + k]) * rule_value_e4m3(w1[j * d + k]) *
                   x_scale[i * slices + k / 128] * w1_scale[j / 128 * slices + k / 128];
        return sum;
    };
    for (int i = 0; i < m; i++)
        for (int j = 0; j < f; j++) {
            const double gate = dot(i, j), up = dot(i, f + j), scale = scales[i * f / 128 + j / 128];
            values.limit = 0.02 + 17 * scale; /* half of the largest step */
            values.compare(rule_value_e4m3(codes[i * f + j]) * scale, gate / (1 + exp(-gate)) * up, i, j);
        }
    return values.wrong > 0;
}

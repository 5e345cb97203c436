/* Attention of e4m3 by attention/forward.cuh and fp8.cuh, causal: values are transposed by a launch of their own, then one block
 * takes three tiles of 128 queries, each with up to four steps of 96 keys and both halves of 128 dimensions; m and n have tails. */
#include "attention/forward.cuh"
#include "attention/maps.cuh"
#include "cuda/host/launch.cuh"
#include "program.h"

#include <cmath>
#include <vector>

using namespace ridge;
using shape = attention_shape<e4m3, 128, 128, 96, 2, false, false, attention_keys_lie::in_rows, __nv_bfloat16>;

constexpr int m = 300, n = 350, depth = 128, slices = (n + 95) / 96 * 3;

struct codes {
    std::vector<float> value;
    uint8_t *device;
    codes(int rows, int first) : value((size_t)(rows * depth)) {
        std::vector<uint8_t> code(value.size());
        for (size_t i = 0; i < code.size(); i++) {
            code[i] = __nv_cvt_float_to_fp8(value_of(first + (int)i), __NV_SATFINITE, __NV_E4M3);
            value[i] = __half2float(__half(__nv_cvt_fp8_to_halfraw(code[i], __NV_E4M3)));
        }
        device = device_array(code.size(), code.data());
    }
};

static void compare_query(comparison &outputs, int i, const codes &q, const codes &k, const codes &v,
                          const std::vector<__nv_bfloat16> &out) {
    const int seen = i + n - m + 1;
    std::vector<double> p((size_t)seen);
    double sum = 0;
    for (int j = 0; j < seen; j++) {
        double s = 0;
        for (int d = 0; d < depth; d++) s += (double)q.value[i * depth + d] * (double)k.value[j * depth + d];
        sum += p[j] = exp(s / 8);
    }
    for (int d = 0; d < depth; d++) {
        double want = 0;
        for (int j = 0; j < seen; j++) want += p[j] * (double)v.value[j * depth + d];
        outputs.compare(__bfloat162float(out[i * depth + d]), (float)(want / sum), i, d);
    }
}

int main(void) {
    const codes q(m, 0), k(n, 1000000), v(n, 2000000);
    std::vector<__nv_bfloat16> out(m * depth);
    const std::vector<float> ones(1, 1.0f);
    attention_maps maps;
    attention_args a = {};
    const attention_strides lines = {depth, 0, 0};
    if (!attention_map_of<e4m3>(&maps.q, q.device, lines, m, 1, 1, depth, shape::M) ||
        !attention_map_of<e4m3>(&maps.k, k.device, lines, n, 1, 1, depth, shape::N))
        return 2;
    a.out = device_array<__nv_bfloat16>(out.size(), NULL), a.lse = device_array<float>(m, NULL);
    a.out_strides = {depth, 0, 0}, a.lse_strides = {1, 0, 0};
    a.mask = {n - m, ATTENTION_ALL, 0};
    a.m = m, a.n = n, a.batch = 1, a.heads = 1, a.group = 1, a.depth = depth, a.values = depth;
    a.out_in_pieces = true, a.scale = 0.125f;
    a.scales.q = a.scales.k = a.scales.v = device_array(1, ones.data());
    a.order = attention_order_of(a, (m + shape::M - 1) / shape::M, 1, true);
    constexpr int bytes = attention_memory<shape>::bytes;
    require(allow_shared((const void *)attention_kernel<shape>, bytes), "cudaFuncSetAttribute");
    uint8_t *const transposed = device_array<uint8_t>((size_t)slices * 32 * depth, NULL);
    a.v = v.device, a.v_strides = {depth, 0, 0};
    const dim3 blocks((slices + 3) / 4, 1);
    if (launch_overlapping(attention_transpose_values<depth>, {blocks, TRANSPOSED_THREADS}, 0, true, a, transposed,
                           slices) != RIDGE_OK)
        return 2;
    a.v = transposed, a.v_strides = {};
    if (launch_overlapping(attention_kernel<shape>, {dim3(1), shape::threads, bytes}, 0, true, maps, a) != RIDGE_OK)
        return 2;
    to_host(out.data(), (__nv_bfloat16 *)a.out, out.size());
    comparison outputs = {"output", 0.1};
    for (int i = 0; i < m; i++) compare_query(outputs, i, q, k, v, out);
    return outputs.wrong > 0;
}

/* Attention by attention/tensor.cuh, causal, in bf16: one block takes three pairs of tiles of 128 queries, which have up to six steps
 * of 128 keys, so that Q's places and the stages are used again; m and n have tails. The first keys, which come last, are the
 * largest: sums are multiplied on the way. */
#include "attention/tensor.cuh"
#include "cuda/host/launch.cuh"
#include "cuda/host/tensor_map.cuh"
#include "program.h"

#include <cmath>
#include <vector>

using namespace ridge;
using element = __nv_bfloat16;
using shape = attention_tensor_shape<element, 64, false>;

constexpr int m = 700, n = 650, depth = 64;

static bool map_of(CUtensorMap *map, const element *base, int rows, int lines) {
    return encode_map<4>(
        map,
        {map_type<element>, base, {depth, (cuuint64_t)rows, 1, 1}, {depth * 2, 16, 16}, {64, (cuuint32_t)lines, 1, 1}});
}

static void compare_query(comparison &outputs, int i, const std::vector<element> &q, const std::vector<element> &k,
                          const std::vector<element> &v, const std::vector<element> &out) {
    const int seen = i + n - m + 1;
    std::vector<double> p((size_t)(seen > 0 ? seen : 0));
    double sum = 0, most = -INFINITY;
    for (int j = 0; j < seen; j++) {
        for (int d = 0; d < depth; d++)
            p[j] += (double)(__bfloat162float(q[i * depth + d]) * __bfloat162float(k[j * depth + d]));
        most = fmax(most, p[j]);
    }
    for (int j = 0; j < seen; j++) sum += p[j] = exp((p[j] - most) / 8);
    for (int d = 0; d < depth; d++) {
        double want = 0;
        for (int j = 0; j < seen; j++) want += p[j] * (double)__bfloat162float(v[j * depth + d]) / sum;
        outputs.compare(__bfloat162float(out[i * depth + d]), (float)want, i, d);
    }
}

int main(void) {
    std::vector<element> q(m * depth), k(n * depth), v(n * depth), out(m * depth);
    for (int i = 0; i < m * depth; i++) q[i] = __float2bfloat16(value_of(i) * 4);
    for (int i = 0; i < n * depth; i++)
        k[i] = __float2bfloat16(value_of(i + 1000000) * (i < 128 * depth ? 8 : 1)),
        v[i] = __float2bfloat16(value_of(i + 2000000));
    attention_maps maps;
    attention_args a = {};
    if (!map_of(&maps.q, device_array(q.size(), q.data()), m, shape::rows) ||
        !map_of(&maps.k, device_array(k.size(), k.data()), n, shape::N) ||
        !map_of(&maps.v, device_array(v.size(), v.data()), n, shape::N))
        return 2;
    a.out = device_array<element>(out.size(), NULL), a.lse = device_array<float>(m, NULL);
    a.out_strides = {depth, 0, 0}, a.lse_strides = {1, 0, 0};
    a.mask = {n - m, ATTENTION_ALL, 0};
    a.m = m, a.n = n, a.batch = 1, a.heads = 1, a.group = 1, a.depth = depth, a.values = depth;
    a.out_in_pieces = true, a.scale = 0.125f;
    a.m_tiles = (m + shape::M - 1) / shape::M, a.section = 1, a.longest_first = true;
    require(allow_shared((const void *)attention_tensor_kernel<shape>, shape::bytes), "cudaFuncSetAttribute");
    if (launch(attention_tensor_kernel<shape>, {dim3(1), shape::threads, shape::bytes}, 0, maps, a) != RIDGE_OK)
        return 2;
    to_host(out.data(), (element *)a.out, out.size());
    comparison outputs = {"output", 0.02};
    for (int i = 0; i < m; i++) compare_query(outputs, i, q, k, v, out);
    return outputs.wrong > 0;
}

/* Attention by attention/tensor.cuh, causal, in bf16: one block takes three pairs of tiles of 128 queries, which have up to six steps
 * of 128 keys, so that Q's places and the stages are used again; m and n have tails. The first keys, which come last, are the
 * largest: sums are multiplied on the way. */
#include "attention/tensor.cuh"
#include "attention/maps.cuh"
#include "cuda/host/launch.cuh"
#include "attention_row.h"

#include <vector>

using namespace ridge;
using element = __nv_bfloat16;
using shape = attention_tensor_shape<element, 64, false>;

constexpr int m = 700, n = 650, depth = 64;

int main(void) {
    std::vector<element> q(m * depth), k(n * depth), v(n * depth), out(m * depth);
    for (int i = 0; i < m * depth; i++) q[i] = __float2bfloat16(value_of(i) * 4);
    for (int i = 0; i < n * depth; i++)
        k[i] = __float2bfloat16(value_of(i + 1000000) * (i < 128 * depth ? 8 : 1)),
        v[i] = __float2bfloat16(value_of(i + 2000000));
    attention_maps maps;
    attention_args a = {};
    const attention_strides lines = {depth, 0, 0};
    if (!attention_map_of<element>(&maps.q, device_array(q.size(), q.data()), lines, m, 1, 1, depth, shape::rows) ||
        !attention_map_of<element>(&maps.k, device_array(k.size(), k.data()), lines, n, 1, 1, depth, shape::N) ||
        !attention_map_of<element>(&maps.v, device_array(v.size(), v.data()), lines, n, 1, 1, depth, shape::N))
        return 2;
    a.out = device_array<element>(out.size(), NULL), a.lse = device_array<float>(m, NULL);
    a.out_strides = {depth, 0, 0}, a.lse_strides = {1, 0, 0};
    a.mask = {n - m, ATTENTION_ALL, 0};
    a.m = m, a.n = n, a.batch = 1, a.heads = 1, a.group = 1, a.depth = depth, a.values = depth;
    a.out_in_pieces = true, a.scale = 0.125f;
    a.order = attention_order_of(a, (m + shape::M - 1) / shape::M, 1, true);
    require(allow_shared((const void *)attention_tensor_kernel<shape>, shape::bytes), "cudaFuncSetAttribute");
    if (launch(attention_tensor_kernel<shape>, {dim3(1), shape::threads, shape::bytes}, 0, maps, a) != RIDGE_OK)
        return 2;
    to_host(out.data(), (element *)a.out, out.size());
    comparison outputs = {"output", 0.02};
    for (int i = 0; i < m; i++)
        compare_attention(outputs, i, depth, 0, i + n - m + 1, q, k, v, out, [](int j) { return j * depth; });
    return outputs.wrong > 0;
}

/* Attention by attention/forward.cuh, causal, in bf16: one block takes three tiles of 128 queries, each with up to six steps
 * of 64 keys, so that Q's place and the stages are used again; m and n have tails. Then two tiles of 192 queries with windows,
 * whose warpgroups skip steps at both ends. Results leave by TMA, and once by threads. */
#include "attention/forward.cuh"
#include "attention/maps.cuh"
#include "cuda/host/launch.cuh"
#include "attention_row.h"

#include <algorithm>
#include <vector>

using namespace ridge;
using element = __nv_bfloat16;

constexpr int m = 300, n = 350, depth = 64, windows[] = {150, 100, 60, 30};

/* left: keys that a query sees before its own. mapped: whether TMA stores the result. */
template <class shape>
static int attend(int left, bool mapped) {
    std::vector<element> q(m * depth), k(n * depth), v(n * depth), out(m * depth);
    for (int i = 0; i < m * depth; i++) q[i] = __float2bfloat16(value_of(i));
    for (int i = 0; i < n * depth; i++)
        k[i] = __float2bfloat16(value_of(i + 1000000)), v[i] = __float2bfloat16(value_of(i + 2000000));
    attention_maps maps;
    attention_args a = {};
    const attention_strides lines = {depth, 0, 0};
    if (!attention_map_of<element>(&maps.q, device_array(q.size(), q.data()), lines, m, 1, 1, depth, shape::M) ||
        !attention_map_of<element>(&maps.k, device_array(k.size(), k.data()), lines, n, 1, 1, depth, shape::N) ||
        !attention_map_of<element>(&maps.v, device_array(v.size(), v.data()), lines, n, 1, 1, depth, shape::N))
        return 2;
    a.out = device_array<element>(out.size(), NULL), a.lse = device_array<float>(m, NULL);
    a.out_strides = {depth, 0, 0}, a.lse_strides = {1, 0, 0};
    a.mask = {n - m, left, 0};
    a.m = m, a.n = n, a.batch = 1, a.heads = 1, a.group = 1, a.depth = depth, a.values = depth;
    a.out_in_pieces = true, a.scale = 0.125f;
    a.out_mapped = mapped;
    if (!attention_map_of<element>(&maps.out, a.out, a.out_strides, m, 1, 1, depth, 16)) return 2;
    a.order = attention_order_of(a, (m + shape::M - 1) / shape::M, 1, true);
    constexpr int bytes = attention_memory<shape>::bytes;
    require(allow_shared((const void *)attention_kernel<shape>, bytes), "cudaFuncSetAttribute");
    if (launch(attention_kernel<shape>, {dim3(1), shape::threads, bytes}, 0, maps, a) != RIDGE_OK) return 2;
    to_host(out.data(), (element *)a.out, out.size());
    comparison outputs = {"output", 0.02};
    const auto key = [](int j) { return j * depth; };
    for (int i = 0; i < m; i++)
        compare_attention(outputs, i, depth, std::max(0, i + n - m - left), i + n - m + 1, q, k, v, out, key);
    return outputs.wrong > 0;
}

int main(void) {
    int status = attend<attention_shape<element, 64, 64, 64, 2, false>>(ATTENTION_ALL, false);
    if (!status) status = attend<attention_shape<element, 64, 64, 64, 2, false>>(ATTENTION_ALL, true);
    for (int window : windows)
        if (!status) status = attend<attention_shape<element, 64, 64, 64, 3, false>>(window, true);
    return status;
}

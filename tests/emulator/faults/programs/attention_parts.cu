/* Parts of the keys by attention/parts.cuh, in bf16: of two heads that share keys, three queries and three parts of two steps of 64
 * keys. The blocks of a tile are a cluster, and then a launch more merges. */
#include "attention/forward.cuh"
#include "attention/maps.cuh"
#include "cuda/host/launch.cuh"
#include "attention_row.h"

#include <vector>

using namespace ridge;
using element = __nv_bfloat16;
using shape = attention_shape<element, 64, 64, 64, 1, true, true>;

constexpr int m = 3, heads = 2, n = 350, depth = 64, parts = 3, rows = m * heads;

static int attend(bool clustered) {
    std::vector<element> q(rows * depth), k(n * depth), v(n * depth), out(q.size());
    for (size_t i = 0; i < q.size(); i++) q[i] = __float2bfloat16(value_of((int)i));
    for (size_t i = 0; i < k.size(); i++)
        k[i] = __float2bfloat16(value_of((int)i + 1000000)), v[i] = __float2bfloat16(value_of((int)i + 2000000));
    attention_maps maps;
    attention_args a = {};
    a.q = device_array(q.size(), q.data());
    a.q_strides = a.out_strides = {heads * depth, 0, depth}, a.lse_strides = {heads, 0, 1};
    const attention_strides lines = {depth, 0, 0};
    if (!attention_map_of<element>(&maps.q, a.q, a.q_strides, m, 1, heads, depth, shape::M) ||
        !attention_map_of<element>(&maps.k, device_array(k.size(), k.data()), lines, n, 1, 1, depth, shape::N) ||
        !attention_map_of<element>(&maps.v, device_array(v.size(), v.data()), lines, n, 1, 1, depth, shape::N))
        return 2;
    a.out = device_array<element>(out.size(), NULL), a.lse = device_array<float>(rows, NULL);
    a.mask = {n - m, ATTENTION_ALL, 0};
    a.m = m, a.n = n, a.batch = 1, a.heads = heads, a.group = heads, a.depth = depth, a.values = depth;
    a.out_in_pieces = true, a.scale = 0.125f;
    a.order = attention_order_of(a, 1, 1, false), a.parts = parts, a.clustered = clustered;
    a.part_sums = device_array<float>(parts * rows * shape::V, NULL);
    a.part_ends = device_array<float2>(parts * rows, NULL);
    constexpr int bytes = attention_memory<shape>::bytes;
    require(allow_shared((const void *)attention_kernel<shape>, bytes), "cudaFuncSetAttribute");
    const launch_shape blocks = {dim3(parts), shape::threads, bytes, clustered ? parts : 1};
    if (launch(attention_kernel<shape>, blocks, 0, maps, a) != RIDGE_OK) return 2;
    if (!clustered && launch(attention_merge<shape>, {dim3((rows + 3) / 4), 128}, 0, a) != RIDGE_OK) return 2;
    to_host(out.data(), (element *)a.out, out.size());
    comparison outputs = {clustered ? "cluster" : "launch", 0.02};
    const auto key = [](int j) { return j * depth; };
    for (int row = 0; row < rows; row++) /* of query row / heads */
        compare_attention(outputs, row, depth, 0, row / heads + n - m + 1, q, k, v, out, key);
    return outputs.wrong > 0;
}

int main(void) {
    const int status = attend(true);
    return status ? status : attend(false);
}

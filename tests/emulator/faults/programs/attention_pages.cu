/* Attention over keys in pages by attention/forward.cuh, in bf16: one block takes two sequences of a few queries of two heads, with
 * up to three steps of 64 keys in pages of 16, by a packed tile and by tiles of two warpgroups. Values that are no keys are NaN, and
 * the table ends with the last page. */
#include "attention/forward.cuh"
#include "attention/maps.cuh"
#include "cuda/host/launch.cuh"
#include "attention_row.h"

#include <vector>

using namespace ridge;
using element = __nv_bfloat16;
template <int Groups, bool Packed>
using shape = attention_shape<element, 64, 64, 64, Groups, false, Packed, attention_keys_lie::in_pages>;

constexpr int m = 3, heads = 2, depth = 64, page = 16, pages = 40, blocks = 12;
constexpr int lengths[2] = {133, 21};

static int page_of(int batch, int block) { return (7 + 17 * batch + 3 * block) % pages; }
static int element_of(int batch, int key) { return (page_of(batch, key / page) * page + key % page) * depth; }

template <class S>
static int wrong(void) {
    const int rows = m * 2 * heads;
    std::vector<element> q(rows * depth), k(pages * page * depth), v(k.size()), out(q.size());
    std::vector<int> table(blocks + (lengths[1] + page - 1) / page);
    for (size_t i = 0; i < q.size(); i++) q[i] = __float2bfloat16(value_of((int)i));
    for (size_t i = 0; i < k.size(); i++)
        k[i] = __float2bfloat16(value_of((int)i + 1000000)), v[i] = __float2bfloat16(NAN);
    for (int b = 0; b < 2; b++) {
        for (int block = 0; block * page < lengths[b]; block++) table[b * blocks + block] = page_of(b, block);
        for (int j = 0; j < lengths[b]; j++)
            for (int d = 0; d < depth; d++)
                v[element_of(b, j) + d] = __float2bfloat16(value_of(element_of(b, j) + d + 2000000));
    }
    attention_maps maps;
    attention_args a = {};
    a.q = device_array(q.size(), q.data());
    a.q_strides = a.out_strides = {2 * heads * depth, heads * depth, depth}, a.lse_strides = {2 * heads, heads, 1};
    const attention_strides of_page = {depth, page * depth, depth};
    if (!attention_map_of<element>(&maps.q, a.q, a.q_strides, m, 2, heads, depth, S::M) ||
        !attention_map_of<element>(&maps.k, device_array(k.size(), k.data()), of_page, page, pages, 1, depth, page) ||
        !attention_map_of<element>(&maps.v, device_array(v.size(), v.data()), of_page, page, pages, 1, depth, page))
        return 2;
    a.out = device_array<element>(out.size(), NULL), a.lse = device_array<float>(rows, NULL);
    a.mask = {0, ATTENTION_ALL, 0};
    a.m = m, a.n = blocks * page, a.batch = 2, a.heads = heads, a.group = heads, a.depth = depth, a.values = depth;
    a.out_in_pieces = true, a.scale = 0.125f;
    a.order = attention_order_of(a, 1, 1, false), a.parts = 1;
    a.pages = {
        {device_array(table.size(), table.data()), false}, {device_array(2, lengths), false}, blocks, page, pages};
    constexpr int bytes = attention_memory<S>::bytes;
    require(allow_shared((const void *)attention_kernel<S>, bytes), "cudaFuncSetAttribute");
    if (launch(attention_kernel<S>, {dim3(1), S::threads, bytes}, 0, maps, a) != RIDGE_OK) return 2;
    to_host(out.data(), (element *)a.out, out.size());
    comparison outputs = {"output", 0.02};
    for (int row = 0; row < rows; row++) { /* of query row / (2 heads) */
        const int batch = row / heads % 2, seen = row / (2 * heads) + lengths[batch] - m + 1;
        compare_attention(outputs, row, depth, 0, seen, q, k, v, out, [&](int j) { return element_of(batch, j); });
    }
    return outputs.wrong > 0;
}

int main(void) {
    const int packed = wrong<shape<1, true>>();
    return packed ? packed : wrong<shape<2, false>>();
}

/* Attention of few queries (attention/decode.cuh): three queries of two heads, keys of one block of eight warps, and in two parts, which a
 * cluster merges; the last 16 keys are not all there. */
#include "cuda/host/launch.cuh"
#include "attention/decode.cuh"
#include "operand.h"

using namespace ridge;
using T = __nv_bfloat16;

enum { HEADS = 4, KV_HEADS = 2, QUERIES = 3, D = 64 };

/* [rows, heads, dimensions], scores of a scale of 1 / 8. */
static long attention_of(const char *name, int n, int parts) {
    using S = attention_decode_shape<T, D, attention_keys_lie::in_rows>;
    const operand<T> q((size_t)QUERIES * HEADS * D, 0), k((size_t)n * KV_HEADS * D, 100000),
        v((size_t)n * KV_HEADS * D, 200000);
    std::vector<T> out((size_t)QUERIES * HEADS * D);
    attention_args a = {};
    a.q = q.device, a.q_strides = {HEADS * D, 0, D}, a.k = k.device, a.k_strides = {KV_HEADS * D, 0, D};
    a.v = v.device, a.v_strides = a.k_strides, a.out = device_array<T>(out.size(), NULL), a.out_strides = a.q_strides;
    a.lse = device_array<float>((size_t)QUERIES * HEADS, NULL), a.lse_strides = {HEADS, 0, 1};
    a.mask = {n - QUERIES, ATTENTION_ALL, ATTENTION_ALL};
    a.m = QUERIES, a.n = n, a.batch = 1, a.heads = HEADS, a.group = HEADS / KV_HEADS, a.depth = a.values = D;
    a.scale = 0.125f, a.order.m_tiles = 1, a.parts = parts, a.clustered = parts > 1;
    const int bytes = S::q_bytes + ATTENTION_DECODE_WARPS * S::ring_bytes + attention_part<S>::shared_bytes;
    const launch_shape shape = {dim3((unsigned)(KV_HEADS * parts)), S::threads, bytes, parts};
    if (launch(attention_decode_kernel<S>, shape, 0, a) != RIDGE_OK) exit(2);
    to_host(out.data(), (const T *)a.out, out.size());
    comparison all = {name, 0.02};
    for (int i = 0; i < QUERIES * HEADS; i++) {
        const int head = i % HEADS / (HEADS / KV_HEADS);
        std::vector<double> p((size_t)n);
        double sum = 0.0;
        for (int j = 0; j < n; j++) {
            double score = 0.0;
            for (int d = 0; d < D; d++)
                score += (double)q[(size_t)(i * D + d)] * k[(size_t)((j * KV_HEADS + head) * D + d)];
            p[(size_t)j] = exp(score * 0.125), sum += p[(size_t)j];
        }
        for (int d = 0; d < D; d++) {
            double want = 0.0;
            for (int j = 0; j < n; j++) want += p[(size_t)j] / sum * v[(size_t)((j * KV_HEADS + head) * D + d)];
            all.compare(on_host(out[(size_t)(i * D + d)]), want, i, d);
        }
    }
    return all.wrong;
}

int main(void) { return attention_of("one part", 300, 1) + attention_of("two parts", 427, 2) > 0; }

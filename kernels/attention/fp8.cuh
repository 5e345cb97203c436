/* What is other in attention of e4m3, whose operands the tensor cores take only where K runs along the lines of both.
 *
 *   V       K of P V is keys: values come transposed, by a launch before (attention_transpose_values), as shared memory is to
 *           have them: slices of 32 keys, a line of 32 bytes a dimension under their swizzle. A thread's exponentials of a
 *           row are columns 2 q, 2 q + 1, 2 q + 8, 2 q + 9 of each 16, and its four codes of an operand are neighbours: keys of
 *           each 16 lie in that order, and no exponential leaves its thread.
 *   P       exponentials are 2^8 times larger, so that codes, which end at 2^-9, have those from 2^-17 of the row's largest. So
 *           the maximum may not lag (448 < 2^9).
 *   sums    the tensor cores keep 13 bits below the largest term of a sum of e4m3 products. Each step has sums of its own,
 *           which are added in fp32: of 64 dimensions at a time, for which there are registers. Those of the first half are
 *           added while the next step's scores are under way. */
#ifndef RIDGE_ATTENTION_FP8_CUH
#define RIDGE_ATTENTION_FP8_CUH

#include "attention/products.cuh"
#include "attention/scores.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

template <class S, bool Fp8>
struct attention_sums;

template <class S>
struct attention_sums<S, true> {
    using rows = softmax_rows_of<0, 8>;
    float all[S::sums], step[32];

    __device__ void restart(void) {
#pragma unroll
        for (int i = 0; i < S::sums; i++) all[i] = 0.0f;
    }
    __device__ void multiply(int half, const unsigned (&p)[S::p_slices][4], uint32_t v, bool) {
        const uint64_t lines = wgmma_descriptor_32B(v + (uint32_t)(half * 64 * 32));
#pragma unroll
        for (int i = 0; i < S::p_slices; i++)
            wgmma_rs<typename S::T, 64, true>(step, p[i], lines + (uint64_t)(i * S::V * 32 >> 4), i > 0);
        wgmma_commit_group();
    }
    __device__ void settle(int half) {
        wgmma_settle(step);
#pragma unroll
        for (int i = 0; i < 32; i++) all[half * 32 + i] += step[i];
    }
};

/* Words of four codes of keys k, k + 1, k + 8, k + 9, a dimension each, from words of four dimensions, a key each. */
__device__ inline uint4 attention_transpose(uint4 key) {
    const unsigned a = __byte_perm(key.x, key.y, 0x5140), b = __byte_perm(key.z, key.w, 0x5140);
    const unsigned c = __byte_perm(key.x, key.y, 0x7362), d = __byte_perm(key.z, key.w, 0x7362);
    return {__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632), __byte_perm(c, d, 0x5410), __byte_perm(c, d, 0x7632)};
}

enum { TRANSPOSED_KEYS = 128, TRANSPOSED_THREADS = 256 };

/* to: [batch, kv_head, slice of 32 keys, dimension] lines of 32 codes, zeros behind the last key and the last dimension. A block
 * has 128 keys of a head. */
template <int Lines>
__global__ void __launch_bounds__(TRANSPOSED_THREADS)
    attention_transpose_values(const __grid_constant__ attention_args a, uint8_t *to, int slices) {
    constexpr int words = TRANSPOSED_KEYS / 4, pitch = words + 1;
    __shared__ unsigned tile[Lines * pitch];
    const int kv_heads = a.heads / a.group, head = (int)blockIdx.y % kv_heads, batch = (int)blockIdx.y / kv_heads;
    const uint8_t *const from = (const uint8_t *)a.v + batch * a.v_strides.batch + head * a.v_strides.head;
    const auto word_of = [&](int key, int column) {
        const uint8_t *const p = from + key * a.v_strides.row + column;
        unsigned word = 0;
        if (key >= a.n) return word;
        if (column + 4 <= a.values) return *(const unsigned *)p;
        for (int b = 0; column + b < a.values; b++) word |= (unsigned)p[b] << b * 8;
        return word;
    };
    after_previous_launch();
    for (int i = (int)threadIdx.x; i < words * Lines / 4; i += TRANSPOSED_THREADS) {
        const int column = i % (Lines / 4) * 4, word = i / (Lines / 4);
        const int key = (int)blockIdx.x * TRANSPOSED_KEYS + word / 4 * 16 + word % 4 * 2;
        const uint4 transposed = attention_transpose(
            {word_of(key, column), word_of(key + 1, column), word_of(key + 8, column), word_of(key + 9, column)});
        unsigned *const own = tile + column * pitch + word;
        own[0] = transposed.x, own[pitch] = transposed.y, own[2 * pitch] = transposed.z, own[3 * pitch] = transposed.w;
    }
    __syncthreads();
    unsigned *const lines = (unsigned *)to + (int64_t)blockIdx.y * slices * Lines * 8;
    for (int i = (int)threadIdx.x; i < words * Lines; i += TRANSPOSED_THREADS) {
        const int word = i % 8, line = i / 8 % Lines, slice = (int)blockIdx.x * TRANSPOSED_KEYS / 32 + i / 8 / Lines;
        if (slice >= slices) return;
        /* Half of a line is at the other half's place in every other four lines. */
        lines[((int64_t)slice * Lines + line) * 8 + (word ^ (line & 4))] =
            tile[line * pitch + i / 8 / Lines * 8 + word];
    }
}

}  // namespace ridge

#endif

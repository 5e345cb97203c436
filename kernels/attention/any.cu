/* Attention of operands as they lie, from compute capability 8.0 on: four warps have 16 queries each, keys and values of
 * 32 keys at a time lie in shared memory, padded with zeros, and products are mma.sync. Scores, softmax and P are those of
 * the other kernels (scores.cuh): mma's fragments are those of wgmma. */
#include "attention/call.cuh"
#include "attention/scores.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/mma.cuh"

namespace ridge {

/* Depth: of q, k and v, padded. Memory: what they are in memory, from which they come in T, that has their values. */
template <typename T, int Depth, attention_keys_lie Lie, typename Memory = T, typename Result = T>
struct attention_any_shape : attention_shape<T, Depth, Depth, 32, 1, true, false, Lie, Result> {
    static constexpr bool asks = true;
    using In = Memory;
    static constexpr bool scaled = sizeof(Memory) == 1; /* codes, whatever they are multiplied in */
    static constexpr int pitch = Depth + 8;             /* elements; rows of ldmatrix in different banks */
    static constexpr int bytes = (64 + 2 * 32) * pitch * 2;
};

/* Eight elements, and one. */
template <typename T>
__device__ inline uint4 eight_of(const T *from) {
    return *(const uint4 *)from;
}
template <typename T>
__device__ inline T one_of(const T *from) {
    return *from;
}
template <typename T>
__device__ inline T one_of(const e4m3 *from) {
    return __half(__nv_cvt_fp8_to_halfraw(from->bits, __NV_E4M3));
}
template <typename T>
__device__ inline uint4 eight_of(const e4m3 *from) {
    const uint2 codes = *(const uint2 *)from;
    const auto pair = [](unsigned two) {
        const __half2_raw h = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)two, __NV_E4M3);
        return (unsigned)h.x | (unsigned)h.y << 16;
    };
    return {pair(codes.x), pair(codes.x >> 16), pair(codes.y), pair(codes.y >> 16)};
}

/* Rows [first, first + Rows) of a head, of `columns` elements, zeros beyond. row_of(row): where it begins. */
template <class S, int Rows, typename F>
__device__ inline void load_padded(typename S::T *to, const F &row_of, int first, int rows, int columns,
                                   bool in_pieces) {
    if (in_pieces) {
        for (int i = (int)threadIdx.x; i < Rows * S::D / 8; i += 128) {
            const int row = i / (S::D / 8), column = i % (S::D / 8) * 8;
            const bool there = first + row < rows && column < columns;
            const uint4 piece = there ? eight_of<typename S::T>(row_of(first + row) + column) : uint4{0, 0, 0, 0};
            *(uint4 *)(to + row * S::pitch + column) = piece;
        }
        return;
    }
    for (int i = (int)threadIdx.x; i < Rows * S::D; i += 128) {
        const int row = i / S::D, column = i % S::D;
        const bool there = first + row < rows && column < columns;
        to[row * S::pitch + column] =
            there ? one_of<typename S::T>(row_of(first + row) + column) : from_float<typename S::T>(0.0f);
    }
}

/* scores = Q K^T: 16 queries of a warp. */
template <class S>
__device__ inline void any_keys(float (&scores)[S::scores], const typename S::T *q, const typename S::T *k) {
    const int lane = (int)threadIdx.x % 32;
    const uint32_t q_at = shared_address(q + ((int)threadIdx.x / 32 * 16 + lane % 16) * S::pitch + lane / 16 * 8);
    const uint32_t k_at = shared_address(k + (lane / 16 * 8 + lane % 8) * S::pitch + lane / 8 % 2 * 8);
#pragma unroll
    for (int i = 0; i < S::scores; i++) scores[i] = 0.0f;
#pragma unroll 4
    for (int d = 0; d < S::D; d += 16) {
        unsigned a[4];
        ldmatrix_x4(a, q_at + (uint32_t)(d * 2));
#pragma unroll
        for (int j = 0; j < S::N / 16; j++) {
            unsigned b[4];
            ldmatrix_x4(b, k_at + (uint32_t)((j * 16 * S::pitch + d) * 2));
            mma_m16n8k16(typename S::T(), *(float(*)[4]) & scores[8 * j], a, b[0], b[1]);
            mma_m16n8k16(typename S::T(), *(float(*)[4]) & scores[8 * j + 4], a, b[2], b[3]);
        }
    }
}
/* sums += P V. */
template <class S>
__device__ inline void any_values(float (&sums)[S::sums], const unsigned (&p)[S::N / 16][4], const typename S::T *v) {
    const int lane = (int)threadIdx.x % 32;
    const uint32_t v_at = shared_address(v + (lane / 8 % 2 * 8 + lane % 8) * S::pitch + lane / 16 * 8);
#pragma unroll
    for (int i = 0; i < S::N / 16; i++)
#pragma unroll
        for (int j = 0; j < S::V / 16; j++) {
            unsigned b[4];
            ldmatrix_x4_trans(b, v_at + (uint32_t)((i * 16 * S::pitch + j * 16) * 2));
            mma_m16n8k16(typename S::T(), *(float(*)[4]) & sums[8 * j], p[i], b[0], b[1]);
            mma_m16n8k16(typename S::T(), *(float(*)[4]) & sums[8 * j + 4], p[i], b[2], b[3]);
        }
}

template <class S>
__device__ inline void store_sums(const attention_args &a, const attention_place &place, float (&sums)[S::sums],
                                  const softmax_rows &rows) {
    const int row = place.m + fragment_row(0), column = fragment_column();
    const float of_values = S::scaled ? attention_value_scale(a, place.batch, place.head) : 1.0f;
    const auto put = [&](int at_row, float x, int i) {
        const int at = column + i / 2 * 8 + i % 2;
        if (at_row < attention_row_end<S>(a, place) && at < a.values)
            attention_row<S>(a, place, at_row)[at] = from_float<typename S::O>(x * of_values);
    };
    each_of_row<0>(sums, [&](float x, int i) { put(row, x * rows.by[0], i); });
    each_of_row<1>(sums, [&](float x, int i) { put(row + 8, x * rows.by[1], i); });
    store_lse<S>(a, place, rows, row);
}

/* in_pieces: rows of q, k and v begin at multiples of 16 bytes, and have whole ones. */
template <class S>
__global__ void __launch_bounds__(128, 2)
    attention_any_kernel(const __grid_constant__ attention_args a, bool in_pieces) {
    using T = typename S::T;
    using In = typename S::In;
    extern __shared__ __align__(16) uint8_t any_shared[];
    T *const q = (T *)any_shared, *const k = q + 64 * S::pitch, *const v = k + 32 * S::pitch;
    after_previous_launch();
    const attention_place place = attention_schedule<S>(a).place();
    const attention_steps steps = attention_steps_of<S>(a, place);
    if (steps.none()) return attention_store_none<S>(a, place, 0);
    const auto head = [&](const void *base, const attention_strides &s, int number) {
        return (const In *)base + (S::paged ? 0 : place.batch * s.batch) + number * s.head;
    };
    const In *const from_q = (const In *)a.q + place.batch * a.q_strides.batch + place.head * a.q_strides.head;
    const In *const from_k = head(a.k, a.k_strides, place.kv_head), *const from_v =
                                                                        head(a.v, a.v_strides, place.kv_head);
    const auto line_of = [&](const In *from, const attention_strides &s, int key) {
        if constexpr (S::paged) return from + a.pages.of(place.batch, key) * s.batch + key % a.pages.size * s.row;
        return from + key * s.row;
    };
    const int keys = S::paged ? place.span.keys.end : a.n;
    load_padded<S, 64>(
        q, [&](int row) { return from_q + row * a.q_strides.row; }, place.m, a.m, a.depth, in_pieces);
    const attention_scores_of<S> shape(a, place, 0);
    softmax_rows rows;
    float sums[S::sums];
#pragma unroll
    for (int i = 0; i < S::sums; i++) sums[i] = 0.0f;
    for (int step = steps.last; step >= steps.first; step--) {
        float scores[S::scores];
        unsigned p[S::N / 16][4];
        __syncthreads();
        load_padded<S, 32>(
            k, [&](int key) { return line_of(from_k, a.k_strides, key); }, step * S::N, keys, a.depth, in_pieces);
        load_padded<S, 32>(
            v, [&](int key) { return line_of(from_v, a.v_strides, key); }, step * S::N, keys, a.values, in_pieces);
        __syncthreads();
        any_keys<S>(scores, q, k);
        shape.apply(scores, step);
        rescale(sums, rows.take(scores, shape.factor()));
        round_to_operand<S>(p, scores);
        any_values<S>(sums, p, v);
    }
    rows.finish(shape.factor(), shape.sink_log2);
    store_sums<S>(a, place, sums, rows);
}

template <class S>
static ridge_status run_any(attention_args a, cudaStream_t stream) {
    const void *const kernel = (const void *)attention_any_kernel<S>;
    if (allow_shared(kernel, S::bytes) != cudaSuccess) return RIDGE_UNSUPPORTED;
    const int m_tiles = S::varlen ? attention_tiles_of(a.sequences, 64, a.m) : (a.m + 63) / 64,
              heads = a.batch * a.heads;
    a.order = attention_order_of(a, m_tiles, heads, a.mask.right < a.n);
    const bool in_pieces = lies_in_pieces(a.q, a.q_strides, a.depth) && lies_in_pieces(a.k, a.k_strides, a.depth) &&
                           lies_in_pieces(a.v, a.v_strides, a.values);
    const launch_shape shape = {dim3((unsigned)(m_tiles * heads)), 128, S::bytes};
    return launch_overlapping(attention_any_kernel<S>, shape, stream, device_overlaps(), a, in_pieces);
}

/* Codes: q, k and v are e4m3, and come in fp16, which has all of their values. */
template <attention_keys_lie Lie, bool Codes = false>
static ridge_status run_any_depth(const attention_args &a, const ridge_call *call) {
    const int depth = a.depth > a.values ? a.depth : a.values;
    if (attention_is_empty(a)) return RIDGE_OK;
    return with_attention_kind<true>(call, [&]<typename T, bool>() {
        using Memory = std::conditional_t<Codes, e4m3, T>;
        using Operand = std::conditional_t<Codes, __half, T>;
        const cudaStream_t stream = stream_of(call);
        if (depth <= 64) return run_any<attention_any_shape<Operand, 64, Lie, Memory, T>>(a, stream);
        if (depth <= 128) return run_any<attention_any_shape<Operand, 128, Lie, Memory, T>>(a, stream);
        return run_any<attention_any_shape<Operand, 256, Lie, Memory, T>>(a, stream);
    });
}

}  // namespace ridge

extern "C" ridge_status attention_fp8_cuda_any(const ridge_call *call) {
    return ridge::run_any_depth<ridge::attention_keys_lie::in_rows, true>(ridge::attention_fp8_args_of(call), call);
}
extern "C" ridge_status attention_cuda_any(const ridge_call *call) {
    return ridge::run_any_depth<ridge::attention_keys_lie::in_rows>(ridge::attention_args_of(call), call);
}
extern "C" ridge_status attention_varlen_cuda_any(const ridge_call *call) {
    return ridge::run_any_depth<ridge::attention_keys_lie::in_sequences>(ridge::attention_varlen_args_of(call), call);
}
extern "C" ridge_status attention_paged_cuda_any(const ridge_call *call) {
    return ridge::run_any_depth<ridge::attention_keys_lie::in_pages>(ridge::attention_paged_args_of(call), call);
}

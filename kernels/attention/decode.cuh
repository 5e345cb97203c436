/* Attention of up to eight rows of heads that share keys: see decode.h.
 *
 *   scores^T = K Q^T        16 keys by 8 rows, mma.sync: keys are A
 *   sums^T  += V^T P^T      16 dimensions by 8 rows: values are A, two keys' elements joined to a pair; P^T is B
 *
 * Which dimension a product's depth has where is free, as long as K and Q agree. So a lane's part of an operand are pieces of 16 bytes
 * as they lie in memory: of a key they are four pairs of two products, of a value rows of eight. A warp copies its 16 keys and values
 * (cp.async), whole lines at a time, to places of its own, and waits for nobody. Nothing is transposed but P. */
#ifndef RIDGE_ATTENTION_DECODE_CUH
#define RIDGE_ATTENTION_DECODE_CUH

#include "attention/parts.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/mma.cuh"

extern "C" {
#include "attention/decode.h"
}

namespace ridge {

constexpr int DECODE_KEYS = ATTENTION_DECODE_KEYS;

template <typename Type, int Depth, attention_keys_lie Lie>
struct attention_decode_shape : attention_shape<Type, Depth, Depth, 128, 1, true, true, Lie> {
    static constexpr int M = ATTENTION_DECODE_ROWS;
    static constexpr int threads = 32 * ATTENTION_DECODE_WARPS; /* of a block, or half as many */
    static constexpr int chunks = Depth / 32;                   /* of a key: 64 bytes each */
    static constexpr int half_bytes = DECODE_KEYS * Depth * 2;  /* of 16 keys, and of their values */
    static constexpr int stages = 24 * 1024 / (2 * half_bytes); /* of a warp, all under way */
    static constexpr int q_bytes = chunks * 512, ring_bytes = stages * 2 * half_bytes;
    static constexpr int stride = Depth + 4; /* of a row's sums in a warp's place, when its keys are done */
    static_assert(M * (stride * 4 + 8) <= ring_bytes, "sums, and what they are relative to");
};

/* Where line `at` of 16 keys, or of their values, begins: of those that were found last. */
template <class S, bool Paged = S::paged>
struct decode_source {
    int first;
    __device__ void begin(const attention_args &, const attention_place &, int) {}
    __device__ void find(const attention_args &, const attention_place &, int from, int) { first = from; }
    __device__ int64_t line(const attention_args &, const attention_place &place, const attention_strides &s,
                            int at) const {
        return place.batch * s.batch + place.kv_head * s.head + (first + at) * s.row;
    }
};
/* In pages: a lane looks up one of the 16 keys, while others come before, and all ask it. */
template <class S>
struct decode_source<S, true> {
    int page, row, page_ahead, row_ahead;
    __device__ void look_up(const attention_args &a, const attention_place &place, int from) {
        const int key = from + (int)threadIdx.x % DECODE_KEYS;
        page_ahead = key < place.span.keys.end ? a.pages.of(place.batch, key) : 0, row_ahead = key % a.pages.size;
    }
    __device__ void begin(const attention_args &a, const attention_place &place, int from) { look_up(a, place, from); }
    __device__ void find(const attention_args &a, const attention_place &place, int, int next) {
        page = page_ahead, row = row_ahead, look_up(a, place, next);
    }
    __device__ int64_t line(const attention_args &, const attention_place &place, const attention_strides &s,
                            int at) const {
        const int64_t of = __shfl_sync(0xffffffffu, page, at);
        return of * s.batch + place.kv_head * s.head + __shfl_sync(0xffffffffu, row, at) * s.row;
    }
};

/* Where piece `piece` of line `line` is in a stage: the eight lanes that read together find it in other banks, of keys g and g + 1 with
 * four pieces and of values 2 t with two. */
template <class S>
__device__ inline uint32_t decode_piece(int line, int piece) {
    const int other = ((line ^ line >> 2) & 1) << 2 | (line & 2);
    return (uint32_t)(line * S::D * 2 + (piece ^ other) * 16);
}

__device__ inline int decode_warps(void) { return (int)blockDim.x / 32; }

/* A warp. Lane (g, t) = (lane / 4, lane % 4) has rows 2 t and 2 t + 1 of each tile of eight. */
template <class S>
struct decode_warp {
    using T = typename S::T;
    const attention_args &a;
    const attention_place &place;
    const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
    decode_source<S> source;
    const uint32_t q;    /* in shared memory */
    const uint32_t ring; /* stages: 16 keys, then their values */
    const int turn;      /* from 16 keys to the next */
    int first;           /* the first of those that are copied next */
    attention_keys keys; /* that some row sees */
    float sums[S::D / 16][4] = {};
    float most[2] = {-INFINITY, -INFINITY}, all[2] = {0.0f, 0.0f};
    const bool bends;
    const float factor;

    __device__ decode_warp(const attention_args &args, const attention_place &where, uint32_t queries,
                           uint32_t place_of)
        : a(args),
          place(where),
          q(queries),
          ring(place_of),
          turn(DECODE_KEYS * decode_warps() * args.parts),
          keys(attention_keys_among(attention_mask_at<S>(args, where.span), 0,
                                    attention_query<S>(args, attention_rows<S>(args) - 1),
                                    attention_all_keys<S>(args, where.span))),
          bends(!(args.scale > 0.0f) || args.softcap > 0.0f || args.slope),
          factor(bends ? 1.0f : args.scale * LOG2_E) {
        first = keys.begin + (where.part * decode_warps() + (int)threadIdx.x / 32) * DECODE_KEYS;
    }
    /* A block's queries to shared memory: chunk c, of lane (g, t) row g and dimensions 32 c + 8 t and on. */
    __device__ void load_q(uint4 *to) const {
        const int c = (int)threadIdx.x / 32, column = 32 * c + 8 * t;
        if (c >= S::chunks) return;
        const T *const from = (const T *)a.q + attention_query<S>(a, g) * a.q_strides.row +
                              place.batch * a.q_strides.batch + attention_head<S>(a, place, g) * a.q_strides.head;
        to[threadIdx.x] = ld_global_if(from + column, g < attention_rows<S>(a) && column < a.depth);
    }
    __device__ attention_mask mask(void) const { return attention_mask_at<S>(a, place.span); }

    /* Of one of the tensors: lines in turns of whole warps. */
    __device__ void copy_lines(uint32_t to, const void *base, const attention_strides &s, int columns) const {
        constexpr int of_line = S::D / 8, together = 32 / of_line; /* pieces; lines */
        const int lane = (int)threadIdx.x % 32, piece = lane % of_line;
#pragma unroll
        for (int i = 0; i < DECODE_KEYS; i += together) {
            const int line = i + lane / of_line;
            cp_async_16_if(to + decode_piece<S>(line, piece),
                           (const T *)base + source.line(a, place, s, line) + piece * 8,
                           first + line < keys.end && piece * 8 < columns);
        }
    }
    /* Of the next 16 keys and their values, to that stage. */
    __device__ void copy(int stage) {
        const uint32_t to = ring + (uint32_t)(stage * 2 * S::half_bytes);
        source.find(a, place, first, first + turn);
        copy_lines(to, a.k, a.k_strides, a.depth), copy_lines(to + S::half_bytes, a.v, a.v_strides, a.values);
        cp_async_commit_group();
        first += turn;
    }

    /* scores: keys g, g, g + 8, g + 8 by rows 2 t, 2 t + 1, 2 t, 2 t + 1. */
    __device__ void multiply_k(float (&scores)[4], uint32_t stage) const {
#pragma unroll
        for (int c = 0; c < S::chunks; c++) {
            const uint4 low = ld_shared_v4(stage + decode_piece<S>(g, 4 * c + t));
            const uint4 high = ld_shared_v4(stage + decode_piece<S>(g + 8, 4 * c + t));
            const uint4 rows = ld_shared_v4(q + (uint32_t)(c * 512 + (int)threadIdx.x % 32 * 16));
            mma_m16n8k16(T(), scores, {low.x, high.x, low.y, high.y}, rows.x, rows.y);
            mma_m16n8k16(T(), scores, {low.z, high.z, low.w, high.w}, rows.z, rows.w);
        }
    }
    /* What the products of the keys from `from` on are as scores, of those that a row sees. */
    __device__ void shape(float (&scores)[4], int from) const {
        const attention_keys every = attention_all_keys<S>(a, place.span);
        const int last = attention_rows<S>(a) - 1, end = from + DECODE_KEYS;
        const bool seen =
            end <= keys.end && attention_sees_all(mask(), 0, attention_query<S>(a, last), from, end, every);
        if (seen && !bends) return;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int row = unkept(min(2 * t + r, last)), query = attention_query<S>(a, row);
            const attention_keys own = attention_keys_among(mask(), query, query, every);
            const float slope = a.slope ? a.slope[attention_head<S>(a, place, row)] : 0.0f;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float &score = scores[2 * i + r];
                const int key = from + g + 8 * i;
                if (bends) attention_bend(score, a, a.scale, slope, query + mask().shift - key);
                if (key < own.begin || key >= min(own.end, keys.end)) score = -INFINITY;
            }
        }
    }
    /* Scores become P^T, as B; sums are relative to a maximum that may lag, as softmax_rows has it. */
    __device__ void take(float (&scores)[4], unsigned (&p)[2]) {
        float top[2] = {fmaxf(scores[0], scores[2]), fmaxf(scores[1], scores[3])};
        float less[2] = {softmax_rows::shift(most[0], factor), softmax_rows::shift(most[1], factor)};
        const auto behind = [&](int r) { return !((top[r] - most[r]) * factor <= softmax_rows::LAG); };
        if (__any_sync(0xffffffffu, behind(0) || behind(1))) {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const float kept = softmax_rows::follow(most[r], less[r], over_keys(top[r], fmaxf), factor);
                all[r] *= kept;
#pragma unroll
                for (int i = 0; i < S::D / 16; i++) sums[i][r] *= kept, sums[i][r + 2] *= kept;
            }
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            scores[i] = ex2_approx_ftz(scores[i] * factor - less[i % 2]);
            all[i % 2] += scores[i];
        }
#pragma unroll
        for (int i = 0; i < 2; i++) p[i] = movmatrix_trans(cvt_rn_x2(T(), scores[2 * i], scores[2 * i + 1]));
    }
    /* Of the lanes of a row, which have its keys. */
    template <typename F>
    __device__ static float over_keys(float v, const F &f) {
#pragma unroll
        for (int lanes = 4; lanes < 32; lanes *= 2) v = f(v, __shfl_xor_sync(0xffffffffu, v, lanes));
        return v;
    }
    /* sums[4 c + i]: dimensions 64 c + 8 g + 2 i and the next, by rows 2 t and 2 t + 1. */
    __device__ void multiply_v(const unsigned (&p)[2], uint32_t stage) {
#pragma unroll
        for (int c = 0; c < S::chunks / 2; c++) {
            unsigned v[4][4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int key = 2 * t + i % 2 + i / 2 * 8;
                const uint4 piece = ld_shared_v4(stage + S::half_bytes + decode_piece<S>(key, 8 * c + g));
                v[i][0] = piece.x, v[i][1] = piece.y, v[i][2] = piece.z, v[i][3] = piece.w;
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
                mma_m16n8k16(T(), sums[4 * c + i],
                             {__byte_perm(v[0][i], v[1][i], 0x5410), __byte_perm(v[0][i], v[1][i], 0x7632),
                              __byte_perm(v[2][i], v[3][i], 0x5410), __byte_perm(v[2][i], v[3][i], 0x7632)},
                             p[0], p[1]);
        }
    }

    __device__ void begin(void) {
        source.begin(a, place, first);
#pragma unroll 1
        for (int stage = 0; stage < S::stages; stage++) copy(stage);
    }
    __device__ void run(void) {
        int now = first - S::stages * turn;
        for (int stage = 0; now < keys.end; now += turn, stage = stage + 1 < S::stages ? stage + 1 : 0) {
            const uint32_t at = ring + (uint32_t)(stage * 2 * S::half_bytes);
            float scores[4] = {};
            unsigned p[2];
            cp_async_wait_group<S::stages - 1>();
            __syncwarp();
            multiply_k(scores, at);
            shape(scores, now);
            take(scores, p);
            multiply_v(p, at);
            __syncwarp();
            copy(stage);
        }
        cp_async_wait_all();
    }

    /* To shared memory: rows of sums, and of what they are relative to. */
    __device__ void leave(float *to, float2 *ends) const {
#pragma unroll
        for (int r = 0; r < 2; r++) {
            const int row = 2 * t + r;
            const float total = over_keys(all[r], [](float x, float y) { return x + y; });
            if (row >= attention_rows<S>(a)) continue;
            if (g == 0)
                ends[row] = make_float2(total == 0.0f ? -INFINITY : softmax_rows::shift(most[r], factor), total);
#pragma unroll
            for (int i = 0; i < S::D / 16; i += 2)
                *(float4 *)(to + row * S::stride + i / 4 * 64 + 8 * g + i % 4 * 2) =
                    make_float4(sums[i][r], sums[i][r + 2], sums[i + 1][r], sums[i + 1][r + 2]);
        }
    }
};

template <class S>
__global__ void __launch_bounds__(S::threads, 1) attention_decode_kernel(const __grid_constant__ attention_args a) {
    extern __shared__ __align__(16) uint8_t decode_memory[]; /* queries, a ring for each warp, a part's result */
    uint8_t *const rings = decode_memory + S::q_bytes;
    const uint32_t room = shared_address(rings) + (uint32_t)(decode_warps() * S::ring_bytes);
    const int warp = (int)threadIdx.x / 32;
    const auto sums_of = [&](int w) { return (float *)(rings + w * S::ring_bytes); };
    const auto ends_of = [&](int w) { return (float2 *)(sums_of(w) + S::M * S::stride); };
    after_previous_launch();
    const attention_place place = attention_schedule<S>(a).place();
    {
        decode_warp<S> own(a, place, shared_address(decode_memory),
                           shared_address(rings) + (uint32_t)(warp * S::ring_bytes));
        own.begin(), own.load_q((uint4 *)decode_memory);
        __syncthreads();
        own.run();
        __syncwarp();
        own.leave(sums_of(warp), ends_of(warp));
    }
    __syncthreads();
    const bool whole = a.parts == 1;
    for (int row = warp; row < attention_rows<S>(a); row += decode_warps()) {
        const float sink = whole ? attention_sink<S>(a, place, row) : -INFINITY;
        const auto merged_of = [&](int warps) { /* a constant: loads of all of them are under way together */
                                                return merge_parts<S>(
                                                    warps, sink, [&](int w) { return sums_of(w) + row * S::stride; },
                                                    [&](int w) { return ends_of(w)[row]; });
        };
        constexpr int most = ATTENTION_DECODE_WARPS;
        const attention_merged<S> merged = decode_warps() == most ? merged_of(most) : merged_of(most / 2);
        if (whole) {
            store_merged<S>(a, place, row, merged);
        } else {
            const attention_part<S> part(a, place, room, row);
            *(attention_values<merged.count> *)(part.sums + merged.column()) = merged.values;
            if (merged.column() == 0) *part.ends = make_float2(merged.less, merged.all);
        }
    }
#if __CUDA_ARCH__ >= 900 /* where there are clusters */
    if (a.clustered) merge_in_cluster<S>(a, room);
#endif
}

}  // namespace ridge

#endif

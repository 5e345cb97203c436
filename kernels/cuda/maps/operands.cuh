/* What elementwise maps are made of: the description of one, its tensors, vectors of their elements. */
#ifndef RIDGE_KERNELS_CUDA_MAPS_OPERANDS_CUH
#define RIDGE_KERNELS_CUDA_MAPS_OPERANDS_CUH

#include <type_traits>

#include "cuda/host/launch.cuh"
#include "cuda/tile/pack.cuh"

namespace ridge {

/* Small blocks, as many as the work takes: they end at different times, so that loads of some always run beside stores
 * of others. On an H200 a resident grid that loops copies at 3900 GB/s, this one at 4250. */
constexpr int map_threads = 128;
/* Blocks up to which a launch is set up while the one before it still runs, which is latency-bound. */
constexpr unsigned map_few = 1024;

template <typename In, typename Out, int NI, int NO>
struct map_of {
    using in_type = In;
    using out_type = Out;
    static constexpr int inputs = NI, outputs = NO;
    static constexpr int width = 16 / (int)(sizeof(In) > sizeof(Out) ? sizeof(In) : sizeof(Out)); /* of a vector */
    /* Vectors a thread. The fewer, the closer together in memory is what an SM reads and writes at a time; the
     * more, the fewer instructions for addresses. Measured on an H200, of 1, 2, 4 and 8: */
    static constexpr int unroll = NO > 1 ? 1 : NI > 1 || sizeof(In) == 4 ? 2 : 4;
    static constexpr int group = 16 / width; /* vectors that are mapped together: 16 elements at once */
    static constexpr int least_blocks = 8;   /* an SM: at most 64 registers */
    static_assert((width & (width - 1)) == 0 && width >= 4, "boundaries are found by masking");
};

/* The tensors of a call, in elements. */
template <typename F>
struct map_rows {
    const typename F::in_type *in[F::inputs];
    typename F::out_type *out[F::outputs];
    int64_t in_stride[F::inputs], out_stride[F::outputs];
    int64_t rows, cols;
};

/* ---- vectors ---- */

template <typename T, int N>
__device__ inline pack<T, N> load_vector(const T *p) {
    constexpr int bytes = (int)sizeof(T) * N;
    static_assert(bytes == 16 || bytes == 8, "one access");
    if constexpr (bytes == 16) {
        return load_once(p);
    } else {
        union {
            uint2 bits;
            pack<T, N> elements;
        } u = {ld_global_v2(p)};
        return u.elements;
    }
}

template <typename T, int N>
__device__ inline void store_vector(T *p, pack<T, N> value) {
    constexpr int bytes = (int)sizeof(T) * N;
    static_assert(bytes == 16 || bytes == 8, "one access");
    if constexpr (bytes == 16) {
        store_once(p, value);
    } else {
        union {
            pack<T, N> elements;
            uint2 bits;
        } u = {value};
        st_global_cs_v2(p, u.bits);
    }
}

/* Two at a time: one instruction rounds and packs a pair of 16-bit elements. */
template <typename T, int N>
__device__ inline pack<T, N> narrow(const float *x) {
    union {
        pack<T, N> elements;
        __nv_bfloat162 bf16[N / 2];
        __half2 f16[N / 2];
    } u;
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        if constexpr (sizeof(T) == 4) {
            u.elements.v[i] = from_float<T>(x[i]);
            u.elements.v[i + 1] = from_float<T>(x[i + 1]);
        } else if constexpr (std::is_same<T, __half>::value) {
            u.f16[i / 2] = __floats2half2_rn(x[i], x[i + 1]);
        } else {
            u.bf16[i / 2] = __floats2bfloat162_rn(x[i], x[i + 1]);
        }
    }
    return u.elements;
}

/* A bf16 is the upper half of an fp32: taken out of whole words, one instruction each. */
template <typename T, int N>
__device__ inline void widen(const pack<T, N> &value, float *x) {
    union {
        pack<T, N> elements;
        uint32_t words[sizeof(T) * N / 4];
    } u = {value};
#pragma unroll
    for (int i = 0; i < N; i++) {
        if constexpr (std::is_same<T, __nv_bfloat16>::value)
            x[i] = __uint_as_float(i % 2 == 0 ? u.words[i / 2] << 16 : u.words[i / 2] & 0xffff0000u);
        else
            x[i] = to_float(u.elements.v[i]);
    }
}

/* Elements from p to the next vector boundary. */
template <int WIDTH, typename T>
__host__ __device__ inline int to_boundary(const T *p) {
    return -(int)((uintptr_t)p / sizeof(T)) & (WIDTH - 1);
}

/* ---- launching ---- */

template <typename P, typename F>
ridge_status launch_map_blocks(void (*kernel)(P, F), int64_t blocks, cudaStream_t stream, const P &p, const F &f) {
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    if (blocks > map_few) return launch(kernel, {dim3((unsigned)blocks), map_threads}, stream, p, f);
    static per_device<bool> overlaps;
    return launch_overlapping(kernel, {dim3((unsigned)blocks), map_threads}, stream, overlaps.get(device_overlaps), p,
                              f);
}

}  // namespace ridge

#endif

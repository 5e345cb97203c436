/* Elements in storage and in registers: 16 bytes of f32, bf16 or f16 at a time, arithmetic in fp32.
 *
 * A kernel that streams once through memory loads with load_once and stores with store_once. */
#ifndef RIDGE_KERNELS_CUDA_TILE_PACK_CUH
#define RIDGE_KERNELS_CUDA_TILE_PACK_CUH

#include <type_traits>

#include "cuda/ptx/global.cuh"
#include "cuda/ptx/math.cuh"

namespace ridge {

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline float to_float(__half x) { return __half2float(x); }

template <typename T>
__device__ inline T from_float(float x);
template <>
__device__ inline float from_float<float>(float x) {
    return x;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
    return __float2bfloat16_rn(x);
}
template <>
__device__ inline __half from_float<__half>(float x) {
    return __float2half_rn(x);
}

/* N elements, aligned as one access of the machine (at most 16 bytes; 32 are two). */
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) pack {
    T v[N];
};

/* As many elements as 16 bytes hold. */
template <typename T>
constexpr int pack_width = 16 / (int)sizeof(T);

/* Both run at the ceiling of a copy only when L2 evicts in the right order. Lines that are read are kept until all
 * their sectors have been read (evict last; they are never dirty), lines that are written go first: so memory reads and
 * writes in longer bursts. On an H200, rows of 4096 fp32 in blocks of 512 threads: 4260 GB/s, against 4010 with the
 * same policy for both and 4020 with none. */

/* Read once, and written by nobody before the kernel ends. p is 16-byte aligned. */
__device__ inline uint4 load_once_words(const void *p) { return ld_global(p, createpolicy_evict_last()); }
/* Zeros unless present. */
__device__ inline uint4 load_once_if(const void *p, bool present) {
    return ld_global_if(p, createpolicy_evict_last(), present);
}

template <typename T>
__device__ inline pack<T, pack_width<T>> load_once(const T *p) {
    union {
        uint4 words;
        pack<T, pack_width<T>> elements;
    } u = {load_once_words(p)};
    return u.elements;
}

template <typename T>
__device__ inline void store_once(T *p, pack<T, pack_width<T>> value) {
    union {
        pack<T, pack_width<T>> elements;
        uint4 bits;
    } u = {value};
    st_global_hint(p, u.bits, createpolicy_evict_first());
}

/* ---- packs to fp32 ---- */

__device__ inline void unpack_pair(__nv_bfloat16, unsigned word, float *low, float *high) {
    *low = __uint_as_float(word << 16);
    *high = __uint_as_float(word & 0xffff0000u);
}
__device__ inline void unpack_pair(__half, unsigned word, float *low, float *high) {
    const float2 v = __half22float2(__half2(__half2_raw{(unsigned short)word, (unsigned short)(word >> 16)}));
    *low = v.x, *high = v.y;
}

/* A pack as registers hold it: words where it has whole ones. The compiler gives each smaller element a register of its
 * own wherever control flow meets. */
template <typename T, int Width>
using kept_words = std::conditional_t<sizeof(pack<T, Width>) == 16, uint4, pack<T, Width>>;

template <typename T, int Width>
__device__ inline pack<T, Width> elements_of(const pack<T, Width> &p) {
    return p;
}
template <typename T, int Width>
__device__ inline pack<T, Width> elements_of(const uint4 &bits) {
    union {
        uint4 bits;
        pack<T, Width> elements;
    } u = {bits};
    return u.elements;
}

template <typename T, int Width>
__device__ inline kept_words<T, Width> words_of(const pack<T, Width> &p) {
    if constexpr (sizeof p == 16) {
        union {
            pack<T, Width> elements;
            uint4 bits;
        } u = {p};
        return u.bits;
    } else {
        return p;
    }
}

/* The same words, opaque to the compiler: what is computed from them is computed again, not kept from one pass over a
 * row to the next, for which registers do not suffice. */
template <typename Kept>
__device__ inline Kept opaque_copy(Kept kept) {
    if constexpr (sizeof kept == 16) asm volatile("" : "+r"(kept.x), "+r"(kept.y), "+r"(kept.z), "+r"(kept.w));
    return kept;
}

/* To fp32. 16-bit elements in pairs: one by one, each costs an instruction more. */
template <typename T, int Width>
__device__ inline void unpack(const pack<T, Width> &p, float (&v)[Width]) {
    if constexpr (Width == pack_width<T> && sizeof(T) == 2) {
        union {
            pack<T, Width> elements;
            unsigned word[Width / 2];
        } u = {p};
#pragma unroll
        for (int k = 0; k < Width / 2; k++) unpack_pair(T(), u.word[k], &v[2 * k], &v[2 * k + 1]);
    } else {
#pragma unroll
        for (int e = 0; e < Width; e++) v[e] = to_float(p.v[e]);
    }
}

}  // namespace ridge

#endif

/* Elements of w as they are loaded, in packs of 8 or 16 bytes. */
#ifndef RIDGE_KERNELS_CUDA_GEMV_PACK_CUH
#define RIDGE_KERNELS_CUDA_GEMV_PACK_CUH

#include <stdint.h>

#include "cuda/tile/pack.cuh"

namespace ridge {

/* V elements of 8 or 16 bytes as they are loaded; zeros unless present. */
template <typename T, int V>
struct gemv_pack {
    static constexpr int words = V * (int)sizeof(T) / 4;
    static_assert(words == 4 || words == 2);
    unsigned word[words];

    __device__ void load(const T *p, bool present) {
        if constexpr (words == 4) {
            const uint4 v = ld_global_if(p, present);
            word[0] = v.x, word[1] = v.y, word[2] = v.z, word[3] = v.w;
        } else {
            const uint2 v = ld_global_v2_if(p, present);
            word[0] = v.x, word[1] = v.y;
        }
    }
    __device__ void unpack(float (&v)[V]) const {
#pragma unroll
        for (int i = 0; i < words; i++) {
            if constexpr (sizeof(T) == 4)
                v[i] = __uint_as_float(word[i]);
            else
                unpack_pair(T(), word[i], &v[2 * i], &v[2 * i + 1]);
        }
    }
    __device__ void unpack_four(int which, float (&v)[4]) const {
        if constexpr (sizeof(T) == 4) {
#pragma unroll
            for (int i = 0; i < 4; i++) v[i] = __uint_as_float(word[i]);
        } else {
            unpack_pair(T(), word[2 * which], &v[0], &v[1]);
            unpack_pair(T(), word[2 * which + 1], &v[2], &v[3]);
        }
    }
    /* Elements 2 j and 2 j + 1, words of fp32. */
    __device__ void unpack_two(int j, unsigned &a, unsigned &b) const {
        if constexpr (sizeof(T) == 4) {
            a = word[2 * j], b = word[2 * j + 1];
        } else {
            float low, high;
            unpack_pair(T(), word[j], &low, &high);
            a = __float_as_uint(low), b = __float_as_uint(high);
        }
    }
    /* Element by element, those of p[first] … p[last - 1]. Without a branch, so that loads of several packs are under way. */
    __device__ void gather(const T *p, int first, int last) {
        union {
            unsigned word[words];
            T v[V];
        } u;
#pragma unroll
        for (int e = 0; e < V; e++) u.v[e] = e >= first && e < last ? p[e] : from_float<T>(0.0f);
#pragma unroll
        for (int i = 0; i < words; i++) word[i] = u.word[i];
    }
};

/* Elements by which p is beyond a boundary of V elements. */
template <int V, typename T>
__device__ inline int gemv_beyond(const T *p) {
    return (int)((uintptr_t)p / sizeof(T) % V);
}

}  // namespace ridge

#endif

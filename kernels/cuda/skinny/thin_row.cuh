/* Rows of any alignment in aligned pieces of 16 bytes. Rows that lie a multiple of 16 bytes apart, those of a phase,
 * begin alike between boundaries: a warp takes rows of one phase, and what is between the boundary and a row's first
 * element is a part of the row whose factors are zeros. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_ROW_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_ROW_CUH

#include "cuda/tile/pack.cuh"

extern "C" {
#include "cuda/skinny/thin.h"
}

namespace ridge {

/* Elements between a boundary and the rows of a phase. */
template <typename T>
__device__ inline int thin_phase_begin(const thin_phases &p, int phase) {
    return (p.first + phase * p.step) % pack_width<T>;
}

/* Rows that a warp has, or 16 of them: `next` from one to the next. */
struct thin_where {
    int64_t first;
    int next;
    __device__ int64_t row(int i) const { return first + (int64_t)i * next; }
    __device__ thin_where from(int i) const { return {row(i), next}; }
};

/* The memory from the first row's first element to the last one's last. */
struct thin_span {
    const char *lowest, *highest;

    template <typename T>
    __device__ thin_span(const T *x, int64_t line, int64_t rows, int depth)
        : lowest((const char *)x), highest((const char *)(x + (rows - 1) * line + depth)) {}
    __device__ bool has(const char *p) const { return p >= lowest && p + 16 <= highest; }
};

/* Which elements of a piece are a row's: those from `begin` on and before `end`. */
template <typename T>
struct thin_cut {
    int begin, end;

    __device__ bool has_any(void) const { return begin < pack_width<T> && end > 0; }
    /* Zeros for the others. */
    __device__ uint4 of(const uint4 &v) const {
        constexpr int of_word = 4 / (int)sizeof(T);
        const auto word = [&](unsigned w, int j) {
            unsigned kept = 0;
#pragma unroll
            for (int i = 0; i < of_word; i++) {
                const int e = j * of_word + i;
                if (e >= begin && e < end) kept |= of_word == 1 ? ~0u : 0xffffu << 16 * i;
            }
            return w & kept;
        };
        return make_uint4(word(v.x, 0), word(v.y, 1), word(v.z, 2), word(v.w, 3));
    }
    __device__ uint4 one_by_one(const char *p) const {
        constexpr int W = pack_width<T>, bits = 8 * (int)sizeof(T);
        uint64_t low = 0, high = 0;
#pragma unroll 1
        for (int i = W - 1; i >= 0; i--) {
            using word = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;
            const uint64_t e = i >= begin && i < end ? ((const word *)p)[i] : 0;
            high = high << bits | low >> (64 - bits), low = low << bits | e;
        }
        return make_uint4((unsigned)low, (unsigned)(low >> 32), (unsigned)high, (unsigned)(high >> 32));
    }
};

/* Pieces in which rows begin or end, all cut alike: what is outside of a row becomes zero, and what is outside of the
 * span is not read. In two steps, so that other loads can be issued between them. */
template <typename T, int N>
__device__ inline void thin_load_edge(uint4 (&v)[N], const char *const (&p)[N], const thin_cut<T> &cut,
                                      const thin_span &span) {
#pragma unroll
    for (int r = 0; r < N; r++) v[r] = ld_global_if(p[r], cut.has_any() && span.has(p[r]));
}
template <typename T, int N>
__device__ inline void thin_cut_edge(uint4 (&v)[N], const char *const (&p)[N], const thin_cut<T> &cut,
                                     const thin_span &span) {
    bool inside = true;
#pragma unroll
    for (int r = 0; r < N; r++) v[r] = cut.of(v[r]), inside &= span.has(p[r]);
    if (inside || !cut.has_any()) return;
#pragma unroll
    for (int r = 0; r < N; r++)
        if (!span.has(p[r])) v[r] = cut.one_by_one(p[r]);
}

}  // namespace ridge

#endif

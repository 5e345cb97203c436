/* w of skinny/thin.cuh in the order of mma.sync's fragments, by a launch before the product's: a lane's 16 bytes are
 * neighbours along the depth, a step of it is 64 bytes of a row of x. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_PACK_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_PACK_CUH

#include "cuda/host/launch.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/skinny/thin_row.cuh"
#include "cuda/tile/split.cuh"

namespace ridge {

template <typename T>
constexpr int thin_step = THIN_STEP_BYTES / (int)sizeof(T); /* of the depth */

/* w of several heads: element (depth k, class c of head h) is at h head + c line + k step. */
template <typename T>
struct thin_weights {
    const T *base;
    int64_t head, line, step;
    int heads, classes, depth;

    __device__ T at(int column, int k) const {
        const int h = column / classes, c = column - h * classes;
        return base[h * head + c * line + k * step];
    }
};

/* As the product takes it: T, of an element of w. */
template <typename T, typename W>
__device__ inline T thin_operand(W w) {
    if constexpr (std::is_same_v<T, float>)
        return cvt_rna_tf32(to_float(w));
    else
        return w;
}

/* What is put in order of w: as it is, or hi and lo parts one after the other. */
enum thin_part { THIN_WHOLE, THIN_HI, THIN_LO };
template <typename T, typename W>
__device__ inline T thin_element(W w, thin_part part) {
    if constexpr (std::is_same_v<T, float>)
        if (part != THIN_WHOLE) {
            const tf32_parts both = split_tf32(to_float(w));
            return __uint_as_float(part == THIN_HI ? both.hi : both.lo);
        }
    return thin_operand<T>(w);
}

/* to[phase][step][tile of 8 columns][parts][lane]: 16 bytes along the depth of the lane's column. In
 * front of w's elements are as many zeros as there are elements between a boundary and the rows of a phase. W: of w. */
template <typename T, typename W, bool Exact>
__global__ void __launch_bounds__(256)
    thin_pack_kernel(thin_weights<W> w, thin_phases phases, int tiles, int steps, int all, uint4 *to) {
    constexpr int n = pack_width<T>;
    griddepcontrol_launch_dependents();
    const unsigned e = blockIdx.x * 256 + threadIdx.x; /* of 32 bits: divisions of 64 would take longer than the rest */
    if (e >= (unsigned)all) return;
    const int lane = (int)(e % 32);
    const unsigned at_tile = e / 32, at_step = at_tile / (unsigned)tiles, of_phase = at_step / (unsigned)steps;
    const int tile = (int)(at_tile - at_step * (unsigned)tiles), step = (int)(at_step - of_phase * (unsigned)steps);
    const int column = tile * 8 + lane / 4;
    const int k = step * thin_step<T> + lane % 4 * n - thin_phase_begin<T>(phases, (int)of_phase);
    const bool exists = column < w.heads * w.classes;
#pragma unroll
    for (int part = Exact ? THIN_HI : THIN_WHOLE; part <= (Exact ? THIN_LO : THIN_WHOLE); part++) {
        pack<T, n> v;
#pragma unroll
        for (int i = 0; i < n; i++)
            v.v[i] = exists && k + i >= 0 && k + i < w.depth ? thin_element<T>(w.at(column, k + i), (thin_part)part)
                                                             : from_float<T>(0.0f);
        to[Exact ? (size_t)at_tile * 64 + (part == THIN_LO ? 32 : 0) + lane : e] = words_of(v);
    }
}

/* w to room: thin_bytes(…) in memory. The kernel that reads it is next in the stream: until then it may read x alone.
 */
template <typename T, bool Exact, typename W>
ridge_status thin_pack(const thin_weights<W> &w, const thin_phases &phases, int tiles, int steps, void *room,
                       cudaStream_t stream) {
    const int64_t all = (int64_t)phases.count * steps * tiles * 32, blocks = (all + 255) / 256;
    if (all > INT32_MAX - 256) return RIDGE_UNSUPPORTED;
    return launch(thin_pack_kernel<T, W, Exact>, {dim3((unsigned)blocks), 256}, stream, w, phases, tiles, steps,
                  (int)all, (uint4 *)room);
}

}  // namespace ridge

#endif

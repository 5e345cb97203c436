/* fp32 lines across the depth, read so that a thread has whole pieces of 16 bytes along it. */
#ifndef RIDGE_KERNELS_CUDA_TILE_TRANSPOSE_CUH
#define RIDGE_KERNELS_CUDA_TILE_TRANSPOSE_CUH

#include "cuda/ptx/global.cuh"

namespace ridge {

__device__ inline float float4_at(const float4 &v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

/* Four neighbours of each of eight lines of `columns` elements, `lines` of which exist, zeros beyond; the last four are
 * `Gap` lines further on. fours: four neighbours exist or none, at multiples of 16 bytes. This is tested once, so that
 * all loads are in flight together. The whole 128-byte line comes to L2, because other blocks read its rest. */
template <int Gap>
__device__ inline void load_trans(float4 (&v)[8], const float *line, int64_t stride, int lines, int column, int columns,
                                  bool fours) {
    if (fours) {
#pragma unroll
        for (int i = 0; i < 8; i++, line += stride) {
            if (i == 4) line += Gap * stride;
            v[i] = i + (i < 4 ? 0 : Gap) < lines && column < columns ? ld_global_L2_128B(line + column)
                                                                     : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++, line += stride) {
        if (i == 4) line += Gap * stride;
        const int left = i + (i < 4 ? 0 : Gap) < lines ? columns - column : 0;
        v[i].x = left > 0 ? line[column] : 0.0f;
        v[i].y = left > 1 ? line[column + 1] : 0.0f;
        v[i].z = left > 2 ? line[column + 2] : 0.0f;
        v[i].w = left > 3 ? line[column + 3] : 0.0f;
    }
}

}  // namespace ridge

#endif

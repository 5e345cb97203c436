/* A matrix in NVFP4 (quantize/blocks.h) as 16 bits in memory, on a GPU: exact, without the tensor's scale. */
#ifndef RIDGE_KERNELS_QUANTIZE_NVFP4_CUH
#define RIDGE_KERNELS_QUANTIZE_NVFP4_CUH

#include "cuda/maps/plain.cuh"
#include "quantize/blocks.h"
#include "quantize/rule.h"

namespace ridge {

/* Two codes of a byte. A value of e2m1 times a scale of ue4m3 has six significant bits. */
template <typename T>
struct nvfp4_pair {
    static constexpr int block = 16;  /* columns that share a scale */
    matrix<const unsigned char> q, s; /* s: rows of tiles */
    matrix<T> to;
    __device__ void operator()(int64_t i, int64_t pair) const {
        const int64_t k = pair / (block / 2);
        const unsigned code = q.at(i, pair);
        const float scale =
            rule_value_ue4m3(s.at(i / BLOCKS_TILE_ROWS, k / BLOCKS_TILE_COLS * BLOCKS_TILE + blocks_in_tile(i, k)));
        to.at(i, 2 * pair) = from_float<T>(rule_value_e2m1(code & 15) * scale);
        to.at(i, 2 * pair + 1) = from_float<T>(rule_value_e2m1(code >> 4) * scale);
    }
};

/* q: [rows, cols], e2m1, and its scales s, to rows of `to`. */
template <typename T>
ridge_status nvfp4_to_16(const ridge_call *call, const DLTensor *q, const DLTensor *s, int64_t rows, int64_t cols,
                         const matrix_view &to) {
    return launch_plain(call, rows, cols / 2,
                        nvfp4_pair<T>{{(const unsigned char *)ridge_data(q), ridge_row_stride(q) / 2},
                                      {(const unsigned char *)ridge_data(s), ridge_row_stride(s)},
                                      {(T *)to.base, to.line}});
}

}  // namespace ridge

#endif

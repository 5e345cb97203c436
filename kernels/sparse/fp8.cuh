/* Products of e4m3 operands whose A is 2:4 sparse: the tiles of gemm/fp8.cuh with the sparse stages of cuda/gemm/sparse.cuh. */
#ifndef RIDGE_KERNELS_SPARSE_FP8_CUH
#define RIDGE_KERNELS_SPARSE_FP8_CUH

#include "gemm/fp8.cuh"
#include "sparse/operand.cuh"

namespace ridge {

template <class S>
struct sparse_fp8_epilogue : fp8_fast_epilogue<S> {
    sparse_operand kept;
    __device__ sparse_codes codes(const matmul_tile &tile, int group) const {
        const int row = tile.m + fragment_row(group);
        return kept.of_rows(row, row + 8);
    }
};

/* p.a: what A keeps. */
template <matmul_tuning Tuned>
ridge_status sparse_fp8_by(const fp8_product &p, const sparse_operand &kept, cudaStream_t stream) {
    using S = matmul_shape<e4m3, Tuned>;
    sparse_fp8_epilogue<S> e = {};
    e.kept = kept;
    return fp8_by<S>(p, e, stream);
}
inline ridge_status sparse_fp8_by_tiles(const fp8_product &p, const sparse_operand &kept, cudaStream_t stream) {
    return sparse_tiles_are_narrow(p.c.rows, p.c.columns) ? sparse_fp8_by<sparse_tuning(128, 7)>(p, kept, stream)
                                                          : sparse_fp8_by<sparse_tuning(256, 4)>(p, kept, stream);
}

}  // namespace ridge

#endif

/* A 2:4 sparse matrix as kernels take it: its codes for the tiles of cuda/gemm/sparse.cuh, and itself with its zeros. */
#ifndef RIDGE_KERNELS_SPARSE_OPERAND_CUH
#define RIDGE_KERNELS_SPARSE_OPERAND_CUH

#include "cuda/gemm/sparse.cuh"
#include "cuda/host/launch.cuh"
#include "cuda/maps/plain.cuh"

namespace ridge {

/* Blocks in pairs: a slice takes half as long as a dense one, and two blocks share the columns of B that it needs. */
constexpr matmul_tuning sparse_tuning(int columns, int stages, bool eights = false) {
    return {.columns = columns, .stages = stages, .cluster_m = 2, .cluster_n = 1, .eights = eights, .sparse = true};
}

/* Tiles of half the columns where those of all would leave SMs without work. */
inline bool sparse_tiles_are_narrow(int64_t rows, int64_t columns) {
    const int64_t tiles = (rows + 127) / 128 * ((columns + 255) / 256);
    return columns <= 128 || tiles < device_limit(cudaDevAttrMultiProcessorCount) / 2;
}

/* Codes in rows. */
struct sparse_operand {
    const unsigned *codes;
    int64_t line;
    int rows, words;

    explicit sparse_operand(const DLTensor &t)
        : codes((const unsigned *)ridge_data(&t)),
          line(ridge_row_stride(&t)),
          rows((int)t.shape[0]),
          words((int)t.shape[1]) {}
    sparse_operand() = default;
    /* Of a thread's two rows; those behind the matrix have the codes of its last one. */
    __device__ sparse_codes of_rows(int low, int high) const {
        return {codes + min(low, rows - 1) * line, codes + min(high, rows - 1) * line, words};
    }
};

/* Four elements of a row a thread. A row whose codes are not of a pattern is NaN. */
template <typename T>
struct expanded_four {
    matrix<const T> a;
    matrix<const unsigned> codes;
    matrix<T> to;
    __device__ void operator()(int64_t i, int64_t four) const {
        const uint32_t word = codes.at(i, four / 8);
        const unsigned code = pattern_code(word, (int)(four % 8));
        const T none = from_float<T>(pattern_wrong(word) ? __int_as_float(0x7fffffff) : 0.0f);
        for (int e = 0; e < 4; e++) to.at(i, 4 * four + e) = none;
        if (pattern_wrong(word)) return;
        to.at(i, 4 * four + pattern_first(code)) = a.at(i, 2 * four);
        to.at(i, 4 * four + pattern_second(code)) = a.at(i, 2 * four + 1);
    }
};
/* The matrix of `rows` x k with its zeros. */
template <typename T>
ridge_status sparse_expand(const ridge_call *call, const DLTensor &a, const DLTensor &codes, const matrix<T> &to,
                           int64_t rows, int64_t k) {
    return launch_plain(call, rows, k / 4, expanded_four<T>{matrix_in<T>(&a), matrix_in<unsigned>(&codes), to});
}

}  // namespace ridge

#endif

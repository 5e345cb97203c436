/* From operands in NVFP4 to launches of tensor_matmul_kernel and of a kernel of one tile a block. Host code. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_NVFP4_RUN_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_NVFP4_RUN_CUH

#include "cuda/gemm/tensor_matmul_run.cuh"
#include "cuda/gemm/tensor_nvfp4_tile.cuh"

namespace ridge {

/* Not tuned: nobody here has such a GPU. Two sums of 256 columns leave no tensor memory to the scales. As many stages as shared
 * memory has room for beside 32 KiB of the epilogue. */
constexpr tensor_tuning NVFP4_BLOCKS = {.columns = 192, .stages = 4, .pair = false};
constexpr tensor_tuning NVFP4_PAIRS = {.columns = 192, .stages = 5, .pair = true};

/* rows x k codes, two a byte, and their scales in rows of tiles; lines and rows of tiles so many bytes apart. */
struct nvfp4_matrix {
    const void *codes, *scales;
    int64_t rows, k, line, line_of_tiles;
    const float *tensor; /* the tensor's scale, in device memory */
};

/* Boxes of a slice of `rows` rows of tiles, eight bytes an element: a box has no more than 256. */
inline bool make_scales_map(CUtensorMap *map, const nvfp4_matrix &m, int rows) {
    const int64_t tiles = (m.k + tensor_nvfp4::step - 1) / tensor_nvfp4::step;
    const int64_t rows_of_tiles = (m.rows + tensor_nvfp4::tile_rows - 1) / tensor_nvfp4::tile_rows;
    return encode_map<2>(map, {CU_TENSOR_MAP_DATA_TYPE_UINT64,
                               m.scales,
                               {(cuuint64_t)(tiles * (tensor_nvfp4::tile / 8)), (cuuint64_t)rows_of_tiles},
                               {(cuuint64_t)m.line_of_tiles},
                               {tensor_nvfp4::row_of_tiles / 8, (cuuint32_t)rows},
                               0});
}
template <class S>
bool make_nvfp4_maps(tensor_nvfp4 *to, const nvfp4_matrix &a, const nvfp4_matrix &b) {
    const auto codes = [](const nvfp4_matrix &m) { return matrix_lines{m.codes, m.k / 2, m.rows, m.line}; };
    return make_map<uint8_t>(&to->a, codes(a), S::rows) && make_map<uint8_t>(&to->b, codes(b), S::columns) &&
           make_scales_map(&to->a_scales, a, 1) && make_scales_map(&to->b_scales, b, S::part::b_tiles);
}

/* C = the sums times both tensors' scales. */
template <typename T>
struct tensor_scaled_epilogue {
    CUtensorMap map;
    const float *a, *b;
    static constexpr int scratch = tensor_store_bytes;
    template <class S, class Read>
    __device__ void finish(int m, int n, uint32_t sums, int which, uint32_t at, const Read &read) const {
        const float scale = *a * *b;
        const auto put = [&](float(&v)[64], int column) {
#pragma unroll
            for (int i = 0; i < 64; i++) v[i] *= scale;
            tensor_store<T>(&map, m, n + column, v, at, tensor_store_turn<S::N>(which, column));
        };
        tensor_each<S::N>(sums, put, read);
    }
    __device__ void end(void) const { cp_async_bulk_wait_group(); }
};

/* C = A B^T for row-major C. */
template <tensor_tuning Tuned, typename T>
ridge_status tensor_nvfp4_rows(const nvfp4_matrix &a, const nvfp4_matrix &b, const matrix_view &c, T,
                               cudaStream_t stream) {
    using S = tensor_shape<tensor_nvfp4, Tuned>;
    tensor_scaled_epilogue<T> e = {};
    e.a = a.tensor, e.b = b.tensor;
    if (!make_map<T>(&e.map, lines_of(c), 32)) return RIDGE_FAILED;
    const auto maps = [&](tensor_nvfp4 *to) { return make_nvfp4_maps<S>(to, a, b); };
    return tensor_matmul_launch<S>(a.rows, b.rows, a.k, maps, e, stream);
}
/* The same, a tile a block. */
template <typename T>
ridge_status tensor_nvfp4_tile_rows(const nvfp4_matrix &a, const nvfp4_matrix &b, const matrix_view &c, T,
                                    cudaStream_t stream) {
    using S = nvfp4_tile;
    if (device_capability() != 100 || a.k < 1) return RIDGE_UNSUPPORTED;
    if (c.rows > INT32_MAX - S::M || c.columns > 65535 * S::N || a.k > INT32_MAX - S::K) return RIDGE_UNSUPPORTED;
    tensor_nvfp4 operands;
    if (!make_nvfp4_maps<S>(&operands, a, b)) return RIDGE_FAILED;
    const launch_shape shape = {dim3((unsigned)((c.rows + S::M - 1) / S::M), (unsigned)((c.columns + S::N - 1) / S::N)),
                                S::threads, S::stage_bytes};
    return launch(nvfp4_tile_kernel<T>, shape, stream, operands, (T *)c.base, c.line, (int)c.rows, (int)c.columns,
                  (int)((a.k + S::K - 1) / S::K), a.tensor, b.tensor);
}

}  // namespace ridge

#endif

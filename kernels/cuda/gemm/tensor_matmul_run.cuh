/* From operands in memory to a launch of tensor_matmul_kernel: tensor maps, grid, cluster. Host code. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_MATMUL_RUN_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_MATMUL_RUN_CUH

#include "cuda/epilogue/tensor_store.cuh"
#include "cuda/gemm/call.cuh"
#include "cuda/gemm/tensor_operands.cuh"
#include "cuda/host/tensor_map.cuh"

namespace ridge {

/* Not tuned: nobody here has such a GPU. As many stages as shared memory has room for beside 32 KiB of the epilogue. */
constexpr tensor_tuning TENSOR_BLOCKS = {.columns = 256, .stages = 4, .pair = false};
constexpr tensor_tuning TENSOR_PAIRS = {.columns = 256, .stages = 6, .pair = true};
constexpr int TENSOR_BAND = 8;

/* C = the sums. */
template <typename T>
struct tensor_store_epilogue {
    CUtensorMap map;
    static constexpr int scratch = tensor_store_bytes;
    template <class S, class Read>
    __device__ void finish(int m, int n, uint32_t sums, int which, uint32_t at, const Read &read) const {
        const auto put = [&](const float(&v)[64], int column) {
            tensor_store<T>(&map, m, n + column, v, at, tensor_store_turn<S::N>(which, column));
        };
        tensor_each<S::N>(sums, put, read);
    }
    __device__ void end(void) const { cp_async_bulk_wait_group(); }
};

/* C = A B for m, n and k of them; a block or a pair of them for each tile, of which those that run take the others'. maps(operands)
 * describes them to TMA. */
template <class S, class Epilogue, class Maps>
ridge_status tensor_matmul_launch(int64_t m, int64_t n, int64_t k, const Maps &maps, const Epilogue &epilogue,
                                  cudaStream_t stream) {
    const int64_t most = INT32_MAX - 256;
    if (device_capability() != 100 || k < 1) return RIDGE_UNSUPPORTED;
    if (m > most || n > most || k > most) return RIDGE_UNSUPPORTED;
    const tensor_plan plan = {(int)((m + S::M - 1) / S::M), (int)((n + S::N - 1) / S::N), (int)((k + S::K - 1) / S::K),
                              TENSOR_BAND};
    const int64_t tiles = (int64_t)plan.m_tiles * plan.n_tiles;
    if (tiles > INT32_MAX / 2) return RIDGE_UNSUPPORTED;
    typename S::Operands operands;
    if (!maps(&operands)) return RIDGE_FAILED;
    constexpr auto kernel = tensor_matmul_kernel<S, Epilogue>;
    constexpr int bytes = tensor_matmul_bytes<S, Epilogue>;
    const launch_shape shape = {dim3((unsigned)(tiles * S::blocks)), S::threads, bytes, S::blocks};
    return launch(kernel, shape, stream, operands, plan, epilogue);
}

/* The same in 16 bits, A: [m, k] and B: [k, n]. */
template <class S, class Epilogue>
ridge_status tensor_matmul_run(const matrix_view &a, const matrix_view &b, const Epilogue &epilogue,
                               cudaStream_t stream) {
    using O = typename S::Operands;
    const auto maps = [&](O *to) {
        return make_map<typename O::T>(&to->a, lines_of(a), O::KA ? S::rows : O::K) &&
               make_map<typename O::T>(&to->b, lines_of(b), O::KB ? S::columns : O::K);
    };
    return tensor_matmul_launch<S>(a.rows, b.columns, a.columns, maps, epilogue, stream);
}

/* Row-major C, A and B. */
template <tensor_tuning Tuned, typename T>
ridge_status tensor_matmul_rows(const matmul_call &m, T) {
    tensor_store_epilogue<T> e;
    if (!make_map<T>(&e.map, lines_of(m.c), 32)) return RIDGE_FAILED;
    return tensor_matmul_run<tensor_shape<tensor_operands<T, true, false>, Tuned>>(m.a, m.b, e, m.stream);
}

}  // namespace ridge

#endif

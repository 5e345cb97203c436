/* From operands in memory to a launch of tensor_matmul_kernel: tensor maps, grid, cluster. Host code. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_TENSOR_MATMUL_RUN_CUH
#define RIDGE_KERNELS_CUDA_GEMM_TENSOR_MATMUL_RUN_CUH

#include "cuda/epilogue/tensor_store.cuh"
#include "cuda/gemm/call.cuh"
#include "cuda/gemm/tensor_matmul.cuh"
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
    __device__ void finish(int m, int n, uint32_t sums, uint32_t at, const Read &read) const {
        const auto put = [&](const float(&v)[64], int column) {
            tensor_store<T>(&map, m, n + column, v, at, column / 64 % 2);
        };
        tensor_each<S::N>(sums, put, read);
    }
    __device__ void end(void) const { cp_async_bulk_wait_group(); }
};

/* C = A B for A: [m, k] and B: [k, n]; a block or a pair of them for each tile, of which those that run take the others'. */
template <class S, class Epilogue>
ridge_status tensor_matmul_run(const matrix_view &a, const matrix_view &b, const Epilogue &epilogue,
                               cudaStream_t stream) {
    using T = typename S::T;
    const int64_t most = INT32_MAX - 256;
    if (device_capability() != 100 || a.columns < 1) return RIDGE_UNSUPPORTED;
    if (a.rows > most || b.columns > most || a.columns > most) return RIDGE_UNSUPPORTED;
    const tensor_plan plan = {(int)((a.rows + S::M - 1) / S::M), (int)((b.columns + S::N - 1) / S::N),
                              (int)((a.columns + S::K - 1) / S::K), TENSOR_BAND};
    const int64_t tiles = (int64_t)plan.m_tiles * plan.n_tiles;
    if (tiles > INT32_MAX / 2) return RIDGE_UNSUPPORTED;
    CUtensorMap a_map, b_map;
    if (!make_map<T>(&a_map, lines_of(a), S::KA ? S::rows : S::K) ||
        !make_map<T>(&b_map, lines_of(b), S::KB ? S::columns : S::K))
        return RIDGE_FAILED;
    constexpr auto kernel = tensor_matmul_kernel<S, Epilogue>;
    constexpr int bytes = tensor_matmul_bytes<S, Epilogue>;
    static allowed_per_device allowed;
    RIDGE_TRY(
        cuda_status(allowed.get([&] { return allow_shared((const void *)kernel, bytes); }), "cudaFuncSetAttribute"));
    const launch_shape shape = {dim3((unsigned)(tiles * S::blocks)), S::threads, bytes, S::blocks};
    return launch(kernel, shape, stream, a_map, b_map, plan, epilogue);
}

/* Row-major C, A and B. */
template <tensor_tuning Tuned, typename T>
ridge_status tensor_matmul_rows(const matmul_call &m, T) {
    tensor_store_epilogue<T> e;
    if (!make_map<T>(&e.map, lines_of(m.c), 32)) return RIDGE_FAILED;
    return tensor_matmul_run<tensor_shape<T, Tuned, true, false>>(m.a, m.b, e, m.stream);
}

}  // namespace ridge

#endif

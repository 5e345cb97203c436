/* Products on Hopper's tensor cores of operands of 16 bits, in any order, and of split fp32 operands: the tiles that
 * shapes get. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_PRODUCTS_CUH
#define RIDGE_KERNELS_CUDA_GEMM_PRODUCTS_CUH

#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/matmul_run.cuh"

namespace ridge {

/* Tuned on an H200: what fits shared memory with the epilogues' scratch. */
constexpr matmul_tuning WIDE_TUNED = {.columns = 256, .stages = 4, .cluster_m = 2, .cluster_n = 1};
template <typename T, bool KA, bool KB>
using wide_tile = matmul_shape<T, WIDE_TUNED, KA, KB>;
/* Of operands that gemm/split.cuh has split: a stage is 64 KiB. */
constexpr matmul_tuning SPLIT_TUNED = {
    .columns = 128, .stages = 3, .cluster_m = 2, .cluster_n = 1, .promote = 2, .split = true};
using split_tile = matmul_shape<__half, SPLIT_TUNED>;

/* C = A B^T for A: [m, k], B: [n, k]. shares: see matmul_run. */
template <typename T, class Epilogue>
ridge_status product(const matrix_view &a, const matrix_view &b, const matmul_plan &plan, const Epilogue &e,
                     cudaStream_t stream, int shares = 1) {
    const matrix_lines al = lines_of(a), bl = lines_of(b);
    if (plan.progress) RIDGE_TRY(clear_memory(plan.progress, sizeof *plan.progress, stream));
    if (a.by_rows() && b.by_rows())
        return matmul_run<wide_tile<T, true, true>>(al, bl, a.rows, b.rows, plan, e, stream, shares);
    if (a.by_rows()) return matmul_run<wide_tile<T, true, false>>(al, bl, a.rows, b.rows, plan, e, stream, shares);
    if (b.by_rows()) return matmul_run<wide_tile<T, false, true>>(al, bl, a.rows, b.rows, plan, e, stream, shares);
    return matmul_run<wide_tile<T, false, false>>(al, bl, a.rows, b.rows, plan, e, stream, shares);
}

/* C (+)= A B^T, C by rows; a C that lies by columns is made as its transpose. */
template <typename T>
ridge_status product_to(const matrix_view &a, const matrix_view &b, const matrix_view &c, bool add, matmul_plan plan,
                        cudaStream_t stream) {
    if (!c.by_rows()) {
        const bool keep = plan.keep_a;
        plan.keep_a = plan.keep_b, plan.keep_b = keep;
        return product_to<T>(b, a, transposed(c), add, plan, stream);
    }
    const matrix_lines lines = lines_of(c);
    if (add) {
        store_epilogue<T, 256, true> e;
        return make_map<T>(&e.map, lines, 64) ? product<T>(a, b, plan, e, stream) : RIDGE_FAILED;
    }
    store_epilogue<T, 256, false> e;
    return make_map<T>(&e.map, lines, 64) ? product<T>(a, b, plan, e, stream) : RIDGE_FAILED;
}

}  // namespace ridge

#endif

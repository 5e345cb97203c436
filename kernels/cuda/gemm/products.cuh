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
/* Few columns: what is to be done is to read A. Not tuned: as many stages as fit, and no cluster, since B stays in L2.
 */
constexpr matmul_tuning NARROW_TUNED = {.columns = 64, .stages = 8, .cluster_m = 1, .cluster_n = 1};
/* Of operands that gemm/split.cuh has split: a stage is 64 KiB. */
constexpr matmul_tuning SPLIT_TUNED = {
    .columns = 128, .stages = 3, .cluster_m = 2, .cluster_n = 1, .promote = 2, .split = true};
using split_tile = matmul_shape<__half, SPLIT_TUNED>;
/* Their hi parts alone are operands of 16 bits. */
using half_tile = wide_tile<__half, true, true>;
/* Of up to 64 columns: memory is what it takes, so stages are many and small. */
constexpr matmul_tuning NARROW_PAIR_TUNED = {.columns = 64, .stages = 8, .cluster_m = 2, .cluster_n = 1};
template <typename T>
using narrow_tile = matmul_shape<T, NARROW_PAIR_TUNED>;

/* C = A B^T for A: [m, k], B: [n, k], in tiles of this tuning. shares: see matmul_run. */
template <typename T, matmul_tuning Tuned, class Epilogue>
ridge_status product_in(const matrix_view &a, const matrix_view &b, const matmul_plan &plan, const Epilogue &e,
                        cudaStream_t stream, int shares = 1) {
    const matrix_lines al = lines_of(a), bl = lines_of(b);
    if (plan.progress) RIDGE_TRY(clear_memory(plan.progress, sizeof *plan.progress, stream));
    const auto run = [&]<bool KA, bool KB>() {
        return matmul_run<matmul_shape<T, Tuned, KA, KB>>(al, bl, a.rows, b.rows, plan, e, stream, shares);
    };
    if (a.by_rows())
        return b.by_rows() ? run.template operator()<true, true>() : run.template operator()<true, false>();
    return b.by_rows() ? run.template operator()<false, true>() : run.template operator()<false, false>();
}
template <typename T, class Epilogue>
ridge_status product(const matrix_view &a, const matrix_view &b, const matmul_plan &plan, const Epilogue &e,
                     cudaStream_t stream, int shares = 1) {
    return product_in<T, WIDE_TUNED>(a, b, plan, e, stream, shares);
}

/* C (+)= A B^T, C row-major, by epilogues that set or add; a column-major C is made as its transpose. */
template <typename T, class Sets, class Adds>
ridge_status product_by(const matrix_view &a, const matrix_view &b, const matrix_view &c, bool add, matmul_plan plan,
                        cudaStream_t stream, Sets sets, Adds adds) {
    if (!c.by_rows()) {
        const bool keep = plan.keep_a;
        plan.keep_a = plan.keep_b, plan.keep_b = keep;
        return product_by<T>(b, a, transposed(c), add, plan, stream, sets, adds);
    }
    const matrix_lines lines = lines_of(c);
    if (add) return make_map<T>(&adds.map, lines, 64) ? product<T>(a, b, plan, adds, stream) : RIDGE_FAILED;
    return make_map<T>(&sets.map, lines, 64) ? product<T>(a, b, plan, sets, stream) : RIDGE_FAILED;
}
template <typename T>
ridge_status product_to(const matrix_view &a, const matrix_view &b, const matrix_view &c, bool add,
                        const matmul_plan &plan, cudaStream_t stream) {
    return product_by<T>(a, b, c, add, plan, stream, store_epilogue<T, 256, false>(), store_epilogue<T, 256, true>());
}

}  // namespace ridge

#endif

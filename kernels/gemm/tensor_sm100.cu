/* Products in 16 bits by tcgen05: the pipeline of cuda/gemm/tensor_matmul.cuh in the tiles of GEMM_TENSOR_TILES. The sums leave by
 * TMA, or as fp32 by each row's thread. */
#include "cuda/gemm/tensor_matmul_run.cuh"
#include "gemm/call.cuh"

extern "C" {
#include "gemm/tiles.h"
}

namespace ridge {

/* C = what terms make of alpha times the sums. */
template <typename T>
struct gemm_tensor_epilogue {
    CUtensorMap map;
    float *wide; /* NULL: by the map */
    int64_t line;
    int rows, columns;
    float alpha;
    gemm_terms<T> terms;
    static constexpr int scratch = tensor_store_bytes;

    /* Columns `column` to `column` + 63 of a row. */
    __device__ void add(float (&v)[64], int row, int column) const {
        const float of_row = terms.row_bias && row < rows ? to_float(terms.row_bias[row]) : 0.0f;
#pragma unroll
        for (int i = 0; i < 64; i++) {
            if (row >= rows || column + i >= columns) continue;
            v[i] += of_row;
            if (terms.bias) v[i] += to_float(terms.bias[column + i]);
            if (!terms.addend) continue;
            const int64_t at = row * terms.line + (column + i) * terms.step;
            v[i] = fmaf(terms.beta,
                        terms.wide ? ((const float *)terms.addend)[at] : to_float(((const T *)terms.addend)[at]), v[i]);
        }
        gemm_activate(v, terms.function);
    }
    __device__ void put_wide(const float (&v)[64], int row, int column) const {
        if (row >= rows) return;
        float *const to = wide + row * line + column;
#pragma unroll
        for (int i = 0; i < 64; i++)
            if (column + i < columns) to[i] = v[i];
    }
    template <class S, class Read>
    __device__ void finish(int m, int n, uint32_t sums, int which, uint32_t at, const Read &read) const {
        const int row = m + (int)threadIdx.x % 32;
        const auto put = [&](float(&v)[64], int column) {
#pragma unroll
            for (int i = 0; i < 64; i++) v[i] *= alpha;
            if (terms.any()) add(v, row, n + column);
            if (wide)
                put_wide(v, row, n + column);
            else
                tensor_store<T>(&map, m, n + column, v, at, tensor_store_turn<S::N>(which, column));
        };
        tensor_each<S::N>(sums, put, read);
    }
    __device__ void end(void) const { cp_async_bulk_wait_group(); }
};

template <tensor_tuning Tuned, typename T>
static ridge_status gemm_in_tensor_tile_of(const gemm_call &g) {
    gemm_tensor_epilogue<T> e = {};
    e.wide = g.wide ? (float *)g.c.base : NULL, e.line = g.c.line;
    e.rows = (int)g.c.rows, e.columns = (int)g.c.columns, e.alpha = g.alpha, e.terms = g.terms<T>();
    if (!g.wide && !make_map<T>(&e.map, lines_of(g.c), 32)) return RIDGE_FAILED;
    const auto run = [&]<bool KA, bool KB>() {
        return tensor_matmul_run<tensor_shape<tensor_operands<T, KA, KB>, Tuned>>(g.a, g.b, e, g.stream);
    };
    if (g.a.by_rows())
        return g.b.by_rows() ? run.template operator()<true, false>() : run.template operator()<true, true>();
    return g.b.by_rows() ? run.template operator()<false, false>() : run.template operator()<false, true>();
}
template <tensor_tuning Tuned>
static ridge_status gemm_in_tensor_tile(const ridge_call *call) {
    const gemm_call g(call);
    if (g.c.rows == 0) return RIDGE_OK;
    if (g.dtype == RIDGE_BF16) return gemm_in_tensor_tile_of<Tuned, __nv_bfloat16>(g);
    return g.dtype == RIDGE_F16 ? gemm_in_tensor_tile_of<Tuned, __half>(g) : RIDGE_UNSUPPORTED;
}

}  // namespace ridge

#define RUN(name, columns_, stages_, cluster_m, ...)                                                               \
    extern "C" ridge_status gemm_cuda_##name(const ridge_call *call) {                                             \
        constexpr ridge::tensor_tuning tuned = {.columns = columns_, .stages = stages_, .pair = (cluster_m) == 2}; \
        return ridge::gemm_in_tensor_tile<tuned>(call);                                                            \
    }
GEMM_TENSOR_TILES(RUN)

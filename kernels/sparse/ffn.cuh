/* The products of a SwiGLU feed-forward layer whose weights are 2:4 sparse, by the pipeline of cuda/gemm/matmul.cuh. Weights are on
 * the left, where wgmma takes a sparse matrix; transposed slots (epilogue/store_transposed.cuh) leave hidden values and y in rows
 * of x, as the next product wants them.
 *
 * A tile's rows of the first product are eight of g and eight of u in turn, so that a thread has gate and up value of each of its
 * hidden values. */
#ifndef RIDGE_KERNELS_SPARSE_FFN_CUH
#define RIDGE_KERNELS_SPARSE_FFN_CUH

#include "cuda/epilogue/activation.cuh"
#include "cuda/epilogue/store_transposed.cuh"
#include "cuda/gemm/matmul_run.cuh"
#include "sparse/operand.cuh"

namespace ridge {

/* Rows: of the result for each 64 of weights. */
template <typename T, int N, int Rows>
struct sparse_to_rows {
    using slots = transposed_slots<T, N, Rows>;
    CUtensorMap map;
    sparse_operand weights;
    static constexpr int scratch = slots::bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t at) const { slots{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void end(void) const {}
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t at) const {
        store_tiles_of<S, slots>(&map, plan, rank, at);
    }
};

/* y = hidden w2^T. */
template <typename T, int N>
struct sparse_down : sparse_to_rows<T, N, 64> {
    using base = sparse_to_rows<T, N, 64>;
    static constexpr bool eights = false;
    __device__ sparse_codes codes(const matmul_tile &tile, int group) const {
        const int row = tile.m + fragment_row(group);
        return this->weights.of_rows(row, row + 8);
    }
    __device__ void finish(const matmul_tile &tile, const typename base::state &, const float (&sums)[N / 2],
                           uint32_t at, int) const {
        typename base::slots{at}.put(sums, tile.number);
    }
};

/* Hidden values of gates and ups, of which a thread's first row has the one, its second the other. */
template <typename T, int N>
struct sparse_hidden : sparse_to_rows<T, N, 32> {
    using base = sparse_to_rows<T, N, 32>;
    static constexpr bool eights = true;
    int f;
    __device__ sparse_codes codes(const matmul_tile &tile, int group) const {
        const int warp = thread_of_warpgroup() / 32,
                  row = tile.m / 2 + group * 32 + warp * 8 + (int)threadIdx.x % 32 / 4;
        return this->weights.of_rows(min(row, f - 1), f + row);
    }
    __device__ void finish(const matmul_tile &tile, const typename base::state &, const float (&sums)[N / 2],
                           uint32_t at, int) const {
        float hidden[N / 4];
#pragma unroll
        for (int j = 0; j < N / 4; j++) {
            const int gate = j / 2 * 4 + j % 2;
            hidden[j] = silu(sums[gate]) * sums[gate + 2];
        }
        typename base::slots{at}.put(hidden, tile.number);
    }
};

/* The operands of such a product for TMA; the epilogue gets the result's. */
struct sparse_maps {
    CUtensorMap a, b;
};
template <typename T, class S, class Epilogue>
bool sparse_maps_of(sparse_maps *maps, Epilogue *e, const matrix_view &weights, const matrix_view &from,
                    const matrix_view &to) {
    using slots = typename Epilogue::slots;
    const matrix_lines a = lines_of(weights), half = {a.base, a.along, a.lines / 2, a.stride};
    const bool made = S::eights ? make_map_of_eights<T>(&maps->a, half, half.lines * a.stride, S::M / 16, S::a_line)
                                : make_map<T>(&maps->a, a, S::a_box, map_type<T>, S::a_line);
    return made && make_map<T>(&maps->b, lines_of(from), S::b_box) &&
           make_map<T>(&e->map, lines_of(to), slots::lines, map_type<T>, slots::line_bytes);
}

/* to = what the epilogue makes of weights (2:4 sparse, `rows` x 2 weights.columns) times from^T, in rows of `from`. */
template <typename T, class Epilogue, int Columns, int Stages>
ridge_status sparse_product_in(Epilogue e, const matrix_view &weights, const matrix_view &from, const matrix_view &to,
                               cudaStream_t stream) {
    using S = matmul_shape<T, sparse_tuning(Columns, Stages, Epilogue::eights)>;
    sparse_maps maps;
    if (!sparse_maps_of<T, S>(&maps, &e, weights, from, to)) return RIDGE_FAILED;
    const matmul_plan plan = matmul_whole(from.columns, S::K, 8, true, true);
    return matmul_run_maps<S>(maps.a, maps.b, weights.rows, from.rows, plan, e, stream, 1);
}
template <typename T, template <typename, int> class Epilogue, typename Fill>
ridge_status sparse_product(const matrix_view &weights, const matrix_view &from, const matrix_view &to,
                            cudaStream_t stream, const Fill &fill) {
    const auto run = [&]<int Columns, int Stages>() {
        Epilogue<T, Columns> e = {};
        fill(e);
        return sparse_product_in<T, Epilogue<T, Columns>, Columns, Stages>(e, weights, from, to, stream);
    };
    return sparse_tiles_are_narrow(weights.rows, from.rows) ? run.template operator()<128, 7>()
                                                            : run.template operator()<256, 4>();
}

}  // namespace ridge

#endif

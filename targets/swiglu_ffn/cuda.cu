/* y = (silu(x g^T) (x u^T)) w2^T on a GPU: see README.md.
 *
 * The pipeline of cuda/gemm/matmul.cuh with tiles whose columns are 128 of g and the same 128 of u: a thread has the gate and
 * the up value of each of its hidden values, 64 sums apart, so only hidden values leave the SM. */
#include "cuda/epilogue/activation.cuh"
#include "cuda/epilogue/store.cuh"
#include "cuda/gemm/products.cuh"
#include "gemm/ffn.cuh"

extern "C" {
#include "swiglu_ffn.h"
}

namespace {

using namespace ridge;

constexpr matmul_tuning PAIRED = {.columns = 256, .stages = 4, .cluster_m = 1, .cluster_n = 1, .paired = true};

template <typename T>
struct swiglu_epilogue {
    using slots = store_slots<T, 128>;
    CUtensorMap map;
    static constexpr int scratch = slots::bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t at) const { slots{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void finish(const matmul_tile &tile, const state &, const float (&sums)[128], uint32_t at, int) const {
        float hidden[64];
#pragma unroll
        for (int i = 0; i < 64; i++) hidden[i] = silu(sums[i]) * sums[64 + i];
        slots{at}.put(hidden, tile.number);
    }
    __device__ void end(void) const {}
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t at) const {
        store_tiles<S, T>(&map, plan, rank, at);
    }
};

/* The operands: w1's halves, and hidden values in scratch. */
struct ffn_call {
    const ridge_call *call;
    int64_t f;
    matrix_view x, w1, w2, y, hidden, both; /* both: gate and up values side by side, in the place of hidden ones */
    cudaStream_t stream;

    explicit ffn_call(const ridge_call *of)
        : call(of),
          f(of->dim[FFN_F]),
          x(view_of(of->in[FFN_X])),
          w1(view_of(of->in[FFN_W1])),
          w2(view_of(of->in[FFN_W2])),
          y(view_of(of->out[0])),
          stream(stream_of(of)) {
        hidden = {of->scratch, x.rows, f, ffn_line(f), 1};
        both = {of->scratch, x.rows, 2 * f, ffn_line(2 * f), 1};
    }
    ridge_status down(const matrix_view &of) const { return ffn_product(call, of, w2, y); }
};

template <typename T>
struct gated_in_place {
    matrix<T> both;
    int64_t f;
    __device__ void operator()(int64_t i, int64_t j) const {
        T &gate = both.at(i, j);
        gate = from_float<T>(silu(to_float(gate)) * to_float(both.at(i, f + j)));
    }
};

template <typename T>
ridge_status hidden_by_tiles(const ffn_call &c) {
    using S = matmul_shape<T, PAIRED>;
    swiglu_epilogue<T> e = {};
    if (!make_map<T>(&e.map, lines_of(c.hidden), 64)) return RIDGE_FAILED;
    matmul_plan plan = matmul_whole(c.x.columns, S::K, 8, true, true);
    plan.pair = (int)c.f;
    return matmul_run<S>(lines_of(c.x), lines_of(c.w1), c.x.rows, c.f, plan, e, c.stream);
}

}  // namespace

extern "C" ridge_status swiglu_ffn_cuda_tiles(const ridge_call *call) {
    const ffn_call c(call);
    if (c.x.rows == 0) return RIDGE_OK;
    RIDGE_TRY(call->dtype == RIDGE_BF16  ? hidden_by_tiles<__nv_bfloat16>(c)
              : call->dtype == RIDGE_F16 ? hidden_by_tiles<__half>(c)
                                         : RIDGE_UNSUPPORTED);
    return c.down(c.hidden);
}

/* Hidden values take the place of gate values. */
extern "C" ridge_status swiglu_ffn_cuda_unfused(const ridge_call *call) {
    const ffn_call c(call);
    if (c.x.rows == 0) return RIDGE_OK;
    const matrix_view hidden = {c.both.base, c.both.rows, c.f, c.both.line, 1};
    RIDGE_TRY(ffn_product(call, c.x, c.w1, c.both));
    RIDGE_TRY(with_storage(call->dtype, [&]<typename T>() {
        return launch_plain(call, c.x.rows, c.f, gated_in_place<T>{{(T *)c.both.base, c.both.line}, c.f});
    }));
    return c.down(hidden);
}

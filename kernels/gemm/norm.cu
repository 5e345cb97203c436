/* y = gelu(layer_norm(x w + b) gamma + beta): see norm.h. */
#include "gemm/norm.cuh"

extern "C" {
#include "gemm/norm.h"
}

namespace ridge {

template <typename T, int N>
__global__ void __launch_bounds__(256) norm_pass_kernel(const __grid_constant__ norm_pass<T, N> pass) {
    const int64_t row = (int64_t)blockIdx.x * 8 + threadIdx.x / 32;
    after_previous_launch();
    if (row < pass.rows) pass.row((int)row);
}

/* A call's tensors. */
struct norm_call {
    matrix_view x, w, y;
    const void *bias, *gamma, *beta;
    ridge_dtype dtype;
    uint8_t *scratch;
    cudaStream_t stream;

    explicit norm_call(const ridge_call *call)
        : x(view_of(call->in[GEMM_NORM_X])),
          w(view_of(call->in[GEMM_NORM_W])),
          y(view_of(call->out[0])),
          bias(ridge_data(&call->in[GEMM_NORM_BIAS])),
          gamma(ridge_data(&call->in[GEMM_NORM_GAMMA])),
          beta(ridge_data(&call->in[GEMM_NORM_BETA])),
          dtype(call->dtype),
          scratch((uint8_t *)call->scratch),
          stream(stream_of(call)) {}
    /* The product and the bias. */
    gemm_call product(const matrix_view &to, bool to_wide) const {
        gemm_call g(x, w, to, dtype, to_wide, stream);
        g.bias = bias, g.scratch = scratch;
        return g;
    }
    template <typename T>
    ridge_status rows_of(const matrix_view &h) const {
        const norm_rows<T, T> rows = {(const float *)h.base, h.line,      h.rows, h.columns, (const T *)gamma,
                                      (const T *)beta,       (T *)y.base, y.line, true};
        return rows.run(stream);
    }
};

template <typename T, int N>
static norm_pass<T, N> pass_of(const norm_call &c, const gemm_norm &at) {
    norm_pass<T, N> p = {};
    p.z = (const T *)(c.scratch + at.z), p.line = at.line, p.parts = (float2 *)(c.scratch + at.parts);
    p.gamma = (const T *)c.gamma, p.beta = (const T *)c.beta;
    p.y = (T *)c.y.base, p.y_line = c.y.line;
    p.rows = (int)c.y.rows, p.columns = (int)c.y.columns, p.tiles = at.tiles;
    p.wide = is_aligned16(p.gamma) && is_aligned16(p.beta) && is_aligned16(p.y) && p.y_line % 8 == 0;
    p.arrived = (unsigned *)(c.scratch + at.counters), p.ticket = p.arrived + at.row_tiles;
    return p;
}

template <matmul_tuning Tuned, bool KB, typename T>
static ridge_status norm_in(const norm_call &c, const gemm_tile &tile, bool beside) {
    using S = matmul_shape<T, Tuned, true, KB>;
    const matrix_view z = {NULL, c.y.rows, c.y.columns, c.y.columns, 1};
    gemm_call g = c.product(z, false);
    const gemm_problem p = g.problem();
    const gemm_norm at = gemm_norm_of(&tile, &p);
    norm_epilogue<T, S::N> e = {};
    e.terms = g.terms<T>(), e.ahead = true, e.alpha = 1.0f;
    e.rows = (int)c.y.rows, e.columns = (int)c.y.columns;
    e.pass = pass_of<T, S::N>(c, at), e.rows_beside = beside;
    if (!make_map<T>(&e.map, {e.pass.z, at.line, c.y.rows, at.line}, 64)) return RIDGE_FAILED;
    if (beside) RIDGE_TRY(clear_memory(e.pass.arrived, sizeof(unsigned) * (size_t)(at.row_tiles + 1), c.stream));
    RIDGE_TRY(matmul_run<S>(lines_of(c.x), lines_of(c.w), c.y.rows, c.y.columns,
                            matmul_whole(c.x.columns, GEMM_SLICE, BAND, KEEP, KEEP), e, c.stream));
    if (beside) return RIDGE_OK;
    return launch_as(LAUNCH_OVERLAP, norm_pass_kernel<T, S::N>, {dim3((unsigned)((c.y.rows + 7) / 8)), 256}, c.stream,
                     e.pass);
}
template <matmul_tuning Tuned>
static ridge_status norm_by(const norm_call &c, const gemm_tile &tile, bool beside) {
    if (c.y.rows == 0) return RIDGE_OK;
    const auto run = [&]<typename T>() {
        return c.w.by_rows() ? norm_in<Tuned, false, T>(c, tile, beside) : norm_in<Tuned, true, T>(c, tile, beside);
    };
    if (c.dtype == RIDGE_BF16) return run.template operator()<__nv_bfloat16>();
    return c.dtype == RIDGE_F16 ? run.template operator()<__half>() : RIDGE_UNSUPPORTED;
}

}  // namespace ridge

/* Ways that differ in `beside` alone share kernels. */
#define RUN(name, columns_, stages_, beside_, rate_, idea_)                                                       \
    extern "C" ridge_status gemm_norm_cuda_##name(const ridge_call *call) {                                       \
        using namespace ridge;                                                                                    \
        constexpr matmul_tuning tuned = {.columns = columns_, .stages = stages_, .cluster_m = 1, .cluster_n = 1}; \
        return norm_by<tuned>(norm_call(call), {columns_, stages_, 1, 1, false, rate_, 1}, beside_);              \
    }
GEMM_NORM_TILES(RUN)

/* h takes the place of y. */
extern "C" ridge_status gemm_norm_cuda_hi_lo_128(const ridge_call *call) {
    using namespace ridge;
    const norm_call c(call);
    RIDGE_TRY(gemm_by_hi_lo_128(c.product(c.y, false)));
    return c.rows_of<float>(c.y);
}
extern "C" ridge_status gemm_norm_cuda_any(const ridge_call *call) {
    using namespace ridge;
    const norm_call c(call);
    const matrix_view h = c.dtype == RIDGE_F32 ? c.y : matrix_view{c.scratch, c.y.rows, c.y.columns, c.y.columns, 1};
    if (c.y.rows == 0) return RIDGE_OK;
    RIDGE_TRY(gemm_by_multiply_adds(c.product(h, true)));
    return with_storage(c.dtype, [&]<typename T>() { return c.rows_of<T>(h); });
}

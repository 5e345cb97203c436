/* y = q(silu(x g^T) (x u^T)) w2^T in e4m3 on a GPU, by gemm/fp8_hidden.cuh, fp8_hidden_whole.cuh and
 * fp8_best.cuh: see README.md. */
#include "gemm/ffn.cuh"
#include "gemm/fp8_best.cuh"
#include "gemm/fp8_hidden.cuh"
#include "gemm/fp8_hidden_whole.cuh"
#include "quantize/fp8_rule.cuh"

extern "C" {
#include "fp8_ffn.h"
}

namespace {

using namespace ridge;

/* The operands, and where hidden values are in scratch. */
struct ffn_call {
    const ridge_call *call;
    fp8_ffn_scratch room;
    int64_t m, f;
    matrix_view codes, scales;

    /* size: of values that go through memory, 0 for none. */
    ffn_call(const ridge_call *of, size_t size)
        : call(of), room(fp8_ffn_scratch_of(of->dim, size)), m(of->dim[FP8_FFN_M]), f(of->dim[FP8_FFN_F]) {
        const int64_t blocks = fp8_blocks(f);
        codes = {of->scratch, m, f, room.line, 1};
        scales = {at(room.scales), m, blocks, blocks, 1};
    }
    uint8_t *at(size_t bytes) const { return (uint8_t *)call->scratch + bytes; }
    matrix_view in(int tensor) const { return view_of(call->in[tensor]); }
    fp8_scales of_x(void) const { return fp8_scales_of(&call->in[FP8_FFN_X_SCALE], m); }
    fp8_scales of_w1(void) const { return fp8_scales_of(&call->in[FP8_FFN_W1_SCALE], 2 * f); }
    fp8_product down(void) const {
        const fp8_scales of_hidden = {(const float *)scales.base, 1, scales.line, scales.columns > 1};
        return {codes,
                in(FP8_FFN_W2),
                view_of(call->out[0]),
                of_hidden,
                fp8_scales_of(&call->in[FP8_FFN_W2_SCALE], call->dim[FP8_FFN_D]),
                call->dtype};
    }
    ridge_status down_by_tiles(void) const {
        const fp8_choice best =
            fp8_ffn_down(call->dim, device_limit(cudaDevAttrMultiProcessorCount), ridge_dtype_size(call->dtype));
        return fp8_by_choice(down(), best, at(room.bytes), stream_of(call));
    }
};

/* hidden = silu(gate) up. */
template <typename T>
struct gated_element {
    matrix<const T> both;
    matrix<T> hidden;
    int64_t f;
    __device__ void operator()(int64_t i, int64_t j) const {
        hidden.at(i, j) = from_float<T>(silu(to_float(both.at(i, j))) * to_float(both.at(i, f + j)));
    }
};

/* Codes and scales of hidden values. */
template <typename T>
ridge_status quantize(const ffn_call &c, const matrix_view &hidden) {
    quantize_problem<T> p;
    p.x = (const T *)hidden.base, p.x_stride = hidden.line;
    p.q = (unsigned char *)c.codes.base, p.q_stride = c.codes.line;
    p.rows = p.all_rows = c.m, p.cols = c.f;
    return quantize_launch(c.call, p, fp8_rule{(float *)c.scales.base, c.scales.line});
}

/* Gate and up values, hidden values and their codes through memory. multiply(product): by what; down(c): y. */
template <typename T, typename Multiply, typename Down>
ridge_status steps(const ridge_call *call, const Multiply &multiply, const Down &down) {
    const ffn_call c(call, sizeof(T));
    const matrix_view both = {c.at(c.room.both), c.m, 2 * c.f, c.room.both_line, 1};
    const matrix_view hidden = {c.at(c.room.hidden), c.m, c.f, c.room.hidden_line, 1};
    if (c.m == 0) return RIDGE_OK;
    RIDGE_TRY(multiply({c.in(FP8_FFN_X), c.in(FP8_FFN_W1), both, c.of_x(), c.of_w1(), call->dtype}));
    RIDGE_TRY(launch_plain(call, c.m, c.f,
                           gated_element<T>{{(const T *)both.base, both.line}, {(T *)hidden.base, hidden.line}, c.f}));
    RIDGE_TRY(quantize<T>(c, hidden));
    return down(c);
}

}  // namespace

extern "C" ridge_status fp8_ffn_cuda_elements(const ridge_call *call) {
    const auto multiply = [&](const fp8_product &p) { return fp8_by_elements(call, p); };
    const auto down = [&](const ffn_call &c) { return multiply(c.down()); };
    if (call->dtype == RIDGE_F32) return steps<float>(call, multiply, down);
    return call->dtype == RIDGE_BF16 ? steps<__nv_bfloat16>(call, multiply, down) : RIDGE_UNSUPPORTED;
}
extern "C" ridge_status fp8_ffn_cuda_steps(const ridge_call *call) {
    const auto multiply = [&](const fp8_product &p) { return fp8_by_tile(FP8_TILE_tiles, p, stream_of(call)); };
    const auto down = [](const ffn_call &c) { return c.down_by_tiles(); };
    return call->dtype == RIDGE_BF16 ? steps<__nv_bfloat16>(call, multiply, down) : RIDGE_UNSUPPORTED;
}

extern "C" ridge_status fp8_ffn_cuda_tiles(const ridge_call *call) {
    const ffn_call c(call, 0);
    if (c.m == 0) return RIDGE_OK;
    RIDGE_TRY(fp8_hidden(c.in(FP8_FFN_X), c.of_x(), c.in(FP8_FFN_W1), c.of_w1(), c.codes, c.scales, stream_of(call)));
    return c.down_by_tiles();
}
extern "C" ridge_status fp8_ffn_cuda_whole(const ridge_call *call) {
    const ffn_call c(call, 0);
    if (c.m == 0) return RIDGE_OK;
    RIDGE_TRY(
        fp8_hidden_whole(c.in(FP8_FFN_X), c.of_x(), c.in(FP8_FFN_W1), c.of_w1(), c.codes, c.scales, stream_of(call)));
    return c.down_by_tiles();
}

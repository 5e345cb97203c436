/* The gradients of swiglu_ffn on a GPU: see README.md. Four products by gemm's quickest ways, and between the first and the
 * others what is elementwise: one map of three inputs and three outputs, or a pass for each of the outputs. */
#include "cuda/epilogue/activation.cuh"
#include "cuda/epilogue/silu_slope.cuh"
#include "cuda/host/view.cuh"
#include "cuda/maps/map.cuh"
#include "linear/product.cuh"

extern "C" {
#include "swiglu_ffn_backward.h"
}

namespace {

using namespace ridge;

/* ---- maps -------------------------------------------------------------------------------------------------------- */

/* Of gate, up and dh: dgate, dup and h. */
template <typename T>
struct gradient_map : map_of<T, T, 3, 3> {
    template <int N>
    __device__ void operator()(const float (&in)[3][N], float (&out)[3][N]) const {
#pragma unroll
        for (int e = 0; e < N; e++) {
            const silu_and_slope silu = silu_with_slope(in[0][e]);
            out[0][e] = in[2][e] * in[1][e] * silu.slope;
            out[1][e] = in[2][e] * silu.value;
            out[2][e] = in[1][e] * silu.value;
        }
    }
};
/* dgate of gate, up and dh. */
template <typename T>
struct gate_map : map_of<T, T, 3, 1> {
    static constexpr int least_blocks = 6; /* 80 registers: two vectors of three inputs spill with 64 */
    template <int N>
    __device__ void operator()(const float (&in)[3][N], float (&out)[1][N]) const {
#pragma unroll
        for (int e = 0; e < N; e++) out[0][e] = in[2][e] * in[1][e] * silu_with_slope(in[0][e]).slope;
    }
};
/* silu(gate) times a second input: dup of dh, h of up. */
template <typename T>
struct opened_map : map_of<T, T, 2, 1> {
    template <int N>
    __device__ void operator()(const float (&in)[2][N], float (&out)[1][N]) const {
#pragma unroll
        for (int e = 0; e < N; e++) out[0][e] = in[1][e] * silu(in[0][e]);
    }
};

/* ---- a call ------------------------------------------------------------------------------------------------------ */

struct lines {
    void *data;
    int64_t stride;
};

struct back_call {
    const ridge_call *call;
    const back_plan &plan;

    cudaStream_t stream(void) const { return stream_of(call); }
    uint8_t *scratch(size_t offset) const { return (uint8_t *)call->scratch + offset; }
    void *in(int tensor) const { return ridge_data(&call->in[tensor]); }
    void *out(int tensor) const { return ridge_data(&call->out[tensor]); }
    ridge_status multiply(int product, void *a, void *b, void *c) const {
        return linear_multiply(call, plan.of[product], {a, b, c}, scratch(plan.product));
    }
    lines hidden(void) const { return {scratch(plan.hidden), plan.hidden_line}; }
    /* Halves of gates, and of what is made of them. */
    template <typename T>
    lines gate(bool up) const {
        return {(T *)in(BACK_GATES) + (up ? plan.f : 0), ridge_row_stride(&call->in[BACK_GATES])};
    }
    template <typename T>
    lines both(bool up) const {
        return {(T *)scratch(plan.both) + (up ? plan.f : 0), plan.both_line};
    }
    template <typename F>
    ridge_status map(const F &f, const lines (&from)[F::inputs], const lines (&to)[F::outputs]) const {
        map_rows<F> t;
        t.rows = plan.m, t.cols = plan.f;
        for (int k = 0; k < F::inputs; k++)
            t.in[k] = (const typename F::in_type *)from[k].data, t.in_stride[k] = from[k].stride;
        for (int k = 0; k < F::outputs; k++)
            t.out[k] = (typename F::out_type *)to[k].data, t.out_stride[k] = to[k].stride;
        return launch_map_rows(t, f, stream());
    }
};

/* h takes the place of dh: whoever writes an element of it has read that element. */
template <typename T>
ridge_status one_pass(const back_call &c) {
    const lines gate = c.gate<T>(false), up = c.gate<T>(true), hidden = c.hidden();
    return c.map(gradient_map<T>{}, {gate, up, hidden}, {c.both<T>(false), c.both<T>(true), hidden});
}
template <typename T>
ridge_status three_passes(const back_call &c) {
    const lines gate = c.gate<T>(false), up = c.gate<T>(true), hidden = c.hidden();
    RIDGE_TRY(c.map(gate_map<T>{}, {gate, up, hidden}, {c.both<T>(false)}));
    RIDGE_TRY(c.map(opened_map<T>{}, {gate, hidden}, {c.both<T>(true)}));
    return c.map(opened_map<T>{}, {gate, up}, {hidden});
}

ridge_status clear_matrix(const DLTensor &t, size_t size, cudaStream_t stream) {
    const size_t line = (size_t)view_of(t).line * size, bytes = (size_t)t.shape[1] * size;
    return cuda_status(cudaMemset2DAsync(ridge_data(&t), line, 0, bytes, (size_t)t.shape[0], stream),
                       "cudaMemset2DAsync");
}

/* dh, what is elementwise, the gradients. */
ridge_status run(const back_call &c, int passes) {
    void *const hidden = c.scratch(c.plan.hidden), *const both = c.scratch(c.plan.both), *const dy = c.in(BACK_DY);
    RIDGE_TRY(c.multiply(BACK_TO_DH, dy, c.in(BACK_W2), hidden));
    RIDGE_TRY(
        with_storage(c.call->dtype, [&]<typename T>() { return passes == 1 ? one_pass<T>(c) : three_passes<T>(c); }));
    RIDGE_TRY(c.multiply(BACK_TO_DX, both, c.in(BACK_W1), c.out(BACK_DX)));
    RIDGE_TRY(c.multiply(BACK_TO_DW1, both, c.in(BACK_X), c.out(BACK_DW1)));
    return c.multiply(BACK_TO_DW2, dy, hidden, c.out(BACK_DW2));
}

}  // namespace

extern "C" ridge_status swiglu_ffn_backward_cuda(const ridge_call *call) {
    const ridge_problem p = problem_of(call, BACK_DIMS, BACK_INPUTS, BACK_OUTPUTS);
    const back_plan plan = back_plan_of(&p, call->way->number);
    const back_call c = {call, plan};
    if (plan.plan.refusal) return RIDGE_UNSUPPORTED;
    if (plan.m > 0) return run(c, call->way->number);
    const size_t size = ridge_dtype_size(call->dtype);
    RIDGE_TRY(clear_matrix(call->out[BACK_DW1], size, c.stream()));
    return clear_matrix(call->out[BACK_DW2], size, c.stream());
}

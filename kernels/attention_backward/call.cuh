/* From a call of attention's gradients to what its launches take. Host code. */
#ifndef RIDGE_ATTENTION_BACKWARD_CALL_CUH
#define RIDGE_ATTENTION_BACKWARD_CALL_CUH

#include "attention/call.cuh"
#include "attention_backward/gradient.cuh"

namespace ridge {

/* What is computed once for each query. */
struct backward_statistics_args {
    const void *out, *dout;
    const float *lse;
    attention_strides out_strides, dout_strides, lse_strides;
    int m, heads, values;
    bool in_pieces;            /* rows of out and dout begin at multiples of 16 bytes and have whole ones */
    int64_t line, rows;        /* line: of a head; rows: of all batches and heads, line of each */
    float *exponents, *deltas; /* [batch, head, line] */
};

/* All tensors of a call; dsink NULL: not wanted. own: as queries see keys. */
struct backward_call {
    attention_args own;
    backward_statistics_args statistics;
    attention_tensor dq, dk, dv;
    float *dsink;
    ridge_dtype dtype;
    cudaStream_t stream;
};

/* Scratch begins with the statistics; *behind is where they end. */
inline backward_call backward_call_of(const ridge_call *call, float **behind) {
    backward_call c = {};
    attention_args &a = c.own;
    const DLTensor *const in = call->in;
    a.q = ridge_data(&in[BACKWARD_Q]), a.q_strides = strides_of(in[BACKWARD_Q]);
    a.k = ridge_data(&in[BACKWARD_K]), a.k_strides = strides_of(in[BACKWARD_K]);
    a.v = ridge_data(&in[BACKWARD_V]), a.v_strides = strides_of(in[BACKWARD_V]);
    if (call->option[ATTENTION_SINKS] > 0) a.sink = (const float *)ridge_data(&in[BACKWARD_SINK]);
    if (call->option[ATTENTION_SLOPES] > 0) a.slope = (const float *)ridge_data(&in[BACKWARD_SLOPE]);
    attention_extents_of(call, &a);
    const attention_tensor out = attention_tensor_of(in[BACKWARD_OUT]), dout = attention_tensor_of(in[BACKWARD_DOUT]);
    backward_statistics_args &s = c.statistics;
    s.out = out.first, s.out_strides = out.strides, s.dout = dout.first, s.dout_strides = dout.strides;
    s.lse = (const float *)ridge_data(&in[BACKWARD_LSE]), s.lse_strides = strides_of(in[BACKWARD_LSE]);
    s.m = a.m, s.heads = a.heads, s.values = a.values, s.in_pieces = out.in_pieces && dout.in_pieces;
    s.line = backward_line(a.m), s.rows = s.line * a.batch * a.heads;
    s.exponents = (float *)call->scratch, s.deltas = s.exponents + s.rows, *behind = s.deltas + s.rows;
    c.dq = attention_tensor_of(call->out[BACKWARD_DQ]), c.dk = attention_tensor_of(call->out[BACKWARD_DK]);
    c.dv = attention_tensor_of(call->out[BACKWARD_DV]);
    c.dsink = (float *)ridge_data(&call->out[BACKWARD_DSINK]);
    c.dtype = call->dtype, c.stream = stream_of(call);
    return c;
}

/* f.template operator()<T, Shaped>(). Shaped: scores are more than products times a scale. */
template <typename F>
ridge_status with_backward_kind(const ridge_call *call, const F &f) {
    const bool shaped = call->option[ATTENTION_SOFTCAP] > 0 || call->option[ATTENTION_SLOPES] > 0;
    if (call->dtype == RIDGE_BF16)
        return shaped ? f.template operator()<__nv_bfloat16, true>() : f.template operator()<__nv_bfloat16, false>();
    if (call->dtype == RIDGE_F16)
        return shaped ? f.template operator()<__half, true>() : f.template operator()<__half, false>();
    return RIDGE_UNSUPPORTED;
}

/* Runs what the launches of gradients read: exponents and deltas of each query. And dsink. */
ridge_status backward_statistics(const backward_call &c);

/* to = the sums of all parts, in their order. */
ridge_status backward_add_parts(const backward_args &b, const float *sums, const attention_tensor &to,
                                ridge_dtype dtype, cudaStream_t stream);

}  // namespace ridge

#endif

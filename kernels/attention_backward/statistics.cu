/* What attention's gradients need of each query: its lse as an exponent of two, and delta = out . dout. And the gradient of
 * sinks, which is made of nothing else. */
#include "attention_backward/call.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/reduce.cuh"

namespace ridge {

/* Eight lanes a row. Behind the last query: +inf and 0. A query without keys has lse -inf: +inf, too, so that its P is 0. */
template <typename T>
__global__ void __launch_bounds__(256) backward_statistics_kernel(const __grid_constant__ backward_statistics_args s) {
    const int64_t at = (int64_t)blockIdx.x * 32 + (int)threadIdx.x / 8, head = at / s.line;
    const int lane = (int)threadIdx.x % 8, row = (int)(at % s.line);
    const bool there = at < s.rows && row < s.m;
    const auto offset = [&](const attention_strides &t) {
        return row * t.row + head / s.heads * t.batch + head % s.heads * t.head;
    };
    float sum = 0.0f;
    after_previous_launch();
    if (there) {
        const T *const out = (const T *)s.out + offset(s.out_strides);
        const T *const dout = (const T *)s.dout + offset(s.dout_strides);
        if (s.in_pieces)
            for (int j = lane * 8; j < s.values; j += 64) {
                const pack<T, 8> x = *(const pack<T, 8> *)(out + j), y = *(const pack<T, 8> *)(dout + j);
#pragma unroll
                for (int i = 0; i < 8; i++) sum += to_float(x.v[i]) * to_float(y.v[i]);
            }
        else
            for (int j = lane; j < s.values; j += 8) sum += to_float(out[j]) * to_float(dout[j]);
    }
    sum = lanes_sum<8>(sum);
    if (lane != 0 || at >= s.rows) return;
    const float lse = there ? s.lse[offset(s.lse_strides)] : -INFINITY;
    s.exponents[at] = lse == -INFINITY ? INFINITY : lse * LOG2_E;
    s.deltas[at] = sum;
}

/* dsink of a head, a block each: always in the same order. sink NULL: 0. */
__global__ void __launch_bounds__(256)
    backward_sinks_kernel(const float *sink, const __grid_constant__ backward_statistics_args s, float *dsink) {
    __shared__ float room[8];
    const int head = (int)blockIdx.x, thread = (int)threadIdx.x, batches = (int)(s.rows / s.line / s.heads);
    float sum = 0.0f;
    after_previous_launch();
    if (sink)
        for (int batch = 0; batch < batches; batch++) {
            const int64_t from = ((int64_t)batch * s.heads + head) * s.line;
            for (int i = thread; i < s.m; i += 256)
                sum -= ex2_approx_ftz(sink[head] * LOG2_E - s.exponents[from + i]) * s.deltas[from + i];
        }
    sum = lanes_sum<32>(sum);
    if (thread % 32 == 0) room[thread / 32] = sum;
    __syncthreads();
    if (thread != 0) return;
    for (int w = 1; w < 8; w++) sum += room[w];
    dsink[head] = sum;
}

template <typename T>
static ridge_status run(const backward_call &c) {
    const dim3 blocks((unsigned)((c.statistics.rows + 31) / 32));
    if (c.statistics.rows > 0)
        RIDGE_TRY(launch_overlapping(backward_statistics_kernel<T>, {blocks, 256}, c.stream, device_overlaps(),
                                     c.statistics));
    if (!c.dsink) return RIDGE_OK;
    return launch_overlapping(backward_sinks_kernel, {dim3((unsigned)c.own.heads), 256}, c.stream, device_overlaps(),
                              c.own.sink, c.statistics, c.dsink);
}

ridge_status backward_statistics(const backward_call &c) {
    if (c.dtype == RIDGE_BF16) return run<__nv_bfloat16>(c);
    return c.dtype == RIDGE_F16 ? run<__half>(c) : RIDGE_UNSUPPORTED;
}

}  // namespace ridge

/* Gradients from the sums of parts, which blocks left side by side. */
#include "attention_backward/call.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

/* A thread two columns of a row, always in the order of the parts. next: floats from one part to the next. */
template <typename T>
__global__ void __launch_bounds__(256) add_parts(const float *sums, int64_t next, int parts, int rows, int heads,
                                                 int64_t pairs, const __grid_constant__ attention_tensor to) {
    const int64_t at = (int64_t)blockIdx.x * 256 + (int)threadIdx.x, line = backward_part_line(to.columns) / 2;
    after_previous_launch();
    if (at >= pairs) return;
    float2 all = make_float2(0.0f, 0.0f);
    for (int p = 0; p < parts; p++) {
        const float2 two = *(const float2 *)(sums + p * next + 2 * at);
        all.x += two.x, all.y += two.y;
    }
    const int64_t row = at / line, head = row / rows;
    const int column = (int)(at % line) * 2;
    T *const result = (T *)to.first + row % rows * to.strides.row + head / heads * to.strides.batch +
                      head % heads * to.strides.head + column;
    result[0] = from_float<T>(all.x);
    if (column + 1 < to.columns) result[1] = from_float<T>(all.y);
}

ridge_status backward_add_parts(const backward_args &b, const float *sums, const attention_tensor &to,
                                ridge_dtype dtype, cudaStream_t stream) {
    const int64_t floats = (int64_t)b.own.batch * b.own.heads * b.own.m * backward_part_line(to.columns);
    const dim3 blocks((unsigned)((floats / 2 + 255) / 256));
    const auto run = [&](auto kernel) {
        return launch_overlapping(kernel, {blocks, 256}, stream, true, sums, floats, b.own.parts, b.own.m, b.own.heads,
                                  floats / 2, to);
    };
    return dtype == RIDGE_BF16 ? run(add_parts<__nv_bfloat16>) : run(add_parts<__half>);
}

}  // namespace ridge

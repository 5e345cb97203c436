/* fp8 with a scale for each 128 columns, on a GPU: see README.md.
 *
 * Floor: size(x) + rows cols + 4 rows blocks bytes over the copy ceiling: 3.03 bytes an element in 16 bits, 5.03 in f32,
 * which is 21 and 35 instructions an element. The optimized kernel takes about 8. */
#include "quantize/fp8_rule.cuh"
#include "quantize/fp8_plain.cuh"

using namespace ridge;

extern "C" ridge_status quantize_fp8_blocks_cuda_optimized(const ridge_call *call) {
    const fp8_rule rule = {(float *)ridge_data(&call->out[1]), ridge_row_stride(&call->out[1])};
    return with_storage(call->dtype, [&]<typename T>() {
        return quantize_launch(call, quantize_problem_of<T>(call, ridge_row_stride(&call->out[0]), call->dim[0]), rule);
    });
}

extern "C" ridge_status quantize_fp8_blocks_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return fp8_plain<1, T>(call, call->dim[0], call->dim[2]); });
}

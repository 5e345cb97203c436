/* softmax_backward on a GPU: see row_gradient/held.cuh. */
#include "row_gradient/held.cuh"

extern "C" {
#include "softmax_backward.h"
}

namespace {

struct softmax_rule {
    float scale;
    bool log;

    using sums = float;
    explicit softmax_rule(const ridge_call *call)
        : scale((float)call->option[SOFTMAX_BACK_SCALE]), log(call->option[SOFTMAX_BACK_LOG] > 0) {}
    __device__ float part(float y, float dy) const { return log ? dy : y * dy; }
    __device__ float finish(float sum) const { return sum; }
    __device__ float gradient(float y, float dy, float sum) const {
        return scale * (log ? fmaf(-expf(y), sum, dy) : y * (dy - sum));
    }
};

}  // namespace

#define RUN(name, threads, packs, idea) ROW_GRADIENT_RUN(softmax_backward, softmax_rule, name, threads, packs)
ROW_GRADIENT_TILES(RUN)
ROW_GRADIENT_RUN_ANY(softmax_backward, softmax_rule)

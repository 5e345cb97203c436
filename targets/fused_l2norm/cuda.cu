/* y[i,:] = x[i,:] / max(||x[i,:]||2, eps) on a GPU: see README.md. rows/norm_fixed.cuh has the optimized kernels. */
#include <float.h>

#include "cuda/rows/norm_call.cuh"
#include "cuda/rows/passes.cuh"
#include "cuda/rows/statistics.cuh"

using namespace ridge;

ROW_NORM_CUDA_OPTIMIZED(fused_l2norm, ROW_NORM_L2, false, NORM_L2_EPS, ACTIVATION_NONE)

/* ---- baseline: four kernels, and what they tell each other goes through memory ---- */

/* scale[i], inverse[i] from the sum of squares: a warp a row, because a row that overflowed is summed again. */
template <typename T>
__global__ void l2norm_roots(row_tensors<T, float> io, const float *sums, float *scales, float *inverses) {
    const int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (i >= io.rows) return;
    float sum = sums[i], scale = 1.0f;
    if (!(sum <= FLT_MAX)) {
        scale = ROW_RESCUE_SCALE, sum = 0.0f;
        for (int64_t j = threadIdx.x % 32; j < io.n; j += 32) {
            const float x = to_float(io.x[i * io.x_stride + j]) * ROW_RESCUE_SCALE;
            sum += x * x;
        }
        for (int mask = 16; mask > 0; mask /= 2) sum += row_shuffle(sum, mask);
    }
    const float norm = sqrtf(sum), least = scale == 1.0f ? NORM_L2_EPS : 0.0f;
    if (threadIdx.x % 32 == 0) scales[i] = scale, inverses[i] = 1.0f / (norm < least ? least : norm);
}

struct squared {
    __device__ float operator()(float v, int64_t) const { return v * v; }
};
struct itself {
    __device__ float operator()(float v) const { return v; }
};
struct scaled {
    const float *scales, *inverses;
    __device__ float operator()(float v, int64_t row) const { return v * scales[row] * inverses[row]; }
};

template <typename T>
static ridge_status baseline(const ridge_call *call) {
    const cudaStream_t stream = stream_of(call);
    const auto x = row_tensors_of<T>(call);
    const auto squares = row_to_temporary<T>(call);
    float *sums = row_statistic(call, 0), *scales = row_statistic(call, 1), *inverses = row_statistic(call, 2);
    if (x.rows == 0) return RIDGE_OK;
    RIDGE_TRY(row_map(squares, squared(), stream));
    RIDGE_TRY(row_reduce(squares.y, squares.y_stride, x.rows, x.n, sums, 0.0f, itself(), row_plus(), stream));
    if (!row_grid_fits((x.rows + 7) / 8)) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(launch(l2norm_roots<std::remove_const_t<T>>, {dim3((unsigned)((x.rows + 7) / 8)), 256}, stream, squares,
                     sums, scales, inverses));
    return row_map(x, scaled{scales, inverses}, stream);
}

extern "C" ridge_status fused_l2norm_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}

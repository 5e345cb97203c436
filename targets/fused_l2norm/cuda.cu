/* y[i,:] = x[i,:] / max(||x[i,:]||, 1e-12) on a GPU: see README.md.
 *
 * Two floors: 2 size(x) bytes over the copy bandwidth, 3 FLOP an element over the fp32 rate. Of 32768 x 4096 in fp32 on
 * an H200: 1.07 GB over 4.26 TB/s = 252 us, and 0.4 GFLOP over 60 TFLOP/s = 7 us. Bandwidth-bound; 97 % of the copy is
 * expected. */
#include <float.h>

#include "cuda/rows/passes.cuh"
#include "fused_l2norm.h"

using namespace ridge;

static constexpr float eps = 1e-12f;
static constexpr float rescue = 0x1p-100f; /* brings the squares of any finite row into range */

/* ---- optimized: a row is read once, into the registers of the threads that share it ---- */

struct l2norm : row_without_parameters {
    template <typename T>
    static constexpr row_shape shape =
        sizeof(T) == 2
            ? row_shape{.elements = 16, .resident = 1536, .long_elements = 32, .long_resident = 1536, .filled = 0}
            : row_shape{.elements = 8, .resident = 2048, .long_elements = 32, .long_resident = 1024, .filled = 2048};

    /* What a row is multiplied by: first `scale` (1 but in rows whose squares overflow), then `inverse`. */
    struct statistics {
        float scale, inverse;
    };

    template <typename Row>
    __device__ statistics of(Row &row) const {
        const float sum = row.sum([](float x) { return x * x; });
        const bool overflow = !(sum <= FLT_MAX);
        if (row.any(overflow)) {
            const float scaled = row.sum([](float x) { return x * rescue * (x * rescue); });
            if (overflow) return {rescue, 1.0f / sqrtf(scaled)};
        }
        const float norm = sqrtf(sum);
        return {1.0f, 1.0f / (norm < eps ? eps : norm)};
    }

    template <int How, int N, typename Column>
    __device__ void finish(float (&v)[N], const statistics &s, Column column) const {
        (void)column;
#pragma unroll
        for (int e = 0; e < N; e++) v[e] = (row_is_usual(How) ? v[e] : v[e] * s.scale) * s.inverse;
    }
};

static_assert(row_traits_are<l2norm, l2norm>(row_traits L2NORM_ROWS));

extern "C" ridge_status l2norm_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return row_run(call, row_tensors_of<T>(call), l2norm()); });
}

/* ---- baseline: four kernels, and what they tell each other goes through memory ---- */

/* scale[i], inverse[i] from the sum of squares: a warp a row, because a row that overflowed is summed again. */
template <typename T>
__global__ void l2norm_roots(row_tensors<T, float> io, const float *sums, float *scales, float *inverses) {
    const int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (i >= io.rows) return;
    float sum = sums[i], scale = 1.0f;
    if (!(sum <= FLT_MAX)) {
        scale = rescue, sum = 0.0f;
        for (int64_t j = threadIdx.x % 32; j < io.n; j += 32) {
            const float x = to_float(io.x[i * io.x_stride + j]) * rescue;
            sum += x * x;
        }
        for (int mask = 16; mask > 0; mask /= 2) sum += row_shuffle(sum, mask);
    }
    const float norm = sqrtf(sum), least = scale == 1.0f ? eps : 0.0f;
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

extern "C" ridge_status l2norm_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}

/* y = gelu((x - mean) r gamma + beta), r = 1 / sqrt(var + 1e-5), each row by itself, on a GPU: see README.md.
 *
 * Two floors: size(x) + size(y) bytes (the parameters stay in the first-level cache) over the copy bandwidth; 27
 * instructions an element (statistics 7, normalization and conversion 9, GELU 11) over the issue rate. Of 32768 x 4096
 * on an H200: fp32 252 us for the bytes, bf16 126 us; 134 M elements x 27 over 132 x 128 x 1.9 GHz = 113 us. Memory
 * binds, in bf16 not by far: 97 % of the copy is expected in fp32, 85 to 95 % in bf16. */
#include "cuda/row_math.cuh"
#include "cuda/row_passes.cuh"
#include "norm_activation.h"

using namespace ridge;

static constexpr float rescue = 0x1p-100f; /* brings the squares of any finite row into range */

/* Layer norm; Activate: and GELU. The mean first, then the squares about it, both from registers: the difference of two
 * large sums would lose the variance of rows far from zero. */
template <typename T, bool Activate>
struct layer_norm {
    const T *gamma, *beta;
    float inverse_n;

    /* A row is multiplied by `scale` (1 but in rows whose squares overflow); its mean is taken off; then it is
     * multiplied by `inverse`. */
    struct statistics {
        float scale, mean, inverse;
    };

    template <typename Row>
    __device__ statistics at(Row &row, float scale, float eps) const {
        const float mean = row.sum([=](float x) { return x * scale; }) * inverse_n;
        const float variance = row.sum([=](float x) {
            const float d = fmaf(x, scale, -mean);
            return d * d;
        }) * inverse_n;
        return {scale, mean, 1.0f / sqrtf(variance + eps)};
    }

    template <typename Row>
    __device__ statistics of(Row &row) const {
        const statistics s = at(row, 1.0f, NORM_EPS);
        /* 0 or NaN: a sum overflowed, or an element is not finite; then the second attempt says the same. */
        const bool failed = !(s.inverse > 0.0f);
        if (row.any(failed)) {
            const statistics again = at(row, rescue, 0.0f);
            if (failed) return again;
        }
        return s;
    }

    __device__ bool parameters_aligned(int64_t column) const {
        return is_aligned16(gamma + column) && is_aligned16(beta + column);
    }

    template <bool Aligned, int N>
    __device__ void finish(float (&v)[N], const statistics &s, int64_t column) const {
        float g[N], b[N];
        row_parameter<Aligned>(gamma + column, g);
        row_parameter<Aligned>(beta + column, b);
#pragma unroll
        for (int e = 0; e < N; e++) {
            const float h = fmaf(fmaf(v[e], s.scale, -s.mean) * s.inverse, g[e], b[e]);
            v[e] = Activate ? gelu(h) : h;
        }
    }
};

template <typename T, bool Activate>
static layer_norm<T, Activate> layer_norm_of(const ridge_call *call) {
    return {(const T *)ridge_data(&call->in[1]), (const T *)ridge_data(&call->in[2]),
            (float)(1.0 / (double)call->dim[1])};
}

/* ---- optimized: from the row in registers to the activation, one read and one write ---- */

extern "C" ridge_status norm_activation_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() {
        return row_run(row_tensors_of<T>(call), layer_norm_of<T, true>(call), stream_of(call));
    });
}

/* ---- baseline: the normalized values go through memory to the activation ---- */

struct activation {
    __device__ float operator()(float h, int64_t) const { return 0.5f * h * (1.0f + erff(h * 0x1.6a09e6p-1f)); }
};

extern "C" ridge_status norm_activation_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() -> ridge_status {
        RIDGE_TRY(row_run_passes(row_to_temporary<T>(call), layer_norm_of<T, false>(call), stream_of(call)));
        return row_map(row_from_temporary<T>(call), activation(), stream_of(call));
    });
}

/* softmax(x w + b) of few columns in all heads: skinny/thin.cuh. Softmax of its logits in registers where there is one
 * head, else in shared memory. */
#include <float.h>

#include "cuda/linear/softmax_call.cuh"
#include "cuda/skinny/thin.cuh"
#include "cuda/tile/reduce.cuh"

namespace ridge {

/* Softmax of 16 rows of logits, head by head. */
template <typename T>
struct thin_softmax {
    const T *bias;
    T *p;
    int64_t bias_head, p_row, p_head, batch;
    int heads, classes;
    int lanes; /* that have the classes of a head of a row together: a power of two */

    __device__ void add_bias(float *z, int pitch) const {
        for (int j = (int)threadIdx.x % 32; j < heads * classes; j += 32) {
            const int h = j / classes;
            const float b = to_float(bias[h * bias_head + (j - h * classes)]);
#pragma unroll
            for (int r = 0; r < 16; r++) z[r * pitch + j] += b;
        }
    }
    template <typename F>
    __device__ float merged(float v, F merge) const {
        for (int mask = lanes / 2; mask > 0; mask /= 2) v = merge(v, __shfl_xor_sync(0xffffffffu, v, mask));
        return v;
    }
    /* Maxima start at -FLT_MAX: see online_softmax. */
    __device__ void one(float *z, int lane, bool exists) const {
        const int n = exists ? classes : 0;
        float most = -FLT_MAX, sum = 0.0f;
#pragma unroll 4
        for (int c = lane; c < n; c += lanes) most = fmaxf(most, z[c]);
        most = merged(most, [](float a, float b) { return fmaxf(a, b); });
#pragma unroll 4
        for (int c = lane; c < n; c += lanes) {
            z[c] = ex2_approx_ftz((z[c] - most) * 0x1.715476p0f);
            sum += z[c];
        }
        sum = merged(sum, [](float a, float b) { return a + b; });
        const float scale = rcp_approx_ftz(sum); /* of at least 1, of NaN, or of 0: then NaN */
#pragma unroll 4
        for (int c = lane; c < n; c += lanes) z[c] *= scale;
    }
    __device__ void store(const float *z, int pitch, const thin_where &at) const {
        const int lane = (int)threadIdx.x % 32;
        const bool together = heads == 1 || p_head == classes; /* heads side by side */
        const int runs = together ? 1 : heads, n = together ? heads * classes : classes, of_run = thin_lanes(n);
        for (int i = lane / of_run; i < 16 * runs; i += 32 / of_run) {
            const int r = i % 16, h = i / 16;
            if (at.row(r) >= batch) continue;
            thin_write(p + at.row(r) * p_row + h * p_head, z + r * pitch + h * classes, n, lane % of_run, of_run);
        }
    }
    __device__ bool takes_fragments(void) const { return heads == 1; }
    /* The same of rows in registers, four lanes each. */
    template <int NT>
    __device__ void fragment(float (&z)[NT][4], const thin_where &) const {
        const int first = (int)threadIdx.x % 4 * 2;
#pragma unroll
        for (int t = 0; t < NT; t++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int c = t * 8 + first + e % 2;
                z[t][e] = c < classes ? z[t][e] + to_float(bias[c]) : -INFINITY;
            }
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float most = -FLT_MAX, sum = 0.0f;
#pragma unroll
            for (int t = 0; t < NT; t++) most = fmaxf(most, fmaxf(z[t][2 * r], z[t][2 * r + 1]));
            most = quad_max(most);
#pragma unroll
            for (int t = 0; t < NT; t++)
#pragma unroll
                for (int e = 2 * r; e < 2 * r + 2; e++)
                    sum += z[t][e] = ex2_approx_ftz((z[t][e] - most) * 0x1.715476p0f);
            const float scale = rcp_approx_ftz(quad_sum(sum));
#pragma unroll
            for (int t = 0; t < NT; t++) z[t][2 * r] *= scale, z[t][2 * r + 1] *= scale;
        }
    }
    __device__ void rows(float *z, int pitch, const thin_where &at) const {
        const int lane = (int)threadIdx.x % 32, pairs = 16 * heads, at_once = 32 / lanes;
        add_bias(z, pitch);
        __syncwarp();
        for (int begin = 0; begin < pairs; begin += at_once) { /* whole warps: the lanes of several rows meet */
            const int i = begin + lane / lanes;
            one(z + i % 16 * pitch + i / 16 * classes, lane % lanes, i < pairs);
        }
        __syncwarp();
        store(z, pitch, at);
    }
};

template <typename T, bool Exact = false>
static ridge_status run(const linear_softmax_call &c) {
    const int64_t classes = c.p.columns;
    const thin_weights<T> w = {(const T *)c.w.base, c.w_head,        c.w.line, c.w.step, c.heads,
                               (int)classes,        (int)c.x.columns};
    thin_args<T> a = {};
    a.x = (const T *)c.x.base, a.line = c.x.line, a.rows = c.x.rows, a.depth = (int)c.x.columns;
    const int lanes = c.heads > 1 || classes <= 8 ? 1 : 2; /* 16 rows of a head, or 32 and more of several */
    const thin_softmax<T> op = {(const T *)c.bias, (T *)c.p.base, c.bias_head,  c.p.line, c.p_head,
                                c.x.rows,          c.heads,       (int)classes, lanes};
    return thin_run<Exact>(w, a, c.scratch + c.at(LINEAR_THIN).w, op, c.stream);
}

ridge_status linear_softmax_thin(const linear_softmax_call &c) {
    switch (c.dtype) {
        case RIDGE_BF16: return run<__nv_bfloat16>(c);
        case RIDGE_F16: return run<__half>(c);
        case RIDGE_TF32: return run<float>(c);
        case RIDGE_F32: return run<float, true>(c);
        default: return RIDGE_UNSUPPORTED;
    }
}

}  // namespace ridge

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
    thin_lines<T> p; /* of the first head */
    int64_t bias_head, p_head;
    int heads, classes;

    __device__ void add_bias(float *z, int pitch) const {
        for (int j = (int)threadIdx.x % 32; j < heads * classes; j += 32) {
            const int h = j / classes;
            const float b = to_float(bias[h * bias_head + (j - h * classes)]);
#pragma unroll
            for (int r = 0; r < 16; r++) z[r * pitch + j] += b;
        }
    }
    /* Maxima start at -FLT_MAX: see online_softmax. */
    __device__ void one(float *z) const {
        float most = -FLT_MAX, sum = 0.0f;
#pragma unroll 4
        for (int c = 0; c < classes; c++) most = fmaxf(most, z[c]);
#pragma unroll 4
        for (int c = 0; c < classes; c++) {
            z[c] = ex2_approx_ftz((z[c] - most) * 0x1.715476p0f);
            sum += z[c];
        }
        const float scale = rcp_approx_ftz(sum); /* of at least 1, of NaN, or of 0: then NaN */
#pragma unroll 4
        for (int c = 0; c < classes; c++) z[c] *= scale;
    }
    __device__ void store(const float *z, int pitch, const thin_where &at) const {
        const int lane = (int)threadIdx.x % 32;
        const bool together = p_head == classes; /* heads side by side */
        const int runs = together ? 1 : heads, n = together ? heads * classes : classes, of_run = thin_lanes(n);
        for (int i = lane / of_run; i < 16 * runs; i += 32 / of_run) {
            const int r = i % 16, h = i / 16;
            if (at.row(r) >= p.rows) continue;
            thin_write(p.to + at.row(r) * p.line + h * p_head, z + r * pitch + h * classes, n, lane % of_run, of_run);
        }
    }
    /* Of one head: four lanes have a row. */
    template <int NT>
    __device__ void fragment(float (&z)[NT][4], const thin_where &at) const {
        const int first = (int)threadIdx.x % 4 * 2;
#pragma unroll
        for (int t = 0; t < NT; t++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int c = t * 8 + first + e;
                const float b = c < classes ? to_float(bias[c]) : -INFINITY;
                z[t][e] = c < classes ? z[t][e] + b : b, z[t][e + 2] = c < classes ? z[t][e + 2] + b : b;
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
        thin_store_fragment(p, z, at);
    }
    __device__ bool by_rows(void) const { return heads > 1; }
    /* Softmax of a head of few classes in registers. */
    template <int C>
    __device__ void few(float *z, const T *b) const {
        float v[C], most = -FLT_MAX, sum = 0.0f;
#pragma unroll
        for (int c = 0; c < C; c++) {
            v[c] = c < classes ? z[c] + to_float(b[c]) : -INFINITY;
            most = fmaxf(most, v[c]);
        }
#pragma unroll
        for (int c = 0; c < C; c++) sum += v[c] = ex2_approx_ftz((v[c] - most) * 0x1.715476p0f);
        const float scale = rcp_approx_ftz(sum);
#pragma unroll
        for (int c = 0; c < C; c++)
            if (c < classes) z[c] = v[c] * scale;
    }
    /* A lane has a head of a row. */
    __device__ void rows(float *z, int pitch, const thin_where &at) const {
        const int lane = (int)threadIdx.x % 32;
        if (classes > 16) {
            add_bias(z, pitch);
            __syncwarp();
        }
        for (int i = lane; i < 16 * heads; i += 32) {
            const int h = i / 16;
            float *const its = z + i % 16 * pitch + h * classes;
            const T *const b = bias + h * bias_head;
            if (classes <= 4)
                few<4>(its, b);
            else if (classes <= 8)
                few<8>(its, b);
            else if (classes <= 16)
                few<16>(its, b);
            else
                one(its);
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
    const thin_softmax<T> op = {(const T *)c.bias, thin_lines_of((T *)c.p.base, c.p.line, c.x.rows, (int)classes),
                                c.bias_head,       c.p_head,
                                c.heads,           (int)classes};
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

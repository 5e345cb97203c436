/* Products of matrices in any order, type and alignment, by fp32 multiply-adds: C[m, n] = sum over k of A[m, k] B[n,
 * k]. A block makes 64 x 64 of C, a thread 4 x 4; an epilogue says what becomes of them. For shapes and devices that
 * have no faster way here, and for exact fp32.
 *
 * An epilogue has
 *     begin()                                  before a unit: `run` neighbouring tiles of columns
 *     tile(sums, row, column)                  sums[i][j]: row + i, column + j, some of them beyond the matrix
 *     end(row, unit)                           behind the unit's last tile
 * A row's 64 columns are with 16 neighbouring threads. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_ANY_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_ANY_CUH

#include "cuda/linear_loss.cuh"

namespace ridge {

template <typename T>
struct any_matrix {
    const T *base;
    int64_t line, step;
    any_matrix(const matrix_view &m) : base((const T *)m.base), line(m.line), step(m.step) {}
};

constexpr int ANY_TILE = 64, ANY_SLICE = 16;
constexpr int ANY_CHAIN = 8; /* slices that are summed in one chain */
typedef float any_slice[ANY_SLICE][ANY_TILE + 4];

/* Rows first … first + 63, of `rows`; columns k … k + 15, of `depth`; zeros beyond. Neighbouring threads take what is
 * neighbouring in memory. */
template <typename T>
__device__ inline void any_load(any_slice &to, const any_matrix<T> &m, int64_t first, int64_t rows, int64_t k,
                                int64_t depth) {
#pragma unroll
    for (int i = (int)threadIdx.x; i < ANY_TILE * ANY_SLICE; i += 256) {
        const int r = m.step == 1 ? i / ANY_SLICE : i % ANY_TILE, c = m.step == 1 ? i % ANY_SLICE : i / ANY_TILE;
        const bool inside = first + r < rows && k + c < depth;
        to[c][r] = inside ? to_float(m.base[(first + r) * m.line + (k + c) * m.step]) : 0.0f;
    }
}

template <typename A, typename B, class Epilogue>
__global__ void __launch_bounds__(256, 1)
    any_product(any_matrix<A> a, any_matrix<B> b, int64_t m, int64_t n, int64_t depth, int run, Epilogue epilogue) {
    __shared__ __align__(16) any_slice as, bs;
    const int ty = (int)threadIdx.x / 16 * 4, tx = (int)threadIdx.x % 16 * 4;
    const int64_t row = (int64_t)blockIdx.x * ANY_TILE;
    epilogue.begin();
    for (int r = 0; r < run; r++) {
        const int64_t column = ((int64_t)blockIdx.y * run + r) * ANY_TILE;
        if (column >= n) break;
        float sums[4][4] = {}, part[4][4] = {};
        for (int64_t k = 0; k < depth; k += ANY_SLICE) {
            any_load(as, a, row, m, k, depth);
            any_load(bs, b, column, n, k, depth);
            __syncthreads();
#pragma unroll 8
            for (int s = 0; s < ANY_SLICE; s++) {
                const float4 u = *(const float4 *)&as[s][ty], v = *(const float4 *)&bs[s][tx];
                const float x[4] = {u.x, u.y, u.z, u.w}, y[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++) part[i][j] = fmaf(x[i], y[j], part[i][j]);
            }
            __syncthreads();
            if (k / ANY_SLICE % ANY_CHAIN == ANY_CHAIN - 1 || k + ANY_SLICE >= depth) {
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 4; j++) sums[i][j] += part[i][j], part[i][j] = 0.0f;
            }
        }
        epilogue.tile(sums, row + ty, column + tx);
    }
    epilogue.end(row + ty, (int)blockIdx.y);
}

template <typename A, typename B, class Epilogue>
ridge_status any_run(const any_matrix<A> &a, const any_matrix<B> &b, int64_t m, int64_t n, int64_t depth, int run,
                     const Epilogue &epilogue, cudaStream_t stream) {
    const int64_t x = (m + ANY_TILE - 1) / ANY_TILE, tiles = (n + ANY_TILE - 1) / ANY_TILE, y = (tiles + run - 1) / run;
    if (m == 0 || n == 0) return RIDGE_OK;
    if (x > INT32_MAX || y > 65535) return RIDGE_UNSUPPORTED;
    any_product<<<dim3((unsigned)x, (unsigned)y), 256, 0, stream>>>(a, b, m, n, depth, run, epilogue);
    return launched();
}

/* Tiles that make one part, so that there are at most LINEAR_PARTS parts. */
inline int parts_run(int64_t classes, int tile) {
    const int64_t tiles = (classes + tile - 1) / tile;
    return (int)((tiles + LINEAR_PARTS - 1) / LINEAR_PARTS);
}
inline int parts_count(int64_t classes, int tile) {
    const int64_t columns = (int64_t)tile * parts_run(classes, tile);
    return (int)((classes + columns - 1) / columns);
}

__device__ inline float any_row_max(float v) {
    for (int mask = 8; mask > 0; mask /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, mask));
    return v;
}
__device__ inline float any_row_sum(float v) {
    for (int mask = 8; mask > 0; mask /= 2) v += __shfl_xor_sync(0xffffffffu, v, mask);
    return v;
}

/* Logits in units of log 2; those beyond the classes are -inf. */
__device__ inline void any_logits(float (&v)[4][4], const float *bias, int64_t column, int64_t classes) {
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const bool inside = column + j < classes;
        const float b = inside ? bias[column + j] : 0.0f;
#pragma unroll
        for (int i = 0; i < 4; i++) v[i][j] = inside ? (v[i][j] + b) * log2_e : -INFINITY;
    }
}

/* ---- statistics of the logits; Keep: and the exponentials, 2^(v - shift) with a shift for every row and tile ---- */

template <typename G, bool Keep>
struct any_statistics {
    using kept = kept_type<G>;
    const float *bias;
    const int *labels;
    softmax_part *parts;
    float *logit_sums, *label_logit; /* logit_sums: NULL without smoothing */
    int64_t rows, classes;
    kept *exponentials;
    int64_t stride;
    float *shifts; /* [tiles][rows] */
    softmax_part part[4];
    float logits[4];

    __device__ void begin(void) {
#pragma unroll
        for (int i = 0; i < 4; i++) part[i] = {-INFINITY, 0.0f}, logits[i] = 0.0f;
    }
    __device__ void tile(float (&v)[4][4], int64_t row, int64_t column) {
        any_logits(v, bias, column, classes);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int label = row + i < rows ? labels[row + i] : -1;
            float top = -INFINITY, sum = 0.0f, all = 0.0f;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (label == column + j && label >= 0 && label < classes) label_logit[row + i] = v[i][j];
                top = fmaxf(top, v[i][j]);
                all += column + j < classes ? v[i][j] : 0.0f;
            }
            top = ceilf(any_row_max(top));
            const float shift = (top == -INFINITY ? 0.0f : top) - (Keep ? kept_scale<kept> : 0);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const float e = exp2f(v[i][j] - shift);
                sum += e;
                if (Keep && row + i < rows && column + j < classes)
                    exponentials[(row + i) * stride + column + j] = from_float<kept>(e);
            }
            if (Keep && row + i < rows && threadIdx.x % 16 == 0) shifts[column / ANY_TILE * rows + row + i] = shift;
            const softmax_part here = {shift, any_row_sum(sum)};
            part[i] = part[i].shift == -INFINITY ? here : merge_parts(part[i], here);
            logits[i] += any_row_sum(all);
        }
    }
    __device__ void end(int64_t row, int unit) const {
        if (threadIdx.x % 16 != 0) return;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (row + i >= rows) continue;
            parts[(int64_t)unit * rows + row + i] = part[i];
            if (logit_sums) logit_sums[(int64_t)unit * rows + row + i] = logits[i];
        }
    }
};

/* ---- gradients of the logits ---- */

template <typename G>
struct any_gradient {
    const float *bias;
    const row_gradient *row_of; /* of the chunk */
    G *gradient;
    int64_t stride, rows, classes;

    __device__ void begin(void) {}
    __device__ void tile(float (&v)[4][4], int64_t row, int64_t column) {
        any_logits(v, bias, column, classes);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (row + i >= rows) continue;
            const row_gradient r = row_of[row + i];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (column + j >= classes) continue;
                float g = r.label < 0 ? 0.0f : fmaf(r.coef, exp2f(v[i][j] - r.log_sum), -r.off);
                if (column + j == r.label) g -= r.hit;
                gradient[(row + i) * stride + column + j] = from_float<G>(g);
            }
        }
    }
    __device__ void end(int64_t, int) const {}
};

/* ---- logits to memory, fp32 ---- */

template <typename T>
struct any_logits_store {
    float *z;
    int64_t line;
    const T *bias;
    int64_t rows, classes;

    __device__ void begin(void) {}
    __device__ void tile(float (&v)[4][4], int64_t row, int64_t column) {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (row + i < rows && column + j < classes)
                    z[(row + i) * line + column + j] = v[i][j] + to_float(bias[column + j]);
    }
    __device__ void end(int64_t, int) const {}
};

/* ---- C (+)= the sums ---- */

template <typename T>
struct any_store {
    T *c;
    int64_t line, step, rows, columns;
    bool add;

    __device__ void begin(void) {}
    __device__ void tile(float (&v)[4][4], int64_t row, int64_t column) {
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (row + i >= rows || column + j >= columns) continue;
                T *at = c + (row + i) * line + (column + j) * step;
                *at = from_float<T>(add ? to_float(*at) + v[i][j] : v[i][j]);
            }
    }
    __device__ void end(int64_t, int) const {}
};

}  // namespace ridge

#endif

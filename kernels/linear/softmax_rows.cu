/* Maxima start at -FLT_MAX, not at -inf: a row of nothing but -inf becomes 0 / 0 = NaN, as it must, and a thread with
 * nothing but -inf has exponentials of 0. */
#include <float.h>

#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/rows/softmax.cuh"
#include "cuda/tile/pack.cuh"
#include "linear/softmax_rows.cuh"

namespace ridge {

/* A team of more than a warp is a block. */
template <int Team>
constexpr int softmax_threads = Team > 32 ? Team : 256;

/* A row as a thread of its team sees it: fours of neighbours where they lie whole in z, bias and p, so that an access is 16
 * bytes; else four elements a team apart, so that lanes have neighbours. All loads of a piece are asked for before one is
 * waited for. Columns behind the end are -inf. */
template <typename T, int Team, int Fours>
struct logit_row {
    using piece = float[Fours][4];
    static constexpr int length = 4 * Team * Fours;
    const float *z;
    const T *bias; /* NULL: none */
    T *p;
    int classes, thread;
    bool wide;

    __device__ int four(int begin, int f) const { return begin + 4 * (f * Team + thread); }
    __device__ int single(int begin, int f, int e) const { return begin + (4 * f + e) * Team + thread; }

    __device__ void load(piece &v, int begin) const {
        if (wide)
            load_fours(v, begin);
        else
            load_singles(v, begin);
    }
    __device__ void load_fours(piece &v, int begin) const {
#pragma unroll
        for (int f = 0; f < Fours; f++) {
            float4 t = make_float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
            if (four(begin, f) < classes) t = *(const float4 *)(z + four(begin, f));
            v[f][0] = t.x, v[f][1] = t.y, v[f][2] = t.z, v[f][3] = t.w;
        }
        if (!bias) return;
#pragma unroll
        for (int f = 0; f < Fours; f++) {
            pack<T, 4> b = {};
            if (four(begin, f) < classes) b = *(const pack<T, 4> *)(bias + four(begin, f));
#pragma unroll
            for (int e = 0; e < 4; e++) v[f][e] += to_float(b.v[e]);
        }
    }
    __device__ void load_singles(piece &v, int begin) const {
#pragma unroll
        for (int f = 0; f < Fours; f++)
#pragma unroll
            for (int e = 0; e < 4; e++) v[f][e] = single(begin, f, e) < classes ? z[single(begin, f, e)] : -INFINITY;
        if (!bias) return;
#pragma unroll
        for (int f = 0; f < Fours; f++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                v[f][e] += single(begin, f, e) < classes ? to_float(bias[single(begin, f, e)]) : 0.0f;
    }
    __device__ void store(const piece &v, int begin) const {
#pragma unroll
        for (int f = 0; f < Fours; f++) {
            pack<T, 4> t;
#pragma unroll
            for (int e = 0; e < 4; e++) t.v[e] = from_float<T>(v[f][e]);
            if (wide) {
                if (four(begin, f) < classes) *(pack<T, 4> *)(p + four(begin, f)) = t;
                continue;
            }
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (single(begin, f, e) < classes) p[single(begin, f, e)] = t.v[e];
        }
    }
};

template <typename T>
struct logit_rows_of : logit_rows {
    bool wide;

    template <class Row>
    __device__ Row row(int64_t i, int thread) const {
        const int64_t of_x = heads == 1 ? i : i <= INT32_MAX ? (unsigned)i / (unsigned)heads : i / heads;
        const int64_t head = i - of_x * heads;
        return {z + of_x * z_line + head * z_head,
                bias ? (const T *)bias + head * bias_head : nullptr,
                (T *)p + of_x * p_line + head * p_head,
                (int)classes,
                thread,
                wide};
    }
};

/* Fours: that a thread keeps. Kept: they are all of a row; longer rows are read again to be written. Maximum and sum have an
 * exchange each: merged in one, as row_softmax has it, 2048 rows of 8192 took 55 us on an H100 instead of 38. */
template <typename T, int Team, int Fours, bool Kept>
__global__ void __launch_bounds__(softmax_threads<Team>)
    softmax_rows_kernel(const __grid_constant__ logit_rows_of<T> all) {
    constexpr int rows = softmax_threads<Team> / Team;
    __shared__ row_slots<Team> slots;
    row_exchange<Team, false> exchange(&slots);
    const int64_t i = (int64_t)blockIdx.x * rows + (int)threadIdx.x / Team;
    const bool exists = i < all.rows * all.heads;
    after_previous_launch();
    const auto row = all.template row<logit_row<T, Team, Fours>>(exists ? i : 0, (int)threadIdx.x % Team);
    const int end = exists ? row.classes : 0;
    float v[Fours][4], most = -FLT_MAX, sum = 0.0f;
    const auto each = [&](auto f) {
#pragma unroll
        for (int k = 0; k < Fours; k++)
#pragma unroll
            for (int e = 0; e < 4; e++) f(v[k][e]);
    };
    if (Kept) row.load(v, exists ? 0 : row.classes);
    for (int begin = 0; begin < (Kept ? 1 : end); begin += row.length) {
        if (!Kept) row.load(v, begin);
        float larger = most;
        each([&](float &x) { larger = fmaxf(larger, x); });
        if (!Kept) sum *= softmax_exponential(most, larger);
        most = larger;
        if (!Kept) each([&](float &x) { sum += softmax_exponential(x, most); });
    }
    const float largest = exchange.merged(most, [](float a, float b) { return fmaxf(a, b); });
    if (Kept)
        each([&](float &x) { sum += x = softmax_exponential(x, largest); });
    else
        sum *= softmax_exponential(most, largest);
    const float scale = 1.0f / exchange.merged(sum, row_plus());
    for (int begin = 0; begin < end; begin += row.length) {
        if (!Kept) row.load(v, begin), each([&](float &x) { x = softmax_exponential(x, largest); });
        each([&](float &x) { x *= scale; });
        row.store(v, begin);
    }
}

template <typename T>
static ridge_status softmax_rows_as(const logit_rows &r, cudaStream_t stream) {
    logit_rows_of<T> all = {r, false};
    const int64_t fours = r.z_line | r.z_head | r.p_line | r.p_head | (r.bias ? r.bias_head : 0);
    const uintptr_t of_type = (uintptr_t)r.p | (uintptr_t)r.bias;
    all.wide = fours % 4 == 0 && r.classes % 4 == 0 && (uintptr_t)r.z % 16 == 0 && of_type % (4 * sizeof(T)) == 0;
    const auto run = [&]<int Team, int Fours, bool Kept>() {
        constexpr int threads = softmax_threads<Team>, rows = threads / Team;
        const int64_t blocks = (r.rows * r.heads + rows - 1) / rows;
        if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
        return launch_overlapping(softmax_rows_kernel<T, Team, Fours, Kept>, {dim3((unsigned)blocks), threads}, stream,
                                  device_overlaps(), all);
    };
    /* An H100's fastest of those tried: few elements a thread, so that many rows are under way; from 8192 classes on reading
     * a row again from L2 is as fast as keeping it. */
    if (r.classes <= 8) return run.template operator()<2, 1, true>();
    if (r.classes <= 16) return run.template operator()<4, 1, true>();
    if (r.classes <= 32) return run.template operator()<8, 1, true>();
    if (r.classes <= 64) return run.template operator()<16, 1, true>();
    if (r.classes <= 128) return run.template operator()<32, 1, true>();
    if (r.classes <= 256) return run.template operator()<32, 2, true>();
    if (r.classes <= 512) return run.template operator()<128, 1, true>();
    if (r.classes <= 1024) return run.template operator()<128, 2, true>();
    if (r.classes <= 4096) return run.template operator()<512, 2, true>();
    if (r.classes <= 8192) return run.template operator()<1024, 2, true>();
    if (r.classes <= 16384) return run.template operator()<256, 4, false>();
    return run.template operator()<1024, 2, false>();
}

ridge_status linear_softmax_rows_of(const logit_rows &r, ridge_dtype dtype, cudaStream_t stream) {
    if (r.rows == 0 || r.heads == 0) return RIDGE_OK;
    return with_storage(ridge_dtype_stored(dtype), [&]<typename T>() { return softmax_rows_as<T>(r, stream); });
}

}  // namespace ridge

/* Gradients of a norm in one pass: threads have a row's x and dy in registers, and the next row's under way. They stay from the first
 * row to the last, with the sums over their rows of their columns; a second launch adds those of all groups of threads. */
#ifndef RIDGE_NORM_BACKWARD_HELD_CUH
#define RIDGE_NORM_BACKWARD_HELD_CUH

#include "cuda/rows/row.cuh"
#include "norm_backward/problem.cuh"

namespace ridge {

/* Pieces of 16 bytes of a row of x and of dy, as they lie in memory; zeros where the row has none. */
template <int Packs>
struct norm_back_row {
    uint4 x[Packs], dy[Packs];
};

template <typename T, bool Centered, int Threads, int Packs, int Blocks>
struct norm_back_held {
    static constexpr int groups = Threads < 128 ? 128 / Threads : 1, block = Threads * groups, W = pack_width<T>;
    using row = norm_back_row<Packs>;
    using exchange = row_exchange<Threads, (Blocks > 1)>;

    const norm_back_problem<T> &p;
    int thread; /* of the row's */

    __device__ int column(int k) const { return (thread + k * Threads * Blocks) * W; }
    __device__ bool present(int k) const { return column(k) < p.cols; }

    __device__ void load(row &r, int64_t i) const {
#pragma unroll
        for (int k = 0; k < Packs; k++) {
            const bool here = i < p.rows && present(k);
            r.x[k] = load_once_if(p.x.row(i) + column(k), here);
            r.dy[k] = load_once_if(p.dy.row(i) + column(k), here);
        }
    }
    __device__ static void values(const uint4 &words, float (&v)[W]) { unpack(elements_of<T, W>(words), v); }
    /* x - mean, or x; 0 where there is none. */
    __device__ void centered(const uint4 &words, float mean, int k, float (&v)[W]) const {
        values(words, v);
        if constexpr (Centered)
#pragma unroll
            for (int e = 0; e < W; e++) v[e] = present(k) ? v[e] - mean : 0.0f;
    }
    __device__ void gradients(const uint4 &words, int k, float (&g)[W]) const {
        float gamma[W];
        values(words, g);
        p.gamma_at(column(k), present(k), gamma);
#pragma unroll
        for (int e = 0; e < W; e++) g[e] *= gamma[e];
    }

    /* Means of the row: of x; of g; and over the root, of g n. */
    __device__ norm_back_statistics statistics_of(const row &r, exchange &among) const {
        norm_back_statistics s = {};
        if constexpr (Centered) {
            float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
            for (int k = 0; k < Packs; k++) {
                float x[W], g[W];
                values(r.x[k], x), gradients(r.dy[k], k, g);
#pragma unroll
                for (int e = 0; e < W; e++) sums.x += x[e], sums.y += g[e];
            }
            sums = among.merged(sums, row_plus());
            s.mean = sums.x * p.inverse_cols, s.of_g = sums.y * p.inverse_cols;
        }
        float2 sums = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int k = 0; k < Packs; k++) {
            float d[W], g[W];
            centered(r.x[k], s.mean, k, d), gradients(r.dy[k], k, g);
#pragma unroll
            for (int e = 0; e < W; e++) sums.x = fmaf(d[e], d[e], sums.x), sums.y = fmaf(g[e], d[e], sums.y);
        }
        sums = among.merged(sums, row_plus());
        s.finish(sums.x, sums.y, p.inverse_cols, p.eps);
        return s;
    }

    /* dx of row i, and what the row adds to the sums. */
    __device__ void make(const row &r, const norm_back_statistics &s, int64_t i, float (&dgamma)[Packs][W],
                         float (&dbeta)[Packs][W]) const {
#pragma unroll
        for (int k = 0; k < Packs; k++) {
            float d[W], g[W], dy[W];
            pack<T, W> to;
            centered(r.x[k], s.mean, k, d), gradients(r.dy[k], k, g), values(r.dy[k], dy);
            float more[W] = {};
            if (p.dsum.base) values(load_once_if(p.dsum.row(i) + column(k), present(k)), more);
#pragma unroll
            for (int e = 0; e < W; e++) {
                const float n = d[e] * s.inverse;
                dgamma[k][e] = fmaf(dy[e], n, dgamma[k][e]);
                if constexpr (Centered) dbeta[k][e] += dy[e];
                to.v[e] = from_float<T>(s.template dx<Centered>(g[e], n) + more[e]);
            }
            if (present(k)) store_once(p.dx.row(i) + column(k), to);
        }
    }

    __device__ void run(exchange &among) const {
        const int64_t first = (int64_t)(blockIdx.x / Blocks) * groups + (Blocks > 1 ? 0 : (int)threadIdx.x / Threads),
                      step = (int64_t)(gridDim.x / Blocks) * groups;
        float dgamma[Packs][W] = {}, dbeta[Packs][W] = {};
        row next;
        load(next, first);
        for (int64_t i = first; i < p.rows; i += step) {
            const row now = next;
            load(next, i + step);
            make(now, statistics_of(now, among), i, dgamma, dbeta);
        }
        float *const sums = p.sums + first * norm_back_sums<Centered> * p.line;
#pragma unroll
        for (int k = 0; k < Packs; k++)
#pragma unroll
            for (int e = 0; e < W; e += 4) {
                if (!present(k)) continue;
                *(float4 *)(sums + column(k) + e) =
                    make_float4(dgamma[k][e], dgamma[k][e + 1], dgamma[k][e + 2], dgamma[k][e + 3]);
                if (Centered)
                    *(float4 *)(sums + p.line + column(k) + e) =
                        make_float4(dbeta[k][e], dbeta[k][e + 1], dbeta[k][e + 2], dbeta[k][e + 3]);
            }
    }
};

/* Groups of threads that have no row have sums of zero. */
template <typename T, bool Centered, int Threads, int Packs, int Blocks, int Resident>
__global__ void __launch_bounds__((norm_back_held<T, Centered, Threads, Packs, Blocks>::block),
                                  (Resident / norm_back_held<T, Centered, Threads, Packs, Blocks>::block))
    norm_back_kernel(const __grid_constant__ norm_back_problem<T> p) {
#if __CUDA_ARCH__ >= 900
    constexpr bool has_code = true;
#else
    constexpr bool has_code = Blocks == 1;
#endif
    if constexpr (has_code) {
        using held = norm_back_held<T, Centered, Threads, Packs, Blocks>;
        __shared__ row_slots<Threads> slots;
        typename held::exchange among(&slots);
        int thread = (int)threadIdx.x % Threads;
        if constexpr (Blocks > 1) thread += cluster_ctarank() * Threads;
        among.begin();
        among.meet();
        held{p, thread}.run(among);
    } else {
        __trap(); /* launched on devices with clusters alone */
    }
}

template <typename T, bool Centered, int Threads, int Packs, int Blocks, int Resident>
ridge_status norm_back_in(const ridge_call *call) {
    const norm_back_tile *tile = (const norm_back_tile *)call->way->own;
    const norm_back_problem<T> p(call, (float *)call->scratch);
    const int64_t units = norm_back_units(tile, p.rows, device_limit(cudaDevAttrMultiProcessorCount));
    using held = norm_back_held<T, Centered, Threads, Packs, Blocks>;
    if (units > 0)
        RIDGE_TRY(launch(norm_back_kernel<T, Centered, Threads, Packs, Blocks, Resident>,
                         {dim3((unsigned)(units * Blocks)), held::block, 0, Blocks}, stream_of(call), p));
    return norm_back_add<Centered>(call, p.sums, units * held::groups);
}

}  // namespace ridge

#endif

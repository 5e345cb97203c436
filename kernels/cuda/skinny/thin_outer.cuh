/* C = A B of few terms: A [rows, terms] of up to 128 columns, B [terms, columns] with any number of them. C is many
 * times what is read: its floor is the time to write C.
 *
 * By mma.sync as in skinny/thin.cuh: A goes from memory to registers, 16 bytes of a row by a lane. A block has 64
 * columns of B, put into shared memory in the order of fragments, and its warps take turns at tiles of rows.
 *
 * Which of a fragment's columns is which of B's is free: a lane's are those of 16 consecutive bytes of C. Rows of a
 * block are of one phase of C (skinny/thin_row.cuh), its columns begin in front of the row's first by as much as that
 * lies behind a boundary: so every lane stores whole 16 bytes, except at the ends of a row. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_THIN_OUTER_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_THIN_OUTER_CUH

#include "cuda/skinny/thin.cuh"

namespace ridge {

constexpr int outer_tiles = OUTER_COLUMNS / 8;

/* A's lines begin at multiples of 16 bytes and are as long as whole pieces of 16 bytes; what is behind its terms is of
 * no matter. T: of B and C. */
template <typename A, typename T>
struct outer_args {
    const A *a;
    int64_t a_line, rows, share; /* share: tiles of rows of a block */
    int terms, steps;
    const T *b; /* element (term k, column n) is at n b_line + k b_step */
    int64_t b_line, b_step;
    T *c;
    int64_t c_line;
    int columns;
    thin_phases phases; /* of C's rows */
};

/* The column of fragment tile `tile` that a lane group's number n names. */
template <typename T>
__device__ inline int outer_column(int tile, int n) {
    constexpr int L = pack_width<T>, of_lane = L / 2; /* tiles that make a lane's 16 bytes */
    return tile / of_lane * (4 * L) + n / 2 * L + tile % of_lane * 2 + n % 2;
}

/* A block's columns, from `first` on, to shared memory: [step][tile][parts][lane]. */
template <typename A, typename T, bool Exact>
__device__ inline void outer_fill(const outer_args<A, T> &p, int first, uint4 *room) {
    constexpr int n = pack_width<A>, parts = Exact ? 2 : 1;
    for (int e = (int)threadIdx.x; e < p.steps * outer_tiles * 32; e += 32 * THIN_WARPS) {
        const int lane = e % 32, tile = e / 32 % outer_tiles, step = e / (32 * outer_tiles);
        const int column = first + outer_column<T>(tile, lane / 4), k = step * thin_step<A> + lane % 4 * n;
        const T *const from = p.b + column * p.b_line + k * p.b_step;
        const bool exists = column >= 0 && column < p.columns;
        pack<T, n> v;
#pragma unroll
        for (int i = 0; i < n; i++) v.v[i] = exists && k + i < p.terms ? from[i * p.b_step] : from_float<T>(0.0f);
#pragma unroll
        for (int part = 0; part < parts; part++) {
            pack<A, n> w;
#pragma unroll
            for (int i = 0; i < n; i++)
                w.v[i] = thin_element<A>(v.v[i], !Exact ? THIN_WHOLE : part == 0 ? THIN_HI : THIN_LO);
            room[(e / 32 * parts + part) * 32 + lane] = words_of(w);
        }
    }
}

/* A lane's rows of a tile. */
template <bool Exact>
struct outer_rows {
    static constexpr int count = thin_lane_rows<outer_tiles, Exact>;
    thin_where at;

    __device__ int64_t row(int r) const { return at.row((int)threadIdx.x % 32 / 4 + 8 * r); }
    template <typename A, typename T>
    __device__ void load(const outer_args<A, T> &p, int step, uint4 (&v)[count]) const {
        const int k = step * thin_step<A> + (int)threadIdx.x % 4 * pack_width<A>;
        const thin_cut<A> cut = {0, p.terms - k};
#pragma unroll
        for (int r = 0; r < count; r++)
            v[r] = ld_global_if(p.a + row(r) * p.a_line + k, k < p.terms && row(r) < p.rows);
#pragma unroll
        for (int r = 0; r < count; r++) v[r] = cut.of(v[r]);
    }
};

/* A lane's elements, from `column` on. */
template <typename T>
__device__ inline void outer_store(T *line, int column, int columns, const float (&v)[pack_width<T>]) {
    pack<T, pack_width<T>> all;
#pragma unroll
    for (int e = 0; e < pack_width<T>; e++) all.v[e] = from_float<T>(v[e]);
    if (column >= 0 && column + pack_width<T> <= columns) {
        st_global_v4(line + column, words_of(all));
        return;
    }
#pragma unroll
    for (int e = 0; e < pack_width<T>; e++)
        if (column + e >= 0 && column + e < columns) line[column + e] = all.v[e];
}
template <typename A, typename T, bool Exact>
__device__ inline void outer_store_rows(const outer_args<A, T> &p, const outer_rows<Exact> &rows, int first,
                                        const float (&sums)[thin_m<outer_tiles, Exact>][outer_tiles][4]) {
    constexpr int L = pack_width<T>, of_lane = L / 2;
#pragma unroll
    for (int r = 0; r < outer_rows<Exact>::count; r++) {
        if (rows.row(r) >= p.rows) continue;
        T *const line = p.c + rows.row(r) * p.c_line;
#pragma unroll
        for (int tile = 0; tile < outer_tiles; tile += of_lane) {
            float v[L];
#pragma unroll
            for (int e = 0; e < L; e++) v[e] = sums[r / 2][tile + e / 2][r % 2 * 2 + e % 2];
            outer_store(line, first + outer_column<T>(tile, (int)threadIdx.x % 4 * 2), p.columns, v);
        }
    }
}

/* An infinity has no lo part: what a lane stored again, by multiply-adds. */
template <typename A, typename T>
__device__ void outer_again(const outer_args<A, T> &p, const outer_rows<true> &rows, int first) {
    constexpr int L = pack_width<T>;
    for (int i = 0; i < outer_rows<true>::count * outer_tiles * 2; i++) {
        const int r = i % outer_rows<true>::count, j = i / outer_rows<true>::count;
        const int column = first + j / L * (4 * L) + (int)threadIdx.x % 4 * L + j % L;
        if (rows.row(r) >= p.rows || column < 0 || column >= p.columns) continue;
        p.c[rows.row(r) * p.c_line + column] =
            from_float<T>(ffma_chain(0.0f, p.a + rows.row(r) * p.a_line, p.b + column * p.b_line, p.b_step, p.terms));
    }
}
template <int M, int NT>
__device__ inline bool outer_is_finite(const float (&sums)[M][NT][4]) {
    bool finite = true;
#pragma unroll
    for (int i = 0; i < M * NT * 4; i++) finite &= isfinite(sums[i / (4 * NT)][i / 4 % NT][i % 4]);
    return finite;
}

/* Grid: tiles of columns; phases, then shares of the rows. */
template <typename A, typename T, bool Exact>
__global__ void __launch_bounds__(32 * THIN_WARPS, sizeof(A) + sizeof(T) == 8 ? 2 : 3)
    outer_kernel(const __grid_constant__ outer_args<A, T> p) {
    constexpr int of_tile = thin_rows_of(outer_tiles, Exact), parts = Exact ? 2 : 1;
    extern __shared__ uint4 outer_room[];
    after_previous_launch();
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int phase = (int)blockIdx.y % p.phases.count;
    const int first = (int)blockIdx.x * OUTER_COLUMNS - thin_phase_begin<T>(p.phases, phase);
    const int64_t begin = blockIdx.y / p.phases.count * p.share;
    outer_fill<A, T, Exact>(p, first, outer_room);
    __syncthreads();
    for (int64_t tile = begin + warp; tile < begin + p.share; tile += THIN_WARPS) {
        const outer_rows<Exact> rows = {{phase + tile * of_tile * p.phases.count, p.phases.count}};
        if (rows.at.first >= p.rows) break;
        float sums[thin_m<outer_tiles, Exact>][outer_tiles][4] = {};
#pragma unroll 1
        for (int step = 0; step < p.steps; step++) {
            const uint4 *const b = outer_room + step * (outer_tiles * parts * 32) + lane;
            uint4 v[outer_rows<Exact>::count];
            rows.load(p, step, v);
            thin_add_step<A, outer_tiles, Exact>(
                v, [&](int i) { return b[32 * i]; }, sums);
        }
        outer_store_rows<A, T, Exact>(p, rows, first, sums);
        if constexpr (Exact)
            if (!outer_is_finite(sums)) outer_again(p, rows, first);
    }
}

template <bool Exact, typename A, typename T>
ridge_status outer_run(outer_args<A, T> p, cudaStream_t stream) {
    p.phases = thin_phases_of((uintptr_t)p.c, p.c_line, p.rows, (int)sizeof(T));
    p.steps = (int)thin_steps(p.terms, (int)sizeof(A), true);
    const outer_shares shares = outer_shares_of(p.rows, p.columns, p.phases, (int)sizeof(T), Exact);
    p.share = shares.each;
    if (shares.count * p.phases.count > 65535) return RIDGE_UNSUPPORTED;
    const dim3 grid((unsigned)shares.across, (unsigned)(shares.count * p.phases.count));
    const int bytes = p.steps * outer_tiles * 32 * (int)sizeof(uint4) * (Exact ? 2 : 1);
    return launch_overlapping(outer_kernel<A, T, Exact>, {grid, 32 * THIN_WARPS, bytes}, stream, device_overlaps(), p);
}

}  // namespace ridge

#endif

/* Products of int8 operands with scales of rows and columns, C = (sa A) (sb B)^T, in the pipeline of cuda/gemm/matmul.cuh: lines of
 * 128 bytes are 128 of K. Sums are integers in registers to the end of K, exact, and become fp32 as they leave. */
#ifndef RIDGE_GEMM_INT8_CUH
#define RIDGE_GEMM_INT8_CUH

#include "cuda/maps/plain.cuh"
#include "gemm/gemm8.cuh"

namespace ridge {

/* A: [m, k], B: [n, k], C: [m, n], fp32 or bf16; scales: of m and n numbers. */
struct int8_product {
    matrix_view a, b, c;
    const float *of_rows, *of_columns;
    ridge_dtype dtype; /* of C */
};

/* ---- tiles ---- */

#define RIDGE_TUNED(name, columns_, stages_, cluster_m_, cluster_n_, ...) \
    constexpr matmul_tuning INT8_##name = {                               \
        .columns = columns_, .stages = stages_, .cluster_m = cluster_m_, .cluster_n = cluster_n_};
INT8_TILES(RIDGE_TUNED)
#undef RIDGE_TUNED

/* Scales of a tile's columns, loaded before its products. Each lane of a warp has two neighbours' of every eighth group of eight
 * columns; of a fragment, column 8j + 2 (lane % 4) and the next are with lane 4 (j % 8) + lane % 4. */
template <int N>
struct int8_column_scales {
    float even[N / 64], odd[N / 64];

    __device__ int8_column_scales(const float *scales, int n, int columns) {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < N / 64; i++) {
            const int column = n + 64 * i + 8 * (lane / 4) + fragment_column();
            even[i] = scales[min(column, columns - 1)], odd[i] = scales[min(column + 1, columns - 1)];
        }
    }
    __device__ float2 of_group(int j) const {
        const int from = 4 * (j % 8) + (int)threadIdx.x % 4;
        return make_float2(__shfl_sync(0xffffffffu, even[j / 8], from), __shfl_sync(0xffffffffu, odd[j / 8], from));
    }
};

template <class S>
struct int8_epilogue : gemm8_epilogue<S> {
    static constexpr int N = S::N;
    const float *of_rows, *of_columns;
    struct state { /* scales of the thread's two rows, and of columns */
        float low, high;
        int8_column_scales<N> right;
    };
    __device__ state begin(const matmul_tile &tile, int group) const {
        const int row = tile.m + fragment_row(group);
        return {of_rows[min(row, this->rows - 1)],
                of_rows[min(row + 8, this->rows - 1)],
                {of_columns, this->within(tile, this->share_of(tile)).n, this->columns}};
    }
    /* 64 columns of the thread's sums, scaled. */
    __device__ static void scale(float (&v)[32], const state &s, const int (&sums)[N / 2], int chunk) {
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float2 right = s.right.of_group(8 * chunk + j);
            const int *const four = &sums[32 * chunk + 4 * j];
            v[4 * j] = s.low * __int2float_rn(four[0]) * right.x;
            v[4 * j + 1] = s.low * __int2float_rn(four[1]) * right.y;
            v[4 * j + 2] = s.high * __int2float_rn(four[2]) * right.x;
            v[4 * j + 3] = s.high * __int2float_rn(four[3]) * right.y;
        }
    }
    /* A share's sums as they are. */
    __device__ void keep_integers(const matmul_tile &tile, const int (&sums)[N / 2], int group) const {
        float bits[N / 2];
#pragma unroll
        for (int j = 0; j < N / 2; j++) bits[j] = __int_as_float(sums[j]);
        this->keep(tile, bits, 0, group);
    }
    __device__ void finish(const matmul_tile &tile, const state &s, const int (&sums)[N / 2], uint32_t at,
                           int group) const {
        using slots = store_slots<__nv_bfloat16, N>;
        if (this->across > 0) return keep_integers(tile, sums, group);
        if (!this->wide) {
            slots{at}.template each<slots::chunks>(tile.number, [&](uint32_t to, int chunk) {
                float v[32];
                scale(v, s, sums, chunk);
                put_chunk<__nv_bfloat16>(to, v, 0);
            });
            return;
        }
#pragma unroll
        for (int chunk = 0; chunk < slots::chunks; chunk++) {
            float v[32];
            matmul_tile here = tile;
            here.n += 64 * chunk;
            scale(v, s, sums, chunk);
            store_pairs<64>(this->wide, this->line, this->rows, this->columns, here, v, group, this->pairs);
        }
    }
};

/* The sum of all shares, scaled as a whole one is. */
struct int8_scaled {
    const float *of_rows, *of_columns;
    __device__ float operator()(int sum, int64_t row, int64_t column) const {
        return of_rows[row] * __int2float_rn(sum) * of_columns[column];
    }
};

template <matmul_tuning Tuned>
ridge_status int8_by_tiles(const int8_product &p, cudaStream_t stream, const gemm8_shares &shares = {}) {
    using S = matmul_shape<int8_t, Tuned>;
    int8_epilogue<S> e = {};
    e.of_rows = p.of_rows, e.of_columns = p.of_columns;
    RIDGE_TRY(gemm8_run<S>(p.a, p.b, p.c, p.dtype, e, stream, shares));
    return shares.count < 2 ? RIDGE_OK
                            : gemm8_add<int>(p.c, p.dtype, shares, int8_scaled{p.of_rows, p.of_columns}, stream);
}

/* ---- any operands: a thread an element ---- */

template <typename T, bool Words>
struct int8_element {
    matrix<const int8_t> a, b;
    matrix<T> c;
    const float *of_rows, *of_columns;
    int64_t k;
    __device__ void operator()(int64_t i, int64_t j) const {
        const int8_t *const left = &a.at(i, 0), *const right = &b.at(j, 0);
        const int64_t words = Words ? k / 4 : 0;
        int sum = 0;
        for (int64_t w = 0; w < words; w++) sum = __dp4a(((const int *)left)[w], ((const int *)right)[w], sum);
        for (int64_t d = 4 * words; d < k; d++) sum += left[d] * right[d];
        c.at(i, j) = from_float<T>(of_rows[i] * __int2float_rn(sum) * of_columns[j]);
    }
};

template <typename T, bool Words>
ridge_status int8_by_elements(const ridge_call *call, const int8_product &p) {
    const matrix<const int8_t> a = {(const int8_t *)p.a.base, p.a.line}, b = {(const int8_t *)p.b.base, p.b.line};
    return launch_plain(call, p.c.rows, p.c.columns,
                        int8_element<T, Words>{a, b, {(T *)p.c.base, p.c.line}, p.of_rows, p.of_columns, p.a.columns});
}
inline bool int8_in_words(const matrix_view &v) { return (uintptr_t)v.base % 4 == 0 && v.line % 4 == 0; }
template <typename T>
ridge_status int8_by_elements(const ridge_call *call, const int8_product &p) {
    return int8_in_words(p.a) && int8_in_words(p.b) ? int8_by_elements<T, true>(call, p)
                                                    : int8_by_elements<T, false>(call, p);
}
inline ridge_status int8_by_elements(const ridge_call *call, const int8_product &p) {
    if (p.dtype == RIDGE_F32) return int8_by_elements<float>(call, p);
    return p.dtype == RIDGE_BF16 ? int8_by_elements<__nv_bfloat16>(call, p) : RIDGE_UNSUPPORTED;
}

}  // namespace ridge

#endif

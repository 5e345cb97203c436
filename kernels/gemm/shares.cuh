/* What becomes of sums whose shares of K the blocks of a cluster have (deep shapes, cuda/gemm/matmul.cuh). */
#ifndef RIDGE_GEMM_SHARES_CUH
#define RIDGE_GEMM_SHARES_CUH

#include "gemm/call.cuh"
#include "cuda/gemm/matmul_run.cuh"

namespace ridge {

/* Alpha times a sum. */
struct shares_plain {
    float alpha;
    __device__ float of(float sum, int, int) const { return alpha * sum; }
};

/* C, in storage or in fp32: a value of each sum, and what terms make of it. */
template <typename T, class Value>
struct shares_epilogue {
    void *c;
    int64_t line;
    int rows, columns;
    bool wide, fours; /* four neighbours can be stored at once */
    Value value;
    gemm_terms<T> terms;
    static constexpr int scratch = 0;
    static bool waits(void) { return false; }
    struct state {};

    shares_epilogue(const gemm_call &g, const Value &of)
        : c(g.c.base),
          line(g.c.line),
          rows((int)g.c.rows),
          columns((int)g.c.columns),
          wide(g.wide),
          fours((uintptr_t)c % (4 * (wide ? 4 : sizeof(T))) == 0 && line % 4 == 0),
          value(of),
          terms(g.terms<T>()) {}
    __device__ void prepare(uint32_t) const {}
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void end(void) const {}
    template <typename To>
    __device__ void put(int row, int column, const float (&v)[4]) const {
        To *const to = (To *)c + row * line + column;
        pack<To, 4> some;
#pragma unroll
        for (int e = 0; e < 4; e++) some.v[e] = from_float<To>(v[e]);
        if (fours && column + 4 <= columns) {
            *(pack<To, 4> *)to = some;
            return;
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (column + e < columns) to[e] = some.v[e];
    }
    template <class Sums>
    __device__ void merge(const matmul_tile &tile, const Sums &sums) const {
        const bool more = terms.any();
        sums.merge([&](int i, int j, float(&v)[4]) {
            const int row = tile.m + i, column = tile.n + j;
            if (row >= rows || column >= columns) return;
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int at = min(column + e, columns - 1);
                v[e] = value.of(v[e], row, at);
                if (more) v[e] = terms.of(v[e], row, at);
            }
            if (wide)
                put<float>(row, column, v);
            else
                put<T>(row, column, v);
        });
    }
};

}  // namespace ridge

#endif

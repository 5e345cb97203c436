/* What kernels of a matrix times a vector take, and how blocks of a cluster add their sums. */
#ifndef RIDGE_GEMM_VECTOR_CUH
#define RIDGE_GEMM_VECTOR_CUH

#include "gemm/call.cuh"
#include "cuda/ptx/cluster.cuh"

extern "C" {
#include "gemm/vector.h"
}

namespace ridge {

template <typename T>
struct vector_args {
    const T *w;
    int64_t line; /* elements from one line of w to the next */
    const T *x;
    int64_t x_step;
    int outputs, depth, apart;
    void *c;
    int64_t c_step; /* from one output to the next */
    float alpha;
    bool column, wide; /* outputs are rows of C; of fp32 */
    gemm_terms<T> terms;

    __device__ void put(int output, float sum) const {
        if (output >= outputs) return;
        const float value = terms.of(sum * alpha, column ? output : 0, column ? 0 : output);
        if (wide)
            ((float *)c)[output * c_step] = value;
        else
            ((T *)c)[output * c_step] = from_float<T>(value);
    }
};

/* Without how lines lie. */
template <typename T>
inline vector_args<T> vector_args_of(const gemm_call &g, const gemm_vector_operands &of) {
    vector_args<T> p = {};
    p.w = (const T *)(of.column ? g.a.base : g.b.base);
    p.x = (const T *)(of.column ? g.b.base : g.a.base), p.x_step = of.x_step;
    p.outputs = (int)of.outputs, p.depth = (int)of.k;
    p.c = g.c.base, p.c_step = of.column ? g.c.line : 1;
    p.alpha = g.alpha, p.column = of.column, p.wide = g.wide, p.terms = g.terms<T>();
    return p;
}

/* f.template operator()<T>(g) of a call that has outputs. */
template <typename F>
inline ridge_status vector_by_type(const ridge_call *call, const F &f) {
    const gemm_call g(call);
    if (g.c.rows == 0 || g.c.columns == 0) return RIDGE_OK;
    return with_storage(g.dtype, [&]<typename T>() { return f.template operator()<T>(g); });
}

/* Adds what a cluster's blocks have in `sum`, thread by thread and in the blocks' order. By all threads; false in blocks that have no
 * result: all but the first. */
__device__ inline bool vector_cluster_sum(float *sum, int blocks) {
#if __CUDA_ARCH__ >= 900
    if (blocks == 1) return true;
    __shared__ float of_block[1024];
    const uint32_t mine = shared_address(&of_block[threadIdx.x]);
    of_block[threadIdx.x] = *sum;
    barrier_cluster_sync();
    const bool first = cluster_ctarank() == 0;
    float all = 0.0f;
    if (first)
#pragma unroll
        for (int b = 0; b < GEMM_VECTOR_CLUSTER; b++) all += b < blocks ? ld_shared_cluster(mine, b) : 0.0f;
    barrier_cluster_sync(); /* a block's shared memory lasts as long as it does */
    *sum = all;
    return first;
#else
    return true;
#endif
}

}  // namespace ridge

#endif

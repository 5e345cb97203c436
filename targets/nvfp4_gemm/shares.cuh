/* The end of a product whose blocks share K: C = the shares' sums in fp32, added in one order, times a scale. */
#ifndef NVFP4_GEMM_SHARES_CUH
#define NVFP4_GEMM_SHARES_CUH

#include "cuda/maps/plain.cuh"

namespace {

template <typename T>
struct sum_of_shares {
    const float *sums; /* [shares, m, n] */
    int64_t m, n;
    int shares;
    ridge::matrix<T> c;
    const float *tensor; /* the tensor's scale */
    float undo;          /* what the sums are to be multiplied by besides */
    __device__ void operator()(int64_t i, int64_t j) const {
        float sum = 0.0f;
        for (int s = 0; s < shares; s++) sum += sums[(s * m + i) * n + j];
        c.at(i, j) = ridge::from_float<T>(sum * (*tensor * undo));
    }
};

/* sums: in the call's scratch. */
template <typename T>
ridge_status add_shares(const ridge_call *call, int shares, float undo) {
    const int64_t m = call->dim[FP4_M], n = call->dim[FP4_N];
    const float *tensor = (const float *)ridge_data(&call->in[FP4_TENSOR]);
    return ridge::launch_plain(call, m, n,
                               sum_of_shares<T>{(const float *)call->scratch, m, n, shares,
                                                ridge::matrix_out<T>(&call->out[0]), tensor, undo});
}

}  // namespace

#endif

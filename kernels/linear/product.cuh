/* A product by one of gemm's ways within a larger operation. Host code. */
#ifndef RIDGE_LINEAR_PRODUCT_CUH
#define RIDGE_LINEAR_PRODUCT_CUH

#include "cuda/host/launch.cuh"

extern "C" {
#include "linear/product.h"
}

namespace ridge {

inline ridge_operand operand_of(const DLTensor &t) {
    ridge_operand o = {};
    int64_t dense = 1;
    for (int d = t.ndim - 1; d >= 0; d--) {
        o.stride[d] = t.strides && t.shape[d] > 1 ? t.strides[d] : dense;
        dense *= t.shape[d] > 0 ? t.shape[d] : 1;
    }
    o.offset = (unsigned)((uintptr_t)ridge_data(&t) % RIDGE_OFFSETS);
    return o;
}

/* What a call's way was planned for. extents: of the target. */
inline ridge_problem problem_of(const ridge_call *call, int extents, int inputs, int outputs) {
    ridge_problem p = {};
    p.c.dtype = call->dtype;
    for (int d = 0; d < extents; d++) p.c.dim[d] = call->dim[d];
    for (int t = 0; t < inputs; t++) p.tensor[t] = operand_of(call->in[t]);
    for (int t = 0; t < outputs; t++) p.tensor[inputs + t] = operand_of(call->out[t]);
    p.here.sm = device_capability(), p.here.sm_count = device_limit(cudaDevAttrMultiProcessorCount);
    return p;
}

/* A matrix as gemm's ways take it. */
struct gemm_tensor {
    int64_t shape[2], strides[2];
    DLTensor tensor;

    gemm_tensor(void *data, int64_t rows, int64_t columns, const ridge_operand &o, const DLTensor &like)
        : shape{rows, columns}, strides{o.stride[0], o.stride[1]}, tensor(like) {
        tensor.data = data, tensor.byte_offset = 0;
        tensor.ndim = 2, tensor.shape = shape, tensor.strides = strides;
    }
    gemm_tensor(const gemm_tensor &) = delete;
};

struct gemm_matrices {
    void *a, *b, *c;
};
/* p: of the product, as it was planned. */
inline ridge_status gemm_run(const ridge_call *call, const ridge_way *way, const ridge_problem &p,
                             const gemm_matrices &m, void *scratch) {
    const int64_t rows = p.c.dim[MATMUL_M], columns = p.c.dim[MATMUL_N], depth = p.c.dim[MATMUL_K];
    const gemm_tensor a(m.a, rows, depth, p.tensor[GEMM_A], call->in[0]);
    const gemm_tensor b(m.b, depth, columns, p.tensor[GEMM_B], call->in[0]);
    const gemm_tensor c(m.c, rows, columns, p.tensor[GEMM_C], call->in[0]);
    const DLTensor in[] = {a.tensor, b.tensor};
    ridge_call of = *call;
    of.dim = p.c.dim, of.option = p.c.option, of.in = in, of.out = &c.tensor, of.scratch = scratch, of.way = way;
    return way->run[0](&of);
}
/* One of a plan that no product refused. */
inline ridge_status linear_multiply(const ridge_call *call, const linear_product &of, const gemm_matrices &m,
                                    void *scratch) {
    return gemm_run(call, of.way, of.problem, m, scratch);
}

}  // namespace ridge

#endif

/* A call of softmax(x w + b), and what can be done with it. Its kernels are compiled once for all targets, in
 * linear/softmax_<what>.cu. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_CALL_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_SOFTMAX_CALL_CUH

#include "cuda/linear/copies.cuh"

extern "C" {
#include "cuda/linear/softmax_scratch.h"
}

namespace ridge {

struct linear_softmax_call {
    matrix_view x, w, p; /* w: [classes, depth]; w and p are the first head's */
    const void *bias;
    int heads;
    int64_t w_head, bias_head, p_head; /* from one head's to the next */
    ridge_dtype dtype;
    char *scratch;
    cudaStream_t stream;

    linear_softmax_scratch at(int way) const {
        return linear_softmax_scratch_of(way, x.rows, x.columns, p.columns, heads, dtype);
    }
    /* Of that head alone. */
    linear_softmax_call of_head(int head) const {
        const int64_t bytes = (int64_t)ridge_dtype_size(dtype);
        linear_softmax_call one = *this;
        one.heads = 1;
        one.w.base = (char *)w.base + head * w_head * bytes;
        one.bias = (const char *)bias + head * bias_head * bytes;
        one.p.base = (char *)p.base + head * p_head * bytes;
        return one;
    }
};

/* By a way of linear/softmax_ways.h: few classes in fp32; tiles that exchange their rows' sums; operands copied first; few
 * rows; few columns. */
ridge_status linear_softmax_rows(int way, const linear_softmax_call &c);
ridge_status linear_softmax_tiles(int way, const linear_softmax_call &c);
ridge_status linear_softmax_copies(const linear_softmax_call &c);
ridge_status linear_softmax_few_rows(const linear_softmax_call &c);
ridge_status linear_softmax_thin(const linear_softmax_call &c);

inline ridge_status linear_softmax_by(int way, const linear_softmax_call &c) {
    if (c.p.rows == 0) return RIDGE_OK;
    if (way == LINEAR_FEW_ROWS) return linear_softmax_few_rows(c);
    if (way == LINEAR_THIN) return linear_softmax_thin(c);
    if (way == LINEAR_COPIED) return linear_softmax_copies(c);
    return way < SKINNY_WAYS ? linear_softmax_rows(way, c) : linear_softmax_tiles(way, c);
}
/* 16 bits: copies w of all heads side by side, each filled up to whole tiles, and x where TMA does not take it. Both, as the
 * product takes them. */
struct linear_heads_operands {
    matrix_view x, w;
};
ridge_status linear_softmax_pack(const linear_softmax_call &c, linear_heads_operands *packed);
}  // namespace ridge

#endif

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

/* By a way of linear/softmax_ways.h: few classes in fp32; tiles that exchange their rows' sums; logits in memory;
 * operands copied first; few rows; few columns. */
ridge_status linear_softmax_rows(int way, const linear_softmax_call &c);
ridge_status linear_softmax_tiles(int way, const linear_softmax_call &c);
ridge_status linear_softmax_logits(int way, const linear_softmax_call &c);
ridge_status linear_softmax_copies(const linear_softmax_call &c);
ridge_status linear_softmax_few_rows(const linear_softmax_call &c);
ridge_status linear_softmax_thin(const linear_softmax_call &c);

inline ridge_status linear_softmax_by(int way, const linear_softmax_call &c) {
    if (c.p.rows == 0) return RIDGE_OK;
    if (way == LINEAR_FEW_ROWS) return linear_softmax_few_rows(c);
    if (way == LINEAR_THIN) return linear_softmax_thin(c);
    if (way < SKINNY_WAYS || way == LINEAR_LOGITS_WGMMA) return linear_softmax_rows(way, c);
    if (way < LINEAR_LOGITS_16 || way == LINEAR_LOGITS_SPLIT || way == LINEAR_LOGITS_TF32 || way == LINEAR_LOGITS_HALF)
        return linear_softmax_tiles(way, c);
    return way == LINEAR_COPIED ? linear_softmax_copies(c) : linear_softmax_logits(way, c);
}
/* 16 bits: copies w of all heads side by side, as a way of linear_packs_heads has it, and x where TMA does not take it.
 * Both, as the product takes them. */
struct linear_heads_operands {
    matrix_view x, w;
};
ridge_status linear_softmax_pack(int way, const linear_softmax_call &c, linear_heads_operands *packed);
/* Logits in fp32: heads of a row of x side by side. */
struct linear_logits {
    float *z;
    int64_t stride, head;         /* from one row of x to the next, from one head to the next */
    int shares = 1;               /* sums of so many shares of the depth, */
    int64_t next = 0;             /* from one share's to the next's */
    const unsigned *whole = NULL; /* NULL, or set where the first share's are the logits, whatever the others have */
};
/* Softmax of all rows of all heads of p, in place; fp32. */
ridge_status linear_softmax_in_place(const linear_softmax_call &c);
/* The same from logits that are not p. */
ridge_status linear_softmax_of_logits(const linear_softmax_call &c, const linear_logits &l);
/* Logits to p, or elsewhere, by multiply-adds; fp32. only_if: see any_run_as. */
ridge_status linear_softmax_exact(const linear_softmax_call &c, const unsigned *only_if);
ridge_status linear_softmax_exact_to(const linear_softmax_call &c, const linear_logits &l, const unsigned *only_if);

}  // namespace ridge

#endif

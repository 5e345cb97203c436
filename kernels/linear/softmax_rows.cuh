/* p = softmax(z + bias) row by row, of logits in fp32: one head or several. A team of threads has a row in its registers,
 * or reads a longer one twice. */
#ifndef RIDGE_LINEAR_SOFTMAX_ROWS_CUH
#define RIDGE_LINEAR_SOFTMAX_ROWS_CUH

#include "cuda/host/launch.cuh"

namespace ridge {

/* p may be z. */
struct logit_rows {
    const float *z;
    const void *bias; /* of p's type; NULL: none */
    void *p;
    int64_t rows, classes;
    int heads;
    int64_t z_line, z_head, bias_head, p_line, p_head; /* elements from one row, or head, to the next */
};
ridge_status linear_softmax_rows_of(const logit_rows &r, ridge_dtype dtype, cudaStream_t stream);

}  // namespace ridge

#endif

/* Losses of rows of logits in memory, and the gradients of these logits. */
#ifndef RIDGE_LINEAR_LOSS_ROWS_CUH
#define RIDGE_LINEAR_LOSS_ROWS_CUH

#include "cuda/epilogue/loss.cuh"
#include "cuda/host/launch.cuh"

namespace ridge {

/* Statistics of rows are made, or known by their lse, or by `row`, of which each is known. Whatever is NULL is not wanted.
 * A gradient may lie in the place of its logit. */
struct loss_of_logits {
    const float *z;
    int64_t line; /* elements from one row of z, or of gradients, to the next: whole packs */
    int rows, classes;
    const float *bias;
    label_view labels;
    const float *dloss;
    const float *lse_in; /* NULL: made */
    loss_options options;
    float *loss, *lse;
    void *gradient;
    row_gradient *row; /* written, or with `rows_known` read: what makes gradients */
    bool rows_known;
    gradient_range *range;   /* NULL, or what the rows' bounds are noted in */
    const unsigned *only_if; /* NULL, or what says whether there is anything to do */
};
/* dtype: of gradients. */
ridge_status linear_loss_rows(const loss_of_logits &l, ridge_dtype dtype, cudaStream_t stream);

}  // namespace ridge

#endif

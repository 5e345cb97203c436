/* What attention's gradients compute and move. */
#include "attention_backward/problem.h"

static double whole(const ridge_case *c, int dim) { return (double)c->dim[dim]; }

double attention_backward_flops(const ridge_case *c) {
    const double heads = whole(c, ATTENTION_BATCH) * whole(c, ATTENTION_HEADS);
    return heads * attention_scores(c) * (6 * whole(c, ATTENTION_D) + 4 * whole(c, ATTENTION_V));
}
double attention_backward_bytes_read(const ridge_case *c) {
    const double rows = whole(c, ATTENTION_BATCH) * whole(c, ATTENTION_M) * whole(c, ATTENTION_HEADS);
    return attention_bytes_read(c) + rows * ((double)ridge_dtype_size(c->dtype) * 2 * whole(c, ATTENTION_V) + 4);
}
double attention_backward_bytes_written(const ridge_case *c) { return attention_bytes_read(c); }

/* Arguments of the kernels of a linear layer with few classes. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_ARGS_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_ARGS_CUH

#include <stdint.h>

namespace ridge {

/* H heads of p[i, h, :] = softmax(x[i,:] w[h] + b[h]). Strides in elements. Of w, one of the two is 1. */
struct linear_args {
    const float *x, *w, *b;
    float *p;
    int64_t batch, depth, classes;
    int64_t x_row, w_depth, w_class, p_row; /* from one row, step along the depth, class, row to the next */
    int64_t w_head, b_head, p_head;
    int p_width; /* elements of p that can be written at once: 4, 2 or 1 */
};

/* The widest accesses that p allows. */
inline int linear_width(const float *p, int64_t row, int64_t head) {
    for (int width = 4; width > 1; width /= 2)
        if ((uintptr_t)p % (sizeof(float) * width) == 0 && row % width == 0 && head % width == 0) return width;
    return 1;
}

}  // namespace ridge

#endif

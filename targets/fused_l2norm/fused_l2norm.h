/* Constants shared by the descriptor and the kernels of fused_l2norm. */
#ifndef RIDGE_TARGETS_FUSED_L2NORM_H
#define RIDGE_TARGETS_FUSED_L2NORM_H

/* row_traits of the GPU's ways. */
#define L2NORM_ROWS \
    { 0, {8, 32, true}, {16, 32, false}, 0, 0 }

#endif

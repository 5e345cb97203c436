/* Name and places of the tensors of linear_cross_entropy_backward. */
#ifndef RIDGE_TARGET_LINEAR_CROSS_ENTROPY_BACKWARD_H
#define RIDGE_TARGET_LINEAR_CROSS_ENTROPY_BACKWARD_H

#define CE_NAME linear_cross_entropy_backward
#define CE_AT \
    { .lse_in = 4, .dloss = 5, .loss = -1, .lse = -1, .dx = 0, .dw = 1, .db = 2, .products = 3 }

#endif

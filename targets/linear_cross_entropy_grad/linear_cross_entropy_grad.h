/* Name and places of the tensors of linear_cross_entropy_grad. */
#ifndef RIDGE_TARGET_LINEAR_CROSS_ENTROPY_GRAD_H
#define RIDGE_TARGET_LINEAR_CROSS_ENTROPY_GRAD_H

#define CE_NAME linear_cross_entropy_grad
#define CE_AT \
    { .lse_in = -1, .dloss = 4, .loss = 0, .lse = 1, .dx = 2, .dw = 3, .db = 4, .products = 3 }

#endif

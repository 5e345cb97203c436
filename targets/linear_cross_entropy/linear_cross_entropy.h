/* Name and places of the tensors of linear_cross_entropy. */
#ifndef RIDGE_TARGET_LINEAR_CROSS_ENTROPY_H
#define RIDGE_TARGET_LINEAR_CROSS_ENTROPY_H

#define CE_NAME linear_cross_entropy
#define CE_AT \
    { .lse_in = -1, .dloss = -1, .loss = 0, .lse = 1, .dx = -1, .dw = -1, .db = -1, .products = 1 }

#endif

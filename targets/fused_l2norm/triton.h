/* Private to fused_l2norm. */
#ifndef RIDGE_TARGET_FUSED_L2NORM_TRITON_H
#define RIDGE_TARGET_FUSED_L2NORM_TRITON_H

#include "peer/triton.h"

TRITON_DECLARE(l2norm_triton);

#endif

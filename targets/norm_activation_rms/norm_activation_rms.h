/* Constants shared by the descriptor and the kernels of norm_activation_rms. */
#ifndef RIDGE_TARGETS_NORM_ACTIVATION_RMS_H
#define RIDGE_TARGETS_NORM_ACTIVATION_RMS_H

#include "model/norm_eps.h"

/* row_traits of the GPU's ways. */
#define NORM_ACTIVATION_RMS_ROWS \
    { 1, {8, 32, false}, {16, 32, false}, 0, 0 }

#endif

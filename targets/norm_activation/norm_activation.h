/* Constants shared by the descriptor and the kernels of norm_activation. */
#ifndef RIDGE_TARGETS_NORM_ACTIVATION_H
#define RIDGE_TARGETS_NORM_ACTIVATION_H

#include "model/norm_eps.h"
#include "ridge/target.h"

const char *norm_activation_onednn_unavailable(const ridge_case *c);
ridge_status norm_activation_prepare_onednn(const ridge_case *c, int threads, void **plan);
void norm_activation_release_onednn(void *plan);
ridge_status norm_activation_onednn(const ridge_call *call);

/* row_traits of the GPU's ways. */
#define NORM_ACTIVATION_ROWS \
    { 2, {16, 32, true}, {64, 64, true}, 0, 0 }

#endif

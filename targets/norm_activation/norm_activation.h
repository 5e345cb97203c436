/* oneDNN's layer normalization and GELU: peer.c. */
#ifndef RIDGE_TARGETS_NORM_ACTIVATION_H
#define RIDGE_TARGETS_NORM_ACTIVATION_H

#include "ridge/target.h"

const char *norm_activation_onednn_unavailable(const ridge_case *c);
ridge_status norm_activation_prepare_onednn(const ridge_case *c, int threads, void **plan);
void norm_activation_release_onednn(void *plan);
ridge_status norm_activation_onednn(const ridge_call *call);

#endif

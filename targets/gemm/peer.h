/* Private to gemm: products by CPU libraries, of alpha 1. */
#ifndef RIDGE_TARGET_GEMM_PEER_H
#define RIDGE_TARGET_GEMM_PEER_H

#include "ridge/target.h"

const char *gemm_onednn_unavailable(const ridge_case *c);
ridge_status gemm_onednn_prepare(const ridge_case *c, int threads, void **plan);
ridge_arithmetic gemm_onednn_arithmetic(const ridge_case *c, int sm);
ridge_status gemm_onednn(const ridge_call *call);

const char *gemm_openblas_unavailable(const ridge_case *c);
ridge_status gemm_openblas(const ridge_call *call);

#endif

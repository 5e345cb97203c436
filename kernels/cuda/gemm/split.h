/* What gemm/split.cuh keeps in scratch. Of C and CUDA. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_SPLIT_H
#define RIDGE_KERNELS_CUDA_GEMM_SPLIT_H

enum { SPLIT_FEW = 2048 }; /* columns at most whose largest a launch of its own finds */

#endif

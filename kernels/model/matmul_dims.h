/* C[m,n] = A[m,k] B[k,n]: places in dim[]. */
#ifndef RIDGE_MODEL_MATMUL_DIMS_H
#define RIDGE_MODEL_MATMUL_DIMS_H

enum { MATMUL_M, MATMUL_N, MATMUL_K };

#endif

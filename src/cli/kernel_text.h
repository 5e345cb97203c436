/* The texts of kernels in this very program, as NVIDIA's cuobjdump prints them. */
#ifndef RIDGE_CLI_KERNEL_TEXT_H
#define RIDGE_CLI_KERNEL_TEXT_H

#include "record/kernels.h"

/* Finds the texts of n kernels, each for the newest architecture that a GPU of compute capability sm (times ten) runs. RIDGE_UNSUPPORTED, with
 * what to do: there is no cuobjdump. The caller frees in every case. */
ridge_status ridge_kernel_texts_find(ridge_kernel_record *kernels, int n, int sm, ridge_error *error);
void ridge_kernel_texts_free(ridge_kernel_record *kernels, int n);

#endif

/* The cases of row-wise targets without options: sizes that fill a GPU, and lengths on both sides of every switch of
 * rows/run.cuh (threads a row, blocks a row), few rows of them, so that they are soon verified. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_CASES_H
#define RIDGE_KERNELS_CUDA_ROWS_CASES_H

#include "cuda/rows/ways.h"

#define ROW_CPU_TIMED(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .only = RIDGE_ONLY_CPU }
#define ROW_EDGE(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .edge = true }
#define ROW_CUDA_TIMED(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .only = RIDGE_ONLY_CUDA }
#define ROW_CUDA_EDGE(rows, cols, type) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .edge = true, .only = RIDGE_ONLY_CUDA }

/* 1000003 columns: larger than L2. 2111 x 2113: large enough for streaming stores; rows share cache lines. */
#define ROW_CASES                                                                                               \
    ROW_CPU_TIMED(8192, 2048, F32), ROW_CPU_TIMED(8192, 2048, BF16), ROW_EDGE(1, 1, F32), ROW_EDGE(0, 64, F32), \
        ROW_EDGE(3, 15, F32), ROW_EDGE(7, 1031, F32), ROW_EDGE(3, 1000003, F32), ROW_EDGE(2111, 2113, F32),     \
        ROW_EDGE(1, 1, BF16), ROW_EDGE(5, 31, BF16), ROW_EDGE(7, 1031, BF16), ROW_EDGE(3001, 3001, BF16),       \
        ROW_CUDA_CASES

#define ROW_CUDA_CASES                                                                                              \
    ROW_CUDA_TIMED(32768, 4096, F32), ROW_CUDA_TIMED(32768, 4096, BF16), ROW_CUDA_TIMED(32768, 4096, F16),          \
        ROW_CUDA_TIMED(16384, 16384, F32), ROW_CUDA_TIMED(16384, 16384, BF16), ROW_CUDA_TIMED(2048, 262144, BF16),  \
        ROW_CUDA_TIMED(128, 4096, F32), /* whole packs, and rows that end within one */                             \
        ROW_CUDA_EDGE(131, 63, F32), ROW_CUDA_EDGE(19, 64, F32), ROW_CUDA_EDGE(5, 65, F32),                         \
        ROW_CUDA_EDGE(9, 129, F32), ROW_CUDA_EDGE(5, 257, F32), ROW_CUDA_EDGE(5, 513, F32),                         \
        ROW_CUDA_EDGE(3, 1025, F32), ROW_CUDA_EDGE(3, 2049, F32), ROW_CUDA_EDGE(2, 3073, F32),                      \
        ROW_CUDA_EDGE(3, 4096, F32), ROW_CUDA_EDGE(3, 4097, F32), ROW_CUDA_EDGE(2, 8193, F32),                      \
        ROW_CUDA_EDGE(2, 16384, F32), ROW_CUDA_EDGE(2, 16385, F32), ROW_CUDA_EDGE(2, 32769, F32),                   \
        ROW_CUDA_EDGE(3, 65537, F32), ROW_CUDA_EDGE(1, 131073, F32), ROW_CUDA_EDGE(1, 262144, F32),                 \
        ROW_CUDA_EDGE(1, 262145, F32), /* 16 bit */                                                                 \
        ROW_CUDA_EDGE(259, 1, BF16), ROW_CUDA_EDGE(131, 64, BF16), ROW_CUDA_EDGE(17, 65, BF16),                     \
        ROW_CUDA_EDGE(9, 136, BF16), ROW_CUDA_EDGE(5, 264, BF16), ROW_CUDA_EDGE(5, 1024, BF16),                     \
        ROW_CUDA_EDGE(3, 2056, BF16), ROW_CUDA_EDGE(3, 4104, BF16), ROW_CUDA_EDGE(2, 8200, BF16),                   \
        ROW_CUDA_EDGE(2, 16384, BF16), ROW_CUDA_EDGE(3, 4096, BF16), ROW_CUDA_EDGE(2, 16385, BF16),                 \
        ROW_CUDA_EDGE(2, 32769, BF16), ROW_CUDA_EDGE(3, 65536, BF16), ROW_CUDA_EDGE(2, 131073, BF16),               \
        ROW_CUDA_EDGE(2, 262144, BF16), ROW_CUDA_EDGE(1, 262145, BF16), /* what no CPU variant takes */             \
        ROW_CUDA_EDGE(1, 1, F16), ROW_CUDA_EDGE(0, 64, F16), ROW_CUDA_EDGE(5, 31, F16), ROW_CUDA_EDGE(67, 64, F16), \
        ROW_CUDA_EDGE(7, 1031, F16), ROW_CUDA_EDGE(3, 4096, F16), ROW_CUDA_EDGE(3, 8193, F16),                      \
        ROW_CUDA_EDGE(2, 16385, F16), ROW_CUDA_EDGE(1, 262145, F16),     /* enough rows for persistent clusters */  \
        ROW_CUDA_EDGE(71, 131072, F32), ROW_CUDA_EDGE(71, 262144, BF16), /* short rows, and staged ones */          \
        ROW_CUDA_EDGE(1301, 4, F32), ROW_CUDA_EDGE(517, 8, BF16), ROW_CUDA_EDGE(300, 20, F32),                      \
        ROW_CUDA_EDGE(97, 192, F32), ROW_CUDA_EDGE(41, 512, F32), ROW_CUDA_EDGE(35, 776, F16),                      \
        ROW_CUDA_EDGE(3001, 3, F32), ROW_CUDA_EDGE(1033, 7, F16), ROW_CUDA_EDGE(401, 37, BF16),                     \
        ROW_CUDA_EDGE(53, 511, F32), ROW_CUDA_EDGE(31, 1023, BF16), /* a thread has a row */                        \
        ROW_CUDA_EDGE(259, 2, BF16), ROW_CUDA_EDGE(391, 16, F32), ROW_CUDA_EDGE(133, 15, F16)

#endif

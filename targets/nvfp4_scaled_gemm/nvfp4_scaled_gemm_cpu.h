/* The scratch of the CPU variants, which target.c plans and cpu.c uses. */
#ifndef NVFP4_SCALED_GEMM_CPU_H
#define NVFP4_SCALED_GEMM_CPU_H

#include "quantize/nvfp4_room.h"

static inline int64_t scaled_floats(int64_t n) { return (n + 15) / 16 * 16; }

#endif

/* Private to micro_tiling_matmul. */
#ifndef RIDGE_TARGET_MATMUL_H
#define RIDGE_TARGET_MATMUL_H

#include "model/matmul_dims.h"
#include "ridge/target.h"

RIDGE_CPU_DECLARE(matmul_cpu_baseline);
RIDGE_CPU_DECLARE(matmul_cpu_product); /* by the gemm_way that call->way->number says */
RIDGE_CPU_DECLARE(matmul_cpu_shared);
ridge_status matmul_openblas(const ridge_call *call);
ridge_status matmul_onednn(const ridge_call *call);

/* Upper limits over all instruction sets, which determine the size of scratch. cpu_shared.c asserts them. */
#define MATMUL_NR 32
#define MATMUL_MC (12 * 14)
#define MATMUL_KC 1024
#define MATMUL_PAD 64
/* Lower limits, which determine the number of flags. */
#define MATMUL_NR_LEAST 2
#define MATMUL_KC_LEAST 384

#endif

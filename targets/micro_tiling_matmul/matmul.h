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

#endif

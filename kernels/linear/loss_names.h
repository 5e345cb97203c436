/* The functions of a target of the cross-entropies, of which its header has the name and the places of the tensors:
 * CE_NAME and CE_AT. For target.c and cpu.c. */
#ifndef RIDGE_LINEAR_LOSS_NAMES_H
#define RIDGE_LINEAR_LOSS_NAMES_H

#include "model/cross_entropy.h"
#include "model/token.h"

#define CE_FN(what) TOKEN_JOIN(CE_NAME, what)
TOKEN_DECLARE_CPU(CE_FN(cpu_baseline));
TOKEN_DECLARE_CPU(CE_FN(cpu_fused));
TOKEN_DECLARE_CPU(CE_FN(cpu_chunks));
TOKEN_DECLARE_CPU(CE_FN(cpu_openblas));
TOKEN_DECLARE_CUDA(CE_FN(cuda_baseline));
TOKEN_DECLARE_CUDA(CE_FN(cuda_optimized));

#endif

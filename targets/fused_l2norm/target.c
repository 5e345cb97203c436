/* y[i,:] = x[i,:] / max(||x[i,:]||2, eps)      x, y: [rows, cols], f32, bf16 or f16, rows possibly strided; eps = 1e-12
 * Least traffic: size(x) + size(y) bytes. 3 rows cols FLOP. Bandwidth-bound on every known machine. */
#include "cuda/rows/cases.h"
#include "triton.h"

static const ridge_case cases[] = {ROW_CASES};

static const ridge_way triton_ways[] = {TRITON_WAY(l2norm_triton, "a row a program, in registers")};

#define ROW_NORM_NAME fused_l2norm
#define ROW_NORM_KIND ROW_NORM_L2
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 0
#define ROW_NORM_SUMMARY "row-wise L2 normalization"
#define ROW_NORM_INPUTS ROW_NORM_MATRIX("x")
#define ROW_NORM_FIXED NORM_L2_EPS, ACTIVATION_NONE
#define ROW_NORM_SQUARES
#define ROW_NORM_PEERS                                                                                            \
    {                                                                                                             \
        TRITON_VARIANT("cuda/triton_aot", "Triton's kernel, compiled ahead of time", l2norm_triton, triton_ways), \
            .traffic = optimized_traffic                                                                          \
    }
#include "rows/norm_target.h"

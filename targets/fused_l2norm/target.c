/* y[i,:] = x[i,:] / max(||x[i,:]||2, eps)      x, y: [rows, cols], f32, bf16 or f16, rows possibly strided; eps = 1e-12
 * Least traffic: size(x) + size(y) bytes. 3 rows cols FLOP. Bandwidth-bound on every known machine. */
#include "cuda/rows/cases.h"

static const ridge_case cases[] = {ROW_CASES};

#define ROW_NORM_NAME fused_l2norm
#define ROW_NORM_KIND ROW_NORM_L2
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 0
#define ROW_NORM_SUMMARY "row-wise L2 normalization"
#define ROW_NORM_INPUTS ROW_NORM_MATRIX("x")
#define ROW_NORM_FIXED NORM_L2_EPS, ACTIVATION_NONE
#define ROW_NORM_SQUARES
#include "rows/norm_target.h"

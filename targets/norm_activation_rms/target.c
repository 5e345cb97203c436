/* y = silu(r x gamma), r = 1 / sqrt(mean(x^2) + eps), silu(h) = h / (1 + exp(-h))
 * x [rows, cols], gamma [cols], y [rows, cols]; f32, bf16 or f16, rows possibly strided; eps = 1e-5
 * Least traffic: size(x) + size(y) + the parameters. 8 rows cols FLOP: rows/norm_target.h counts them. */
#include "cuda/rows/cases.h"

static const ridge_case cases[] = {ROW_CASES};

#define ROW_NORM_NAME norm_activation_rms
#define ROW_NORM_KIND ROW_NORM_RMS
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 1
#define ROW_NORM_SUMMARY "RMS norm, then SiLU"
#define ROW_NORM_INPUTS ROW_NORM_MATRIX("x"), ROW_NORM_WEIGHT("gamma")
#define ROW_NORM_FIXED NORM_EPS, ACTIVATION_SILU
#include "rows/norm_target.h"

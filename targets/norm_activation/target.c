/* y = gelu((x - mean) r gamma + beta), r = 1 / sqrt(var + eps), gelu(h) = h (1 + erf(h / sqrt 2)) / 2
 * x [rows, cols], gamma, beta [cols], y [rows, cols]; f32, bf16 or f16, rows possibly strided; eps = 1e-5
 * Least traffic: size(x) + size(y) + the parameters. 10 rows cols FLOP: rows/norm_target.h counts them. */
#include "cuda/rows/cases.h"
#include "norm_activation.h"

static const ridge_case cases[] = {ROW_CASES};

static void onednn_traffic(const ridge_case *c, ridge_traffic *t);

#define ROW_NORM_NAME norm_activation
#define ROW_NORM_KIND ROW_NORM_LAYER
#define ROW_NORM_RESIDUAL 0
#define ROW_NORM_WEIGHTS 2
#define ROW_NORM_SUMMARY "layer norm, then GELU"
#define ROW_NORM_INPUTS ROW_NORM_MATRIX("x"), ROW_NORM_WEIGHT("gamma"), ROW_NORM_WEIGHT("beta")
#define ROW_NORM_FIXED NORM_EPS, ACTIVATION_GELU
#define ROW_NORM_PEERS                                                                                            \
    {                                                                                                             \
        .name = "cpu/onednn", .role = RIDGE_PEER, .idea = "oneDNN's layer normalization, then its GELU in place", \
        .run = RIDGE_ANY_ISA(norm_activation_onednn), .traffic = onednn_traffic,                                  \
        .unavailable = norm_activation_onednn_unavailable, .prepare = norm_activation_prepare_onednn,             \
        .release = norm_activation_release_onednn, .own_threads = true                                            \
    }
#include "rows/norm_target.h"

static void onednn_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2 * tensor_bytes(c) + weight_bytes(c), .written = 2 * tensor_bytes(c)};
}

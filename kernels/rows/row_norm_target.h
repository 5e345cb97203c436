/* A target of the family of norms with options (model/row_norm.h): its cases and ways. Included once, by target.c, which
 * defines before what rows/norm_target.h says. */
#include "cuda/rows/ways.h"
#include "model/activation_words.h"
#include "model/row_norm.h"

#define NORM_TIMED(rows, cols, type, act, where) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {1e-5, ACTIVATION_##act}, .only = RIDGE_ONLY_##where }
#define NORM_EDGE(rows, cols, type, eps, act, wide) \
    { .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {eps, ACTIVATION_##act, wide}, .edge = true }
#define NORM_CUDA(rows, cols, type, eps, act, wide)                                                        \
    {                                                                                                      \
        .dim = {rows, cols}, .dtype = RIDGE_##type, .option = {eps, ACTIVATION_##act, wide}, .edge = true, \
        .only = RIDGE_ONLY_CUDA                                                                            \
    }
/* Every activation, several eps, weights of both types, and lengths on both sides of every switch of rows/run.cuh. An
 * eps of 4 is above the norm of short rows. */
static const ridge_case cases[] = {
    NORM_TIMED(8192, 2048, F32, SILU, CPU),
    NORM_TIMED(8192, 2048, BF16, SILU, CPU),
    NORM_TIMED(32768, 4096, F32, NONE, CUDA),
    NORM_TIMED(32768, 4096, BF16, NONE, CUDA),
    NORM_TIMED(32768, 4096, F16, GELU, CUDA),
    NORM_TIMED(16384, 16384, BF16, NONE, CUDA),
    NORM_TIMED(2048, 262144, BF16, NONE, CUDA),
    NORM_EDGE(1, 1, F32, 1e-5, NONE, 0),
    NORM_EDGE(0, 64, F32, 1e-5, NONE, 0),
    NORM_EDGE(3, 15, F32, 4, GELU, 0),
    NORM_EDGE(7, 1031, F32, 1e-6, GELU_TANH, 0),
    NORM_EDGE(33, 513, F32, 0.25, SILU, 0),
    NORM_EDGE(2111, 2113, F32, 1e-5, RELU, 0), /* large enough for streaming stores; rows share cache lines */
    NORM_EDGE(1, 1, BF16, 0.5, NONE, 1),
    NORM_EDGE(5, 31, BF16, 1e-6, RELU, 1),
    NORM_EDGE(7, 1031, BF16, 1e-5, SILU, 0),
    NORM_EDGE(67, 264, BF16, 4, GELU, 1),
    NORM_EDGE(2111, 2113, BF16, 1e-5, GELU_TANH, 1),
    NORM_CUDA(131, 63, F32, 1e-5, GELU, 0),
    NORM_CUDA(9, 129, F32, 0.5, SILU, 0),
    NORM_CUDA(5, 513, F32, 1e-6, NONE, 0),
    NORM_CUDA(3, 2049, F32, 1e-5, RELU, 0),
    NORM_CUDA(3, 4096, F32, 1e-5, GELU_TANH, 0),
    NORM_CUDA(2, 8193, F32, 1e-5, SILU, 0),
    NORM_CUDA(2, 16385, F32, 1e-5, GELU, 0),
    NORM_CUDA(1, 262145, F32, 1e-5, NONE, 0),
    NORM_CUDA(131, 64, BF16, 1e-5, SILU, 1),
    NORM_CUDA(9, 136, BF16, 0.5, GELU, 0),
    NORM_CUDA(5, 1024, BF16, 1e-6, GELU_TANH, 0),
    NORM_CUDA(3, 4104, BF16, 1e-5, NONE, 1),
    NORM_CUDA(2, 16384, BF16, 1e-5, RELU, 0),
    NORM_CUDA(2, 32769, BF16, 1e-5, SILU, 0),
    NORM_CUDA(1, 262145, BF16, 1e-5, GELU, 1),
    NORM_CUDA(1, 1, F16, 1e-5, GELU, 0),
    NORM_CUDA(67, 64, F16, 1e-5, NONE, 1),
    NORM_CUDA(7, 1031, F16, 1e-6, GELU, 1),
    NORM_CUDA(3, 4096, F16, 0.5, GELU_TANH, 0),
    NORM_CUDA(1, 65537, F16, 1e-5, SILU, 0),
    NORM_CUDA(1301, 4, F32, 1e-5, SILU, 0), /* short rows, and staged ones */
    NORM_CUDA(517, 8, BF16, 1e-5, GELU, 1),
    NORM_CUDA(97, 192, F32, 1e-5, NONE, 0),
    NORM_CUDA(3001, 3, F32, 1e-5, RELU, 0),
    NORM_CUDA(401, 37, BF16, 1e-5, SILU, 1),
    NORM_CUDA(35, 776, F16, 1e-5, NONE, 0),
    NORM_CUDA(5, 1024, F32, 1e-5, NONE, 0), /* rows that fill their threads */
    NORM_CUDA(3, 4096, BF16, 0.5, NONE, 0),
    NORM_CUDA(2, 16384, F32, 1e-5, NONE, 0),
    NORM_CUDA(2, 32776, BF16, 1e-5, NONE, 0),  /* clusters */
    NORM_CUDA(71, 131072, F32, 1e-5, NONE, 0), /* enough rows for persistent ones */
};

#define ROW_NORM_FIXED 0, 0
#define ROW_NORM_OPTIONS                                                                                               \
    {.name = "eps", .fallback = 1e-5}, {.name = "activation", .fallback = ACTIVATION_NONE, .words = activation_words}, \
    {                                                                                                                  \
        .name = ROW_NORM_WEIGHTS > 0 ? "wide" : NULL                                                                   \
    }
#include "rows/norm_target.h"

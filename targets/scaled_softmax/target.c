/* y = softmax(scale x), of a triangle with `causal`; its logarithm with `log`        x, y: [rows, cols]; f32, bf16 or
 * f16 See README.md. */
#define ROW_SOFTMAX_NAME scaled_softmax
#define ROW_SOFTMAX_MASKED 0
#define ROW_SOFTMAX_SUMMARY "softmax of each row times a scale, of a triangle, or its logarithm"
#include "rows/row_softmax_target.h"

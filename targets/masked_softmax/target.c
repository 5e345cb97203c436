/* y = softmax(scale x + mask); its logarithm with `log`        x, y: [rows, cols]; f32, bf16 or f16
 * See README.md. */
#define ROW_SOFTMAX_NAME masked_softmax
#define ROW_SOFTMAX_MASKED 1
#define ROW_SOFTMAX_SUMMARY "softmax of each row times a scale plus a mask, or its logarithm"
#include "rows/row_softmax_target.h"

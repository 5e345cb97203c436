/* scaled_softmax on a CPU: see cpu/row_softmax.h. */
#define ROW_SOFTMAX_NAME scaled_softmax
#define ROW_SOFTMAX_MASKED 0
#include "cpu/row_softmax.h"

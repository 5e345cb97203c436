/* masked_softmax on a CPU: see cpu/row_softmax.h. */
#define ROW_SOFTMAX_NAME masked_softmax
#define ROW_SOFTMAX_MASKED 1
#include "cpu/row_softmax.h"

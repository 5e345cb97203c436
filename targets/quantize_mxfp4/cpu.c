/* MXFP4 on a CPU: see quantize/mx_rows.h. */
#define MX_NAME quantize_mxfp4
#define MX_ELEMENT RIDGE_E2M1
#include "quantize/mx_rows.h"

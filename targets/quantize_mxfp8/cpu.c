/* MXFP8 on a CPU: see quantize/mx_rows.h. */
#define MX_NAME quantize_mxfp8
#define MX_ELEMENT RIDGE_E4M3
#include "quantize/mx_rows.h"

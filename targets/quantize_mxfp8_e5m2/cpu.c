/* MXFP8 in e5m2 on a CPU: see quantize/mx_rows.h. */
#define MX_NAME quantize_mxfp8_e5m2
#define MX_ELEMENT RIDGE_E5M2
#include "quantize/mx_rows.h"

/* MXFP8: blocks of 32 columns of a row, each with a scale in ue8m0
 * x: [rows, cols], f32, bf16 or (GPU) f16, cols a multiple of 32      q: [rows, cols], e4m3
 * s: [row_tiles, tile_bytes], ue8m0, in tiles of 128 rows and 4 blocks (quantize/blocks.h). See README.md. */
#define MX_NAME quantize_mxfp8
#define MX_ELEMENT RIDGE_E4M3
#define MX_SUMMARY "to MXFP8: e4m3, with a power of two for each 32 columns of a row, in tiles"
#include "quantize/mx_target.h"

/* The 128-byte swizzle of TMA and wgmma: in lines of 128 bytes, groups of eight at multiples of 1024, piece p of 16
 * bytes of a line is at piece p ^ (line % 8). */
#ifndef RIDGE_KERNELS_CUDA_TILE_SWIZZLE_CUH
#define RIDGE_KERNELS_CUDA_TILE_SWIZZLE_CUH

namespace ridge {

/* Byte of piece `piece` of a line. */
__device__ inline int swizzle_128B(int line, int piece) { return line * 128 + (piece ^ line % 8) * 16; }
/* Byte of 4-byte element k of a line. */
__device__ inline int swizzle_128B_word(int line, int k) { return swizzle_128B(line, k / 4) + k % 4 * 4; }

}  // namespace ridge

#endif

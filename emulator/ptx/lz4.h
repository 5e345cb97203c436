/* Text that nvcc has packed with LZ4. */
#ifndef EMULATOR_PTX_LZ4_H
#define EMULATOR_PTX_LZ4_H

#include <stdbool.h>
#include <stddef.h>

/* What a block packs is at most this many times as long as the block. */
enum { PTX_LZ4_MOST = 255 };

/* Unpacks one block to exactly plain_bytes; false: it is no block of that content. */
bool ptx_lz4_unpack(const void *packed, size_t packed_bytes, char *plain, size_t plain_bytes);

#endif

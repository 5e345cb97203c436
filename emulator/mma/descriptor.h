/* Matrix descriptors of wgmma: where the elements of an operand lie in shared memory. */
#ifndef EMULATOR_MMA_DESCRIPTOR_H
#define EMULATOR_MMA_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

typedef struct emu_descriptor {
    uint32_t start, leading, stride; /* bytes */
    uint32_t base;                   /* of the swizzle's pattern, in lines of 128 bytes */
    uint32_t line;                   /* bytes of a line of the swizzle's atom; 16: no swizzle */
} emu_descriptor;

/* What is wrong with it, in words; NULL: nothing. */
const char *emu_descriptor_read(uint64_t bits, emu_descriptor *);

/* Addresses of 16 bytes each. K-major: of row r, bytes 16h … of k: [2 r + h]. Otherwise (trans; 16-bit elements): of k,
 * rows 8 g …: [16 g + k]. rows is a multiple of 8, k is 32 bytes long: 2 × rows chunks either way. */
enum { EMU_MAX_CHUNKS = 512 };
void emu_descriptor_chunks(const emu_descriptor *, bool trans, int rows, uint32_t *chunk);
#endif

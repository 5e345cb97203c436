/* Matrix descriptors of wgmma: where the elements of an operand lie in shared memory. */
#ifndef EMULATOR_MMA_DESCRIPTOR_H
#define EMULATOR_MMA_DESCRIPTOR_H

#include <stdbool.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct emu_descriptor {
    uint32_t start, leading, stride; /* bytes */
    uint32_t base;                   /* of the swizzle's pattern, in lines of 128 bytes */
    uint32_t line;                   /* bytes of a line of the swizzle's atom; 16: no swizzle */
    bool wide;                       /* chunks of 32 bytes are swizzled, over four lines of 128 */
} emu_descriptor;

/* What is wrong with it, in words; NULL: nothing. */
const char *emu_descriptor_read(uint64_t bits, emu_descriptor *);

/* Addresses of 16 bytes each, of an operand whose k is `pieces` times 16 bytes long: 2, or 4 of b where a is sparse.
 * K-major: of row r, bytes 16h … of k: [pieces r + h]. Otherwise (trans; 16-bit elements): of k, rows 8 g …:
 * [8 pieces g + k]. rows is a multiple of 8: pieces × rows chunks either way. */
/* Not K-major, of any element: of k, the rows of group g that 16 bytes hold: [ks g + k]. */
void emu_descriptor_lines(const emu_descriptor *, int groups, int ks, uint32_t *chunk);
enum { EMU_MAX_CHUNKS = 1024 };
void emu_descriptor_chunks(const emu_descriptor *, bool trans, int rows, int pieces, uint32_t *chunk);
#endif

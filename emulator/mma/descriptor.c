/* Matrix descriptors (PTX ISA: wgmma, "Matrix descriptor", "Strides"), as an H200 reads them (tests/descriptors.h).
 *
 * Rows are those of a, or columns of b; eight of them are a group. T = 8 elements of 16 bits.
 *
 *              K-major                                     not K-major
 *   no swizzle group: stride; the next 16 bytes of k:      group: stride; the next eight k: leading
 *              leading
 *   swizzle    group: stride; k runs along a line of the   rows run along a line; the next line's rows: leading;
 *              atom                                        the next eight k: stride
 *
 * Within an atom the eight rows (not K-major: the eight k) are a line apart. Bits 4 … of the address are then xored
 * with bits 7 …, less the base offset: one bit for lines of 32 bytes, two for 64, three for 128. Blackwell has lines of 128
 * bytes in chunks of 32, too, for matrices that are not K-major: bits 5 and 6 are xored with 7 and 8, and an atom has four k. */
#include "mma/descriptor.h"

#include <stddef.h>

const char *emu_descriptor_read(uint64_t bits, emu_descriptor *d) {
    static const uint32_t lines[] = {16, 128, 64, 32};
    *d = (emu_descriptor){.start = (uint32_t)(bits & 0x3fff) << 4,
                          .leading = (uint32_t)(bits >> 16 & 0x3fff) << 4,
                          .stride = (uint32_t)(bits >> 32 & 0x3fff) << 4,
                          .base = (uint32_t)(bits >> 49 & 7),
                          .line = lines[bits >> 62]};
    const uint64_t reserved = UINT64_C(3) << 14 | UINT64_C(3) << 30 | UINT64_C(7) << 46 | UINT64_C(0x3ff) << 52;
    return bits & reserved ? "bits 14-15, 30-31, 46-48 and 52-61 must be zero" : NULL;
}

static uint32_t swizzled(const emu_descriptor *d, uint32_t address) {
    if (d->wide) return address ^ (((address >> 7) - d->base) & 3) << 5;
    return d->line == 16 ? address : address ^ (((address >> 7) - d->base) & (d->line / 16 - 1)) << 4;
}

void emu_descriptor_lines(const emu_descriptor *d, int groups, int ks, uint32_t *chunk) {
    const bool plain = d->line == 16;
    const uint32_t atoms = d->line / 16;   /* groups in a line */
    const uint32_t deep = d->wide ? 4 : 8; /* k of an atom */
    for (uint32_t group = 0; group < (uint32_t)groups; group++) {
        uint32_t first = plain ? group * d->stride : group / atoms * d->leading + group % atoms * 16;
        for (uint32_t k = 0; k < (uint32_t)ks; k++)
            *chunk++ = swizzled(d, d->start + first + k % deep * d->line + k / deep * (plain ? d->leading : d->stride));
    }
}

void emu_descriptor_chunks(const emu_descriptor *d, bool trans, int rows, int pieces, uint32_t *chunk) {
    if (trans) {
        emu_descriptor_lines(d, rows / 8, 8 * pieces, chunk);
        return;
    }
    const uint32_t half = d->line == 16 ? d->leading : 16;
    for (uint32_t group = 0; group < (uint32_t)rows / 8; group++)
        for (uint32_t row = 0; row < 8; row++)
            for (uint32_t h = 0; h < (uint32_t)pieces; h++)
                *chunk++ = swizzled(d, d->start + group * d->stride + row * d->line + h * half);
}

/* tcgen05.mma: the instruction decoded, its descriptors, and a product in flight. */
#ifndef EMULATOR_TCGEN05_PRODUCT_H
#define EMULATOR_TCGEN05_PRODUCT_H

#include "mma/descriptor.h"
#include "mma/numbers.h"
#include "tcgen05/tensor.h"

typedef enum emu_tensor_kind {
    EMU_KIND_F16,
    EMU_KIND_TF32,
    EMU_KIND_F8F6F4,
    EMU_KIND_I8,
    EMU_KIND_MXF8F6F4, /* those from here on are block-scaled */
    EMU_KIND_MXF4,
    EMU_KIND_MXF4NVF4,
    EMU_N_KINDS
} emu_tensor_kind;

/* What an instruction descriptor says. k is 32 bytes long in shared memory. */
typedef struct emu_tensor_shape {
    const emu_dot *dot;
    int m, n, k;
    bool saturate, negate_a, negate_b, trans_a, trans_b;
    ptx_type a, b;        /* as they lie in shared memory */
    bool packed;          /* two of 4 bits in a byte, k is 64 */
    bool ws;              /* .ws */
    int scales;           /* of a row, 0: none */
    int scale_a, scale_b; /* the first one's byte */
    bool ue4m3;           /* their type, otherwise ue8m0 */
} emu_tensor_shape;
/* What is wrong with it, in words; NULL: nothing. pair: of two blocks. ws: .ws. scales: of a row, of block-scaled kinds. */
const char *emu_tensor_shape_read(emu_tensor_kind, bool pair, bool ws, int scales, uint32_t bits, emu_tensor_shape *);

/* The descriptor of a matrix in shared memory. What is wrong with it, in words; NULL: nothing. */
const char *emu_tensor_matrix_read(uint64_t bits, ptx_type, bool trans, emu_descriptor *);
/* Its rows as lines of 32 bytes of k, floats of 4 and 6 bits as a byte each, from this block's shared memory. False: an access
 * failed. */
bool emu_tensor_gather(const emu_operation *, emu_block *, uint64_t bits, ptx_type, bool trans, int rows,
                       uint8_t (*line)[EMU_LINE]);
/* 16 elements of 4, 6 or 8 bits, in the first bytes of 16, as a byte each. */
void emu_tensor_unpack(int width, const uint8_t *from, uint8_t to[16]);
void emu_tensor_negate(ptx_type, int rows, uint8_t (*line)[EMU_LINE]);
/* d += a b, as raw bits of the accumulator's type; d is scaled by 2^-scale before. */
void emu_tensor_multiply(const emu_tensor_shape *, const uint8_t (*a)[EMU_LINE], const uint8_t (*b)[EMU_LINE],
                         int scale, uint32_t *d);
/* The same for rows of one block, with words of scales for each row and column. */
void emu_tensor_multiply_scaled(const emu_tensor_shape *, int rows, const uint8_t (*a)[EMU_LINE],
                                const uint8_t (*b)[EMU_LINE], const uint32_t *scale_a, const uint32_t *scale_b,
                                uint32_t *d);
/* Reads the words of scales of so many rows from tensor memory. */
void emu_tensor_scales(const emu_actor *, emu_block *, uint32_t address, int rows, uint32_t *word);

#endif

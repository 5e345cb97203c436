/* tcgen05.mma: the instruction decoded, its descriptors, and a product in flight. */
#ifndef EMULATOR_TCGEN05_PRODUCT_H
#define EMULATOR_TCGEN05_PRODUCT_H

#include "mma/descriptor.h"
#include "mma/numbers.h"
#include "tcgen05/tensor.h"

typedef enum emu_tensor_kind { EMU_KIND_F16, EMU_KIND_TF32, EMU_KIND_F8F6F4, EMU_KIND_I8, EMU_N_KINDS } emu_tensor_kind;

/* What an instruction descriptor says. k is 32 bytes long in shared memory. */
typedef struct emu_tensor_shape {
    const emu_dot *dot;
    int m, n, k;
    bool saturate, negate_a, negate_b, trans_a, trans_b;
} emu_tensor_shape;
/* What is wrong with it, in words; NULL: nothing. pair: of two blocks. */
const char *emu_tensor_shape_read(emu_tensor_kind, bool pair, uint32_t bits, emu_tensor_shape *);

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

#endif

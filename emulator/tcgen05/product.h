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

/* Metadata of sparse A names halves of 16 bits, two of four; of the other kinds, bytes. */
static inline bool emu_tensor_halves(emu_tensor_kind kind) { return kind == EMU_KIND_F16 || kind == EMU_KIND_TF32; }

/* What an instruction's words say. */
typedef struct emu_tensor_form {
    emu_tensor_kind kind;
    bool pair, ws, sparse;
    int scales; /* of a row, of block-scaled kinds */
} emu_tensor_form;

/* An instruction, decoded. */
enum { EMU_TENSOR_MASK_WORDS = 4 /* of disabled lanes of a block */ };
typedef struct emu_tensor_product {
    emu_tensor_form form;
    bool a_in_tensor, masked;
    int scale; /* d is multiplied by 2^-scale */
    emu_address d, a_address, metadata, scale_a, scale_b;
    emu_operand a, b, shape, add, mask[2 * EMU_TENSOR_MASK_WORDS];
} emu_tensor_product;
emu_run emu_tensor_product_run;

/* What an instruction descriptor says. k is 32 bytes long in shared memory; where A is sparse, B's is 64 bytes long, of which
 * each row of A keeps 32. */
typedef struct emu_tensor_shape {
    const emu_dot *dot;
    int m, n, k;
    bool sparse;
    int selector; /* of sparse A's metadata */
    bool saturate, negate_a, negate_b, trans_a, trans_b;
    ptx_type a, b;        /* as they lie in shared memory */
    bool packed;          /* two of 4 bits in a byte, k is 64 */
    bool ws;              /* .ws */
    int scales;           /* of a row, 0: none */
    int scale_a, scale_b; /* the first one's byte */
    bool ue4m3;           /* their type, otherwise ue8m0 */
} emu_tensor_shape;
/* What is wrong with it, in words; NULL: nothing. */
const char *emu_tensor_shape_read(const emu_tensor_form *, uint32_t bits, emu_tensor_shape *);

/* The descriptor of a matrix in shared memory. What is wrong with it, in words; NULL: nothing. */
const char *emu_tensor_matrix_read(uint64_t bits, ptx_type, bool trans, emu_descriptor *);
/* Its rows as lines of 32 bytes of k, floats of 4 and 6 bits as a byte each, from this block's shared memory. parts: 2 where k is
 * 64 bytes long; the second half goes to the lines from EMU_MAX_N on. False: an access failed. */
bool emu_tensor_gather(const emu_operation *, emu_block *, uint64_t bits, ptx_type, bool trans, int rows, int parts,
                       uint8_t (*line)[EMU_LINE]);
/* 16 elements of 4, 6 or 8 bits, in the first bytes of 16, as a byte each. */
void emu_tensor_unpack(int width, const uint8_t *from, uint8_t to[16]);
void emu_tensor_negate(ptx_type, int rows, uint8_t (*line)[EMU_LINE]);
/* Rows of A, and of sparse A which of B's 64 bytes of k its bytes belong to. */
typedef struct emu_tensor_rows {
    const uint8_t (*line)[EMU_LINE], (*place)[EMU_LINE];
} emu_tensor_rows;
/* Columns of B, at the places that a row of sparse A keeps. */
void emu_tensor_select(int n, const uint8_t place[EMU_LINE], const uint8_t (*b)[EMU_LINE], uint8_t (*out)[EMU_LINE]);
/* d += a b, as raw bits of the accumulator's type; d is scaled by 2^-scale before. */
void emu_tensor_multiply(const emu_tensor_shape *, emu_tensor_rows a, const uint8_t (*b)[EMU_LINE], int scale,
                         uint32_t *d);
/* The same for rows of one block, with words of scales for each row and column. */
void emu_tensor_multiply_scaled(const emu_tensor_shape *, int rows, emu_tensor_rows a, const uint8_t (*b)[EMU_LINE],
                                const uint32_t *scale_a, const uint32_t *scale_b, uint32_t *d);
/* Reads the words of scales of so many rows from tensor memory. */
void emu_tensor_scales(const emu_actor *, emu_block *, uint32_t address, int rows, uint32_t *word);

#endif

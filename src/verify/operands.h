/* An operand set: one case's inputs and outputs in memory that the caller owns, with guard bytes around each tensor.
 *
 * A fill writes the inputs from a counter-based generator, so that any element can be recomputed from the seed and its
 * index. It poisons the outputs with a NaN that no arithmetic produces, and rewrites the guards. */
#ifndef RIDGE_VERIFY_OPERANDS_H
#define RIDGE_VERIFY_OPERANDS_H

#include "ridge/target.h"

/* Memory layout of the tensors. All zero: dense and 64-byte aligned. */
typedef struct ridge_layout {
    int64_t row_pad;  /* extra elements from the end of one row (or column) to the next (tensors of rank 2 and more) */
    int64_t misalign; /* elements by which each base is offset from 64-byte alignment */
    int64_t apart; /* tensor t (inputs first): t times so many more of misalign, and of row_pad where that is not 0 */
} ridge_layout;

/* A user's array for one input (--input): dense, converted to the input's dtype and shape. */
typedef struct ridge_user_input {
    const void *data; /* NULL: random fill */
} ridge_user_input;

typedef struct ridge_operands {
    const ridge_target *target;
    ridge_case c;
    ridge_layout layout;
    ridge_fill_kind kind;
    uint64_t seed;
    const ridge_user_input *user; /* n_in entries, or NULL */
    DLTensor in[RIDGE_MAX_INPUTS];
    DLTensor out[RIDGE_MAX_OUTPUTS];
    int64_t shape[RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS][RIDGE_MAX_RANK];
    int64_t strides[RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS][RIDGE_MAX_RANK];
    char *memory;
    size_t bytes;
} ridge_operands;

/* Dense tensors (row_pad 0) have strides == NULL unless they are column-major. A misaligned base is a byte_offset.
 * Element i of an input in memory order, gaps not counted, has the same value in every layout and for every number of
 * threads. A column-major matrix therefore holds other values than the row-major one. */

/* Bytes of one set, guards and alignment included; a multiple of 64. RIDGE_INVALID: the size overflows size_t. */
ridge_status ridge_operands_bytes(const ridge_target *target, const ridge_case *c, const ridge_layout *layout,
                                  size_t *bytes, ridge_error *error);

/* Places the tensors in `memory` (64-byte aligned, ridge_operands_bytes() long). Do not move the struct afterwards.
 * Sets `user` to NULL: set it after placement and before the fill. */
void ridge_operands_place(ridge_operands *ops, const ridge_target *target, const ridge_case *c,
                          const ridge_layout *layout, void *memory);

/* Fills the inputs from the seed, poisons the outputs and rewrites the guards. Guards lie before and after every tensor
 * and between padded rows. They hold NaN (i32: values out of range), so that out-of-bounds reads show in the result. */
void ridge_operands_fill(ridge_operands *ops, ridge_fill_kind kind, uint64_t seed, ridge_team *team);

/* Poisons the outputs only. Inputs and guards keep their content, damage included. */
void ridge_operands_poison(ridge_operands *ops, ridge_team *team);

#endif

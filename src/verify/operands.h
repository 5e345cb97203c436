/* A set of operands: one case's inputs and outputs, placed in memory the caller owns, with guard bytes around each.
 *
 * Filling writes the inputs from a seeded counter-based generator (any element can be made again from the seed and its
 * index), poisons the outputs with a NaN of a bit pattern that no arithmetic makes, and renews the guards. */
#ifndef RIDGE_VERIFY_OPERANDS_H
#define RIDGE_VERIFY_OPERANDS_H

#include "ridge/target.h"

/* How tensors lie in memory. All zero: dense and 64-byte aligned. */
typedef struct ridge_layout {
    int64_t row_pad;  /* extra elements from the end of one row (or column) to the next (tensors of rank 2 and more) */
    int64_t misalign; /* elements by which each base is moved off 64-byte alignment */
} ridge_layout;

/* A user's own array for one input (from --input), already converted to the input's dtype and shape, dense. */
typedef struct ridge_user_input {
    const void *data; /* NULL: this input is filled at random */
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

/* Dense tensors (row_pad 0) have strides == NULL unless they lie by columns; a misaligned base is given as a
 * byte_offset. Element i of an input, counted in the order of memory without gaps, has the same value in every layout
 * and for every number of threads. (So a matrix by columns has the values of another matrix than the same by rows.) */

/* Bytes one set needs, guards and alignment included; a multiple of 64. RIDGE_INVALID when the size overflows size_t.
 */
ridge_status ridge_operands_bytes(const ridge_target *target, const ridge_case *c, const ridge_layout *layout,
                                  size_t *bytes, ridge_error *error);

/* Lays the tensors out in memory (64-byte aligned, ridge_operands_bytes() long). The struct must not be moved
 * after. Sets `user` to NULL: set it after this and before filling. */
void ridge_operands_place(ridge_operands *ops, const ridge_target *target, const ridge_case *c,
                          const ridge_layout *layout, void *memory);

/* New inputs from seed, poisoned outputs, renewed guards. Guards lie before and after every tensor and between its
 * rows; they hold NaNs (for i32: wild numbers), so that a kernel that computes with what it should not read is found
 * out too. */
void ridge_operands_fill(ridge_operands *ops, ridge_fill_kind kind, uint64_t seed, ridge_team *team);

/* Poisons the outputs alone. Inputs and guards stay as they are, damage included. */
void ridge_operands_poison(ridge_operands *ops, ridge_team *team);

#endif

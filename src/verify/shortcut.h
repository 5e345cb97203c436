/* The shortcut that a fast kernel may take with fp32 inputs: round them to a narrower type first. Mutants take it, and the
 * precision fill is made so that whoever takes it misses the bound by far. */
#ifndef RIDGE_VERIFY_SHORTCUT_H
#define RIDGE_VERIFY_SHORTCUT_H

#include "verify/operands.h"

/* By how much a shortcut has to miss its bound. */
#define RIDGE_SHORTCUT_FACTOR 10

/* Rounds every f32 input that is computed with in fp32 to nearest values of the type: RIDGE_TF32, RIDGE_BF16 or RIDGE_F16.
 * False: nothing changed. */
bool ridge_shortcut_round(const ridge_operands *ops, ridge_dtype type);

#endif

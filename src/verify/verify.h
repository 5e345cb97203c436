/* `ridge verify`: every case, edge cases included, with exact, random and special fills and dense, strided and
 * misaligned layouts, per variant and instruction set. Mutants corrupt a correct output to test that the check detects
 * it. */
#ifndef RIDGE_VERIFY_VERIFY_H
#define RIDGE_VERIFY_VERIFY_H

#include "verify/check.h"

/* Runs the variant once per (fill, layout) that applies to this case and checks each run in full. Stops at the first
 * wrong run; check->text names its fill and layout. *runs: number of runs. */
ridge_status ridge_verify_variant(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                  ridge_isa isa, ridge_team *team, uint64_t seed, ridge_check *check, int *runs,
                                  ridge_error *error);

/* One way to corrupt a correct output. */
typedef struct ridge_mutant {
    const char *name; /* "zeros", "one-element", "tail-dropped", "rows-swapped", "downcast", "nan", … */
    const char *what; /* one line */
    /* Corrupts the outputs in place. False: it does not apply to this case (a single row cannot be swapped). */
    bool (*apply)(ridge_operands *ops, uint64_t seed);
} ridge_mutant;

extern const ridge_mutant ridge_mutants[];
extern const int ridge_mutant_count;

/* Runs the variant, applies the mutant, and checks in full. *applied false: the mutant does not apply to this case.
 * *caught: the check failed, as it must. */
ridge_status ridge_verify_mutant(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                 ridge_isa isa, const ridge_mutant *mutant, ridge_team *team, uint64_t seed,
                                 bool *applied, bool *caught, ridge_error *error);

#endif

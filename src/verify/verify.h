/* `ridge verify`: every case, edge cases included, exact and random fills, dense, strided and misaligned layouts, one
 * variant and instruction set at a time; and the mutants, which break a right output on purpose to show that the check
 * sees it. */
#ifndef RIDGE_VERIFY_VERIFY_H
#define RIDGE_VERIFY_VERIFY_H

#include "verify/check.h"

/* Runs the variant once per (fill, layout) that applies to this case and checks each in full. Stops at the first wrong
 * one, which `check` then tells (its text names fill and layout). runs: how many were made. */
ridge_status ridge_verify_variant(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                  ridge_isa isa, ridge_team *team, uint64_t seed, ridge_check *check, int *runs,
                                  ridge_error *error);

/* One way to break an output that was right. */
typedef struct ridge_mutant {
    const char *name; /* "zeros", "one-element", "tail-dropped", "rows-swapped", "downcast", "nan", … */
    const char *what; /* one line */
    /* Breaks the outputs in place. false: it cannot break this case (one row has no row to swap with). */
    bool (*apply)(ridge_operands *ops, uint64_t seed);
} ridge_mutant;

extern const ridge_mutant ridge_mutants[];
extern const int ridge_mutant_count;

/* Runs variant, breaks its output with the mutant, checks. *applied false when the mutant does not apply to this case;
 * otherwise *caught says whether the full check failed, as it must. */
ridge_status ridge_verify_mutant(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                 ridge_isa isa, const ridge_mutant *mutant, ridge_team *team, uint64_t seed,
                                 bool *applied, bool *caught, ridge_error *error);

#endif

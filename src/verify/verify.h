/* `ridge verify`: every case, edge cases included, with exact, random and special fills and dense, strided and
 * misaligned layouts, per variant and instruction set. Mutants corrupt a correct output to test that the check detects
 * it. */
#ifndef RIDGE_VERIFY_VERIFY_H
#define RIDGE_VERIFY_VERIFY_H

#include "verify/check.h"

typedef struct ridge_verified_runs {
    ridge_check check; /* worst of all runs */
    int runs;          /* combinations that ran: 0 proves nothing */
    char refused[120]; /* why the first combination that did not run was refused; "": none was */
    char way[64];      /* the way that ran; "several": not always the same; "": the variant has none */
    uint64_t digest;   /* of the outputs of all runs: equal for bit-identical outputs, whatever the NaNs' payloads */
} ridge_verified_runs;

/* Runs the variant once per (fill, layout) that applies to this case and that it takes, and checks each run in full.
 * Stops at the first wrong run; check.text names its fill and layout. layouts > 0: so many of them, if it takes as
 * many; the seed and the case draw the first. */
ridge_status ridge_verify_variant(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                  const ridge_abilities *here, ridge_team *team, uint64_t seed, int layouts,
                                  ridge_verified_runs *got, ridge_error *error);

/* A case whose oracle costs more than `most` FLOP gets fewer rows: whole tiles of rows go, as few as lead to `most`,
 * but two tiles and the tail stay, whatever they cost. A case whose other extents are not those that the target derives
 * stays whole. */
void ridge_case_cut(const ridge_target *target, double most, ridge_case *c);

/* One way to corrupt a correct output. */
typedef struct ridge_mutant {
    const char *name; /* "zeros", "one-element", "tail-dropped", "rows-swapped", "downcast", "nan", … */
    const char *what; /* one line */
    /* Corrupts the outputs in place. False: it does not apply to this case (a single row cannot be swapped). */
    bool (*apply)(ridge_operands *ops, uint64_t seed);
    /* Instead: a shortcut (shortcut.h). Inputs are rounded to this type, the variant runs, and inputs are put right. One case
     * of a target that refutes it by RIDGE_SHORTCUT_FACTOR is enough; on the others the inputs may not matter. */
    ridge_dtype shortcut;
} ridge_mutant;

extern const ridge_mutant ridge_mutants[];
extern const int ridge_mutant_count;

/* Of all mutants, bit m for ridge_mutants[m]. */
typedef struct ridge_mutants_met {
    uint32_t applied; /* those that apply to the case */
    uint32_t caught;  /* those that the check found, as it must */
} ridge_mutants_met;

/* Runs the variant once, checks its outputs in full, and checks them again with each mutant applied. A shortcut has runs of
 * its own, the first on the precision fill. */
ridge_status ridge_verify_mutants(const ridge_target *target, const ridge_case *c, const ridge_variant *variant,
                                  const ridge_abilities *here, ridge_team *team, uint64_t seed, ridge_mutants_met *met,
                                  ridge_error *error);

#endif

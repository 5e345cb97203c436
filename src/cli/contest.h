/* A kernel of somebody else's beside ridge's variants: for check and exploits. */
#ifndef RIDGE_CLI_CONTEST_H
#define RIDGE_CLI_CONTEST_H

#include "cli/foreign_file.h"
#include "cli/options.h"
#include "lab/lab.h"

/* A target with the variants that are timed here: ridge's own on the CPU, then the judged one. Results point to it. */
typedef struct ridge_contest {
    ridge_target target;
    ridge_variant variants[RIDGE_LAB_MAX_VARIANTS];
    int judged; /* index of the judged one */
    ridge_foreign_file file;
} ridge_contest;

/* The options with a seed that nobody can know beforehand, unless one was given: a kernel may hold the answers of a known
 * one. */
const ridge_options *ridge_contest_options(const ridge_options *options);

/* Measures the cases of the target that the first pattern names. edges: its edge cases, the judged variant alone, two launches
 * of each beside the full check; a target may have none. Else the others, with all variants. The caller frees run in every
 * case. */
ridge_status ridge_contest_run(const ridge_options *options, ridge_contest *contest, bool edges, ridge_run *run,
                               ridge_error *error);

/* Not on the emulator: its cases are verified, and attested. */
bool ridge_contest_timed(const ridge_contest *contest);

/* Whether the result refutes the judged kernel: what is impossible on an edge case says more of the machine. */
bool ridge_contest_refutes(const ridge_result *result, bool edges);

#endif

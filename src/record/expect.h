/* Expectations: what one kind of hardware is known to reach, short enough for a repository and for reading a diff.
 *
 * A file holds, for each result that was measured there, what is expected (the run that was accepted last) and the best
 * that was ever accepted, each with the pair it belongs to. An update replaces what is expected and logs its reason; the
 * best is replaced only by what is proven faster. So many small steps that are each within the margin of a check still
 * add up to one that is not. */
#ifndef RIDGE_RECORD_EXPECT_H
#define RIDGE_RECORD_EXPECT_H

#include "record/record.h"

/* The name of a machine's file is its hardware key: the CPU's, and the GPU's where there is one. */
enum { RIDGE_EXPECT_KEY = 176 };
void ridge_expect_key(const ridge_machine *machine, char *key, int size);

/* RIDGE_CORRUPT: not a file of expectations, or of an older ridge; RIDGE_INVALID: of other hardware than the key. */
ridge_status ridge_expect_check(const json_t *expectations, const char *key, ridge_error *error);

/* What the check compares with, as runs for ridge_diff_runs: new references, NULL when memory is out. */
json_t *ridge_expect_run(const json_t *expectations); /* what is expected */
json_t *ridge_expect_best(const json_t *expectations);

/* The expectations after a run: old (NULL: none yet) with the run's timed results in place of those that it repeats. old is
 * not changed. RIDGE_INVALID: a result is wrong, impossible or failed, or none has a time. */
ridge_status ridge_expect_update(const json_t *old, const ridge_run *run, const char *reason, json_t **updated,
                                 ridge_error *error);

#endif

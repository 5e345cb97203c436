/* The chain of a record: a hash of what was measured and where, then one of the facts of each result and
 * of each pair, and of the hash before.
 *
 * Whoever edits a sample breaks the link of its result and all that follow. Who edits the hashes as well changes the head,
 * which `ridge run` prints when it writes the record: keep it where the record's author cannot. */
#ifndef RIDGE_RECORD_CHAIN_H
#define RIDGE_RECORD_CHAIN_H

#include "record/record.h"

/* {"head": HEX, "links": [HEX for the run, then one for each result and pair]} of a run as JSON; NULL when memory is out. */
json_t *ridge_chain_of(const json_t *run);

/* The head of a saved run; "" if it has none. */
const char *ridge_chain_head(const json_t *run);

/* The first link of a saved run that its facts do not have: 0 for the run's own, i + 1 for result i, then pairs. -1: all hold.
 * -2: it has no chain, or one of another length. */
int ridge_chain_broken(const json_t *run);

#endif

/* Reading a saved run: shared by the files of replay. */
#ifndef RIDGE_RECORD_REPLAY_PARTS_H
#define RIDGE_RECORD_REPLAY_PARTS_H

#include "record/replay.h"

/* Values of an object. What is missing, or of another type, is 0, "" or NaN: the comparison at the end finds it. */
int ridge_read_int(const json_t *object, const char *key);
uint64_t ridge_read_seed(const json_t *object, const char *key); /* a text of digits */
ridge_interval ridge_read_interval(const json_t *object, const char *key);
void ridge_read_text(const json_t *object, const char *key, char *text, size_t size);

/* Machine, settings, ceilings, probes and findings: all but the results. RIDGE_NO_MEMORY, or RIDGE_CORRUPT lists. */
ridge_status ridge_replay_head(ridge_replay *replay, ridge_error *error);
/* A case of a result or of the plan: RIDGE_CORRUPT, or RIDGE_NOT_FOUND where this ridge has no such target. */
ridge_status ridge_replay_case(const json_t *item, const ridge_target **target, ridge_case *c, ridge_error *error);
ridge_backend ridge_read_backend(const json_t *item);

#endif

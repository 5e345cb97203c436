/* Reads what the other files of this folder write: runs, expectations, and the values in them. Nothing that a file holds is
 * trusted: a value of another type counts as missing. */
#ifndef RIDGE_RECORD_SAVED_H
#define RIDGE_RECORD_SAVED_H

#include "record/record.h"

/* A JSON file of at most 256 MiB. RIDGE_CORRUPT: not JSON, with the line; else the errors of ridge_file_read. */
ridge_status ridge_read_json(const char *path, json_t **json, ridge_error *error);

const char *ridge_saved_text(const json_t *object, const char *key); /* "" where missing; never NULL */
double ridge_saved_number(const json_t *object, const char *key);    /* NaN where missing */
ridge_interval ridge_saved_interval(const json_t *object);           /* n = 0 where missing */
bool ridge_saved_same(const json_t *a, const json_t *b,
                      const char *const *keys); /* equal values of all keys (NULL ends) */

/* What makes two saved results the same thing measured: target, case, backend, variant, isa, threads, mode. */
extern const char *const ridge_saved_identity[];
/* The item of run's list with the identity; NULL: there is none. */
const json_t *ridge_saved_find(const json_t *run, const char *list, const json_t *like, const char *const *keys);

/* The pair of a saved optimized variant over its baseline; NULL: it has none. */
const json_t *ridge_saved_pair(const json_t *run, const json_t *result);

/* The machine's key and the date of a run; "" where it has none. */
const char *ridge_saved_key(const json_t *run);
const char *ridge_saved_date(const json_t *run);

#endif

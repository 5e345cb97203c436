/* JSON helpers shared by the files of this folder. */
#ifndef RIDGE_RECORD_JSON_H
#define RIDGE_RECORD_JSON_H

#include <jansson.h>

#include "ridge/target.h"

json_t *ridge_json_number(double value);   /* null for NaN and infinities */
json_t *ridge_json_text(const char *text); /* bytes that are not UTF-8 become U+FFFD; null for NULL */
json_t *ridge_json_seed(uint64_t seed);    /* a string: a double holds 53 bits only */
json_t *ridge_json_shape(const ridge_target *target, const ridge_case *c); /* {"rows": 16384, "cols": 1024} */

/* What makes a case, for reading it back: {dtype, shape, column_major: [names], options: {name: value}}. */
json_t *ridge_json_case(const ridge_target *target, const ridge_case *c);

/* An array of the n items item(context, i). NULL, without a leak, when one of them is NULL. */
json_t *ridge_json_array(int n, json_t *(*item)(const void *context, int i), const void *context);

/* Formats a value for a file: nested values on several lines, lists of plain values and short objects on one. The
 * caller frees the text; NULL when memory is out. */
char *ridge_json_format(const json_t *json, size_t *size);

#endif

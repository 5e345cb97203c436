/* Parses user input: sizes, counts, seconds, patterns. Pure functions on untrusted input; fuzzed. */
#ifndef RIDGE_CLI_PARSE_H
#define RIDGE_CLI_PARSE_H

#include "ridge/target.h"

enum { RIDGE_MAX_SIZES = 4096, RIDGE_MAX_VALUES = 32 };

typedef struct ridge_size {
    int rank;
    int64_t dim[RIDGE_MAX_RANK];
} ridge_size;

typedef struct ridge_sizes {
    int n;
    ridge_size size[RIDGE_MAX_SIZES];
} ridge_sizes;

/* "1024x1024x100,64x128x10", "2^10..2^16x4096"; extents 0 … 2^40. sizes.c has the grammar. */
ridge_status ridge_parse_sizes(const char *text, ridge_sizes *sizes, ridge_error *error);
/* The same for another option: `what` names it in the error. */
ridge_status ridge_parse_shapes(const char *text, const char *what, ridge_sizes *sizes, ridge_error *error);
/* A finite number, written -12.5 or 1e-3: no hexadecimals, no spaces, no plus sign, no words. */
bool ridge_parse_decimal(const char *text, double *value);
/* A whole number in [low, high], 0 <= low; `what` names it in the error. */
ridge_status ridge_parse_count(const char *text, const char *what, int64_t low, int64_t high, int64_t *value,
                               ridge_error *error);
ridge_status ridge_parse_seed(const char *text, uint64_t *seed, ridge_error *error);
/* Seconds in (0, 86400]. */
ridge_status ridge_parse_seconds(const char *text, const char *what, double *seconds, ridge_error *error);
/* FLOP, a finite number above 0. */
ridge_status ridge_parse_work(const char *text, const char *what, double *flop, ridge_error *error);
/* A pattern (shell wildcards) names a chapter, a target, or both as chapter:target. */
bool ridge_pattern_matches(const char *pattern, const ridge_target *target);
/* Splits NAME=VALUE[,VALUE…] into name and *values. */
ridge_status ridge_parse_setting(const char *text, char *name, int size, const char **values, ridge_error *error);
/* One to RIDGE_MAX_VALUES values of an option: finite numbers, or words where its values have words (gelu). */
ridge_status ridge_parse_option_values(const ridge_option *option, const char *text, double *value, int *n,
                                       ridge_error *error);
/* Splits NAME=FILE into name and *file. */
ridge_status ridge_parse_input(const char *text, char *name, int size, const char **file, ridge_error *error);

#endif

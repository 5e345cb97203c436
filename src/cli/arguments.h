/* --arg: what a function is called with, one option for each argument, in their order.
 *
 *     argument = ["in:" | "out:" | "inout:"] type "[" sizes "]" ["%" extent] | type "=" value {"," value}
 *
 *     f32[1024x1024]         an input; out: an output, inout: both
 *     i32[4096]%1000         integers in [0, 1000) (default: [0, 2))
 *     f32[2^10..2^14x64]     several shapes, in the grammar of --sizes
 *     i32=64,128  f32=0.5    numbers; whole ones in the grammar of --sizes, too
 *
 * Arguments with several values change together, the others stay: the first of each, then the second of each. */
#ifndef RIDGE_CLI_ARGUMENTS_H
#define RIDGE_CLI_ARGUMENTS_H

#include "cli/options.h"
#include "measure/solo.h"

typedef enum ridge_access { RIDGE_ACCESS_IN, RIDGE_ACCESS_OUT, RIDGE_ACCESS_IN_OUT, RIDGE_ACCESS_NUMBER } ridge_access;

typedef struct ridge_argument_value {
    ridge_size size; /* of a tensor */
    int64_t integer;
    double real;
} ridge_argument_value;

typedef struct ridge_argument {
    ridge_access access;
    ridge_dtype dtype;
    int64_t below; /* of integers in a tensor */
    int n;
    ridge_argument_value *values;
} ridge_argument;

typedef struct ridge_arguments {
    ridge_argument argument[RIDGE_MAX_ARGUMENTS];
    int n;
    int runs; /* values of those that have several */
} ridge_arguments;

/* Free in every case. */
ridge_status ridge_arguments_parse(const char *const *typed, int n, ridge_arguments *arguments, ridge_error *error);
void ridge_arguments_free(ridge_arguments *arguments);

/* The values of one run as tensors of a target, for ridge_solo_run. It holds pointers into itself: do not move it. */
typedef struct ridge_argument_run {
    ridge_target target;
    ridge_tensor_spec in[RIDGE_MAX_INPUTS], out[RIDGE_MAX_OUTPUTS];
    char name[RIDGE_MAX_ARGUMENTS][16]; /* "arg3", counted from 1 */
    ridge_case c;
    int from[RIDGE_MAX_OUTPUTS];
    ridge_channel_argument call[RIDGE_CHANNEL_ARGUMENTS];
    double bytes;   /* of the tensors, inout ones twice */
    char text[400]; /* "f32[1024x1024] out:f32[1024x1024] i32=5" */
} ridge_argument_run;
ridge_status ridge_arguments_run(const ridge_arguments *arguments, int run, ridge_argument_run *made,
                                 ridge_error *error);

#endif

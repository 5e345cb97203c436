#include "cli/arguments.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/values.h"

static const char *const access_words[] = {
    [RIDGE_ACCESS_IN] = "in:", [RIDGE_ACCESS_OUT] = "out:", [RIDGE_ACCESS_IN_OUT] = "inout:"};

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static ridge_status wrong(const char *typed, const char *why, ridge_error *error) {
    return ridge_fail(error, RIDGE_INVALID, "--arg '%.60s': %s (write f32[1024x1024], out:f32[64], i32=5)", typed, why);
}

static ridge_access read_access(const char **at) {
    for (int a = RIDGE_ACCESS_IN; a <= RIDGE_ACCESS_IN_OUT; a++) {
        const size_t n = strlen(access_words[a]);
        if (strncmp(*at, access_words[a], n) != 0) continue;
        *at += n;
        return (ridge_access)a;
    }
    return RIDGE_ACCESS_IN;
}

static bool read_type(const char **at, ridge_dtype *dtype) {
    char name[16];
    const size_t n = strcspn(*at, "[=");
    if (n >= sizeof name || !(*at)[n]) return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)n, *at);
    *at += n;
    *dtype = ridge_dtype_by_any_name(name);
    return *dtype != RIDGE_TF32 && ridge_dtype_bits(*dtype) > 8; /* narrower ones are for targets */
}

static ridge_status make_room(ridge_argument *a, int n, ridge_error *error) {
    a->values = calloc((size_t)n, sizeof *a->values);
    a->n = a->values ? n : 0;
    return a->values ? RIDGE_OK : ridge_fail(error, RIDGE_NO_MEMORY, "no memory for %d values of an argument", n);
}

static ridge_status take_shapes(ridge_argument *a, const char *text, ridge_error *error) {
    static ridge_sizes sizes; /* too large for the stack */
    RIDGE_TRY(ridge_parse_shapes(text, "--arg", &sizes, error));
    RIDGE_TRY(make_room(a, sizes.n, error));
    for (int i = 0; i < sizes.n; i++) {
        a->values[i].size = sizes.size[i];
        a->values[i].integer = sizes.size[i].rank == 1 ? sizes.size[i].dim[0] : -1;
        a->values[i].real = (double)a->values[i].integer;
    }
    return RIDGE_OK;
}

/* "[SIZES]" and "%BELOW". */
static ridge_status read_tensor(ridge_argument *a, const char *typed, const char *at, ridge_error *error) {
    char text[400];
    const char *end = strrchr(at, ']');
    if (!end || (size_t)(end - at) >= sizeof text) return wrong(typed, "a tensor's shape stands in [ ]", error);
    (void)snprintf(text, sizeof text, "%.*s", (int)(end - at - 1), at + 1);
    RIDGE_TRY(take_shapes(a, text, error));
    if (!end[1]) return RIDGE_OK;
    if (end[1] != '%' || !ridge_dtype_is_integer(a->dtype))
        return wrong(typed, "behind the shape may stand %N, the end of a range of integers", error);
    return ridge_parse_count(end + 2, "--arg TYPE[SHAPE]%N", 1, INT32_MAX, &a->below, error);
}

/* Decimal numbers, separated by commas. */
static ridge_status read_decimals(ridge_argument *a, const char *typed, const char *at, ridge_error *error) {
    int n = 1;
    for (const char *c = at; *c; c++) n += *c == ',';
    RIDGE_TRY(make_room(a, n, error));
    for (int i = 0; i < n; i++) {
        char number[40];
        const size_t length = strcspn(at, ",");
        double *value = &a->values[i].real;
        (void)snprintf(number, sizeof number, "%.*s", (int)length, at);
        const bool whole = ridge_dtype_is_integer(a->dtype);
        if (length >= sizeof number || !ridge_parse_decimal(number, value) || (whole && *value != trunc(*value)))
            return wrong(typed, whole ? "no whole number" : "no number", error);
        if (whole && fabs(*value) > 0x1p53) return wrong(typed, "a number beyond 2^53", error);
        a->values[i].integer = whole ? (int64_t)*value : 0;
        at += length + 1;
    }
    return RIDGE_OK;
}

static ridge_status read_numbers(ridge_argument *a, const char *typed, const char *at, ridge_error *error) {
    if (a->access != RIDGE_ACCESS_IN) return wrong(typed, "a number is an input", error);
    if (a->dtype == RIDGE_BF16 || a->dtype == RIDGE_F16) return wrong(typed, "numbers are i32, i64, f32 or f64", error);
    a->access = RIDGE_ACCESS_NUMBER;
    if (!ridge_dtype_is_integer(a->dtype) || strchr(at, '-'))
        RIDGE_TRY(read_decimals(a, typed, at, error));
    else
        RIDGE_TRY(take_shapes(a, at, error));
    for (int i = 0; i < a->n; i++) {
        if (a->values[i].size.rank > 1) return wrong(typed, "a number, not a shape", error);
        if (a->dtype == RIDGE_I32 && (int32_t)a->values[i].integer != a->values[i].integer)
            return wrong(typed, "a number beyond 32 bits", error);
    }
    return RIDGE_OK;
}

static ridge_status read_argument(const char *typed, ridge_argument *a, ridge_error *error) {
    const char *at = typed;
    *a = (ridge_argument){.below = 2};
    a->access = read_access(&at);
    if (!read_type(&at, &a->dtype))
        return wrong(typed, "it begins with a type: f32, f64, bf16, f16, i32 or i64", error);
    return *at == '[' ? read_tensor(a, typed, at, error) : read_numbers(a, typed, at + 1, error);
}

ridge_status ridge_arguments_parse(const char *const *typed, int n, ridge_arguments *arguments, ridge_error *error) {
    *arguments = (ridge_arguments){.runs = 1};
    for (int i = 0; i < n; i++) {
        ridge_argument *a = &arguments->argument[arguments->n++];
        RIDGE_TRY(read_argument(typed[i], a, error));
        if (a->n > 1 && arguments->runs > 1 && a->n != arguments->runs)
            return ridge_fail(error, RIDGE_INVALID, "--arg '%.60s' has %d values, one before it %d: lists go together",
                              typed[i], a->n, arguments->runs);
        if (a->n > 1) arguments->runs = a->n;
    }
    return RIDGE_OK;
}

void ridge_arguments_free(ridge_arguments *arguments) {
    for (int i = 0; i < arguments->n; i++) free(arguments->argument[i].values);
    arguments->n = 0;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static const ridge_argument_value *value_of(const ridge_argument *a, int run) { return &a->values[a->n > 1 ? run : 0]; }

static void add_text(ridge_argument_run *made, const ridge_argument *a, const ridge_argument_value *v) {
    size_t used = strlen(made->text);
    char *at = made->text + used;
    const size_t left = sizeof made->text - used;
    const char *gap = used ? " " : "", *type = ridge_dtype_name(a->dtype);
    if (a->access != RIDGE_ACCESS_NUMBER) {
        used = (size_t)snprintf(at, left, "%s%s%s[", gap, a->access == RIDGE_ACCESS_IN ? "" : access_words[a->access],
                                type);
        for (int d = 0; d < v->size.rank && used < left; d++)
            used += (size_t)snprintf(at + used, left - used, "%s%" PRId64, d ? "x" : "", v->size.dim[d]);
        if (used < left) (void)snprintf(at + used, left - used, "]");
    } else if (ridge_dtype_is_integer(a->dtype)) {
        (void)snprintf(at, left, "%s%s=%" PRId64, gap, type, v->integer);
    } else {
        (void)snprintf(at, left, "%s%s=%.9g", gap, type, v->real);
    }
}

/* The dimension of that extent; -1: there are too many. */
static int dimension(ridge_argument_run *made, int64_t extent) {
    static const char *const names[RIDGE_MAX_RANK] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    for (int d = 0; d < RIDGE_MAX_RANK; d++) {
        if (!made->target.dims[d]) made->target.dims[d] = names[d], made->c.dim[d] = extent;
        if (made->c.dim[d] == extent) return d;
    }
    return -1;
}

static bool describe(ridge_argument_run *made, const ridge_argument *a, const ridge_size *size, const char *name,
                     ridge_tensor_spec *spec) {
    *spec = (ridge_tensor_spec){.name = name, .rank = size->rank, .dtype = a->dtype};
    bool fits = true;
    for (int d = 0; d < size->rank; d++) fits = (spec->dim[d] = dimension(made, size->dim[d])) >= 0 && fits;
    if (!ridge_dtype_is_integer(a->dtype)) return fits;
    spec->fill = RIDGE_FILL_INDEX;
    return (spec->index_dim = dimension(made, a->below)) >= 0 && fits;
}

/* An inout tensor is an output that gets the values of an input, which nobody is called with. */
static ridge_status add_tensor(ridge_argument_run *made, const ridge_argument *a, const ridge_size *size,
                               const char *name, int *output, ridge_error *error) {
    ridge_target *t = &made->target;
    bool fits = true;
    double bytes = (double)ridge_dtype_size(a->dtype);
    *output = -1;
    for (int d = 0; d < size->rank; d++) bytes *= (double)size->dim[d];
    if (a->access != RIDGE_ACCESS_OUT) {
        if (t->n_in == RIDGE_MAX_INPUTS) return ridge_fail(error, RIDGE_INVALID, "--arg: more than 8 inputs");
        fits = describe(made, a, size, name, &made->in[t->n_in++]);
        made->bytes += bytes;
    }
    if (a->access != RIDGE_ACCESS_IN) {
        if (t->n_out == RIDGE_MAX_OUTPUTS) return ridge_fail(error, RIDGE_INVALID, "--arg: more than 6 outputs");
        made->from[t->n_out] = a->access == RIDGE_ACCESS_IN_OUT ? t->n_in : 0;
        *output = t->n_out;
        fits = describe(made, a, size, name, &made->out[t->n_out++]) && fits;
        made->bytes += bytes;
    }
    return fits ? RIDGE_OK : ridge_fail(error, RIDGE_INVALID, "--arg: more than 8 different extents in one call");
}

static int number_type(ridge_dtype dtype) {
    return dtype == RIDGE_I32   ? RIDGE_KERNEL_I32
           : dtype == RIDGE_I64 ? RIDGE_KERNEL_I64
           : dtype == RIDGE_F32 ? RIDGE_KERNEL_F32
                                : RIDGE_KERNEL_F64;
}

ridge_status ridge_arguments_run(const ridge_arguments *arguments, int run, ridge_argument_run *made,
                                 ridge_error *error) {
    int output[RIDGE_MAX_ARGUMENTS];
    *made = (ridge_argument_run){.c = {.dtype = RIDGE_F32}};
    made->target = (ridge_target){.name = "time", .in = made->in, .out = made->out};
    for (int i = 0; i < arguments->n; i++) {
        const ridge_argument *a = &arguments->argument[i];
        const ridge_argument_value *v = value_of(a, run);
        ridge_channel_argument *to = &made->call[i];
        add_text(made, a, v);
        (void)snprintf(made->name[i], sizeof made->name[i], "arg%d", i + 1);
        *to = (ridge_channel_argument){.type = a->access == RIDGE_ACCESS_NUMBER ? number_type(a->dtype) : 0};
        output[i] = -1;
        if (to->type == RIDGE_KERNEL_F32 || to->type == RIDGE_KERNEL_F64)
            to->real = v->real;
        else if (to->type)
            to->integer = v->integer;
        else
            RIDGE_TRY(add_tensor(made, a, &v->size, made->name[i], &output[i], error));
        if (!to->type) to->tensor = made->target.n_in - 1;
    }
    for (int i = 0; i < arguments->n; i++)
        if (output[i] >= 0) made->call[i].tensor = made->target.n_in + output[i];
    return RIDGE_OK;
}

/* Ways to corrupt a correct output. Each models a kernel bug, and the check must detect every one.
 *
 * A mutant corrupts one output, selected by the seed; if it does not apply to that one, the next. It returns false if
 * it applies to none: nothing to swap, or no effective change. A change by a few roundings does not count, because rows
 * that differ only by roundings may be swapped. */
#include <math.h>
#include <stdlib.h>

#include "core/random.h"
#include "verify/judge.h"
#include "verify/verify.h"

/* ---- single elements ----------------------------------------------------------------------- */

static ridge_view_run element_at(const ridge_view *view, int64_t element) {
    ridge_view_run run = {0};
    int64_t position = ridge_view_to_memory(view, element);
    (void)ridge_view_next(view, &position, position + 1, &run);
    return run;
}

static double get(const ridge_view *view, int64_t element) {
    const ridge_view_run run = element_at(view, element);
    return ridge_load(run.at, view->dtype, run.skip);
}

static void set(const ridge_view *view, int64_t element, double value) {
    const ridge_view_run run = element_at(view, element);
    ridge_store(run.at, view->dtype, run.skip, value);
}

/* Stores a value that a type of few bits may not hold: its largest one may be what was there, and NaN a number. */
static bool set_other(const ridge_view *view, int64_t element, double value) {
    const double old = get(view, element);
    set(view, element, value);
    const double now = get(view, element);
    return isnan(value) ? isnan(now) : isinf(value) ? isinf(now) : isnan(old) || now < old || now > old;
}

/* True if a and b differ by more than roundings, or in NaN or infinity. In a coarse type, one rounding is nearly the
 * whole bound; finer types also carry arithmetic errors. */
static bool differs(const ridge_view *view, double a, double b) {
    double roundings = view->roundoff > 0x1p-6 ? 1 : view->roundoff > 0x1p-12 ? 3 : 64;
    if (isnan(a) || isnan(b)) return isnan(a) != isnan(b);
    if (isinf(a) || isinf(b)) return a != b;
    return fabs(a - b) > roundings * view->roundoff * fmax(fabs(a), fabs(b));
}

/* ---- mutants of one output ----------------------------------------------------------------- */

typedef bool (*break_fn)(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed);

static bool each_output(ridge_operands *ops, uint64_t seed, break_fn break_output) {
    int n = ops->target->n_out;
    for (int i = 0; i < n; i++) {
        int output = (int)((seed + (uint64_t)i) % (uint64_t)n);
        ridge_view view = ridge_operands_view(ops, ops->target->n_in + output);
        if (view.elements > 0 && break_output(ops, &view, output, seed)) return true;
    }
    return false;
}

static int64_t pick(const ridge_view *view, uint64_t seed) {
    return (int64_t)(ridge_random(seed, 11) % (uint64_t)view->elements);
}

/* A copy of the output as fp64; NULL: no memory. The caller frees it. */
static double *copy_of(const ridge_view *view) {
    double *values = calloc((size_t)view->elements, sizeof *values);
    if (values) ridge_view_load(view, 0, view->elements, values);
    return values;
}

/* Replaces every element e by from(…, e). True if an element changed. */
static bool replace_all(const ridge_view *view, double (*from)(const ridge_view *, const double *, int64_t)) {
    double *old = copy_of(view);
    bool changed = false;
    if (!old) return false;
    for (int64_t e = 0; e < view->elements; e++) {
        double value = from(view, old, e);
        if (!differs(view, old[e], value)) continue;
        set(view, e, value);
        changed = changed || differs(view, old[e], get(view, e));
    }
    free(old);
    return changed;
}

static double zero_from(const ridge_view *view, const double *old, int64_t e) {
    (void)view, (void)old, (void)e;
    return 0;
}
static bool zeros(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output, (void)seed;
    return replace_all(view, zero_from);
}

static bool one_element(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output;
    int64_t e = pick(view, seed);
    const double old = get(view, e);
    return set_other(view, e, isfinite(old) ? old + 1 + fabs(old) : 0.5) || set_other(view, e, -old);
}

/* The next stored value that is farther from `want` than `off`, in the direction of its sign. Infinity: there is none.
 */
static double stored_beyond(const ridge_view *view, double want, double off) {
    const double value = want + off, away = signbit(off) ? -1 : 1;
    double step = fmax(fabs(value), 0x1p-14) * ridge_dtype_roundoff(view->dtype);
    if (ridge_dtype_is_integer(view->dtype)) step = 0.5;
    for (int i = 0; i < 64; i++, step *= 2) {
        const double stored = ridge_rounded(view->dtype, value + away * step);
        if (fabs(stored - want) > fabs(value - want)) return stored; /* false for NaN */
    }
    return (double)INFINITY;
}

/* One element is off by three tolerances: tests that the bound detects small errors. */
static bool nudged(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    int64_t e = pick(view, seed), row = e / view->row;
    ridge_oracle_input problem;
    ridge_chunk chunk;
    ridge_bound bound;
    if (ridge_oracle_input_create(ops, view->spec->dim[0], &row, 1, NULL, &problem, NULL) != RIDGE_OK) return false;
    ridge_oracle_input_load(&problem, 0, 0, &chunk);
    ops->target->oracle(&chunk.call);
    ridge_judge_bound(ops->target, &chunk.call, ops->kind, output, view->dtype, &bound);
    double want = chunk.out[output][e - row * view->row];
    double off = 3 * (bound.absolute + bound.relative * fabs(want) + bound.sized * chunk.size[output][0]);
    ridge_oracle_input_destroy(&problem);
    if (!isfinite(want) || !isfinite(off)) return false;
    if (seed & 1) off = -off;
    /* The largest value of a type that saturates has a neighbour on one side alone. */
    return set_other(view, e, stored_beyond(view, want, -off)) || set_other(view, e, stored_beyond(view, want, off));
}

static bool not_a_number(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output;
    int64_t e = pick(view, seed);
    const double old = get(view, e);
    if (ridge_dtype_is_integer(view->dtype) || isnan(old)) return false;
    if (set_other(view, e, (double)NAN)) return true;
    set(view, e, old);
    return false;
}

static bool infinite(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output;
    int64_t e = pick(view, seed);
    double value = seed & 1 ? (double)INFINITY : -(double)INFINITY;
    const double old = get(view, e);
    if (ridge_dtype_is_integer(view->dtype) || old == value) return false;
    if (set_other(view, e, value)) return true;
    set(view, e, old);
    return false;
}

/* Number of tail columns, which a loop without remainder handling leaves out. */
static int64_t tail_of(const ridge_view *view) {
    int64_t columns = view->shape[view->spec->rank - 1], tail = columns % 16;
    return tail ? tail : columns < 16 ? columns : 16;
}

static bool tail_unwritten(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output, (void)seed;
    const bool packed = ridge_dtype_is_packed(view->dtype);
    for (int64_t e = view->elements - tail_of(view); e < view->elements; e += packed ? 2 : 1)
        ridge_poison_write(view->dtype, element_at(view, e).at, 1);
    return true;
}

static double stale_from(const ridge_view *view, const double *old, int64_t e) {
    int64_t columns = view->shape[view->spec->rank - 1];
    bool tail = e % columns >= columns - tail_of(view), above = e >= columns;
    return tail && above ? old[e - columns] : old[e];
}
static bool tail_stale(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output, (void)seed;
    return replace_all(view, stale_from);
}

static bool rows_swapped(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output;
    int64_t rows = view->elements / view->row, a = pick(view, seed) / view->row, b = (a + 1) % rows;
    bool changed = false;
    for (int64_t i = 0; i < view->row; i++) {
        double x = get(view, a * view->row + i), y = get(view, b * view->row + i);
        changed = changed || differs(view, x, y);
        set(view, a * view->row + i, y);
        set(view, b * view->row + i, x);
    }
    return changed;
}

/* Each element rounded to the next narrower type, as from an accumulator or a table with too low precision. */
static double downcast_from(const ridge_view *view, const double *old, int64_t e) {
    int exponent, digits = view->roundoff < 0x1p-40 ? 24 : view->roundoff < 0x1p-16 ? 8 : 4;
    if (!isfinite(old[e])) return old[e];
    double fraction = frexp(old[e], &exponent);
    return ldexp(nearbyint(ldexp(fraction, digits)), exponent - digits);
}

static bool downcast(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output, (void)seed;
    /* A few elements may all happen to be representable in the narrower type. */
    return !ridge_dtype_is_integer(view->dtype) && view->elements >= 64 && replace_all(view, downcast_from);
}

static double shifted_from(const ridge_view *view, const double *old, int64_t e) {
    int64_t columns = view->shape[view->spec->rank - 1];
    return e % columns == 0 ? old[e + columns - 1] : old[e - 1];
}
static bool shifted(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output, (void)seed;
    return replace_all(view, shifted_from);
}

static double scaled_from(const ridge_view *view, const double *old, int64_t e) {
    (void)view;
    return old[e] * (1 + 0x1p-6);
}
static bool scaled(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output, (void)seed;
    /* A few elements may all be sums that nearly cancel: 1/64 of those is less than their bounds. */
    return !ridge_dtype_is_integer(view->dtype) && view->elements >= 8 && replace_all(view, scaled_from);
}

static bool last_row_stale(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output, (void)seed;
    int64_t last = view->elements - view->row;
    bool changed = false;
    for (int64_t i = 0; i < view->row && last > 0; i++) {
        double above = get(view, last - view->row + i);
        changed = changed || differs(view, above, get(view, last + i));
        set(view, last + i, above);
    }
    return changed;
}

static bool past_the_end(const ridge_operands *ops, const ridge_view *view, int output, uint64_t seed) {
    (void)ops, (void)output;
    /* After the last element, before the first, or (padded rows) after a row. */
    int64_t lines = view->rank ? view->elements / view->line : 1;
    int64_t line = (int64_t)(ridge_random(seed, 12) % (uint64_t)lines);
    char *at = ridge_view_at(view, ridge_view_line_offset(view, line) + view->line);
    if (view->rank == 0 && (seed & 1)) at = view->base - view->size;
    memset(at, 0, view->size);
    return true;
}

#define OF_ONE_OUTPUT(name) \
    static bool mutate_##name(ridge_operands *ops, uint64_t seed) { return each_output(ops, seed, name); }
OF_ONE_OUTPUT(zeros)
OF_ONE_OUTPUT(one_element)
OF_ONE_OUTPUT(nudged)
OF_ONE_OUTPUT(not_a_number)
OF_ONE_OUTPUT(infinite)
OF_ONE_OUTPUT(tail_unwritten)
OF_ONE_OUTPUT(tail_stale)
OF_ONE_OUTPUT(rows_swapped)
OF_ONE_OUTPUT(downcast)
OF_ONE_OUTPUT(shifted)
OF_ONE_OUTPUT(scaled)
OF_ONE_OUTPUT(last_row_stale)
OF_ONE_OUTPUT(past_the_end)

static bool input_changed(ridge_operands *ops, uint64_t seed) {
    for (int i = 0; i < ops->target->n_in; i++) {
        ridge_view view = ridge_operands_view(ops, (int)((seed + (uint64_t)i) % (uint64_t)ops->target->n_in));
        if (view.elements == 0) continue;
        *element_at(&view, pick(&view, seed)).at ^= 1;
        return true;
    }
    return false;
}

const ridge_mutant ridge_mutants[] = {
    {"zeros", "the whole output is zero", mutate_zeros, RIDGE_DTYPE_NONE},
    {"one-element", "one element is grossly wrong", mutate_one_element, RIDGE_DTYPE_NONE},
    {"nudged", "one element is off by three times what is permitted", mutate_nudged, RIDGE_DTYPE_NONE},
    {"nan", "one element is NaN", mutate_not_a_number, RIDGE_DTYPE_NONE},
    {"infinity", "one element is infinite", mutate_infinite, RIDGE_DTYPE_NONE},
    {"tail-unwritten", "the last columns of the last row were never written", mutate_tail_unwritten, RIDGE_DTYPE_NONE},
    {"tail-stale", "the last columns of each row are those of the row above", mutate_tail_stale, RIDGE_DTYPE_NONE},
    {"rows-swapped", "two rows are swapped", mutate_rows_swapped, RIDGE_DTYPE_NONE},
    {"last-row-stale", "the last row repeats the row above it", mutate_last_row_stale, RIDGE_DTYPE_NONE},
    {"downcast", "elements are rounded to the next narrower type", mutate_downcast, RIDGE_DTYPE_NONE},
    {"shifted", "each row is moved by one column", mutate_shifted, RIDGE_DTYPE_NONE},
    {"scaled", "all elements are 1/64 too large", mutate_scaled, RIDGE_DTYPE_NONE},
    {"past-the-end", "an element next to the output was written to", mutate_past_the_end, RIDGE_DTYPE_NONE},
    {"input-changed", "a bit of an input was changed", input_changed, RIDGE_DTYPE_NONE},
    {"inputs-tf32", "f32 inputs are rounded to tf32 first", NULL, RIDGE_TF32},
    {"inputs-bf16", "f32 inputs are rounded to bf16 first", NULL, RIDGE_BF16},
    {"inputs-fp16", "f32 inputs are rounded to fp16 first", NULL, RIDGE_F16},
};
const int ridge_mutant_count = (int)(sizeof ridge_mutants / sizeof ridge_mutants[0]);
_Static_assert(sizeof ridge_mutants / sizeof ridge_mutants[0] <= 32, "ridge_mutants_met has a bit for each");

#include "measure/attest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/judge.h"
#include "verify/view.h"

static int count_of(const ridge_operands *ops) { return ops->target->n_in + ops->target->n_out; }

/* Whether each byte of the element has a flag: all of them, or one of them. */
static bool has(const unsigned char *flags, size_t size, unsigned flag, bool all) {
    for (size_t i = 0; i < size; i++)
        if (((flags[i] & flag) != 0) != all) return !all;
    return all;
}

/* Values that share a byte are looked at together: units of two. */
static int64_t units_of(const ridge_view *view) { return view->elements >> ridge_dtype_is_packed(view->dtype); }
static int64_t element_of(const ridge_view *view, int64_t unit) { return unit << ridge_dtype_is_packed(view->dtype); }

static ridge_status told(const ridge_view *view, int64_t unit, const char *what) {
    char name[80];
    ridge_view_name(view, element_of(view, unit), name, sizeof name);
    ridge_note_why("%s %s", name, what);
    return RIDGE_FAILED;
}

/* ---- the launch as a whole --------------------------------------------------------------------------------------- */

static ridge_status attest_launch(const ridge_channel_witness *w) {
    if (w->elsewhere)
        ridge_note_why("it put work on another stream than the one it was given, or on the host");
    else if (w->fetched)
        ridge_note_why("it brought %llu bytes to the host", (unsigned long long)w->fetched);
    else if (w->kept)
        ridge_note_why("it read %llu bytes that an earlier launch had left in memory of its own",
                       (unsigned long long)w->kept);
    else
        return RIDGE_OK;
    return RIDGE_FAILED;
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

static ridge_status attest_written(const ridge_operands *ops, const ridge_attested *seen) {
    for (int t = ops->target->n_in; t < count_of(ops); t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        for (int64_t i = 0; i < units_of(&view); i++) {
            const unsigned char *flags = seen->flags[t] + (size_t)i * view.size;
            if (has(flags, view.size, RIDGE_CHANNEL_FROM_HOST, false)) return told(&view, i, "came from the host");
            if (!has(flags, view.size, RIDGE_CHANNEL_WROTE, true))
                return told(&view, i, "was not written in this launch");
        }
    }
    return RIDGE_OK;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* The first input with a byte that was not read. */
typedef struct unread {
    int tensor; /* -1: none */
    int64_t element;
} unread;

/* Values of integers are indices, and an index is changed as a whole. Ends of groups (RIDGE_FILL_ENDS) are right together
 * or not at all: they stay. */
static void change(const ridge_view *to, const ridge_view *from, const unsigned char *flags, int64_t unit) {
    const size_t at = (size_t)unit * to->size;
    const bool whole = ridge_dtype_is_integer(to->dtype);
    if (whole && has(flags, to->size, RIDGE_CHANNEL_READ, false)) return;
    for (size_t i = 0; i < to->size; i++)
        if (!(flags[i] & RIDGE_CHANNEL_READ)) to->base[at + i] = from->base[at + i];
}

static unread change_unread(const ridge_operands *ops, const ridge_operands *other, const ridge_attested *seen) {
    unread first = {-1, 0};
    for (int t = 0; t < ops->target->n_in; t++) {
        if (ops->target->in[t].fill == RIDGE_FILL_ENDS) continue;
        const ridge_view to = ridge_operands_view(ops, t), from = ridge_operands_view(other, t);
        for (int64_t i = 0; i < units_of(&to); i++) {
            const unsigned char *flags = seen->flags[t] + (size_t)i * to.size;
            if (has(flags, to.size, RIDGE_CHANNEL_READ, true)) continue;
            if (first.tensor < 0) first = (unread){t, element_of(&to, i)};
            change(&to, &from, flags, i);
        }
    }
    return first;
}

static ridge_status judge_all(const ridge_operands *ops, ridge_judgement *judgement) {
    ridge_error error = {0};
    for (int d = 0; d < RIDGE_MAX_RANK; d++) {
        if (!(ridge_target_leads(ops->target) >> d & 1)) continue;
        const ridge_status status = ridge_judge(ops, d, NULL, ops->c.dim[d], NULL, judgement, &error);
        if (status != RIDGE_OK) return ridge_note_why("%s", error.text), status;
    }
    return RIDGE_OK;
}

static ridge_status attest_right(const ridge_operands *ops, const unread *first) {
    ridge_judgement j = {0};
    char output[80], input[80];
    RIDGE_TRY(judge_all(ops, &j));
    if (!j.bad) return RIDGE_OK;
    const ridge_view out = ridge_operands_view(ops, ops->target->n_in + j.output);
    ridge_view_name(&out, j.element, output, sizeof output);
    if (!first) {
        ridge_note_why("%s = %.9g, want %.9g ± %.3g", output, j.got, j.want, j.tolerance);
        return RIDGE_FAILED;
    }
    const ridge_view in = ridge_operands_view(ops, first->tensor);
    ridge_view_name(&in, first->element, input, sizeof input);
    ridge_note_why("%s depends on inputs that this launch did not read, the first of them %s", output, input);
    return RIDGE_FAILED;
}

/* The other values are those of another seed: as likely as these. */
static ridge_status attest_read(const ridge_operands *ops, const ridge_attested *seen) {
    enum { LINE = 64 };
    ridge_operands other;
    char *memory = malloc(ops->bytes + LINE);
    if (!memory) return ridge_note_why("no memory for other operands"), RIDGE_FAILED;
    ridge_operands_place(&other, ops->target, &ops->c, &ops->layout, memory + (LINE - (uintptr_t)memory % LINE) % LINE);
    ridge_operands_fill(&other, ops->kind, ~ops->seed, NULL);
    const unread first = change_unread(ops, &other, seen);
    free(memory);
    return first.tensor < 0 ? RIDGE_OK : attest_right(ops, &first);
}

ridge_status ridge_attest(const ridge_operands *ops, const ridge_attested *seen) {
    RIDGE_TRY(attest_launch(&seen->launch));
    RIDGE_TRY(attest_written(ops, seen));
    RIDGE_TRY(attest_right(ops, NULL));
    return attest_read(ops, seen);
}

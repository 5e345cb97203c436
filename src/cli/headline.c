/* The headline cases: what `ridge run` measures of several targets unless --all asks for the rest. One for each target,
 * backend and type: the shortest that is long enough to be timed well, else the longest. */
#include <math.h>

#include "cli/select.h"

/* Rates of an ordinary machine, so that every machine measures the same cases, and the time that makes a launch long
 * enough: calling and timing then weigh little. */
static const struct {
    double flops, bytes, long_enough; /* in a second; seconds */
} ordinary[RIDGE_BACKEND_COUNT] = {
    [RIDGE_BACKEND_cpu] = {1e11, 1e10, 0.5e-3},
    [RIDGE_BACKEND_cuda] = {5e13, 3e12, 50e-6},
};

static double seconds_of(const ridge_lab_item *item) {
    ridge_work work;
    item->target->work(&item->c, &work);
    return fmax(work.flops / ordinary[item->backend].flops,
                (work.bytes_read + work.bytes_written) / ordinary[item->backend].bytes);
}

/* Whether a stands for its type rather than b. Row-major operands come first: that is how most callers have them. */
static bool is_better(const ridge_lab_item *a, const ridge_lab_item *b) {
    const double its = seconds_of(a), others = seconds_of(b), enough = ordinary[a->backend].long_enough;
    if (!a->c.column_major != !b->c.column_major) return !a->c.column_major;
    if ((its >= enough) != (others >= enough)) return its >= enough;
    return its >= enough ? its < others : its > others;
}

static bool same_kind(const ridge_lab_item *a, const ridge_lab_item *b) {
    return a->target == b->target && a->backend == b->backend && a->c.dtype == b->c.dtype;
}

static bool has_one_target(const ridge_selection *s) {
    for (int i = 1; i < s->n; i++)
        if (s->items[i].target != s->items[0].target) return false;
    return true;
}

int ridge_selection_headlines(ridge_selection *s) {
    const int all = s->n;
    int kept = 0;
    if (has_one_target(s)) return 0; /* who names a target wants to see it */
    for (int i = 0; i < all; i++) {
        int k = 0;
        while (k < kept && !same_kind(&s->items[k], &s->items[i])) k++;
        if (k == kept)
            s->items[kept++] = s->items[i];
        else if (is_better(&s->items[i], &s->items[k]))
            s->items[k] = s->items[i];
    }
    s->n = kept;
    return all - kept;
}

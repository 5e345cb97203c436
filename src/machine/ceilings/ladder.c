/* Cache levels are the plateaus of the ladder. A rate is flat while the working set fits a level, and falls to the next
 * one over a few rungs. Single rungs may be far too slow because another program ran.
 *
 * Dynamic programming cuts the ladder into plateaus with gaps between them, at the least total cost. A plateau costs
 * PLATEAU. Each of its rungs costs its squared distance from the plateau's median in units of SPREAD, at most OUTLIER.
 * A rung in a gap costs GAP. So a fall of up to four rungs is cheaper as a gap than as a plateau. Each plateau must be
 * slower than the one before by DROP, mean of read and copy. All values are binary logarithms of GB/s. */
#include "machine/ceilings/ladder.h"

#include <math.h>
#include <stdlib.h>

static const double PLATEAU = 8, GAP = 2, OUTLIER = 3, SPREAD = 0.09, DROP = 0.12;
enum { SHORTEST = 3 };

typedef struct curves {
    int n;
    double read[RIDGE_MAX_RUNGS], copy[RIDGE_MAX_RUNGS];
} curves;

typedef struct cut { /* the best way to cover rungs 0 … last with this plateau as the last one */
    double cost, read, copy;
    int before; /* first rung of the plateau before, -1: none; it ends at before_last */
    int before_last;
} cut;

/* Median of three neighbours: removes a single outlier and keeps steps in place. */
static void smooth(const double *in, int n, double *out) {
    for (int i = 0; i < n; i++) {
        double a = in[i > 0 ? i - 1 : i], b = in[i], c = in[i < n - 1 ? i + 1 : i];
        out[i] = fmax(fmin(a, b), fmin(fmax(a, b), c));
    }
}

static void make_curves(const ridge_rung *rungs, int n, curves *c) {
    double read[RIDGE_MAX_RUNGS], copy[RIDGE_MAX_RUNGS];
    c->n = n;
    for (int i = 0; i < n; i++) {
        read[i] = log2(fmax(rungs[i].read_gbps, 1e-3));
        copy[i] = log2(fmax(rungs[i].copy_gbps, 1e-3));
    }
    smooth(read, n, c->read);
    smooth(copy, n, c->copy);
}

static double plateau_cost(const curves *c, int first, int last, double *read, double *copy) {
    *read = ridge_median(c->read + first, last - first + 1);
    *copy = ridge_median(c->copy + first, last - first + 1);
    double cost = PLATEAU;
    for (int i = first; i <= last; i++) {
        double r = (c->read[i] - *read) / SPREAD, p = (c->copy[i] - *copy) / SPREAD;
        cost += fmin((r * r + p * p) / 2, OUTLIER);
    }
    return cost;
}

/* cuts[k][first][last]: with k plateaus before it. */
typedef cut table[RIDGE_MAX_RUNGS][RIDGE_MAX_RUNGS];

static void extend(const curves *c, table *before, table *cuts, int first, int last) {
    cut best = {.cost = HUGE_VAL, .before = -1};
    double own = plateau_cost(c, first, last, &best.read, &best.copy);
    if (!before) best.cost = first * GAP + own;
    for (int f = 0; before && f < first; f++)
        for (int l = f + SHORTEST - 1; l < first; l++) {
            const cut *b = &(*before)[f][l];
            if ((b->read - best.read + b->copy - best.copy) / 2 < DROP) continue;
            double cost = b->cost + (first - 1 - l) * GAP + own;
            if (cost < best.cost) best.cost = cost, best.before = f, best.before_last = l;
        }
    (*cuts)[first][last] = best;
}

int ridge_ladder_plateaus(const ridge_rung *rungs, int n, ridge_plateau plateaus[RIDGE_MAX_LEVELS]) {
    curves c;
    if (n > RIDGE_MAX_RUNGS) n = RIDGE_MAX_RUNGS;
    table *cuts = n < SHORTEST ? NULL : calloc(RIDGE_MAX_LEVELS, sizeof *cuts);
    if (!cuts) return 0;
    make_curves(rungs, n, &c);
    int best_k = 0, first = 0, last = n - 1;
    double best = HUGE_VAL;
    for (int k = 0; k < RIDGE_MAX_LEVELS; k++)
        for (int f = 0; f < n; f++)
            for (int l = f + SHORTEST - 1; l < n; l++) extend(&c, k ? &cuts[k - 1] : NULL, &cuts[k], f, l);
    for (int k = 0; k < RIDGE_MAX_LEVELS; k++)
        for (int f = 0; f + SHORTEST <= n; f++) /* memory goes on for ever: the last plateau reaches the end */
            if (cuts[k][f][n - 1].cost < best) best = cuts[k][f][n - 1].cost, best_k = k, first = f;
    for (int k = best_k; k >= 0; k--) {
        const cut *at = &cuts[k][first][last];
        plateaus[k] = (ridge_plateau){first, last, exp2(at->read), exp2(at->copy)};
        first = at->before, last = at->before_last;
    }
    free(cuts);
    return best_k + 1;
}

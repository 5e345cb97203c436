/* A power law is a line in logarithms: y = log t, x = log n. Pieces that meet are one regression on 1, x and a hinge
 * max(0, x - b) for each break b, whose coefficient is the change of the exponent there. Breaks are sought on a grid, the
 * points and the middles between them, and then moved to where the fit is best. */
#include "measure/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/shortage.h"
#include "measure/stats.h"

enum {
    MAX_BREAKS = RIDGE_MAX_PIECES - 1,
    MAX_TERMS = 2 + MAX_BREAKS,
    LEAST_OF_PIECE = 3, /* points of a piece */
    GRID_OF_MANY = 64,  /* candidates for the most breaks are thinned out to about as many */
    REFINEMENTS = 8,    /* times that the step of a break's move is halved */
    MANY_POINTS = 256,  /* of more points, one break is sought */
};
static const double evidence = 0.03; /* relative distance from the fit that counts as none */

/* The points in logarithms. */
typedef struct points {
    double *x, *y;
    int n;
} points;

/* A regression with breaks at x = at[]. */
typedef struct model {
    int breaks;
    double at[MAX_BREAKS];
    double coefficient[MAX_TERMS];
    double inverse[MAX_TERMS][MAX_TERMS]; /* of the normal matrix */
    double squares;                       /* sum of squared residuals */
} model;

static int terms_of(const model *m) { return 2 + m->breaks; }

/* ---- one regression ---------------------------------------------------------------------------------------------- */

static void row_of(const model *m, double x, double row[MAX_TERMS]) {
    row[0] = 1;
    row[1] = x;
    for (int b = 0; b < m->breaks; b++) row[2 + b] = fmax(0, x - m->at[b]);
}

static void swap_rows(double a[MAX_TERMS], double b[MAX_TERMS]) {
    double kept[MAX_TERMS];
    memcpy(kept, a, sizeof kept);
    memcpy(a, b, sizeof kept);
    memcpy(b, kept, sizeof kept);
}

/* Inverts a by Gauss-Jordan elimination with pivots of its columns. False: it is singular. */
static bool invert(double a[MAX_TERMS][MAX_TERMS], double inverse[MAX_TERMS][MAX_TERMS], int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) inverse[i][j] = i == j;
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int i = c + 1; i < n; i++)
            if (fabs(a[i][c]) > fabs(a[pivot][c])) pivot = i;
        if (!(fabs(a[pivot][c]) > 1e-12)) return false;
        swap_rows(a[c], a[pivot]);
        swap_rows(inverse[c], inverse[pivot]);
        const double scale = 1 / a[c][c];
        for (int j = 0; j < n; j++) a[c][j] *= scale, inverse[c][j] *= scale;
        for (int i = 0; i < n; i++) {
            const double factor = i == c ? 0 : a[i][c];
            for (int j = 0; j < n; j++) a[i][j] -= factor * a[c][j], inverse[i][j] -= factor * inverse[c][j];
        }
    }
    return true;
}

static double predicted(const model *m, double x) {
    double row[MAX_TERMS], y = 0;
    row_of(m, x, row);
    for (int i = 0; i < terms_of(m); i++) y += m->coefficient[i] * row[i];
    return y;
}

static bool solve(const points *p, model *m) {
    double normal[MAX_TERMS][MAX_TERMS] = {{0}}, right[MAX_TERMS] = {0};
    const int terms = terms_of(m);
    for (int k = 0; k < p->n; k++) {
        double row[MAX_TERMS];
        row_of(m, p->x[k], row);
        for (int i = 0; i < terms; i++) {
            right[i] += row[i] * p->y[k];
            for (int j = 0; j < terms; j++) normal[i][j] += row[i] * row[j];
        }
    }
    if (!invert(normal, m->inverse, terms)) return false;
    for (int i = 0; i < terms; i++) {
        m->coefficient[i] = 0;
        for (int j = 0; j < terms; j++) m->coefficient[i] += m->inverse[i][j] * right[j];
    }
    m->squares = 0;
    for (int k = 0; k < p->n; k++) m->squares += pow(p->y[k] - predicted(m, p->x[k]), 2);
    return true;
}

/* ---- breaks ------------------------------------------------------------------------------------------------------ */

/* Candidate i: a point where i is even, the middle between two where it is odd. */
static double candidate(const points *p, int i) { return 0.5 * (p->x[i / 2] + p->x[(i + 1) / 2]); }

/* Takes the best model with breaks at candidates from `from` on, behind those that m has. */
static void try_breaks(const points *p, model *m, int left, int from, int step, model *best) {
    const int last = 2 * (p->n - LEAST_OF_PIECE);
    if (left == 0) {
        if (solve(p, m) && m->squares < best->squares) *best = *m;
        return;
    }
    for (int i = from; i <= last; i += step) {
        m->at[m->breaks++] = candidate(p, i);
        try_breaks(p, m, left - 1, i + 2 * LEAST_OF_PIECE, step, best);
        m->breaks--;
    }
}

/* Moves break b by `step` where that fits better; points of each piece stay. */
static bool move_break(const points *p, int b, double step, model *best) {
    model m = *best;
    m.at[b] += step;
    const double low = b == 0 ? p->x[1] : m.at[b - 1], high = b + 1 == m.breaks ? p->x[p->n - 2] : m.at[b + 1];
    int between = 0;
    for (int i = 0; i < p->n; i++) between += p->x[i] > m.at[b] && p->x[i] < high;
    if (m.at[b] <= low || m.at[b] >= high || between == 0 || !solve(p, &m) || !(m.squares < best->squares))
        return false;
    *best = m;
    return true;
}

static void refine(const points *p, model *best) {
    double step = (p->x[p->n - 1] - p->x[0]) / (4.0 * (p->n - 1));
    for (int halved = 0; halved < REFINEMENTS;) {
        bool moved = false;
        for (int b = 0; b < best->breaks; b++) moved |= move_break(p, b, step, best) || move_break(p, b, -step, best);
        if (!moved) step /= 2, halved++;
    }
}

static bool best_with(const points *p, int breaks, model *best) {
    model m = {.breaks = 0};
    *best = (model){.squares = HUGE_VAL};
    /* The cost grows as the candidates to the power of the breaks. */
    const int most = breaks < MAX_BREAKS ? 2 * GRID_OF_MANY : GRID_OF_MANY;
    const int step = 1 + 2 * p->n / most;
    try_breaks(p, &m, breaks, 2 * (LEAST_OF_PIECE - 1), step, best);
    if (!isfinite(best->squares)) return false;
    refine(p, best);
    return true;
}

/* BIC, its penalty corrected for few points as AICc corrects that of AIC. Lower is better. */
static double criterion(const points *p, const model *m) {
    const double n = p->n, parameters = 2 + 2 * m->breaks + 1, spare = n - parameters - 1;
    if (spare <= 0) return m->breaks == 0 ? 0 : HUGE_VAL;
    return n * log(fmax(m->squares / n, evidence * evidence)) + parameters * log(n) * n / spare;
}

static model choose(const points *p) {
    model best = {.breaks = 0}, m;
    (void)solve(p, &best);
    const int most = p->n < 7 ? 0 : p->n > MANY_POINTS ? 1 : MAX_BREAKS;
    for (int breaks = 1; breaks <= most; breaks++)
        if (best_with(p, breaks, &m) && criterion(p, &m) < criterion(p, &best)) best = m;
    return best;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* The exponent behind break number b is the sum of the first exponent and the changes up to there. */
static void describe_piece(const points *p, const model *m, int b, ridge_power_piece *piece) {
    const int spare = p->n - 2 - 2 * m->breaks;
    double variance = 0;
    piece->exponent = 0;
    for (int i = 1; i <= 1 + b; i++) {
        piece->exponent += m->coefficient[i];
        for (int j = 1; j <= 1 + b; j++) variance += m->inverse[i][j];
    }
    piece->error = HUGE_VAL;
    if (spare > 0) piece->error = ridge_student(spare) * sqrt(fmax(variance, 0) * m->squares / spare);
    piece->begins = exp(b == 0 ? p->x[0] : m->at[b - 1]);
    const double from = b == 0 ? -HUGE_VAL : m->at[b - 1], to = b == m->breaks ? HUGE_VAL : m->at[b];
    for (int k = 0; k < p->n; k++) {
        if (p->x[k] < from || p->x[k] >= to) continue;
        if (piece->n++ == 0) piece->first = k;
    }
}

static bool take_logarithms(const double *size, const double *time, points *p) {
    for (int i = 0; i < p->n; i++) {
        if (!(size[i] > 0) || !(time[i] > 0) || !isfinite(size[i]) || !isfinite(time[i])) return false;
        p->x[i] = log(size[i]);
        p->y[i] = log(time[i]);
        if (i > 0 && !(p->x[i] > p->x[i - 1])) return false;
    }
    return true;
}

bool ridge_power_fit_times(const double *size, const double *time, int n, ridge_power_fit *fit) {
    *fit = (ridge_power_fit){.n = 0};
    if (n < RIDGE_LEAST_FIT) return false;
    points p = {.x = malloc((size_t)n * sizeof *p.x), .y = malloc((size_t)n * sizeof *p.y), .n = n};
    if (!p.x || !p.y) ridge_shortage_note();
    const bool fits = p.x && p.y && take_logarithms(size, time, &p);
    if (fits) {
        const model m = choose(&p);
        fit->n = m.breaks + 1;
        fit->residual = sqrt(m.squares / n);
        for (int b = 0; b <= m.breaks; b++) describe_piece(&p, &m, b, &fit->piece[b]);
    }
    free(p.x);
    free(p.y);
    return fits;
}

/* Collects the lines and points of a roofline and chooses axis ranges that contain them. */
#include "report/roofline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double rate(ridge_interval interval) { return interval.n > 0 && interval.median > 0 ? interval.median : 0; }

static void add_levels(ridge_roofline *view, const ridge_ceilings *c) {
    const ridge_level *dram = ridge_ceilings_dram(c);
    for (int i = 0; i < c->n_levels; i++) {
        const ridge_level *level = &c->levels[i];
        double copy = rate(level->copy), stream = rate(level->stream), best = fmax(copy, stream);
        if (!(best > 0)) continue;
        ridge_roof *roof = &view->levels[view->n_levels++];
        *roof = (ridge_roof){.rate = best, .main = level == dram};
        (void)snprintf(roof->name, sizeof roof->name, "%.7s %s", level->name, stream > copy ? "stream" : "copy");
        if (roof->main) view->ridge_point = view->peak / best;
    }
}

/* The peaks of fp32, fastest first; a peak within 10 % of a faster one is omitted. */
static void add_peaks(ridge_roofline *view, const ridge_ceilings *c) {
    double below = (double)INFINITY;
    for (;;) {
        const ridge_peak *best = NULL;
        for (int i = 0; i < c->n_peaks; i++) {
            const ridge_peak *peak = &c->peaks[i];
            if (strcmp(peak->dtype, "fp32") != 0 || !(rate(peak->gflops) > 0) || !(rate(peak->gflops) < below))
                continue;
            if (!best || rate(peak->gflops) > rate(best->gflops)) best = peak;
        }
        if (!best) return;
        ridge_roof *roof = &view->peaks[view->n_peaks];
        *roof = (ridge_roof){.rate = rate(best->gflops), .main = view->n_peaks == 0};
        (void)snprintf(roof->name, sizeof roof->name, "%.23s", best->name);
        view->n_peaks++;
        below = 0.9 * roof->rate;
    }
}

static bool same_case(const ridge_result *a, const ridge_result *b) {
    return a->target == b->target && ridge_case_same(&a->c, &b->c);
}

/* A point takes number and target from an earlier one of the same case or target, or the next free ones. */
static void add_point(ridge_roofline *view, int result) {
    const ridge_result *r = &view->run->results[result];
    ridge_point point = {.result = result, .target = -1, .x = r->place.intensity, .y = r->place.gflops};
    for (int i = 0; i < view->n_points; i++) {
        const ridge_result *other = &view->run->results[view->points[i].result];
        if (other->target == r->target) point.target = view->points[i].target;
        if (same_case(other, r)) point.number = view->points[i].number;
    }
    if (point.target < 0) point.target = view->n_targets++;
    if (point.number == 0) point.number = ++view->n_cases;
    view->points[view->n_points++] = point;
}

static void choose_ranges(ridge_roofline *view) {
    double xmin = view->ridge_point, xmax = view->ridge_point, ymin = view->peak, ymax = view->peak;
    for (int i = 0; i < view->n_points; i++) {
        xmin = fmin(xmin, view->points[i].x);
        xmax = fmax(xmax, view->points[i].x);
        ymin = fmin(ymin, view->points[i].y);
        ymax = fmax(ymax, view->points[i].y);
    }
    view->xmin =
        fmin(0.5 * xmin, 0.02 * view->ridge_point); /* room for the slope even when all points are right of it */
    view->xmax = fmax(2 * xmax, 10 * view->ridge_point);
    view->ymin = fmin(0.5 * ymin, 0.05 * view->peak);
    view->ymax = 2 * ymax;
}

ridge_status ridge_roofline_make(const ridge_run *run, ridge_backend backend, ridge_roofline *view,
                                 ridge_error *error) {
    const ridge_ceilings *ceilings = ridge_run_ceilings(run, backend);
    *view = (ridge_roofline){.run = run, .backend = backend};
    add_peaks(view, ceilings);
    view->peak = view->n_peaks ? view->peaks[0].rate : 0;
    add_levels(view, ceilings);
    if (!(view->ridge_point > 0) || !isfinite(view->ridge_point))
        return ridge_fail(error, RIDGE_INVALID,
                          "no roofline without ceilings of DRAM and fp32: ridge peak --refresh measures them");
    view->points = calloc((size_t)run->n_results + 1, sizeof *view->points);
    if (!view->points) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a plot of %d results", run->n_results);
    for (int i = 0; i < run->n_results; i++) {
        const ridge_result *r = &run->results[i];
        bool drawable =
            r->place.intensity > 0 && isfinite(r->place.intensity) && r->place.gflops > 0 && isfinite(r->place.gflops);
        if (drawable && ridge_verdict_timed(r->verdict) && ridge_variant_backend(r->variant) == backend)
            add_point(view, i);
    }
    choose_ranges(view);
    return RIDGE_OK;
}

void ridge_roofline_free(ridge_roofline *view) {
    free(view->points);
    view->points = NULL;
    view->n_points = 0;
}

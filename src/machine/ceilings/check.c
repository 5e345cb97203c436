/* Finds contradictions in a set of ceilings. A ceiling that contradicts another is a warning, not a denominator. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "machine/ceilings/ladder.h"

static const double margin = 1.05; /* medians of a quiet machine repeat well within this */
static const double unsteady = 0.10;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
fault(ridge_ceilings *c, const char *format, ...) {
    size_t at = strlen(c->faults), left = sizeof c->faults - at;
    if (left < 4) return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(c->faults + at, left - 2, format, args);
    va_end(args);
    (void)snprintf(c->faults + strlen(c->faults), 3, "; ");
}

static double stores(const ridge_level *level) { return fmax(level->copy.median, level->stream.median); }

static void check_levels(ridge_ceilings *c) {
    for (int i = 0; i < c->n_levels; i++) {
        const ridge_level *l = &c->levels[i];
        if (l->read.n == 0 || l->copy.n == 0)
            fault(c, "%s has no rate", l->name);
        else if (ridge_interval_width(l->read) > unsteady || ridge_interval_width(l->copy) > unsteady)
            fault(c, "rates of %s vary by more than %.0f %%: the machine is not quiet", l->name, 100 * unsteady);
    }
    for (int i = 1; i < c->n_levels; i++) {
        const ridge_level *near = &c->levels[i - 1], *far = &c->levels[i];
        if (far->read.median > margin * near->read.median) fault(c, "%s read is above %s read", far->name, near->name);
        if (stores(far) > margin * stores(near)) fault(c, "%s copy is above %s copy", far->name, near->name);
        if (i < c->n_levels - 1 && ridge_level_is_cache(near) && far->capacity < near->capacity)
            fault(c, "%s is smaller than %s", far->name, near->name);
    }
    if (c->n_levels < 2) fault(c, "the ladder shows no cache");
}

static const ridge_peak *named(const ridge_ceilings *c, const char *name) {
    for (int i = 0; i < c->n_peaks; i++)
        if (strcmp(c->peaks[i].name, name) == 0) return &c->peaks[i];
    return NULL;
}

/* Vectors hold twice as many fp32 as fp64. */
static void check_halves(ridge_ceilings *c) {
    for (int i = 0; i < c->n_peaks; i++) {
        if (strncmp(c->peaks[i].name, "fp32 ", 5) != 0 || strcmp(c->peaks[i].name, "fp32 scalar") == 0) continue;
        char name[24];
        (void)snprintf(name, sizeof name, "fp64 %s", c->peaks[i].name + 5);
        const ridge_peak *half = named(c, name);
        double ratio = half ? c->peaks[i].gflops.median / half->gflops.median : 2;
        if (!(ratio > 1.8 && ratio < 2.2)) fault(c, "%s is %.2f times %s, not 2", c->peaks[i].name, ratio, name);
    }
}

static void check_order(ridge_ceilings *c, const char *low, const char *high) {
    const ridge_peak *a = ridge_ceilings_peak(c, low), *b = ridge_ceilings_peak(c, high);
    if (a && b && !(b->gflops.median * margin > a->gflops.median)) fault(c, "%s is below %s", b->name, a->name);
}

void ridge_ceilings_check(ridge_ceilings *c) {
    check_levels(c);
    if (!ridge_ceilings_peak(c, "fp32")) fault(c, "no fp32 peak");
    for (int i = 0; i < c->n_peaks; i++)
        if (!(c->peaks[i].gflops.median > 0)) fault(c, "%s is not positive", c->peaks[i].name);
    check_halves(c);
    check_order(c, "fp32", "bf16");
    check_order(c, "fp32", "int8");
    size_t end = strlen(c->faults);
    if (end >= 2 && strcmp(c->faults + end - 2, "; ") == 0) c->faults[end - 2] = '\0';
}

/* temporary */
#include "machine/ceilings.h"
#include <string.h>
__attribute__((weak)) const ridge_level *ridge_ceilings_dram(const ridge_ceilings *c) { return c->n_levels ? &c->levels[c->n_levels-1] : NULL; }
__attribute__((weak)) const ridge_level *ridge_ceilings_level(const ridge_ceilings *c, double w) {
    for (int i = 0; i < c->n_levels; i++) if (c->levels[i].capacity >= w) return &c->levels[i];
    return ridge_ceilings_dram(c); }
__attribute__((weak)) const ridge_peak *ridge_ceilings_peak(const ridge_ceilings *c, const char *d) {
    const ridge_peak *b = NULL;
    for (int i = 0; i < c->n_peaks; i++) if (!strcmp(c->peaks[i].dtype, d) && (!b || c->peaks[i].gflops.median > b->gflops.median)) b = &c->peaks[i];
    return b; }

/* Looks rates up in a set of ceilings. */
#include "machine/ceilings/ceilings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool ridge_level_is_cache(const ridge_level *level) { return strcmp(level->name, "shared") != 0; }

const ridge_level *ridge_ceilings_dram(const ridge_ceilings *c) {
    return c->n_levels > 0 ? &c->levels[c->n_levels - 1] : NULL;
}

const ridge_level *ridge_ceilings_level(const ridge_ceilings *c, double working_set) {
    for (int i = 0; i < c->n_levels - 1; i++)
        if (ridge_level_is_cache(&c->levels[i]) && working_set <= c->levels[i].capacity) return &c->levels[i];
    return ridge_ceilings_dram(c);
}

const ridge_peak *ridge_ceilings_peak(const ridge_ceilings *c, const char *dtype) {
    const ridge_peak *best = NULL;
    for (int i = 0; i < c->n_peaks; i++)
        if (strcmp(c->peaks[i].dtype, dtype) == 0 && (!best || c->peaks[i].gflops.median > best->gflops.median))
            best = &c->peaks[i];
    return best;
}

ridge_rates ridge_ceilings_rates(const ridge_ceilings *c, ridge_isa isa) {
    const ridge_level *dram = ridge_ceilings_dram(c);
    char name[24];
    double gflops = 0;
    (void)snprintf(name, sizeof name, "fp32 %s", ridge_isa_name(isa));
    for (int i = 0; i < c->n_peaks; i++)
        if (strcmp(c->peaks[i].name, name) == 0) gflops = fmax(gflops, c->peaks[i].gflops.median);
    if (c->threads < 1 || !dram || !(gflops > 0) || !(dram->read.median > 0)) return (ridge_rates){0};
    return (ridge_rates){.flops = 1e3 * gflops / c->threads, .bytes = 1e3 * dram->read.median / c->threads};
}

double ridge_ceilings_last_level(const ridge_ceilings *c) {
    double bytes = c->n_levels > 1 ? c->levels[c->n_levels - 2].capacity : 0;
    int tail = c->n_rungs < 3 ? c->n_rungs : 3, i = c->n_rungs - tail;
    /* A GPU's L2 is only a few times faster than its memory, so "at memory's rates" needs a narrow margin there. */
    double floor = 0, above = c->threads == 0 ? 1.1 : 1.5;
    for (int k = i; k < c->n_rungs; k++) floor += c->rungs[k].read_gbps * c->rungs[k].copy_gbps / tail;
    while (i > 0 && c->rungs[i - 1].read_gbps * c->rungs[i - 1].copy_gbps < above * floor) i--;
    return i < c->n_rungs ? fmax(bytes, c->rungs[i].bytes) : bytes;
}

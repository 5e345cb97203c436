/* Finds cache levels in a ladder of rates, and what in a set of ceilings does not fit together. Pure functions. */
#ifndef RIDGE_MACHINE_CEILINGS_LADDER_H
#define RIDGE_MACHINE_CEILINGS_LADDER_H

#include "machine/ceilings/ceilings.h"

typedef struct ridge_plateau {
    int first, last;   /* rungs */
    double read, copy; /* GB/s, medians over the plateau */
} ridge_plateau;

/* Plateaus of the ladder, fastest first; the last one is memory. At most RIDGE_MAX_LEVELS. */
int ridge_ladder_plateaus(const ridge_rung *rungs, int n, ridge_plateau plateaus[RIDGE_MAX_LEVELS]);

/* Writes what contradicts itself into c->faults, after what is there. */
void ridge_ceilings_check(ridge_ceilings *c);

#endif

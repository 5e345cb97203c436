/* How time grows with size: the cases of a run that form a line, and power laws in pieces fitted to their times.
 *
 * A line is one variant on at least four cases of one target, type, memory order and options whose sizes ascend: either
 * one dimension differs, or several grow together (256x256x256, 512x512x512, …). n is the extent, or the geometric mean
 * of the extents that grow. A grid of sizes has a line for each dimension and each choice of the others. */
#ifndef RIDGE_RECORD_SCALING_H
#define RIDGE_RECORD_SCALING_H

#include "measure/fit.h"
#include "record/record.h"

typedef struct ridge_scaling {
    int *result;   /* indices into run->results, by ascending size */
    double *size;  /* of each: n */
    int n;         /* of them */
    unsigned axes; /* bit d: target->dims[d] grows along the line */
    ridge_power_fit fit;
    /* What bounds a piece, by most of its cases: "launch", the memory level ("L2", "DRAM") or "compute"; "": no ceiling
     * is known. An exponent below 0.3 is a launch's: time that hardly depends on the size. */
    char regime[RIDGE_MAX_PIECES][16];
} ridge_scaling;

typedef struct ridge_scalings {
    ridge_scaling *line;
    int n;
} ridge_scalings;

/* In the order of the results. Free in every case. */
ridge_status ridge_run_scalings(const ridge_run *run, ridge_scalings *scalings);
void ridge_scalings_free(ridge_scalings *scalings);

/* "rowsx4096/bf16": the case's name with the names of the dimensions that grow instead of their extents. */
void ridge_scaling_name(const ridge_run *run, const ridge_scaling *line, char *name, int size);

#endif

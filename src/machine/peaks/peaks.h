/* Peak loops: independent multiply-adds in registers, for every such instruction of the processor. A loop takes its
 * operands and a number of steps, and leaves accumulators that the host predicts exactly. A loop that the compiler
 * shortened, folded or miscompiled gives a wrong sum instead of a high rate. */
#ifndef RIDGE_MACHINE_PEAKS_PEAKS_H
#define RIDGE_MACHINE_PEAKS_PEAKS_H

#include <stdbool.h>
#include <stdint.h>

/* Effect of a step on an accumulator element. All elements of x are equal, and all of y. */
typedef enum ridge_peak_kind {
    RIDGE_PEAK_F32,       /* fp32 += depth products of fp32 */
    RIDGE_PEAK_F64,       /* fp64 += depth products of fp64 */
    RIDGE_PEAK_BF16,      /* fp32 += depth products of bf16 */
    RIDGE_PEAK_I8_I32,    /* int32 += depth products of int8 */
    RIDGE_PEAK_I8_I16,    /* int16 += depth products of int8 */
    RIDGE_PEAK_F32_SPLIT, /* first half of the accumulators += y, second half *= x: for sets without multiply-add */
    RIDGE_PEAK_F64_SPLIT,
    RIDGE_PEAK_I32_SPLIT,
} ridge_peak_kind;

/* accumulators: chains * bytes, in and out. x, y: one vector each (tiles: 1024 bytes). */
typedef void (*ridge_peak_fn)(void *accumulators, const void *x, const void *y, int64_t steps);

typedef struct ridge_peak_loop {
    const char *name;    /* ridge_peak.name; several loops may share it, the fastest counts */
    const char *dtype;   /* ridge_peak.dtype */
    const char *feature; /* "" or one word of ridge_cpu_has */
    const char *how;     /* "16 independent zmm accumulators, vfmadd231ps" */
    ridge_peak_fn run;
    ridge_peak_kind kind;
    int chains; /* independent accumulators */
    int bytes;  /* of one accumulator */
    int lanes;  /* elements in use in each */
    int depth;  /* products a step adds to an element */
} ridge_peak_loop;

enum { RIDGE_PEAK_MAX_BYTES = 8 * 1024 };

const ridge_peak_loop *ridge_peaks_scalar(int *count); /* portable C */
const ridge_peak_loop *ridge_peaks_native(int *count); /* this architecture's own instructions */

/* Asks Linux for permission to use the tile registers. True if granted. */
bool ridge_tiles_allowed(void);

#endif

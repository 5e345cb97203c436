/* Peak loops: independent multiply-adds in registers, by every instruction the processor has for them. Each is told its
 * operands and how many steps to make, and leaves accumulators that the host predicts exactly, so that a loop which was
 * shortened, folded or mistranslated shows as a wrong sum and not as a high rate. */
#ifndef RIDGE_MACHINE_PEAKS_H
#define RIDGE_MACHINE_PEAKS_H

#include <stdbool.h>
#include <stdint.h>

/* What a step does to an accumulator element; all operand elements of x are equal, and so are all of y. */
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

/* Permission to use the tile registers, which Linux gives on request. true when they may be used. */
bool ridge_tiles_allowed(void);

#endif

/* The GPU's meter: what is launched to find its ceilings, as tables of movers and peak loops, and who times them.
 *
 * Everything is checked by what it leaves behind, predicted on the host: a loop that was shortened, folded or
 * mistranslated shows as a wrong sum and not as a high rate. */
#ifndef RIDGE_MACHINE_GPU_METER_H
#define RIDGE_MACHINE_GPU_METER_H

#include "machine/ceilings.h"
#include "machine/gpu_operands.h"

enum {
    RIDGE_GPU_SUMS = 1024,     /* 32-bit sums a launch adds to, spread so that blocks do not queue for one */
    RIDGE_GPU_THREADS = 1024,  /* of a block that works in L2 or in shared memory */
    RIDGE_GPU_BLOCKS = 2,      /* of those that work in L2, a multiprocessor */
    RIDGE_GPU_SHARED_ROWS = 4, /* of 16 bytes a thread */
    RIDGE_GPU_DEPTH = 8,       /* loads in flight in L2: passes are a multiple of it */
};

/* What a launch is given; lengths of memory are multiples of 64 KiB, for DRAM of 1 MiB. */
typedef struct ridge_gpu_work {
    char *memory; /* word i holds ridge_gpu_word(i), but in the second half of a copy, the target */
    size_t bytes;
    int64_t passes;                     /* L2: accesses a thread; shared memory: passes over its rows; peaks: steps */
    uint32_t *sums;                     /* RIDGE_GPU_SUMS, added to */
    const ridge_gpu_operands *operands; /* in GPU memory */
    float unit, slack; /* peaks: what a step adds to a sum, and the error that is permitted in the end */
    int multiprocessors;
    void *stream;
} ridge_gpu_work;

typedef void (*ridge_gpu_launch_fn)(const ridge_gpu_work *work);

static inline uint32_t ridge_gpu_word(uint32_t i) { return i * 2654435761u; }

/* ---- memory ----------------------------------------------------------------------------------------------------- */

typedef enum ridge_gpu_motion {
    RIDGE_GPU_READ,
    RIDGE_GPU_COPY,   /* of the first half into the second */
    RIDGE_GPU_STREAM, /* a copy whose accesses say that the lines will not be used again */
    RIDGE_GPU_WRITE,
    RIDGE_GPU_MOTIONS
} ridge_gpu_motion;

typedef struct ridge_gpu_mover {
    ridge_gpu_motion motion;
    const char *how;
    ridge_gpu_launch_fn launch;
} ridge_gpu_mover;

const ridge_gpu_mover *ridge_gpu_dram_movers(int *count);
const ridge_gpu_mover *ridge_gpu_l2_movers(int *count);
const ridge_gpu_mover *ridge_gpu_shared_movers(int *count);

/* Makes word i of memory ridge_gpu_word(i). */
void ridge_gpu_meter_fill(void *memory, size_t bytes, void *stream);
/* Adds to sums how many words are not so. */
void ridge_gpu_meter_mismatches(const void *memory, size_t bytes, uint32_t *sums, void *stream);

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

typedef struct ridge_gpu_loop {
    const char *name; /* ridge_peak.name and .dtype */
    const char *dtype;
    const char *how;
    ridge_gpu_operand operand;
    int least_sm, most_sm;      /* compute capabilities times ten that it runs on */
    int blocks, threads;        /* a multiprocessor; a block */
    int sums;                   /* checked accumulators a thread */
    double flops;               /* of a step, a block */
    int64_t most_steps;         /* beyond which sums would no longer be exact */
    ridge_gpu_launch_fn launch; /* adds to sums how many accumulators are right */
} ridge_gpu_loop;

const ridge_gpu_loop *ridge_gpu_scalar_loops(int *count); /* FFMA */
const ridge_gpu_loop *ridge_gpu_mma_loops(int *count);    /* mma.sync */
const ridge_gpu_loop *ridge_gpu_wgmma_loops(int *count);  /* Hopper's warpgroup instructions */

/* ---- the meter -------------------------------------------------------------------------------------------------- */

/* Levels, ladder and peaks of the device that ridge_cuda_open made current in this process. Under 6 s. */
ridge_status ridge_gpu_meter(const ridge_gpu *gpu, ridge_ceilings *c, ridge_error *error);

#endif

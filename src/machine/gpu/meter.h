/* The GPU's meter: tables of movers and peak loops, which are launched to find its ceilings, and the function that
 * times them.
 *
 * The host predicts the result of every loop. A loop that the compiler shortened, folded or miscompiled gives a wrong
 * sum instead of a high rate. */
#ifndef RIDGE_MACHINE_GPU_METER_H
#define RIDGE_MACHINE_GPU_METER_H

#include "machine/ceilings/ceilings.h"
#include "machine/gpu/operands.h"

enum {
    RIDGE_GPU_SUMS = 1024,     /* 32-bit sums a launch adds to, spread so that blocks do not queue for one */
    RIDGE_GPU_THREADS = 1024,  /* threads of a block of the L2 and shared-memory movers */
    RIDGE_GPU_BLOCKS = 2,      /* blocks an SM of the L2 movers */
    RIDGE_GPU_SHARED_ROWS = 4, /* rows of 16 bytes a thread in shared memory */
    RIDGE_GPU_DEPTH = 8,       /* loads in flight of the L2 movers; passes are a multiple of it */
};

/* Arguments of a launch. Lengths of memory are multiples of 64 KiB, for DRAM of 1 MiB. */
typedef struct ridge_gpu_work {
    char *memory; /* word i holds ridge_gpu_word(i), except in the second half of a copy, its target */
    size_t bytes;
    int64_t passes;                     /* L2: accesses a thread; shared memory: passes over its rows; peaks: steps */
    uint32_t *sums;                     /* RIDGE_GPU_SUMS, added to */
    const ridge_gpu_operands *operands; /* in GPU memory */
    float unit, slack;                  /* peaks: what a step adds to a sum; permitted error of the final sum */
    int sm_count;
    void *stream;
} ridge_gpu_work;

typedef void (*ridge_gpu_launch_fn)(const ridge_gpu_work *work);

static inline uint32_t ridge_gpu_word(uint32_t i) { return i * 2654435761u; }

/* ---- memory ----------------------------------------------------------------------------------------------------- */

typedef enum ridge_gpu_motion {
    RIDGE_GPU_READ,
    RIDGE_GPU_COPY,   /* copies the first half into the second */
    RIDGE_GPU_STREAM, /* a copy with evict-first hints on its accesses */
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

/* Sets word i of memory to ridge_gpu_word(i). */
void ridge_gpu_meter_fill(void *memory, size_t bytes, void *stream);
/* Adds the number of words that differ from that to sums. */
void ridge_gpu_meter_mismatches(const void *memory, size_t bytes, uint32_t *sums, void *stream);

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

typedef struct ridge_gpu_loop {
    const char *name; /* ridge_peak.name and .dtype */
    const char *dtype;
    const char *how;
    ridge_gpu_operand operand;
    int least_sm, most_sm;      /* range of compute capabilities times ten it runs on */
    int blocks, threads;        /* blocks an SM, threads a block */
    int sums;                   /* checked accumulators a thread */
    double flops;               /* FLOP of a step, a block */
    int64_t most_steps;         /* sums are exact up to this many steps */
    ridge_gpu_launch_fn launch; /* adds the number of correct accumulators to sums */
} ridge_gpu_loop;

const ridge_gpu_loop *ridge_gpu_scalar_loops(int *count); /* FFMA */
const ridge_gpu_loop *ridge_gpu_mma_loops(int *count);    /* mma.sync */
const ridge_gpu_loop *ridge_gpu_wgmma_loops(int *count);  /* Hopper's warpgroup instructions */

/* ---- the meter -------------------------------------------------------------------------------------------------- */

/* Measures levels, ladder and peaks of the device that ridge_cuda_open made current in this process, in under 6 s. */
ridge_status ridge_gpu_meter(const ridge_gpu *gpu, ridge_ceilings *c, ridge_error *error);

#endif

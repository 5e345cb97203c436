/* Movers: the fastest known loops that read, copy or write memory, for every vector width of the processor and in
 * several patterns. The ladder and the bandwidth ceilings try all and keep the fastest: a ceiling that a better loop
 * beats would flatter every kernel measured against it. */
#ifndef RIDGE_MACHINE_MEMORY_MOVERS_H
#define RIDGE_MACHINE_MEMORY_MOVERS_H

#include <stddef.h>

typedef enum ridge_motion {
    RIDGE_MOVE_READ,   /* plain loads */
    RIDGE_MOVE_COPY,   /* plain loads and stores */
    RIDGE_MOVE_STREAM, /* plain loads, non-temporal stores */
    RIDGE_MOVE_WRITE,  /* non-temporal stores */
    RIDGE_MOTIONS
} ridge_motion;

/* Moves `bytes` bytes from source to target; reads ignore target, writes ignore source. Both are 64-byte aligned and
 * bytes is a multiple of 1024. */
typedef void (*ridge_mover_fn)(char *target, const char *source, size_t bytes);

typedef struct ridge_mover {
    ridge_motion motion;
    const char *name;    /* "zmm, rows of 4 KiB two at a time" */
    const char *feature; /* "": runs anywhere */
    ridge_mover_fn run;
} ridge_mover;

/* Movers of this architecture. A mover whose feature is missing must not run. */
const ridge_mover *ridge_movers(int *count);

#endif

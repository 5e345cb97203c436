/* The parts of a judged process: what every one does (serve.c), and who loads and calls the kernel (a host). */
#ifndef RIDGE_JUDGED_JUDGED_H
#define RIDGE_JUDGED_JUDGED_H

#include <ffi.h>
#include <stdbool.h>
#include <stddef.h>

#include "measure/channel.h"
#include "ridge/team.h"

typedef union ridge_judged_number {
    void *address;
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
} ridge_judged_number;

typedef struct ridge_judged {
    ridge_channel *channel;
    ridge_team *team;
    void *symbol;
    bool plain; /* it is called by its arguments */
    ffi_cif call;
    ffi_type *type[RIDGE_CHANNEL_ARGUMENTS];
    void *value[RIDGE_CHANNEL_ARGUMENTS];
    ridge_judged_number number[RIDGE_CHANNEL_ARGUMENTS];
    char *memory; /* all tensors with unmapped addresses between them */
    size_t bytes;
    ridge_kernel_tensor tensor[RIDGE_KERNEL_MAX_TENSORS];   /* as the judge shares them */
    ridge_kernel_tensor argument[RIDGE_KERNEL_MAX_TENSORS]; /* as the kernel gets them */
    unsigned char *witness; /* shared with the judge: what happened to each byte of the tensors; NULL: not asked */
    void *stream;           /* of a GPU */
} ridge_judged;

/* Who loads and calls the kernel. Each answers 0, what the kernel returned, or -1 after ridge_judged_say. */
typedef struct ridge_judged_host {
    int (*start)(ridge_judged *j); /* before the first filter: threads, libraries, a device */
    int (*load)(ridge_judged *j);  /* between the filters: the file, its function */
    int (*ready)(ridge_judged *j); /* before a launch and not timed; inputs are right */
    int (*run)(ridge_judged *j);
    int (*done)(ridge_judged *j);  /* after a launch and not timed */
    int (*empty)(ridge_judged *j); /* as much as run, without a kernel */
    unsigned lock;                 /* what the filters leave besides, a sum of RIDGE_LOCK_… */
} ridge_judged_host;

int ridge_judged_say(ridge_judged *j, const char *text);
/* Serves the judge until it ends this process. Without the judge's page and socket it returns at once: 2. */
int ridge_judged_serve(const ridge_judged_host *host);

/* A shared object's function, called in this process (native.c). Other hosts build on it. */
int ridge_native_start(ridge_judged *j);
int ridge_native_load(ridge_judged *j);
int ridge_native_ready(ridge_judged *j); /* wakes the threads, and passes j->argument */
int ridge_native_run(ridge_judged *j);
int ridge_native_done(ridge_judged *j);
int ridge_native_empty(ridge_judged *j);

/* Before foreign code is loaded, on all threads: no processes, threads, tracing, signals to others, timers, scheduling, no
 * file that is opened for writing, and no privileges. After: nothing but memory without code, waiting, the clock and the end.
 * Any other call kills the process (SIGSYS). False: the kernel has no seccomp filters. */
enum {
    RIDGE_LOCK_REMAP = 1,   /* memory may move, as realloc moves large blocks */
    RIDGE_LOCK_PROTECT = 2, /* mprotect, but not to execute */
    RIDGE_LOCK_OPEN = 4,    /* no second filter, and files: a driver opens devices whenever it likes */
};
bool ridge_lock_before(unsigned except);
bool ridge_lock_after(unsigned except);

#endif

/* Runs kernels that tests have as PTX text, without the CUDA runtime. */
#ifndef EMULATOR_TESTS_KERNEL_H
#define EMULATOR_TESTS_KERNEL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "machine/decode.h"
#include "memory/memory.h"
#include "runtime/schedule.h"

typedef struct kernel {
    ptx_module *module;
    const emu_code *code;
} kernel;

/* Fails the test, with the line, when the text is refused. */
static inline kernel kernel_open(const char *text, const char *name) {
    ptx_error error = {0};
    kernel k = {.module = ptx_module_open(text, strlen(text), &error)};
    ptx_function *function = k.module ? ptx_function_find(k.module, name) : NULL;
    if (function && ptx_function_parse(function, &error)) k.code = emu_code_of(function, &error);
    if (!k.code) fail_msg("%s", error.text);
    return k;
}

static inline void kernel_close(kernel *k) {
    emu_code_free(k->code);
    ptx_module_close(k->module);
}

typedef struct launch {
    uint32_t blocks, threads, cluster, dynamic_shared;
    const void *parameters;
    uint32_t parameter_bytes;
    uint64_t seed;
} launch;

/* The first finding's text, NULL: none. */
static inline const char *kernel_run(const kernel *k, const launch *l) {
    static uint64_t number;
    static emu_clock *before; /* launches follow each other */
    emu_grid *grid = emu_alloc(sizeof *grid);
    *grid = (emu_grid){.code = k->code,
                       .name = k->code->function->name,
                       .blocks = {l->blocks, 1, 1},
                       .threads = {l->threads, 1, 1},
                       .cluster = {l->cluster ? l->cluster : 1, 1, 1},
                       .dynamic_shared = l->dynamic_shared,
                       .parameter_bytes = l->parameter_bytes,
                       .number = ++number,
                       .n_clusters = l->blocks / (l->cluster ? l->cluster : 1)};
    grid->parameters = emu_alloc(l->parameter_bytes + 1);
    memcpy(grid->parameters, l->parameters, l->parameter_bytes);
    emu_random_seed(&grid->random, l->seed);
    emu_clock_host(&before);
    grid->begin_clock = emu_clock_copy(before);
    emu_check_grid_begin(grid);
    (void)emu_findings_take();
    emu_schedule(&grid, 1);
    emu_check_grid_end(grid);
    emu_clock_join(&before, grid->end_clock);
    emu_check_host_waited(grid->end_clock);
    emu_clock_free(grid->begin_clock);
    emu_clock_free(grid->end_clock);
    free(grid->parameters);
    free(grid);
    return emu_findings_take();
}
#endif

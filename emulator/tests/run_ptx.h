/* Runs kernels written as PTX text on the whole machine, by its own parts and without the CUDA runtime's functions.
 * Parameters are 64-bit numbers. */
#ifndef EMULATOR_TESTS_RUN_PTX_H
#define EMULATOR_TESTS_RUN_PTX_H

#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "machine/decode.h"
#include "memory/memory.h"
#include "runtime/schedule.h"

typedef struct run_shape {
    uint32_t blocks, threads, cluster; /* cluster 0: 1 */
    uint32_t dynamic_shared;
    uint64_t seed;
} run_shape;

static inline emu_grid *run_grid(const emu_code *code, const run_shape *shape, const uint64_t *parameters) {
    static uint64_t number;
    emu_grid *grid = emu_alloc(sizeof *grid);
    uint32_t cluster = shape->cluster ? shape->cluster : 1;
    *grid = (emu_grid){.code = code,
                       .name = code->function->name,
                       .blocks = {shape->blocks, 1, 1},
                       .threads = {shape->threads, 1, 1},
                       .cluster = {cluster, 1, 1},
                       .dynamic_shared = shape->dynamic_shared,
                       .parameter_bytes = code->function->parameter_bytes,
                       .number = ++number,
                       .n_clusters = shape->blocks / cluster};
    grid->parameters = emu_alloc(grid->parameter_bytes + 1);
    if (grid->parameter_bytes) memcpy(grid->parameters, parameters, grid->parameter_bytes);
    emu_random_seed(&grid->random, shape->seed * 7919 + 1);
    emu_clock_host(&grid->begin_clock);
    emu_check_grid_begin(grid);
    return grid;
}

/* The host waits for a launch that has ended, as a synchronizing call does. */
static inline void run_grid_free(emu_grid *grid) {
    emu_check_host_waited(grid->end_clock);
    emu_clock_free(grid->begin_clock);
    emu_clock_free(grid->end_clock);
    free(grid->parameters);
    free(grid);
}

/* Code of the kernel; ends the test when the text is wrong. */
static inline const emu_code *run_code(ptx_module **module, const char *text, const char *kernel) {
    ptx_error error = {0};
    *module = ptx_module_open(text, strlen(text), &error);
    ptx_function *f = *module ? ptx_function_find(*module, kernel) : NULL;
    const emu_code *code = f ? emu_code_of(f, &error) : NULL;
    if (!code) fail_msg("%s: %s", kernel, error.text);
    return code;
}

/* Runs one launch. The first finding, NULL: none; valid until the next run. */
static inline const char *run_ptx(const char *text, const char *kernel, const run_shape *shape,
                                  const uint64_t *parameters) {
    ptx_module *module;
    const emu_code *code = run_code(&module, text, kernel);
    emu_grid *grid = run_grid(code, shape, parameters);
    (void)emu_findings_take();
    emu_schedule(&grid, 1);
    emu_check_grid_end(grid);
    run_grid_free(grid);
    const char *finding = emu_findings_take();
    emu_code_free(code);
    ptx_module_close(module);
    return finding;
}
#endif

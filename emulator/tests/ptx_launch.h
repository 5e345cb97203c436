/* For tests: runs a kernel from PTX text. */
#ifndef EMULATOR_TESTS_PTX_LAUNCH_H
#define EMULATOR_TESTS_PTX_LAUNCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "exec/decode.h"
#include "memory/memory.h"
#include "runtime/schedule.h"

typedef struct ptx_kernel {
    ptx_module *module;
    ptx_function *function;
    const emu_code *code;
    ptx_error error; /* why code is NULL */
} ptx_kernel;

/* body: what stands between the version and the end of a module with one entry, which is run. */
static inline ptx_kernel ptx_kernel_open(const char *body) {
    ptx_kernel kernel = {.code = NULL};
    static const char head[] = ".version 8.5\n.target sm_90a\n.address_size 64\n";
    char *text = malloc(sizeof(head) + strlen(body));
    size_t bytes = (size_t)sprintf(text, "%s%s", head, body);
    kernel.module = ptx_module_open(text, bytes, &kernel.error);
    free(text);
    if (kernel.module == NULL) return kernel;
    for (int i = 0; i < kernel.module->n_functions; i++)
        if (kernel.module->function[i]->entry) kernel.function = kernel.module->function[i];
    if (kernel.function != NULL && ptx_function_parse(kernel.function, &kernel.error))
        kernel.code = emu_code_of(kernel.function, &kernel.error);
    return kernel;
}

static inline void ptx_kernel_close(ptx_kernel *kernel) {
    if (kernel->code != NULL) emu_code_free(kernel->code);
    if (kernel->module != NULL) ptx_module_close(kernel->module);
}

/* Runs it over so many blocks, in clusters of so many, with pointers as parameters. Returns findings that were told. */
static inline uint64_t ptx_kernel_run(const ptx_kernel *kernel, uint32_t blocks, uint32_t cluster, uint32_t threads,
                                      uint64_t seed, const void *const *parameters, int n) {
    static uint64_t number;
    emu_grid *grid = emu_alloc(sizeof(*grid));
    *grid = (emu_grid){.code = kernel->code,
                       .name = kernel->function->name,
                       .blocks = {blocks, 1, 1},
                       .threads = {threads, 1, 1},
                       .cluster = {cluster, 1, 1},
                       .number = ++number,
                       .n_clusters = blocks / cluster,
                       .parameter_bytes = kernel->function->parameter_bytes};
    grid->parameters = emu_alloc(grid->parameter_bytes + 8 * (size_t)n);
    memcpy(grid->parameters, parameters, 8 * (size_t)n);
    emu_random_seed(&grid->random, seed);
    uint64_t before = emu_findings_count();
    emu_clock_host(&grid->begin_clock);
    emu_check_grid_begin(grid);
    emu_schedule(&grid, 1);
    emu_check_grid_end(grid);
    emu_check_host_waited(grid->end_clock);
    emu_clock_free(grid->begin_clock);
    emu_clock_free(grid->end_clock);
    free(grid->parameters);
    free(grid);
    return emu_findings_count() - before;
}
#endif

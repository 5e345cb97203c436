/* Kernels from the text of one entry: opened once and run several times, or refused with the reason. */
#ifndef EMULATOR_TESTS_PTX_LAUNCH_H
#define EMULATOR_TESTS_PTX_LAUNCH_H

#include <stdio.h>

#include "tests/run_ptx.h"

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
    uint64_t numbers[16] = {0};
    for (int i = 0; i < n; i++) numbers[i] = (uint64_t)(uintptr_t)parameters[i];
    const run_shape shape = {.blocks = blocks, .threads = threads, .cluster = cluster, .seed = seed};
    emu_grid *grid = run_grid(kernel->code, &shape, numbers);
    uint64_t before = emu_findings_count();
    emu_schedule(&grid, 1);
    emu_check_grid_end(grid);
    run_grid_free(grid);
    return emu_findings_count() - before;
}
#endif

/* What nvcc's host code registers: fat binaries, their kernels and variables. A fat binary's PTX is opened when
 * something of it is first used, a kernel's text is parsed when it is first launched. */
#include "runtime/registration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/decode.h"
#include "memory/memory.h"
#include "runtime/limits.h"
#include "runtime/runtime.h"
#include "runtime/table.h"

typedef struct variable {
    emu_fatbin *fatbin;
    const char *name;
    size_t bytes;
    uint8_t *memory; /* NULL: not loaded */
    void **managed;  /* host pointer to set, NULL: not managed */
} variable;

struct emu_fatbin {
    const void *data;
    ptx_module *module;
    bool opened;
    char *why; /* it cannot be opened */
    cudaError_t error;
    variable **variable;
    size_t n_variables;
};

static emu_table kernels, variables; /* by address in host code */
static emu_table known;              /* kernels by themselves: handles */
static emu_fatbin **fatbins;
static size_t n_fatbins;

/* ---- registration ---------------------------------------------------------------------------------------------- */

typedef struct wrapper { /* __fatBinC_Wrapper_t */
    int magic, version;
    const void *data;
    void *rest;
} wrapper;
enum { WRAPPER = 0x466243b1 };

typedef struct header { /* of the fat binary itself */
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* after the header */
} header;
#define FATBIN UINT32_C(0xba55ed50)

/* An image that a program gives may be text, which lies anywhere and may end before a magic number would. */
static bool begins_with(const void *image, uint32_t magic) {
    const unsigned char *byte = image;
    for (int i = 0; i < 4; i++)
        if (byte[i] != (unsigned char)(magic >> 8 * i)) return false;
    return true;
}
static uint64_t fatbin_bytes(const void *data) {
    header h;
    memcpy(&h, data, sizeof h);
    return h.header_bytes + h.bytes;
}
static const void *unwrapped(const void *given) {
    wrapper w;
    if (!begins_with(given, WRAPPER)) return given;
    memcpy(&w, given, sizeof w);
    return w.data;
}

emu_fatbin *emu_fatbin_add(const void *given) {
    emu_fatbin *fatbin = emu_alloc(sizeof *fatbin);
    fatbin->data = unwrapped(given);
    fatbins = emu_grow(fatbins, n_fatbins + 1, sizeof *fatbins);
    fatbins[n_fatbins++] = fatbin;
    return fatbin;
}

void **__cudaRegisterFatBinary(void *given) {
    EMU_LOCKED;
    return (void **)emu_fatbin_add(given);
}

emu_kernel *emu_kernel_add(emu_fatbin *fatbin, const char *name, const void *host) {
    emu_kernel *kernel = emu_alloc(sizeof *kernel);
    *kernel = (emu_kernel){.fatbin = fatbin, .name = name, .host = host, .max_dynamic_shared = -1, .carveout = -1};
    emu_table_set(&known, kernel, kernel);
    return kernel;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
                            void *tid, void *bid, void *block, void *grid, int *warp_size) {
    EMU_LOCKED;
    (void)device, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp_size;
    emu_table_set(&kernels, host, emu_kernel_add((emu_fatbin *)handle, name, host));
}

static variable *register_variable(void **handle, const void *host, const char *name, size_t bytes) {
    emu_fatbin *fatbin = (emu_fatbin *)handle;
    variable *v = emu_alloc(sizeof *v);
    *v = (variable){.fatbin = fatbin, .name = name, .bytes = bytes};
    fatbin->variable = emu_grow(fatbin->variable, fatbin->n_variables + 1, sizeof(variable *));
    fatbin->variable[fatbin->n_variables++] = v;
    emu_table_set(&variables, host, v);
    return v;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t bytes,
                       int constant, int global) {
    EMU_LOCKED;
    (void)device, (void)external, (void)constant, (void)global;
    (void)register_variable(handle, host, name, bytes);
}

/* Host code reads the variable's address from *host, after __cudaInitModule(). */
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t bytes,
                              int constant, int global) {
    EMU_LOCKED;
    (void)device, (void)external, (void)constant, (void)global;
    variable *v = register_variable(handle, host, name, bytes);
    v->managed = host;
    v->memory = emu_memory_allocate(bytes, EMU_MANAGED);
    *host = v->memory;
    if (v->memory) emu_table_set(&variables, v->memory, v);
}

void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes) {
    (void)handle, (void)name, (void)host, (void)bytes;
}

void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

void __cudaUnregisterFatBinary(void **handle) {
    EMU_LOCKED;
    (void)handle;
    static bool ended;
    if (!ended) emu_work_wait(NULL); /* the process ends: what nobody waited for runs now */
    if (!ended) emu_report_counts();
    ended = true;
}

/* ---- opening a fat binary -------------------------------------------------------------------------------------- */

typedef struct choice {
    char *text;
    size_t bytes;
    int sm;
} choice;

static void choose(void *context, const char *text, size_t bytes, int sm) {
    choice *best = context;
    if (sm > emu_options_get()->architecture || sm < best->sm) return;
    free(best->text);
    *best = (choice){memcpy(emu_alloc(bytes + 1), text, bytes), bytes, sm};
}

static cudaError_t fail_fatbin(emu_fatbin *fatbin, cudaError_t error, const char *why) {
    fatbin->why = strdup(why);
    return fatbin->error = error;
}

static variable *variable_named(const emu_fatbin *fatbin, const char *name) {
    for (size_t i = 0; i < fatbin->n_variables; i++)
        if (strcmp(fatbin->variable[i]->name, name) == 0) return fatbin->variable[i];
    return NULL;
}

static bool in_memory(const ptx_variable *v) {
    return (v->space == PTX_GLOBAL || v->space == PTX_CONST) && !v->external && v->bytes;
}

/* Around a variable lies memory that is none's, as between allocations. */
static void place_variable(emu_fatbin *fatbin, ptx_variable *v) {
    enum { AROUND = 512 };
    variable *registered = variable_named(fatbin, v->name);
    uint8_t *memory = registered ? registered->memory : NULL;
    if (!memory) {
        uint64_t bytes = (v->bytes + AROUND - 1) / AROUND * AROUND + 2 * AROUND;
        memory = aligned_alloc(AROUND, bytes);
        if (!memory) memory = emu_alloc(bytes); /* ends the process with a line */
        memset(memory, 0, bytes);
        memory += AROUND;
        emu_allocation *a = emu_memory_register(memory, v->bytes, EMU_VARIABLE, v->name);
        if (a) a->constant = v->space == PTX_CONST;
    }
    if (v->initial) memcpy(memory, v->initial, v->bytes);
    emu_memory_host_wrote(memory, v->bytes);
    v->user = memory;
    if (registered) registered->memory = memory;
}

static void relocate(const ptx_module *module, const ptx_variable *v) {
    for (int i = 0; i < v->n_relocations; i++) {
        const struct ptx_relocation *r = &v->relocation[i];
        const ptx_variable *to = ptx_variable_find(module, r->symbol);
        const void *address = to ? to->user : (const void *)ptx_function_find(module, r->symbol);
        uint64_t value = ((uintptr_t)address + (uint64_t)r->addend) >> r->shift;
        memcpy((uint8_t *)v->user + r->at, &value, r->bytes);
    }
}

/* PTX itself begins with its version, perhaps behind comments. */
static bool is_text(const char *data) { return *data == '/' || *data == '.' || (*data && strchr(" \t\r\n", *data)); }

static cudaError_t open_fatbin(emu_fatbin *fatbin) {
    if (fatbin->opened) return fatbin->error;
    fatbin->opened = true;
    ptx_error error = {0};
    choice best = {0};
    if (is_text(fatbin->data)) {
        choose(&best, fatbin->data, strlen(fatbin->data), 0);
    } else if (!begins_with(fatbin->data, FATBIN)) {
        return fail_fatbin(fatbin, cudaErrorInvalidKernelImage, "neither a fat binary nor PTX");
    } else if (!ptx_fatbin_each(fatbin->data, fatbin_bytes(fatbin->data), choose, &best, &error)) {
        free(best.text);
        return fail_fatbin(fatbin, cudaErrorInvalidPtx, error.text);
    }
    if (!best.text)
        return fail_fatbin(
            fatbin, cudaErrorNoKernelImageForDevice,
            "the program has no PTX for sm_90 or less: compile with -gencode arch=compute_90a,code=compute_90a "
            "--compress-mode=speed");
    fatbin->module = ptx_module_open(best.text, best.bytes, &error);
    free(best.text);
    if (!fatbin->module) return fail_fatbin(fatbin, cudaErrorInvalidPtx, error.text);
    ptx_module *module = fatbin->module;
    for (int i = 0; i < module->n_variables; i++)
        if (in_memory(module->variable[i])) place_variable(fatbin, module->variable[i]);
    for (int i = 0; i < module->n_variables; i++)
        if (in_memory(module->variable[i])) relocate(module, module->variable[i]);
    return cudaSuccess;
}

const ptx_module *emu_fatbin_module(const emu_fatbin *fatbin) { return fatbin->module; }

cudaError_t emu_fatbin_open(emu_fatbin *fatbin) {
    if (open_fatbin(fatbin) == cudaSuccess) return cudaSuccess;
    return emu_describe(fatbin->error, fatbin->why);
}

char __cudaInitModule(void **handle) {
    EMU_LOCKED;
    emu_fatbin *fatbin = (emu_fatbin *)handle;
    bool said = fatbin->opened;
    if (open_fatbin(fatbin) != cudaSuccess && !said) emu_say("%s", fatbin->why);
    return 1;
}

/* ---- kernels and variables ------------------------------------------------------------------------------------- */

extern char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status) __attribute__((weak));

/* Templates' names may fill pages. */
static char *shortened(char *name) {
    enum { MOST = 160 };
    if (strlen(name) > MOST) memcpy(name + MOST - 3, "...", 4);
    return name;
}

/* "void kernel<float>(float*)" as "kernel<float>": without its result and its parameters. */
static char *demangled(const char *name) {
    int status = -1;
    char *text = __cxa_demangle ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    if (!text || status != 0) return shortened(strdup(name));
    int depth = 0;
    char *begin = text, *end = NULL;
    for (char *c = text; *c; c++) {
        if (*c == '<') depth++;
        if (*c == '>') depth--;
        if (*c == '(' && depth == 0 && strncmp(c, "(anonymous namespace)", 21) != 0) {
            end = c;
            break;
        }
        if (*c == '(' && depth == 0) c += 20;
        if (*c == ' ' && depth == 0) begin = c + 1;
    }
    if (end) *end = 0;
    char *shown = shortened(strdup(begin));
    free(text);
    return shown;
}

static cudaError_t fail_kernel(emu_kernel *kernel, cudaError_t error, const char *why) {
    kernel->why = strdup(why);
    kernel->error = error;
    emu_say("kernel %s: %s", kernel->shown, why);
    return emu_describe(error, kernel->why);
}

cudaError_t emu_kernel_load(emu_kernel *kernel) {
    if (kernel->code) return cudaSuccess;
    if (kernel->why) return emu_describe(kernel->error, kernel->why);
    ptx_error error = {0};
    if (!kernel->shown) kernel->shown = demangled(kernel->name);
    if (open_fatbin(kernel->fatbin) != cudaSuccess)
        return fail_kernel(kernel, kernel->fatbin->error, kernel->fatbin->why);
    ptx_function *function = ptx_function_find(kernel->fatbin->module, kernel->name);
    if (!function) return fail_kernel(kernel, cudaErrorInvalidDeviceFunction, "its PTX does not have it");
    if (!ptx_function_parse(function, &error) || !(kernel->code = emu_code_of(function, &error)))
        return fail_kernel(kernel, cudaErrorInvalidPtx, error.text);
    kernel->function = function;
    return cudaSuccess;
}

void emu_kernel_remove(emu_kernel *kernel) { emu_table_set(&known, kernel, NULL); }

emu_kernel *emu_kernel_of(const void *host) {
    emu_kernel *kernel = emu_table_find(&kernels, host);
    return kernel ? kernel : emu_table_find(&known, host);
}

cudaError_t emu_symbol_find(const void *host, void **memory, size_t *bytes) {
    variable *v = emu_table_find(&variables, host);
    if (!v) return cudaErrorInvalidSymbol;
    cudaError_t error = open_fatbin(v->fatbin);
    if (error != cudaSuccess) return emu_describe(error, v->fatbin->why);
    if (!v->memory) return cudaErrorInvalidSymbol;
    *memory = v->memory;
    *bytes = v->bytes;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host) {
    EMU_LOCKED;
    *kernel = emu_kernel_of(host);
    return emu_told(*kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernel, const void *host) { return __cudaGetKernel(kernel, host); }

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *host) {
    EMU_LOCKED;
    *function = (cudaFunction_t)emu_kernel_of(host);
    return emu_told(*function ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncGetName(const char **name, const void *host) {
    EMU_LOCKED;
    const emu_kernel *kernel = emu_kernel_of(host);
    if (name && kernel) *name = kernel->name;
    return emu_told(kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

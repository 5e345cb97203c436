/* Launches: what the driver checks, parameters, and the grid. */
#include "runtime/registration.h"

#include <stdlib.h>
#include <string.h>

#include "memory/memory.h"
#include "runtime/limits.h"
#include "runtime/runtime.h"
#include "runtime/schedule.h"

/* ---- checks ---------------------------------------------------------------------------------------------------- */

static uint64_t volume(emu_dim d) { return (uint64_t)d.x * d.y * d.z; }

/* The errors are those that an H200's driver returns under CUDA 13. */
static cudaError_t check_size(const emu_launch *l) {
    const emu_dim b = l->blocks, t = l->threads;
    bool blocks = b.x && b.y && b.z && b.x <= INT32_MAX && b.y <= 65535 && b.z <= 65535;
    bool threads = t.x && t.y && t.z && t.x <= 1024 && t.y <= 1024 && t.z <= 64 && volume(t) <= EMU_MAX_THREADS;
    return blocks && threads ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t check_bounds(const emu_launch *l) {
    const ptx_function *f = l->kernel->function;
    const uint32_t *r = f->required_threads, *m = f->max_threads;
    if (r[0] && (l->threads.x != r[0] || l->threads.y != (r[1] ? r[1] : 1) || l->threads.z != (r[2] ? r[2] : 1)))
        return cudaErrorInvalidValue;
    if (m[0] && volume(l->threads) > (uint64_t)m[0] * (m[1] ? m[1] : 1) * (m[2] ? m[2] : 1))
        return cudaErrorInvalidValue;
    uint32_t warps = ((uint32_t)volume(l->threads) + 31) / 32;
    if ((uint32_t)emu_registers_at_least(f) * 32 * warps > EMU_SM_REGISTERS) return cudaErrorLaunchOutOfResources;
    return cudaSuccess;
}

static cudaError_t check_shared(const emu_launch *l) {
    int set = l->kernel->max_dynamic_shared;
    uint64_t fixed = l->kernel->code->shared_bytes;
    uint64_t most = set >= 0 ? (uint64_t)set : fixed < EMU_BLOCK_SHARED ? EMU_BLOCK_SHARED - fixed : 0;
    return l->dynamic_shared <= most && fixed + l->dynamic_shared <= EMU_OPTIN_SHARED ? cudaSuccess
                                                                                      : cudaErrorInvalidValue;
}

static cudaError_t check_cluster(emu_launch *l, bool asked) {
    const uint32_t *fixed = l->kernel->function->cluster;
    if (fixed[0]) {
        emu_dim c = {fixed[0], fixed[1] ? fixed[1] : 1, fixed[2] ? fixed[2] : 1};
        if (asked && (c.x != l->cluster.x || c.y != l->cluster.y || c.z != l->cluster.z))
            return cudaErrorInvalidClusterSize;
        l->cluster = c;
    } else if (l->kernel->function->explicit_cluster && !asked) {
        return cudaErrorInvalidClusterSize;
    }
    l->explicit_cluster = asked || fixed[0];
    const emu_dim c = l->cluster, b = l->blocks;
    if (!c.x || !c.y || !c.z) return cudaErrorInvalidClusterSize;
    uint64_t most = l->kernel->non_portable_cluster ? EMU_MAX_CLUSTER : EMU_PORTABLE_CLUSTER;
    if (volume(c) > most || b.x % c.x || b.y % c.y || b.z % c.z) return cudaErrorInvalidClusterSize;
    return cudaSuccess;
}

uint64_t emu_launch_capacity(const emu_launch *l) {
    return emu_capacity(l->kernel->code, (uint32_t)volume(l->threads), l->dynamic_shared, volume(l->cluster));
}

static cudaError_t check(emu_launch *l, bool cluster_asked) {
    cudaError_t error = check_size(l);
    if (error == cudaSuccess) error = emu_kernel_load(l->kernel);
    if (error == cudaSuccess) error = check_bounds(l);
    if (error == cudaSuccess) error = check_shared(l);
    if (error == cudaSuccess) error = check_cluster(l, cluster_asked);
    if (error == cudaSuccess && l->cooperative && emu_launch_capacity(l) * volume(l->cluster) < volume(l->blocks))
        error = cudaErrorCooperativeLaunchTooLarge;
    return error;
}

/* ---- from the host's description --------------------------------------------------------------------------------- */

static emu_dim dim_of(dim3 d) { return (emu_dim){d.x, d.y, d.z}; }

static bool apply(emu_launch *l, const cudaLaunchAttribute *a) {
    switch (a->id) {
        case cudaLaunchAttributeClusterDimension:
            l->cluster = (emu_dim){a->val.clusterDim.x, a->val.clusterDim.y, a->val.clusterDim.z};
            return true;
        case cudaLaunchAttributeCooperative: l->cooperative = a->val.cooperative != 0; return false;
        case cudaLaunchAttributeProgrammaticStreamSerialization:
            l->programmatic = a->val.programmaticStreamSerializationAllowed != 0;
            return false;
        default: return false; /* of speed, not of meaning */
    }
}

static uint8_t *pack(const ptx_function *f, void **arguments) {
    uint8_t *parameters = emu_alloc(f->parameter_bytes);
    for (int i = 0; i < f->n_parameters; i++) {
        const ptx_variable *p = &f->parameter[i];
        if (p->parameter >= 0 && p->bytes) memcpy(parameters + p->parameter, arguments[i], p->bytes);
    }
    return parameters;
}

cudaError_t emu_launch_shape(const cudaLaunchConfig_t *config, emu_kernel *kernel, emu_launch *out) {
    if (!kernel) return cudaErrorInvalidResourceHandle;
    *out = (emu_launch){.kernel = kernel, .cluster = {1, 1, 1}};
    out->blocks = dim_of(config->gridDim);
    out->threads = dim_of(config->blockDim);
    bool cluster_asked = false;
    for (unsigned i = 0; i < config->numAttrs; i++) cluster_asked |= apply(out, &config->attrs[i]);
    if (config->dynamicSmemBytes > EMU_OPTIN_SHARED) return cudaErrorInvalidValue;
    out->dynamic_shared = (uint32_t)config->dynamicSmemBytes;
    return check(out, cluster_asked);
}

cudaError_t emu_launch_of(const cudaLaunchConfig_t *config, emu_kernel *kernel, void **arguments, emu_launch *out) {
    cudaError_t error = emu_launch_shape(config, kernel, out);
    if (error != cudaSuccess) return error;
    if (kernel->function->n_parameters && !arguments) return cudaErrorInvalidValue;
    out->parameters = pack(kernel->function, arguments);
    return cudaSuccess;
}

/* ---- the grid -------------------------------------------------------------------------------------------------- */

/* What cooperative_groups' grid barrier counts in: two 32-bit words, the size and the count. */
static void make_workspace(emu_grid *grid) {
    enum { BYTES = 8 };
    uint32_t *memory = emu_memory_allocate(BYTES, EMU_DEVICE);
    if (!memory) return;
    memory[0] = BYTES;
    memory[1] = 0;
    emu_memory_host_wrote(memory, BYTES);
    grid->workspace = (uintptr_t)memory;
}

emu_grid *emu_grid_begin(emu_work *work) {
    static uint64_t number;
    const emu_launch *l = &work->action.launch;
    emu_grid *grid = emu_alloc(sizeof *grid);
    *grid = (emu_grid){.code = l->kernel->code,
                       .name = l->kernel->shown,
                       .blocks = l->blocks,
                       .threads = l->threads,
                       .cluster = l->cluster,
                       .dynamic_shared = l->dynamic_shared,
                       .parameter_bytes = l->kernel->function->parameter_bytes,
                       .number = ++number,
                       .n_clusters = volume(l->blocks) / volume(l->cluster),
                       .programmatic = l->programmatic,
                       .cooperative = l->cooperative,
                       .explicit_cluster = l->explicit_cluster};
    grid->parameters = emu_alloc(grid->parameter_bytes);
    memcpy(grid->parameters, l->parameters, grid->parameter_bytes);
    emu_random_seed(&grid->random, emu_options_get()->seed * UINT64_C(0x2545f4914f6cdd1d) + number);
    grid->begin_clock = emu_clock_copy(work->clock);
    if (grid->cooperative) make_workspace(grid);
    if (work->after && work->after->grid) {
        grid->after = work->after->grid;
        emu_clock_join(&grid->begin_clock, grid->after->begin_clock);
    }
    work->grid = grid;
    emu_total.launches++;
    emu_check_grid_begin(grid);
    return grid;
}

void emu_grid_end(emu_work *work) {
    emu_grid *grid = work->grid;
    emu_check_grid_end(grid);
    emu_clock_join(&work->clock, grid->end_clock);
    const char *text = emu_findings_take();
    bool report_only = strcmp(emu_options_get()->findings, "report") == 0;
    if (grid->error && (grid->failed || !report_only)) emu_fail_later((cudaError_t)grid->error, text);
    if (grid->workspace) (void)emu_memory_free((void *)(uintptr_t)grid->workspace);
    grid->after = NULL;
}

/* ---- functions of the runtime ------------------------------------------------------------------------------------ */

enum { CONFIGURATIONS = 64 };
static _Thread_local struct {
    dim3 blocks, threads;
    size_t shared;
    void *stream;
} configuration[CONFIGURATIONS];
static _Thread_local int n_configurations;

unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared, void *stream) {
    if (n_configurations == CONFIGURATIONS) return 1;
    configuration[n_configurations].blocks = blocks;
    configuration[n_configurations].threads = threads;
    configuration[n_configurations].shared = shared;
    configuration[n_configurations++].stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *blocks, dim3 *threads, size_t *shared, void *stream) {
    if (n_configurations == 0) return emu_told(cudaErrorMissingConfiguration);
    n_configurations--;
    *blocks = configuration[n_configurations].blocks;
    *threads = configuration[n_configurations].threads;
    *shared = configuration[n_configurations].shared;
    *(void **)stream = configuration[n_configurations].stream;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
    EMU_LOCKED;
    emu_action action = {.kind = EMU_LAUNCH};
    cudaError_t error = emu_launch_of(config, emu_kernel_of(function), arguments, &action.launch);
    return emu_told(error == cudaSuccess ? emu_enqueue(config->stream, &action) : error);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 blocks, dim3 threads, void **arguments, size_t shared,
                             cudaStream_t stream) {
    cudaLaunchConfig_t config = {.gridDim = blocks, .blockDim = threads, .dynamicSmemBytes = shared, .stream = stream};
    return cudaLaunchKernelExC(&config, function, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 blocks, dim3 threads, void **arguments,
                                        size_t shared, cudaStream_t stream) {
    cudaLaunchAttribute cooperative = {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    cudaLaunchConfig_t config = {.gridDim = blocks,
                                 .blockDim = threads,
                                 .dynamicSmemBytes = shared,
                                 .stream = stream,
                                 .attrs = &cooperative,
                                 .numAttrs = 1};
    return cudaLaunchKernelExC(&config, function, arguments);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void **arguments, size_t shared,
                               cudaStream_t stream) {
    return cudaLaunchKernel(kernel, blocks, threads, arguments, shared, stream);
}

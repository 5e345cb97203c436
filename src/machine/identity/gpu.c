/* Queries the GPU in a child process, because CUDA does not survive a fork. */
#include <dlfcn.h>
#include <stdio.h>

#include "core/cuda.h"
#include "device/nvml.h"
#include "machine/identity/gpu.h"
#include "measure/isolate.h"
#include "ridge/cuda.h"

static const double limit_s = 60; /* the first use of a driver may load it */

typedef struct answer {
    ridge_status status;
    ridge_gpu gpu;
    char text[160];
} answer;

static void look(const void *arg, void *out) {
    (void)arg;
    answer *a = out;
    ridge_error error = {0};
    a->status = ridge_cuda_open(&a->gpu, &error);
    (void)snprintf(a->text, sizeof a->text, "%.150s", error.text);
    if (a->status != RIDGE_OK) return;
    ridge_nvml *nvml = NULL; /* CUDA reports the version of its interface, not of the driver */
    ridge_gpu_setup setup;
    (void)ridge_nvml_open(a->gpu.bus, &nvml);
    ridge_nvml_setup(nvml, &setup);
    (void)snprintf(a->gpu.driver_version, sizeof a->gpu.driver_version, "%s", setup.driver);
    ridge_nvml_close(nvml);
}

/* Without the driver's library no child process is needed. The emulator needs no driver. */
static bool driver_is_there(void) {
    if (ridge_cuda_emulated()) return true;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver) (void)dlclose(driver);
    return driver != NULL;
}

void ridge_gpu_detect(ridge_gpu *gpu, char *why, int size) {
    *gpu = (ridge_gpu){.sm = 0};
    answer a = {.status = RIDGE_FAILED};
    ridge_error error = {0};
    const ridge_child_limits limits = {.threads = 1};
    const char *absent = ridge_cuda_absent();
    (void)snprintf(why, (size_t)size, "%s", absent ? absent : "no NVIDIA driver is installed");
    if (absent || !driver_is_there()) return;
    if (ridge_isolate(look, NULL, &a, sizeof a, &limits, limit_s, &error) != RIDGE_OK)
        (void)snprintf(why, (size_t)size, "the GPU's driver failed: %.120s", error.text);
    else if (a.status != RIDGE_OK)
        (void)snprintf(why, (size_t)size, "%s", a.text);
    else
        *gpu = a.gpu, why[0] = '\0';
}

ridge_abilities ridge_machine_abilities(const ridge_machine *machine, ridge_isa isa) {
    return (ridge_abilities){.isa = isa,
                             .threads = machine->cores,
                             .sm = machine->gpu.sm,
                             .sm_count = machine->gpu.sm_count,
                             .no_gpu = machine->gpu.sm ? NULL : machine->no_gpu};
}

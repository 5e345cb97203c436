#include "device/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The NVML prototypes in use, as documented. nvml.h is not on every machine that builds ridge. */
enum { NVML_SUCCESS = 0, NVML_INSUFFICIENT_SIZE = 7, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_SENSOR_GPU = 0 };
typedef struct nvml_memory {
    unsigned long long total, free, used;
} nvml_memory;
typedef void *nvml_device;

struct ridge_nvml {
    void *library;
    nvml_device device;
    int (*shutdown)(void);
    int (*clock)(nvml_device, int which, unsigned *mhz);
    int (*max_clock)(nvml_device, int which, unsigned *mhz);
    int (*power)(nvml_device, unsigned *milliwatts);
    int (*power_limit)(nvml_device, unsigned *milliwatts);
    int (*temperature)(nvml_device, int sensor, unsigned *celsius);
    int (*reasons)(nvml_device, unsigned long long *bits);
    int (*persistence)(nvml_device, int *mode);
    int (*ecc)(nvml_device, int *current, int *pending);
    int (*mig)(nvml_device, unsigned *current, unsigned *pending);
    int (*memory)(nvml_device, nvml_memory *memory);
    int (*processes)(nvml_device, unsigned *count, void *infos);
    int (*driver)(char *version, unsigned size);
};

/* Looks up a function under `name`, then under `older`; sets *function to NULL if the library has neither. memcpy is
 * used because ISO C does not convert a data pointer to a function pointer; POSIX guarantees the same
 * representation. */
static bool find(void *library, const char *name, const char *older, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    if (!symbol && older) symbol = dlsym(library, older);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}
#define FIND(field, name, older) find(n->library, name, older, &n->field, sizeof n->field)

static void find_all(ridge_nvml *n) {
    (void)FIND(shutdown, "nvmlShutdown", NULL);
    (void)FIND(clock, "nvmlDeviceGetClockInfo", NULL);
    (void)FIND(max_clock, "nvmlDeviceGetMaxClockInfo", NULL);
    (void)FIND(power, "nvmlDeviceGetPowerUsage", NULL);
    (void)FIND(power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL);
    (void)FIND(temperature, "nvmlDeviceGetTemperature", NULL);
    /* Renamed in 2023; the old name still exists but may be removed. */
    (void)FIND(reasons, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
    (void)FIND(persistence, "nvmlDeviceGetPersistenceMode", NULL);
    (void)FIND(ecc, "nvmlDeviceGetEccMode", NULL);
    (void)FIND(mig, "nvmlDeviceGetMigMode", NULL);
    (void)FIND(memory, "nvmlDeviceGetMemoryInfo", NULL);
    (void)FIND(processes, "nvmlDeviceGetComputeRunningProcesses_v3", NULL);
    (void)FIND(driver, "nvmlSystemGetDriverVersion", NULL);
}

static bool find_device(ridge_nvml *n, const char *bus) {
    int (*by_bus)(const char *, nvml_device *) = NULL;
    int (*by_index)(unsigned, nvml_device *) = NULL;
    if (bus && bus[0])
        return find(n->library, "nvmlDeviceGetHandleByPciBusId_v2", NULL, &by_bus, sizeof by_bus) &&
               by_bus(bus, &n->device) == NVML_SUCCESS;
    return find(n->library, "nvmlDeviceGetHandleByIndex_v2", NULL, &by_index, sizeof by_index) &&
           by_index(0, &n->device) == NVML_SUCCESS;
}

bool ridge_nvml_open(const char *bus, ridge_nvml **handle) {
    int (*init)(void) = NULL;
    *handle = NULL;
    ridge_nvml *n = calloc(1, sizeof *n);
    if (!n) return false;
    n->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!n->library || !find(n->library, "nvmlInit_v2", NULL, &init, sizeof init) || init() != NVML_SUCCESS) {
        if (n->library) (void)dlclose(n->library);
        free(n);
        return false;
    }
    find_all(n);
    if (!find_device(n, bus)) {
        ridge_nvml_close(n);
        return false;
    }
    *handle = n;
    return true;
}

void ridge_nvml_close(ridge_nvml *n) {
    if (!n) return;
    if (n->shutdown) (void)n->shutdown();
    (void)dlclose(n->library);
    free(n);
}

void ridge_nvml_read(ridge_nvml *n, ridge_gpu_state *state) {
    *state = (ridge_gpu_state){.known = false};
    if (!n) return;
    unsigned value = 0;
    unsigned long long bits = 0;
    bool clock = n->clock && n->clock(n->device, NVML_CLOCK_SM, &value) == NVML_SUCCESS;
    if (clock) state->sm_mhz = (int)value;
    if (n->clock && n->clock(n->device, NVML_CLOCK_MEMORY, &value) == NVML_SUCCESS) state->memory_mhz = (int)value;
    if (n->power && n->power(n->device, &value) == NVML_SUCCESS) state->power_w = value * 1e-3;
    if (n->temperature && n->temperature(n->device, NVML_SENSOR_GPU, &value) == NVML_SUCCESS)
        state->temperature_c = (int)value;
    bool reasons = n->reasons && n->reasons(n->device, &bits) == NVML_SUCCESS;
    if (reasons) state->throttle = bits;
    state->known = clock && reasons;
}

void ridge_nvml_setup(ridge_nvml *n, ridge_gpu_setup *s) {
    *s = (ridge_gpu_setup){.persistence = -1, .ecc = -1, .mig = -1, .processes = -1};
    if (!n) return;
    int current = 0, pending = 0;
    unsigned value = 0, later = 0;
    nvml_memory memory = {0, 0, 0};
    if (n->driver && n->driver(s->driver, (unsigned)sizeof s->driver) != NVML_SUCCESS) s->driver[0] = '\0';
    if (n->persistence && n->persistence(n->device, &current) == NVML_SUCCESS) s->persistence = current;
    if (n->ecc && n->ecc(n->device, &current, &pending) == NVML_SUCCESS) s->ecc = current;
    if (n->mig && n->mig(n->device, &value, &later) == NVML_SUCCESS) s->mig = (int)value;
    if (n->max_clock && n->max_clock(n->device, NVML_CLOCK_SM, &value) == NVML_SUCCESS) s->max_sm_mhz = (int)value;
    if (n->power_limit && n->power_limit(n->device, &value) == NVML_SUCCESS) s->power_limit_w = value * 1e-3;
    if (n->memory && n->memory(n->device, &memory) == NVML_SUCCESS)
        s->used_bytes = (double)memory.used, s->total_bytes = (double)memory.total;
    if (n->processes) {
        unsigned count = 0; /* a buffer of size 0: the call returns the count */
        int result = n->processes(n->device, &count, NULL);
        if (result == NVML_SUCCESS || result == NVML_INSUFFICIENT_SIZE) s->processes = (int)count;
    }
}

/* ---- throttle reasons -------------------------------------------------------------------------------------------- */

static const struct {
    uint64_t bit;
    bool throttles;
    const char *words;
} reason_table[] = {
    {0x001, false, "idle"},
    {0x002, false, "clocks set by the user"},
    {0x004, true, "software power cap"},
    {0x008, true, "hardware slowdown"},
    {0x010, true, "sync boost"},
    {0x020, true, "software thermal slowdown"},
    {0x040, true, "hardware thermal slowdown"},
    {0x080, true, "hardware power brake"},
    {0x100, false, "display clocks"},
};
enum { REASONS = sizeof reason_table / sizeof reason_table[0] };

bool ridge_gpu_throttled(uint64_t reasons) {
    for (int i = 0; i < REASONS; i++) {
        if ((reasons & reason_table[i].bit) && reason_table[i].throttles) return true;
        reasons &= ~reason_table[i].bit;
    }
    return reasons != 0; /* an unknown reason counts as throttling */
}

static void append(char *text, int size, const char *words) {
    size_t at = strlen(text);
    if ((int)at < size) (void)snprintf(text + at, (size_t)size - at, "%s%s", at ? ", " : "", words);
}

const char *ridge_gpu_reasons(uint64_t reasons, char *text, int size) {
    if (size > 0) text[0] = '\0';
    for (int i = 0; i < REASONS; i++) {
        if (reasons & reason_table[i].bit) append(text, size, reason_table[i].words);
        reasons &= ~reason_table[i].bit;
    }
    char rest[40];
    (void)snprintf(rest, sizeof rest, "reason 0x%llx", (unsigned long long)reasons);
    if (reasons) append(text, size, rest);
    if (size > 0 && !text[0]) append(text, size, "none");
    return text;
}

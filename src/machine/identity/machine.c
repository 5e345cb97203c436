/* ridge_machine_detect: processor, cores to pin to, memory, instruction sets. hwloc gives the topology; the process's
 * own affinity narrows it. */
#include <ctype.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "machine/identity/gpu.h"
#include "machine/identity/system.h"

/* Only what is used here is discovered: devices and the like take hwloc tens of milliseconds on large machines. */
static ridge_status load_topology(hwloc_topology_t *topology, ridge_error *error) {
    *topology = NULL;
    if (hwloc_topology_init(topology) != 0) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the topology");
    (void)hwloc_topology_set_all_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    (void)hwloc_topology_set_cache_types_filter(*topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    (void)hwloc_topology_set_type_filter(*topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(*topology) != 0)
        return ridge_fail(error, RIDGE_FAILED,
                          "hwloc cannot read this machine's topology (are /proc and /sys mounted?)");
    return RIDGE_OK;
}

/* The n-th logical processor of set that lies in core, or -1. */
static int nth_cpu(hwloc_const_bitmap_t core, hwloc_const_bitmap_t set, int n) {
    for (int cpu = hwloc_bitmap_first(core); cpu >= 0; cpu = hwloc_bitmap_next(core, cpu))
        if (hwloc_bitmap_isset(set, (unsigned)cpu) && n-- == 0) return cpu;
    return -1;
}

/* One logical processor of each core first, then the second of each that has one, and so on. */
static void order_cpus(hwloc_topology_t topology, hwloc_const_bitmap_t allowed, ridge_machine *m) {
    int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    hwloc_obj_type_t type = n > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    if (n <= 0) n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    for (int sibling = 0, found = 1; found; sibling++) {
        found = 0;
        for (int i = 0; i < n && m->threads < RIDGE_MAX_CPUS; i++) {
            int cpu = nth_cpu(hwloc_get_obj_by_type(topology, type, (unsigned)i)->cpuset, allowed, sibling);
            if (cpu < 0) continue;
            m->cpus[m->threads++] = cpu;
            found = 1;
        }
        if (sibling == 0) m->cores = m->threads;
    }
}

static void read_caches(hwloc_topology_t topology, ridge_machine *m) {
    static const hwloc_obj_type_t types[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                             HWLOC_OBJ_L4CACHE};
    for (int i = 0; i < 4; i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, types[i], 0);
        m->cache_bytes[i] = cache ? (int64_t)cache->attr->cache.size : 0;
    }
}

static ridge_status read_topology(ridge_machine *m, ridge_error *error) {
    hwloc_topology_t topology = NULL;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    ridge_status status = load_topology(&topology, error);
    if (status != RIDGE_OK) goto done;
    if (!allowed || hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) != 0) {
        /* A system without bindings: everything that is allowed. */
        if (allowed) (void)hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topology));
    }
    if (allowed) order_cpus(topology, allowed, m);
    read_caches(topology, m);
    if (m->threads == 0) status = ridge_fail(error, RIDGE_FAILED, "this process may not use any processor");
done:
    hwloc_bitmap_free(allowed);
    if (topology) hwloc_topology_destroy(topology);
    return status;
}

/* "Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz" to "intel-xeon-platinum-8480c": words of letters and digits up to a
 * clock rate, without those that say nothing. */
static int slug(const char *name, char *out, int size) {
    static const char *const dull[] = {"r", "tm", "cpu", "processor", "core", "with"};
    int at = 0;
    for (const char *p = name; *p && *p != '@';) {
        char word[32];
        size_t n = 0;
        while (*p && *p != '@' && !isalnum((unsigned char)*p)) p++;
        for (; isalnum((unsigned char)*p); p++)
            if (n < sizeof word - 1) word[n++] = (char)tolower((unsigned char)*p);
        word[n] = '\0';
        bool skip = n == 0;
        for (size_t i = 0; i < sizeof dull / sizeof dull[0]; i++) skip = skip || strcmp(word, dull[i]) == 0;
        if (!skip && at + (int)n + 2 < size) at += snprintf(out + at, (size_t)(size - at), "%s%s", at ? "-" : "", word);
    }
    return at;
}

/* For this kind of hardware, not this one machine: brand, family, model, cores that may be used, instruction set. */
static void make_key(ridge_machine *m, int family, int model) {
    int at = slug(m->cpu, m->key, 44); /* leaves room for the numbers */
    (void)snprintf(m->key + at, sizeof m->key - (size_t)at, "%s%d-%d-%dc-%s", at ? "-" : "", family, model, m->cores,
                   ridge_isa_name(m->isa));
}

static void read_compiler(char *text, size_t size) {
#if defined(__clang__)
    (void)snprintf(text, size, "clang %d.%d.%d", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
    (void)snprintf(text, size, "gcc %d.%d.%d", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
    (void)snprintf(text, size, "unknown compiler");
#endif
}

ridge_status ridge_machine_detect(ridge_machine *m, ridge_error *error) {
    memset(m, 0, sizeof *m);
    RIDGE_TRY(read_topology(m, error));
    int family = 0, model = 0;
    ridge_system_cpu(m->cpu, sizeof m->cpu, &family, &model);
    struct utsname uts;
    if (uname(&uts) == 0) {
        (void)snprintf(m->arch, sizeof m->arch, "%.15s", uts.machine);
        (void)snprintf(m->kernel, sizeof m->kernel, "%.31s %.63s", uts.sysname, uts.release);
    }
    for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++)
        if (ridge_isa_supported((ridge_isa)isa)) m->isa = (ridge_isa)isa;
    ridge_features_list(m->features, sizeof m->features);
    ridge_system_hypervisor(m->hypervisor, sizeof m->hypervisor);
    char path[96];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", m->cpus[0]);
    (void)ridge_system_line(path, m->governor, sizeof m->governor);
    read_compiler(m->compiler, sizeof m->compiler);
    m->memory_bytes = ridge_system_memory(NULL);
    make_key(m, family, model);
    ridge_gpu_detect(&m->gpu, m->no_gpu, (int)sizeof m->no_gpu);
    return RIDGE_OK;
}

/* What this machine is: processor, cores, caches as reported, instruction sets, GPU. */
#ifndef RIDGE_MACHINE_IDENTITY_MACHINE_H
#define RIDGE_MACHINE_IDENTITY_MACHINE_H

#include "device/cuda.h"
#include "ridge/target.h"

enum { RIDGE_MAX_CPUS = 1024 };

typedef struct ridge_machine {
    char key[80];             /* hardware key: stable for this kind of hardware, e.g. "amd-epyc-25-17-2c-avx512" */
    char cpu[96];             /* model name */
    char arch[16];            /* x86_64 */
    char kernel[96];          /* uname: sysname release */
    char hypervisor[32];      /* "" when bare metal */
    char governor[32];        /* "" when the system does not say */
    char compiler[64];        /* what compiled ridge */
    int cores;                /* physical cores this process may use */
    int threads;              /* logical processors it may use */
    int cpus[RIDGE_MAX_CPUS]; /* logical processors to pin to: one a core first, then the siblings; `threads` of them */
    int64_t memory_bytes;     /* physical memory, or the cgroup's limit when that is lower */
    int64_t cache_bytes[4];   /* reported by the system: L1d, L2, L3, L4; 0 unknown. For print only. */
    ridge_isa isa;            /* best supported instruction set of RIDGE_ISA_LIST */
    char features[256];       /* space-separated: avx2 fma avx512f avx512_vnni avx512_bf16 amx_int8 … */
    ridge_gpu gpu;            /* gpu.sm is 0 when there is none to use */
    char no_gpu[160];         /* why not */
} ridge_machine;

ridge_status ridge_machine_detect(ridge_machine *machine, ridge_error *error);

/* What variants find here when CPU kernels are run with `isa`. Points into the machine. */
ridge_abilities ridge_machine_abilities(const ridge_machine *machine, ridge_isa isa);

/* Why CPU kernels cannot run with `isa`: this processor lacks it, or this build has no code for it. NULL: they can. */
const char *ridge_isa_obstacle(ridge_isa isa);
static inline bool ridge_isa_supported(ridge_isa isa) { return !ridge_isa_obstacle(isa); }
bool ridge_cpu_has(const char *feature); /* one word of `features` */

#endif

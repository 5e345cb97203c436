/* CPU features that the operating system supports: CPUID with XGETBV on x86, the auxiliary vector on AArch64. A feature
 * counts only if the system also saves the registers it needs. */
#include <stdio.h>
#include <string.h>

#include "machine/identity/machine.h"
#include "machine/identity/system.h"

typedef enum xstate { X_NONE = 0, X_YMM = 0x6, X_ZMM = 0xe6, X_TILE = 0x60000 } xstate;

#if defined(__x86_64__)
#include <cpuid.h>

typedef enum cpuid_register { EAX, EBX, ECX, EDX } cpuid_register;
typedef struct feature {
    const char *name;
    unsigned leaf, subleaf;
    cpuid_register reg;
    int bit;
    xstate state; /* bits of XCR0 that must be set */
} feature;

static const feature features[] = {
    {"sse4_2", 1, 0, ECX, 20, X_NONE},    {"avx", 1, 0, ECX, 28, X_YMM},         {"fma", 1, 0, ECX, 12, X_YMM},
    {"f16c", 1, 0, ECX, 29, X_YMM},       {"avx2", 7, 0, EBX, 5, X_YMM},         {"bmi2", 7, 0, EBX, 8, X_NONE},
    {"erms", 7, 0, EBX, 9, X_NONE},       {"avx512f", 7, 0, EBX, 16, X_ZMM},     {"avx512dq", 7, 0, EBX, 17, X_ZMM},
    {"avx512cd", 7, 0, EBX, 28, X_ZMM},   {"avx512bw", 7, 0, EBX, 30, X_ZMM},    {"avx512vl", 7, 0, EBX, 31, X_ZMM},
    {"avx512_vbmi", 7, 0, ECX, 1, X_ZMM}, {"avx512_vnni", 7, 0, ECX, 11, X_ZMM}, {"avx512_fp16", 7, 0, EDX, 23, X_ZMM},
    {"avx512_bf16", 7, 1, EAX, 5, X_ZMM}, {"avx_vnni", 7, 1, EAX, 4, X_YMM},     {"amx_bf16", 7, 0, EDX, 22, X_TILE},
    {"amx_tile", 7, 0, EDX, 24, X_TILE},  {"amx_int8", 7, 0, EDX, 25, X_TILE},
};

static unsigned long enabled_state(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return 0; /* OSXSAVE */
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (unsigned long)high << 32 | low;
}

static bool supports(const feature *f) {
    unsigned r[4] = {0};
    if (!__get_cpuid_count(f->leaf, f->subleaf, &r[EAX], &r[EBX], &r[ECX], &r[EDX])) return false;
    return (r[f->reg] >> f->bit & 1) && (enabled_state() & (unsigned long)f->state) == (unsigned long)f->state;
}

#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

typedef struct feature {
    const char *name;
    unsigned long type;
    int bit;
} feature;

/* Bits of the kernel's arm64 hwcap interface, given as numbers because older headers lack the later names. */
static const feature features[] = {
    {"neon", AT_HWCAP, 1},  {"fp16", AT_HWCAP, 10},  {"dotprod", AT_HWCAP, 20}, {"sve", AT_HWCAP, 22},
    {"sve2", AT_HWCAP2, 1}, {"i8mm", AT_HWCAP2, 13}, {"bf16", AT_HWCAP2, 14},
};

static bool supports(const feature *f) { return getauxval(f->type) >> f->bit & 1; }

#else

typedef struct feature {
    const char *name;
} feature;
static const feature features[] = {{"none"}};
static bool supports(const feature *f) { return (void)f, false; }

#endif

enum { FEATURES = sizeof features / sizeof features[0] };

bool ridge_cpu_has(const char *name) {
    for (int i = 0; i < FEATURES; i++)
        if (strcmp(features[i].name, name) == 0) return supports(&features[i]);
    return false;
}

void ridge_features_list(char *words, int size) {
    int at = 0;
    words[0] = '\0';
    for (int i = 0; i < FEATURES; i++) {
        if (!supports(&features[i]) || at + (int)strlen(features[i].name) + 2 > size) continue;
        at += snprintf(words + at, (size_t)(size - at), "%s%s", at ? " " : "", features[i].name);
    }
}

static bool has_all(const char *const *names) {
    for (; *names; names++)
        if (!ridge_cpu_has(*names)) return false;
    return true;
}

/* The features that the build's flags for each instruction set let the compiler use (cmake/isa.cmake). */
static bool cpu_supports(ridge_isa isa) {
#if defined(__x86_64__)
    static const char *const avx2[] = {"avx2", "fma", "f16c", "bmi2", NULL};
    static const char *const avx512[] = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", NULL};
    if (isa == RIDGE_ISA_avx2) return has_all(avx2);
    if (isa == RIDGE_ISA_avx512) return has_all(avx2) && has_all(avx512);
#elif defined(__aarch64__)
    static const char *const neon[] = {"neon", NULL};
    if (isa == RIDGE_ISA_neon) return has_all(neon);
#else
    (void)has_all;
#endif
    return isa == RIDGE_ISA_scalar;
}

/* A table like those of variants: NULL where this build has no code. */
static ridge_status built(const ridge_call *call) {
    (void)call;
    return RIDGE_OK;
}
const char *ridge_isa_obstacle(ridge_isa isa) {
#define built_scalar built
#define built_avx2 built
#define built_avx512 built
#define built_neon built
    static const ridge_run_fn code[RIDGE_ISA_COUNT] = RIDGE_CPU(built);
    if ((unsigned)isa >= RIDGE_ISA_COUNT || !cpu_supports(isa)) return "this processor does not have it";
    return code[isa] ? NULL : "this build has no code for it, make build adds it";
}

/* What NVIDIA's profiler counted while kernels ran, and which unit limits each: what ridge profile shows. */
#ifndef RIDGE_RECORD_PROFILE_H
#define RIDGE_RECORD_PROFILE_H

#include <jansson.h>

#include "ridge/target.h"

/* Of each kernel, as ncu counts with its caches flushed first. PCT: per cent of the unit's peak. */
typedef enum ridge_count {
    RIDGE_COUNT_NS,
    RIDGE_COUNT_DRAM_READ, /* bytes, as the next ones */
    RIDGE_COUNT_DRAM_WRITTEN,
    RIDGE_COUNT_L2,
    RIDGE_COUNT_DRAM_PCT,
    RIDGE_COUNT_L2_PCT,
    RIDGE_COUNT_L1_PCT,
    RIDGE_COUNT_TENSOR_PCT,
    RIDGE_COUNT_ISSUE_PCT, /* cycles in which a scheduler issues an instruction */
    RIDGE_COUNT_WARPS_PCT, /* of the warps that an SM holds */
    RIDGE_COUNT_REGISTERS, /* of a thread */
    RIDGE_COUNT_WAVES,     /* of blocks over the SMs */
    RIDGE_COUNT_LATENCY,   /* warps' cycles for an instruction, of which the next ones are waits */
    RIDGE_COUNT_WAITS,
    RIDGE_COUNT_COUNT = RIDGE_COUNT_WAITS + 15,
} ridge_count;

typedef struct ridge_counter {
    const char *metric; /* ncu's name */
    const char *field;  /* of JSON and CSV */
    const char *words;  /* of a wait: what a warp waits for */
} ridge_counter;
extern const ridge_counter ridge_counters[RIDGE_COUNT_COUNT];

typedef struct ridge_profile {
    const ridge_target *target;
    const ridge_case *c;
    const ridge_variant *variant;
    const ridge_way *way;            /* NULL: the variant has none */
    double model;                    /* bytes of memory that the variant declares, of all its kernels */
    int place;                       /* among the kernels of its variant, from 0 */
    char kernel[96];                 /* its function */
    double value[RIDGE_COUNT_COUNT]; /* NaN: not counted */
} ridge_profile;

/* In words: the unit that limits it, or what warps wait for where none does. */
void ridge_profile_explain(const ridge_profile *p, char *text, size_t size);

/* The function's own name in ncu's: "rows_kernel" of "void ridge::rows_kernel<float>(…)". */
void ridge_profile_brief(const char *name, char *text, size_t size);

/* {"schema": "ridge-profile/1", "kernels": […]}; NULL: no memory. */
json_t *ridge_json_profiles(const ridge_profile *profiles, int n);

/* Of the kernels of one variant, which say nothing of it: a field of its result. NULL: no memory. */
json_t *ridge_json_profile(const ridge_profile *profiles, int n);
/* Reads one of those into its kernel, model and values. What is missing is NaN. */
void ridge_profile_read(const json_t *kernel, ridge_profile *p);

#endif

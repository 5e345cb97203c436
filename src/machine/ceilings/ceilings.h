/* Ceilings: the measured rates of this machine, for one number of threads, pinned as kernels are pinned.
 *
 * Memory: a ladder of working sets (4 KiB to several times the last level) is read and copied. The plateaus of the
 * ladder are the cache levels; they come from the measurement, not from what the system reports. Compute: loops of
 * independent multiply-adds in registers. Their results are checked, so that no compiler can fold them. */
#ifndef RIDGE_MACHINE_CEILINGS_CEILINGS_H
#define RIDGE_MACHINE_CEILINGS_CEILINGS_H

#include "machine/identity/machine.h"
#include "measure/stats.h"

enum { RIDGE_MAX_LEVELS = 5, RIDGE_MAX_PEAKS = 16, RIDGE_MAX_RUNGS = 48 };

/* GB/s, 1 GB = 1e9 bytes; copies count bytes read + bytes written (and no write-allocation). */
typedef struct ridge_level {
    char name[8];          /* "L1", "L2", "L3", "DRAM"; a GPU's "shared" holds only what kernels put there */
    double capacity;       /* bytes, for all threads together: largest working set still on the plateau; 0 for DRAM */
    ridge_interval read;   /* plain loads */
    ridge_interval copy;   /* plain loads and stores */
    ridge_interval stream; /* loads and streaming (non-temporal) stores; n = 0 where the processor has none */
    ridge_interval write;  /* streaming stores alone */
    char how[320];         /* the loops that reached them; "" on the CPU */
} ridge_level;

typedef struct ridge_peak {
    char name[24];         /* "fp32 avx512", "int8 avx512_vnni", "bf16 avx512_bf16", "fp64 scalar" */
    char dtype[8];         /* "fp32", "fp64", "bf16", "int8" */
    ridge_interval gflops; /* int8: GOP/s */
    char how[96];          /* "16 independent zmm accumulators, vfmadd231ps" */
} ridge_peak;

typedef struct ridge_rung {
    double bytes, read_gbps, copy_gbps;
} ridge_rung;

typedef struct ridge_ceilings {
    char key[80];  /* ridge_machine.key, or the GPU's */
    char date[32]; /* ISO 8601, UTC */
    int threads;   /* 0: a GPU's */
    int n_levels;
    ridge_level levels[RIDGE_MAX_LEVELS]; /* fastest first, DRAM last */
    int n_peaks;
    ridge_peak peaks[RIDGE_MAX_PEAKS];
    int n_rungs;
    ridge_rung rungs[RIDGE_MAX_RUNGS]; /* the ladder as measured */
    char faults[320];                  /* contradictions ("L2 read is above L1 read"); "" if there are none */
} ridge_ceilings;

bool ridge_level_is_cache(const ridge_level *level); /* not a GPU's shared memory, which holds nothing by itself */
const ridge_level *ridge_ceilings_dram(const ridge_ceilings *c);
const ridge_level *ridge_ceilings_level(const ridge_ceilings *c, double working_set); /* smallest level that holds it */
const ridge_peak *ridge_ceilings_peak(const ridge_ceilings *c, const char *dtype); /* fastest of that type, or NULL */
/* Of one of its threads, for predicted costs. Zero where the set lacks a rate. */
ridge_rates ridge_ceilings_rates(const ridge_ceilings *c, ridge_isa isa);
/* Smallest working set at memory's rates, in bytes. It exceeds the last cache's capacity above, because rates fall off
 * gradually. Cold operands must be larger. */
double ridge_ceilings_last_level(const ridge_ceilings *c);

/* The cache file, $XDG_CACHE_HOME/ridge/ceilings-<key>-<threads>t.json (else ~/.cache/ridge; a GPU's without threads).
 * RIDGE_NOT_FOUND: there is none, or it is of another machine. RIDGE_CORRUPT: it cannot be parsed; the text names the
 * file. Saving writes a temporary file and renames it. */
ridge_status ridge_ceilings_load(const ridge_machine *machine, int threads, ridge_ceilings *c, ridge_error *error);
ridge_status ridge_ceilings_load_key(const char *key, int threads, ridge_ceilings *c, ridge_error *error);
ridge_status ridge_ceilings_save(const ridge_ceilings *c, ridge_error *error);
ridge_status ridge_ceilings_path(const ridge_machine *machine, int threads, char *path, int size, ridge_error *error);
ridge_status ridge_ceilings_parse(const char *text, int size, ridge_ceilings *c, ridge_error *error); /* also fuzzed */

#endif

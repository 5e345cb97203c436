/* What all parts of the emulator share: options, random numbers, findings, counts. */
#ifndef EMULATOR_CORE_CORE_H
#define EMULATOR_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From EMULATOR_… in the environment, read once (core/options.c; one table there names each with its help). */
typedef struct emu_options {
    uint64_t seed;         /* EMULATOR_SEED: order of warps, blocks, clusters and engines; default 1 */
    bool check_races;      /* EMULATOR_RACES, default on */
    int check_initialized; /* EMULATOR_INITIALIZED: 0 off; 1 those of shared memory by source line (default); 2 each */
    bool stop;         /* EMULATOR_STOP: a finding ends its launch; default off, but for accesses that cannot go on */
    int architecture;  /* EMULATOR_ARCHITECTURE, 90 or 100: compute capability that the device has */
    int sm_count;      /* EMULATOR_SM_COUNT, default 132 */
    int resident;      /* EMULATOR_RESIDENT: clusters that run beside each other at first, default 4 */
    uint64_t limit;    /* EMULATOR_LIMIT: warp instructions a launch may take, 0: no limit */
    const char *trace; /* EMULATOR_TRACE: "kernel:block:warp", prints each instruction and its results */
    const char *break_at; /* EMULATOR_BREAK: "file.cu:line" or PTX line, stops there under a debugger */
    const char *report;   /* EMULATOR_REPORT: a file that takes findings and counts as JSON lines */
    int max_findings;     /* EMULATOR_MAX_FINDINGS: printed per launch, default 20 */
    const char
        *findings; /* EMULATOR_FINDINGS: "error" (default): the next synchronizing call fails; "report": it does not */
    uint64_t memory; /* EMULATOR_MEMORY: MiB of global memory, default half of the host's */
} emu_options;
const emu_options *emu_options_get(void);
void emu_options_seed(uint64_t seed); /* instead of EMULATOR_SEED, for the launches to come */

/* xoshiro128** with a seed of its own for each launch. */
typedef struct emu_random {
    uint32_t state[4];
} emu_random;
void emu_random_seed(emu_random *, uint64_t seed);
uint32_t emu_random_next(emu_random *);
static inline uint32_t emu_random_below(emu_random *random, uint32_t n) {
    return (uint32_t)(((uint64_t)emu_random_next(random) * n) >> 32);
}

/* X(name, key): the key stands in reports and JSON. */
#define EMU_FINDINGS(X)                                                                                               \
    X(OUT_OF_BOUNDS, "out-of-bounds")                                                                                 \
    X(MISALIGNED, "misaligned")                                                                                       \
    X(UNINITIALIZED, "uninitialized")       /* memory that nobody wrote */                                            \
    X(PENDING_REGISTER, "pending-register") /* a register of a wgmma that nobody waited for */                        \
    X(RACE, "race")                         /* two accesses that nothing orders */                                    \
    X(PROXY, "missing-proxy-fence")         /* ordered, but across proxies without the fence */                       \
    X(OVERWRITTEN, "overwritten-in-flight") /* a stage that an engine still reads or writes */                        \
    X(TRANSACTIONS, "transaction-count")    /* an mbarrier's pending bytes below zero, above its range, left over */  \
    X(BARRIER, "barrier-misuse")            /* wrong number of threads, an uninitialized or dead mbarrier */          \
    X(DEADLOCK, "deadlock")                                                                                           \
    X(DIVERGENT, "divergent-aligned") /* an .aligned instruction that not all lanes reached */                        \
    X(EXITED, "exited-shared-memory") /* shared memory of a block that has exited */                                  \
    X(DESCRIPTOR, "bad-descriptor")   /* tensor map, matrix descriptor, instruction operand out of range */           \
    X(PROTOCOL, "protocol")           /* wgmma without fence, groups never waited for at exit, … */                 \
    X(TENSOR, "tensor-memory")        /* columns that are not allocated, lanes of another warp, the rules of alloc */ \
    X(TENSOR_FENCE, "missing-tensor-fence") /* ordered, but without tcgen05.fence on the way */                       \
    X(TENSOR_LEAK, "tensor-memory-leak")                                                                              \
    X(UNSUPPORTED, "unsupported") /* PTX that the emulator does not know */                                           \
    X(TRAP, "trap")                                                                                                   \
    X(ASSERTION, "assertion")                                                                                         \
    X(LIMIT, "limit")
typedef enum emu_finding_kind {
#define EMU_FINDING_NAME(name, key) EMU_##name,
    EMU_FINDINGS(EMU_FINDING_NAME)
#undef EMU_FINDING_NAME
        EMU_N_FINDINGS
} emu_finding_kind;

struct emu_warp;
struct emu_grid;
struct emu_op;

/* Says where: kernel, source line, block, warp, lane (-1: the whole warp, or no lane in particular). op NULL: the one
 * that the warp is at. Findings that repeat (same kind, instruction and key) are counted and told once. key tells apart
 * findings at the same instruction, e.g. the other access of a race. The text says what happened in one line, without
 * the place. */
void emu_find(struct emu_warp *warp, const struct emu_op *op, int lane, emu_finding_kind kind, uint64_t key,
              const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Of a launch as a whole, such as a deadlock; more lines may follow by emu_find_more(). */
void emu_find_grid(struct emu_grid *grid, emu_finding_kind kind, uint64_t key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void emu_find_more(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Findings since the process began, all kinds together; text of the first since emu_findings_take(), or NULL. */
uint64_t emu_findings_count(void);
const char *emu_findings_take(void); /* first text since the last call, NULL: none; valid until the next finding */

typedef struct emu_counts {
    uint64_t launches, blocks, warp_instructions, lane_instructions, tiles /* wgmma and mma products */;
    uint64_t copies /* of asynchronous engines */, bytes_global_read, bytes_global_written;
    double seconds;
} emu_counts;
extern emu_counts emu_total;
/* %globaltimer: nanoseconds, one for each warp instruction that the process has run, and those that were slept. */
extern uint64_t emu_time;

/* Never returns NULL: a process without memory ends with a line. */
void *emu_alloc(size_t bytes); /* zeroed */
void *emu_grow(void *old, size_t count, size_t size);
#endif

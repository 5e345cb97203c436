/* The machine while it runs: grid, cluster, block, warp, lanes, and an instruction decoded for 32 lanes at a time. */
#ifndef EMULATOR_MACHINE_MACHINE_H
#define EMULATOR_MACHINE_MACHINE_H

#include "core/core.h"
#include "ptx/ptx.h"

enum { EMU_LANES = 32, EMU_BARRIERS = 16 };

/* For handlers whose loops over lanes gcc vectorizes: one clone an instruction set, chosen when the process begins.
 * Sanitizers instrument the resolvers, which run before the sanitizer does: no clones there. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(EMU_NO_CLONES)
#define EMU_LANEWISE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EMU_LANEWISE
#endif
typedef uint32_t emu_mask; /* a bit a lane */
typedef struct emu_dim {
    uint32_t x, y, z;
} emu_dim;
typedef struct emu_warp emu_warp;
typedef struct emu_op emu_op;
typedef struct emu_block emu_block;
typedef struct emu_cluster emu_cluster;
typedef struct emu_grid emu_grid;

/* ---- addresses ----------------------------------------------------------------------------------------------------
 * Global and constant memory lie at their host addresses. Shared, local and parameter memory have windows in generic
 * addresses that no host address has. A shared address is 32 bits: rank of the block in its cluster << 24, plus
 * EMU_SHARED_FIRST, plus offset, as on Hopper: an own address names the own rank, too. */
#define EMU_WINDOW_SHARED UINT64_C(0x0100000000000000)
#define EMU_WINDOW_LOCAL UINT64_C(0x0200000000000000)
#define EMU_WINDOW_PARAM UINT64_C(0x0300000000000000)
#define EMU_WINDOW_MASK UINT64_C(0xff00000000000000)
enum { EMU_SHARED_FIRST = 1024, EMU_SHARED_RANK_SHIFT = 24 };

/* ---- registers ----------------------------------------------------------------------------------------------------
 * A register is an array over lanes: predicates one uint32_t with a bit a lane; up to 16 bits uint16_t[32]; 32 bits
 * uint32_t[32]; 64 bits uint64_t[32]; 128 bits uint64_t[32][2]. An operand names its place in the warp's registers or
 * in the function's constants (immediates, spread over all lanes). Arrays are aligned to 64 bytes, predicates to 4. The
 * sink `_` as a destination is a place like any other that nobody reads. */
typedef struct emu_operand {
    uint32_t at;   /* offset in bytes; EMU_CONSTANT set: in the constants; EMU_NOWHERE: there is none */
    uint8_t bytes; /* 0: predicate; 2, 4, 8, 16 */
    bool negated;  /* of predicates */
} emu_operand;
#define EMU_CONSTANT 0x80000000u
#define EMU_NOWHERE 0xffffffffu

/* What came of running an instruction. */
typedef enum emu_result {
    EMU_NEXT,  /* go on with the next */
    EMU_AGAIN, /* it could not be done yet: warp->current->wait says what for; it is run again when that is ready */
    EMU_JUMP,  /* the instruction set the fragments' places itself */
    EMU_ABORT, /* a finding that the launch cannot survive */
} emu_result;

/* mask: lanes that execute, guard applied; never 0 unless op->always. */
typedef emu_result emu_run(emu_warp *, const emu_op *, emu_mask mask);

enum { EMU_OPERANDS = 8 };
struct emu_op {
    emu_run *run;
    emu_operand operand[EMU_OPERANDS]; /* by the decoder's own order: destination first */
    uint32_t guard;                    /* place of the predicate, EMU_NOWHERE: none */
    bool guard_negated;
    bool always; /* run with an empty mask, too */
    bool
        aligned; /* all lanes of the warp that have not exited must be here together: exec/ sees to that before run() */
    uint8_t type, type2, kind, flags; /* decoder's own */
    uint32_t target;
    int64_t value;      /* decoder's own: offset, immediate, count */
    const void *detail; /* decoder's own, from the code's arena */
    const ptx_instruction *source;
};

/* A function decoded. */
typedef struct emu_code {
    const ptx_function *function;
    emu_op *op;
    uint32_t n_ops;          /* op[n_ops] is a return */
    uint8_t *constants;      /* lane arrays of immediates */
    uint32_t register_bytes; /* of a warp */
    uint32_t *register_at;   /* by index of ptx_function's registers; EMU_NOWHERE: nobody touches it */
    uint32_t shared_bytes;   /* static */
    uint32_t local_bytes;    /* a lane */
    void *arena;
} emu_code;

/* What a fragment waits for. ready(): may it try again? describe(): for reports of deadlocks. */
typedef struct emu_wait {
    bool (*ready)(const emu_warp *, const struct emu_wait *);
    void (*describe)(const emu_warp *, const struct emu_wait *, char *text, size_t bytes);
    const void *object;
    uint64_t value;
} emu_wait;

/* What a round of a loop that only polls (reads memory that others write, and writes none) adds to a fragment's spins.
 */
enum { EMU_POLL = 1024 };

/* Lanes of a warp that are at the same instruction. A warp that has not diverged is one fragment. */
typedef struct emu_fragment {
    uint32_t pc;
    emu_mask mask;
    emu_wait wait;   /* ready NULL: runnable */
    uint32_t spins;  /* EMU_POLL for each round of a loop that only polls, since it last merged, waited, or did more */
    uint32_t rounds; /* of other loops since it last merged or waited */
} emu_fragment;

/* sync/: a warp at one of its block's barriers. */
typedef struct emu_gate {
    emu_mask here;    /* lanes that came; when all have, the warp has arrived and nobody is here any more */
    emu_mask waiting; /* lanes that wait for the barrier's phase to complete */
    uint32_t result;  /* of barrier.red, for those that waited */
} emu_gate;

struct emu_warp {
    uint8_t *registers;
    emu_block *block;
    const emu_code *code;
    emu_fragment fragment[EMU_LANES];
    int n_fragments;
    emu_fragment *current; /* the one that runs */
    uint32_t index;        /* in the block */
    emu_mask lanes;        /* that exist (the last warp may be partial) */
    emu_mask exited;
    uint8_t *local;                /* EMU_LANES × local_bytes, allocated at first use */
    struct emu_order *order;       /* check/: what this warp knows of others' accesses */
    struct emu_groups *groups;     /* async/: bulk groups and cp.async groups of its lanes */
    struct emu_products *products; /* mma/: wgmma in flight */
    struct emu_tensor_use *tensor; /* tcgen05/: what the warp has issued */
    emu_gate gate[EMU_BARRIERS];
    emu_mask cluster_arrived, cluster_due; /* sync/: lanes that arrived in phase cluster_phase; that are to wait next */
    uint32_t cluster_phase;
    struct emu_clock *fenced; /* sync/: what was known at the last fence for others of the cluster */
    struct emu_calls *calls;  /* exec/: frames of device functions, NULL: the code has no calls */
    uint32_t set_registers;   /* of a thread, by setmaxnreg; 0: as launched */
    uint64_t instructions;
    uint32_t slot; /* runtime/: place in the scheduler's list */
};

typedef struct emu_barrier {
    uint32_t expected;       /* threads, in whole warps; 0: no one is here */
    uint32_t arrived;        /* threads, in whole warps */
    uint32_t generation;     /* completed phases */
    bool all;                /* expected is all of the block: warps that exit are not waited for */
    uint8_t way;             /* of the instruction that came first */
    uint32_t votes[2];       /* of barrier.red: lanes whose predicate is false, true */
    uint64_t came, waiting;  /* bit a warp */
    struct emu_clock *clock; /* check/ */
} emu_barrier;

/* Registers of an SM; and those that a function's launch bounds leave each thread of a block of so many warps. */
enum { EMU_SM_REGISTERS = 65536 };
uint32_t emu_registers_at_most(const ptx_function *function, uint32_t warps);

struct emu_block {
    emu_cluster *cluster;
    uint32_t rank; /* in the cluster */
    emu_dim index; /* blockIdx */
    emu_warp *warp;
    uint32_t n_warps, live_warps;
    uint32_t exited_warps; /* sync/: at barriers of all warps they count as arrived */
    uint8_t *shared;       /* shared_bytes, at shared address rank << 24 | EMU_SHARED_FIRST */
    uint32_t shared_bytes; /* static and dynamic */
    bool exited;
    bool triggered; /* called launch_dependents, or ended */
    emu_barrier barrier[EMU_BARRIERS];
    struct emu_mbarriers *mbarriers;  /* async/: those of this block's shared memory */
    struct emu_engine *engine;        /* async/: operations in flight */
    struct emu_shadow *shared_shadow; /* memory/ and check/: initialized bytes, accesses */
    struct emu_tensor *tensor;        /* tcgen05/: tensor memory */
    struct emu_visits *visits;        /* check/: accesses to its shared memory by other blocks */
    uint32_t sm;                      /* %smid */
};

struct emu_cluster {
    emu_grid *grid;
    emu_dim index; /* clusterid */
    emu_block *block;
    uint32_t n_blocks, live_blocks;
    uint32_t arrived; /* threads at barrier.cluster of this phase, and those that exited */
    uint32_t exited;  /* threads */
    uint32_t generation;
    bool told_no_more;                  /* async/: clusterlaunchcontrol found no cluster that had not begun */
    struct emu_clock *barrier_clock[2]; /* of even and odd phases */
    struct emu_family *family;          /* check/: numbering of the actors of this cluster */
    emu_cluster *next;                  /* among the resident */
};

/* A launch. */
struct emu_grid {
    const emu_code *code;
    const char *name; /* demangled where possible */
    emu_dim blocks, threads, cluster;
    uint32_t dynamic_shared;
    uint8_t *parameters;
    uint32_t parameter_bytes;
    uint64_t number; /* of the launch, from 1 */
    uint64_t next_cluster, n_clusters, finished_clusters;
    emu_cluster *resident;
    emu_random random;
    bool programmatic; /* may begin before the launch before it in its stream has ended */
    bool dependents_may_start;
    uint64_t triggered_blocks; /* blocks that called launch_dependents or ended */
    emu_grid *after;           /* the launch that griddepcontrol.wait waits for, NULL: done */
    bool cooperative;          /* all blocks must be resident at once */
    uint64_t workspace;        /* global memory for the barrier of a cooperative launch, 0: none */
    bool explicit_cluster;     /* launched with the size of its clusters */
    bool done, failed;
    bool ending;                               /* a failed launch is taken down: nothing more is told of it */
    int error;                                 /* cudaError that its first finding means, 0: no finding */
    int told;                                  /* findings printed */
    struct emu_clock *begin_clock, *end_clock; /* check/: stream order */
    uint64_t instructions;
};

/* griddepcontrol.launch_dependents by any thread of the block, or its end. */
static inline void emu_block_trigger(emu_block *block) {
    emu_grid *grid = block->cluster->grid;
    if (block->triggered) return;
    block->triggered = true;
    if (++grid->triggered_blocks == grid->n_clusters * block->cluster->n_blocks) grid->dependents_may_start = true;
}

/* ---- access to lanes ------------------------------------------------------------------------------------------- */
static inline void *emu_at(const emu_warp *warp, uint32_t at) {
    uint8_t *base = at & EMU_CONSTANT ? warp->code->constants : warp->registers;
    return base + (at & ~EMU_CONSTANT);
}
static inline uint16_t *emu_u16(const emu_warp *warp, emu_operand o) { return emu_at(warp, o.at); }
static inline uint32_t *emu_u32(const emu_warp *warp, emu_operand o) { return emu_at(warp, o.at); }
static inline uint64_t *emu_u64(const emu_warp *warp, emu_operand o) { return emu_at(warp, o.at); }
static inline float *emu_f32(const emu_warp *warp, emu_operand o) { return emu_at(warp, o.at); }
static inline double *emu_f64(const emu_warp *warp, emu_operand o) { return emu_at(warp, o.at); }
static inline emu_mask emu_pred(const emu_warp *warp, emu_operand o) {
    uint32_t bits = *(uint32_t *)emu_at(warp, o.at);
    return o.negated ? ~bits : bits;
}
/* An operand of any width as 64-bit integers, zero-extended. */
void emu_lanes_read(const emu_warp *, emu_operand, uint64_t value[EMU_LANES]);
/* The low bits of value into a register of any width, lanes of mask only. */
void emu_lanes_write(const emu_warp *, emu_operand, emu_mask, const uint64_t value[EMU_LANES]);
#endif

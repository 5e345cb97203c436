/* Shared by the files of async/: mbarriers as objects, groups of a warp, the engine's queue. */
#ifndef EMULATOR_ASYNC_INTERNAL_H
#define EMULATOR_ASYNC_INTERNAL_H

#include "async/async.h"
#include "machine/decode.h"

/* ---- mbarriers --------------------------------------------------------------------------------------------------- */
enum { EMU_MBARRIER_MOST = (1 << 20) - 1 }; /* of arrivals and of bytes, either sign */

/* Counts of an mbarrier, apart from the machine. A phase completes when no arrival and no byte is pending. */
typedef struct emu_phase {
    uint32_t expected; /* arrivals of the next phase */
    uint32_t pending;  /* arrivals of this one */
    int64_t tx;        /* bytes that are expected and not there; below zero: there and not expected yet */
    uint64_t number;   /* of the current phase, from 0 */
} emu_phase;
typedef enum emu_phase_event {
    EMU_PHASE_OPEN,
    EMU_PHASE_COMPLETED,
    EMU_PHASE_TOO_MANY, /* arrivals: the counts are as before */
    EMU_PHASE_RANGE,    /* bytes: the counts are as before */
} emu_phase_event;
void emu_phase_init(emu_phase *, uint32_t count);
emu_phase_event emu_phase_arrive(emu_phase *, uint32_t count, bool drop);
emu_phase_event emu_phase_transfer(emu_phase *, int64_t bytes); /* above 0: expect_tx; below: complete_tx */

typedef struct emu_mbarrier {
    emu_block *block;
    uint32_t offset; /* in the block's shared memory */
    bool live;       /* initialized and not invalidated */
    bool reported;   /* its bytes were found wrong: once is enough */
    emu_phase phase;
    emu_warp *warp; /* that last expected bytes or issued a copy that brought some, for reports */
    const emu_op *op;
    uint64_t wanted, arrived;       /* bytes of this phase, for reports */
    uint64_t image;                 /* what memory must hold */
    emu_clock *arriving, *finished; /* what the arrivals of this phase, and of all before, released */
    uint32_t slot;                  /* check/ */
} emu_mbarrier;

/* The mbarrier at a shared address. NULL when there is none; block, if not NULL, is set where the address means any. */
emu_mbarrier *emu_mbarrier_at(emu_cluster *, uint32_t shared_address, emu_block **block);
emu_mbarrier *emu_mbarrier_create(emu_block *, uint32_t offset);
void emu_mbarriers_end(emu_block *); /* reports bytes left over */
void emu_mbarriers_free(emu_block *);
/* Is it live, with its image in memory? Otherwise reports, at this instruction, that it cannot be used ("arrive at").
 */
bool emu_mbarrier_usable(emu_mbarrier *, emu_warp *, const emu_op *, int lane, uint32_t shared_address,
                         const char *use);
void emu_mbarrier_seal(emu_mbarrier *); /* the state into memory */
/* Report what is wrong, seal and publish. */
void emu_mbarrier_arrive(emu_mbarrier *, emu_warp *, const emu_op *, int lane, uint32_t count, bool drop);
void emu_mbarrier_transfer(emu_mbarrier *, emu_warp *, const emu_op *, int lane, int64_t bytes);
void emu_mbarrier_text(const emu_mbarrier *, char *text,
                       size_t bytes); /* "the mbarrier at shared+16 of block rank 0" */
/* Opaque states that mbarrier.arrive returns. */
uint64_t emu_mbarrier_token(const emu_mbarrier *);
bool emu_mbarrier_token_phase(uint64_t token, uint64_t *phase);
uint32_t emu_mbarrier_token_pending(uint64_t token);

/* The 32-bit shared address that an address of this space is; false: it is none. */
static inline bool emu_shared_address(ptx_space space, uint64_t address, uint32_t *shared) {
    *shared = (uint32_t)address;
    return space == PTX_SHARED || (address & EMU_WINDOW_MASK) == EMU_WINDOW_SHARED;
}

/* ---- groups of a warp -------------------------------------------------------------------------------------------- */
/* Threads commit and wait for groups by themselves; a warp keeps them together. Work of a stream has a serial number
 * that goes on at every commit; a commit remembers which lanes made it and the serial number that it closed. */
enum { EMU_COMMITS = 64 };
typedef struct emu_stream {
    uint64_t serial;           /* from 1 */
    uint32_t group[EMU_LANES]; /* the open group of each lane: how many it committed */
    uint64_t waited;           /* of bulk stores: the newest serial number whose reads were waited for */
    struct emu_unwaited {      /* the newest store out of shared memory; serial 0: none, or told */
        uint64_t serial;
        const emu_op *op;
        int lane;
    } stored;
    struct emu_commit {
        emu_mask lanes;
        uint64_t serial;
    } commit[EMU_COMMITS];
    uint32_t n_commits;          /* the newest is commit[(n_commits - 1) % EMU_COMMITS] */
    struct emu_pending *pending; /* operations that are not complete */
} emu_stream;
/* A part of an operation that belongs to a group. */
typedef struct emu_pending {
    struct emu_pending *next, **link;
    struct emu_operation *operation;
    emu_mask lanes;
    uint32_t group;
    bool read; /* all that it reads was read */
} emu_pending;
struct emu_groups {
    emu_stream cp_async, bulk;
};
struct emu_groups *emu_groups_of(emu_warp *);
void emu_stream_add(emu_stream *, emu_pending *);
void emu_pending_remove(emu_pending *);
void emu_stream_commit(emu_stream *, emu_mask);
/* Serial number up to which a lane's groups are complete when at most `left` of them may be pending; 0: none. */
uint64_t emu_stream_serial(const emu_stream *, int lane, uint32_t left);
/* Is an operation pending that belongs to an older group of one of the lanes than its `left` newest ones? */
emu_pending *emu_stream_pending(const emu_stream *, emu_mask, uint32_t left, bool read);

/* ---- decoders, each for the words after the mnemonic's first ones; table.c joins them ---------------------------- */
bool emu_decode_mbarrier(emu_decoding *);
bool emu_decode_cp_async(emu_decoding *);  /* cp.async…, words after "async" */
bool emu_decode_cp_arrive(emu_decoding *); /* cp.async.mbarrier.arrive, words after "mbarrier" */
bool emu_decode_cp_bulk(emu_decoding *);   /* cp.async.bulk…, words after "bulk" */
bool emu_decode_cp_tensor(emu_decoding *); /* cp.async.bulk.tensor…, words after "tensor" */
bool emu_decode_cp_reduce(emu_decoding *); /* cp.reduce… */
bool emu_decode_st_async(emu_decoding *);
bool emu_decode_red_async(emu_decoding *);
bool emu_decode_tensormap(emu_decoding *);
bool emu_decode_cluster_launch(emu_decoding *); /* clusterlaunchcontrol… */

static inline emu_random *emu_dice(const emu_warp *warp) { return &warp->block->cluster->grid->random; }
#endif

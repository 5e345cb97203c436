/* Tensor memory of a block: 512 columns of 128 lanes of 32 bits, and what the files of tcgen05/ share.
 *
 * An address is lane << 16 | column. Cells of a column lie side by side, so that a tile is a range for each column. The
 * order of accesses is checked as that of shared memory is (check/check.h): all of tcgen05 accesses it as an engine. */
#ifndef EMULATOR_TCGEN05_TENSOR_H
#define EMULATOR_TCGEN05_TENSOR_H

#include "async/internal.h"
#include "check/check.h"
#include "machine/decode.h"
#include "mma/decode.h"
#include "tcgen05/tcgen05.h"

enum { EMU_TENSOR_LANES = 128, EMU_TENSOR_COLUMNS = 512, EMU_TENSOR_LEAST = 32 /* columns of an allocation */ };

typedef struct emu_tensor_allocation {
    uint32_t columns; /* 0: free */
    emu_warp *warp;   /* that allocated it, for reports */
    const emu_op *op;
} emu_tensor_allocation;

struct emu_tensor {
    uint32_t cell[EMU_TENSOR_COLUMNS][EMU_TENSOR_LANES];
    emu_shadow *shadow;
    emu_tensor_allocation allocation[EMU_TENSOR_COLUMNS / EMU_TENSOR_LEAST]; /* by first column */
    uint32_t last;     /* columns of the newest allocation, 0: none yet */
    bool relinquished; /* the permit to allocate */
    uint8_t group;     /* .cta_group of the first instruction, 0: none yet */
};
struct emu_tensor *emu_tensor_of(emu_block *); /* made at first use */

/* What a warp has issued. Loads and stores are groups that end with the wait; products are each a group of their own. */
struct emu_tensor_use {
    uint64_t loads, stores;       /* waits so far */
    uint64_t products, committed; /* mma and its kin: issued, and covered by a commit */
    bool pending;                 /* registers of loads since the last wait */
    uint64_t *loaded;             /* by place in the register file, in units of 64 bytes: loads + 1 of the load */
    emu_clock *issued;            /* known to the newest product when it was issued */
    emu_clock *fenced;            /* known at the last fence::after_thread_sync, and of its own completed work */
};
struct emu_tensor_use *emu_tensor_use_of(emu_warp *);

/* Are these lanes and columns allocated? Reports at this instruction what is not: the access cannot be done. */
bool emu_tensor_allocated(emu_warp *, const emu_op *, emu_block *, uint32_t address, uint32_t lanes, uint32_t columns,
                          const char *what);
/* One column's lanes, read or written by an actor: checks order and initialization. */
void emu_tensor_touch(const emu_actor *, emu_block *, emu_access_kind, uint32_t lane, uint32_t column, uint32_t lanes);

/* An actor of work that the warp issues now, as part of this group, which knows what tcgen05.fence made known. */
void emu_tensor_actor(emu_warp *, const emu_op *, int lane, emu_stream_kind, uint64_t group, emu_actor *out);

/* The warp's operations run in order. */
static inline uint64_t emu_tensor_queue(const emu_warp *warp) { return UINT64_C(1) << 61 | warp->index; }
/* An operation of mma's kin, with its functions and ranks, goes in flight behind what the warp issued before. */
void emu_tensor_issue(emu_warp *, const emu_op *, int lane, emu_operation *);
/* The blocks that an instruction is of, in order: 1 or 2. */
int emu_tensor_blocks(emu_warp *, const emu_op *, emu_block *block[2]);
/* Has one of them exited while the operation ("tcgen05.mma") uses its memory? Reports it. */
bool emu_tensor_exited(const emu_operation *, emu_block *const block[2], int blocks, const char *what);

/* The value of an operand of 32 bits, which all lanes must agree on. */
uint32_t emu_tensor_uniform(emu_warp *, const emu_op *, emu_mask, const uint32_t *lanes, const char *what);

/* ".cta_group::1" or 2, into op->kind. */
bool emu_tensor_group_word(emu_decoding *);
/* All instructions of a kernel have the same .cta_group: tells if this one differs. False: a pair needs a cluster. */
bool emu_tensor_grouped(emu_warp *, const emu_op *);
/* The other block of the pair. */
emu_block *emu_tensor_peer(emu_block *);
/* [address] of tensor memory. */
bool emu_tensor_address(emu_decoding *, int operand, emu_address *);
bool emu_tensor_operands(emu_decoding *, int least, int most);
emu_decode emu_decode_tensor_alloc, emu_decode_tensor_dealloc, emu_decode_tensor_relinquish;
emu_decode emu_decode_tensor_load, emu_decode_tensor_store, emu_decode_tensor_wait_load, emu_decode_tensor_wait_store;
emu_decode emu_decode_tensor_fence_before, emu_decode_tensor_fence_after, emu_decode_tensor_commit;
emu_decode emu_decode_tensor_product, emu_decode_tensor_copy, emu_decode_tensor_shift;
#endif

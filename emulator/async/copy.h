/* Bulk and tensor copies in flight: what cp.async.bulk and its kin have in common. */
#ifndef EMULATOR_ASYNC_COPY_H
#define EMULATOR_ASYNC_COPY_H

#include "async/internal.h"
#include "async/tensor_map.h"

typedef enum emu_copy_kind {
    EMU_COPY_LOAD,  /* global to shared, mbarrier */
    EMU_COPY_PEER,  /* own shared to shared of the cluster, mbarrier */
    EMU_COPY_STORE, /* shared to global, bulk group */
} emu_copy_kind;

/* Operation and type of a reduction; a plain copy has the operation EMU_REDUCE_NONE. */
typedef enum emu_reduce_kind {
    EMU_REDUCE_NONE,
    EMU_REDUCE_ADD,
    EMU_REDUCE_MIN,
    EMU_REDUCE_MAX,
    EMU_REDUCE_INC,
    EMU_REDUCE_DEC,
    EMU_REDUCE_AND,
    EMU_REDUCE_OR,
    EMU_REDUCE_XOR,
    EMU_N_REDUCE,
} emu_reduce_kind;
extern const char *const emu_reduce_words[]; /* "add" …, ended by NULL: the word's index plus 1 is the kind */
bool emu_reduce_valid(emu_reduce_kind, ptx_type, bool shared); /* does the hardware have it? */
/* memory[i] = memory[i] op operand[i], over elements of the type. flush: f32 addition takes and gives zeros for
 * subnormals. */
void emu_reduce(emu_reduce_kind, ptx_type, bool flush, uint8_t *memory, const uint8_t *operand, uint32_t bytes);

/* A bulk or tensor instruction. Operand 0: bytes; 1: mask of a multicast; 2 and up: coordinates. */
typedef struct emu_copy_detail {
    emu_copy_kind kind;
    emu_reduce_kind reduce;
    ptx_type type;
    bool tensor, multicast;
    bool masked; /* .cp_mask: operand 1 has a bit for each byte of 16 */
    bool pair;   /* .cta_group::2: the mbarrier may be that of the pair's other block */
    int rank;    /* of the tensor */
    emu_tensor_mode mode;
    int coordinates, offsets;                 /* how many */
    emu_operand offset[EMU_TENSOR_RANKS - 2]; /* of im2col */
    emu_address shared, other /* global address, the map's, or own shared memory of a peer copy */, mbarrier;
} emu_copy_detail;
emu_run emu_copy_run;

/* What an instruction asks for, of one lane. */
typedef struct emu_copy_order {
    emu_copy_kind kind;
    emu_reduce_kind reduce;
    ptx_type type; /* of a reduction */
    uint32_t bytes;
    uint64_t global;           /* without a map: address in global memory */
    uint16_t without;          /* of a store without a map: bytes of each 16 that are not written */
    uint32_t from;             /* of a peer copy: own shared memory */
    uint32_t shared;           /* the other side: destination of loads and peer copies, source of stores */
    uint32_t mbarrier;         /* shared address; for loads and peer copies */
    bool pair;                 /* it may be that of the pair's other block */
    const emu_tensor_map *map; /* NULL: contiguous bytes */
    emu_tensor_place place;
} emu_copy_order;

/* Checks addresses, the mbarrier and alignment, and puts the copy in flight. False: reported, the launch cannot go on.
 */
bool emu_copy_issue(emu_warp *, const emu_op *, int lane, const emu_copy_order *);
/* The map at a generic address. False: reported. */
bool emu_tensor_map_read(emu_warp *, const emu_op *, int lane, uint64_t address, emu_tensor_map *);
#endif

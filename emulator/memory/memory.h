/* State spaces, allocations, and the one way by which anything reads or writes memory. */
#ifndef EMULATOR_MEMORY_MEMORY_H
#define EMULATOR_MEMORY_MEMORY_H

#include "machine/access.h"
#include "machine/machine.h"

/* ---- allocations of global memory: at host addresses, found by address ---- */
typedef enum emu_memory_kind { EMU_DEVICE, EMU_PINNED, EMU_MANAGED, EMU_VARIABLE } emu_memory_kind;
typedef struct emu_allocation {
    uint8_t *memory;
    uint64_t bytes;
    emu_memory_kind kind;
    const char *name;          /* of a variable, not copied */
    struct emu_shadow *shadow; /* initialized bytes, accesses */
    uint64_t number;           /* counts allocations from 1 */
    uint64_t reach;            /* bytes from memory on that no other allocation may use; 0: memory is the caller's */
    bool constant;             /* .const: a write is a finding. Set by who registers it */
    bool freed;                /* kept for a while to tell uses after free apart */
} emu_allocation;
/* Aligned to 512 bytes; between allocations lies at least as much that is not accessible. NULL: out of memory.
 * Contents: zeros that count as not initialized (EMU_DEVICE) or as written by the host (pinned, managed: the host may,
 * unseen). */
void *emu_memory_allocate(uint64_t bytes, emu_memory_kind kind);
/* Memory of the caller's, initialized: variables, cudaHostRegister. NULL: it overlaps an allocation. */
emu_allocation *emu_memory_register(void *memory, uint64_t bytes, emu_memory_kind kind, const char *name);
bool emu_memory_free(void *memory); /* false: not the first byte of an allocation (or of registered memory) */
emu_allocation *emu_memory_find(const void *address); /* the allocation that contains it, NULL: none (or freed) */
uint64_t emu_memory_in_use(void);                     /* bytes of device and managed memory */
uint64_t emu_memory_capacity(void);                   /* bytes that the device is said to have */
/* cudaMemcpy, cudaMemset: now initialized, ordered before later launches. */
void emu_memory_host_wrote(void *address, uint64_t bytes);

/* ---- access ---- */
/* Resolves the lanes' addresses to host pointers, after bounds, alignment, lifetime, initialization and races were
 * checked, and orders (acquire, release) applied. False: a finding that ends the launch (the caller returns EMU_ABORT).
 * Pointers of other lanes are not written. */
bool emu_memory_lanes(emu_warp *, const emu_op *, emu_mask, const emu_access *, const uint64_t address[EMU_LANES],
                      uint8_t *pointer[EMU_LANES]);

/* The same for an engine (bulk copies, tensor copies, wgmma's operands): one contiguous range, by a given actor. `who`
 * is what the check records as the accessor (check/check.h). block: whose window shared::cta addresses mean. NULL: a
 * finding. */
struct emu_actor;
uint8_t *emu_memory_range(const struct emu_actor *who, emu_block *block, const emu_access *, uint64_t address,
                          uint64_t bytes);

/* Frees what emu_memory_lanes() allocated for the warp's .local memory. */
void emu_warp_memory_end(emu_warp *);

/* Which space a generic address means, and a shared address's host pointer without any check (NULL: none there). */
ptx_space emu_memory_space(uint64_t generic);
uint8_t *emu_shared_pointer(emu_cluster *, uint32_t shared_address, uint32_t bytes, emu_block **block);
void emu_block_memory_begin(emu_block *); /* shared memory and its shadow: filled with a pattern, not initialized */
void emu_block_memory_end(emu_block *);

/* ---- atomic updates, pure arithmetic ---- */
typedef enum emu_update_kind {
    EMU_UPDATE_ADD,
    EMU_UPDATE_MIN,
    EMU_UPDATE_MAX,
    EMU_UPDATE_INC,
    EMU_UPDATE_DEC,
    EMU_UPDATE_AND,
    EMU_UPDATE_OR,
    EMU_UPDATE_XOR,
    EMU_UPDATE_EXCH,
    EMU_UPDATE_CAS,
    EMU_N_UPDATES
} emu_update_kind;
/* *memory = operation(*memory, b, c). flush: subnormals of f32 are zeros, as in global memory. */
typedef void emu_update(uint8_t *memory, const uint8_t *b, const uint8_t *c, bool flush);
emu_update *emu_update_find(emu_update_kind, ptx_type); /* NULL: PTX has none */
#endif

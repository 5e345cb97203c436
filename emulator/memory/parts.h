/* What the files of memory/ share: regions of addresses, reports, and words of memory instructions. */
#ifndef EMULATOR_MEMORY_PARTS_H
#define EMULATOR_MEMORY_PARTS_H

#include "check/check.h"
#include "machine/decode.h"
#include "memory/memory.h"

#define EMU_ALL_LANES 0xffffffffu

/* ---- regions: addresses base … base + bytes - 1 of one space, and where they lie ---- */
typedef struct emu_region {
    uint64_t base, bytes;
    uint8_t *host;
    uint64_t stride;    /* host bytes from a lane's copy to the next one's: .local */
    emu_shadow *shadow; /* NULL: accesses are not recorded */
    emu_block *owner;   /* of shared memory */
    bool global;
    bool read_only;
} emu_region;

/* Who asks: a warp, or an engine on behalf of a block. */
typedef struct emu_viewer {
    emu_warp *warp; /* NULL: an engine, that sees no .local memory */
    emu_block *block;
    const emu_op *op; /* the last hit of the map is kept by instruction */
} emu_viewer;

/* The region that contains the address, or begins nearest before it within the space: the caller compares with its
 * ends. False: there is none; emu_memory_report() says why. */
bool emu_region_find(const emu_viewer *, const emu_access *, uint64_t address, emu_region *out);
emu_allocation *emu_memory_find_for(const emu_op *, uint64_t address);
/* Sets so many bytes of addresses aside for allocations: done at the first one, with terabytes, unless it was done
 * before. */
bool emu_memory_reserve(uint64_t bytes);
/* Neighbours of an address that no allocation contains; NULL: none. */
void emu_memory_neighbours(uint64_t address, emu_allocation **before, emu_allocation **after);

/* Reports an access that cannot go on: out of bounds, misaligned, exited, another block's memory. bytes: of the lane or
 * range. */
void emu_memory_report(const emu_viewer *, emu_warp *reporter, int lane, const emu_access *, uint64_t address,
                       uint64_t bytes);

/* ---- words of memory instructions, in any order as the manual's own examples have them ---- */
typedef enum emu_word_class {
    EMU_WORD_SEMANTICS,
    EMU_WORD_SCOPE,
    EMU_WORD_SPACE,
    EMU_WORD_CACHE,
    EMU_WORD_EVICT_L1,
    EMU_WORD_EVICT_L2,
    EMU_WORD_HINT,
    EMU_WORD_PREFETCH,
    EMU_WORD_VECTOR,
    EMU_WORD_NC,
    EMU_WORD_MMIO,
    EMU_WORD_UNIFIED,
    EMU_WORD_NOFTZ,
    EMU_WORD_UPDATE,
    EMU_WORD_TYPE,
    EMU_N_WORD_CLASSES
} emu_word_class;
#define EMU_WORD_BIT(class) (1u << EMU_WORD_##class)
typedef struct emu_memory_words {
    uint32_t given; /* bit a class */
    uint8_t value[EMU_N_WORD_CLASSES];
} emu_memory_words;
/* Values of EMU_WORD_SPACE. */
typedef enum emu_named_space {
    EMU_NAMED_GENERIC,
    EMU_NAMED_GLOBAL,
    EMU_NAMED_CONST,
    EMU_NAMED_LOCAL,
    EMU_NAMED_SHARED,
    EMU_NAMED_SHARED_CLUSTER,
    EMU_NAMED_PARAM,
    EMU_NAMED_PARAM_ENTRY,
    EMU_NAMED_PARAM_FUNC,
    EMU_N_NAMED_SPACES
} emu_named_space;
extern const ptx_space emu_named_space_of[EMU_N_NAMED_SPACES];
/* Takes all words. False, and said why: a word is unknown, not among the allowed classes, or there are two of a class.
 */
bool emu_memory_words_take(emu_decoding *, uint32_t allowed, emu_memory_words *);
/* Semantics, scope and space of the words; bytes a lane. */
emu_access emu_memory_words_access(const emu_memory_words *, emu_access_kind, uint32_t bytes);
/* The operand "[a]" of a memory instruction; cache policy after `n` operands. */
bool emu_memory_operands(emu_decoding *, const emu_memory_words *, int n);

emu_decode emu_decode_load, emu_decode_store, emu_decode_clear, emu_decode_ldu, emu_decode_atom, emu_decode_red,
    emu_decode_cvta, emu_decode_isspacep, emu_decode_mapa, emu_decode_getctarank, emu_decode_prefetch,
    emu_decode_prefetchu, emu_decode_discard, emu_decode_applypriority, emu_decode_createpolicy, emu_decode_multimem;
#endif

/* From an instruction as text to one that runs. Each part of the emulator brings a table of mnemonics; exec/decode.c joins
 * them. Adding an instruction is adding a line to a table. */
#ifndef EMULATOR_MACHINE_DECODE_H
#define EMULATOR_MACHINE_DECODE_H

#include "machine/machine.h"

typedef struct emu_decoding {
    const ptx_function *function;
    const ptx_instruction *instruction;
    ptx_words words; /* after the mnemonic */
    emu_op *op;      /* to fill: run, operands, … ; guard and source are set already */
    emu_code *code;
    ptx_error *error;
} emu_decoding;

/* False after emu_decode_fail(). A word or an operand that is not known must fail: nothing is passed over. */
typedef bool emu_decode(emu_decoding *);
typedef struct emu_mnemonic {
    const char *name; /* word[0] */
    emu_decode *decode;
} emu_mnemonic;

/* One table a part, ended by a NULL name. */
extern const emu_mnemonic emu_mnemonics_control[]; /* exec/: bra, brx, exit, trap …; its other tables: exec/tables.c */
extern const emu_mnemonic
    emu_mnemonics_memory[]; /* memory/: ld, st, atom, red, cvta, mapa, isspacep, prefetch, createpolicy… */
extern const emu_mnemonic
    emu_mnemonics_sync[]; /* sync/: bar, barrier, barrier.cluster, membar, fence, griddepcontrol */
extern const emu_mnemonic emu_mnemonics_async[]; /* async/: mbarrier, cp, st.async, red.async */
extern const emu_mnemonic emu_mnemonics_mma[];   /* mma/: mma, wgmma, ldmatrix, stmatrix, movmatrix */
/* Mnemonics shared by parts ("st.async" and "st", "cp"): a table's decoder may decline by setting declined and
 * returning false without an error; the next table that has the name is asked. */
bool emu_decline(emu_decoding *);

/* Says what is wrong in a line that names instruction and source; false, which readers of one file can see. */
#define emu_decode_fail(...) (emu_decode_failed(__VA_ARGS__), ptx_false())
void emu_decode_failed(emu_decoding *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Resolve operand k of the instruction for reading as this type: registers, immediates (converted to the type), special
 * registers, addresses of symbols. Registers may be wider than the type where PTX allows that. */
bool emu_decode_source(emu_decoding *, const ptx_operand *, ptx_type type, emu_operand *out);
bool emu_decode_destination(emu_decoding *, const ptx_operand *, ptx_type type, emu_operand *out); /* registers and _ */
bool emu_decode_predicate(emu_decoding *, const ptx_operand *, emu_operand *out);
/* [base + offset]: the base as lanes of 32 or 64 bits (bytes tells), and the offset. Symbols are resolved to their
 * addresses in the space: shared variables to offsets that the block's rank is added to at run time (flag
 * shared_symbol). */
typedef struct emu_address {
    emu_operand base; /* EMU_NOWHERE: none, offset is the whole address */
    int64_t offset;
    bool shared_symbol; /* add rank << EMU_SHARED_RANK_SHIFT */
} emu_address;
bool emu_decode_address(emu_decoding *, const ptx_operand *, ptx_space, emu_address *out);
/* Lanes' addresses of an operand so decoded, as 64 bits. */
void emu_addresses(const emu_warp *, const emu_address *, uint64_t address[EMU_LANES]);
void *emu_decode_alloc(emu_decoding *, size_t bytes); /* zeroed, lives as long as the code */

/* For the branch-like: the operation that an instruction of the same function becomes. */
uint32_t emu_decode_label(emu_decoding *, const ptx_operand *);

/* Decodes an entry and all device functions that it may call, as one array of operations. NULL and *error on failure.
 * Cached in function->user. Two passes: the first tells which registers are read and written where, so that registers
 * that are never live together share a place (allocate.c); only what the second decodes is kept. A decoder hence has no
 * effects but on its op and on memory of emu_decode_alloc(). */
const emu_code *emu_code_of(ptx_function *, ptx_error *error);
void emu_code_free(const emu_code *);
/* The function whose text the op comes from: the entry, or a device function. Locations of op->source are that
 * function's. */
const ptx_function *emu_op_function(const emu_code *, const emu_op *);
/* All register operands that the op's decoder resolved, those in its detail, too; the guard is not among them. */
typedef struct emu_touch {
    emu_operand operand;
    bool written;
} emu_touch;
const emu_touch *emu_op_touches(const emu_code *, const emu_op *, int *n);

#endif

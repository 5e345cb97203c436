/* What exec/ alone knows of a program: the code of an entry with all device functions it may call. */
#ifndef EMULATOR_EXEC_PROGRAM_H
#define EMULATOR_EXEC_PROGRAM_H

#include "exec/warp.h"
#include "machine/decode.h"

/* ---- memory that lives as long as the code ----------------------------------------------------------------------- */
typedef struct emu_chunk emu_chunk;
typedef struct emu_arena {
    emu_chunk *chunk;
} emu_arena;
void *emu_arena_take(emu_arena *, size_t bytes); /* zeroed, aligned to 64 bytes */
void emu_arena_free(emu_arena *);

/* Pointers or words to 32-bit numbers. */
typedef struct emu_map {
    struct emu_map_entry {
        uint64_t key, key2;
        uint32_t value;
        bool used;
    } * entry;
    uint32_t n, capacity;
} emu_map;
uint32_t *emu_map_at(emu_map *, uint64_t key, uint64_t key2, bool *fresh); /* inserted when it is not there */
const uint32_t *emu_map_find(const emu_map *, uint64_t key, uint64_t key2);
void emu_map_free(emu_map *);

/* ---- places in the register file that hold the same value as long as the warp lives ------------------------------ */

/* Special registers, and addresses of shared memory. */
typedef uint64_t emu_value(const emu_warp *, int lane, uint64_t argument);
typedef struct emu_fill {
    emu_value *value;
    uint64_t argument;
    emu_operand place;
} emu_fill;
/* Special registers. */
typedef struct emu_special {
    const char *name;
    uint8_t bytes;
    emu_value *value; /* dynamic: called at each use */
    bool dynamic;
} emu_special;
const emu_special *emu_special_find(const char *name);
emu_result emu_run_special(emu_warp *, const emu_op *,
                           emu_mask); /* of a dynamic one: operand[0], detail: emu_special */
uint64_t emu_value_zero(const emu_warp *, int lane, uint64_t);
uint64_t emu_value_shared(const emu_warp *, int lane, uint64_t offset);

/* ---- program ----------------------------------------------------------------------------------------------------- */
typedef struct emu_part { /* a function's share of the program */
    ptx_function *function;
    uint32_t first, n_ops; /* its operations; op[first + n_ops] is a return, not counted */
    uint32_t *op_of;       /* by instruction: its first operation; [n_instructions]: the return at the end */
    uint32_t *register_at;
    uint32_t frame, frame_bytes; /* its registers' share of the register file */
    uint32_t area, area_bytes; /* its .param variables: a lane's bytes follow each other, area_bytes / EMU_LANES each */
    bool recursive;
    uint32_t local_bytes; /* of an activation, when it is recursive */
} emu_part;

enum { EMU_AT_CARRY = 0, EMU_AT_SINK = 64, EMU_FIRST_PLACE = 64 + 16 * EMU_LANES };

typedef struct emu_program {
    emu_code code;
    emu_part *part;
    int n_parts;
    emu_fill *fill;
    int n_fills;
    emu_touch *touch;
    uint32_t *touch_first;           /* by op, n_ops + 1 */
    bool calls, indirect, recursive; /* of any part */
    emu_map broken;                  /* operations that EMULATOR_BREAK names → index of their run */
    emu_arena arena;
} emu_program;
static inline const emu_program *emu_program_of(const emu_code *code) {
    return (const emu_program *)(const void *)code;
}
const emu_part *emu_part_of(const emu_program *, uint32_t op);

/* ---- while decoding ---------------------------------------------------------------------------------------------- */
typedef struct emu_use { /* of a ptx register by an operation */
    int32_t reg;
    bool written;
} emu_use;

typedef struct emu_builder {
    emu_program *program;
    emu_part *part; /* at hand; invalid after a part is added */
    bool survey;    /* the first pass */
    emu_arena scratch;
    emu_op *op;
    uint32_t n_ops, capacity;
    emu_op *target; /* that the instruction at hand fills */
    uint8_t *constants;
    uint32_t n_constants, constants_capacity;
    emu_map constant_at, fill_at, variable_at, part_of;
    uint32_t shared_bytes, shared_align, local_bytes, register_bytes;
    emu_touch *touch;
    emu_use *use; /* beside touch: the ptx register, -1: none */
    uint32_t n_touches, touch_capacity;
    uint32_t *touch_first;
    uint32_t touch_first_capacity;
    ptx_error *error;
} emu_builder;

emu_builder *emu_builder_of(emu_decoding *);
/* An operation that comes before, or after, the one at hand. */
emu_op *emu_decode_before(emu_decoding *, emu_run *run);
/* Number of the part that is this function's; added when it is new. */
uint32_t emu_part_of_function(emu_builder *, ptx_function *);
/* graph.c: parts of the entry and of all it may call; program->calls, indirect, and who is recursive. */
bool emu_find_parts(emu_builder *, ptx_function *entry);
/* A place filled when a warp begins. */
emu_operand emu_decode_fill(emu_decoding *, emu_value *value, uint64_t argument, uint8_t bytes);
emu_operand emu_decode_constant(emu_decoding *, const void *lane_value, uint8_t bytes);
emu_operand emu_decode_word(emu_decoding *, uint64_t value, uint8_t bytes);
emu_operand emu_decode_truth(emu_decoding *, bool value);
void emu_builder_touch(emu_builder *, emu_operand, int32_t reg, bool written);
/* Places for registers of the part, after the first pass; first: where its frame begins. Fills register_at,
 * frame_bytes. */
void emu_allocate_registers(emu_builder *, emu_part *);

uint32_t emu_decode_area(emu_decoding *, uint32_t part,
                         const ptx_variable *); /* a lane's offset in the area of .param variables */

/* After decoding: the kinds of loops into the kind of branches that go back; stops of EMULATOR_BREAK. */
enum { EMU_FORWARD, EMU_ACTS, EMU_POLLS };
void emu_mark_loops(emu_program *, uint32_t n_ops);
void emu_break_mark(emu_program *, uint32_t n_ops);

extern const emu_mnemonic *const emu_mnemonic_tables[]; /* ended by NULL */

/* ---- running ----------------------------------------------------------------------------------------------------- */
emu_run emu_run_branch, emu_run_return, emu_run_exit;
/* These lanes of the current fragment go on at pc, the others with the next instruction. */
emu_result emu_jump(emu_warp *, emu_mask, uint32_t pc);
/* Lanes end. */
emu_result emu_leave(emu_warp *, emu_mask);
void emu_fragment_remove(emu_warp *, emu_fragment *);
/* ---- lanes that an instruction needs together (parking.c) -------------------------------------------------------- */
/* .aligned: true when the fragment has all lanes that have not exited, or they can no longer come, which was reported.
 * False: the fragment is parked, return EMU_AGAIN. */
bool emu_gather(emu_warp *, emu_mask here);
/* These lanes of the current fragment wait at the op for those that their member masks name; the others go on after it.
 */
void emu_park(emu_warp *, emu_mask waiting, const emu_op *);
bool emu_is_parked(const emu_fragment *);
bool emu_is_forced(const emu_fragment *); /* to go on with the lanes that are here */
/* No fragment can run: true when something was done about it: all were parked, or bar.warp.sync is met at several
 * places. */
bool emu_unpark(emu_warp *);
emu_mask emu_guarded(const emu_warp *, const emu_op *, emu_mask);
/* collective.c: does any group of the lanes here have all its members? Who is missing? */
bool emu_members_ready(const emu_warp *, const emu_op *, emu_mask here);
emu_mask emu_members_missing(const emu_warp *, const emu_op *, emu_mask here);
emu_run emu_run_warp_barrier;
enum { EMU_MEMBERS = 7 }; /* the operand that has the member masks */

void emu_calls_begin(emu_warp *);
void emu_calls_end(emu_warp *);
uint32_t emu_call_stack_bytes(void); /* of .local memory a lane, for recursive functions */
emu_run emu_run_local_base;          /* operand[0]: where the .local variable at offset value of the activation lies */
emu_run emu_run_area_base; /* operand[0]: host address of the .param variable at offset value of part target */

bool emu_trace_wants(const emu_warp *);
void emu_trace(emu_warp *, const emu_op *, emu_mask, emu_result);
#endif

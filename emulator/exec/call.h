/* Calls of device functions: what call.c, area.c and builtin.c share. */
#ifndef EMULATOR_EXEC_CALL_H
#define EMULATOR_EXEC_CALL_H

#include "exec/program.h"

/* A parameter or result on one side of a call: a register or constant, or bytes of a part's area of .param variables.
 */
typedef struct emu_passed {
    emu_operand lanes; /* at EMU_NOWHERE: in the area */
    uint32_t part, offset, bytes;
} emu_passed;

typedef struct emu_call emu_call;
typedef emu_result emu_builtin(emu_warp *, const emu_op *, const emu_call *, emu_mask);
struct emu_call {
    uint32_t part;        /* that is called */
    emu_builtin *builtin; /* instead of a part */
    int n_arguments;
    emu_passed *from, *to; /* arguments: the caller's, the callee's */
    bool result;
    emu_passed result_from, result_to;
    struct emu_call **candidate; /* of an indirect call, by part; NULL where the shape does not fit */
};

typedef struct emu_saved { /* registers of an outer activation of a recursive function */
    uint32_t users;
    uint8_t bytes[];
} emu_saved;
typedef struct emu_frame {
    uint32_t pc; /* to return to */
    const emu_call *call;
    emu_saved *saved; /* NULL: the callee is not recursive */
} emu_frame;
typedef struct emu_calls {
    uint32_t depth[EMU_LANES], capacity[EMU_LANES];
    emu_frame *frame[EMU_LANES];
    uint32_t local_top[EMU_LANES]; /* end of the innermost activation's .local variables, for recursive functions */
} emu_calls;

/* A lane's bytes of what is passed. */
uint8_t *emu_area(const emu_warp *, const emu_passed *, int lane);
uint64_t emu_passed_read(const emu_warp *, const emu_passed *, int lane);
void emu_passed_write(emu_warp *, const emu_passed *, int lane, uint64_t value);
emu_builtin *emu_builtin_find(const char *name);
#endif

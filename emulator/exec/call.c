/* Device functions: call and ret. Each function of a program has its registers and .param variables at places of its
 * own, so that lanes may be in different functions at once; a recursive one's are saved for the lanes that call it.
 * Where to return to is known lane by lane. */
#include "exec/call.h"

#include <stdlib.h>
#include <string.h>

#include "exec/lanes.h"

enum { DEEPEST = 1 << 14, STACK = 1 << 14 /* bytes of .local variables of recursive functions, a lane */ };

uint32_t emu_call_stack_bytes(void) { return STACK; }

/* ---- what is passed ---------------------------------------------------------------------------------------------- */
uint8_t *emu_area(const emu_warp *warp, const emu_passed *passed, int lane) {
    const emu_part *part = emu_program_of(warp->code)->part + passed->part;
    return warp->registers + part->area + (size_t)lane * part->area_bytes + passed->offset;
}

uint64_t emu_passed_read(const emu_warp *warp, const emu_passed *passed, int lane) {
    uint64_t value[EMU_LANES] = {0};
    if (passed->lanes.at != EMU_NOWHERE) {
        emu_lanes_read(warp, passed->lanes, value);
        return value[lane];
    }
    memcpy(value, emu_area(warp, passed, lane), passed->bytes < 8 ? passed->bytes : 8);
    return value[0];
}

void emu_passed_write(emu_warp *warp, const emu_passed *passed, int lane, uint64_t value) {
    uint64_t values[EMU_LANES];
    values[lane] = value;
    if (passed->lanes.at != EMU_NOWHERE)
        emu_lanes_write(warp, passed->lanes, 1u << lane, values);
    else
        memcpy(emu_area(warp, passed, lane), &value, passed->bytes < 8 ? passed->bytes : 8);
}

static void pass(emu_warp *warp, const emu_passed *from, const emu_passed *to, emu_mask mask) {
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        bool areas = from->lanes.at == EMU_NOWHERE && to->lanes.at == EMU_NOWHERE;
        if (areas)
            memmove(emu_area(warp, to, lane), emu_area(warp, from, lane),
                    to->bytes < from->bytes ? to->bytes : from->bytes);
        else
            emu_passed_write(warp, to, lane, emu_passed_read(warp, from, lane));
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */
void emu_calls_begin(emu_warp *warp) {
    warp->calls = emu_alloc(sizeof *warp->calls);
    uint32_t top = warp->code->local_bytes - (emu_program_of(warp->code)->recursive ? STACK : 0);
    for (int lane = 0; lane < EMU_LANES; lane++) warp->calls->local_top[lane] = top;
}

static void release(emu_saved *saved) {
    if (saved && --saved->users == 0) free(saved);
}

void emu_calls_end(emu_warp *warp) {
    for (int lane = 0; lane < EMU_LANES; lane++) {
        for (uint32_t i = 0; i < warp->calls->depth[lane]; i++) release(warp->calls->frame[lane][i].saved);
        free(warp->calls->frame[lane]);
    }
    free(warp->calls);
    warp->calls = NULL;
}

/* The area and the registers of a part follow each other. */
static size_t part_bytes(const emu_part *part) { return part->frame + part->frame_bytes - part->area; }

static emu_saved *save(emu_warp *warp, const emu_part *part, emu_mask mask) {
    emu_saved *saved = emu_alloc(sizeof *saved + part_bytes(part));
    saved->users = (uint32_t)__builtin_popcount(mask);
    memcpy(saved->bytes, warp->registers + part->area, part_bytes(part));
    return saved;
}

static void restore_lane(emu_warp *warp, const emu_part *part, const emu_saved *saved, int lane) {
    memcpy(warp->registers + part->area + (size_t)lane * part->area_bytes,
           saved->bytes + (size_t)lane * part->area_bytes, part->area_bytes);
    for (int r = 0; r < part->function->n_registers; r++) {
        uint32_t bytes = ptx_type_bytes[part->function->reg[r].type], at = part->register_at[r];
        if (at == EMU_NOWHERE) continue; /* nobody touches it */
        const uint8_t *from = saved->bytes + (at - part->area);
        if (bytes == 1) bytes = 2;
        if (bytes) {
            memcpy(warp->registers + at + (uint32_t)lane * bytes, from + (uint32_t)lane * bytes, bytes);
        } else {
            uint32_t old, *now = (uint32_t *)(void *)(warp->registers + at);
            memcpy(&old, from, 4);
            *now = (*now & ~(1u << lane)) | (old & 1u << lane);
        }
    }
}

static bool push(emu_warp *warp, const emu_op *op, int lane, emu_frame frame, uint32_t local_bytes) {
    emu_calls *calls = warp->calls;
    if (calls->depth[lane] == calls->capacity[lane]) {
        calls->capacity[lane] = calls->capacity[lane] ? 2 * calls->capacity[lane] : 8;
        calls->frame[lane] = emu_grow(calls->frame[lane], calls->capacity[lane], sizeof **calls->frame);
    }
    calls->local_top[lane] += local_bytes;
    if (calls->depth[lane] == DEEPEST || calls->local_top[lane] > warp->code->local_bytes) {
        emu_find(warp, op, lane, EMU_OUT_OF_BOUNDS, 0, "calls nest %u deep: the stack's end", calls->depth[lane] + 1);
        return false;
    }
    calls->frame[lane][calls->depth[lane]++] = frame;
    return true;
}

/* ---- call -------------------------------------------------------------------------------------------------------- */
static emu_result enter(emu_warp *warp, const emu_op *op, const emu_call *call, emu_mask mask) {
    if (call->builtin) return call->builtin(warp, op, call, mask);
    const emu_part *part = emu_program_of(warp->code)->part + call->part;
    emu_frame frame = {
        .pc = warp->current->pc + 1, .call = call, .saved = part->recursive ? save(warp, part, mask) : NULL};
    for (emu_mask rest = mask; rest; rest &= rest - 1)
        if (!push(warp, op, __builtin_ctz(rest), frame, part->local_bytes)) return EMU_ABORT;
    for (int i = 0; i < call->n_arguments; i++) pass(warp, call->from + i, call->to + i, mask);
    return emu_jump(warp, mask, part->first);
}

static emu_result run_call(emu_warp *warp, const emu_op *op, emu_mask mask) {
    return enter(warp, op, op->detail, mask);
}

/* The callee's address is its ptx_function's. */
static emu_result run_indirect(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const emu_call *call = op->detail;
    const emu_program *program = emu_program_of(warp->code);
    const uint64_t *callee = emu_u64(warp, op->operand[0]);
    while (mask) {
        int lane = __builtin_ctz(mask), part = 0;
        emu_mask same = 0;
        for (emu_mask rest = mask; rest; rest &= rest - 1)
            if (callee[__builtin_ctz(rest)] == callee[lane]) same |= 1u << __builtin_ctz(rest);
        while (part < program->n_parts && (uint64_t)(uintptr_t)program->part[part].function != callee[lane]) part++;
        if (part == program->n_parts || !call->candidate[part]) {
            emu_find(warp, op, lane, EMU_DESCRIPTOR, callee[lane], "call of 0x%llx, which is no function of this shape",
                     (unsigned long long)callee[lane]);
            return EMU_ABORT;
        }
        mask &= ~same;
        if (enter(warp, op, call->candidate[part], same) == EMU_ABORT) return EMU_ABORT;
        if (mask) warp->current->pc--; /* lanes that call others are still here */
    }
    return EMU_JUMP;
}

/* ---- ret --------------------------------------------------------------------------------------------------------- */
static const emu_frame *top_frame(const emu_calls *calls, int lane) {
    return calls->frame[lane] + calls->depth[lane] - 1;
}

/* Lanes that return to the same place from the same function. */
static emu_mask alike(const emu_calls *calls, emu_mask mask) {
    int first = __builtin_ctz(mask);
    emu_mask same = 0;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        bool out = !calls->depth[first];
        if (out ? !calls->depth[lane]
                : calls->depth[lane] && top_frame(calls, lane)->pc == top_frame(calls, first)->pc &&
                      top_frame(calls, lane)->call == top_frame(calls, first)->call)
            same |= 1u << lane;
    }
    return same;
}

static emu_result leave_function(emu_warp *warp, emu_mask mask) {
    emu_calls *calls = warp->calls;
    const emu_frame *frame = top_frame(calls, __builtin_ctz(mask));
    const emu_call *call = frame->call;
    const emu_part *part = emu_program_of(warp->code)->part + call->part;
    uint32_t pc = frame->pc;
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        emu_saved *saved = top_frame(calls, lane)->saved;
        uint8_t result[1024];
        const emu_passed *from = &call->result_from, *to = &call->result_to;
        bool bytes = call->result && from->lanes.at == EMU_NOWHERE && to->lanes.at == EMU_NOWHERE;
        uint64_t value = call->result && !bytes ? emu_passed_read(warp, from, lane) : 0;
        size_t size = from->bytes < to->bytes ? from->bytes : to->bytes;
        if (size > sizeof result) size = sizeof result;
        if (bytes) memcpy(result, emu_area(warp, from, lane), size);
        if (saved) restore_lane(warp, part, saved, lane);
        release(saved);
        if (bytes)
            memcpy(emu_area(warp, to, lane), result, size);
        else if (call->result)
            emu_passed_write(warp, to, lane, value);
        calls->depth[lane]--;
        calls->local_top[lane] -= part->local_bytes;
    }
    return emu_jump(warp, mask, pc);
}

emu_result emu_run_return(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op;
    if (!warp->calls) return emu_leave(warp, mask);
    while (mask) {
        emu_mask same = alike(warp->calls, mask);
        mask &= ~same;
        if (warp->calls->depth[__builtin_ctz(same)])
            (void)leave_function(warp, same);
        else
            (void)emu_leave(warp, same);
        if (mask) warp->current->pc--;
    }
    return EMU_JUMP;
}

/* ---- addresses that depend on the activation --------------------------------------------------------------------- */
emu_result emu_run_local_base(emu_warp *warp, const emu_op *op, emu_mask mask) {
    uint64_t at[EMU_LANES];
    for (int lane = 0; lane < EMU_LANES; lane++) at[lane] = warp->calls->local_top[lane] - (uint64_t)op->value;
    emu_lanes_write(warp, op->operand[0], mask, at);
    return EMU_NEXT;
}

emu_result emu_run_area_base(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const emu_passed passed = {.lanes = {.at = EMU_NOWHERE}, .part = op->target, .offset = (uint32_t)op->value};
    uint64_t at[EMU_LANES];
    for (int lane = 0; lane < EMU_LANES; lane++) at[lane] = (uint64_t)(uintptr_t)emu_area(warp, &passed, lane);
    emu_lanes_write(warp, op->operand[0], mask, at);
    return EMU_NEXT;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
static emu_passed in_area(emu_decoding *d, uint32_t part, const ptx_variable *variable) {
    return (emu_passed){.lanes = {.at = EMU_NOWHERE},
                        .part = part,
                        .offset = emu_decode_area(d, part, variable),
                        .bytes = (uint32_t)variable->bytes};
}

static emu_passed formal(emu_decoding *d, uint32_t index, const ptx_variable *variable) {
    const emu_part *part = emu_builder_of(d)->program->part + index;
    if (variable->space != PTX_REG) return in_area(d, index, variable);
    ptx_type type = part->function->reg[variable->reg].type;
    uint8_t bytes = ptx_type_bytes[type];
    return (emu_passed){.lanes = {.at = part->register_at[variable->reg], .bytes = bytes == 1 ? 2 : bytes},
                        .bytes = bytes};
}

static bool actual(emu_decoding *d, const ptx_operand *operand, ptx_type type, bool written, emu_passed *out) {
    emu_builder *builder = emu_builder_of(d);
    if (operand->kind == PTX_SYMBOL && operand->variable && operand->variable->space == PTX_PARAM) {
        *out = in_area(d, (uint32_t)(builder->part - builder->program->part), operand->variable);
        return true;
    }
    *out = (emu_passed){.bytes = ptx_type_bytes[type]};
    return written ? emu_decode_destination(d, operand, type, &out->lanes)
                   : emu_decode_source(d, operand, type, &out->lanes);
}

/* How the call passes things to a function that is a part, or declared only. */
static emu_call *shape(emu_decoding *d, const ptx_function *function, uint32_t part) {
    const ptx_operand *results = d->instruction->operand, *arguments = results + 2;
    emu_call *call = emu_decode_alloc(d, sizeof *call);
    call->part = part;
    call->n_arguments = function->n_parameters;
    call->from = emu_decode_alloc(d, (size_t)function->n_parameters * sizeof *call->from + 1);
    call->to = emu_decode_alloc(d, (size_t)function->n_parameters * sizeof *call->to + 1);
    if (arguments->n_parts != function->n_parameters || results->n_parts > 1 ||
        (results->n_parts && !function->result)) {
        emu_decode_fail(d, "%s has %d parameters and %d results", function->name, function->n_parameters,
                        function->result != NULL);
        return NULL;
    }
    for (int i = 0; i < function->n_parameters; i++) {
        const ptx_variable *parameter = function->parameter + i;
        if (!actual(d, arguments->parts + i, parameter->type, false, call->from + i)) return NULL;
        if (part != UINT32_MAX) call->to[i] = formal(d, part, parameter);
    }
    call->result = results->n_parts == 1;
    if (!call->result) return call;
    if (!actual(d, results->parts, function->result->type, true, &call->result_to)) return NULL;
    if (part != UINT32_MAX) call->result_from = formal(d, part, function->result);
    return call;
}

static bool decode_direct(emu_decoding *d, ptx_function *function) {
    emu_builtin *builtin = function->body ? NULL : emu_builtin_find(function->name);
    if (!function->body && !builtin)
        return emu_decode_fail(d, "%s is declared, and nothing defines it", function->name);
    emu_call *call = shape(d, function, builtin ? UINT32_MAX : emu_part_of_function(emu_builder_of(d), function));
    if (call) call->builtin = builtin;
    d->op->run = run_call;
    d->op->detail = call;
    return call != NULL;
}

/* As many parameters and results as the call has, of the sizes that the prototype says. */
static bool fits(const ptx_function *function, const ptx_operand *operand, const ptx_function *prototype) {
    if (function->entry || function->n_parameters != operand[2].n_parts || (operand[0].n_parts && !function->result))
        return false;
    for (int i = 0; prototype && i < function->n_parameters; i++)
        if (i < prototype->n_parameters && prototype->parameter[i].bytes != function->parameter[i].bytes) return false;
    return true;
}

static bool decode_indirect(emu_decoding *d) {
    const ptx_operand *operand = d->instruction->operand;
    const emu_program *program = emu_builder_of(d)->program;
    const ptx_function *prototype = d->instruction->n_operands > 3 ? operand[3].function : NULL;
    emu_call *call = emu_decode_alloc(d, sizeof *call);
    call->candidate = emu_decode_alloc(d, (size_t)program->n_parts * sizeof *call->candidate);
    for (int i = 0; i < program->n_parts; i++)
        if (fits(program->part[i].function, operand, prototype) &&
            !(call->candidate[i] = shape(d, program->part[i].function, (uint32_t)i)))
            return false;
    d->op->run = run_indirect;
    d->op->detail = call;
    return emu_decode_source(d, operand + 1, PTX_B64, d->op->operand);
}

static bool decode_call(emu_decoding *d) {
    const ptx_operand *operand = d->instruction->operand;
    ptx_take(&d->words, "uni");
    if (!ptx_words_end(&d->words) || d->instruction->n_operands < 3 || operand[0].kind != PTX_LIST ||
        operand[2].kind != PTX_LIST)
        return emu_decode_fail(d, "call{.uni} (result), function, (parameters)");
    return operand[1].function ? decode_direct(d, operand[1].function) : decode_indirect(d);
}

static bool decode_return(emu_decoding *d) {
    ptx_take(&d->words, "uni");
    d->op->run = emu_run_return;
    return ptx_words_end(&d->words) ? true : emu_decode_fail(d, "ret{.uni}");
}

extern const emu_mnemonic emu_mnemonics_call[];
const emu_mnemonic emu_mnemonics_call[] = {{"call", decode_call}, {"ret", decode_return}, {NULL, NULL}};

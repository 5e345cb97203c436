/* From a parsed function to a program. The tables of all parts are joined here. */
#include "machine/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/program.h"

/* The decoding that decoders see is the first member of what this file knows. */
typedef struct emu_work {
    emu_decoding decoding;
    emu_builder *builder;
    bool declined;
} emu_work;

static emu_work *work_of(emu_decoding *d) { return (emu_work *)(void *)d; }
emu_builder *emu_builder_of(emu_decoding *d) { return work_of(d)->builder; }

bool emu_decline(emu_decoding *d) {
    work_of(d)->declined = true;
    return false;
}

void *emu_decode_alloc(emu_decoding *d, size_t bytes) {
    emu_builder *builder = emu_builder_of(d);
    return emu_arena_take(builder->survey ? &builder->scratch : &builder->program->arena, bytes);
}

void emu_decode_failed(emu_decoding *d, const char *format, ...) {
    char where[200], text[200], why[160];
    if (*d->error->text) return; /* the first says it */
    ptx_location_text(d->function, d->instruction, where, sizeof where);
    ptx_instruction_text(d->function, d->instruction, text, sizeof text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    d->error->line = d->instruction->line;
    snprintf(d->error->text, sizeof d->error->text, "%.150s: %.100s: %.140s", where, text, why);
}

/* ---- mnemonics --------------------------------------------------------------------------------------------------- */
static uint32_t hash_of(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name) hash = (hash ^ (uint8_t)*name++) * 16777619u;
    return hash;
}

enum { MNEMONICS = 1024 };
static const emu_mnemonic *mnemonics[MNEMONICS]; /* by hash; those of the same name in order of the tables */

static void join_tables(void) {
    for (const emu_mnemonic *const *table = emu_mnemonic_tables; *table; table++)
        for (const emu_mnemonic *m = *table; m->name; m++) {
            uint32_t slot = hash_of(m->name) % MNEMONICS;
            while (mnemonics[slot]) slot = (slot + 1) % MNEMONICS;
            mnemonics[slot] = m;
        }
}

static bool decode_words(emu_work *work, const char *name) {
    emu_decoding *d = &work->decoding;
    for (uint32_t slot = hash_of(name) % MNEMONICS; mnemonics[slot]; slot = (slot + 1) % MNEMONICS) {
        if (strcmp(mnemonics[slot]->name, name) != 0) continue;
        work->declined = false;
        d->words = ptx_words_of(d->instruction);
        if (mnemonics[slot]->decode(d)) return d->op->run ? true : emu_decode_fail(d, "nothing runs it");
        if (!work->declined) return *d->error->text ? false : emu_decode_fail(d, "not decoded");
    }
    return emu_decode_fail(d, "this form of %s is not known", name);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */
/* What was touched since the operation before belongs to this one. */
static emu_op *append(emu_builder *builder) {
    if (builder->n_ops + 2 >= builder->capacity) {
        builder->capacity = builder->capacity ? 2 * builder->capacity : 1024;
        builder->op = emu_grow(builder->op, builder->capacity, sizeof *builder->op);
        builder->touch_first = emu_grow(builder->touch_first, builder->capacity + 1, sizeof *builder->touch_first);
    }
    builder->touch_first[0] = 0;
    builder->touch_first[builder->n_ops + 1] = builder->n_touches;
    return builder->op + builder->n_ops++;
}

emu_op *emu_decode_before(emu_decoding *d, emu_run *run) {
    emu_op *op = append(emu_builder_of(d));
    *op = (emu_op){.run = run, .guard = EMU_NOWHERE, .source = d->instruction};
    for (int k = 0; k < EMU_OPERANDS; k++) op->operand[k].at = EMU_NOWHERE;
    return op;
}

uint32_t emu_decode_label(emu_decoding *d, const ptx_operand *operand) {
    emu_builder *builder = emu_builder_of(d);
    return builder->survey ? operand->target : builder->part->op_of[operand->target];
}

static bool decode_instruction(emu_builder *builder, const ptx_instruction *instruction) {
    emu_op op = {.guard = EMU_NOWHERE, .source = instruction};
    for (int k = 0; k < EMU_OPERANDS; k++) op.operand[k].at = EMU_NOWHERE;
    emu_work work = {.decoding = {.function = builder->part->function,
                                  .instruction = instruction,
                                  .op = &op,
                                  .code = &builder->program->code,
                                  .error = builder->error},
                     .builder = builder};
    if (instruction->guard >= 0) {
        op.guard = builder->part->register_at[instruction->guard];
        op.guard_negated = instruction->guard_negated;
        emu_builder_touch(builder, (emu_operand){.at = op.guard}, instruction->guard, false);
    }
    if (!decode_words(&work, instruction->word[0])) return false;
    *append(builder) = op;
    return true;
}

/* A part's number stays, its address does not. */
uint32_t emu_part_of_function(emu_builder *builder, ptx_function *function) {
    emu_program *program = builder->program;
    bool fresh;
    uint32_t *index = emu_map_at(&builder->part_of, (uint64_t)(uintptr_t)function, 0, &fresh);
    if (!fresh) return *index;
    *index = (uint32_t)program->n_parts;
    program->part = emu_grow(program->part, (size_t)program->n_parts + 1, sizeof *program->part);
    program->part[program->n_parts++] = (emu_part){.function = function};
    return *index;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */
static bool decode_part(emu_builder *builder, int index) {
    emu_part *part = builder->part = builder->program->part + index;
    ptx_function *function = part->function;
    if (builder->survey) {
        part->op_of =
            emu_arena_take(&builder->program->arena, ((size_t)function->n_instructions + 1) * sizeof *part->op_of);
        part->register_at =
            emu_arena_take(&builder->program->arena, ((size_t)function->n_registers + 1) * sizeof(uint32_t));
        for (int r = 0; r < function->n_registers; r++)
            part->register_at[r] = EMU_AT_SINK; /* until they are allocated */
    }
    part->first = builder->n_ops;
    for (int i = 0; i < function->n_instructions; i++) {
        uint32_t first = builder->n_ops;
        if (!decode_instruction(builder, function->instruction + i)) return false;
        part->op_of[i] = first;
    }
    emu_op *end = append(builder);
    *end = (emu_op){.run = emu_run_return, .guard = EMU_NOWHERE};
    part->n_ops = builder->n_ops - 1 - part->first;
    part->op_of[function->n_instructions] = builder->n_ops - 1;
    if (builder->survey) emu_allocate_registers(builder, part);
    return true;
}

static bool decode_parts(emu_builder *builder, bool survey) {
    builder->survey = survey;
    builder->n_ops = builder->n_touches = 0;
    for (int i = 0; i < builder->program->n_parts; i++)
        if (!decode_part(builder, i)) return false;
    return true;
}

static uint32_t round_up(uint32_t value, uint32_t to) { return (value + to - 1) / to * to; }

/* After the first pass all sizes are known. */
static void lay_out(emu_builder *builder) {
    emu_program *program = builder->program;
    uint32_t align = builder->shared_align > 16 ? builder->shared_align : 16;
    program->code.shared_bytes = round_up(builder->shared_bytes, builder->shared_align ? align : 1);
    for (int i = 0; i < program->n_parts; i++) {
        emu_part *part = program->part + i;
        part->area = builder->register_bytes;
        part->area_bytes = round_up(part->area_bytes, 16);
        part->frame = round_up(part->area + part->area_bytes * EMU_LANES, 64);
        for (int r = 0; r < part->function->n_registers; r++)
            if (part->register_at[r] != EMU_NOWHERE) part->register_at[r] += part->frame;
        builder->register_bytes = round_up(part->frame + part->frame_bytes, 64);
    }
    for (int i = 0; i < program->n_parts; i++) {
        program->part[i].local_bytes = round_up(program->part[i].local_bytes, 16);
        program->recursive |= program->part[i].recursive;
    }
    program->code.local_bytes = round_up(builder->local_bytes, 16) + (program->recursive ? emu_call_stack_bytes() : 0);
}

/* What is kept of the builder: exact copies in the program's arena. */
static void finish(emu_builder *builder) {
    emu_program *program = builder->program;
    emu_code *code = &program->code;
    code->op = emu_arena_take(&program->arena, builder->n_ops * sizeof *code->op);
    memcpy(code->op, builder->op, builder->n_ops * sizeof *code->op);
    code->n_ops = program->part[0].n_ops;
    code->constants = emu_arena_take(&program->arena, builder->n_constants + 64);
    if (builder->n_constants) memcpy(code->constants, builder->constants, builder->n_constants);
    code->register_bytes = builder->register_bytes;
    code->register_at = program->part[0].register_at;
    code->arena = &program->arena;
    program->touch = emu_arena_take(&program->arena, (builder->n_touches + 1) * sizeof *program->touch);
    if (builder->n_touches) memcpy(program->touch, builder->touch, builder->n_touches * sizeof *program->touch);
    program->touch_first = emu_arena_take(&program->arena, (builder->n_ops + 1) * sizeof *program->touch_first);
    memcpy(program->touch_first, builder->touch_first, (builder->n_ops + 1) * sizeof *program->touch_first);
    emu_mark_loops(program, builder->n_ops);
    emu_break_mark(program, builder->n_ops);
}

static void builder_free(emu_builder *builder) {
    emu_map_free(&builder->constant_at);
    emu_map_free(&builder->fill_at);
    emu_map_free(&builder->variable_at);
    emu_map_free(&builder->part_of);
    emu_arena_free(&builder->scratch);
    free(builder->op);
    free(builder->constants);
    free(builder->touch);
    free(builder->use);
    free(builder->touch_first);
}

void emu_code_free(const emu_code *code) {
    if (!code) return;
    emu_program *program = (emu_program *)(uintptr_t)code;
    if (program->part) program->part[0].function->user = NULL;
    emu_map_free(&program->broken);
    emu_arena_free(&program->arena);
    free(program->part);
    free(program->fill);
    free(program);
}

const emu_code *emu_code_of(ptx_function *function, ptx_error *error) {
    if (function->user) return function->user;
    static bool joined;
    if (!joined) join_tables();
    joined = true;
    *error = (ptx_error){0};
    emu_program *program = emu_alloc(sizeof *program);
    emu_builder builder = {.program = program, .error = error, .register_bytes = EMU_FIRST_PLACE};
    program->code.function = function;
    bool done = emu_find_parts(&builder, function) && decode_parts(&builder, true);
    if (done) {
        lay_out(&builder);
        done = decode_parts(&builder, false);
    }
    if (done) finish(&builder);
    builder_free(&builder);
    if (!done) {
        emu_code_free(&program->code);
        return NULL;
    }
    function->user = program;
    return &program->code;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */
const emu_part *emu_part_of(const emu_program *program, uint32_t op) {
    int k = 0;
    while (k + 1 < program->n_parts && program->part[k + 1].first <= op) k++;
    return program->part + k;
}

const ptx_function *emu_op_function(const emu_code *code, const emu_op *op) {
    return emu_part_of(emu_program_of(code), (uint32_t)(op - code->op))->function;
}

const emu_touch *emu_op_touches(const emu_code *code, const emu_op *op, int *n) {
    const emu_program *program = emu_program_of(code);
    const uint32_t *first = program->touch_first + (op - code->op);
    *n = (int)(first[1] - first[0]);
    return program->touch + first[0];
}

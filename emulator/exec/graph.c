/* Which device functions an entry may call, and which of them may be within their own call. Found before anything is
 * decoded. */
#include <stdlib.h>
#include <string.h>

#include "exec/call.h"

static bool is_call(const ptx_instruction *instruction) {
    return !strcmp(instruction->word[0], "call") && instruction->n_operands >= 3;
}

static bool add_part(emu_builder *builder, ptx_function *function) {
    if (!function->body || function->prototype) return true;
    emu_part_of_function(builder, function);
    return ptx_function_parse(function, builder->error);
}

/* A pointer may point to any function that has a body: who takes addresses is not looked into. */
static bool add_all(emu_builder *builder, const ptx_module *module) {
    for (int i = 0; i < module->n_functions; i++)
        if (!module->function[i]->entry && !add_part(builder, module->function[i])) return false;
    return true;
}

static bool add_callees(emu_builder *builder, ptx_function *function) {
    for (int i = 0; i < function->n_instructions; i++) {
        const ptx_instruction *instruction = function->instruction + i;
        if (!is_call(instruction)) continue;
        builder->program->calls = true;
        const ptx_operand *callee = instruction->operand + 1;
        bool direct = callee->kind == PTX_SYMBOL && callee->function;
        builder->program->indirect |= !direct;
        if (!(direct ? add_part(builder, callee->function) : add_all(builder, function->module))) return false;
    }
    return true;
}

/* reaches[i * n + j]: i may call j, at last through others. */
static void mark_recursive(emu_program *program, const emu_builder *builder) {
    size_t n = (size_t)program->n_parts;
    uint8_t *reaches = emu_alloc(n * n);
    for (size_t i = 0; i < n; i++) {
        const ptx_function *function = program->part[i].function;
        for (int k = 0; k < function->n_instructions; k++) {
            const ptx_instruction *instruction = &function->instruction[k];
            if (!is_call(instruction)) continue;
            const ptx_operand *callee = instruction->operand + 1;
            const uint32_t *to =
                callee->function ? emu_map_find(&builder->part_of, (uint64_t)(uintptr_t)callee->function, 0) : NULL;
            if (to) reaches[i * n + *to] = 1;
            if (!callee->function) memset(reaches + i * n + 1, 1, n - 1);
        }
    }
    for (size_t via = 0; via < n; via++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; reaches[i * n + via] && j < n; j++) reaches[i * n + j] |= reaches[via * n + j];
    for (size_t i = 0; i < n; i++) program->part[i].recursive = reaches[i * n + i];
    free(reaches);
}

bool emu_find_parts(emu_builder *builder, ptx_function *entry) {
    emu_program *program = builder->program;
    emu_part_of_function(builder, entry);
    for (int i = 0; i < program->n_parts; i++) {
        ptx_function *function = program->part[i].function;
        if (!ptx_function_parse(function, builder->error) || !add_callees(builder, function)) return false;
    }
    if (program->calls) mark_recursive(program, builder);
    return true;
}

/* Which loops only poll: rounds of those make a fragment let others run, and tell the scheduler that a warp waits. */
#include <string.h>

#include "exec/program.h"

static bool is_one_of(const char *word, const char *const *list) {
    for (; *list; list++)
        if (!strcmp(word, *list)) return true;
    return false;
}

static bool has_word(const ptx_instruction *instruction, const char *const *list) {
    for (int i = 1; i < instruction->n_words; i++)
        if (is_one_of(instruction->word[i], list)) return true;
    return false;
}

/* Reads what others may change meanwhile. */
static bool polls(const ptx_instruction *instruction) {
    static const char *const always[] = {"atom", "nanosleep", NULL}, *const tests[] = {"test_wait", "try_wait", NULL},
                             *const strong[] = {"volatile", "relaxed", "acquire", "mmio", NULL};
    const char *name = instruction->word[0];
    return is_one_of(name, always) || (!strcmp(name, "mbarrier") && has_word(instruction, tests)) ||
           (!strcmp(name, "ld") && has_word(instruction, strong));
}

/* Does something beyond its registers. */
static bool acts(const ptx_instruction *instruction) {
    static const char *const names[] = {"st",       "red",      "cp",       "bar", "barrier", "mma",
                                        "wgmma",    "stmatrix", "call",     "brx", "tcgen05", "exit",
                                        "ldmatrix", "prefetch", "multimem", NULL};
    const char *name = instruction->word[0];
    return is_one_of(name, names) || (!strcmp(name, "mbarrier") && !polls(instruction));
}

enum { LONGEST = 64 };

static bool only_polls(const emu_code *code, uint32_t first, uint32_t last) {
    bool found = false;
    if (last - first > LONGEST) return false;
    for (uint32_t pc = first; pc <= last; pc++) {
        const ptx_instruction *instruction = code->op[pc].source;
        if (!instruction || acts(instruction)) return false;
        found |= polls(instruction);
    }
    return found;
}

void emu_mark_loops(emu_program *program, uint32_t n_ops) {
    for (uint32_t pc = 0; pc < n_ops; pc++) {
        emu_op *op = program->code.op + pc;
        if (op->run == emu_run_branch && op->target <= pc)
            op->kind = only_polls(&program->code, op->target, pc) ? EMU_POLLS : EMU_ACTS;
    }
}

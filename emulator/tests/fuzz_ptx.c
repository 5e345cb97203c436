/* Any text as PTX, any bytes as a fat binary: what is refused says why in one line; what is accepted prints, and lies
 * within its own bounds.
 *
 * With libFuzzer, or by itself: replays the files given, else mutates right texts from a fixed random stream. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"
#include "ptx_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void look_at_error(const ptx_error *error) {
    require(memchr(error->text, 0, sizeof error->text) && error->text[0] && !strchr(error->text, '\n'));
}

static void look_at_operand(const ptx_function *f, const ptx_operand *o) {
    if (o->kind == PTX_REGISTER) require(o->reg >= 0 && o->reg < f->n_registers);
    if (o->kind == PTX_LABEL) require(o->target <= (uint32_t)f->n_instructions);
    if (o->kind == PTX_SPECIAL || o->kind == PTX_SYMBOL || o->kind == PTX_LABEL) require(o->text && *o->text);
    for (int k = 0; k < o->n_parts; k++) look_at_operand(f, &o->parts[k]);
}

static void look_at_function(ptx_function *f) {
    ptx_error error = {0};
    char text[512];
    if (!ptx_function_parse(f, &error)) {
        look_at_error(&error);
        return;
    }
    for (int i = 0; i < f->n_instructions; i++) {
        const ptx_instruction *instruction = &f->instruction[i];
        require(instruction->n_words >= 1 && instruction->n_words <= PTX_MAX_WORDS &&
                instruction->n_operands <= PTX_MAX_OPERANDS);
        require(instruction->guard < f->n_registers && instruction->loc < (uint32_t)f->n_locations);
        for (int k = 0; k < instruction->n_operands; k++) look_at_operand(f, &instruction->operand[k]);
        ptx_instruction_text(f, instruction, text, sizeof text);
        ptx_location_text(f, instruction, text, sizeof text);
    }
    for (int i = 0; i < f->n_registers; i++) require(f->reg[i].name[0] && f->reg[i].type < PTX_N_TYPES);
}

static void look_at_module(const char *text, size_t bytes) {
    ptx_error error = {0};
    ptx_module *module = ptx_module_open(text, bytes, &error);
    if (!module) {
        look_at_error(&error);
        return;
    }
    for (int i = 0; i < module->n_functions; i++) {
        look_at_function(module->function[i]);
        require(ptx_function_find(module, module->function[i]->name) != NULL);
    }
    uint64_t sum = 0;
    for (int i = 0; i < module->n_variables; i++) {
        const ptx_variable *v = module->variable[i];
        require(ptx_variable_find(module, v->name) == v);
        for (uint64_t k = 0; v->initial && k < v->bytes; k += 1 + v->bytes / 100) sum += v->initial[k];
        for (int k = 0; k < v->n_relocations; k++) require(v->relocation[k].at + v->relocation[k].bytes <= v->bytes);
    }
    require(sum < UINT64_MAX);
    ptx_module_close(module);
}

static void found(void *context, const char *text, size_t bytes, int sm) {
    (void)context, (void)sm;
    look_at_module(text, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ptx_error error = {0};
    if (size > 1 << 20) return 0;
    if (size && data[0] == 0x50) {
        if (!ptx_fatbin_each(data, size, found, NULL, &error)) look_at_error(&error);
    } else {
        look_at_module((const char *)data, size);
    }
    return 0;
}

#ifndef EMULATOR_FUZZ
enum { ROUNDS = 8000, LIMIT = 1 << 15 };

static uint64_t state = 1;
static size_t draw(size_t n) { /* xorshift64* */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return n ? (size_t)((state * UINT64_C(2685821657736338717)) >> 33) % n : 0;
}

static void run_exact(const uint8_t *bytes, size_t size) {
    uint8_t *exact = malloc(size ? size : 1); /* a sanitizer sees a read beyond it */
    if (!exact) return;
    memcpy(exact, bytes, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static size_t mutate(uint8_t *bytes, size_t size) {
    static const char telling[] = "0123456789abcx.,;:{}[]()<>-+|!@%$_\"/* \n";
    size_t at = draw(size), n = 1 + draw(24), to = draw(size);
    switch (draw(6)) {
        case 0: bytes[at] = (uint8_t)telling[draw(sizeof telling)]; return size;
        case 1: bytes[at] ^= (uint8_t)(1u << draw(8)); return size;
        case 2: return draw(20) ? size : at;
        case 3:
            if (at + n > size) return size;
            memmove(bytes + at, bytes + at + n, size - at - n);
            return size - n;
        case 4:
            if (at + n > size || to + n > size) return size;
            memmove(bytes + to, bytes + at, n);
            return size;
        default:
            if (at + n > size || size + n > LIMIT) return size;
            memmove(bytes + at + n, bytes + at, size - at);
            return size + n;
    }
}

static int replay(const char *path) {
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) return 1;
    run_exact(bytes, fread(bytes, 1, sizeof bytes, file));
    return fclose(file) != 0;
}

int main(int argc, char **argv) {
    static uint8_t bytes[LIMIT];
    static const char *const seeds[] = {ptx_text_module, ptx_text_body};
    for (int i = 1; i < argc; i++)
        if (replay(argv[i])) return 1;
    if (argc > 1) return 0;
    for (int round = 0; round < ROUNDS; round++) {
        const char *seed = seeds[round & 1];
        size_t size = strlen(seed), times = 1 + draw(1 + (size_t)round / 2000);
        memcpy(bytes, seed, size);
        for (size_t i = 0; i < times && size; i++) size = mutate(bytes, size);
        run_exact(bytes, size);
    }
    return 0;
}
#endif

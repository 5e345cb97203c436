/* The parser: what it makes of every construct, and what it says of wrong ones. Files given are parsed whole, and each
 * of their functions is printed and parsed again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx/lz4.h"
#include "ptx/ptx.h"
#include "ptx_texts.h"

static ptx_module *open_text(const char *text) {
    ptx_error error = {0};
    ptx_module *module = ptx_module_open(text, strlen(text), &error);
    if (!module) fail_msg("%s", error.text);
    return module;
}

static ptx_function *parsed(ptx_module *module, const char *name) {
    ptx_error error = {0};
    ptx_function *f = ptx_function_find(module, name);
    assert_non_null(f);
    if (!ptx_function_parse(f, &error)) fail_msg("%s: %s", name, error.text);
    return f;
}

/* ---- what a module holds --------------------------------------------------------------------- */

static uint32_t word_at(const ptx_variable *v, uint64_t at) {
    uint32_t word;
    assert_true(v->initial && at + sizeof word <= v->bytes);
    memcpy(&word, v->initial + at, sizeof word);
    return word;
}

static void test_variables(void **state) {
    (void)state;
    ptx_module *module = open_text(ptx_text_module);
    assert_int_equal(module->version, 90);
    assert_string_equal(module->target, "sm_90a");
    const ptx_variable *v = ptx_variable_find(module, "dynamic");
    assert_true(v->external && v->space == PTX_SHARED && v->bytes == 0 && v->align == 1024);
    v = ptx_variable_find(module, "counter");
    assert_true(v->visible && v->bytes == 4 && word_at(v, 0) == 7 && v->parameter == -1);
    v = ptx_variable_find(module, "table"); /* a short row leaves zeros, the next begins at its place */
    const uint32_t table[] = {1, 2, 3, UINT32_MAX, 16, 0};
    assert_int_equal(v->bytes, sizeof table);
    for (uint64_t k = 0; k < 6; k++) assert_int_equal(word_at(v, 4 * k), table[k]);
    v = ptx_variable_find(module, "numbers");
    const uint32_t numbers[] = {0x3fc00000, 0x3f800000, 0xbf800000, 0x3f800000, 0x3e4ccccd};
    for (uint64_t k = 0; k < 5; k++) assert_int_equal(word_at(v, 4 * k), numbers[k]);
    v = ptx_variable_find(module, "managed");
    assert_true(v->managed && v->weak && v->align == 16 && v->bytes == 32);
    assert_true(word_at(v, 12) == 0x40800000 && word_at(v, 16) == 0x40a00000 && word_at(v, 28) == 0);
    v = ptx_variable_find(module, "shared_by_all");
    assert_true(v->common && v->bytes == 80 && !v->initial);
    v = ptx_variable_find(module, "open_array");
    assert_int_equal(v->bytes, 12);
    assert_int_equal(word_at(v, 4), 3);
    assert_null(ptx_variable_find(module, "callee"));
    ptx_module_close(module);
}

static void test_addresses_in_values(void **state) {
    (void)state;
    ptx_module *module = open_text(ptx_text_module);
    const ptx_variable *v = ptx_variable_find(module, "pointers");
    assert_int_equal(v->bytes, 32);
    assert_int_equal(v->n_relocations, 3);
    assert_string_equal(v->relocation[0].symbol, "table");
    assert_true(v->relocation[0].generic && v->relocation[0].addend == 8 && v->relocation[0].bytes == 8);
    assert_string_equal(v->relocation[1].symbol, "callee");
    assert_true(v->relocation[1].at == 8 && !v->relocation[1].generic);
    v = ptx_variable_find(module, "bytes_of_address");
    assert_int_equal(v->n_relocations, 2);
    assert_true(v->relocation[1].at == 1 && v->relocation[1].bytes == 1 && v->relocation[1].shift == 8);
    ptx_module_close(module);
}

static void test_functions(void **state) {
    (void)state;
    ptx_module *module = open_text(ptx_text_module);
    assert_int_equal(module->n_functions, 5);
    const ptx_function *f = ptx_function_find(module, "kernel");
    assert_true(f->entry && f->visible && !f->parsed && f->n_parameters == 4 && !f->result);
    const int32_t offsets[] = {0, 8, 64, 192}; /* each at its alignment */
    for (int k = 0; k < 4; k++) assert_int_equal(f->parameter[k].parameter, offsets[k]);
    assert_int_equal(f->parameter_bytes, 208);
    assert_true(f->max_threads[0] == 128 && f->max_threads[1] == 2 && f->max_threads[2] == 1 && f->min_blocks == 2);
    assert_true(f->max_registers == 64 && f->explicit_cluster && f->cluster[0] == 2 && f->cluster[2] == 1);
    f = ptx_function_find(module, "other");
    assert_true(f->weak && f->required_threads[0] == 64 && f->max_blocks_per_cluster == 8 && f->n_parameters == 0);
    f = ptx_function_find(module, "callee");
    assert_true(f->body && f->result && f->result->bytes == 4 && f->parameter[1].bytes == 24);
    assert_ptr_equal(f, ptx_function_find(module, "also_callee"));
    f = ptx_function_find(module, "vprintf");
    assert_true(f->external && !f->body && f->n_parameters == 2);
    f = parsed(module, "in_registers");
    assert_true(f->noreturn && f->parameter[0].space == PTX_REG);
    assert_int_equal(f->parameter[0].reg, f->instruction[0].operand[1].reg);
    ptx_error error;
    assert_false(ptx_function_parse(ptx_function_find(module, "vprintf"), &error));
    assert_non_null(strstr(error.text, "declared but not defined"));
    ptx_module_close(module);
}

/* ---- what a body holds ----------------------------------------------------------------------- */

static char *text_of(const ptx_function *f, int i) {
    static char text[4096];
    ptx_instruction_text(f, &f->instruction[i], text, sizeof text);
    return text;
}

/* The first instruction that prints so. */
static const ptx_instruction *instruction_of(const ptx_function *f, const char *text) {
    for (int i = 0; i < f->n_instructions; i++)
        if (strcmp(text_of(f, i), text) == 0) return &f->instruction[i];
    fail_msg("no instruction '%s'", text);
    return NULL;
}

static void test_operands(void **state) {
    (void)state;
    ptx_module *module = open_text(ptx_text_body);
    const ptx_function *f = parsed(module, "body");
    const ptx_operand *o = instruction_of(f, "mov.u64 %rd2, array+4;")->operand;
    assert_true(o[1].kind == PTX_SYMBOL && o[1].variable == ptx_variable_find(module, "array") && o[1].offset == 4);
    o = instruction_of(f, "mov.u32 %r3, %tid.x;")->operand;
    assert_true(o[1].kind == PTX_SPECIAL && strcmp(o[1].text, "tid.x") == 0);
    o = instruction_of(f, "ld.global.u32 %r5, [array+12];")->operand;
    assert_true(o[1].kind == PTX_ADDRESS && o[1].offset == 12 && o[1].parts[0].kind == PTX_SYMBOL);
    o = instruction_of(f, "ld.global.u32 %r5, [%rd4+-8];")->operand;
    assert_true(o[1].offset == -8 && o[1].parts[0].kind == PTX_REGISTER);
    o = instruction_of(f, "ld.param.u64 %rd4, [body_param_0];")->operand;
    assert_ptr_equal(o[1].parts[0].variable, &f->parameter[0]);
    o = instruction_of(f, "ld.global.v4.f32 {%f1, %f2, %f3, _}, [%rd4+16];")->operand;
    assert_true(o[0].kind == PTX_VECTOR && o[0].n_parts == 4 && o[0].parts[3].kind == PTX_SINK);
    o = instruction_of(f, "setp.lt.and.f32 %p1|%p2, %f1, 0f00000000, !%p3;")->operand;
    assert_true(o[0].kind == PTX_PAIR && o[2].kind == PTX_FLOATING && o[2].single && o[3].negated);
    o = instruction_of(f, "mov.f32 %f1, 0d4008000000000000;")->operand;
    assert_true(o[1].kind == PTX_FLOATING && !o[1].single && o[1].bits == UINT64_C(0x4008000000000000));
    const ptx_instruction *tensor = NULL;
    for (int i = 0; i < f->n_instructions; i++)
        if (strcmp(f->instruction[i].word[0], "cp") == 0) tensor = &f->instruction[i];
    assert_non_null(tensor);
    assert_int_equal(tensor->n_words, 9);
    assert_string_equal(tensor->word[8], "mbarrier::complete_tx::bytes");
    assert_true(tensor->operand[1].kind == PTX_TENSOR && tensor->operand[1].parts[1].n_parts == 2);
    const ptx_instruction *minus = instruction_of(f, "neg.s32 %r1, -%r2;");
    assert_true(minus->operand[1].minus);
    ptx_module_close(module);
}

static void test_constants(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"-1", -1},
                 {"0x1F", 31},
                 {"017", 15},
                 {"0b101", 5},
                 {"42U", 42},
                 {"WARP_SZ", 32},
                 {"WARP_SZ-1", 31},
                 {"0xFFFFFFFFFFFFFFFF", -1},
                 {"(1 + 2) * 3 << 1", 18},
                 {"1 + 2 * 3", 7},
                 {"7 - 2 - 1", 4},
                 {"-7 / 2", -3},
                 {"-7 % 4", -3},
                 {"0xFFFFFFFFFFFFFFFFU >> 60", 15},
                 {"-16 >> 2", -4},
                 {"1 << 64", 0},
                 {"5 & 3 | 8 ^ 1", 9},
                 {"!3", 0},
                 {"!0", 1},
                 {"~0", -1},
                 {"3 > 2 ? 10 : 20", 10},
                 {"0 ? 1 : 0 ? 2 : 3", 3},
                 {"-1 < 1", 1},
                 {"-1 < 1U", 0},
                 {"1 == 1 && 2 != 2", 0},
                 {"0 || 5", 1},
                 {"(.u64) -1 / 2", INT64_MAX},
                 {"(.s64) 3", 3},
                 {"- - 3", 3}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[400];
        snprintf(text, sizeof text, PTX_HEADER ".entry k() { .reg .b64 %%r; mov.b64 %%r, %s; }", cases[k].text);
        ptx_module *module = open_text(text);
        const ptx_operand *o = &parsed(module, "k")->instruction[0].operand[1];
        assert_int_equal(o->kind, PTX_INTEGER);
        if ((int64_t)o->bits != cases[k].value) fail_msg("%s is %lld", cases[k].text, (long long)o->bits);
        ptx_module_close(module);
    }
}

static void test_scopes(void **state) {
    (void)state;
    ptx_module *module = open_text(PTX_HEADER
                                   ".entry k()\n{\n.reg .b32 %r<20>, a; .reg .pred p;\nX: mov.b32 %r1, a;\n"
                                   "{ .reg .b32 %r<3>, a; mov.b32 %r1, a; mov.b32 %r12, a; @p bra X; X:\n"
                                   "{ .reg .f32 %r1; mov.b32 %r1, %r2; bra X; bra Y; } }\n"
                                   "mov.b32 %r1, a; bra X; Y:\n}\n");
    const ptx_function *f = parsed(module, "k");
    const ptx_instruction *i = f->instruction;
    int32_t outer = i[0].operand[0].reg, inner = i[1].operand[0].reg, innermost = i[4].operand[0].reg;
    assert_true(outer == 1 && inner != outer && innermost != inner);
    assert_int_equal(f->reg[innermost].type, PTX_F32);
    assert_int_equal(i[2].operand[0].reg, 12); /* the inner range is too short for it */
    assert_int_not_equal(i[1].operand[1].reg, i[0].operand[1].reg);
    assert_int_equal(i[4].operand[1].reg, inner + 1);
    assert_int_equal(i[7].operand[0].reg, outer);
    assert_int_equal(i[3].operand[0].target, 4); /* its own scope's X, which comes later */
    assert_int_equal(i[5].operand[0].target, 4);
    assert_int_equal(i[6].operand[0].target, 9); /* Y, of the function: the end */
    assert_int_equal(i[8].operand[0].target, 0);
    assert_int_equal(f->n_instructions, 9);
    ptx_module_close(module);
}

static void test_calls_and_tables(void **state) {
    (void)state;
    ptx_module *module = open_text(ptx_text_body);
    const ptx_function *f = parsed(module, "body");
    const ptx_operand *o = instruction_of(f, "call.uni (retval0), twice, (param0);")->operand;
    assert_ptr_equal(o[1].function, ptx_function_find(module, "twice"));
    const ptx_variable *argument = o[2].parts[0].variable, *result = o[0].parts[0].variable;
    assert_true(argument->space == PTX_PARAM && argument->bytes == 4 && argument->parameter == -1);
    const ptx_instruction *indirect = instruction_of(f, "call (retval0), %rd4, (param0), prototype_0;");
    assert_true(indirect->operand[1].kind == PTX_REGISTER);
    assert_true(indirect->operand[3].function->prototype && indirect->operand[3].function->result->bytes == 16);
    assert_ptr_not_equal(indirect->operand[0].parts[0].variable, result); /* of another scope */
    assert_int_equal(instruction_of(f, "call (), nothing, ();")->n_operands, 3);
    const ptx_instruction *table = instruction_of(f, "@%p2 brx.idx.uni %r1, {$L__loop, $L__end, $L__loop};");
    const ptx_operand *labels = table->operand[1].parts;
    assert_true(labels[0].target == labels[2].target && labels[1].target == (uint32_t)f->n_instructions - 1);
    assert_string_equal(text_of(f, (int)labels[0].target), "add.s32 %r1, %r1, %r2;");
    ptx_module_close(module);
}

static void test_locations(void **state) {
    (void)state;
    ptx_module *module = open_text(ptx_text_body);
    const ptx_function *f = parsed(module, "body");
    char text[200];
    ptx_location_text(f, instruction_of(f, "mov.u32 %r1, room;"), text, sizeof text);
    assert_string_equal(text, "/a/b/kernel.cu:10:0");
    const ptx_instruction *inlined = instruction_of(f, "mov.u32 %r4, -1;");
    ptx_location_text(f, inlined, text, sizeof text);
    assert_string_equal(text, "/a/header.cuh:30:5 (inlined at header.cuh:20:3, kernel.cu:10:0)");
    assert_string_equal(f->location[inlined->loc].function, "bar");
    assert_string_equal(f->location[f->location[inlined->loc].inlined_at].function, "foo");
    ptx_location_text(f, inlined, text, 20); /* cut off, and ended */
    assert_string_equal(text, "/a/header.cuh:30:5 ");
    ptx_module_close(module);
    module = open_text(PTX_HEADER ".entry k()\n{\n\n exit;\n}");
    f = parsed(module, "k");
    ptx_location_text(f, &f->instruction[0], text, sizeof text);
    assert_string_equal(text, "line 7 of the PTX");
    ptx_module_close(module);
}

static void test_words(void **state) {
    (void)state;
    ptx_module *module = open_text(PTX_HEADER ".entry k()\n{ .reg .b32 a; cvt.rn.relu.bf16x2.f32 a, a, a; }");
    ptx_words words = ptx_words_of(&parsed(module, "k")->instruction[0]);
    static const char *const roundings[] = {"rz", "rn", NULL}, *const others[] = {"sat", "ftz", NULL};
    assert_false(ptx_take(&words, "relu"));
    assert_int_equal(ptx_take_of(&words, roundings, -1), 1);
    assert_int_equal(ptx_take_of(&words, others, -1), -1);
    assert_int_equal(ptx_take_type(&words), PTX_NONE);
    assert_true(ptx_take(&words, "relu"));
    assert_int_equal(ptx_take_type(&words), PTX_BF16X2);
    assert_false(ptx_words_end(&words));
    assert_int_equal(ptx_take_type(&words), PTX_F32);
    assert_true(ptx_words_end(&words) && !ptx_take(&words, "f32") && ptx_take_type(&words) == PTX_NONE);
    ptx_module_close(module);
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int line; /* of the PTX, after the three of the header */
        const char *says;
    } cases[] = {
        {".entry k() {\n add.s32 %r1, %r1, 1; }", 2, "add.s32: '%r1' is no register that is declared"},
        {".entry k() { .reg .b32 %r<4>;\n mov.b32 %r4, 0; }", 2, "'%r4' is no register"},
        {".entry k() {\n\n bra NOWHERE; }", 3, "'NOWHERE' is declared nowhere"},
        {".entry k() { { L: } bra L; }", 1, "'L' is declared nowhere"},
        {".entry k() { .reg .b32 a;\n mov.b32 a, 1 }", 2, "mov.b32: expected ';', found the end of the function"},
        {".entry k() { .reg .b32 a; .reg .f32 a; }", 1, "'a' is declared twice"},
        {".entry k() { L: L: }", 1, "'L' is declared twice"},
        {".entry k() { .reg .b32 a; mov.b32 a, 1 / 0; }", 1, "division by zero"},
        {".entry k() { .reg .b32 a; mov.b32 a, 99999999999999999999; }", 1, "does not fit 64 bits"},
        {".entry k() { .reg .f32 a; mov.f32 a, 0f3F80; }", 1, "8 hexadecimal digits"},
        {".entry k() { .reg .q32 a; }", 1, "'.q32' is no type"},
        {".entry k() { .reg .b32 %r<99999999>; }", 1, "more than 1048576 registers"},
        {".entry k() { @7 exit; }", 1, "expected an operand, found '7'"},
        {".entry k() { .global .b32 x; }", 1, "'.global' is no directive within a function"},
        {".entry k() { .local .b32 x = 3; }", 1, "cannot have an initial value"},
        {".entry k() { } }", 1, "expected a directive, found '}'"},
        {".entry k() {\n", 1, "'{' is never closed"},
        {".entry k() { /* }", 1, "a comment does not end"},
        {".global .b8 x[2] = {1, 2, 3};", 1, "more values than the array has elements"},
        {".global .b32 x = 1.5;", 1, "a value of type .b32 expected"},
        {".global .b32 x;\n.global .b32 x;", 2, "'x' is declared twice"},
        {".global .b32 x[-3];", 1, "a dimension of -3"},
        {".global .b64 x[0x7fffffffffffffff];", 1, "too large"},
        {".global .align 3 .b32 x;", 1, "no power of two"},
        {".entry k() {} .entry k() {}", 1, "'k' is defined twice"},
        {".entry k(.param .b32 a .param .b32 b) {}", 1, "expected ')', found '.param'"},
        {".entry k() .maxfoo 3 {}", 1, "'.maxfoo' is no directive of a function"},
        {".frobnicate", 1, "'.frobnicate' is no directive of a module"},
        {".address_size 32", 1, "only 64 are known"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[1000];
        ptx_error error = {0};
        snprintf(text, sizeof text, PTX_HEADER "%s", cases[k].text);
        ptx_module *module = ptx_module_open(text, strlen(text), &error);
        if (module) assert_false(ptx_function_parse(ptx_function_find(module, "k"), &error));
        if (!strstr(error.text, cases[k].says)) fail_msg("%s: %s", cases[k].text, error.text);
        assert_int_equal(error.line, 3 + cases[k].line);
        assert_null(strchr(error.text, '\n'));
        ptx_module_close(module);
    }
    ptx_error error;
    assert_null(ptx_module_open("", 0, &error));
    assert_non_null(strstr(error.text, "no .version"));
    assert_null(
        ptx_module_open("\x7f"
                        "ELF",
                        4, &error));
}

/* A failure names the source line; other functions of the module stay usable. */
static void test_error_within_one_function(void **state) {
    (void)state;
    ptx_module *module = open_text(PTX_HEADER
                                   ".file 1 \"a.cu\"\n.entry bad() {\n.loc 1 12 5\n foo;\n oops %x;\n}\n"
                                   ".entry good() { exit; }");
    ptx_error error;
    for (int twice = 0; twice < 2; twice++) {
        assert_false(ptx_function_parse(ptx_function_find(module, "bad"), &error));
        assert_string_equal(error.text, "line 8 of the PTX (a.cu:12:5): oops: '%x' is no register that is declared");
        assert_int_equal(parsed(module, "good")->n_instructions, 1);
    }
    ptx_module_close(module);
}

/* ---- fat binaries ---------------------------------------------------------------------------- */

typedef struct fat {
    uint8_t bytes[4096];
    size_t used;
} fat;

static void fat_number(fat *f, uint64_t value, size_t bytes) {
    memcpy(f->bytes + f->used, &value, bytes); /* little-endian, as the format is */
    f->used += bytes;
}

/* As nvcc 13 writes it: kind, version, header's size, padded size, compressed size, options, PTX version, architecture,
 * … */
static void fat_entry(fat *f, int kind, int sm, uint64_t flags, uint32_t compressed, const char *text) {
    size_t size = (strlen(text) + 8) / 8 * 8;
    const struct {
        uint64_t value;
        size_t bytes;
    } fields[] = {{(uint64_t)kind, 2}, {0x101, 2}, {72, 4}, {size, 8},  {compressed, 4}, {64, 4}, {0, 2}, {9, 2},
                  {(uint64_t)sm, 4},   {0, 4},     {0, 4},  {flags, 8}, {0, 8},          {0, 8},  {0, 8}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) fat_number(f, fields[k].value, fields[k].bytes);
    memcpy(f->bytes + f->used, text, strlen(text));
    f->used += size;
}

static size_t fat_begin(fat *f) {
    fat_number(f, 0xBA55ED50, 4);
    fat_number(f, 1, 2);
    fat_number(f, 16, 2);
    fat_number(f, 0, 8);
    return f->used;
}

static void fat_end(fat *f, size_t begin) {
    uint64_t size = f->used - begin;
    memcpy(f->bytes + begin - 8, &size, sizeof size);
}

static char texts_found[1000];
static void collect(void *context, const char *text, size_t bytes, int sm) {
    size_t used = strlen(texts_found);
    assert_ptr_equal(context, texts_found);
    snprintf(texts_found + used, sizeof texts_found - used, "%d:%.*s ", sm, (int)bytes, text);
}

static void test_fatbin(void **state) {
    (void)state;
    fat f = {.used = 0};
    ptx_error error = {0};
    size_t begin = fat_begin(&f);
    fat_entry(&f, 1, 90, 0x100011, 0, "first");
    fat_entry(&f, 2, 80, 0x11, 0,
              "\x7f"
              "ELF");
    fat_entry(&f, 1, 80, 0x8011, 30, "compressed");
    fat_entry(&f, 1, 75, 0x11, 0, "second");
    fat_end(&f, begin);
    size_t first = f.used;
    f.used += 16; /* padding */
    begin = fat_begin(&f);
    fat_entry(&f, 1, 90, 0x11, 0, "third");
    fat_end(&f, begin);
    assert_true(ptx_fatbin_each(f.bytes, f.used, collect, texts_found, &error));
    assert_string_equal(texts_found, "90:first 75:second 90:third ");
    *texts_found = 0;
    assert_true(ptx_fatbin_each(f.bytes, 0, collect, texts_found, &error)); /* the one that begins here */
    assert_string_equal(texts_found, "90:first 75:second ");
    for (size_t size = 1; size < first; size++) { /* cut off anywhere: no crash, and an error */
        uint8_t *exact = malloc(size);
        assert_non_null(exact);
        memcpy(exact, f.bytes, size);
        error.text[0] = 0;
        *texts_found = 0;
        assert_false(ptx_fatbin_each(exact, size, collect, texts_found, &error));
        assert_memory_equal(error.text, "fat binary: ", 12);
        free(exact);
    }
}

static void test_fatbin_refused(void **state) {
    (void)state;
    static const struct {
        int kind;
        uint64_t flags;
        const char *says;
    } cases[] = {{1, 0x8011, "compile with nvcc --compress-mode=speed"},
                 {1, 0x2011, "compressed text is damaged"},
                 {2, 0x11, "nvcc -gencode arch=compute_90a,code=compute_90a"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        fat f = {.used = 0};
        ptx_error error = {0};
        size_t begin = fat_begin(&f);
        fat_entry(&f, cases[k].kind, 90, cases[k].flags, 0, "text");
        fat_end(&f, begin);
        *texts_found = 0;
        assert_false(ptx_fatbin_each(f.bytes, f.used, collect, texts_found, &error));
        assert_true(strstr(error.text, cases[k].says) && !*texts_found);
    }
    ptx_error error;
    assert_false(ptx_fatbin_each("no fat binary at all", 20, collect, texts_found, &error));
    assert_non_null(strstr(error.text, "0xBA55ED50"));
}

/* "abcabcabcabcabcabcabcabcabcabcd": three letters, a match of 27 that overlaps itself, and the last letter. */
static const char packed[] =
    "\x3f"
    "abc\x03\x00\x08\x10"
    "d";
enum { PLAIN = 31 };

static void test_unpacked(void **state) {
    (void)state;
    char plain[PLAIN + 1] = {0};
    assert_true(ptx_lz4_unpack(packed, sizeof packed - 1, plain, PLAIN));
    assert_string_equal(plain, "abcabcabcabcabcabcabcabcabcabcd");
    for (size_t size = 0; size < sizeof packed - 1; size++) assert_false(ptx_lz4_unpack(packed, size, plain, PLAIN));
    for (size_t size = 0; size < PLAIN; size++) assert_false(ptx_lz4_unpack(packed, sizeof packed - 1, plain, size));
    assert_false(
        ptx_lz4_unpack("\x10"
                       "a\x02\x00\x10"
                       "b",
                       6, plain, 6)); /* a match from before the beginning */
    assert_false(
        ptx_lz4_unpack("\x10"
                       "a\x00\x00\x10"
                       "b",
                       6, plain, 6)); /* from nowhere */
}

/* ---- printed and parsed again ---------------------------------------------------------------- */

typedef struct output {
    char *text;
    size_t used, room;
} output;

__attribute__((format(printf, 2, 3))) static void put(output *out, const char *format, ...) {
    if (out->room - out->used < 1 << 16) out->text = realloc(out->text, out->room += 1 << 20);
    assert_non_null(out->text);
    va_list arguments;
    va_start(arguments, format);
    out->used += (size_t)vsnprintf(out->text + out->used, out->room - out->used, format, arguments);
    va_end(arguments);
}

/* Labels by their target, so that names that several scopes have are told apart. */
static void name_labels(const ptx_operand *o, unsigned char *labelled) {
    for (int k = 0; k < o->n_parts; k++) name_labels(&o->parts[k], labelled);
    if (o->kind != PTX_LABEL) return;
    char *name = malloc(16);
    assert_non_null(name);
    snprintf(name, 16, "L%u", o->target);
    ((ptx_operand *)(uintptr_t)o)->text = name;
    labelled[o->target] = 1;
}

static void free_labels(const ptx_operand *o) {
    for (int k = 0; k < o->n_parts; k++) free_labels(&o->parts[k]);
    if (o->kind == PTX_LABEL) free((void *)(uintptr_t)o->text);
}

static const char *space_text(const ptx_variable *v) {
    return v->space == PTX_SHARED ? "shared" : v->space == PTX_LOCAL ? "local" : "param";
}

/* The function alone in a module, with flat scopes: registers are %v0, %v1, …, body variables have their number added.
 */
static void put_function(output *out, ptx_function *f) {
    const ptx_module *module = f->module;
    put(out, PTX_HEADER);
    for (int i = 0; i < module->n_variables; i++) put(out, ".extern .global .b8 %s[];\n", module->variable[i]->name);
    for (int i = 0; i < module->n_functions; i++)
        if (module->function[i] != f) put(out, ".func %s;\n", module->function[i]->name);
    put(out, ".func (.param .b8 return_value) %s (", f->name);
    for (int i = 0; i < f->n_parameters; i++)
        put(out, "%s.param .align %u .b8 %s[%llu]", i ? ", " : "", f->parameter[i].align, f->parameter[i].name,
            (unsigned long long)f->parameter[i].bytes);
    put(out, ") {\n");
    if (f->result) put(out, ".param .b8 %s[8];\n", f->result->name);
    for (int i = 0; i < f->n_registers; i++) {
        char *name = malloc(16);
        assert_non_null(name);
        snprintf(name, 16, "%%v%d", i);
        f->reg[i].name = name;
        put(out, ".reg .%s %s;\n", ptx_type_text[f->reg[i].type], name);
    }
    unsigned char *labelled = calloc((size_t)f->n_instructions + 1, 1);
    assert_non_null(labelled);
    for (int i = 0; i < f->n_instructions; i++)
        for (int k = 0; k < f->instruction[i].n_operands; k++) name_labels(&f->instruction[i].operand[k], labelled);
    for (int i = 0; i < f->n_variables; i++) { /* one of each name: which of them is compared by its name alone */
        bool known = false;
        for (int k = 0; k < i; k++) known |= f->variable[k]->name == f->variable[i]->name;
        if (!known) put(out, ".%s .b8 %s[8];\n", space_text(f->variable[i]), f->variable[i]->name);
    }
    for (int i = 0; i < f->n_instructions; i++) {
        const ptx_instruction *instruction = &f->instruction[i];
        if (labelled[i]) put(out, "L%d:\n", i);
        bool indirect = strcmp(instruction->word[0], "call") == 0 && instruction->n_operands == 4;
        if (indirect && instruction->operand[3].function)
            put(out, "{ %s: .callprototype _ ();\n", instruction->operand[3].text);
        put(out, "%s\n", text_of(f, i));
        if (indirect && instruction->operand[3].function) put(out, "}\n");
    }
    if (labelled[f->n_instructions]) put(out, "L%d:\n", f->n_instructions);
    put(out, "}\n");
    free(labelled);
}

static void assert_same_operand(const ptx_operand *a, const ptx_operand *b) {
    assert_int_equal(a->kind, b->kind);
    assert_true(a->negated == b->negated && a->minus == b->minus && a->single == b->single);
    assert_int_equal(a->reg, b->reg);
    assert_int_equal(a->target, b->target);
    assert_int_equal(a->bits, b->bits);
    assert_int_equal(a->offset, b->offset);
    assert_true(!a->text == !b->text && (!a->text || strcmp(a->text, b->text) == 0));
    assert_true(!a->variable == !b->variable && !a->function == !b->function);
    assert_int_equal(a->n_parts, b->n_parts);
    for (int k = 0; k < a->n_parts; k++) assert_same_operand(&a->parts[k], &b->parts[k]);
}

static void round_trip(ptx_function *f) {
    output out = {0};
    put_function(&out, f);
    ptx_error error;
    ptx_module *module = ptx_module_open(out.text, out.used, &error);
    if (!module) fail_msg("%s: %s", f->name, error.text);
    ptx_function *again = ptx_function_find(module, f->name);
    if (!ptx_function_parse(again, &error)) fail_msg("%s: %s", f->name, error.text);
    assert_int_equal(f->n_instructions, again->n_instructions);
    assert_int_equal(f->n_registers, again->n_registers);
    for (int i = 0; i < f->n_instructions; i++) {
        const ptx_instruction *a = &f->instruction[i], *b = &again->instruction[i];
        assert_int_equal(a->n_words, b->n_words);
        for (int k = 0; k < a->n_words; k++) assert_string_equal(a->word[k], b->word[k]);
        assert_true(a->guard == b->guard && a->guard_negated == b->guard_negated && a->n_operands == b->n_operands);
        for (int k = 0; k < a->n_operands; k++) assert_same_operand(&a->operand[k], &b->operand[k]);
    }
    for (int i = 0; i < f->n_instructions; i++)
        for (int k = 0; k < f->instruction[i].n_operands; k++) free_labels(&f->instruction[i].operand[k]);
    for (int i = 0; i < f->n_registers; i++) free((void *)(uintptr_t)f->reg[i].name);
    ptx_module_close(module);
    free(out.text);
}

static int n_functions;

static void round_trips(ptx_module *module) {
    for (int i = 0; i < module->n_functions; i++) {
        ptx_function *f = module->function[i];
        if (!f->body) continue;
        round_trip(parsed(module, f->name));
        n_functions++;
    }
    ptx_module_close(module);
}

static void test_round_trip(void **state) {
    (void)state;
    n_functions = 0;
    round_trips(open_text(ptx_text_module));
    round_trips(open_text(ptx_text_body));
    assert_int_equal(n_functions, 5);
}

static int files(char **paths) {
    for (; *paths; paths++) {
        FILE *file = fopen(*paths, "rb");
        if (!file || fseek(file, 0, SEEK_END)) return 1;
        size_t bytes = (size_t)ftell(file);
        rewind(file);
        char *text = calloc(bytes + 1, 1);
        if (!text || fread(text, 1, bytes, file) != bytes || fclose(file)) return 1;
        round_trips(open_text(text));
        free(text);
    }
    printf("%d functions parsed, printed and parsed again\n", n_functions);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1) return files(argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_addresses_in_values),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_calls_and_tables),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_error_within_one_function),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_fatbin),
        cmocka_unit_test(test_fatbin_refused),
        cmocka_unit_test(test_unpacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

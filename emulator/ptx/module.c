/* A module's text: what is declared, and where the bodies are. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "ptx/parser.h"

/* ---- functions ------------------------------------------------------------------------------- */

/* Directives between the parameters and the body; X(directive, first of so many values). */
typedef struct limit {
    const char *name;
    size_t at; /* of the values in ptx_function; NOWHERE: of no concern here */
    int values;
} limit;
#define NOWHERE ((size_t)-1)
static const limit limits[] = {
    {"maxntid", offsetof(ptx_function, max_threads), 3},
    {"reqntid", offsetof(ptx_function, required_threads), 3},
    {"reqnctapercluster", offsetof(ptx_function, cluster), 3},
    {"minnctapersm", offsetof(ptx_function, min_blocks), 1},
    {"maxnctapersm", NOWHERE, 1},
    {"maxnreg", offsetof(ptx_function, max_registers), 1},
    {"maxclusterrank", offsetof(ptx_function, max_blocks_per_cluster), 1},
    {"abi_preserve", NOWHERE, 1},
    {"abi_preserve_control", NOWHERE, 1},
    {"blocksareclusters", NOWHERE, 0},
    {"unified", NOWHERE, 0},
};

static bool limit_read(ptx_parser *p, const ptx_name *word, ptx_function *f) {
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        if (!ptx_name_is(word, limits[k].name)) continue;
        uint32_t value[3] = {1, 1, 1};
        for (int n = 0; n < limits[k].values; n++) {
            if (n && !ptx_accept(p, ',')) break;
            if (!ptx_u32_read(p, &value[n], limits[k].name)) return false;
        }
        if (limits[k].at != NOWHERE)
            memcpy((char *)f + limits[k].at, value, sizeof(uint32_t) * (size_t)limits[k].values);
        return true;
    }
    if (ptx_name_is(word, "explicitcluster")) return f->explicit_cluster = true;
    if (ptx_name_is(word, "noreturn")) return f->noreturn = true;
    ptx_name text;
    if (ptx_name_is(word, "pragma")) return ptx_string_read(p, &text) && ptx_need(p, ';');
    return ptx_fail(p, "'.%.*s' is no directive of a function", (int)word->length, word->text);
}

/* (results) name (parameters): of functions and prototypes */
static bool signature_read(ptx_parser *p, ptx_function *f, ptx_name *name) {
    int n_results = 0;
    uint32_t bytes;
    if (ptx_accept(p, '(') && !ptx_parameters_read(p, &f->result, &n_results, &bytes)) return false;
    if (n_results > 1) return ptx_fail(p, "a function with %d results", n_results);
    if (!n_results) f->result = NULL;
    if (!ptx_name_need(p, name, "a function's name")) return false;
    if (!ptx_accept(p, '(')) return true;
    return ptx_parameters_read(p, &f->parameter, &f->n_parameters, &f->parameter_bytes);
}

/* A function declared before and the one read now become one. */
static bool function_join(ptx_parser *p, const ptx_name *name, ptx_function *f) {
    ptx_symbol *symbol = ptx_table_find(&p->own->globals, PTX_IS_FUNCTION, name->text, name->length, name->hash);
    if (symbol) {
        ptx_function *before = symbol->object;
        if (!f->body) return true; /* declared again */
        if (before->body) return before->weak || f->weak || ptx_fail(p, "'%s' is defined twice", f->name);
        bool weak = before->weak;
        *before = *f;
        before->weak |= weak;
        return true;
    }
    ptx_function *kept = ptx_arena_take(&p->own->arena, sizeof *kept);
    *kept = *f;
    if (!ptx_symbol_declare(p, PTX_IS_FUNCTION, name, &symbol)) return false;
    symbol->object = kept;
    *(ptx_function **)ptx_list_add(&p->own->functions, sizeof kept) = kept;
    return true;
}

bool ptx_entry_read(ptx_parser *p, bool entry, ptx_linkage linkage) {
    ptx_function f = {.module = p->module,
                      .entry = entry,
                      .external = linkage.external,
                      .weak = linkage.weak,
                      .visible = linkage.visible};
    ptx_name name, word;
    while (ptx_directive_read(p, &word)) { /* .func .attribute(…) */
        if (!ptx_name_is(&word, "attribute") && !ptx_name_is(&word, "noreturn"))
            return ptx_expected(p, "a function's name");
        if (ptx_name_is(&word, "attribute") && (!ptx_need(p, '(') || !ptx_block_skip(p, '(', ')'))) return false;
    }
    if (!signature_read(p, &f, &name)) return false;
    f.name = ptx_name_keep(p, &name);
    while (ptx_directive_read(p, &word))
        if (!limit_read(p, &word, &f)) return false;
    if (ptx_accept(p, '{')) {
        f.body = p->at;
        f.body_line = p->line;
        if (!ptx_block_skip(p, '{', '}')) return false;
        f.body_bytes = (size_t)(p->at - 1 - f.body);
    } else if (!ptx_need(p, ';')) {
        return false;
    }
    return function_join(p, &name, &f);
}

/* name: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _) .noreturn; */
bool ptx_prototype_read(ptx_parser *p, const ptx_name *label) {
    ptx_function *f = ptx_arena_take(&p->own->arena, sizeof *f);
    ptx_name name, word;
    ptx_symbol *symbol;
    *f = (ptx_function){.name = ptx_name_keep(p, label), .module = p->module, .prototype = true, .parsed = true};
    if (!signature_read(p, f, &name)) return false;
    while (ptx_directive_read(p, &word))
        if (!limit_read(p, &word, f)) return false;
    if (!ptx_need(p, ';') || !ptx_symbol_declare(p, PTX_IS_FUNCTION, label, &symbol)) return false;
    symbol->object = f;
    return true;
}

/* ---- what else a module holds ---------------------------------------------------------------- */

static bool version_read(ptx_parser *p) { /* 9.0 */
    ptx_skip(p);
    int major = 0, minor = 0;
    const char *from = p->at;
    for (; p->at < p->end && ptx_is_digit(*p->at) && major < 1000; p->at++) major = 10 * major + *p->at - '0';
    if (p->at == from || p->at >= p->end || *p->at != '.') return ptx_expected(p, "a version such as 9.0");
    for (p->at++; p->at < p->end && ptx_is_digit(*p->at) && minor < 1000; p->at++) minor = 10 * minor + *p->at - '0';
    p->module->version = 10 * major + minor;
    return true;
}

static bool target_read(ptx_parser *p) { /* sm_90a, debug */
    ptx_name name;
    do {
        if (!ptx_name_need(p, &name, "a target such as sm_90a")) return false;
        if (name.length < 4 || memcmp(name.text, "sm_", 3) != 0) continue;
        if (name.length >= sizeof p->module->target) return ptx_fail(p, "the target's name is too long");
        memcpy(p->module->target, name.text, name.length);
        p->module->target[name.length] = 0;
    } while (ptx_accept(p, ','));
    return true;
}

static bool section_read(ptx_parser *p) {
    ptx_name name = {.text = ""};
    if (!ptx_directive_read(p, &name) && !ptx_name_need(p, &name, "a section's name")) return false;
    for (ptx_name rest; ptx_directive_read(p, &rest);) name = rest; /* .nv.info */
    if (!ptx_need(p, '{')) return false;
    const char *text = p->at;
    if (!ptx_block_skip(p, '{', '}')) return false;
    if (ptx_name_is(&name, "debug_str"))
        p->own->debug_strings = (ptx_section){.text = text, .bytes = (size_t)(p->at - 1 - text)};
    return true;
}

/* .alias name, function; */
static bool alias_read(ptx_parser *p) {
    ptx_name name, of;
    if (!ptx_name_need(p, &name, "an alias") || !ptx_need(p, ',') || !ptx_name_need(p, &of, "a function's name"))
        return false;
    ptx_symbol *function = ptx_table_find(&p->own->globals, PTX_IS_FUNCTION, of.text, of.length, of.hash), *symbol;
    if (!function) return ptx_fail(p, "'%.*s' is no function", (int)of.length, of.text);
    symbol = ptx_table_find(&p->own->globals, PTX_IS_FUNCTION, name.text, name.length, name.hash); /* it was declared */
    if (symbol) {
        for (size_t k = 0; k < p->own->functions.count; k++) {
            ptx_function **list = p->own->functions.data;
            if (list[k] == symbol->object) list[k] = list[--p->own->functions.count];
        }
    } else {
        symbol = ptx_table_add(&p->own->globals, &p->own->arena, PTX_IS_FUNCTION, name.text, name.length, name.hash);
    }
    symbol->object = function->object;
    return ptx_need(p, ';');
}

static bool statement_read(ptx_parser *p) {
    static const struct {
        const char *name;
        size_t at;
    } linkages[] = {{"extern", offsetof(ptx_linkage, external)},
                    {"weak", offsetof(ptx_linkage, weak)},
                    {"visible", offsetof(ptx_linkage, visible)},
                    {"common", offsetof(ptx_linkage, common)}};
    static const struct {
        const char *name;
        ptx_space space;
    } spaces[] = {{"global", PTX_GLOBAL}, {"const", PTX_CONST}, {"shared", PTX_SHARED}, {"local", PTX_LOCAL}};
    static const struct {
        const char *name;
        bool (*read)(ptx_parser *);
    } others[] = {{"version", version_read}, {"target", target_read},    {"section", section_read},
                  {"file", ptx_file_read},   {"loc", ptx_location_skip}, {"alias", alias_read}};
    ptx_linkage linkage = {0};
    ptx_name word;
    uint32_t bits;
next:
    if (!ptx_directive_read(p, &word)) return ptx_expected(p, "a directive");
    for (size_t k = 0; k < sizeof linkages / sizeof *linkages; k++)
        if (ptx_name_is(&word, linkages[k].name)) {
            *((bool *)&linkage + linkages[k].at) = true;
            goto next;
        }
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++)
        if (ptx_name_is(&word, spaces[k].name)) return ptx_variables_read(p, spaces[k].space, linkage);
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (ptx_name_is(&word, others[k].name)) return others[k].read(p);
    if (ptx_name_is(&word, "entry") || ptx_name_is(&word, "func"))
        return ptx_entry_read(p, ptx_name_is(&word, "entry"), linkage);
    if (ptx_name_is(&word, "address_size")) {
        if (!ptx_u32_read(p, &bits, "address size")) return false;
        return bits == 64 || ptx_fail(p, "addresses of %u bits; only 64 are known", bits);
    }
    if (ptx_name_is(&word, "pragma")) return ptx_string_read(p, &word) && ptx_need(p, ';');
    return ptx_fail(p, "'.%.*s' is no directive of a module", (int)word.length, word.text);
}

/* ---- life ------------------------------------------------------------------------------------ */

ptx_module *ptx_module_open(const char *text, size_t bytes, ptx_error *error) {
    ptx_error ignored;
    ptx_module *module = emu_alloc(sizeof *module);
    module->internals = emu_alloc(sizeof *module->internals);
    module->text = emu_alloc(bytes + 1);
    memcpy(module->text, text, bytes);
    const char *zero = memchr(module->text, 0, bytes);
    if (zero) bytes = (size_t)(zero - module->text); /* fat binaries pad with zeros */
    module->internals->text_bytes = bytes;
    ptx_parser parser = {.at = module->text,
                         .end = module->text + bytes,
                         .line = 1,
                         .error = error ? error : &ignored,
                         .module = module,
                         .own = module->internals};
    while (ptx_peek(&parser) && statement_read(&parser)) {
    }
    if (!parser.failed && !module->version) ptx_fail(&parser, "no .version: this is no PTX");
    if (parser.failed) {
        ptx_module_close(module);
        return NULL;
    }
    struct ptx_private *own = module->internals;
    module->function = ptx_list_copy(&own->functions, &own->arena, sizeof *module->function);
    module->n_functions = (int)own->functions.count;
    module->variable = ptx_list_copy(&own->variables, &own->arena, sizeof *module->variable);
    module->n_variables = (int)own->variables.count;
    module->file = ptx_list_copy(&own->files, &own->arena, sizeof *module->file);
    module->n_files = (int)own->files.count;
    return module;
}

void ptx_module_close(ptx_module *module) {
    if (!module) return;
    struct ptx_private *own = module->internals;
    ptx_list *const lists[] = {&own->functions,   &own->variables,    &own->files,     &own->registers,
                               &own->locals_list, &own->instructions, &own->locations, &own->references,
                               &own->relocations, &own->labelled,     &own->operands};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) ptx_list_free(lists[k]);
    ptx_arena_free(&own->arena);
    ptx_arena_free(&own->scratch);
    free(own);
    free(module->text);
    free(module);
}

static void *global_find(const ptx_module *module, int kind, const char *name) {
    uint32_t length = (uint32_t)strlen(name);
    ptx_symbol *symbol = ptx_table_find(&module->internals->globals, kind, name, length, ptx_hash(name, length));
    return symbol ? symbol->object : NULL;
}

ptx_function *ptx_function_find(const ptx_module *module, const char *name) {
    return global_find(module, PTX_IS_FUNCTION, name);
}

ptx_variable *ptx_variable_find(const ptx_module *module, const char *name) {
    return global_find(module, PTX_IS_VARIABLE, name);
}

/* A function's body: scopes, declarations, labels, instructions. */
#include <string.h>

#include "ptx/parser.h"

static bool statements_read(ptx_parser *p);

/* { … }: names declared within are gone afterwards, except that what they named stays. */
static bool scope_read(ptx_parser *p) {
    const size_t first = p->own->references.count;
    if (p->depth >= PTX_MAX_DEPTH) return ptx_fail(p, "scopes nested more than %d deep", PTX_MAX_DEPTH);
    p->depth++;
    if (!statements_read(p) || !ptx_need(p, '}')) return false;
    ptx_labels_resolve(p, first);
    ptx_table_leave(&p->own->locals, p->depth);
    p->depth--;
    return true;
}

static bool pragma_read(ptx_parser *p) {
    ptx_name text;
    do {
        if (!ptx_string_read(p, &text)) return false;
    } while (ptx_accept(p, ','));
    return ptx_need(p, ';');
}

static bool section_skip(ptx_parser *p) {
    ptx_name name;
    if (!ptx_directive_read(p, &name) && !ptx_name_need(p, &name, "a section's name")) return false;
    while (ptx_directive_read(p, &name)) {
    }
    return ptx_need(p, '{') && ptx_block_skip(p, '{', '}');
}

static bool directive_read(ptx_parser *p) {
    static const struct {
        const char *name;
        bool (*read)(ptx_parser *);
    } directives[] = {
        {"loc", ptx_location_read}, {"reg", ptx_registers_declare}, {"pragma", pragma_read}, {"section", section_skip}};
    static const struct {
        const char *name;
        ptx_space space;
    } spaces[] = {{"shared", PTX_SHARED}, {"local", PTX_LOCAL}, {"param", PTX_PARAM}};
    ptx_name word;
    ptx_linkage linkage = {0};
    if (!ptx_directive_read(p, &word)) return ptx_expected(p, "a directive");
    if (ptx_name_is(&word, "extern")) {
        linkage.external = true;
        if (!ptx_directive_read(p, &word)) return ptx_expected(p, "a state space");
    }
    for (size_t k = 0; k < sizeof directives / sizeof *directives; k++)
        if (ptx_name_is(&word, directives[k].name)) return directives[k].read(p);
    for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++)
        if (ptx_name_is(&word, spaces[k].name)) return ptx_variables_read(p, spaces[k].space, linkage);
    return ptx_fail(p, "'.%.*s' is no directive within a function", (int)word.length, word.text);
}

/* After "name:". Tables and prototypes are named as labels are. */
static bool label_read(ptx_parser *p, const ptx_name *name) {
    const ptx_parser before = *p;
    ptx_name word;
    ptx_symbol *symbol;
    if (ptx_directive_read(p, &word)) {
        if (ptx_name_is(&word, "branchtargets")) return ptx_targets_read(p, name, true);
        if (ptx_name_is(&word, "calltargets")) return ptx_targets_read(p, name, false);
        if (ptx_name_is(&word, "callprototype")) return ptx_prototype_read(p, name);
        *p = before;
    }
    if (!ptx_symbol_declare(p, PTX_IS_LABEL, name, &symbol)) return false;
    symbol->index = (uint32_t)p->own->instructions.count;
    return true;
}

static bool label_starts(ptx_parser *p, ptx_name *name) {
    if (!ptx_is_name_start(*p->at)) return false;
    const ptx_parser before = *p;
    if (ptx_name_read(p, name) && ptx_peek(p) == ':' && !(p->at + 1 < p->end && p->at[1] == ':')) {
        p->at++;
        return true;
    }
    bool failed = p->failed;
    *p = before;
    p->failed = failed;
    return false;
}

static bool statements_read(ptx_parser *p) {
    for (char c; (c = ptx_peek(p)) && c != '}';) {
        ptx_name name;
        bool ok = true;
        if (c == '.')
            ok = directive_read(p);
        else if (c == '{')
            p->at++, ok = scope_read(p);
        else if (c == ';')
            p->at++;
        else if (label_starts(p, &name))
            ok = label_read(p, &name);
        else if (!p->failed)
            ok = ptx_instruction_read(p);
        if (!ok || p->failed) return false;
    }
    return true;
}

static void reset(struct ptx_private *own) {
    ptx_list *const lists[] = {&own->registers,  &own->locals_list, &own->instructions, &own->locations,
                               &own->references, &own->labelled,    &own->operands};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) lists[k]->count = 0;
    memset(&own->locals, 0, sizeof own->locals);
    memset(own->places, 0, sizeof own->places);
    ptx_arena_free(&own->scratch);
}

/* Parameters are variables of the outermost scope; those in registers are registers. */
static bool parameters_declare(ptx_parser *p) {
    const ptx_function *f = p->function;
    const int n = f->n_parameters + (f->result ? 1 : 0);
    for (int k = 0; k < n; k++) {
        ptx_variable *variable = k < f->n_parameters ? &f->parameter[k] : f->result;
        uint32_t length = (uint32_t)strlen(variable->name), index;
        ptx_name name = {.text = variable->name, .length = length, .hash = ptx_hash(variable->name, length)};
        ptx_symbol *symbol;
        bool in_register = variable->space == PTX_REG;
        if (!ptx_symbol_declare(p, in_register ? PTX_IS_REGISTER : PTX_IS_VARIABLE, &name, &symbol)) return false;
        symbol->object = variable;
        if (!in_register) continue;
        if (!ptx_register_add(p, variable->name, variable->type, &index)) return false;
        symbol->index = index;
        variable->reg = (int32_t)index;
    }
    return true;
}

bool ptx_function_parse(ptx_function *f, ptx_error *error) {
    ptx_error ignored;
    if (f->parsed) return true;
    struct ptx_private *own = f->module->internals;
    ptx_parser parser = {
        .error = error ? error : &ignored, .module = f->module, .own = own, .function = f, .line = f->body_line};
    reset(own);
    ptx_list_add(&own->locations, sizeof(ptx_location)); /* the unknown one */
    if (!f->body) return ptx_fail(&parser, "function '%s' is declared but not defined", f->name);
    parser.at = f->body;
    parser.end = f->body + f->body_bytes;
    if (!parameters_declare(&parser) || !statements_read(&parser)) return false;
    if (ptx_peek(&parser)) return ptx_expected(&parser, "an instruction");
    ptx_labels_resolve(&parser, 0);
    if (!ptx_labels_settle(&parser)) return false;
    f->reg = ptx_list_copy(&own->registers, &own->arena, sizeof *f->reg);
    f->n_registers = (int)own->registers.count;
    f->variable = ptx_list_copy(&own->locals_list, &own->arena, sizeof *f->variable);
    f->n_variables = (int)own->locals_list.count;
    f->instruction = ptx_list_copy(&own->instructions, &own->arena, sizeof *f->instruction);
    f->n_instructions = (int)own->instructions.count;
    f->location = ptx_list_copy(&own->locations, &own->arena, sizeof *f->location);
    f->n_locations = (int)own->locations.count;
    f->parsed = true;
    ptx_arena_free(&own->scratch);
    return true;
}

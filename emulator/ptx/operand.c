/* Operands as the text has them, names resolved to registers, variables, functions and labels. */
#include <string.h>

#include "ptx/parser.h"

/* A name of the function's scopes: the innermost wins, whether it is a register of its own or one of a range. */
static ptx_symbol *local_find(const ptx_parser *p, const ptx_name *name, uint32_t *index) {
    const ptx_table *locals = &p->own->locals;
    const int plain = PTX_IS_REGISTER | PTX_IS_VECTOR | PTX_IS_VARIABLE | PTX_IS_FUNCTION | PTX_IS_TARGETS;
    ptx_symbol *best = NULL;
    uint32_t length = name->prefix, hash = name->prefix_hash;
    while (length < name->length) { /* %r12: of %r<…>, or else of %r1<…> */
        ptx_symbol *range = ptx_table_find(locals, PTX_IS_RANGE, name->text, length, hash);
        uint32_t digits = name->length - length;
        if (range && digits < 10 && (digits == 1 || name->text[length] != '0')) {
            uint32_t number = 0;
            for (uint32_t k = length; k < name->length; k++) number = 10 * number + (uint32_t)(name->text[k] - '0');
            while (range && number >= range->count) range = ptx_table_hidden(range); /* an outer one may be longer */
            if (range && (!best || range->depth > best->depth)) {
                best = range;
                *index = range->index + number;
            }
        }
        if (best && best->depth == p->depth) return best;
        hash = (hash ^ (unsigned char)name->text[length++]) * 16777619u;
    }
    ptx_symbol *other = ptx_table_find(locals, plain, name->text, name->length, name->hash);
    if (other && (!best || other->depth > best->depth)) {
        *index = other->index;
        return other;
    }
    return best;
}

static void register_operand(ptx_operand *o, uint32_t index) {
    o->kind = PTX_REGISTER;
    o->reg = (int32_t)index;
}

/* v.x of a vector register, or all of it as {v.x, v.y, …} */
static bool vector_operand(ptx_parser *p, ptx_operand *o, const ptx_symbol *vector) {
    static const char letters[] = "xyzw", colors[] = "rgba";
    if (p->at + 1 < p->end && *p->at == '.' && p->at[1]) {
        const char *part = strchr(letters, p->at[1]);
        size_t k = part                       ? (size_t)(part - letters)
                   : strchr(colors, p->at[1]) ? (size_t)(strchr(colors, p->at[1]) - colors)
                                              : 4;
        if (k >= vector->count) return ptx_expected(p, "a part of a vector register");
        p->at += 2;
        register_operand(o, vector->index + (uint32_t)k);
        return true;
    }
    ptx_operand *parts = ptx_arena_take(&p->own->arena, vector->count * sizeof *parts);
    for (uint32_t k = 0; k < vector->count; k++) register_operand(&parts[k], vector->index + k);
    o->kind = PTX_VECTOR;
    o->parts = parts;
    o->n_parts = (int)vector->count;
    return true;
}

static void label_operand(ptx_parser *p, ptx_operand *o, const ptx_name *name) {
    o->kind = PTX_LABEL;
    o->text = ptx_name_keep(p, name);
    o->target = (uint32_t)p->own->references.count; /* ptx_labels_settle() puts the instruction there */
    *(ptx_reference *)ptx_list_add(&p->own->references, sizeof(ptx_reference)) =
        (ptx_reference){.name = *name, .line = p->line};
}

/* name+8 outside of brackets */
static bool symbol_operand(ptx_parser *p, ptx_operand *o, const ptx_symbol *symbol, bool in_brackets) {
    o->kind = PTX_SYMBOL;
    o->text = symbol->kind == PTX_IS_VARIABLE ? ((ptx_variable *)symbol->object)->name : NULL;
    if (symbol->kind == PTX_IS_VARIABLE)
        o->variable = symbol->object;
    else
        o->function = symbol->object;
    if (!in_brackets && (ptx_peek(p) == '+' || *p->at == '-')) o->offset = ptx_integer_read(p);
    return !p->failed;
}

static bool name_operand(ptx_parser *p, ptx_operand *o, bool label, bool in_brackets) {
    ptx_name name;
    uint32_t index = 0;
    if (!ptx_name_need(p, &name, "an operand")) return false;
    if (name.length == 1 && *name.text == '_') {
        o->kind = PTX_SINK;
        return true;
    }
    ptx_symbol *symbol = local_find(p, &name, &index);
    if (!symbol && !label)
        symbol = ptx_table_find(&p->own->globals, PTX_IS_VARIABLE | PTX_IS_FUNCTION, name.text, name.length, name.hash);
    if (!symbol) {
        if (*name.text == '%') return ptx_special_read(p, o, &name);
        label_operand(p, o, &name);
        return true;
    }
    switch (symbol->kind) {
        case PTX_IS_REGISTER:
        case PTX_IS_RANGE: register_operand(o, index); return true;
        case PTX_IS_VECTOR: return vector_operand(p, o, symbol);
        case PTX_IS_TARGETS: *o = *(const ptx_operand *)symbol->object; return true;
        default: break;
    }
    if (!symbol_operand(p, o, symbol, in_brackets)) return false;
    if (!o->text) o->text = ptx_name_keep(p, &name);
    return true;
}

static bool constant_operand(ptx_parser *p, ptx_operand *o) {
    ptx_constant value = ptx_constant_read(p);
    o->kind = value.floating ? PTX_FLOATING : PTX_INTEGER;
    o->bits = value.bits;
    o->single = value.single;
    return !p->failed;
}

/* The operands above `first` on the stack, as an array of their own. */
static const ptx_operand *operands_take(ptx_parser *p, size_t first, int *count) {
    ptx_list *stack = &p->own->operands;
    *count = (int)(stack->count - first);
    if (!*count) return NULL;
    ptx_operand *operands = ptx_arena_take(&p->own->arena, (size_t)*count * sizeof *operands);
    memcpy(operands, (ptx_operand *)stack->data + first, (size_t)*count * sizeof *operands);
    stack->count = first;
    for (int k = 0; k < *count; k++)
        if (operands[k].kind == PTX_LABEL)
            *(ptx_operand **)ptx_list_add(&p->own->labelled, sizeof operands) = &operands[k];
    return operands;
}

static void operand_push(ptx_parser *p, const ptx_operand *o) {
    *(ptx_operand *)ptx_list_add(&p->own->operands, sizeof *o) = *o;
}

static bool operand_read(ptx_parser *p, ptx_operand *o, bool label);

/* Operands up to the closing character. */
static bool list_operand(ptx_parser *p, ptx_operand *o, ptx_operand_kind kind, char close, bool label) {
    const size_t first = p->own->operands.count;
    o->kind = kind;
    if (kind != PTX_LIST || !ptx_accept(p, close)) {
        do {
            ptx_operand part = {.reg = -1};
            if (!operand_read(p, &part, label)) return false;
            operand_push(p, &part);
        } while (ptx_accept(p, ','));
        if (!ptx_need(p, close)) return false;
    }
    o->parts = operands_take(p, first, &o->n_parts);
    return true;
}

/* [base], [base + 8], [8], [map, {x, y}] */
static bool bracket_operand(ptx_parser *p, ptx_operand *o) {
    const size_t first = p->own->operands.count;
    ptx_operand base = {.reg = -1};
    if (ptx_constant_starts(p) ? !constant_operand(p, &base) : !name_operand(p, &base, false, true)) return false;
    if (base.kind == PTX_LABEL || base.kind == PTX_SINK || base.kind == PTX_FLOATING)
        return base.kind == PTX_LABEL ? ptx_fail(p, "'%s' is not declared", base.text)
                                      : ptx_fail(p, "no address in brackets");
    char sign = ptx_peek(p);
    if (sign == '+') p->at++;
    if (sign == '+' || sign == '-') o->offset = ptx_integer_read(p);
    operand_push(p, &base);
    o->kind = PTX_ADDRESS;
    while (ptx_accept(p, ',')) {
        ptx_operand part = {.reg = -1};
        o->kind = PTX_TENSOR;
        if (!operand_read(p, &part, false)) return false;
        operand_push(p, &part);
    }
    if (!ptx_need(p, ']')) return false;
    o->parts = operands_take(p, first, &o->n_parts);
    return true;
}

/* name[3] of an array: the address of its element */
static bool element_operand(ptx_parser *p, ptx_operand *o) {
    ptx_operand array = *o;
    if (array.kind != PTX_SYMBOL || !array.variable) return ptx_fail(p, "an index behind what is no array");
    p->at++;
    *o = (ptx_operand){.kind = PTX_ADDRESS, .reg = -1};
    o->offset = (int64_t)((uint64_t)ptx_integer_read(p) * ptx_type_bytes[array.variable->type]);
    const size_t first = p->own->operands.count;
    operand_push(p, &array);
    o->parts = operands_take(p, first, &o->n_parts);
    return ptx_need(p, ']');
}

static bool pair_operand(ptx_parser *p, ptx_operand *o) {
    const size_t first = p->own->operands.count;
    ptx_operand second = {.reg = -1};
    p->at++;
    operand_push(p, o);
    if (!name_operand(p, &second, false, false)) return false;
    operand_push(p, &second);
    *o = (ptx_operand){.kind = PTX_PAIR, .reg = -1};
    o->parts = operands_take(p, first, &o->n_parts);
    return true;
}

static bool plain_operand(ptx_parser *p, ptx_operand *o, bool label) {
    char c = ptx_peek(p);
    if (c == '{' || c == '[') p->at++;
    if (c == '{') return list_operand(p, o, PTX_VECTOR, '}', label);
    if (c == '[') return bracket_operand(p, o);
    if (c == '!' || c == '-') { /* of a register; before a number they belong to the constant */
        const ptx_parser before = *p;
        p->at++;
        if (ptx_is_name_start(ptx_peek(p)) && !ptx_constant_starts(p)) {
            o->negated = c == '!';
            o->minus = c == '-';
            if (!name_operand(p, o, false, false)) return false;
            return o->kind == PTX_REGISTER || ptx_fail(p, "'%c' before what is no register", c);
        }
        if (p->failed) return false;
        *p = before;
    }
    if (ptx_constant_starts(p)) return constant_operand(p, o);
    if (!name_operand(p, o, label, false)) return false;
    c = ptx_peek(p);
    if (c == '[' && o->kind == PTX_SYMBOL) return element_operand(p, o);
    return c == '|' ? pair_operand(p, o) : true;
}

static bool operand_read(ptx_parser *p, ptx_operand *o, bool label) {
    if (p->recursion >= PTX_MAX_DEPTH) return ptx_fail(p, "operands nested more than %d deep", PTX_MAX_DEPTH);
    p->recursion++;
    bool ok = plain_operand(p, o, label);
    p->recursion--;
    return ok && !p->failed;
}

/* ---- whole instructions ---------------------------------------------------------------------- */

/* (results), callee, (arguments), prototype: lists that are not there become empty ones. */
static bool call_read(ptx_parser *p) {
    ptx_operand results = {.kind = PTX_LIST, .reg = -1}, arguments = results, callee = {.reg = -1}, prototype = callee;
    if (ptx_accept(p, '('))
        if (!list_operand(p, &results, PTX_LIST, ')', false) || !ptx_need(p, ',')) return false;
    if (!operand_read(p, &callee, false)) return false;
    bool more = ptx_accept(p, ',');
    if (more && ptx_accept(p, '(')) {
        if (!list_operand(p, &arguments, PTX_LIST, ')', false)) return false;
        more = ptx_accept(p, ',');
    }
    if (more && !operand_read(p, &prototype, false)) return false;
    operand_push(p, &results);
    operand_push(p, &callee);
    operand_push(p, &arguments);
    if (more) operand_push(p, &prototype);
    return true;
}

static bool operands_read(ptx_parser *p, const ptx_instruction *instruction) {
    if (ptx_peek(p) == ';') return true;
    if (strcmp(instruction->word[0], "call") == 0) return call_read(p);
    const bool label = strcmp(instruction->word[0], "bra") == 0 || strcmp(instruction->word[0], "brx") == 0;
    do {
        ptx_operand o = {.reg = -1};
        if (!operand_read(p, &o, label)) return false;
        operand_push(p, &o);
    } while (ptx_accept(p, ','));
    return true;
}

/* ld.global.v4.f32 as its words, kept once for all instructions that are written so. */
static bool opcode_read(ptx_parser *p, ptx_instruction *instruction) {
    char text[256];
    uint32_t length = 0, n = 1;
    ptx_name name;
    if (!ptx_name_need(p, &name, "an instruction")) return false;
    p->at = name.text;
    while (p->at < p->end) {
        char c = *p->at;
        if (c == '.')
            n++;
        else if (!ptx_is_name(c) && !(c == ':' && p->at + 1 < p->end && (p->at[1] == ':' || p->at[-1] == ':'))) {
            if ((c != ' ' && c != '\t') || ptx_peek(p) != '.') break; /* "ld .global" */
            continue;
        }
        if (length + 1 >= sizeof text)
            return ptx_fail(p, "an instruction's name of more than %zu characters", sizeof text);
        text[length++] = c;
        p->at++;
    }
    uint32_t hash = ptx_hash(text, length);
    ptx_symbol *opcode = ptx_table_find(&p->own->globals, PTX_IS_OPCODE, text, length, hash);
    if (!opcode) {
        if (n > PTX_MAX_WORDS) return ptx_fail(p, "an instruction of more than %d words", PTX_MAX_WORDS);
        char *whole = ptx_arena_take(&p->own->arena, length + 1u), *parts = ptx_arena_take(&p->own->arena, length + 1u);
        const char **word = ptx_arena_take(&p->own->arena, n * sizeof *word);
        memcpy(whole, text, length);
        memcpy(parts, text, length);
        for (uint32_t k = 0; k < n; k++) {
            word[k] = parts;
            parts += strcspn(parts, ".");
            *parts++ = 0; /* behind the last one there is room */
            if (!*word[k]) return ptx_fail(p, "'%s' has an empty word", whole);
        }
        opcode = ptx_table_add(&p->own->globals, &p->own->arena, PTX_IS_OPCODE, whole, length, hash);
        opcode->object = word;
        opcode->count = n;
    }
    instruction->word = opcode->object;
    instruction->n_words = (int)opcode->count;
    p->opcode = opcode->text;
    return true;
}

bool ptx_instruction_read(ptx_parser *p) {
    ptx_instruction instruction = {.guard = -1, .loc = p->loc, .line = p->line};
    p->own->operands.count = 0;
    if (ptx_accept(p, '@')) {
        instruction.guard_negated = ptx_accept(p, '!');
        ptx_operand guard = {.reg = -1};
        if (!name_operand(p, &guard, false, false)) return false;
        if (guard.kind != PTX_REGISTER) return ptx_fail(p, "a predicate expected behind '@'");
        instruction.guard = guard.reg;
        ptx_skip(p);
        instruction.line = p->line;
    }
    if (!opcode_read(p, &instruction) || !operands_read(p, &instruction) || !ptx_need(p, ';')) return false;
    if (p->own->operands.count > PTX_MAX_OPERANDS) return ptx_fail(p, "more than %d operands", PTX_MAX_OPERANDS);
    instruction.operand = operands_take(p, 0, &instruction.n_operands);
    *(ptx_instruction *)ptx_list_add(&p->own->instructions, sizeof instruction) = instruction;
    p->opcode = NULL;
    return true;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* L, M, N; of .branchtargets and .calltargets. */
bool ptx_targets_read(ptx_parser *p, const ptx_name *name, bool label) {
    ptx_symbol *symbol;
    ptx_operand *targets = ptx_arena_take(&p->own->arena, sizeof *targets);
    p->own->operands.count = 0;
    *targets = (ptx_operand){.reg = -1};
    if (!list_operand(p, targets, PTX_VECTOR, ';', label)) return false;
    if (!ptx_symbol_declare(p, PTX_IS_TARGETS, name, &symbol)) return false;
    symbol->object = targets;
    return true;
}

void ptx_labels_resolve(ptx_parser *p, size_t first) {
    ptx_reference *references = p->own->references.data;
    for (size_t k = first; k < p->own->references.count; k++) {
        ptx_reference *r = &references[k];
        if (r->found) continue;
        ptx_symbol *label = ptx_table_find(&p->own->locals, PTX_IS_LABEL, r->name.text, r->name.length, r->name.hash);
        r->found = label && label->depth == p->depth;
        if (r->found) r->target = label->index;
    }
}

bool ptx_labels_settle(ptx_parser *p) {
    const ptx_reference *references = p->own->references.data;
    for (size_t k = 0; k < p->own->references.count; k++)
        if (!references[k].found) {
            p->line = references[k].line;
            p->loc = 0;
            return ptx_fail(p, "'%.*s' is declared nowhere", (int)references[k].name.length, references[k].name.text);
        }
    ptx_operand *const *labelled = p->own->labelled.data;
    for (size_t k = 0; k < p->own->labelled.count; k++) labelled[k]->target = references[labelled[k]->target].target;
    return true;
}

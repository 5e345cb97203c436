/* Declarations: registers, variables with their initial values, parameters. */
#include <stdio.h>
#include <string.h>

#include "ptx/parser.h"

bool ptx_symbol_declare(ptx_parser *p, ptx_symbol_kind kind, const ptx_name *name, ptx_symbol **out) {
    ptx_table *table = p->function ? &p->own->locals : &p->own->globals;
    int rival = kind == PTX_IS_RANGE ? PTX_IS_RANGE
                : kind == PTX_IS_LABEL
                    ? PTX_IS_LABEL
                    : PTX_IS_REGISTER | PTX_IS_VECTOR | PTX_IS_VARIABLE | PTX_IS_FUNCTION | PTX_IS_TARGETS;
    ptx_symbol *known = ptx_table_find(table, rival, name->text, name->length, name->hash);
    if (known && known->depth == p->depth)
        return ptx_fail(p, "'%.*s' is declared twice", (int)name->length, name->text);
    *out = ptx_table_add(table, p->function ? &p->own->scratch : &p->own->arena, kind, name->text, name->length,
                         name->hash);
    (*out)->depth = p->depth;
    return true;
}

/* ---- registers ------------------------------------------------------------------------------- */

bool ptx_register_add(ptx_parser *p, const char *name, ptx_type type, uint32_t *index) {
    if (p->own->registers.count >= PTX_MAX_REGISTERS) return ptx_fail(p, "more than %d registers", PTX_MAX_REGISTERS);
    *index = (uint32_t)p->own->registers.count;
    *(ptx_register *)ptx_list_add(&p->own->registers, sizeof(ptx_register)) =
        (ptx_register){.name = name, .type = type};
    return true;
}

static const char *name_with(ptx_parser *p, const ptx_name *name, const char *suffix) {
    size_t length = strlen(suffix);
    char *text = ptx_arena_take(&p->own->arena, name->length + length + 1);
    memcpy(text, name->text, name->length);
    memcpy(text + name->length, suffix, length);
    return text;
}

/* %r<100> */
static bool range_declare(ptx_parser *p, const ptx_name *name, ptx_type type) {
    uint32_t count, first = (uint32_t)p->own->registers.count, index;
    ptx_symbol *symbol;
    if (!ptx_digits_read(p, &count) || !ptx_need(p, '>')) return false;
    if (!ptx_symbol_declare(p, PTX_IS_RANGE, name, &symbol)) return false;
    symbol->index = first;
    symbol->count = count;
    for (uint32_t k = 0; k < count; k++) {
        char digits[12];
        snprintf(digits, sizeof digits, "%u", k);
        if (!ptx_register_add(p, name_with(p, name, digits), type, &index)) return false;
    }
    return true;
}

static bool register_declare(ptx_parser *p, const ptx_name *name, ptx_type type, uint32_t vector) {
    static const char *const part[] = {".x", ".y", ".z", ".w"};
    ptx_symbol *symbol;
    uint32_t index;
    if (!ptx_symbol_declare(p, vector > 1 ? PTX_IS_VECTOR : PTX_IS_REGISTER, name, &symbol)) return false;
    symbol->index = (uint32_t)p->own->registers.count;
    symbol->count = vector;
    for (uint32_t k = 0; k < vector; k++)
        if (!ptx_register_add(p, name_with(p, name, vector > 1 ? part[k] : ""), type, &index)) return false;
    return true;
}

static bool type_read(const ptx_name *word, ptx_type *type, uint32_t *vector) {
    static const struct {
        const char *text;
        uint32_t count;
    } vectors[] = {{"v2", 2}, {"v4", 4}};
    for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
        if (ptx_name_is(word, vectors[k].text)) {
            *vector = vectors[k].count;
            return true;
        }
    *type = (ptx_type)ptx_type_find(word->text, word->length);
    return *type != PTX_NONE;
}

bool ptx_registers_declare(ptx_parser *p) {
    ptx_name word, name;
    ptx_type type = PTX_NONE;
    uint32_t vector = 1;
    while (ptx_directive_read(p, &word))
        if (!type_read(&word, &type, &vector)) return ptx_fail(p, "'.%.*s' is no type", (int)word.length, word.text);
    if (type == PTX_NONE) return ptx_expected(p, "the registers' type");
    do {
        if (!ptx_name_need(p, &name, "a register's name")) return false;
        if (!(ptx_accept(p, '<') ? range_declare(p, &name, type) : register_declare(p, &name, type, vector)))
            return false;
    } while (ptx_accept(p, ','));
    return ptx_need(p, ';');
}

/* ---- variables ------------------------------------------------------------------------------- */

enum { MAX_DIMENSIONS = 8 };
#define MAX_INITIAL (UINT64_C(1) << 28) /* bytes of an initial value */

/* What stands before a variable's name. */
typedef struct declaration {
    ptx_type type;
    uint32_t vector, align;
    bool managed;
} declaration;

static bool attributes_read(ptx_parser *p, declaration *d) {
    if (!ptx_need(p, '(')) return false;
    ptx_name word;
    const char *from = p->at;
    if (!ptx_block_skip(p, '(', ')')) return false;
    ptx_parser inside = *p; /* .managed, .unified(uuid1, uuid2) */
    inside.at = from, inside.end = p->at;
    while (inside.at < inside.end)
        if (ptx_directive_read(&inside, &word))
            d->managed |= ptx_name_is(&word, "managed");
        else
            inside.at++;
    return true;
}

static bool declaration_read(ptx_parser *p, declaration *d) {
    static const char *const spaces[] = {"global", "const", "shared", "local", "generic", "param"};
    ptx_name word;
    *d = (declaration){.vector = 1};
    while (ptx_directive_read(p, &word)) {
        if (ptx_name_is(&word, "align")) {
            if (!ptx_u32_read(p, &d->align, "alignment")) return false;
            if (!d->align || d->align & (d->align - 1)) return ptx_fail(p, "alignment %u is no power of two", d->align);
        } else if (ptx_name_is(&word, "attribute")) {
            if (!attributes_read(p, d)) return false;
        } else if (ptx_name_is(&word, "ptr")) { /* of what a pointer points to: .ptr .global .align 16 */
            uint32_t pointed;
            while (ptx_directive_read(p, &word)) {
                bool space = false;
                for (size_t k = 0; k < sizeof spaces / sizeof *spaces; k++) space |= ptx_name_is(&word, spaces[k]);
                if (ptx_name_is(&word, "align") ? !ptx_u32_read(p, &pointed, "alignment") : !space)
                    return ptx_fail(p, "'.%.*s' after .ptr", (int)word.length, word.text);
            }
        } else if (!type_read(&word, &d->type, &d->vector)) {
            return ptx_fail(p, "'.%.*s' is no type of a variable", (int)word.length, word.text);
        }
    }
    if (d->type == PTX_NONE || (d->type == PTX_PRED)) return ptx_expected(p, "a variable's type");
    return true;
}

static bool dimensions_read(ptx_parser *p, uint64_t dimension[MAX_DIMENSIONS], int *count) {
    for (*count = 0; ptx_accept(p, '['); ++*count) {
        if (*count == MAX_DIMENSIONS) return ptx_fail(p, "an array of more than %d dimensions", MAX_DIMENSIONS);
        dimension[*count] = 0;
        if (ptx_accept(p, ']')) {
            if (*count) return ptx_fail(p, "only the first dimension may be open");
            continue;
        }
        if (!ptx_constant_starts(p)) return ptx_expected(p, "a dimension");
        int64_t value = ptx_integer_read(p);
        if (p->failed || value < 0) return ptx_fail(p, "a dimension of %lld", (long long)value);
        dimension[*count] = (uint64_t)value;
        if (!ptx_need(p, ']')) return false;
    }
    return true;
}

/* An initial value while it is read: bytes so far, and relocations. */
typedef struct initial {
    ptx_parser *p;
    ptx_variable *variable;
    uint64_t dimension[MAX_DIMENSIONS + 1]; /* a vector's elements are one more */
    int dimensions;
    ptx_list bytes;
    size_t relocations;
} initial;

static bool initial_reach(initial *in, uint64_t bytes) {
    if (bytes > MAX_INITIAL)
        return ptx_fail(in->p, "an initial value of more than %llu bytes", (unsigned long long)MAX_INITIAL);
    while (in->bytes.count < bytes) ptx_list_add(&in->bytes, 1);
    return true;
}

/* name, name+4, generic(name)+4, 0xff00(name) */
static bool initial_address(initial *in, uint64_t at, uint32_t size, uint64_t mask) {
    ptx_parser *p = in->p;
    ptx_name name;
    struct ptx_relocation *r = ptx_list_add(&p->own->relocations, sizeof *r);
    *r = (struct ptx_relocation){.at = at, .bytes = (uint8_t)size};
    if (!ptx_name_need(p, &name, "a constant or a name")) return false;
    if (!mask && ptx_name_is(&name, "generic") && ptx_accept(p, '(')) {
        r->generic = true;
        if (!ptx_name_need(p, &name, "a variable's name")) return false;
        r->symbol = ptx_name_keep(p, &name);
        if (!ptx_need(p, ')')) return false;
    } else {
        r->symbol = ptx_name_keep(p, &name);
    }
    if (mask) r->shift = (uint8_t)__builtin_ctzll(mask);
    char sign = ptx_peek(p);
    if (sign == '+' || sign == '-') r->addend = ptx_integer_read(p);
    return !p->failed;
}

/* The bytes of a number in the variable's type. */
static bool initial_number(ptx_parser *p, ptx_type type, ptx_constant value, uint8_t *to) {
    uint64_t bits = value.bits;
    bool is_float = type == PTX_F32 || type == PTX_F64;
    if (value.floating != is_float && (value.floating || value.bits))
        return ptx_fail(p, "a value of type .%s expected", ptx_type_text[type]);
    if (type == PTX_F32 && !value.single) {
        double wide;
        memcpy(&wide, &bits, sizeof wide);
        float narrow = (float)wide;
        uint32_t word;
        memcpy(&word, &narrow, sizeof word);
        bits = word;
    } else if (type == PTX_F64 && value.single) {
        uint32_t word = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &word, sizeof narrow);
        double wide = narrow;
        memcpy(&bits, &wide, sizeof bits);
    }
    uint32_t size = ptx_type_bytes[type];
    memcpy(to, &bits, size < 8 ? size : 8); /* little-endian, as the device is */
    return true;
}

static bool initial_element(initial *in, uint64_t at) {
    ptx_parser *p = in->p;
    uint32_t size = ptx_type_bytes[in->variable->type];
    if (!initial_reach(in, at + size)) return false;
    if (ptx_is_name_start(ptx_peek(p)) && !ptx_constant_starts(p)) return initial_address(in, at, size, 0);
    const ptx_parser before = *p;
    ptx_constant value = {0};
    if (ptx_is_digit(*p->at)) { /* 0xff(name): a byte of an address */
        while (p->at < p->end && ptx_is_name(*p->at)) p->at++;
        bool mask = ptx_peek(p) == '(';
        ptx_parser behind = *p;
        *p = before;
        if (mask) {
            p->end = behind.at;
            value = ptx_constant_read(p);
            p->end = before.end;
            if (!value.bits) return ptx_fail(p, "a mask of zero");
            return ptx_need(p, '(') && initial_address(in, at, size, value.bits) && ptx_need(p, ')');
        }
    }
    value = ptx_constant_read(p);
    return !p->failed && in->bytes.data && initial_number(p, in->variable->type, value, (uint8_t *)in->bytes.data + at);
}

/* {…} of this dimension: elements, or braces of the dimension within. */
static bool initial_braces(initial *in, int level, uint64_t at) {
    ptx_parser *p = in->p;
    uint64_t stride = ptx_type_bytes[in->variable->type], limit = in->dimension[level], elements = 1;
    for (int k = level + 1; k < in->dimensions; k++) elements *= in->dimension[k];
    if (ptx_accept(p, '}')) return true;
    uint64_t n = 0; /* elements so far */
    do {
        uint64_t place = at + n * stride;
        if (limit && n >= limit * elements) return ptx_fail(p, "more values than the array has elements");
        if (ptx_accept(p, '{')) {
            if (level + 1 >= in->dimensions) return ptx_fail(p, "braces nested deeper than the array's dimensions");
            if (!initial_braces(in, level + 1, place)) return false;
            n = (n / elements + 1) * elements;
        } else {
            if (!initial_element(in, place)) return false;
            n++;
        }
    } while (ptx_accept(p, ','));
    return ptx_need(p, '}');
}

static bool initial_read(ptx_parser *p, ptx_variable *variable, const uint64_t *dimension, int dimensions,
                         uint32_t vector) {
    initial in = {.p = p, .variable = variable, .dimensions = dimensions};
    memcpy(in.dimension, dimension, sizeof(uint64_t) * (size_t)dimensions);
    if (vector > 1) in.dimension[in.dimensions++] = vector;
    p->own->relocations.count = 0;
    bool open = dimensions && !dimension[0];
    if (variable->bytes > MAX_INITIAL)
        return ptx_fail(p, "an initial value of %llu bytes", (unsigned long long)variable->bytes);
    bool ok = in.dimensions ? ptx_need(p, '{') && initial_braces(&in, 0, 0) : initial_element(&in, 0);
    if (ok && open) {
        uint64_t row = ptx_type_bytes[variable->type];
        for (int k = 1; k < in.dimensions; k++) row *= in.dimension[k];
        variable->bytes = row ? (in.bytes.count + row - 1) / row * row : 0;
    }
    if (ok) {
        uint8_t *bytes = ptx_arena_take(&p->own->arena, variable->bytes + 1);
        if (in.bytes.count)
            memcpy(bytes, in.bytes.data, in.bytes.count < variable->bytes ? in.bytes.count : variable->bytes);
        variable->initial = bytes;
        variable->n_relocations = (int)p->own->relocations.count;
        variable->relocation = ptx_list_copy(&p->own->relocations, &p->own->arena, sizeof *variable->relocation);
    }
    ptx_list_free(&in.bytes);
    return ok;
}

/* Name, dimensions and size of a variable; what follows is up to the caller. */
static bool variable_read(ptx_parser *p, const declaration *d, ptx_variable *variable, ptx_name *name,
                          uint64_t *dimension, int *dimensions) {
    if (!ptx_name_need(p, name, "a variable's name")) return false;
    variable->name = ptx_name_keep(p, name);
    variable->type = d->type;
    variable->managed = d->managed;
    variable->parameter = variable->reg = -1;
    uint64_t element = (uint64_t)ptx_type_bytes[d->type] * d->vector;
    variable->align = d->align ? d->align : (uint32_t)element;
    variable->bytes = element;
    if (!dimensions_read(p, dimension, dimensions)) return false;
    for (int k = 0; k < *dimensions; k++)
        if (__builtin_mul_overflow(variable->bytes, dimension[k], &variable->bytes) || variable->bytes > INT64_MAX / 2)
            return ptx_fail(p, "'%s' is too large", variable->name);
    return true;
}

bool ptx_variables_read(ptx_parser *p, ptx_space space, ptx_linkage linkage) {
    declaration d;
    if (!declaration_read(p, &d)) return false;
    do {
        ptx_variable *variable = ptx_arena_take(&p->own->arena, sizeof *variable);
        uint64_t dimension[MAX_DIMENSIONS];
        int dimensions;
        ptx_name name;
        if (!variable_read(p, &d, variable, &name, dimension, &dimensions)) return false;
        variable->space = space;
        variable->external = linkage.external, variable->weak = linkage.weak;
        variable->visible = linkage.visible, variable->common = linkage.common;
        if (ptx_accept(p, '=')) {
            if (space != PTX_GLOBAL && space != PTX_CONST)
                return ptx_fail(p, "'%s' cannot have an initial value", variable->name);
            if (!initial_read(p, variable, dimension, dimensions, d.vector)) return false;
        }
        ptx_symbol *known =
            p->function ? NULL : ptx_table_find(&p->own->globals, PTX_IS_VARIABLE, name.text, name.length, name.hash);
        if (known) { /* declared before, now defined or declared again */
            ptx_variable *before = known->object;
            if (!before->external && !variable->external && !variable->weak && !variable->common)
                return ptx_fail(p, "'%s' is declared twice", variable->name);
            if (before->external) *before = *variable;
            continue;
        }
        ptx_symbol *symbol = NULL;
        if (!ptx_symbol_declare(p, PTX_IS_VARIABLE, &name, &symbol)) return false;
        symbol->object = variable;
        ptx_list *list = p->function ? &p->own->locals_list : &p->own->variables;
        *(ptx_variable **)ptx_list_add(list, sizeof variable) = variable;
    } while (ptx_accept(p, ','));
    return ptx_need(p, ';');
}

/* ---- parameters ------------------------------------------------------------------------------ */

bool ptx_parameters_read(ptx_parser *p, ptx_variable **out, int *count, uint32_t *bytes) {
    ptx_list list = {0};
    uint64_t offset = 0;
    bool ok = true;
    if (!ptx_accept(p, ')')) do {
            ptx_variable *variable = ptx_list_add(&list, sizeof *variable);
            declaration d;
            ptx_name word, name;
            uint64_t dimension[MAX_DIMENSIONS];
            int dimensions;
            if (!ptx_directive_read(p, &word)) word = (ptx_name){.text = ""};
            bool in_register = ptx_name_is(&word, "reg");
            ok = in_register || ptx_name_is(&word, "param") || ptx_expected(p, ".param");
            ok = ok && declaration_read(p, &d) && variable_read(p, &d, variable, &name, dimension, &dimensions);
            if (!ok) break;
            variable->space = in_register ? PTX_REG : PTX_PARAM;
            offset = (offset + variable->align - 1) & ~(uint64_t)(variable->align - 1);
            variable->parameter = (int32_t)offset;
            offset += variable->bytes;
            if (offset > INT32_MAX / 2 || list.count > 65536) ok = ptx_fail(p, "too many parameters");
        } while (ok && ptx_accept(p, ','));
    if (ok && list.count) ok = ptx_need(p, ')');
    *count = (int)list.count;
    *out = ptx_list_copy(&list, &p->own->arena, sizeof(ptx_variable));
    *bytes = (uint32_t)offset;
    ptx_list_free(&list);
    return ok && !p->failed;
}

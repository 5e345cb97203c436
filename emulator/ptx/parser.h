/* What the files of the parser share: memory, names, and a cursor over the text.
 *
 * A failure is noted once and moves the cursor to the end of the text: every loop then ends by itself, and what is
 * half made stays in the arena until the module is closed. */
#ifndef EMULATOR_PTX_PARSER_H
#define EMULATOR_PTX_PARSER_H

#include "ptx/ptx.h"

/* ---- memory ---------------------------------------------------------------------------------- */
typedef struct ptx_chunk ptx_chunk;
typedef struct ptx_arena {
    ptx_chunk *chunk;
    size_t used, room;
} ptx_arena;
void *ptx_arena_take(ptx_arena *, size_t bytes); /* zeroed, aligned to 16 */
void ptx_arena_free(ptx_arena *);

/* An array that grows; kept from function to function, so that each is copied once, at its final size. */
typedef struct ptx_list {
    void *data;
    size_t count, room;
} ptx_list;
void *ptx_list_add(ptx_list *, size_t size); /* zeroed */
void ptx_list_free(ptx_list *);
void *ptx_list_copy(const ptx_list *, ptx_arena *, size_t size);

/* ---- names ----------------------------------------------------------------------------------- */
typedef enum ptx_symbol_kind {
    PTX_IS_REGISTER = 1, /* index is the register */
    PTX_IS_RANGE = 2,    /* %r<100>: the name is the prefix, index the first register, count how many */
    PTX_IS_VECTOR = 4,   /* .v2, .v4: index is the first register, count 2 or 4 */
    PTX_IS_VARIABLE = 8,
    PTX_IS_FUNCTION = 16, /* or a prototype */
    PTX_IS_LABEL = 32,    /* index is the instruction */
    PTX_IS_TARGETS = 64,  /* .branchtargets: object is a vector operand */
    PTX_IS_STRING = 128,  /* kept once */
    PTX_IS_DEBUG = 512,   /* label within .debug_str; object: the string */
    PTX_IS_OPCODE = 256,  /* object: its words; count of them */
} ptx_symbol_kind;

typedef struct ptx_name {
    const char *text; /* in the module's text, not ended by 0 */
    uint32_t length, hash;
    uint32_t prefix, prefix_hash; /* without the digits at its end */
} ptx_name;

typedef struct ptx_symbol ptx_symbol;
struct ptx_symbol {
    ptx_symbol *next, *older;
    const char *text;
    uint32_t length, hash;
    ptx_symbol_kind kind;
    int depth; /* of the scope */
    uint32_t index, count;
    void *object;
};

/* Newest first in every bucket: an inner scope's names hide outer ones and leave in the order opposite to their coming.
 */
enum { PTX_BUCKETS = 8192 };
typedef struct ptx_table {
    ptx_symbol *bucket[PTX_BUCKETS];
    ptx_symbol *newest;
} ptx_table;
uint32_t ptx_hash(const char *text, size_t length);
ptx_symbol *ptx_table_add(ptx_table *, ptx_arena *, ptx_symbol_kind, const char *text, uint32_t length, uint32_t hash);
ptx_symbol *ptx_table_find(const ptx_table *, int kinds, const char *text, uint32_t length, uint32_t hash);
ptx_symbol *ptx_table_hidden(const ptx_symbol *); /* the next one of the same name and kind */
void ptx_table_leave(ptx_table *, int depth);     /* forgets the names of scopes of this depth and deeper */

/* ---- module and parser ---------------------------------------------------------------------------------------------
 */
typedef struct ptx_reference { /* a label that may come later */
    ptx_name name;
    uint32_t line, target;
    bool found;
} ptx_reference;

typedef struct ptx_section {
    const char *text;
    size_t bytes;
} ptx_section;

enum { PTX_PLACES = 4096 };
struct ptx_private {
    ptx_arena arena;
    ptx_arena scratch; /* of the function that is parsed */
    ptx_table globals; /* variables, functions, opcodes, strings */
    ptx_table locals;
    ptx_list functions, variables, files;
    ptx_list registers, locals_list, instructions, locations, references, relocations;
    ptx_list labelled;         /* operands that refer to labels */
    ptx_list operands;         /* stack of lists of operands that are being read */
    ptx_section debug_strings; /* text of .section .debug_str, until it is read */
    ptx_symbol *places[PTX_PLACES];
    size_t text_bytes;
};

enum { PTX_MAX_DEPTH = 100, PTX_MAX_REGISTERS = 1 << 20 };

typedef struct ptx_parser {
    const char *at, *end;
    uint32_t line;
    int depth;     /* of scopes */
    int recursion; /* of expressions and operands */
    bool failed;
    ptx_error *error;
    ptx_module *module;
    struct ptx_private *own;
    ptx_function *function; /* NULL: at module level */
    const char *opcode;     /* being read */
    uint32_t loc;
} ptx_parser;

/* Notes the first failure: line, source line, instruction, and this; false, which readers of one file can see. */
#define ptx_fail(...) (ptx_failed(__VA_ARGS__), ptx_false())
void ptx_failed(ptx_parser *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "expected this, found …" */
bool ptx_expected(ptx_parser *, const char *what);

/* ---- lexer ---------------------------------------------------------------------------------------------------------
 */
static inline bool ptx_is_digit(char c) { return (unsigned char)(c - '0') < 10; }
static inline bool ptx_is_name_start(char c) {
    return (unsigned char)((c | 32) - 'a') < 26 || c == '_' || c == '$' || c == '%' || (unsigned char)c >= 0x80;
}
static inline bool ptx_is_name(char c) { return ptx_is_name_start(c) ? c != '%' : ptx_is_digit(c); }

void ptx_skip_slow(ptx_parser *);
/* Past white space and comments. At the end of the text, *at is 0 or what lies behind the body. */
static inline void ptx_skip(ptx_parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t')) p->at++;
    if (p->at < p->end && (*p->at == '\n' || *p->at == '\r' || *p->at == '/' || *p->at == '\f' || *p->at == '\v'))
        ptx_skip_slow(p);
}
/* The next character that is no space, 0 at the end. */
static inline char ptx_peek(ptx_parser *p) {
    ptx_skip(p);
    return p->at < p->end ? *p->at : 0;
}
static inline bool ptx_accept(ptx_parser *p, char c) {
    if (ptx_peek(p) != c) return false;
    p->at++;
    return true;
}
bool ptx_need(ptx_parser *, char c);
bool ptx_name_read(ptx_parser *, ptx_name *); /* false without a failure when there is none */
bool ptx_name_need(ptx_parser *, ptx_name *, const char *what);
bool ptx_directive_read(ptx_parser *, ptx_name *); /* ".align" as "align" */
bool ptx_name_is(const ptx_name *, const char *text);
const char *ptx_name_keep(ptx_parser *, const ptx_name *);
bool ptx_string_read(ptx_parser *, ptx_name *);                /* between the quotes, escapes as they stand */
bool ptx_block_skip(ptx_parser *, char open, char close);      /* at is behind the opening one; moves behind its end */
bool ptx_digits_read(ptx_parser *, uint32_t *);                /* decimal digits alone */
bool ptx_u32_read(ptx_parser *, uint32_t *, const char *what); /* constant expression within range */

/* ---- constants ------------------------------------------------------------------------------------------------------
 */
typedef struct ptx_constant {
    uint64_t bits;
    bool floating, single, is_unsigned;
} ptx_constant;
bool ptx_constant_starts(ptx_parser *); /* a digit, sign or parenthesis */
ptx_constant ptx_constant_read(ptx_parser *);
int64_t ptx_integer_read(ptx_parser *);

/* ---- declarations ---------------------------------------------------------------------------------------------------
 */
typedef struct ptx_linkage {
    bool external, weak, visible, common;
} ptx_linkage;
/* After the space's directive: ".align 4 .b8 a[3] = {1, 2, 3}, b;" up to the semicolon, which it takes. */
bool ptx_variables_read(ptx_parser *, ptx_space, ptx_linkage);
/* (.param .u64 a, .reg .u32 b): after the opening parenthesis, up to the closing one, which it takes. */
bool ptx_parameters_read(ptx_parser *, ptx_variable **out, int *count, uint32_t *bytes);
bool ptx_registers_declare(ptx_parser *); /* after .reg */
bool ptx_register_add(ptx_parser *, const char *name, ptx_type, uint32_t *index);
bool ptx_symbol_declare(ptx_parser *, ptx_symbol_kind, const ptx_name *, ptx_symbol **);
int ptx_type_find(const char *text, size_t length);

/* ---- bodies ---------------------------------------------------------------------------------------------------------
 */
bool ptx_instruction_read(ptx_parser *);
bool ptx_prototype_read(ptx_parser *, const ptx_name *label); /* after .callprototype */
bool ptx_special_read(ptx_parser *, ptx_operand *,
                      const ptx_name *); /* a name that begins with % and is not declared */
bool ptx_targets_read(ptx_parser *, const ptx_name *, bool label);
void ptx_labels_resolve(ptx_parser *, size_t first); /* references since `first` to labels of the scope that ends */
bool ptx_labels_settle(ptx_parser *);                /* at the end of the function */
bool ptx_entry_read(ptx_parser *, bool entry, ptx_linkage); /* after .entry or .func */
bool ptx_location_read(ptx_parser *);                       /* after .loc */
bool ptx_location_skip(ptx_parser *);
bool ptx_file_read(ptx_parser *); /* after .file */
#endif

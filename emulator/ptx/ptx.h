/* PTX as data: a module of functions, variables and instructions, as the text has them and not yet resolved to anything
 * that runs. Syntax: NVIDIA's PTX ISA, version 9.0.
 *
 * The parser knows the grammar and no instruction: an instruction is its words ("cvt", "rn", "bf16x2", "f32") and its
 * operands. Which words and operands an instruction may have is known by what decodes it (machine/decode.h).
 * A kernel's body is parsed when it is first asked for: a file of ten megabytes opens in milliseconds. */
#ifndef EMULATOR_PTX_PTX_H
#define EMULATOR_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fundamental and packed types, with their sizes in bytes; X(name, text, bytes). */
#define PTX_TYPES(X)       \
    X(NONE, "", 0)         \
    X(PRED, "pred", 0)     \
    X(B8, "b8", 1)         \
    X(U8, "u8", 1)         \
    X(S8, "s8", 1)         \
    X(E4M3, "e4m3", 1)     \
    X(E5M2, "e5m2", 1)     \
    X(E2M3, "e2m3", 1)     \
    X(E3M2, "e3m2", 1)     \
    X(E2M1, "e2m1", 1)     \
    X(B16, "b16", 2)       \
    X(U16, "u16", 2)       \
    X(S16, "s16", 2)       \
    X(F16, "f16", 2)       \
    X(BF16, "bf16", 2)     \
    X(E4M3X2, "e4m3x2", 2) \
    X(E5M2X2, "e5m2x2", 2) \
    X(B32, "b32", 4)       \
    X(U32, "u32", 4)       \
    X(S32, "s32", 4)       \
    X(F32, "f32", 4)       \
    X(TF32, "tf32", 4)     \
    X(F16X2, "f16x2", 4)   \
    X(BF16X2, "bf16x2", 4) \
    X(U16X2, "u16x2", 4)   \
    X(S16X2, "s16x2", 4)   \
    X(B64, "b64", 8)       \
    X(U64, "u64", 8)       \
    X(S64, "s64", 8)       \
    X(F64, "f64", 8)       \
    X(F32X2, "f32x2", 8)   \
    X(B128, "b128", 16)
typedef enum ptx_type {
#define PTX_TYPE_NAME(name, text, bytes) PTX_##name,
    PTX_TYPES(PTX_TYPE_NAME)
#undef PTX_TYPE_NAME
        PTX_N_TYPES
} ptx_type;
extern const uint8_t ptx_type_bytes[PTX_N_TYPES];
extern const char *const ptx_type_text[PTX_N_TYPES];
ptx_type ptx_type_of(const char *word); /* PTX_NONE when the word is no type */

typedef enum ptx_space { PTX_GENERIC, PTX_REG, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_CONST, PTX_PARAM } ptx_space;

typedef enum ptx_operand_kind {
    PTX_REGISTER, /* reg; negated: !%p1 */
    PTX_SPECIAL,  /* %tid.x and its kin: text */
    PTX_INTEGER,  /* bits, sign-extended to 64 */
    PTX_FLOATING, /* 0f…: bits of an f32 with single set; 0d… and decimal: bits of an f64 */
    PTX_SYMBOL,   /* a variable's or function's name (its address), + offset */
    PTX_ADDRESS,  /* [base + offset]: parts[0] is a register, symbol or integer */
    PTX_VECTOR,   /* {a, b, …}: parts */
    PTX_PAIR,     /* a|b: two destinations: parts */
    PTX_TENSOR,   /* [map, {c0, c1, …}] and longer: parts as written between the brackets */
    PTX_LABEL,    /* index of an instruction: target (n_instructions: the end) */
    PTX_SINK,     /* _ */
    PTX_LIST,     /* (a, b, …) of a call: parts, maybe none */
} ptx_operand_kind;

typedef struct ptx_operand {
    ptx_operand_kind kind;
    bool negated; /* !p */
    bool minus;   /* -%r of a register */
    bool single;
    int32_t reg; /* index into the function's registers */
    uint32_t target;
    uint64_t bits;
    int64_t offset;
    const char *text;                    /* special register without %, symbol's name */
    const struct ptx_variable *variable; /* of a symbol, NULL when it is a function's name */
    struct ptx_function *function;       /* of a symbol, NULL when it is a variable's name */
    const struct ptx_operand *parts;
    int n_parts;
} ptx_operand;

enum { PTX_MAX_WORDS = 16, PTX_MAX_OPERANDS = 12 };

/* Two instructions have operands other than as written:
 *   call      always results, callee, arguments as PTX_LIST, symbol or register, PTX_LIST; then, when there is one, the
 *             .callprototype (a symbol whose function is the prototype) or a PTX_VECTOR of the functions of
 * .calltargets; brx.idx   index, then a PTX_VECTOR of the labels that its .branchtargets list. */
typedef struct ptx_instruction {
    const char *const *word; /* word[0] is the mnemonic; no dots; "shared::cta" is one word */
    int n_words;
    const ptx_operand *operand;
    int n_operands;
    int32_t guard; /* register of the guard predicate, -1: none */
    bool guard_negated;
    uint32_t loc;  /* index into the function's locations, 0: unknown */
    uint32_t line; /* of the PTX text */
} ptx_instruction;

/* A source line, and where it was inlined. */
typedef struct ptx_location {
    const char *file;     /* NULL: unknown */
    const char *function; /* of inlined code, mangled; NULL: the kernel's own */
    uint32_t line, column;
    uint32_t inlined_at; /* index of the location of the call, 0: none */
} ptx_location;

typedef struct ptx_register {
    const char *name;
    ptx_type type;
} ptx_register;

typedef struct ptx_variable {
    const char *name;
    ptx_space space;
    ptx_type type;
    uint32_t align; /* bytes */
    uint64_t bytes; /* 0: an array of unknown size, such as dynamic shared memory */
    bool external, weak, visible, common, managed;
    const uint8_t *initial; /* bytes of it, NULL: zeros. Addresses of symbols within are in relocations */
    struct ptx_relocation {
        uint64_t at;
        const char *symbol;
        int64_t addend;
        bool generic;
        uint8_t bytes, shift; /* so many bytes of the address >> shift; 8, 0 but for masks such as 0xff00(name) */
    } * relocation;
    int n_relocations;
    int32_t parameter; /* offset in the parameter block, for parameters of functions, else -1 */
    int32_t reg;       /* of a parameter in PTX_REG: the function's register, once the body is parsed; else -1 */
    void *user;        /* .global and .const variables of a module: host address, set when the module is loaded */
} ptx_variable;

typedef struct ptx_function {
    const char *name;
    struct ptx_module *module;
    bool entry;
    bool parsed; /* the body was */
    bool external, weak, visible, noreturn;
    bool prototype; /* of a .callprototype */
    ptx_variable *parameter;
    int n_parameters;
    uint32_t parameter_bytes;
    ptx_variable *result; /* of a device function, NULL: none */
    ptx_register *reg;
    int n_registers;
    ptx_variable *
        *variable; /* local, shared and .param variables (of calls) declared in the body, nested scopes, too */
    int n_variables;
    ptx_instruction *instruction;
    int n_instructions;
    ptx_location *location; /* location[0] is unknown */
    int n_locations;
    uint32_t max_threads[3];      /* .maxntid, 0: not given */
    uint32_t required_threads[3]; /* .reqntid */
    uint32_t cluster[3];          /* .reqnctapercluster, 0: not given */
    bool explicit_cluster;        /* .explicitcluster */
    uint32_t min_blocks, max_blocks_per_cluster, max_registers;
    const char *body; /* text between the braces, for parsing later; NULL: declared only */
    uint32_t body_line;
    size_t body_bytes;
    void *user; /* of who decodes it */
} ptx_function;

typedef struct ptx_module {
    char *text;      /* owned */
    int version;     /* 90 for .version 9.0 */
    char target[16]; /* "sm_90a" */
    ptx_function **function;
    int n_functions;
    ptx_variable **variable; /* of the module */
    int n_variables;
    const char **file; /* of .file, by their number */
    int n_files;
    struct ptx_private *internals;
} ptx_module;

typedef struct ptx_error {
    uint32_t line;  /* of the PTX text */
    char text[400]; /* one line, names the instruction and the source line where known */
} ptx_error;

/* Copies the text. NULL and *error on failure. */
ptx_module *ptx_module_open(const char *text, size_t bytes, ptx_error *error);
void ptx_module_close(ptx_module *);

/* Parses the body unless that is done. False and *error on failure. */
bool ptx_function_parse(ptx_function *, ptx_error *error);
ptx_function *ptx_function_find(const ptx_module *, const char *name);
ptx_variable *ptx_variable_find(const ptx_module *, const char *name);

/* Writes "file.cu:12:5 (inlined at …)" or "line 123 of the PTX". */
void ptx_location_text(const ptx_function *, const ptx_instruction *, char *text, size_t bytes);
/* Writes the instruction as PTX. */
void ptx_instruction_text(const ptx_function *, const ptx_instruction *, char *text, size_t bytes);

/* The words after the first, one taken after the other: true and moves on when the next word is this one. */
typedef struct ptx_words {
    const ptx_instruction *instruction;
    int next;
} ptx_words;
static inline ptx_words ptx_words_of(const ptx_instruction *instruction) {
    return (ptx_words){.instruction = instruction, .next = 1};
}
bool ptx_take(ptx_words *, const char *word);
/* Index of the next word in the list, which ends with NULL, and moves on; otherwise if none of them, `otherwise`. */
int ptx_take_of(ptx_words *, const char *const *list, int otherwise);
ptx_type ptx_take_type(ptx_words *); /* PTX_NONE when the next word is no type */
bool ptx_words_end(const ptx_words *);

/* PTX texts within a fat binary, as nvcc embeds it: calls found() for each, with the number of its architecture (90 for
 * sm_90a). The text is valid until found() returns. bytes: of a .nv_fatbin section, which may hold several; 0: one fat
 * binary, as long as it says itself
 * (__fatBinC_Wrapper_t's data). Entries of machine code are passed over. False and *error when no text can be read:
 * there is none, or they are compressed by anything but LZ4; the error names nvcc's option. */
bool ptx_fatbin_each(const void *fatbin, size_t bytes,
                     void (*found)(void *context, const char *text, size_t bytes, int sm), void *context,
                     ptx_error *error);

/* What failing functions return: a call, so that the value may be left unused. */
static inline bool ptx_false(void) { return false; }

#endif

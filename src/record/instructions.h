/* Instructions of a GPU kernel, counted by what they do, in the text that cuobjdump prints of PTX or of machine code (SASS).
 * Counts are of the text: a loop's body counts once, however often it runs. */
#ifndef RIDGE_RECORD_INSTRUCTIONS_H
#define RIDGE_RECORD_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ridge_code { RIDGE_CODE_PTX, RIDGE_CODE_SASS, RIDGE_CODE_COUNT } ridge_code;
const char *ridge_code_name(ridge_code code); /* "ptx" */

enum { RIDGE_INSTRUCTION_CLASSES = 10 };

/* A class and how its mnemonics are written in either language, as patterns of fnmatch. An instruction is of the first class
 * that matches; one that none matches is counted in the total alone. */
typedef struct ridge_instruction_class {
    const char *name, *brief; /* of a field and a column: "tensor" */
    const char *pattern[RIDGE_CODE_COUNT][8];
} ridge_instruction_class;
extern const ridge_instruction_class ridge_instruction_classes[RIDGE_INSTRUCTION_CLASSES];

typedef struct ridge_instructions {
    int64_t all, of[RIDGE_INSTRUCTION_CLASSES];
} ridge_instructions;

/* A function's text, line by line, from the line that names it on. */
typedef struct ridge_instruction_scan {
    ridge_code code;
    int depth;         /* of PTX: braces that are open */
    bool in_statement; /* of PTX, whose statements end with semicolons */
    bool ended;        /* the function's last brace was met */
    ridge_instructions found;
} ridge_instruction_scan;
void ridge_instructions_line(ridge_instruction_scan *scan, const char *line);

#endif

/* Instructions as text that parses to the same again. */
#include <stdarg.h>
#include <stdio.h>

#include "ptx/ptx.h"

typedef struct output {
    const ptx_function *function;
    char *text;
    size_t used, bytes;
} output;

__attribute__((format(printf, 2, 3))) static void add(output *out, const char *format, ...) {
    if (out->used >= out->bytes) return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(out->text + out->used, out->bytes - out->used, format, arguments);
    va_end(arguments);
    if (length > 0) out->used += (size_t)length;
}

static void add_operand(output *out, const ptx_operand *o);

static void add_parts(output *out, const ptx_operand *o, const char *between) {
    for (int k = 0; k < o->n_parts; k++) {
        if (k) add(out, "%s", between);
        add_operand(out, &o->parts[k]);
        if (!k && o->offset) add(out, "+%lld", (long long)o->offset);
    }
}

static void add_operand(output *out, const ptx_operand *o) {
    switch (o->kind) {
        case PTX_REGISTER: {
            bool known = out->function && o->reg >= 0 && o->reg < out->function->n_registers;
            add(out, "%s%s", o->negated ? "!" : o->minus ? "-" : "", known ? out->function->reg[o->reg].name : "?");
            break;
        }
        case PTX_SPECIAL: add(out, "%%%s", o->text); break;
        case PTX_INTEGER: add(out, "%lld", (long long)o->bits); break;
        case PTX_FLOATING:
            if (o->single)
                add(out, "0f%08llX", (unsigned long long)o->bits);
            else
                add(out, "0d%016llX", (unsigned long long)o->bits);
            break;
        case PTX_SYMBOL:
            add(out, "%s", o->text);
            if (o->offset) add(out, "+%lld", (long long)o->offset);
            break;
        case PTX_ADDRESS:
        case PTX_TENSOR:
            add(out, "[");
            add_parts(out, o, ", ");
            add(out, "]");
            break;
        case PTX_VECTOR:
            add(out, "{");
            add_parts(out, o, ", ");
            add(out, "}");
            break;
        case PTX_LIST:
            add(out, "(");
            add_parts(out, o, ", ");
            add(out, ")");
            break;
        case PTX_PAIR: add_parts(out, o, "|"); break;
        case PTX_LABEL: add(out, "%s", o->text); break;
        case PTX_SINK: add(out, "_"); break;
    }
}

void ptx_instruction_text(const ptx_function *f, const ptx_instruction *instruction, char *text, size_t bytes) {
    output out = {.function = f, .text = text, .bytes = bytes};
    if (bytes) *text = 0;
    if (instruction->guard >= 0)
        add(&out, "@%s%s ", instruction->guard_negated ? "!" : "", f->reg[instruction->guard].name);
    for (int k = 0; k < instruction->n_words; k++) add(&out, "%s%s", k ? "." : "", instruction->word[k]);
    for (int k = 0; k < instruction->n_operands; k++) {
        add(&out, "%s", k ? ", " : " ");
        add_operand(&out, &instruction->operand[k]);
    }
    add(&out, ";");
}

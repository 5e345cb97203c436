#include "record/instructions.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Asynchronous copies come before the loads and stores, whose patterns take them, too. `vector`: of global memory, several elements
 * in PTX, 8 bytes and more in machine code, where the compiler may have joined or split what PTX says. */
const ridge_instruction_class ridge_instruction_classes[RIDGE_INSTRUCTION_CLASSES] = {
    {"tensor", "tens", {{"wgmma.mma_async*", "mma.*", "wmma.mma*", "tcgen05.mma*"}, {"*MMA", "*MMA.*"}}},
    {"tma",
     "tma",
     {{"cp.async.bulk.tensor*", "cp.async.bulk.shared*", "cp.async.bulk.global*", "cp.reduce.async.bulk*"},
      {"UTMALDG*", "UTMASTG*", "UTMAREDG*", "UBLKCP*", "UBLKRED*"}}},
    {"cp_async", "async", {{"cp.async.c[ag].*"}, {"LDGSTS*"}}},
    {"vector",
     "vec",
     {{"ld*.global*.v[248].*", "st*.global*.v[248].*"},
      {"LDG*.64*", "LDG*.128*", "LDG*.256*", "STG*.64*", "STG*.128*", "STG*.256*"}}},
    {"scalar", "scal", {{"ld*.global*", "st*.global*"}, {"LDG*", "STG*"}}},
    {"shared",
     "shar",
     {{"ld*.shared*", "st*.shared*", "ldmatrix*", "stmatrix*"}, {"LDS", "LDS.*", "LDSM*", "STS", "STS.*", "STSM*"}}},
    {"local", "loc", {{"ld*.local*", "st*.local*"}, {"LDL*", "STL*"}}},
    {"special", "spec", {{"ex2.*", "lg2.*", "rcp.*", "rsqrt.*", "sqrt.*", "sin.*", "cos.*", "tanh.*"}, {"MUFU*"}}},
    {"fma", "fma", {{"fma.*"}, {"FFMA*", "HFMA2*", "DFMA*"}}},
    {"barrier", "barr", {{"bar.*", "barrier.*", "mbarrier.*"}, {"BAR*", "SYNCS*", "UCGABAR*"}}},
};

const char *ridge_code_name(ridge_code code) { return code == RIDGE_CODE_PTX ? "ptx" : "sass"; }

static void count(ridge_instruction_scan *s, const char *mnemonic) {
    s->found.all++;
    for (int c = 0; c < RIDGE_INSTRUCTION_CLASSES; c++)
        for (const char *const *p = ridge_instruction_classes[c].pattern[s->code]; *p; p++)
            if (fnmatch(*p, mnemonic, 0) == 0) {
                s->found.of[c]++;
                return;
            }
}

/* Copies the word at `from`, and returns what follows it. Two colons are part of a word, as in shared::cluster. */
static const char *word_at(const char *from, char *word, size_t size) {
    size_t n = strcspn(from, " \t\n;:{}");
    while (from[n] == ':' && from[n + 1] == ':') n += 2 + strcspn(from + n + 2, " \t\n;:{}");
    (void)snprintf(word, size, "%.*s", (int)(n < size ? n : size - 1), from);
    return from + n;
}

/* One statement's beginning: a label, a predicate, a directive or an instruction. Returns what follows what was read. */
static const char *ptx_statement(ridge_instruction_scan *s, const char *at) {
    char word[128];
    const char *end = word_at(at, word, sizeof word);
    if (*end == ':') return end + 1;
    if (word[0] == '@') return end;
    if (word[0] == '.') { /* .loc and its like end with the line, .reg and its like with a semicolon */
        const char *semicolon = strchr(end, ';');
        return semicolon ? semicolon : end + strlen(end);
    }
    if (isalpha((unsigned char)word[0])) count(s, word);
    s->in_statement = true;
    return end;
}

/* What follows a brace. Lists of registers have braces, too. */
static const char *ptx_brace(ridge_instruction_scan *s, const char *at) {
    s->depth += *at == '{' ? 1 : -1;
    s->ended = s->depth == 0;
    return at + 1;
}

static void ptx_line(ridge_instruction_scan *s, const char *line) {
    for (const char *at = line; *at && strncmp(at, "//", 2) != 0 && !s->ended;) {
        if (*at == '{' || *at == '}')
            at = ptx_brace(s, at);
        else if (*at == ';')
            s->in_statement = false, at++;
        else if (s->in_statement || s->depth == 0 || isspace((unsigned char)*at))
            at++;
        else
            at = ptx_statement(s, at);
    }
}

/* An address as a comment, then perhaps a predicate, then an instruction. The line of its encoding alone has no address. */
static void sass_line(ridge_instruction_scan *s, const char *line) {
    char word[128];
    int end = 0;
    if (sscanf(line, " /*%*[0-9a-f]*/ %n", &end) == EOF || end == 0) return;
    const char *at = line + end;
    if (*at == '{') at += 1 + strspn(at + 1, " ");
    if (*at == '@') at = word_at(at, word, sizeof word), at += strspn(at, " ");
    if (!isupper((unsigned char)*at)) return;
    (void)word_at(at, word, sizeof word);
    count(s, word);
}

void ridge_instructions_line(ridge_instruction_scan *scan, const char *line) {
    if (scan->code == RIDGE_CODE_PTX)
        ptx_line(scan, line);
    else
        sass_line(scan, line);
}

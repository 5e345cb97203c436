#include "record/kernels.h"

#include <ctype.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "record/json.h"
#include "record/record.h"

/* Names are numbers of characters and then these, one for each scope: the last of the first row of them is the function's. */
void ridge_kernel_brief(const char *name, char *text, size_t size) {
    const char *at = name ? name : "";
    (void)snprintf(text, size, "%s", name ? name : "(of a library)");
    if (strncmp(at, "_Z", 2) != 0) return;
    at += strcspn(at, "0123456789");
    while (isdigit((unsigned char)*at)) {
        char *from;
        const unsigned long n = strtoul(at, &from, 10);
        if (n > strlen(from)) return;
        (void)snprintf(text, size, "%.*s", (int)n, from);
        at = from + n;
    }
}

static json_t *code_json(const ridge_kernel_text *t, bool text) {
    if (!t->arch[0]) return json_null();
    json_t *json = json_pack("{s:s, s:I}", "arch", t->arch, "instructions", (json_int_t)t->count.all);
    for (int c = 0; json && c < RIDGE_INSTRUCTION_CLASSES; c++)
        (void)json_object_set_new(json, ridge_instruction_classes[c].name, json_integer(t->count.of[c]));
    if (json && text) (void)json_object_set_new(json, "text", ridge_json_text(t->text));
    return json;
}

typedef struct listing {
    const ridge_kernel_record *kernels;
    bool texts;
} listing;

static json_t *kernel_json(const void *context, int i) {
    const listing *l = context;
    const ridge_kernel_record *k = &l->kernels[i];
    char of[RIDGE_CASE_NAME], brief[96];
    ridge_case_name(k->target, k->c, of, sizeof of);
    ridge_kernel_brief(k->kernel.name, brief, sizeof brief);
    const int *b = k->kernel.blocks, *t = k->kernel.threads;
    return json_pack("{s:s, s:s, s:s, s:s?, s:s, s:s?, s:[i,i,i], s:[i,i,i], s:i, s:i, s:i, s:o, s:o}", "target",
                     k->target->name, "case", of, "variant", k->variant->name, "way", k->way ? k->way->name : NULL,
                     "kernel", brief, "symbol", k->kernel.name, "blocks", b[0], b[1], b[2], "threads", t[0], t[1], t[2],
                     "registers", k->kernel.registers, "local_bytes", k->kernel.local_bytes, "shared_bytes",
                     k->kernel.shared_bytes, "ptx", code_json(&k->in[RIDGE_CODE_PTX], l->texts), "sass",
                     code_json(&k->in[RIDGE_CODE_SASS], l->texts));
}

json_t *ridge_json_kernels(const ridge_kernel_record *kernels, int n, bool texts) {
    const listing l = {kernels, texts};
    return json_pack("{s:s, s:o}", "schema", "ridge-asm/1", "kernels", ridge_json_array(n, kernel_json, &l));
}

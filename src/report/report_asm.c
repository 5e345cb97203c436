/* The table of ridge asm: of each kernel a line for its PTX and one for its machine code. */
#include <stdio.h>

#include "record/kernels.h"
#include "report/report.h"

enum { ASM_TARGET, ASM_CASE, ASM_VARIANT, ASM_KERNEL, ASM_REGISTERS, ASM_CODE, ASM_ARCH, ASM_ALL, ASM_CLASSES };
enum { ASM_COLUMNS = ASM_CLASSES + RIDGE_INSTRUCTION_CLASSES };

/* One column a class, behind those that are the same for all. */
static void columns_of(ridge_column *columns) {
    static const ridge_column first[ASM_CLASSES] = {
        [ASM_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
        [ASM_CASE] = {.header = "case", .field = "case", .align = 'l', .heading = true},
        [ASM_VARIANT] = {.header = "variant", .field = "variant", .align = 'l', .heading = true},
        [ASM_KERNEL] = {.header = "kernel", .field = "kernel", .align = 'l', .heading = true},
        [ASM_REGISTERS] = {.header = "registers", .field = "registers", .align = 'r', .heading = true},
        [ASM_CODE] = {.header = "code", .field = "code", .align = 'l'},
        [ASM_ARCH] = {.header = "for", .field = "arch", .align = 'l', .drop = 60},
        [ASM_ALL] = {.header = "all", .field = "instructions", .align = 'r'},
    };
    for (int i = 0; i < ASM_CLASSES; i++) columns[i] = first[i];
    for (int c = 0; c < RIDGE_INSTRUCTION_CLASSES; c++) {
        const ridge_instruction_class *of = &ridge_instruction_classes[c];
        columns[ASM_CLASSES + c] = (ridge_column){
            .header = of->name, .brief = of->brief, .field = of->name, .align = 'r', .shorten = 70, .drop = 10 + c};
    }
}

static void set_count(ridge_table *table, int column, int64_t count) {
    char text[24];
    (void)snprintf(text, sizeof text, count ? "%lld" : ".", (long long)count);
    ridge_table_text(table, column, text);
    ridge_table_number(table, column, (double)count);
}

/* What stands in the line above the counts, and in CSV's fields. */
typedef struct names {
    char of[RIDGE_CASE_NAME], kernel[96], variant[160];
} names;

static names names_of(const ridge_kernel_record *k) {
    names n;
    ridge_case_name(k->target, k->c, n.of, sizeof n.of);
    ridge_kernel_brief(k->kernel.name, n.kernel, sizeof n.kernel);
    (void)snprintf(n.variant, sizeof n.variant, "%s%s%s", k->variant->name, k->way ? ":" : "",
                   k->way ? k->way->name : "");
    return n;
}

/* "cuda/optimized:rows_block on 64x1M f32: row_kernel, 64 blocks of 256 threads, 40 registers" */
static void add_heading(ridge_table *table, const ridge_kernel_record *k, const names *n) {
    char text[640], registers[40] = "";
    const int *b = k->kernel.blocks, *t = k->kernel.threads;
    if (k->kernel.registers) (void)snprintf(registers, sizeof registers, ", %d registers", k->kernel.registers);
    (void)snprintf(text, sizeof text, "%s %s on %s: %s, %lld blocks of %d threads%s", k->target->name, n->variant,
                   n->of, n->kernel, (long long)b[0] * b[1] * b[2], t[0] * t[1] * t[2], registers);
    ridge_table_heading(table, text);
}

static void add_code(ridge_table *table, const ridge_kernel_record *k, const names *n, ridge_code code) {
    const ridge_kernel_text *t = &k->in[code];
    ridge_table_row(table);
    ridge_table_text(table, ASM_TARGET, k->target->name);
    ridge_table_text(table, ASM_CASE, n->of);
    ridge_table_text(table, ASM_VARIANT, n->variant);
    ridge_table_text(table, ASM_KERNEL, n->kernel);
    if (k->kernel.registers) set_count(table, ASM_REGISTERS, k->kernel.registers);
    ridge_table_text(table, ASM_CODE, ridge_code_name(code));
    ridge_table_text(table, ASM_ARCH, t->arch);
    if (!t->arch[0]) return;
    set_count(table, ASM_ALL, t->count.all);
    for (int c = 0; c < RIDGE_INSTRUCTION_CLASSES; c++) set_count(table, ASM_CLASSES + c, t->count.of[c]);
}

static bool has_none(const ridge_kernel_record *kernels, int n, ridge_code code) {
    for (int i = 0; i < n; i++)
        if (kernels[i].in[code].arch[0]) return false;
    return true;
}

void ridge_report_asm(const ridge_kernel_record *kernels, int n, const ridge_page *page) {
    ridge_column columns[ASM_COLUMNS];
    columns_of(columns);
    ridge_table *table = ridge_table_new(columns, ASM_COLUMNS);
    const bool sass = !has_none(kernels, n, RIDGE_CODE_SASS);
    for (int i = 0; i < n; i++) {
        const names of = names_of(&kernels[i]);
        add_heading(table, &kernels[i], &of);
        add_code(table, &kernels[i], &of, RIDGE_CODE_PTX);
        if (sass) add_code(table, &kernels[i], &of, RIDGE_CODE_SASS);
    }
    ridge_table_print(table, page);
    ridge_table_free(table);
    if (!sass) ridge_page_explain(page, "This program has no machine code for this GPU, only PTX.\n");
}

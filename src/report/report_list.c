/* What there is to run: targets, a line each, and all that one target has. */
#include <stdlib.h>
#include <string.h>

#include "core/option.h"
#include "core/shortage.h"
#include "report/report.h"

/* ---- list ------------------------------------------------------------------------------------------------------- */

enum { LIST_TARGET, LIST_VARIANT, LIST_ROLE, LIST_WHERE, LIST_IDEA, LIST_CASES, LIST_COLUMNS };
static const ridge_column list_columns[LIST_COLUMNS] = {
    [LIST_TARGET] = {.header = "target", .field = "target", .align = 'l', .heading = true},
    [LIST_VARIANT] = {.header = "  variant", .field = "variant", .align = 'l'},
    [LIST_ROLE] = {.header = "role", .field = "role", .align = 'l', .drop = 60},
    [LIST_WHERE] = {.header = "runs here", .field = "runs_here", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
    [LIST_IDEA] = {.header = "idea", .field = "idea", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 24},
    [LIST_CASES] = {.field = "cases", .align = 'l'},
};

static void dims_text(const ridge_target *target, char *text, size_t size) {
    text[0] = '\0';
    for (int d = 0; d < ridge_target_rank(target); d++)
        (void)snprintf(text + strlen(text), size - strlen(text), "%s%s", d ? " x " : "", target->dims[d]);
}

/* Names of the timed cases, or of the edge cases; the caller frees it. NULL: memory is out. */
static char *cases_text(const ridge_target *target, bool edge, const char *gap) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    int printed = 0;
    for (int i = 0; stream && i < target->n_cases; i++) {
        if (target->cases[i].edge != edge) continue;
        char name[RIDGE_CASE_NAME];
        ridge_case_name(target, &target->cases[i], name, sizeof name);
        fprintf(stream, "%s%s", printed++ ? gap : "", name);
    }
    return ridge_memory_text(stream, &text);
}

static void print_cases(const ridge_target *target, bool edge, const ridge_page *page) {
    char *names = cases_text(target, edge, " ");
    if (names && names[0]) ridge_page_explain(page, "  %-6s  %s\n", edge ? "edges" : "cases", names);
    free(names);
}

/* "options eps=1e-05 activation=none (gelu, silu)": defaults, and the other words where values have words. */
static void print_options(const ridge_target *target, const ridge_page *page) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    for (int i = 0; to && i < RIDGE_MAX_OPTIONS && target->options[i].name; i++) {
        const ridge_option *option = &target->options[i];
        const char *fallback = ridge_option_word_of(option, option->fallback);
        const int words = ridge_option_words(option);
        if (fallback)
            fprintf(to, " %s=%s", option->name, fallback);
        else
            fprintf(to, " %s=%g", option->name, option->fallback);
        for (int w = 0, n = 0; w < words; w++)
            if (option->words[w] != fallback) fprintf(to, "%s%s", n++ ? ", " : " (or ", option->words[w]);
        if (fallback) fputc(')', to);
    }
    if (ridge_memory_text(to, &text) && text[0]) ridge_page_explain(page, "  options%s\n", text);
    free(text);
}

/* "solve(x, y, rows, cols)": the arguments of a kernel that is called by them. */
static void print_solve(const ridge_target *target, const ridge_page *page) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    const char *gap = "";
    for (int t = 0; to && t < target->n_in + target->n_out; t++, gap = ", ")
        fprintf(to, "%s%s", gap, t < target->n_in ? target->in[t].name : target->out[t - target->n_in].name);
    for (int d = 0; to && d < ridge_target_rank(target); d++) fprintf(to, "%s%s", gap, target->dims[d]);
    for (int i = 0; to && i < RIDGE_MAX_OPTIONS && target->options[i].name; i++)
        fprintf(to, "%s%s", gap, target->options[i].name);
    if (ridge_memory_text(to, &text)) ridge_page_explain(page, "  check   solve(%s)\n", text);
    free(text);
}

/* Whether the variant can run every timed case here, and if not why. Returns into text. */
static void where_it_runs(const ridge_target *target, const ridge_variant *variant, const ridge_machine *machine,
                          char *text, size_t size) {
    const char *why = NULL;
    int can = 0, timed = 0;
    const ridge_backend backend = ridge_variant_backend(variant);
    const ridge_abilities here = ridge_machine_abilities(machine, machine->isa);
    for (int i = 0; i < target->n_cases; i++) {
        if (target->cases[i].edge || !ridge_case_is_for(&target->cases[i], backend)) continue;
        const char *obstacle = ridge_variant_dense_obstacle(target, variant, &target->cases[i], &here);
        timed++;
        can += !obstacle;
        if (obstacle) why = obstacle;
    }
    if (can == timed)
        (void)snprintf(text, size, "yes, %s",
                       backend == RIDGE_BACKEND_cuda ? machine->gpu.name : ridge_isa_name(machine->isa));
    else if (can)
        (void)snprintf(text, size, "%d of %d cases (%s)", can, timed, why);
    else
        (void)snprintf(text, size, "no: %s", why);
}

static void add_way(ridge_table *table, const ridge_target *target, const ridge_variant *variant,
                    const ridge_way *way) {
    char name[160];
    ridge_table_row(table);
    (void)snprintf(name, sizeof name, "%s:%s", target->chapter, target->name);
    ridge_table_text(table, LIST_TARGET, name);
    (void)snprintf(name, sizeof name, "    :%s", way->name);
    ridge_table_text(table, LIST_VARIANT, name);
    (void)snprintf(name, sizeof name, "%s:%s", variant->name, way->name);
    ridge_table_data(table, LIST_VARIANT, name);
    ridge_table_text(table, LIST_IDEA, way->idea);
}

static void add_variant(ridge_table *table, const ridge_target *target, const ridge_variant *variant,
                        const ridge_machine *machine, const char *cases) {
    char name[120], where[200];
    where_it_runs(target, variant, machine, where, sizeof where);
    ridge_table_row(table);
    (void)snprintf(name, sizeof name, "%s:%s", target->chapter, target->name);
    ridge_table_text(table, LIST_TARGET, name);
    (void)snprintf(name, sizeof name, "  %s", variant->name);
    ridge_table_text(table, LIST_VARIANT, name);
    ridge_table_data(table, LIST_VARIANT, variant->name);
    ridge_table_text(table, LIST_ROLE, ridge_role_name(variant->role));
    ridge_table_text(table, LIST_WHERE, where);
    if (strncmp(where, "yes", 3) != 0) ridge_table_color(table, LIST_WHERE, RIDGE_DIM);
    ridge_table_text(table, LIST_IDEA, variant->idea);
    ridge_table_data(table, LIST_CASES, cases);
    for (int i = 0; i < variant->n_ways; i++) add_way(table, target, variant, &variant->ways[i]);
}

static ridge_table *variants_table(const ridge_target *const *targets, int n, const ridge_machine *machine) {
    ridge_table *table = ridge_table_new(list_columns, LIST_COLUMNS);
    for (int i = 0; i < n; i++) {
        char *cases = cases_text(targets[i], false, " ");
        for (int v = 0; v < targets[i]->n_variants; v++)
            add_variant(table, targets[i], &targets[i]->variants[v], machine, cases);
        free(cases);
    }
    return table;
}

/* ---- list of several targets: a line each ------------------------------------------------------------------------ */

enum { BRIEF_CHAPTER, BRIEF_TARGET, BRIEF_SUMMARY, BRIEF_TYPES, BRIEF_VARIANTS, BRIEF_CASES, BRIEF_COLUMNS };
static const ridge_column brief_columns[BRIEF_COLUMNS] = {
    [BRIEF_CHAPTER] = {.header = "chapter", .field = "chapter", .align = 'l', .drop = 90},
    [BRIEF_TARGET] = {.header = "target", .field = "target", .align = 'l'},
    [BRIEF_SUMMARY] = {.header = "what it computes", .field = "summary", .align = 'l', .shorten = 60, .drop = 20},
    [BRIEF_TYPES] = {.header = "types", .field = "types", .align = 'l', .drop = 50},
    [BRIEF_VARIANTS] = {.header = "variants", .field = "variants", .align = 'l', .drop = 40},
    [BRIEF_CASES] = {.header = "cases", .field = "cases", .align = 'r', .drop = 70},
};

/* "f32 bf16 f16": those of its cases, in the order of their first one. */
static void types_text(const ridge_target *target, char *text, size_t size) {
    bool named[RIDGE_DTYPE_COUNT] = {false};
    text[0] = '\0';
    for (int i = 0; i < target->n_cases; i++) {
        const ridge_dtype dtype = target->cases[i].dtype;
        const size_t used = strlen(text);
        if (!named[dtype]) (void)snprintf(text + used, size - used, "%s%s", used ? " " : "", ridge_dtype_name(dtype));
        named[dtype] = true;
    }
}

/* "2 cpu, 4 cuda" */
static void variants_text(const ridge_target *target, char *text, size_t size) {
    text[0] = '\0';
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) {
        int n = 0;
        const size_t used = strlen(text);
        for (int v = 0; v < target->n_variants; v++)
            n += ridge_variant_backend(&target->variants[v]) == (ridge_backend)b;
        if (n)
            (void)snprintf(text + used, size - used, "%s%d %s", used ? ", " : "", n,
                           ridge_backend_name((ridge_backend)b));
    }
}

/* Its short form ends at a blank, so that a line of 80 columns holds it behind the longest name. */
static void put_summary(ridge_table *table, const char *summary) {
    enum { MOST = 48 };
    char cut[240];
    const char *rest;
    ridge_table_text(table, BRIEF_SUMMARY, summary);
    if (ridge_text_columns(summary) <= MOST) return;
    (void)snprintf(cut, sizeof cut, "%.*s …", (int)ridge_text_line(summary, MOST - 2, &rest), summary);
    ridge_table_brief(table, BRIEF_SUMMARY, cut);
}

static void add_brief(ridge_table *table, const ridge_target *target) {
    char text[120];
    int timed = 0;
    for (int i = 0; i < target->n_cases; i++) timed += !target->cases[i].edge;
    ridge_table_row(table);
    ridge_table_text(table, BRIEF_CHAPTER, target->chapter);
    ridge_table_text(table, BRIEF_TARGET, target->name);
    put_summary(table, target->summary);
    types_text(target, text, sizeof text);
    ridge_table_text(table, BRIEF_TYPES, text);
    variants_text(target, text, sizeof text);
    ridge_table_text(table, BRIEF_VARIANTS, text);
    (void)snprintf(text, sizeof text, "%d", timed);
    ridge_table_text(table, BRIEF_CASES, text);
}

void ridge_report_targets(const ridge_target *const *targets, int n, const ridge_page *page) {
    ridge_table *table = ridge_table_new(brief_columns, BRIEF_COLUMNS);
    for (int i = 0; i < n; i++) add_brief(table, targets[i]);
    ridge_table_print(table, page);
    ridge_table_free(table);
    ridge_page_explain(page, "ridge list TARGET has its cases, variants and ways.\n");
}

/* ---- list of one target: all that it has ------------------------------------------------------------------------- */

void ridge_report_list(const ridge_target *const *targets, int n, const ridge_machine *machine,
                       const ridge_page *page) {
    if (page->format != RIDGE_FORMAT_TABLE) {
        ridge_table *all = variants_table(targets, n, machine);
        ridge_table_print(all, page);
        ridge_table_free(all);
        return;
    }
    for (int i = 0; i < n; i++) {
        const ridge_target *target = targets[i];
        char dims[200];
        dims_text(target, dims, sizeof dims);
        ridge_page_explain(page, "%s%s:%s  %s (%s)\n", i ? "\n" : "", target->chapter, target->name, target->summary,
                           dims);
        print_cases(target, false, page);
        print_cases(target, true, page);
        print_options(target, page);
        print_solve(target, page);
        ridge_table *table = variants_table(&target, 1, machine);
        ridge_table_print(table, page);
        ridge_table_free(table);
    }
}

/* ridge verify: checks every variant against the oracle, each in a child process, and checks that every mutant is
 * caught. */
#include <stdlib.h>

#include "cli/bench.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/say.h"
#include "cli/verification.h"

static bool interrupted(void) { return *ridge_interrupt_flag() != 0; }

void ridge_verification_add(ridge_verification *v, json_t *entry) {
    if (json_array_append_new(v->json, entry) != 0) v->incomplete = true;
}

ridge_question ridge_verification_question(const ridge_verification *v, const ridge_lab_item *item, int variant,
                                           ridge_isa isa) {
    ridge_question q = {.target = item->target,
                        .c = item->c,
                        .variant = &item->target->variants[variant],
                        .isa = isa,
                        .here = ridge_machine_abilities(&v->machine, isa),
                        .threads = v->threads,
                        .cpus = v->machine.cpus,
                        .seed = v->options->seed,
                        .layouts = v->options->layouts};
    q.here.threads = v->threads;
    return q;
}

/* Shapes that do not fit in memory are a usage error, not a fault of the variants. */
static ridge_status check_memory(const ridge_selection *s, const ridge_machine *machine, ridge_error *error) {
    const ridge_layout dense = {0};
    for (int i = 0; i < s->n; i++) {
        const ridge_lab_item *item = &s->items[i];
        size_t bytes;
        char name[RIDGE_CASE_NAME];
        RIDGE_TRY(ridge_operands_bytes(item->target, &item->c, &dense, &bytes, error));
        if ((double)bytes <= (double)machine->memory_bytes) continue;
        ridge_case_name(item->target, &item->c, name, sizeof name);
        return ridge_fail(error, RIDGE_INVALID,
                          "%s %s needs %.1f GB, and this machine has %.1f GB: choose smaller --sizes",
                          item->target->name, name, (double)bytes * 1e-9, (double)machine->memory_bytes * 1e-9);
    }
    return RIDGE_OK;
}

/* Drops the cases whose oracle takes more than --cheap. */
static ridge_status keep_cheap(const ridge_options *o, ridge_selection *s, ridge_error *error) {
    int kept = 0;
    for (int i = 0; i < s->n; i++)
        if (!(ridge_check_full_cost(s->items[i].target, &s->items[i].c) > o->cheap)) s->items[kept++] = s->items[i];
    s->n = kept;
    return kept ? RIDGE_OK : ridge_fail(error, RIDGE_NOT_FOUND, "no case is as cheap as --cheap %g", o->cheap);
}

static ridge_status write_json(const ridge_options *o, const ridge_verification *v, ridge_error *error) {
    if (!o->json) return RIDGE_OK;
    json_t *json =
        json_pack("{s:s, s:O}", "schema", o->mutants ? "ridge-mutants/1" : "ridge-verify/1", "results", v->json);
    const ridge_status status = ridge_write_json(o->json, json, error);
    json_decref(json);
    return status;
}

static ridge_status verify_selection(const ridge_options *o, ridge_selection *s, ridge_verification *v,
                                     ridge_error *error) {
    ridge_isa isa;
    v->options = o;
    v->selection = s;
    RIDGE_TRY(ridge_output_check(o, error));
    RIDGE_TRY(ridge_machine_detect(&v->machine, error));
    RIDGE_TRY(ridge_bench_threads(o, &v->machine, &v->threads, error));
    RIDGE_TRY(ridge_bench_isa(o, &v->machine, &isa, error));
    RIDGE_TRY(ridge_selection_fit(o, &v->machine, s, error));
    if (o->cheap > 0) RIDGE_TRY(keep_cheap(o, s, error));
    if (o->most_work > 0)
        for (int i = 0; i < s->n; i++) ridge_case_cut(s->items[i].target, o->most_work, &s->items[i].c);
    RIDGE_TRY(check_memory(s, &v->machine, error));
    if (o->cases > 0) RIDGE_TRY(ridge_verify_draw(v, s, o->cases, error));
    v->page = ridge_say_page(o);
    v->table = o->mutants ? ridge_mutants_table() : ridge_verify_table();
    v->json = json_array();
    if (!v->table || !v->json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a table");
    ridge_interrupt_hold();
    ridge_progress_begin(&v->progress, s->n);
    if (o->mutants)
        ridge_mutate_all(v);
    else
        ridge_verify_all(v);
    ridge_progress_end(&v->progress);
    if (v->why[0]) return ridge_fail(error, RIDGE_IO, "%s", v->why);
    if (v->incomplete) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the results");
    const ridge_status written = write_json(o, v, error);
    const bool empty = !o->mutants && v->failed + v->skipped == 0 && v->page.format != RIDGE_FORMAT_CSV;
    if (!empty) ridge_table_print(v->table, &v->page);
    ridge_page_say(&v->page, "%d %s, %d %s, %d skipped\n", v->passed, o->mutants ? "caught" : "ok", v->failed,
                   o->mutants ? "missed" : "wrong or failed", v->skipped);
    RIDGE_TRY(written);
    if (interrupted()) return ridge_fail(error, RIDGE_INTERRUPTED, "interrupted: not everything was verified");
    return RIDGE_OK;
}

int ridge_cmd_verify(const ridge_options *o) {
    static ridge_verification v;
    ridge_selection selection;
    ridge_error error = {0};
    ridge_status status = ridge_select(o, true, &selection, &error);
    if (status == RIDGE_OK) status = verify_selection(o, &selection, &v, &error);
    free(v.spare);
    ridge_table_free(v.table);
    json_decref(v.json);
    ridge_selection_free(&selection);
    v.selection = NULL;
    if (status != RIDGE_OK) return ridge_complain(&error);
    if (v.failed) return RIDGE_EXIT_VERDICT;
    if (v.passed > 0) return RIDGE_EXIT_OK;
    ridge_say("nothing was verified");
    return RIDGE_EXIT_USAGE;
}

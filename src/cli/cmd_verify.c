/* ridge verify: checks every variant against the oracle, each in a child process, and checks that every mutant is
 * caught.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "measure/isolate.h"
#include "report/report.h"
#include "verify/verify.h"

enum { FEWEST_MUTANTS = 6, MOST_TOGETHER = 64 };

enum { V_TARGET, V_CASE, V_VARIANT, V_ISA, V_RUNS, V_WORST, V_VERDICT, V_REASON, V_COLUMNS };
static const ridge_column plain_columns[V_COLUMNS] = {
    [V_TARGET] = {.header = "target", .field = "target", .align = 'l', .fit = RIDGE_FIT_CUT, .least = 14},
    [V_CASE] = {.header = "case", .field = "case", .align = 'l', .fit = RIDGE_FIT_CUT, .least = 12},
    [V_VARIANT] = {.header = "variant", .field = "variant", .align = 'l', .fit = RIDGE_FIT_CUT, .least = 12},
    [V_ISA] = {.header = "isa", .field = "isa", .align = 'l', .drop = 50},
    [V_RUNS] = {.field = "runs", .align = 'r'},
    [V_WORST] = {.field = "worst", .align = 'r'},
    [V_VERDICT] = {.header = "verdict", .field = "verdict", .align = 'l'},
    [V_REASON] = {.header = "reason", .field = "reason", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
};

enum { M_TARGET, M_MUTANT, M_APPLIED, M_VERDICT, M_REASON, M_COLUMNS };
static const ridge_column mutant_columns[M_COLUMNS] = {
    [M_TARGET] = {.header = "target", .field = "target", .align = 'l', .fit = RIDGE_FIT_CUT, .least = 14},
    [M_MUTANT] = {.header = "mutant", .field = "mutant", .align = 'l', .fit = RIDGE_FIT_CUT, .least = 16},
    [M_APPLIED] = {.header = "applied", .field = "applied", .align = 'r', .drop = 50},
    [M_VERDICT] = {.header = "verdict", .field = "verdict", .align = 'l'},
    [M_REASON] = {.header = "reason", .field = "reason", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
};

/* Question to a child process, and its answer. */
typedef struct question {
    const ridge_target *target;
    ridge_case c;
    const ridge_variant *variant;
    ridge_isa isa;
    ridge_abilities here;
    int threads;
    const int *cpus;
    uint64_t seed;
    int layouts;                /* at most so many fills and layouts; 0: all */
    const ridge_mutant *mutant; /* NULL: plain verification */
} question;

typedef struct answer {
    ridge_status status; /* status of the harness */
    char text[240];      /* when status is not ok, or why a variant is skipped */
    bool skipped;
    ridge_verified_runs got;
    bool applied, caught; /* mutants */
} answer;

typedef struct verification {
    ridge_machine machine;
    ridge_progress progress;
    ridge_page page;
    ridge_table *table;
    json_t *json;
    bool incomplete; /* an entry of json is missing: memory was out */
    int passed, failed, skipped;
} verification;

static bool interrupted(void) { return *ridge_interrupt_flag() != 0; }

static void add_entry(verification *v, json_t *entry) {
    if (json_array_append_new(v->json, entry) != 0) v->incomplete = true;
}

static ridge_status ask(const question *q, answer *a, ridge_error *error) {
    const char *why = ridge_variant_dense_obstacle(q->target, q->variant, &q->c, &q->here);
    if (why) {
        a->skipped = true;
        return ridge_fail(error, RIDGE_OK, "%s", why);
    }
    ridge_team *team = NULL;
    RIDGE_TRY(ridge_team_create(q->threads, q->cpus, &team, error));
    ridge_status status = q->mutant ? ridge_verify_mutant(q->target, &q->c, q->variant, &q->here, q->mutant, team,
                                                          q->seed, &a->applied, &a->caught, error)
                                    : ridge_verify_variant(q->target, &q->c, q->variant, &q->here, team, q->seed,
                                                           q->layouts, &a->got, error);
    ridge_team_destroy(team);
    return status;
}

static void ask_in_child(const void *arg, void *out) {
    answer *a = out;
    ridge_error error = {0};
    a->status = ask(arg, a, &error);
    (void)snprintf(a->text, sizeof a->text, "%.230s", error.text);
}

static ridge_child_limits limits_of(const question *q, int64_t memory) {
    return (ridge_child_limits){
        .threads = q->threads, .cpus = q->cpus, .memory_limit = memory, .interrupted = ridge_interrupt_flag()};
}

/* Validates an answer: it comes from a process that ran untrusted code. */
static void end_texts(answer *a) {
    a->text[sizeof a->text - 1] = '\0';
    a->got.check.text[sizeof a->got.check.text - 1] = '\0';
}

/* RIDGE_FAILED with the reason in a->text when the child crashed, looped or ran out of memory. */
static void ask_isolated(const question *q, double limit, int64_t memory, answer *a) {
    *a = (answer){0};
    ridge_error error = {0};
    const ridge_child_limits limits = limits_of(q, memory);
    if (ridge_isolate(ask_in_child, q, a, sizeof *a, &limits, limit, &error) != RIDGE_OK) {
        a->status = error.status;
        (void)snprintf(a->text, sizeof a->text, "%.230s", error.text);
    }
    end_texts(a);
}

/* Asks one child several questions, because a GPU driver is slow to start. `done` counts the answered questions. */
typedef struct questions {
    const question *q;
    int n;
} questions;
typedef struct answers {
    int done;
    answer a[MOST_TOGETHER];
} answers;

/* A kernel fault makes the GPU unusable for the rest of the process. */
static bool unspoiled(const answers *to, int n) {
    for (int i = 0; i < n; i++)
        if (to->a[i].status != RIDGE_OK) return false;
    return true;
}

static void ask_all_in_child(const void *arg, void *out) {
    const questions *all = arg;
    answers *to = out;
    for (; to->done < all->n; to->done++) ask_in_child(&all->q[to->done], &to->a[to->done]);
}

/* Unanswered questions are asked again, each in its own child, so that a fault is attributed to the right variant.
 */
static void ask_together(const question *q, int n, double limit, answers *to) {
    const questions all = {q, n};
    const ridge_child_limits limits = limits_of(q, 0);
    ridge_error error = {0};
    *to = (answers){0};
    bool answered = ridge_isolate(ask_all_in_child, &all, to, sizeof *to, &limits, limit * n, &error) == RIDGE_OK;
    for (int i = 0; i < n; i++) end_texts(&to->a[i]);
    if (answered && unspoiled(to, n)) return;
    for (int i = 0; i < n && !interrupted(); i++) ask_isolated(&q[i], limit, 0, &to->a[i]);
}

/* ---- plain verification
 * ------------------------------------------------------------------------------------------------ */

static const char *verdict_of(const answer *a) {
    if (a->skipped) return "skipped";
    if (a->status != RIDGE_OK) return "failed";
    return a->got.check.ok ? "ok" : "wrong";
}

/* CSV has a row for every variant; a table has only those that are not ok. */
static void add_row(verification *v, const question *q, const answer *a, const char *name, const char *verdict,
                    const char *why) {
    ridge_table_row(v->table);
    ridge_table_text(v->table, V_TARGET, q->target->name);
    ridge_table_text(v->table, V_CASE, name);
    ridge_table_text(v->table, V_VARIANT, q->variant->name);
    ridge_table_text(v->table, V_ISA, ridge_isa_name(q->isa));
    ridge_table_number(v->table, V_RUNS, a->got.runs);
    ridge_table_number(v->table, V_WORST, a->skipped || a->status != RIDGE_OK ? (double)NAN : a->got.check.worst);
    ridge_table_text(v->table, V_VERDICT, verdict);
    ridge_table_color(v->table, V_VERDICT, a->skipped ? RIDGE_DIM : *why ? RIDGE_RED : RIDGE_GREEN);
    ridge_table_text(v->table, V_REASON, why);
}

static void record(verification *v, const question *q, const answer *a) {
    if (a->skipped && ridge_variant_forced(q->variant)) return; /* the way refuses the case: another one takes it */
    const char *verdict = verdict_of(a), *why = a->skipped || a->status != RIDGE_OK ? a->text : a->got.check.text;
    char name[80];
    ridge_case_name(q->target, &q->c, name, sizeof name);
    bool ok = strcmp(verdict, "ok") == 0;
    v->passed += ok;
    v->skipped += a->skipped;
    v->failed += !ok && !a->skipped;
    if (!ok || v->page.format == RIDGE_FORMAT_CSV) add_row(v, q, a, name, verdict, ok ? "" : why);
    const ridge_verified entry = {.target = q->target,
                                  .c = q->c,
                                  .variant = q->variant,
                                  .isa = q->isa,
                                  .verdict = verdict,
                                  .reason = ok ? "" : why,
                                  .runs = a->got.runs,
                                  .worst = a->got.check.worst,
                                  .digest = a->got.digest};
    add_entry(v, ridge_json_verified(&entry));
}

/* Timed cases are large and use only the best instruction set. Edge cases are small and use all. */
static bool wanted(const ridge_options *o, const verification *v, const ridge_case *c, ridge_isa isa) {
    if (!ridge_isa_supported(isa)) return false;
    if (o->isa >= 0) return (int)isa == o->isa;
    return c->edge || isa == v->machine.isa;
}

static void verify_item(const ridge_options *o, const ridge_lab_item *item, int threads, verification *v) {
    char name[80], what[160];
    ridge_case_name(item->target, &item->c, name, sizeof name);
    (void)snprintf(what, sizeof what, "%s %s", item->target->name, name);
    if (v->progress.terminal) ridge_progress_step(&v->progress, what);
    for (int i = 0; i < item->n_variants; i++) {
        for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
            if (!wanted(o, v, &item->c, (ridge_isa)isa)) continue;
            const question q = {.target = item->target,
                                .c = item->c,
                                .isa = (ridge_isa)isa,
                                .here = ridge_machine_abilities(&v->machine, (ridge_isa)isa),
                                .threads = threads,
                                .variant = &item->target->variants[item->variants[i]],
                                .cpus = v->machine.cpus,
                                .layouts = o->layouts,
                                .seed = o->seed};
            answer a;
            ask_isolated(&q, o->limit, v->machine.memory_bytes, &a);
            if (interrupted()) return;
            record(v, &q, &a);
        }
    }
}

/* One variant on n cases of a target on the GPU. */
static void verify_on_gpu(const ridge_options *o, const ridge_lab_item *items, int n, int variant, int threads,
                          verification *v) {
    static question q[MOST_TOGETHER];
    static answers got;
    const ridge_isa isa = v->machine.isa;
    int asked = 0;
    for (int i = 0; i < n; i++) {
        bool has = false;
        for (int k = 0; k < items[i].n_variants; k++) has |= items[i].variants[k] == variant;
        if (!has) continue;
        q[asked++] = (question){.target = items[i].target,
                                .c = items[i].c,
                                .isa = isa,
                                .here = ridge_machine_abilities(&v->machine, isa),
                                .threads = threads,
                                .variant = &items[i].target->variants[variant],
                                .cpus = v->machine.cpus,
                                .layouts = o->layouts,
                                .seed = o->seed};
    }
    if (asked == 0) return;
    ask_together(q, asked, o->limit, &got);
    for (int i = 0; i < asked && !interrupted(); i++) record(v, &q[i], &got.a[i]);
}

/* Items of one target and backend are contiguous. Returns the number of items processed. */
static int verify_group(const ridge_options *o, const ridge_lab_item *items, int left, int threads, verification *v) {
    const ridge_target *target = items->target;
    if (items->backend != RIDGE_BACKEND_cuda) {
        verify_item(o, items, threads, v);
        return 1;
    }
    int n = 1;
    while (n < left && n < MOST_TOGETHER && items[n].target == target && items[n].backend == items->backend) n++;
    if (v->progress.terminal) ridge_progress_step(&v->progress, target->name);
    for (int variant = 0; variant < target->n_variants && !interrupted(); variant++)
        verify_on_gpu(o, items, n, variant, threads, v);
    return n;
}

static void verify_all(const ridge_options *o, const ridge_selection *s, int threads, verification *v) {
    for (int i = 0; i < s->n && !interrupted();) i += verify_group(o, &s->items[i], s->n - i, threads, v);
}

/* ---- mutants
 * ------------------------------------------------------------------------------------------------------------- */

/* Result of one mutant on one target. */
typedef struct mutation {
    int applied;
    char missed[200]; /* "" when every application was caught */
} mutation;

static void judge_mutant(const question *q, const answer *a, mutation *m) {
    char name[80];
    if (a->skipped) return;
    m->applied += a->applied;
    ridge_case_name(q->target, &q->c, name, sizeof name);
    if (a->status != RIDGE_OK)
        (void)snprintf(m->missed, sizeof m->missed, "%s %s: %.100s", name, q->variant->name, a->text);
    else if (a->applied && !a->caught)
        (void)snprintf(m->missed, sizeof m->missed, "passed the check on %s %s", name, q->variant->name);
}

/* Cases for a target's mutants: its edge cases, or its first case without any. */
static bool is_for_mutants(const ridge_selection *s, const ridge_lab_item *item) {
    const ridge_lab_item *first = NULL;
    for (int i = 0; i < s->n; i++) {
        if (s->items[i].target != item->target || s->items[i].backend != item->backend) continue;
        if (!first) first = &s->items[i];
        if (s->items[i].c.edge) return item->c.edge;
    }
    return item == first;
}

/* One mutant against one target, on one backend. The check is the same for all backends: one is enough. */
static void mutate_target(const ridge_options *o, const ridge_selection *s, const ridge_lab_item *group,
                          const ridge_mutant *mutant, int threads, verification *v, mutation *m) {
    static question q[MOST_TOGETHER];
    static answers got;
    const ridge_isa isa = o->isa >= 0 ? (ridge_isa)o->isa : v->machine.isa;
    int n = 0;
    for (const ridge_lab_item *item = group; item < s->items + s->n; item++) {
        if (item->target != group->target || item->backend != group->backend) break;
        if (!is_for_mutants(s, item)) continue;
        for (int k = 0; k < item->n_variants && n < MOST_TOGETHER; k++) {
            const ridge_variant *variant = &item->target->variants[item->variants[k]];
            if (variant->role == RIDGE_PEER) continue;
            q[n++] = (question){.target = item->target,
                                .c = item->c,
                                .isa = isa,
                                .here = ridge_machine_abilities(&v->machine, isa),
                                .variant = variant,
                                .threads = threads,
                                .cpus = v->machine.cpus,
                                .seed = o->seed,
                                .mutant = mutant};
        }
    }
    *m = (mutation){0};
    if (group->backend == RIDGE_BACKEND_cuda)
        ask_together(q, n, o->limit, &got);
    else
        for (int i = 0; i < n && !interrupted(); i++) ask_isolated(&q[i], o->limit, v->machine.memory_bytes, &got.a[i]);
    for (int i = 0; i < n && !interrupted(); i++) judge_mutant(&q[i], &got.a[i], m);
}

static void add_mutant(verification *v, const char *target, const char *mutant, const char *applied,
                       const char *verdict, const char *reason) {
    ridge_table_row(v->table);
    ridge_table_text(v->table, M_TARGET, target);
    ridge_table_text(v->table, M_MUTANT, mutant);
    ridge_table_text(v->table, M_APPLIED, applied);
    ridge_table_text(v->table, M_VERDICT, verdict);
    ridge_table_color(v->table, M_VERDICT, *reason ? RIDGE_RED : RIDGE_GREEN);
    ridge_table_text(v->table, M_REASON, reason);
}

static void record_mutant(verification *v, const ridge_target *target, const ridge_mutant *mutant, int applied,
                          const char *missed) {
    char times[16];
    (void)snprintf(times, sizeof times, "%d", applied);
    const char *verdict = missed[0] ? "passed" : applied ? "caught" : "not applicable";
    v->passed += applied && !missed[0];
    v->failed += missed[0] != '\0';
    add_mutant(v, target->name, mutant->name, times, verdict, missed);
    const ridge_mutation entry = {
        .target = target, .mutant = mutant->name, .applied = applied, .verdict = verdict, .reason = missed};
    add_entry(v, ridge_json_mutation(&entry));
}

static void mutate_all(const ridge_options *o, const ridge_selection *s, int threads, verification *v) {
    for (int i = 0; i < s->n && !interrupted(); i++) {
        const ridge_target *target = s->items[i].target;
        if (i > 0 && s->items[i - 1].target == target) continue; /* items come grouped by target */
        if (v->progress.terminal) ridge_progress_step(&v->progress, target->name);
        int kinds = 0;
        for (int m = 0; m < ridge_mutant_count; m++) {
            mutation found;
            mutate_target(o, s, &s->items[i], &ridge_mutants[m], threads, v, &found);
            if (interrupted()) return;
            record_mutant(v, target, &ridge_mutants[m], found.applied, found.missed);
            kinds += found.applied > 0;
        }
        if (kinds < FEWEST_MUTANTS) {
            char text[120];
            (void)snprintf(text, sizeof text, "only %d kinds of mutant apply: add edge cases until %d do", kinds,
                           FEWEST_MUTANTS);
            add_mutant(v, target->name, "(all)", "", "too few", text);
            v->failed++;
            const ridge_mutation entry = {
                .target = target, .mutant = "(all)", .applied = kinds, .verdict = "too few", .reason = text};
            add_entry(v, ridge_json_mutation(&entry));
        }
    }
}

/* ---- the command
 * ----------------------------------------------------------------------------------------------------------- */

/* Shapes that do not fit in memory are a usage error, not a fault of the variants. */
static ridge_status check_memory(const ridge_selection *s, const ridge_machine *machine, ridge_error *error) {
    const ridge_layout dense = {0};
    for (int i = 0; i < s->n; i++) {
        const ridge_lab_item *item = &s->items[i];
        size_t bytes;
        char name[80];
        RIDGE_TRY(ridge_operands_bytes(item->target, &item->c, &dense, &bytes, error));
        if ((double)bytes <= (double)machine->memory_bytes) continue;
        ridge_case_name(item->target, &item->c, name, sizeof name);
        return ridge_fail(error, RIDGE_INVALID,
                          "%s %s needs %.1f GB, and this machine has %.1f GB: choose smaller --sizes",
                          item->target->name, name, (double)bytes * 1e-9, (double)machine->memory_bytes * 1e-9);
    }
    return RIDGE_OK;
}

static ridge_status verify_selection(const ridge_options *o, ridge_selection *s, verification *v, ridge_error *error) {
    int threads;
    ridge_isa isa;
    RIDGE_TRY(ridge_machine_detect(&v->machine, error));
    RIDGE_TRY(ridge_bench_threads(o, &v->machine, &threads, error));
    RIDGE_TRY(ridge_bench_isa(o, &v->machine, &isa, error));
    RIDGE_TRY(ridge_selection_fit(o, &v->machine, s, error));
    if (o->most_work > 0)
        for (int i = 0; i < s->n; i++) ridge_case_cut(s->items[i].target, o->most_work, &s->items[i].c);
    RIDGE_TRY(check_memory(s, &v->machine, error));
    v->page = ridge_say_page(o);
    v->table = o->mutants ? ridge_table_new(mutant_columns, M_COLUMNS) : ridge_table_new(plain_columns, V_COLUMNS);
    v->json = json_array();
    if (!v->table || !v->json) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a table");
    ridge_interrupt_hold();
    ridge_progress_begin(&v->progress, s->n);
    if (o->mutants)
        mutate_all(o, s, threads, v);
    else
        verify_all(o, s, threads, v);
    ridge_progress_end(&v->progress);
    if (v->incomplete) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the results");
    const ridge_status written = o->json ? ridge_write_json(o->json, v->json, error) : RIDGE_OK;
    const bool empty = !o->mutants && v->failed + v->skipped == 0 && v->page.format != RIDGE_FORMAT_CSV;
    if (!empty) ridge_table_print(v->table, &v->page);
    ridge_page_say(&v->page, "%d %s, %d %s, %d skipped\n", v->passed, o->mutants ? "caught" : "ok", v->failed,
                   o->mutants ? "missed" : "wrong or failed", v->skipped);
    RIDGE_TRY(written);
    if (interrupted()) return ridge_fail(error, RIDGE_INTERRUPTED, "interrupted: not everything was verified");
    return RIDGE_OK;
}

int ridge_cmd_verify(const ridge_options *o) {
    static verification v;
    ridge_selection selection;
    ridge_error error = {0};
    ridge_status status = ridge_select(o, true, &selection, &error);
    if (status == RIDGE_OK) status = verify_selection(o, &selection, &v, &error);
    ridge_table_free(v.table);
    json_decref(v.json);
    ridge_selection_free(&selection);
    if (status != RIDGE_OK) return ridge_complain(&error);
    return v.failed ? RIDGE_EXIT_VERDICT : RIDGE_EXIT_OK;
}

/* ridge verify --mutants: is every corrupted output seen? */
#include <stdio.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/verification.h"
#include "verify/shortcut.h"

enum { FEWEST_MUTANTS = 6 };

enum { M_TARGET, M_MUTANT, M_APPLIED, M_VERDICT, M_REASON, M_COLUMNS };
static const ridge_column mutant_columns[M_COLUMNS] = {
    [M_TARGET] = {.header = "target", .field = "target", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 14},
    [M_MUTANT] = {.header = "mutant", .field = "mutant", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
    [M_APPLIED] = {.header = "applied", .field = "applied", .align = 'r', .drop = 50},
    [M_VERDICT] = {.header = "verdict", .field = "verdict", .align = 'l'},
    [M_REASON] = {.header = "reason", .field = "reason", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 16},
};

ridge_table *ridge_mutants_table(void) { return ridge_table_new(mutant_columns, M_COLUMNS); }

static bool interrupted(void) { return *ridge_interrupt_flag() != 0; }

/* Result of one mutant on one target. */
typedef struct mutation {
    int applied;
    int refuted;      /* a shortcut: on so many cases, by far */
    char missed[200]; /* "" when every application was caught */
} mutation;

static bool is_shortcut(int mutant) { return ridge_mutants[mutant].shortcut != RIDGE_DTYPE_NONE; }

static void judge_mutant(const ridge_question *q, const ridge_answer *a, int mutant, mutation *m) {
    const bool applied = a->met.applied >> mutant & 1, caught = a->met.caught >> mutant & 1;
    char name[RIDGE_CASE_NAME];
    if (a->skipped) return;
    m->applied += applied;
    ridge_case_name(q->target, &q->c, name, sizeof name);
    if (a->status != RIDGE_OK)
        (void)snprintf(m->missed, sizeof m->missed, "%.80s %.40s: %.70s", name, q->variant->name, a->text);
    else if (is_shortcut(mutant))
        m->refuted += applied && caught;
    else if (applied && !caught)
        (void)snprintf(m->missed, sizeof m->missed, "passed the check on %.100s %.70s", name, q->variant->name);
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

/* What a target's variants are asked, on one backend: the check is the same for all backends and ways. */
static int questions_of(const ridge_verification *v, const ridge_lab_item *group, ridge_question *q) {
    const ridge_options *o = v->options;
    const ridge_isa isa = o->isa >= 0 ? (ridge_isa)o->isa : v->machine.isa;
    int n = 0;
    for (const ridge_lab_item *item = group; item < v->selection->items + v->selection->n; item++) {
        if (item->target != group->target || item->backend != group->backend) break;
        if (!is_for_mutants(v->selection, item)) continue;
        for (int k = 0; k < item->n_variants && n < RIDGE_ASK_TOGETHER; k++) {
            const ridge_variant *variant = &item->target->variants[item->variants[k]];
            if (variant->role == RIDGE_PEER || ridge_variant_forced(variant)) continue;
            q[n] = ridge_verification_question(v, item, item->variants[k], isa);
            q[n++].mutants = true;
        }
    }
    return n;
}

/* One mutant against one target. */
static mutation mutation_of(const ridge_question *q, const ridge_answer *got, int n, int mutant) {
    mutation m = {0};
    for (int i = 0; i < n; i++) judge_mutant(&q[i], &got[i], mutant, &m);
    if (m.applied > 0 && is_shortcut(mutant) && m.refuted == 0 && !m.missed[0])
        (void)snprintf(m.missed, sizeof m.missed, "no case misses its bound by a factor of %d", RIDGE_SHORTCUT_FACTOR);
    return m;
}

static void add_mutant(ridge_verification *v, const char *target, const char *mutant, const char *applied,
                       const char *verdict, const char *reason) {
    ridge_table_row(v->table);
    ridge_table_text(v->table, M_TARGET, target);
    ridge_table_text(v->table, M_MUTANT, mutant);
    ridge_table_text(v->table, M_APPLIED, applied);
    ridge_table_text(v->table, M_VERDICT, verdict);
    ridge_table_color(v->table, M_VERDICT, *reason ? RIDGE_RED : RIDGE_GREEN);
    ridge_table_text(v->table, M_REASON, reason);
}

static void record_mutant(ridge_verification *v, const ridge_target *target, const ridge_mutant *mutant, int applied,
                          const char *missed) {
    char times[16];
    (void)snprintf(times, sizeof times, "%d", applied);
    const char *verdict = missed[0] ? "passed" : applied ? "caught" : "not applicable";
    v->passed += applied && !missed[0];
    v->failed += missed[0] != '\0';
    add_mutant(v, target->name, mutant->name, times, verdict, missed);
    const ridge_mutation entry = {
        .target = target, .mutant = mutant->name, .applied = applied, .verdict = verdict, .reason = missed};
    ridge_verification_add(v, ridge_json_mutation(&entry));
}

void ridge_mutate_all(ridge_verification *v) {
    static ridge_question q[RIDGE_ASK_TOGETHER];
    static ridge_answer got[RIDGE_ASK_TOGETHER];
    const ridge_selection *s = v->selection;
    for (int i = 0; i < s->n && !interrupted(); i++) {
        const ridge_target *target = s->items[i].target;
        if (i > 0 && s->items[i - 1].target == target) continue; /* items come grouped by target */
        if (v->progress.terminal) ridge_progress_step(&v->progress, target->name);
        int kinds = 0;
        const int n = questions_of(v, &s->items[i], q);
        ridge_ask(q, n, v->options->limit * ridge_mutant_count, v->machine.memory_bytes, got);
        if (interrupted()) return;
        for (int k = 0; k < n && !v->why[0]; k++)
            if (got[k].unasked) memcpy(v->why, got[k].text, sizeof v->why);
        for (int m = 0; m < ridge_mutant_count; m++) {
            const mutation found = mutation_of(q, got, n, m);
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
            ridge_verification_add(v, ridge_json_mutation(&entry));
        }
    }
}

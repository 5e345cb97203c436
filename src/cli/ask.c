#include "cli/ask.h"

#include <stdio.h>
#include <string.h>

#include "cli/interrupt.h"
#include "measure/isolate.h"
#include "measure/python.h"

static bool interrupted(void) { return *ridge_interrupt_flag() != 0; }

/* A peer that does not take the case says why behind "unsupported". */
static ridge_status refused(ridge_answer *a, ridge_error *error) {
    const char *status = strstr(error->text, ridge_status_string(RIDGE_UNSUPPORTED));
    const char *why = status ? strstr(status, ": ") : NULL;
    char text[sizeof error->text];
    (void)snprintf(text, sizeof text, "%s", why ? why + strlen(": ") : error->text);
    a->skipped = true;
    return ridge_fail(error, RIDGE_OK, "%s", text);
}

static ridge_status ask(const ridge_question *q, ridge_answer *a, ridge_error *error) {
    const char *why = ridge_variant_forced(q->variant)
                          ? ridge_variant_obstacle(q->variant, &q->c, &q->here)
                          : ridge_variant_dense_obstacle(q->target, q->variant, &q->c, &q->here);
    if (why) {
        a->skipped = true;
        return ridge_fail(error, RIDGE_OK, "%s", why);
    }
    ridge_team *team = NULL;
    /* A library that is opened by a pinned thread has that thread's processor alone. */
    RIDGE_TRY(ridge_team_create(q->threads, ridge_python_is(q->variant) ? NULL : q->cpus, &team, error));
    ridge_python_next(q->variant);
    ridge_status status =
        q->mutants
            ? ridge_verify_mutants(q->target, &q->c, q->variant, &q->here, team, q->seed, &a->met, error)
            : ridge_verify_variant(q->target, &q->c, q->variant, &q->here, team, q->seed, q->layouts, &a->got, error);
    ridge_team_destroy(team);
    if (status == RIDGE_UNSUPPORTED && ridge_python_is(q->variant)) return refused(a, error);
    if (status != RIDGE_OK || q->mutants || a->got.runs > 0) return status;
    a->skipped = true;
    return ridge_fail(error, RIDGE_OK, "%s", a->got.refused[0] ? a->got.refused : "no fill and layout applies");
}

static void ask_in_child(const void *arg, void *out) {
    ridge_answer *a = out;
    ridge_error error = {0};
    a->status = ask(arg, a, &error);
    (void)snprintf(a->text, sizeof a->text, "%.230s", error.text);
}

static ridge_child_limits limits_of(const ridge_question *q, int64_t memory) {
    return (ridge_child_limits){
        .threads = q->threads, .cpus = q->cpus, .memory_limit = memory, .interrupted = ridge_interrupt_flag()};
}

/* Validates an answer: it comes from a process that ran untrusted code. */
static void end_texts(ridge_answer *a) {
    a->text[sizeof a->text - 1] = '\0';
    a->got.check.text[sizeof a->got.check.text - 1] = '\0';
    a->got.refused[sizeof a->got.refused - 1] = '\0';
    a->got.way[sizeof a->got.way - 1] = '\0';
}

/* RIDGE_FAILED with the reason in a->text when the child crashed, looped or ran out of memory. */
static void ask_isolated(const ridge_question *q, double limit, int64_t memory, ridge_answer *a) {
    *a = (ridge_answer){0};
    ridge_error error = {0};
    const ridge_child_limits limits = limits_of(q, memory);
    if (ridge_isolate(ask_in_child, q, a, sizeof *a, &limits, limit, &error) != RIDGE_OK) {
        *a = (ridge_answer){.status = error.status};
        a->unasked = error.status == RIDGE_IO || error.status == RIDGE_NO_MEMORY;
        (void)snprintf(a->text, sizeof a->text, "%.230s", error.text);
    }
    end_texts(a);
}

/* All questions to one child; `done` counts the answered ones. */
typedef struct questions {
    const ridge_question *q;
    int n;
} questions;
typedef struct answers {
    int done;
    ridge_answer a[RIDGE_ASK_TOGETHER];
} answers;

static void ask_all_in_child(const void *arg, void *out) {
    const questions *all = arg;
    answers *to = out;
    for (; to->done < all->n; to->done++) ask_in_child(&all->q[to->done], &to->a[to->done]);
}

/* A kernel fault makes the GPU unusable for the rest of the process. */
static bool ask_together(const ridge_question *q, int n, double limit, ridge_answer *a) {
    static answers to;
    const questions all = {q, n};
    const ridge_child_limits limits = limits_of(q, 0);
    ridge_error error = {0};
    to = (answers){0};
    if (ridge_isolate(ask_all_in_child, &all, &to, sizeof to, &limits, limit * n, &error) != RIDGE_OK) return false;
    for (int i = 0; i < n; i++) {
        a[i] = to.a[i];
        end_texts(&a[i]);
        if (a[i].status != RIDGE_OK) return false;
    }
    return true;
}

void ridge_ask(const ridge_question *q, int n, double limit, int64_t memory, ridge_answer *a) {
    if (n == 0) return;
    const bool gpu = ridge_variant_backend(q->variant) == RIDGE_BACKEND_cuda, slow = ridge_python_is(q->variant);
    if ((gpu || slow) && n > 1 && ask_together(q, n, limit, a)) return;
    /* Each in a child of its own, so that a fault is attributed to the right variant. */
    for (int i = 0; i < n; i++) a[i] = (ridge_answer){0};
    for (int i = 0; i < n && !interrupted(); i++) ask_isolated(&q[i], limit, gpu ? 0 : memory, &a[i]);
}

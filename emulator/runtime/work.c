/* Work in the order that streams, events and graphs give it, and no other: what can be done is done in an order by
 * dice. */
#include <stdlib.h>
#include <time.h>

#include "runtime/runtime.h"
#include "runtime/schedule.h"

enum { GRIDS_AT_ONCE = 4 }; /* more only when these cannot go on */

static struct {
    emu_work **ready;
    int n_ready, size;
    emu_work *running[128];
    int n_running;
    uint64_t pending; /* submitted and not done */
    emu_random random;
    uint64_t seed;
    bool seeded;
} w;

static void add(emu_work ***list, int *n, emu_work *work) {
    *list = emu_grow(*list, (size_t)*n + 1, sizeof **list);
    (*list)[(*n)++] = work;
    work->references++;
}

emu_work *emu_work_new(const emu_action *action) {
    emu_work *work = emu_alloc(sizeof *work);
    work->action = *action;
    work->references = 1;
    work->waits = 1; /* until it is submitted */
    emu_clock_host(&work->clock);
    return work;
}

static void clear_lists(emu_work *work) {
    for (int i = 0; i < work->n_successors; i++) emu_work_release(work->successor[i]);
    for (int i = 0; i < work->n_dependents; i++) emu_work_release(work->dependent[i]);
    free(work->successor);
    free(work->dependent);
    work->successor = work->dependent = NULL;
    work->n_successors = work->n_dependents = 0;
}

void emu_work_release(emu_work *work) {
    if (!work || --work->references) return;
    clear_lists(work);
    emu_work_release(work->after);
    emu_action_clear(&work->action);
    emu_clock_free(work->clock);
    if (work->grid) {
        emu_clock_free(work->grid->begin_clock);
        emu_clock_free(work->grid->end_clock);
        free(work->grid->parameters);
        free(work->grid);
    }
    free(work);
}

void emu_work_after(emu_work *work, emu_work *before, bool programmatic) {
    if (programmatic && !before->done) {
        work->after = before;
        before->references++;
        if (before->grid && before->grid->dependents_may_start) return;
        add(&before->dependent, &before->n_dependents, work);
    } else if (before->done) {
        emu_clock_join(&work->clock, before->clock);
        return;
    } else {
        add(&before->successor, &before->n_successors, work);
    }
    work->waits++;
}

static void stop_waiting(emu_work *work) {
    if (--work->waits) return;
    if (w.n_ready == w.size) {
        w.size = w.size ? w.size * 2 : 64;
        w.ready = emu_grow(w.ready, (size_t)w.size, sizeof(emu_work *));
    }
    w.ready[w.n_ready++] = work;
}

void emu_work_submit(emu_work *work) {
    work->references++; /* until it is done */
    w.pending++;
    stop_waiting(work);
}

/* ---- doing ----------------------------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void start_dependents(emu_work *work) {
    for (int i = 0; i < work->n_dependents; i++) {
        stop_waiting(work->dependent[i]);
        emu_work_release(work->dependent[i]);
    }
    free(work->dependent);
    work->dependent = NULL;
    work->n_dependents = 0;
}

static void finish(emu_work *work) {
    work->done = true;
    work->ended = now();
    start_dependents(work);
    for (int i = 0; i < work->n_successors; i++) {
        emu_clock_join(&work->successor[i]->clock, work->clock);
        stop_waiting(work->successor[i]);
    }
    clear_lists(work);
    emu_work_release(work->after);
    work->after = NULL;
    w.pending--;
    emu_work_release(work);
}

static void begin(emu_work *work) {
    work->begun = true;
    if (work->action.kind == EMU_LAUNCH) {
        emu_grid *grid = emu_grid_begin(work);
        if (grid) {
            w.running[w.n_running++] = work;
            emu_schedule_add(grid);
            return;
        }
    }
    emu_action_do(&work->action);
    finish(work);
}

static bool may_begin(const emu_work *work, bool stalled) {
    return work->action.kind != EMU_LAUNCH || w.n_running < GRIDS_AT_ONCE || work->after ||
           (stalled && w.n_running < 128);
}

/* Begins one of those that are ready, by dice. False: none may begin now. */
static bool begin_some(bool stalled) {
    int may = 0;
    for (int i = 0; i < w.n_ready; i++) may += may_begin(w.ready[i], stalled);
    if (may == 0) return false;
    int chosen = (int)emu_random_below(&w.random, (uint32_t)may), i = 0;
    while (!may_begin(w.ready[i], stalled) || chosen-- > 0) i++;
    emu_work *work = w.ready[i];
    w.ready[i] = w.ready[--w.n_ready];
    begin(work);
    return true;
}

static void end_launch(const emu_grid *grid) {
    for (int i = 0; i < w.n_running; i++) {
        emu_work *work = w.running[i];
        if (work->grid != grid) continue;
        if (!grid->done) {
            start_dependents(work);
            return;
        }
        w.running[i] = w.running[--w.n_running];
        emu_grid_end(work);
        finish(work);
        return;
    }
}

static void run_launches(void) {
    /* With work that is ready beside them, launches run a while and no more, so that it comes at any of their moments.
     */
    uint64_t length = w.n_ready ? 1 + emu_random_below(&w.random, 20000) : UINT64_MAX;
    double from = now();
    emu_grid *grid = emu_schedule_run(length);
    emu_total.seconds += now() - from;
    if (grid) end_launch(grid), emu_report_counts();
    if (emu_schedule_stalled() && !begin_some(true)) emu_schedule_deadlock();
}

static void seed_dice(void) {
    uint64_t seed = emu_options_get()->seed;
    if (w.seeded && seed == w.seed) return;
    emu_random_seed(&w.random, seed ^ UINT64_C(0x5eed));
    w.seed = seed;
    w.seeded = true;
}

void emu_work_wait(emu_work *work) {
    seed_dice();
    while (work ? !work->done : w.pending != 0) {
        bool launches_first = w.n_running && (emu_random_next(&w.random) & 1);
        if (!launches_first && begin_some(false)) continue;
        if (w.n_running == 0) abort(); /* work waits for what was never submitted */
        run_launches();
    }
}

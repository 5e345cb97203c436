/* Who runs next (schedule.h). A slice is a warp's run of a random number of instructions; between slices engines step.
 */
#include "runtime/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "async/async.h"
#include "exec/warp.h"
#include "machine/decode.h"
#include "runtime/resident.h"

enum {
    SPINS = 8192,    /* of a fragment, from which on its warp is taken to spin */
    PATIENCE = 8192, /* warp instructions, all spinning, before more clusters begin; and a turn for each cluster */
    LONG_PATIENCE = 200000, /* warp instructions for each warp in focus, before more begin though not all spin */
    FOCUS_LENGTH = 40000,   /* warp instructions before the focus moves */
    CLUSTER_SPINS =
        256,     /* warp instructions of a cluster, all spinning, after which another takes its place in the focus */
    GRIDS = 128, /* of a device, beside each other */
    POLLED = 2000000, /* warp instructions without anything but polls, and so many for each warp, before that is a
                         deadlock */
    POLLED_BY_WARP = 512,
};
static const uint64_t LONG_SLEEP = UINT64_C(100000000000); /* nanoseconds */

static struct {
    emu_grid *grid[GRIDS];
    emu_window window[GRIDS];
    int n_grids;
    emu_resident **resident; /* the first n_focus are in focus */
    uint32_t n_resident, size, n_focus, n_idle;
    emu_random random;
    uint64_t focused, spun,
        unchanged;                /* warp instructions: of this focus, that only spun, without a block's begin or end */
    uint64_t polled, polled_from; /* warp instructions since anything but polling was done; emu_time then */
    bool begin;                   /* clusters may begin */
    bool stalled;
} s;

bool emu_schedule_stalled(void) { return s.stalled; }
int emu_schedule_grids(void) { return s.n_grids; }

void emu_schedule_add(emu_grid *grid) {
    if (s.n_grids == GRIDS) abort(); /* runtime/work.c begins fewer */
    if (s.n_grids == 0) s.random = grid->random;
    s.window[s.n_grids] = emu_window_of(grid);
    s.grid[s.n_grids++] = grid;
    s.begin = true;
    s.stalled = false;
}

/* ---- residents ------------------------------------------------------------------------------------------------- */

static void swap_residents(uint32_t i, uint32_t j) {
    emu_resident *r = s.resident[i];
    s.resident[i] = s.resident[j];
    s.resident[j] = r;
}

static void acted(void) {
    s.polled = 0;
    s.polled_from = emu_time;
}

static void something_changed(void) {
    for (uint32_t i = 0; s.n_idle && i < s.n_resident; i++) s.resident[i]->idle = false;
    s.n_idle = 0;
    s.spun = s.unchanged = 0;
    acted();
}

static void set_focus(void) {
    uint32_t most = (uint32_t)emu_options_get()->resident;
    s.n_focus = s.n_resident < most ? s.n_resident : most;
    for (uint32_t i = 0; i < s.n_focus; i++) swap_residents(i, i + emu_random_below(&s.random, s.n_resident - i));
    s.focused = 0;
}

static void add_resident(emu_resident *resident) {
    if (s.n_resident == s.size) {
        s.size = s.size ? s.size * 2 : 64;
        s.resident = emu_grow(s.resident, s.size, sizeof *s.resident);
    }
    s.resident[s.n_resident++] = resident;
    something_changed();
}

static void remove_resident(uint32_t i) {
    if (s.resident[i]->idle) s.n_idle--;
    s.resident[i] = s.resident[--s.n_resident];
    s.begin = true;
    set_focus();
    something_changed();
}

/* Share of the device that is taken, in millionths. */
static uint64_t taken(void) {
    uint64_t sum = 0;
    for (int i = 0; i < s.n_grids; i++) sum += s.window[i].resident * UINT64_C(1000000) / s.window[i].capacity;
    return sum;
}

static bool begin_one(int g) {
    emu_grid *grid = s.grid[g];
    emu_window *window = &s.window[g];
    if (grid->failed || grid->next_cluster == grid->n_clusters || window->resident >= window->capacity) return false;
    if (taken() + 1000000 / window->capacity > 1000000) return false;
    add_resident(emu_resident_begin(grid, window));
    return true;
}

/* Fills each grid's window. True: some cluster has begun. */
static bool begin_clusters(void) {
    bool any = false;
    s.begin = false;
    for (int g = 0; g < s.n_grids; g++)
        while (s.window[g].resident < s.window[g].width && begin_one(g)) any = true;
    if (any) set_focus();
    return any;
}

/* Widens the windows. False: all that fits is resident. */
static bool widen(void) {
    for (int g = 0; g < s.n_grids; g++)
        if (s.grid[g]->next_cluster < s.grid[g]->n_clusters) s.window[g].width *= 2;
    return begin_clusters();
}

/* ---- ends ------------------------------------------------------------------------------------------------------ */

static int index_of(const emu_grid *grid) {
    int g = 0;
    while (s.grid[g] != grid) g++;
    return g;
}

/* Takes down what is resident of a grid that failed. */
static void take_down(emu_grid *grid) {
    grid->ending = true;
    for (uint32_t i = 0; i < s.n_resident;) {
        emu_resident *r = s.resident[i++];
        if (r->cluster->grid != grid) continue;
        remove_resident(i - 1);
        emu_resident_end(r);
        i = 0; /* the others have changed places */
    }
}

static void end_grid(emu_grid *grid) {
    int g = index_of(grid);
    if (grid->failed) take_down(grid);
    grid->done = grid->dependents_may_start = true;
    s.n_grids--;
    memmove(&s.grid[g], &s.grid[g + 1], (size_t)(s.n_grids - g) * sizeof *s.grid);
    memmove(&s.window[g], &s.window[g + 1], (size_t)(s.n_grids - g) * sizeof *s.window);
    something_changed();
}

/* A grid that has ended or now lets its dependents start, NULL: none. */
static emu_grid *find_event(void) {
    for (int g = 0; g < s.n_grids; g++) {
        emu_grid *grid = s.grid[g];
        uint64_t limit = emu_options_get()->limit;
        if (limit && grid->instructions > limit && !grid->failed) {
            grid->failed = true;
            emu_resident_tell_limit(grid, s.resident, s.n_resident);
        }
        if (grid->failed || grid->finished_clusters == grid->n_clusters) return end_grid(grid), grid;
        if (grid->dependents_may_start && !s.window[g].told_start) return s.window[g].told_start = true, grid;
    }
    return NULL;
}

/* ---- slices ---------------------------------------------------------------------------------------------------- */

static bool spins(const emu_warp *warp) {
    for (int i = 0; i < warp->n_fragments; i++)
        if (!warp->fragment[i].wait.ready && warp->fragment[i].spins < SPINS) return false;
    return true;
}

/* 1 to 512, most of them long enough to be fast, some so short that they split sequences of few instructions. Who spins
 * gets little. */
static uint32_t slice_length(const emu_warp *warp) {
    uint32_t dice = emu_random_next(&s.random);
    if (spins(warp)) return 8 + (dice >> 3) % 32;
    switch (dice & 7) {
        case 0: return 1 + (dice >> 3) % 16;
        case 1: return 512;
        default: return 64 + (dice >> 3) % 256;
    }
}

static void count(emu_resident *r, uint64_t instructions, bool spun) {
    r->cluster->grid->instructions += instructions;
    emu_total.warp_instructions += instructions;
    emu_time += instructions;
    s.focused += instructions;
    s.unchanged += instructions;
    s.spun = spun ? s.spun + instructions : 0;
    s.polled += instructions;
    if (!spun) acted();
}

/* One warp's slice. Returns the instructions it ran. */
static uint64_t run_slice(emu_resident *r) {
    uint32_t at = emu_random_below(&s.random, r->n_runnable);
    emu_warp *warp = r->warp[at];
    uint64_t before = warp->instructions;
    emu_progress progress = emu_warp_run(warp, slice_length(warp));
    uint64_t ran = warp->instructions - before;
    bool spun = progress == EMU_WARP_RAN && spins(warp);
    count(r, ran, spun);
    r->spun = spun ? r->spun + ran : 0;
    switch (progress) {
        case EMU_WARP_RAN: break;
        case EMU_WARP_BLOCKED: emu_resident_block(r, at); break;
        case EMU_WARP_EXITED:
            if (emu_resident_exit(r, at)) s.spun = s.unchanged = 0;
            break;
        case EMU_WARP_ABORTED: r->cluster->grid->failed = true; break;
    }
    return ran;
}

/* Nothing of this cluster can run: another takes its place in the focus. It may have been idle before: a new focus
 * takes in idle ones. */
static void leave_idle(uint32_t at) {
    if (!s.resident[at]->idle) s.n_idle++;
    s.resident[at]->idle = true;
    uint32_t other = s.n_focus;
    while (other < s.n_resident && s.resident[other]->idle) other++;
    if (other < s.n_resident) swap_residents(at, other);
}

static void leave_idleness(emu_resident *r) {
    if (r->idle) s.n_idle--;
    r->idle = false;
}

static void end_cluster(uint32_t at) {
    emu_resident *r = s.resident[at];
    emu_grid *grid = r->cluster->grid;
    s.window[index_of(grid)].resident--;
    remove_resident(at);
    emu_resident_end(r);
    grid->finished_clusters++;
}

/* One step of the cluster at this place of the focus. Returns instructions run. */
static uint64_t step(uint32_t at) {
    emu_resident *r = s.resident[at];
    emu_random *random = &r->cluster->grid->random;
    if (r->n_runnable == 0) {
        bool moved = emu_engine_step(r->cluster, random);
        if (moved) acted();
        if (r->n_live == 0 && !moved)
            end_cluster(at);
        else if (emu_resident_wake(r, r->n_live) || moved)
            leave_idleness(r);
        else
            leave_idle(at);
        return 0;
    }
    uint64_t ran = run_slice(r);
    if (r->spun > CLUSTER_SPINS && s.n_resident > s.n_focus) {
        r->spun = 0;
        swap_residents(at, s.n_focus + emu_random_below(&s.random, s.n_resident - s.n_focus));
    }
    (void)emu_resident_wake(r, 2);
    for (uint32_t steps = emu_random_next(random) & 3; steps && emu_engine_step(r->cluster, random); acted()) steps--;
    return ran;
}

/* All are idle: looks at each once more, then lets more clusters begin. False: nothing can run. */
static bool look_again(void) {
    bool woken = false;
    for (uint32_t i = 0; i < s.n_resident; i++)
        if (emu_resident_wake(s.resident[i], s.resident[i]->n_live)) woken = true;
    if (!woken && !begin_clusters() && !widen()) return false;
    something_changed();
    set_focus();
    return true;
}

/* Those that spin may wait for clusters out of the focus, or for some that have not begun. */
static void mind_patience(void) {
    if (s.n_focus == 0) return;
    uint64_t warps = 0;
    for (uint32_t i = 0; i < s.n_focus; i++) warps += s.resident[i]->n_live + 1;
    bool spun = s.spun > PATIENCE + 2 * CLUSTER_SPINS * (uint64_t)s.n_resident; /* each had its turn */
    if (spun || s.unchanged > LONG_PATIENCE * warps) {
        (void)widen();
        s.spun = s.unchanged = 0;
    }
    if (s.n_resident > s.n_focus && s.focused > (s.spun ? PATIENCE / 8 * warps : FOCUS_LENGTH)) set_focus();
}

/* All that is resident polls what nobody changes, and no more can begin; or it slept for longer than anybody would
 * wait. */
static bool polls_for_ever(void) {
    const uint64_t slept = emu_time - s.polled_from - s.polled;
    if (s.polled < POLLED || (slept && slept < LONG_SLEEP)) return false;
    uint64_t warps = 0;
    for (uint32_t i = 0; i < s.n_resident; i++) warps += s.resident[i]->n_live;
    if (s.polled < POLLED + POLLED_BY_WARP * warps) return false;
    acted();
    return true;
}

emu_grid *emu_schedule_run(uint64_t instructions) {
    s.stalled = false;
    for (uint64_t spent = 0; s.n_grids;) {
        emu_grid *grid = find_event();
        if (grid) return grid;
        if (s.begin) begin_clusters();
        if ((s.n_idle == s.n_resident && !look_again()) || polls_for_ever()) {
            s.stalled = true;
            return NULL;
        }
        if (spent >= instructions) return NULL;
        spent += step(emu_random_below(&s.random, s.n_focus));
        mind_patience();
    }
    return NULL;
}

void emu_schedule_deadlock(void) {
    for (int g = 0; g < s.n_grids; g++) {
        if (s.grid[g]->failed) continue;
        emu_resident_tell_deadlock(s.grid[g], s.resident, s.n_resident);
        s.grid[g]->failed = true;
    }
    s.stalled = false;
}

void emu_schedule(emu_grid *const *grids, int n) {
    for (int g = 0; g < n; g++) emu_schedule_add(grids[g]);
    while (emu_schedule_grids())
        if (!emu_schedule_run(UINT64_MAX) && s.stalled) emu_schedule_deadlock();
}

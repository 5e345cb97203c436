/* Random programs of accesses, barriers, fences, atomics and asynchronous work, against sets of events.
 *
 * The model keeps, for whoever can know something, the set of events that it knows, where the checker keeps clocks. An
 * access that the checker faults must conflict with an event that is not in the set; the first such conflict at a byte
 * must be found (after it, the checker has forgotten what was overwritten). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "core/core.h"

enum { EVENTS = 4096, WORDS = EVENTS / 64, MEMORY = 64, OPERATIONS = 12, CARRIERS = 4, LOCATIONS = MEMORY / 4 };

/* ---- sets of events ------------------------------------------------------------------------------------------ */
typedef struct set {
    uint64_t word[WORDS];
} set;
static bool has(const set *s, int event) { return s->word[event / 64] >> event % 64 & 1; }
static void add(set *s, int event) { s->word[event / 64] |= UINT64_C(1) << event % 64; }
static void unite(set *into, const set *from) {
    for (int i = 0; i < WORDS; i++) into->word[i] |= from->word[i];
}

/* Strict: what synchronization makes known. Through: also what an asynchronous operation's issuer knew, once the
 * operation is known: what the checker may take as ordered, because the operation's access stands for those before it.
 */
enum { STRICT, THROUGH, PROXIED, PROXIED_THROUGH, SETS };
typedef struct know {
    set of[SETS];
} know;
static void learn(know *into, const know *from) {
    for (int i = 0; i < SETS; i++) unite(&into->of[i], &from->of[i]);
}
static void learn_event(know *into, int event) {
    add(&into->of[STRICT], event);
    add(&into->of[THROUGH], event);
}

/* ---- the model's machine --------------------------------------------------------------------------------------- */
typedef struct event {
    int warp, operation; /* of the warp's own accesses the operation is -1 */
    int lane;
    bool write, strong, async;
    emu_scope scope;
} event;
typedef struct agent { /* a warp */
    emu_warp *warp;
    int grid, cluster, block; /* unique numbers */
    bool live;
    know now, fence[3], pending[3];
    set lanes[EMU_LANES]; /* own events that each lane knows */
    set own;
    uint64_t group;
} agent;
typedef struct operation {
    bool used, done;
    emu_actor actor;
    int agent, lane, stream; /* stream -1: mbarrier */
    uint64_t number;         /* group or phase */
    know at_issue;
    set own_lanes;
    set events;
} operation;
typedef struct offer {
    know what;
    int level, cluster, block;
} offer;
enum { AGENTS = 24, MOST_OFFERS = 64 };
static event events[EVENTS];
static int n_events;
static agent agents[AGENTS];
static int n_agents;
static operation operations[OPERATIONS];
static struct {
    know known;
    emu_clock *clock;
    int cluster;
} carrier[CARRIERS];
static offer offers[LOCATIONS][MOST_OFFERS];
static int n_offers[LOCATIONS];
static struct {
    int event[EVENTS];
    int n;
    bool dirty;
} history[MEMORY];
static uint8_t memory[MEMORY] __attribute__((aligned(16)));
static emu_shadow *shadow;
static emu_random dice;
static bool trace;       /* EMULATOR_TEST_TRACE: what each program does */
static int repeat = 500; /* EMULATOR_TEST_REPEAT: times the programs of each kind */
#define TRACE(...)                             \
    do {                                       \
        if (trace) print_message(__VA_ARGS__); \
    } while (0)
static int below(int n) { return (int)emu_random_below(&dice, (uint32_t)n); }

/* ---- machines ------------------------------------------------------------------------------------------------------
 */
typedef struct machine {
    emu_grid grid;
    emu_cluster cluster[2];
    emu_block block[4];
    emu_warp warp[8];
    know begin, end;
    int number, n_clusters;
} machine;
static emu_code code;
static int n_blocks_ever, n_clusters_ever;

static void machine_begin(machine *m, int number, int n_clusters, int n_blocks, int n_warps, const emu_clock *begin,
                          const know *known) {
    memset(m, 0, sizeof *m);
    m->grid =
        (emu_grid){.code = &code, .name = "random", .number = (uint64_t)number, .begin_clock = emu_clock_copy(begin)};
    if (known) m->begin = *known;
    m->number = number;
    m->n_clusters = n_clusters;
    emu_check_grid_begin(&m->grid);
    for (int c = 0; c < n_clusters; c++, n_clusters_ever++) {
        m->cluster[c] =
            (emu_cluster){.grid = &m->grid, .block = &m->block[c * n_blocks], .n_blocks = (uint32_t)n_blocks};
        for (int b = 0; b < n_blocks; b++, n_blocks_ever++) {
            emu_block *block = &m->block[c * n_blocks + b];
            *block = (emu_block){.cluster = &m->cluster[c],
                                 .rank = (uint32_t)b,
                                 .n_warps = (uint32_t)n_warps,
                                 .warp = &m->warp[(c * n_blocks + b) * n_warps]};
            for (int w = 0; w < n_warps; w++) {
                block->warp[w] = (emu_warp){.block = block, .index = (uint32_t)w, .lanes = UINT32_MAX, .code = &code};
                agent *a = &agents[n_agents++];
                memset(a, 0, sizeof *a);
                a->warp = &block->warp[w];
                a->grid = number;
                a->cluster = n_clusters_ever;
                a->block = n_blocks_ever;
                a->live = true;
                a->now = m->begin;
            }
        }
        emu_check_cluster_begin(&m->cluster[c]);
    }
}

static void operation_end(operation *o) {
    emu_actor_end(&o->actor);
    o->used = false;
}

static void machine_end(machine *m) {
    for (int i = 0; i < OPERATIONS; i++)
        if (operations[i].used && agents[operations[i].agent].grid == m->number) operation_end(&operations[i]);
    m->end = m->begin;
    for (int i = 0; i < n_agents; i++)
        if (agents[i].grid == m->number) {
            learn(&m->end, &agents[i].now);
            agents[i].live = false;
        }
    for (int e = 0; e < n_events; e++)
        for (int s = 0; s < SETS && agents[events[e].warp].grid == m->number; s++) add(&m->end.of[s], e);
    for (int c = 0; c < m->n_clusters; c++) emu_check_cluster_end(&m->cluster[c]);
    emu_check_grid_end(&m->grid);
}

static void machine_free(machine *m) {
    emu_clock_free(m->grid.begin_clock);
    emu_clock_free(m->grid.end_clock);
}

/* ---- the model's verdict ----------------------------------------------------------------------------------------- */
static bool reaches(const agent *a, const agent *b, emu_scope scope) {
    return scope >= EMU_SCOPE_GPU || a->block == b->block || (scope == EMU_SCOPE_CLUSTER && a->cluster == b->cluster);
}

enum { NONE, RACES, UNFENCED };
/* through: as the checker may see it. */
static int conflict(const event *past, int past_id, const event *now, const operation *by, bool through) {
    const agent *a = &agents[now->warp], *b = &agents[past->warp];
    if (!past->write && !now->write) return NONE;
    const know *known = by ? &by->at_issue : &a->now;
    bool same_warp = past->warp == now->warp && past->operation < 0;
    if (past->operation >= 0 && past->operation == now->operation) return NONE;
    bool ordered;
    if (same_warp && !by)
        ordered = past->lane == now->lane || has(&a->lanes[now->lane], past_id);
    else if (same_warp)
        ordered = has(&known->of[STRICT], past_id) && (past->lane == now->lane || has(&by->own_lanes, past_id));
    else
        ordered = has(&known->of[through ? THROUGH : STRICT], past_id);
    if (!ordered) {
        bool atomic = past->strong && now->strong && reaches(a, b, past->scope) && reaches(a, b, now->scope);
        if (same_warp && past->strong && now->strong) atomic = true;
        return atomic ? NONE : RACES;
    }
    bool unfenced =
        now->async && past->write && !past->async && !has(&known->of[through ? PROXIED_THROUGH : PROXIED], past_id);
    return unfenced ? UNFENCED : NONE;
}

/* The checker knows the lane of a byte's last reader only: of a warp's own reads before one by another actor, or of
 * another kind, no conflict by lanes is found. */
static bool lane_is_forgotten(int byte, int p, const event *now) {
    const event *past = &events[history[byte].event[p]];
    if (past->write || past->warp != now->warp || past->operation >= 0) return false;
    for (int q = p + 1; q < history[byte].n; q++) {
        const event *later = &events[history[byte].event[q]];
        if (later->warp != past->warp || later->operation >= 0 || later->strong != past->strong) return true;
    }
    return false;
}

static uint64_t n_conflicts, n_checked, n_unfenced;

/* All lanes' accesses of one instruction: lane l's bytes at[l] … */
static void judge(const event *now, int n, const uint64_t *at, uint32_t bytes, const operation *by, bool found,
                  const char *text) {
    bool any = false, must = false, all_unfenced = true;
    for (int i = 0; i < n; i++)
        for (uint64_t k = at[i]; k < at[i] + bytes; k++) {
            bool here = false;
            for (int p = 0; p < history[k].n; p++) {
                int id = history[k].event[p];
                int strict = conflict(&events[id], id, &now[i], by, false);
                any = any || strict;
                if (strict == RACES) all_unfenced = false;
                here = here || (conflict(&events[id], id, &now[i], by, true) && !lane_is_forgotten((int)k, p, &now[i]));
            }
            must = must || (here && !history[k].dirty);
            history[k].dirty = history[k].dirty || here;
        }
    n_checked++;
    n_conflicts += any;
    if (found && !any) fail_msg("found, but all is ordered: %s", text);
    if (!found && must) fail_msg("not found: event %d", n_events);
    if (found && all_unfenced) {
        assert_non_null(strstr(text, "missing-proxy-fence"));
        n_unfenced++;
    }
    for (int i = 0; i < n; i++) {
        assert_true(n_events < EVENTS);
        events[n_events] = now[i];
        for (uint64_t k = at[i]; k < at[i] + bytes; k++) {
            /* Of lanes of one instruction that wrote the same byte the checker knows one. */
            for (int other = 0; other < i; other++)
                if (now[i].write && k >= at[other] && k < at[other] + bytes) history[k].dirty = true;
            history[k].event[history[k].n++] = n_events;
        }
        n_events++;
    }
}

/* ---- accesses of warps ------------------------------------------------------------------------------------------- */
static emu_op ops[4 * 8 * 4]; /* an instruction for each kind, semantics and scope */

static void take_offers(agent *a, const offer *list, int n, emu_scope scope, bool at_once) {
    for (int i = 0; i < n; i++) {
        int level = (int)scope > 2 ? 2 : (int)scope;
        if (list[i].level < level) level = list[i].level;
        int need = list[i].block == a->block ? 0 : list[i].cluster == a->cluster ? 1 : 2;
        if (level < need) continue;
        for (int l = need; !at_once && l <= level; l++) learn(&a->pending[l], &list[i].what);
        if (at_once) learn(&a->now, &list[i].what);
        for (int lane = 0; at_once && lane < EMU_LANES; lane++)
            for (int w = 0; w < WORDS; w++) a->lanes[lane].word[w] |= list[i].what.of[STRICT].word[w] & a->own.word[w];
    }
}

static void make_offers(agent *a, int word, emu_access_kind kind, emu_scope scope, bool at_once) {
    if (kind == EMU_WRITE) n_offers[word] = 0;
    int level = (int)scope > 2 ? 2 : (int)scope;
    for (int l = 0; l <= level; l++) {
        assert_true(n_offers[word] < MOST_OFFERS);
        offers[word][n_offers[word]++] =
            (offer){.what = at_once ? a->now : a->fence[l], .level = l, .cluster = a->cluster, .block = a->block};
    }
}

static void access_lanes(int who, int n_lanes, emu_access access, const uint64_t *at, bool strong) {
    agent *a = &agents[who];
    event now[EMU_LANES];
    uint64_t by_lane[EMU_LANES] = {0}, packed[EMU_LANES];
    emu_mask mask = 0;
    int first = n_events, n = 0;
    bool acquire = access.semantics == EMU_ACQUIRE || access.semantics == EMU_ACQUIRE_RELEASE;
    bool release = access.semantics == EMU_RELEASE || access.semantics == EMU_ACQUIRE_RELEASE;
    for (int i = 0; i < n_lanes; i++) {
        int lane;
        do lane = below(EMU_LANES);
        while (mask >> lane & 1);
        mask |= 1u << lane;
        by_lane[lane] = at[i];
    }
    for (int lane = 0; lane < EMU_LANES; lane++)
        if (mask >> lane & 1) {
            packed[n] = by_lane[lane];
            now[n++] = (event){.warp = who,
                               .operation = -1,
                               .lane = lane,
                               .write = access.kind & EMU_WRITE,
                               .strong = strong,
                               .scope = access.scope};
        }
    for (int i = 0; i < n; i++)
        TRACE("event %d: warp %d lane %d kind %d semantics %d scope %d at %d, %u bytes\n", n_events + i, who,
              now[i].lane, (int)access.kind, (int)access.semantics, (int)access.scope, (int)packed[i], access.bytes);
    uint64_t before = emu_findings_count();
    (void)emu_findings_take();
    emu_shadow_lanes(shadow, a->warp, &ops[((int)access.kind * 8 + (int)access.semantics) * 4 + (int)access.scope],
                     mask, &access, by_lane);
    bool found = emu_findings_count() > before;
    for (int i = 0; strong && (access.kind & EMU_READ) && i < n; i++)
        take_offers(a, offers[packed[i] / 4], n_offers[packed[i] / 4], access.scope, acquire);
    judge(now, n, packed, access.bytes, NULL, found, emu_findings_take());
    for (int i = 0; i < n; i++) {
        learn_event(&a->now, first + i);
        add(&a->own, first + i);
        add(&a->lanes[now[i].lane], first + i);
    }
    for (int i = 0; strong && (access.kind & EMU_WRITE) && i < n; i++)
        make_offers(a, (int)packed[i] / 4, access.kind, access.scope, release);
}

static void weak_access(int who) {
    uint32_t bytes = 1u << below(5);
    int n = below(3) ? 1 : 1 + below(4);
    uint64_t at[EMU_LANES];
    uint64_t start = (uint64_t)below(MEMORY / (int)bytes) * bytes;
    bool row = below(2);
    for (int i = 0; i < n; i++) {
        at[i] = row ? start + (uint64_t)i * bytes : (uint64_t)below(MEMORY / (int)bytes) * bytes;
        if (at[i] + bytes > MEMORY) at[i] = 0;
    }
    access_lanes(who, n, (emu_access){.kind = below(2) ? EMU_READ : EMU_WRITE, .bytes = bytes}, at, false);
}

static void strong_access(int who) {
    static const emu_access_kind kinds[] = {EMU_READ, EMU_WRITE, EMU_UPDATE};
    emu_access access = {.kind = kinds[below(3)], .scope = below(4) ? EMU_SCOPE_GPU : EMU_SCOPE_SYS, .bytes = 4};
    static const emu_semantics semantics[] = {EMU_VOLATILE, EMU_RELAXED, EMU_RELAXED,
                                              EMU_ACQUIRE,  EMU_RELEASE, EMU_ACQUIRE_RELEASE};
    access.semantics = semantics[below(6)];
    if (access.kind == EMU_READ && access.semantics >= EMU_RELEASE) access.semantics = EMU_ACQUIRE;
    if (access.kind == EMU_WRITE && access.semantics >= EMU_ACQUIRE) access.semantics = EMU_RELEASE;
    if (access.semantics == EMU_VOLATILE && access.kind == EMU_UPDATE) access.semantics = EMU_RELAXED;
    uint64_t at = (uint64_t)below(2) * 4;
    access_lanes(who, 1, access, &at, true);
}

/* ---- synchronization --------------------------------------------------------------------------------------------- */
static void acquire_known(agent *a, const know *known) {
    learn(&a->now, known);
    for (int lane = 0; lane < EMU_LANES; lane++)
        for (int w = 0; w < WORDS; w++) a->lanes[lane].word[w] |= known->of[STRICT].word[w] & a->own.word[w];
}

static void fence(int who) {
    agent *a = &agents[who];
    emu_scope scope = (emu_scope)below(4);
    int level = scope > 2 ? 2 : (int)scope;
    TRACE("fence: warp %d scope %d\n", who, (int)scope);
    emu_fence(a->warp, scope);
    for (int l = 0; l <= level; l++) {
        acquire_known(a, &a->pending[l]);
        memset(&a->pending[l], 0, sizeof a->pending[l]);
    }
    for (int l = 0; l <= level; l++) a->fence[l] = a->now;
}

static void fence_proxy(int who) {
    agent *a = &agents[who];
    emu_fence_proxy_async(a->warp);
    unite(&a->now.of[PROXIED], &a->now.of[STRICT]);
    unite(&a->now.of[PROXIED_THROUGH], &a->now.of[THROUGH]);
}

static void synchronize_warp(int who) {
    agent *a = &agents[who];
    emu_warp_synchronized(a->warp, UINT32_MAX);
    for (int lane = 0; lane < EMU_LANES; lane++) a->lanes[lane] = a->own;
}

static void use_carrier(int who) {
    agent *a = &agents[who];
    int c = below(CARRIERS);
    if (below(2)) {
        emu_release(a->warp, &carrier[c].clock);
        learn(&carrier[c].known, &a->now);
    } else {
        emu_acquire(a->warp, carrier[c].clock);
        acquire_known(a, &carrier[c].known);
    }
}

static void forget_carrier(void) {
    int c = below(CARRIERS);
    emu_clock_free(carrier[c].clock);
    memset(&carrier[c], 0, sizeof carrier[c]);
}

static void barrier_of_block(int who) {
    emu_clock *clock = NULL;
    know all = {0};
    TRACE("barrier: warp %d block %d\n", who, agents[who].block);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n_agents; i++) {
            agent *a = &agents[i];
            if (!a->live || a->block != agents[who].block) continue;
            if (pass == 0) {
                emu_release(a->warp, &clock);
                learn(&all, &a->now);
            } else {
                emu_acquire(a->warp, clock);
                acquire_known(a, &all);
            }
        }
    emu_clock_free(clock);
}

/* ---- asynchronous work ------------------------------------------------------------------------------------------- */
static uint32_t mbarrier_slot[64]; /* by the cluster's number */
static uint64_t mbarrier_phase[64];

static void issue(int who) {
    operation *o = NULL;
    for (int i = 0; i < OPERATIONS && !o; i++)
        if (!operations[i].used) o = &operations[i];
    if (!o) return;
    agent *a = &agents[who];
    int lane = below(3) ? below(EMU_LANES) : -1;
    emu_proxy proxy = below(4) ? EMU_PROXY_ASYNC : EMU_PROXY_GENERIC;
    *o = (operation){.used = true, .agent = who, .lane = lane, .stream = below(2) ? -1 : below(3), .at_issue = a->now};
    for (int w = 0; w < WORDS; w++) o->own_lanes.word[w] = lane < 0 ? a->own.word[w] : a->lanes[lane].word[w];
    if (o->stream < 0) {
        o->number = mbarrier_phase[a->cluster];
        emu_actor_of_mbarrier(a->warp, &ops[0], lane, a->warp->block, &mbarrier_slot[a->cluster], o->number, proxy,
                              &o->actor);
    } else {
        o->number = a->group;
        emu_actor_of_group(a->warp, &ops[0], lane, (emu_stream_kind)o->stream, o->number, proxy, &o->actor);
    }
}

static void step(void) {
    operation *o = &operations[below(OPERATIONS)];
    if (!o->used || o->done) return;
    uint64_t at = (uint64_t)below(MEMORY), bytes = 1 + (uint64_t)below(MEMORY - (int)at);
    if (bytes > 20) bytes = 16, at &= ~UINT64_C(15);
    emu_access access = {.kind = below(2) ? EMU_READ : EMU_WRITE, .bytes = 1};
    event now = {.warp = o->agent,
                 .operation = (int)(o->actor.operation & 0xffffff),
                 .lane = o->lane < 0 ? 99 : o->lane,
                 .write = access.kind & EMU_WRITE,
                 .async = o->actor.proxy == EMU_PROXY_ASYNC};
    uint64_t before = emu_findings_count();
    (void)emu_findings_take();
    emu_shadow_range(shadow, &o->actor, &access, at, bytes);
    bool found = emu_findings_count() > before;
    add(&o->events, n_events);
    judge(&now, 1, &at, (uint32_t)bytes, o, found, emu_findings_take());
    if (!below(3)) o->done = true;
}

/* The operation's events, and what its issuer knew, as the checker may see it. */
static void learn_operation(know *into, const operation *o) {
    unite(&into->of[STRICT], &o->events);
    unite(&into->of[THROUGH], &o->events);
    unite(&into->of[THROUGH], &o->at_issue.of[THROUGH]);
    unite(&into->of[PROXIED_THROUGH], &o->at_issue.of[PROXIED_THROUGH]);
}

static bool belongs(const operation *o, int agent_index, int stream) {
    if (!o->used) return false;
    if (stream < 0) return o->stream < 0 && agents[o->agent].cluster == agents[agent_index].cluster;
    return o->agent == agent_index &&
           (o->stream == stream || (stream == EMU_STREAM_BULK && o->stream == EMU_STREAM_BULK_READ));
}

static void wait_for_work(int who) {
    agent *a = &agents[who];
    int stream = below(4) - 1;
    for (int i = 0; i < OPERATIONS; i++)
        if (belongs(&operations[i], who, stream) && !operations[i].done) return;
    know known = {0};
    bool any = false;
    for (int i = 0; i < OPERATIONS; i++)
        if (belongs(&operations[i], who, stream)) {
            any = true;
            learn_operation(&known, &operations[i]);
            if (stream < 0 || operations[i].stream == stream) operation_end(&operations[i]);
        }
    if (!any) return;
    if (stream < 0) {
        emu_clock *clock = NULL;
        emu_clock_phase(&clock, a->warp->block, mbarrier_slot[a->cluster], mbarrier_phase[a->cluster]++);
        emu_acquire(a->warp, clock);
        emu_clock_free(clock);
    } else {
        emu_acquire_group(a->warp, (emu_stream_kind)stream, a->group++);
    }
    learn(&a->now, &known);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */
typedef struct mix {
    int weak, strong, fence, proxy, warp, carrier, block, issue, step, wait;
} mix;
static void one(const mix *m) {
    int who;
    do who = below(n_agents);
    while (!agents[who].live);
    int total =
        m->weak + m->strong + m->fence + m->proxy + m->warp + m->carrier + m->block + m->issue + m->step + m->wait;
    int k = below(total);
    if ((k -= m->weak) < 0)
        weak_access(who);
    else if ((k -= m->strong) < 0)
        strong_access(who);
    else if ((k -= m->fence) < 0)
        fence(who);
    else if ((k -= m->proxy) < 0)
        fence_proxy(who);
    else if ((k -= m->warp) < 0)
        synchronize_warp(who);
    else if ((k -= m->carrier) < 0)
        below(8) ? use_carrier(who) : forget_carrier();
    else if ((k -= m->block) < 0)
        barrier_of_block(who);
    else if ((k -= m->issue) < 0)
        issue(who);
    else if ((k -= m->step) < 0)
        step();
    else
        wait_for_work(who);
}

static void reset(void) {
    n_events = n_agents = n_blocks_ever = n_clusters_ever = 0;
    memset(history, 0, sizeof history);
    memset(n_offers, 0, sizeof n_offers);
    memset(mbarrier_slot, 0, sizeof mbarrier_slot);
    memset(mbarrier_phase, 0, sizeof mbarrier_phase);
    memset(operations, 0, sizeof operations);
    while (carrier[0].clock || carrier[1].clock || carrier[2].clock || carrier[3].clock) forget_carrier();
    memset(carrier, 0, sizeof carrier);
    emu_shadow_fresh(shadow, 0, MEMORY, true);
}

static void program(const mix *m, int n) {
    static machine a, b, c, d;
    static int launch;
    reset();
    machine_begin(&a, ++launch, 2, 2, 2, NULL, NULL);
    machine_begin(&b, ++launch, 1, 1, 2, NULL, NULL);
    for (int i = 0; i < n; i++) one(m);
    machine_end(&a);
    /* In the stream of the first; of both streams where an event says so. */
    TRACE("the first launch ended\n");
    emu_clock *begin = emu_clock_copy(a.grid.end_clock);
    know known = a.end;
    bool both = below(2);
    if (both) {
        machine_end(&b);
        emu_clock_join(&begin, b.grid.end_clock);
        learn(&known, &b.end);
    }
    machine_begin(&c, ++launch, 2, 1, 2, begin, &known);
    emu_clock_free(begin);
    for (int i = 0; i < n; i++) one(m);
    if (!both) machine_end(&b);
    machine_end(&c);
    emu_check_host_waited(c.grid.end_clock);
    learn(&known, &c.end);
    if (below(2)) {
        emu_check_host_waited(b.grid.end_clock);
        learn(&known, &b.end);
    }
    begin = NULL;
    emu_clock_host(&begin);
    machine_begin(&d, ++launch, 1, 2, 2, begin, &known);
    emu_clock_free(begin);
    for (int i = 0; i < n; i++) one(m);
    machine_end(&d);
    emu_check_host_waited(b.grid.end_clock);
    emu_check_host_waited(d.grid.end_clock);
    machine *all[] = {&a, &b, &c, &d};
    for (int i = 0; i < 4; i++) machine_free(all[i]);
}

static void programs(const char *name, const mix *m, int events_each, int n) {
    n_conflicts = n_checked = n_unfenced = 0;
    for (int seed = 0; seed < n; seed++) {
        emu_random_seed(&dice, (uint64_t)seed);
        TRACE("%s, seed %d\n", name, seed);
        program(m, events_each);
    }
    print_message("%s: %d programs, %lu accesses, %lu in conflict (%lu for want of a proxy fence)\n", name, n,
                  (unsigned long)n_checked, (unsigned long)n_conflicts, (unsigned long)n_unfenced);
    assert_true(n_conflicts > n_checked / 100);
    assert_true(n_conflicts < n_checked * 99 / 100);
}

static void barriers(void **state) {
    (void)state;
    const mix m = {.weak = 6, .carrier = 10, .block = 10, .warp = 4};
    programs("barriers", &m, 40, repeat * 3);
}

static void atomics(void **state) {
    (void)state;
    const mix m = {.weak = 3, .strong = 12, .fence = 8, .block = 2, .warp = 2};
    programs("atomics and fences", &m, 60, repeat * 2);
}

static void asynchronous(void **state) {
    (void)state;
    const mix m = {.weak = 5, .carrier = 8, .block = 12, .proxy = 10, .warp = 3, .issue = 8, .step = 14, .wait = 14};
    programs("asynchronous work", &m, 70, repeat * 3);
}

static void everything(void **state) {
    (void)state;
    const mix m = {.weak = 4,
                   .strong = 4,
                   .fence = 4,
                   .carrier = 8,
                   .block = 8,
                   .proxy = 4,
                   .warp = 3,
                   .issue = 2,
                   .step = 4,
                   .wait = 8};
    programs("everything", &m, 60, repeat * 2);
}

int main(void) {
    trace = getenv("EMULATOR_TEST_TRACE") != NULL;
    if (getenv("EMULATOR_TEST_REPEAT")) repeat = atoi(getenv("EMULATOR_TEST_REPEAT"));
    setenv("EMULATOR_MAX_FINDINGS", "0", 1);
    setenv("EMULATOR_RACES", "1", 1);
    shadow = emu_shadow_create(memory, MEMORY, false);
    const struct CMUnitTest tests[] = {cmocka_unit_test(barriers), cmocka_unit_test(atomics),
                                       cmocka_unit_test(asynchronous), cmocka_unit_test(everything)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    emu_shadow_destroy(shadow);
    return failed;
}

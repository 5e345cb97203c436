/* The life of clusters, launches and the host, as far as clocks are concerned. */
#include "check/knowledge.h"

#include <stdlib.h>
#include <string.h>

#include "check/record.h"

uint64_t emu_check_generation = 1;
static emu_clock *host;
static uint64_t newest_launch;
static uint32_t running_launches;

struct emu_checks emu_checks;

void emu_checks_begin(void) {
    const emu_options *options = emu_options_get();
    emu_checks = (struct emu_checks){.known = true,
                                     .races = options->check_races,
                                     .initialized = options->check_initialized > 0,
                                     .shared_initialized = options->check_initialized > 1};
}

/* ---- families: by number; those before the first that is left are gone --------------------------------------- */
static emu_family **families;
static uint32_t n_families, capacity, first_number = 1; /* numbers are never used again */

emu_family *emu_family_of(uint32_t number) {
    uint32_t at = number - first_number;
    return at < n_families ? families[at] : NULL;
}

static emu_family *family_new(emu_cluster *cluster) {
    if (n_families == capacity) {
        capacity = capacity ? 2 * capacity : 64;
        families = emu_grow(families, capacity, sizeof(emu_family *));
    }
    emu_family *family = emu_alloc(sizeof *family);
    family->number = first_number + n_families;
    families[n_families++] = family;
    family->launch = cluster->grid->number;
    family->kernel = cluster->grid->name;
    family->code = cluster->grid->code;
    family->n_blocks = cluster->n_blocks;
    family->block = emu_alloc(cluster->n_blocks * sizeof(emu_dim));
    for (uint32_t i = 0; i < cluster->n_blocks; i++) family->block[i] = cluster->block[i].index;
    return family;
}

uint32_t emu_family_slot(emu_family *family, emu_slot_kind kind, int stream, uint32_t rank, uint32_t warp) {
    if (family->n_slots == family->capacity) {
        family->capacity = family->capacity ? 2 * family->capacity : 16;
        family->slot = emu_grow(family->slot, family->capacity, sizeof(emu_slot));
    }
    family->slot[family->n_slots] =
        (emu_slot){.kind = (uint8_t)kind, .stream = (uint8_t)stream, .rank = (uint16_t)rank, .warp = (uint16_t)warp};
    return family->n_slots++;
}

void emu_families_sweep(void) {
    for (uint32_t i = 0; i < n_families; i++) {
        emu_family *family = families[i];
        if (!family) continue;
        if (family->ended && !family->marked) {
            free(family->slot);
            free(family->block);
            free(family);
            families[i] = NULL;
        } else {
            family->marked = false;
        }
    }
    uint32_t gone = 0;
    while (gone < n_families && !families[gone]) gone++;
    memmove(families, families + gone, (n_families - gone) * sizeof(emu_family *));
    n_families -= gone;
    first_number += gone;
}

/* ---- clusters ------------------------------------------------------------------------------------------------ */
static void order_begin(emu_warp *warp, emu_family *family, const emu_clock *begin, uint32_t n_warps) {
    emu_order *order = emu_alloc(sizeof *order);
    order->family = family;
    order->rank = warp->block->rank;
    order->slot = emu_family_slot(family, EMU_SLOT_WARP, 0, order->rank, warp->index);
    order->epoch = 1;
    order->clock = emu_clock_new(family->number, (n_warps + 15) / 8 * 8);
    emu_clock_join(&order->clock, begin);
    warp->order = order;
}

void emu_check_cluster_begin(emu_cluster *cluster) {
    if (!emu_checks.races) return;
    cluster->family = family_new(cluster);
    uint32_t n_warps = 0;
    for (uint32_t b = 0; b < cluster->n_blocks; b++) n_warps += cluster->block[b].n_warps;
    for (uint32_t b = 0; b < cluster->n_blocks; b++)
        for (uint32_t w = 0; w < cluster->block[b].n_warps; w++)
            order_begin(&cluster->block[b].warp[w], cluster->family, cluster->grid->begin_clock, n_warps);
}

static void order_end(emu_warp *warp) {
    emu_order *order = warp->order;
    if (!order) return;
    for (int level = 0; level < EMU_LEVELS; level++) {
        emu_clock_free(order->fence[level]);
        emu_clock_free(order->pending[level]);
    }
    for (int i = 0; i < EMU_COLLECTIVES; i++) emu_clock_free(order->collective[i].clock);
    emu_clock_free(order->clock);
    free(order->lanes);
    free(order);
    warp->order = NULL;
}

/* What a warp learned of other launches that run beside its own: the launch's end makes it known. */
static void learned(emu_grid *grid, const emu_clock *clock) {
    const emu_clock *begin = grid->begin_clock;
    bool nothing = clock->launches == (begin ? begin->launches : NULL);
    for (int side = 0; side < EMU_SIDES; side++) nothing = nothing && !clock->foreign[side];
    if (nothing) return;
    if (!grid->end_clock) grid->end_clock = emu_clock_new(0, 0);
    emu_clock_join(&grid->end_clock, clock);
}

void emu_check_cluster_end(emu_cluster *cluster) {
    if (!cluster->family) return;
    for (uint32_t b = 0; b < cluster->n_blocks; b++)
        for (uint32_t w = 0; w < cluster->block[b].n_warps; w++) {
            emu_warp *warp = &cluster->block[b].warp[w];
            if (warp->order) learned(cluster->grid, warp->order->clock);
            order_end(warp);
        }
    cluster->family->ended = true;
    cluster->family = NULL;
}

/* ---- launches ------------------------------------------------------------------------------------------------ */
void emu_check_grid_begin(emu_grid *grid) {
    emu_checks_begin();
    if (!emu_checks.races) return;
    running_launches++;
    if (grid->number > newest_launch) newest_launch = grid->number;
    emu_report_begin();
}

/* Families that a launch's end covers, or whose launch is known to have ended. */
static bool covered(uint32_t number, const void *context) {
    const emu_clock *clock = context;
    const emu_family *family = emu_family_of(number);
    return !family || emu_launches_know(clock->launches, family->launch);
}

void emu_check_grid_end(emu_grid *grid) {
    emu_initialized_end(grid);
    if (!emu_checks.races) return;
    running_launches--;
    if (!grid->end_clock) grid->end_clock = emu_clock_new(0, 0);
    emu_clock_join(&grid->end_clock, grid->begin_clock);
    emu_clock *clock = emu_clock_own(&grid->end_clock, 0);
    emu_launches_add(&clock->launches, grid->number);
    for (int side = 0; side < EMU_SIDES; side++) emu_foreign_prune(&clock->foreign[side], covered, clock);
}

/* ---- the host ------------------------------------------------------------------------------------------------ */
void emu_clock_host(emu_clock **into) { emu_clock_join(into, host); }

/* When the host knows all that ever ran, so will all that is launched from now on: no record can conflict any more. */
static void drop_records(void) {
    if (running_launches || !newest_launch || !emu_launches_know(host->launches, newest_launch)) return;
    for (uint64_t number = newest_launch; number > 0 && number + 64 > newest_launch; number--)
        if (!emu_launches_know(host->launches, number)) return;
    if (host->launches->floor + 64 <= newest_launch) return;
    emu_check_generation++;
    emu_records_clear();
    emu_families_sweep();
    emu_clock *clock = emu_clock_own(&host, 0);
    for (int side = 0; side < EMU_SIDES; side++) emu_foreign_prune(&clock->foreign[side], covered, clock);
}

void emu_check_host_waited(const emu_clock *clock) {
    if (!emu_checks.races || !clock) return;
    if (!host) host = emu_clock_new(0, 0);
    emu_clock_join(&host, clock);
    drop_records();
}

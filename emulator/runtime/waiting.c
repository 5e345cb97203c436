/* Reports of launches that cannot end: warps that wait for the same are told in one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/warp.h"
#include "machine/decode.h"
#include "runtime/resident.h"

enum { GROUPS = 24, LINE = 600 };

typedef struct group {
    char text[LINE];
    const emu_warp *first;
    uint32_t warps;
} group;

typedef struct groups {
    group group[GROUPS];
    int n;
    uint32_t others; /* warps that did not fit */
    const emu_warp *warp;
} groups;

static void add_line(void *context, const char *text) {
    groups *all = context;
    int i = 0;
    while (i < all->n && strncmp(all->group[i].text, text, LINE - 1) != 0) i++;
    if (i == GROUPS) {
        all->others++;
        return;
    }
    if (i == all->n) {
        (void)snprintf(all->group[i].text, LINE, "%s", text);
        all->group[i].first = all->warp;
        all->n++;
    }
    all->group[i].warps++;
}

static void collect(groups *all, const emu_grid *grid, emu_resident *const *resident, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        const emu_resident *r = resident[i];
        for (uint32_t w = 0; r->cluster->grid == grid && w < r->n_live; w++) {
            all->warp = r->warp[w];
            emu_warp_describe(all->warp, add_line, all);
        }
    }
}

static void tell_groups(const groups *all) {
    for (int i = 0; i < all->n; i++) {
        const group *g = &all->group[i];
        const emu_block *block = g->first->block;
        char others[48] = "";
        if (g->warps > 1) (void)snprintf(others, sizeof others, " and %u more", g->warps - 1);
        emu_find_more("block (%u,%u,%u) warp %u%s: %s", block->index.x, block->index.y, block->index.z, g->first->index,
                      others, g->text);
    }
    if (all->others) emu_find_more("%u more places", all->others);
}

static uint32_t live_warps(const emu_grid *grid, emu_resident *const *resident, uint32_t n) {
    uint32_t live = 0;
    for (uint32_t i = 0; i < n; i++)
        if (resident[i]->cluster->grid == grid) live += resident[i]->n_live;
    return live;
}

void emu_resident_tell_deadlock(emu_grid *grid, emu_resident *const *resident, uint32_t n) {
    groups *all = emu_alloc(sizeof *all);
    collect(all, grid, resident, n);
    unsigned long long not_begun = grid->n_clusters - grid->next_cluster;
    emu_find_grid(grid, EMU_DEADLOCK, 0, "%u warps wait for what does not come%s%s", live_warps(grid, resident, n),
                  not_begun ? "; the blocks that have not begun find no room" : "", all->n ? "" : "; none is resident");
    tell_groups(all);
    free(all);
}

void emu_resident_tell_limit(emu_grid *grid, emu_resident *const *resident, uint32_t n) {
    groups *all = emu_alloc(sizeof *all);
    collect(all, grid, resident, n);
    emu_find_grid(grid, EMU_LIMIT, 0, "not done after %llu warp instructions (EMULATOR_LIMIT); %u warps are",
                  (unsigned long long)grid->instructions, live_warps(grid, resident, n));
    tell_groups(all);
    free(all);
}

/* Nodes: a table that grows, ids of 26 bits, sweeps of those that no cell names. */
#include "check/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

emu_node *emu_nodes;
uint64_t emu_sweeps = 1;
static uint32_t n_nodes = 1, size, free_list;
enum { FIRST_SWEEP = 1 << 20, MOST_NODES = (1 << 26) - (1 << 16), RESERVE = 4096 };
uint32_t emu_nodes_live, emu_nodes_limit = FIRST_SWEEP;

static struct { uint32_t tail, node, set; } made[1 << 14]; /* sets that were made lately */

uint32_t emu_node_new(void) {
    uint32_t id = free_list;
    emu_nodes_live++;
    if (id) {
        free_list = emu_nodes[id].epoch;
    } else {
        if (n_nodes >= size) {
            size = size ? 2 * size : 1 << 12;
            emu_nodes = emu_grow(emu_nodes, size, sizeof *emu_nodes);
        }
        id = n_nodes++;
    }
    memset(&emu_nodes[id], 0, sizeof emu_nodes[id]);
    emu_nodes[id].members = 1;
    return id;
}

/* The newest members of a set, and the oldest. */
static uint32_t cut(uint32_t set) {
    uint32_t member[EMU_MOST_MEMBERS] = {0}, n = 0;
    for (uint32_t rest = set; rest;) member[n++] = emu_set_next(&rest);
    uint32_t kept = member[n - 1];
    for (uint32_t i = EMU_MEMBERS_KEPT - 1; i-- > 0;) kept = emu_set_add(kept, member[i]);
    return kept;
}

uint32_t emu_set_add(uint32_t tail, uint32_t node) {
    if (!tail) return node;
    uint32_t at = (tail * 0x9e3779b1u ^ node * 0x85ebca6bu) >> 18;
    if (made[at].tail == tail && made[at].node == node) return made[at].set;
    uint32_t rest = emu_nodes[tail].members < EMU_MOST_MEMBERS ? tail : cut(tail);
    uint32_t id = emu_node_new();
    emu_node *set = &emu_nodes[id];
    set->set = true;
    set->slot = node;
    set->epoch = rest;
    set->members = (uint8_t)(emu_nodes[rest].members + 1);
    made[at].tail = tail;
    made[at].node = node;
    made[at].set = id;
    return id;
}

void emu_records_clear(void) {
    n_nodes = 1;
    free_list = emu_nodes_live = 0;
    emu_nodes_limit = FIRST_SWEEP;
    memset(made, 0, sizeof made);
    emu_sweeps++;
}

static void mark(uint32_t id) {
    while (id && !emu_nodes[id].marked) {
        emu_node *node = &emu_nodes[id];
        node->marked = true;
        if (node->set) {
            mark(emu_set_first(node));
            id = emu_set_rest(node);
        } else {
            emu_family *family = emu_family_of(node->family);
            if (family) family->marked = true;
            id = 0;
        }
    }
}

static void sweep(void) {
    for (const emu_shadow *shadow = emu_shadows; shadow; shadow = shadow->next)
        for (uint64_t p = 0; p < shadow->n_pages; p++) {
            const emu_page *page = &shadow->page[p];
            if (!page->cell || page->generation != emu_check_generation) continue;
            for (uint32_t i = 0; i < (uint32_t)EMU_PAGE >> page->shift; i++) {
                mark(page->cell[i].written >> EMU_LANE_BITS);
                mark(page->cell[i].read >> EMU_LANE_BITS);
            }
        }
    free_list = emu_nodes_live = 0;
    for (uint32_t id = n_nodes - 1; id > 0; id--) {
        emu_node *node = &emu_nodes[id];
        if (node->marked) {
            emu_nodes_live++;
        } else {
            node->op = NULL;
            node->set = false;
            node->epoch = free_list;
            free_list = id;
        }
        node->marked = false;
    }
    emu_families_sweep();
    memset(made, 0, sizeof made);
    emu_sweeps++;
}

void emu_records_sweep(void) {
    sweep();
    uint32_t twice = 2 * emu_nodes_live;
    emu_nodes_limit = twice < FIRST_SWEEP ? FIRST_SWEEP : twice > MOST_NODES ? MOST_NODES : twice;
    if (emu_nodes_live + RESERVE < MOST_NODES) return;
    /* Never seen: more accesses at once in memory than ids. All are forgotten. */
    (void)fprintf(stderr, "emulator: too many accesses to remember; races with those up to now are not found\n");
    emu_check_generation++;
    emu_records_clear();
}

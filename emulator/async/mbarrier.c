/* mbarriers as objects: found by their address, their state's image in shared memory, and what they make known. */
#include "async/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table of a block: open addressing by offset ------------------------------------------------------------- */
struct emu_mbarriers {
    emu_mbarrier **slot;
    uint32_t size, count; /* a power of two */
};

static uint32_t place_of(const struct emu_mbarriers *table, uint32_t offset) {
    uint32_t at = offset / 8 & (table->size - 1);
    while (table->slot[at] && table->slot[at]->offset != offset) at = (at + 1) & (table->size - 1);
    return at;
}

static void table_grow(struct emu_mbarriers *table) {
    struct emu_mbarriers old = *table;
    table->size = old.size ? 2 * old.size : 32;
    table->slot = emu_alloc(table->size * sizeof *table->slot);
    for (uint32_t i = 0; i < old.size; i++)
        if (old.slot[i]) table->slot[place_of(table, old.slot[i]->offset)] = old.slot[i];
    free(old.slot);
}

emu_mbarrier *emu_mbarrier_create(emu_block *block, uint32_t offset) {
    if (!block->mbarriers) block->mbarriers = emu_alloc(sizeof *block->mbarriers);
    struct emu_mbarriers *table = block->mbarriers;
    if (2 * table->count >= table->size) table_grow(table);
    emu_mbarrier **place = &table->slot[place_of(table, offset)];
    if (!*place) {
        *place = emu_alloc(sizeof **place);
        (*place)->block = block;
        (*place)->offset = offset;
        table->count++;
    }
    return *place;
}

emu_mbarrier *emu_mbarrier_at(emu_cluster *cluster, uint32_t shared_address, emu_block **block) {
    uint32_t rank = shared_address >> EMU_SHARED_RANK_SHIFT;
    uint32_t within = shared_address & ((1u << EMU_SHARED_RANK_SHIFT) - 1);
    if (rank >= cluster->n_blocks || within < EMU_SHARED_FIRST) return NULL;
    if (block) *block = &cluster->block[rank];
    const struct emu_mbarriers *table = cluster->block[rank].mbarriers;
    return table && table->size ? table->slot[place_of(table, within - EMU_SHARED_FIRST)] : NULL;
}

void emu_mbarriers_free(emu_block *block) {
    struct emu_mbarriers *table = block->mbarriers;
    if (!table) return;
    for (uint32_t i = 0; i < table->size; i++) {
        if (!table->slot[i]) continue;
        emu_clock_free(table->slot[i]->arriving);
        emu_clock_free(table->slot[i]->finished);
        free(table->slot[i]);
    }
    free(table->slot);
    free(table);
    block->mbarriers = NULL;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */
void emu_mbarrier_text(const emu_mbarrier *barrier, char *text, size_t bytes) {
    snprintf(text, bytes, "the mbarrier at shared+%u of block rank %u", barrier->offset, barrier->block->rank);
}

static void report_bytes(emu_mbarrier *barrier, emu_warp *warp, const emu_op *op, int lane, const char *what) {
    char name[80];
    emu_mbarrier_text(barrier, name, sizeof name);
    if (!barrier->reported)
        emu_find(warp, op, lane, EMU_TRANSACTIONS, barrier->offset,
                 "%s: %s; phase %" PRIu64 " expects %" PRIu64 " bytes, %" PRIu64 " arrived", name, what,
                 barrier->phase.number, barrier->wanted, barrier->arrived);
    barrier->reported = true;
}

void emu_mbarriers_end(emu_block *block) {
    const struct emu_mbarriers *table = block->mbarriers;
    for (uint32_t i = 0; table && i < table->size; i++) {
        emu_mbarrier *barrier = table->slot[i];
        if (barrier && barrier->live && barrier->phase.tx != 0)
            report_bytes(barrier, barrier->warp, barrier->op, -1,
                         barrier->phase.tx > 0 ? "the block exits, and bytes are still expected"
                                               : "the block exits, and bytes arrived that nobody expected");
    }
}

/* ---- the image in memory ----------------------------------------------------------------------------------------- */
static uint64_t image_of(const emu_mbarrier *barrier) {
    const emu_phase *phase = &barrier->phase;
    uint64_t bits = phase->number * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)phase->tx * UINT64_C(0xbf58476d1ce4e5b9);
    bits ^= ((uint64_t)phase->pending << 32 | phase->expected) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31 ^ barrier->offset;
}

static uint8_t *memory_of(const emu_mbarrier *barrier) { return barrier->block->shared + barrier->offset; }

void emu_mbarrier_seal(emu_mbarrier *barrier) {
    barrier->image = image_of(barrier);
    memcpy(memory_of(barrier), &barrier->image, sizeof barrier->image);
}

bool emu_mbarrier_usable(emu_mbarrier *barrier, emu_warp *warp, const emu_op *op, int lane, uint32_t shared_address,
                         const char *use) {
    const char *wrong = NULL;
    uint64_t found = 0;
    if (!barrier) {
        wrong = "no mbarrier was initialized there";
    } else if (!barrier->live) {
        wrong = "it was invalidated";
    } else {
        memcpy(&found, memory_of(barrier), sizeof found);
        if (found == barrier->image) return true;
        wrong = "its 8 bytes were overwritten by something else";
    }
    uint32_t within = shared_address & ((1u << EMU_SHARED_RANK_SHIFT) - 1);
    emu_find(warp, op, lane, EMU_BARRIER, shared_address, "%s the mbarrier at shared+%d of block rank %u: %s", use,
             (int)within - EMU_SHARED_FIRST, shared_address >> EMU_SHARED_RANK_SHIFT, wrong);
    return false;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */
/* The phase before the current one has completed: its arrivals and the engines' work in it are known to who waits. */
static void publish(emu_mbarrier *barrier) {
    emu_clock_join(&barrier->finished, barrier->arriving);
    emu_clock_free(barrier->arriving);
    barrier->arriving = NULL;
    if (barrier->slot) emu_clock_phase(&barrier->finished, barrier->block, barrier->slot, barrier->phase.number - 1);
    barrier->wanted = barrier->arrived = 0;
    barrier->reported = false;
}

void emu_mbarrier_arrive(emu_mbarrier *barrier, emu_warp *warp, const emu_op *op, int lane, uint32_t count, bool drop) {
    char name[80];
    switch (emu_phase_arrive(&barrier->phase, count, drop)) {
        case EMU_PHASE_TOO_MANY:
            emu_mbarrier_text(barrier, name, sizeof name);
            emu_find(warp, op, lane, EMU_BARRIER, barrier->offset, "%u arrivals at %s, which has %u of %u pending",
                     count, name, barrier->phase.pending, barrier->phase.expected);
            return;
        case EMU_PHASE_COMPLETED: publish(barrier); break;
        default:
            if (barrier->phase.pending == 0 && barrier->phase.tx < 0)
                report_bytes(barrier, warp, op, lane, "all threads arrived, and more bytes came than were expected");
            break;
    }
    emu_mbarrier_seal(barrier);
}

void emu_mbarrier_transfer(emu_mbarrier *barrier, emu_warp *warp, const emu_op *op, int lane, int64_t bytes) {
    barrier->warp = warp;
    barrier->op = op;
    if (bytes > 0) barrier->wanted += (uint64_t)bytes;
    if (bytes < 0) barrier->arrived += (uint64_t)-bytes;
    switch (emu_phase_transfer(&barrier->phase, bytes)) {
        case EMU_PHASE_RANGE:
            report_bytes(barrier, warp, op, lane, "the count of pending bytes leaves its range of 2^20 - 1");
            return;
        case EMU_PHASE_COMPLETED: publish(barrier); break;
        default:
            if (barrier->phase.pending == 0 && barrier->phase.tx < 0)
                report_bytes(barrier, warp, op, lane, "all threads arrived, and more bytes came than were expected");
            break;
    }
    emu_mbarrier_seal(barrier);
}

void emu_mbarrier_complete(const emu_actor *actor, emu_cluster *cluster, uint32_t shared_address, uint64_t phase,
                           uint32_t bytes) {
    emu_mbarrier *barrier = emu_mbarrier_at(cluster, shared_address, NULL);
    if (!emu_mbarrier_usable(barrier, actor->warp, actor->op, actor->lane, shared_address, "bytes arrive at")) return;
    if (phase != barrier->phase.number && !barrier->reported) {
        char name[80];
        emu_mbarrier_text(barrier, name, sizeof name);
        emu_find(actor->warp, actor->op, actor->lane, EMU_TRANSACTIONS, barrier->offset,
                 "%u bytes that were copied in phase %" PRIu64 " of %s arrive in phase %" PRIu64 " (%" PRIu64
                 " expected, %" PRIu64 " arrived before): that phase did not expect them all",
                 bytes, phase, name, barrier->phase.number, barrier->wanted, barrier->arrived);
        barrier->reported = true;
    }
    emu_mbarrier_transfer(barrier, actor->warp, actor->op, actor->lane, -(int64_t)bytes);
}

/* ---- tokens: 8 bits that mark one, 36 of the phase, 20 of the pending arrivals ----------------------------------- */
static const uint64_t token_mark = UINT64_C(0xb5) << 56;
static const uint64_t token_phases = (UINT64_C(1) << 36) - 1;

uint64_t emu_mbarrier_token(const emu_mbarrier *barrier) {
    return token_mark | (barrier->phase.number & token_phases) << 20 | barrier->phase.pending;
}

bool emu_mbarrier_token_phase(uint64_t token, uint64_t *phase) {
    *phase = token >> 20 & token_phases;
    return (token & UINT64_C(0xff) << 56) == token_mark;
}

uint32_t emu_mbarrier_token_pending(uint64_t token) { return (uint32_t)token & EMU_MBARRIER_MOST; }

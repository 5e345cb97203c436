/* Operations in flight: a block's list, from which the cluster's dice choose. */
#include "async/internal.h"

#include <stdlib.h>

struct emu_engine {
    emu_operation **operation;
    uint32_t count, capacity;
    uint64_t sequence;
};

void emu_engine_add(emu_operation *operation) {
    struct emu_engine *engine = operation->block->engine;
    if (engine->count == engine->capacity) {
        engine->capacity = engine->capacity ? 2 * engine->capacity : 16;
        engine->operation = emu_grow(engine->operation, engine->capacity, sizeof *engine->operation);
    }
    operation->sequence = ++engine->sequence;
    operation->index = engine->count;
    engine->operation[engine->count++] = operation;
    emu_total.copies++;
}

static void remove_done(emu_operation *operation) {
    struct emu_engine *engine = operation->block->engine;
    emu_operation *last = engine->operation[--engine->count];
    last->index = operation->index;
    engine->operation[last->index] = last;
    operation->destroy(operation);
}

/* The operation of the same queue that was issued first. */
static emu_operation *head_of_queue(emu_operation *operation) {
    if (operation->queue == 0) return operation;
    const struct emu_engine *engine = operation->block->engine;
    for (uint32_t i = 0; i < engine->count; i++) {
        emu_operation *other = engine->operation[i];
        if (other->queue == operation->queue && other->sequence < operation->sequence) operation = other;
    }
    return operation;
}

bool emu_engine_step(emu_cluster *cluster, emu_random *random) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < cluster->n_blocks; i++)
        if (cluster->block[i].engine) count += cluster->block[i].engine->count;
    if (count == 0) return false;
    uint32_t chosen = emu_random_below(random, count);
    const emu_block *block = cluster->block;
    while (!block->engine || chosen >= block->engine->count) {
        if (block->engine) chosen -= block->engine->count;
        block++;
    }
    emu_operation *operation = head_of_queue(block->engine->operation[chosen]);
    if (operation->step(operation, random)) remove_done(operation);
    return true;
}

void emu_engine_finish(emu_operation *operation) {
    emu_random *random = &operation->block->cluster->grid->random;
    for (;;) {
        emu_operation *head = head_of_queue(operation);
        while (!head->step(head, random)) {
        }
        bool done = head == operation;
        remove_done(head);
        if (done) return;
    }
}

static bool concerns(const emu_operation *operation, const emu_block *block) {
    return operation->block == block || operation->ranks >> block->rank & 1;
}

static emu_operation *find_concerned(const emu_block *block) {
    const emu_cluster *cluster = block->cluster;
    for (uint32_t i = 0; i < cluster->n_blocks; i++) {
        const struct emu_engine *engine = cluster->block[i].engine;
        for (uint32_t k = 0; engine && k < engine->count; k++)
            if (concerns(engine->operation[k], block)) return engine->operation[k];
    }
    return NULL;
}

bool emu_engine_busy(const emu_block *block) { return find_concerned(block) != NULL; }

void emu_engine_fail(const emu_operation *operation) { operation->block->cluster->grid->failed = true; }

void emu_block_async_begin(emu_block *block) { block->engine = emu_alloc(sizeof *block->engine); }

/* Shared memory must not go away while an engine uses it. Copies of single threads (cp.async) are waited for by the
 * hardware. */
static void report_in_flight(const emu_block *block, const emu_operation *operation) {
    char what[160] = "an asynchronous operation";
    if (operation->describe) operation->describe(operation, what, sizeof what);
    emu_find(operation->actor.warp, operation->actor.op, operation->actor.lane, EMU_EXITED, block->rank,
             "block rank %u exits while %s still uses its shared memory: nobody waited for it", block->rank, what);
}

void emu_block_async_end(emu_block *block) {
    bool failed = block->cluster->grid->failed;
    for (emu_operation *operation; (operation = find_concerned(block)) != NULL;) {
        if (failed) {
            remove_done(operation);
            continue;
        }
        bool in_use = operation->ranks >> block->rank & 1;
        if (in_use && operation->actor.proxy == EMU_PROXY_ASYNC) report_in_flight(block, operation);
        emu_engine_finish(operation);
    }
    if (!failed) emu_mbarriers_end(block);
}

void emu_block_async_free(emu_block *block) {
    struct emu_engine *engine = block->engine;
    while (engine && engine->count) remove_done(engine->operation[0]);
    if (engine) free(engine->operation);
    free(engine);
    block->engine = NULL;
    for (uint32_t i = 0; i < block->n_warps; i++) emu_warp_async_end(&block->warp[i]);
    emu_mbarriers_free(block);
}

/* Life of a cluster (resident.h). The order in which the parts begin and end is decided here. */
#include "runtime/resident.h"

#include <stdlib.h>

#include "async/async.h"
#include "check/check.h"
#include "exec/warp.h"
#include "machine/decode.h"
#include "memory/memory.h"
#include "mma/mma.h"
#include "runtime/schedule.h"
#include "sync/sync.h"
#include "tcgen05/tcgen05.h"

static uint32_t volume(emu_dim d) { return d.x * d.y * d.z; }

emu_window emu_window_of(const emu_grid *grid) {
    uint64_t capacity = emu_capacity(grid->code, volume(grid->threads), grid->dynamic_shared, volume(grid->cluster));
    uint64_t width = (uint64_t)emu_options_get()->resident;
    if (capacity == 0) capacity = 1;
    if (width > capacity) width = capacity;
    return (emu_window){.width = grid->cooperative ? grid->n_clusters : width, .capacity = capacity};
}

/* ---- begin ----------------------------------------------------------------------------------------------------- */

static emu_dim unravel(uint64_t index, emu_dim size) {
    return (emu_dim){(uint32_t)(index % size.x), (uint32_t)(index / size.x % size.y),
                     (uint32_t)(index / size.x / size.y)};
}

static emu_cluster *make_cluster(emu_grid *grid) {
    emu_dim size = grid->cluster;
    emu_dim clusters = {grid->blocks.x / size.x, grid->blocks.y / size.y, grid->blocks.z / size.z};
    emu_cluster *cluster = emu_alloc(sizeof *cluster);
    uint64_t number = grid->next_cluster++;
    cluster->grid = grid;
    cluster->index = unravel(number, clusters);
    cluster->n_blocks = cluster->live_blocks = volume(size);
    cluster->block = emu_alloc(cluster->n_blocks * sizeof *cluster->block);
    cluster->next = grid->resident;
    grid->resident = cluster;
    uint32_t threads = volume(grid->threads);
    for (uint32_t rank = 0; rank < cluster->n_blocks; rank++) {
        emu_block *block = &cluster->block[rank];
        emu_dim in = unravel(rank, size);
        block->cluster = cluster;
        block->rank = rank;
        block->index = (emu_dim){cluster->index.x * size.x + in.x, cluster->index.y * size.y + in.y,
                                 cluster->index.z * size.z + in.z};
        block->n_warps = block->live_warps = (threads + EMU_LANES - 1) / EMU_LANES;
        block->shared_bytes = grid->code->shared_bytes + grid->dynamic_shared;
        block->sm = (uint32_t)((number * cluster->n_blocks + rank) % (uint64_t)emu_options_get()->sm_count);
        block->warp = emu_alloc(block->n_warps * sizeof *block->warp);
        for (uint32_t w = 0; w < block->n_warps; w++) {
            uint32_t left = threads - w * EMU_LANES;
            block->warp[w].block = block;
            block->warp[w].code = grid->code;
            block->warp[w].index = w;
            block->warp[w].lanes = left >= EMU_LANES ? ~0u : (1u << left) - 1;
        }
    }
    return cluster;
}

emu_resident *emu_resident_begin(emu_grid *grid, emu_window *window) {
    emu_cluster *cluster = make_cluster(grid);
    emu_resident *r = emu_alloc(sizeof *r);
    r->cluster = cluster;
    r->n_runnable = r->n_live = r->n_warps = cluster->n_blocks * cluster->block[0].n_warps;
    r->warp = emu_alloc(r->n_warps * sizeof(emu_warp *));
    emu_check_cluster_begin(cluster);
    uint32_t n = 0;
    for (uint32_t b = 0; b < cluster->n_blocks; b++) {
        emu_block *block = &cluster->block[b];
        emu_block_memory_begin(block);
        emu_block_async_begin(block);
        for (uint32_t w = 0; w < block->n_warps; w++) {
            emu_warp_begin(&block->warp[w]);
            emu_warp_mma_begin(&block->warp[w]);
            r->warp[n++] = &block->warp[w];
        }
    }
    window->resident++;
    return r;
}

/* ---- end ------------------------------------------------------------------------------------------------------- */

/* Engines may still name the warp in reports: it lives as long as its cluster. */
static void end_warp(emu_warp *warp) {
    emu_warp_mma_end(warp);
    emu_warp_tensor_end(warp);
    emu_warp_async_end(warp);
    emu_warp_memory_end(warp);
    emu_warp_end(warp);
}

static void end_block(emu_block *block) {
    emu_check_block_exit(block);
    emu_block_sync_end(block);
    emu_block_async_end(block);
    emu_block_tensor_end(block);
    block->exited = true;
    emu_block_trigger(block);
    block->cluster->live_blocks--;
    emu_total.blocks++;
}

bool emu_resident_exit(emu_resident *r, uint32_t at) {
    emu_warp *warp = r->warp[at];
    emu_block *block = warp->block;
    r->warp[at] = r->warp[--r->n_runnable];
    r->warp[r->n_runnable] = r->warp[--r->n_live];
    r->warp[r->n_live] = warp;
    end_warp(warp);
    if (--block->live_warps) return false;
    end_block(block);
    return true;
}

static void unlink_cluster(emu_cluster *cluster) {
    emu_cluster **at = &cluster->grid->resident;
    while (*at != cluster) at = &(*at)->next;
    *at = cluster->next;
}

void emu_resident_end(emu_resident *r) {
    emu_cluster *cluster = r->cluster;
    for (uint32_t i = 0; i < r->n_live; i++) end_warp(r->warp[i]);
    for (uint32_t b = 0; b < cluster->n_blocks; b++)
        if (!cluster->block[b].exited) end_block(&cluster->block[b]);
    emu_check_cluster_end(cluster);
    for (uint32_t b = 0; b < cluster->n_blocks; b++) {
        emu_block_async_free(&cluster->block[b]);
        emu_block_tensor_free(&cluster->block[b]);
        emu_block_memory_end(&cluster->block[b]);
        free(cluster->block[b].warp);
    }
    unlink_cluster(cluster);
    free(cluster->block);
    free(cluster);
    free(r->warp);
    free(r);
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static void swap_warps(emu_resident *r, uint32_t i, uint32_t j) {
    emu_warp *warp = r->warp[i];
    r->warp[i] = r->warp[j];
    r->warp[j] = warp;
}

void emu_resident_block(emu_resident *r, uint32_t at) { swap_warps(r, at, --r->n_runnable); }

bool emu_resident_wake(emu_resident *r, uint32_t looks) {
    bool any = false;
    for (uint32_t waiting; looks && (waiting = r->n_live - r->n_runnable) != 0; looks--) {
        uint32_t at = r->n_runnable + r->look++ % waiting;
        if (!emu_warp_runnable(r->warp[at])) continue;
        swap_warps(r, at, r->n_runnable++);
        any = true;
    }
    return any;
}

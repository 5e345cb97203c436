/* State spaces: the windows of generic addresses, and the region of memory that an address of a space means. */
#include "memory/parts.h"

#include <stdlib.h>
#include <string.h>

/* A block's shared memory and its shadow are kept for the next block of the same size. */
enum {
    KEPT = 16,
    SHARED_ALIGN = 1024 /* as shared addresses are: swizzles go by address bits */,
    PATTERN = 0xff /* NaN in every type */
};
static struct kept_shared {
    uint8_t *memory;
    uint32_t bytes;
    emu_shadow *shadow;
} kept[KEPT];
static int n_kept;

void emu_block_memory_begin(emu_block *block) {
    struct kept_shared use = {0};
    for (int i = 0; i < n_kept && use.memory == NULL; i++) {
        if (kept[i].bytes != block->shared_bytes) continue;
        use = kept[i];
        kept[i] = kept[--n_kept];
    }
    if (use.memory == NULL) {
        use.bytes = block->shared_bytes;
        size_t rounded = ((size_t)use.bytes / SHARED_ALIGN + 1) * SHARED_ALIGN;
        use.memory = aligned_alloc(SHARED_ALIGN, rounded);
        if (use.memory == NULL) use.memory = emu_alloc(rounded); /* ends the process in words */
        use.shadow = emu_shadow_create(use.memory, use.bytes, true);
    } else if (use.bytes > 0) {
        emu_shadow_fresh(use.shadow, 0, use.bytes, false);
    }
    memset(use.memory, PATTERN, use.bytes);
    block->shared = use.memory;
    block->shared_shadow = use.shadow;
}

void emu_block_memory_end(emu_block *block) {
    if (block->shared == NULL) return;
    struct kept_shared done = {.memory = block->shared, .bytes = block->shared_bytes, .shadow = block->shared_shadow};
    block->shared = NULL;
    block->shared_shadow = NULL;
    if (n_kept == KEPT) {
        free(kept[0].memory);
        if (kept[0].shadow != NULL) emu_shadow_destroy(kept[0].shadow);
        kept[0] = kept[--n_kept];
    }
    kept[n_kept++] = done;
}

void emu_warp_memory_end(emu_warp *warp) {
    free(warp->local);
    warp->local = NULL;
}

ptx_space emu_memory_space(uint64_t generic) {
    switch (generic & EMU_WINDOW_MASK) {
        case EMU_WINDOW_SHARED: return PTX_SHARED;
        case EMU_WINDOW_LOCAL: return PTX_LOCAL;
        case EMU_WINDOW_PARAM: return PTX_PARAM;
        default: return PTX_GLOBAL;
    }
}

uint8_t *emu_shared_pointer(emu_cluster *cluster, uint32_t shared_address, uint32_t bytes, emu_block **block) {
    uint32_t rank = shared_address >> EMU_SHARED_RANK_SHIFT;
    uint32_t offset = (shared_address & ((1u << EMU_SHARED_RANK_SHIFT) - 1)) - EMU_SHARED_FIRST;
    if (rank >= cluster->n_blocks) return NULL;
    emu_block *owner = &cluster->block[rank];
    if (owner->shared == NULL || offset > owner->shared_bytes || owner->shared_bytes - offset < bytes) return NULL;
    if (block != NULL) *block = owner;
    return owner->shared + offset;
}

/* window: 0 for shared addresses, EMU_WINDOW_SHARED for generic ones. */
static bool shared_region(const emu_viewer *viewer, uint64_t address, uint64_t window, bool cluster, emu_region *out) {
    uint64_t rank = (address - window) >> EMU_SHARED_RANK_SHIFT;
    const emu_cluster *all = viewer->block->cluster;
    if (rank >= all->n_blocks || (!cluster && rank != viewer->block->rank)) return false;
    emu_block *owner = &all->block[rank];
    if (owner->exited || owner->shared == NULL) return false;
    *out = (emu_region){.base = window + (rank << EMU_SHARED_RANK_SHIFT) + EMU_SHARED_FIRST,
                        .bytes = owner->shared_bytes,
                        .host = owner->shared,
                        .shadow = owner->shared_shadow,
                        .owner = owner};
    return true;
}

static bool global_region(const emu_viewer *viewer, uint64_t address, bool record, emu_region *out) {
    const emu_allocation *a = emu_memory_find_for(viewer->op, address);
    if (a == NULL) return false;
    *out = (emu_region){.base = (uint64_t)(uintptr_t)a->memory,
                        .bytes = a->bytes,
                        .host = a->memory,
                        .shadow = record && !a->constant ? a->shadow : NULL,
                        .global = true,
                        .read_only = a->constant};
    return true;
}

static bool local_region(const emu_viewer *viewer, uint64_t window, emu_region *out) {
    emu_warp *warp = viewer->warp;
    if (warp == NULL || warp->code->local_bytes == 0) return false;
    if (warp->local == NULL) warp->local = emu_alloc((size_t)EMU_LANES * warp->code->local_bytes);
    *out = (emu_region){
        .base = window, .bytes = warp->code->local_bytes, .host = warp->local, .stride = warp->code->local_bytes};
    return true;
}

static bool parameter_region(const emu_viewer *viewer, uint64_t window, emu_region *out) {
    const emu_grid *grid = viewer->block->cluster->grid;
    *out = (emu_region){.base = window, .bytes = grid->parameter_bytes, .host = grid->parameters, .read_only = true};
    return grid->parameters != NULL;
}

bool emu_region_find(const emu_viewer *viewer, const emu_access *access, uint64_t address, emu_region *out) {
    bool generic = access->space == PTX_GENERIC;
    uint64_t window = generic ? address & EMU_WINDOW_MASK : 0;
    switch (generic ? emu_memory_space(address) : access->space) {
        case PTX_GLOBAL: return global_region(viewer, address, true, out);
        case PTX_CONST: return global_region(viewer, address, false, out);
        case PTX_SHARED: return shared_region(viewer, address, window, access->cluster || generic, out);
        case PTX_LOCAL: return local_region(viewer, window, out);
        case PTX_PARAM: return parameter_region(viewer, window, out);
        default: return false;
    }
}

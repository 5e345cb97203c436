/* Tensor memory: its cells, who may access them, and its life. */
#include <stdlib.h>

#include "tcgen05/tensor.h"

struct emu_tensor *emu_tensor_of(emu_block *block) {
    if (block->tensor == NULL) {
        block->tensor = emu_alloc(sizeof *block->tensor);
        block->tensor->shadow = emu_shadow_tensor(block->tensor->cell, sizeof block->tensor->cell);
    }
    return block->tensor;
}

void emu_block_tensor_free(emu_block *block) {
    if (block->tensor == NULL) return;
    emu_shadow_destroy(block->tensor->shadow);
    free(block->tensor);
    block->tensor = NULL;
}

void emu_block_tensor_end(emu_block *block) {
    struct emu_tensor *tensor = block->tensor;
    if (tensor == NULL || block->cluster->grid->failed) return;
    for (uint32_t i = 0; i < EMU_TENSOR_COLUMNS / EMU_TENSOR_LEAST; i++) {
        const emu_tensor_allocation *allocation = &tensor->allocation[i];
        if (allocation->columns)
            emu_find(allocation->warp, allocation->op, -1, EMU_TENSOR_LEAK, i,
                     "the block has ended, and nobody deallocated its %u columns from column %u on",
                     allocation->columns, i * EMU_TENSOR_LEAST);
    }
}

emu_block *emu_tensor_peer(emu_block *block) { return &block->cluster->block[block->rank ^ 1]; }

int emu_tensor_blocks(emu_warp *warp, const emu_op *op, emu_block *block[2]) {
    block[0] = warp->block;
    if (op->kind != 2) return 1;
    block[0] = &warp->block->cluster->block[warp->block->rank & ~1u];
    block[1] = emu_tensor_peer(block[0]);
    return 2;
}

bool emu_tensor_exited(const emu_operation *operation, emu_block *const block[2], int blocks, const char *what) {
    const emu_actor *actor = &operation->actor;
    for (int i = 0; i < blocks; i++) {
        if (!block[i]->exited) continue;
        emu_find(actor->warp, actor->op, actor->lane, EMU_EXITED, 0,
                 "the other block of the pair has exited while %s uses its memory", what);
        return true;
    }
    return false;
}

bool emu_tensor_grouped(emu_warp *warp, const emu_op *op) {
    struct emu_tensor *tensor = emu_tensor_of(warp->block);
    if (op->kind == 2 && (warp->block->rank ^ 1) >= warp->block->cluster->n_blocks) {
        emu_find(warp, op, -1, EMU_TENSOR, 8,
                 ".cta_group::2 in a cluster of %u: the block has no other one to pair with",
                 warp->block->cluster->n_blocks);
        return false;
    }
    if (tensor->group == 0) tensor->group = op->kind;
    if (tensor->group != op->kind)
        emu_find(warp, op, -1, EMU_TENSOR, 9, ".cta_group::%u, after .cta_group::%u: all of a kernel have the same",
                 op->kind, tensor->group);
    return true;
}

static bool column_allocated(const struct emu_tensor *tensor, uint32_t column) {
    for (uint32_t i = 0; i <= column / EMU_TENSOR_LEAST; i++) {
        const uint32_t first = i * EMU_TENSOR_LEAST;
        if (tensor->allocation[i].columns > column - first) return true;
    }
    return false;
}

bool emu_tensor_allocated(emu_warp *warp, const emu_op *op, emu_block *block, uint32_t address, uint32_t lanes,
                          uint32_t columns, const char *what) {
    const struct emu_tensor *tensor = emu_tensor_of(block);
    const uint32_t lane = address >> 16, column = address & 0xffff;
    if (lane + lanes > EMU_TENSOR_LANES || column + columns > EMU_TENSOR_COLUMNS) {
        emu_find(warp, op, -1, EMU_TENSOR, 0,
                 "%s at 0x%08x has lanes %u to %u, columns %u to %u: there are %d lanes of %d columns", what, address,
                 lane, lane + lanes - 1, column, column + columns - 1, EMU_TENSOR_LANES, EMU_TENSOR_COLUMNS);
        return false;
    }
    for (uint32_t i = column; i < column + columns; i++) {
        if (column_allocated(tensor, i)) continue;
        emu_find(warp, op, -1, EMU_TENSOR, 1, "%s at 0x%08x has columns %u to %u, column %u is not allocated%s", what,
                 address, column, column + columns - 1, i, block == warp->block ? "" : " in the pair's other block");
        return false;
    }
    return true;
}

void emu_tensor_touch(const emu_actor *actor, emu_block *block, emu_access_kind kind, uint32_t lane, uint32_t column,
                      uint32_t lanes) {
    const emu_access access = {.kind = kind, .space = PTX_SHARED, .bytes = 4};
    emu_shadow_range(emu_tensor_of(block)->shadow, actor, &access, 4 * (column * EMU_TENSOR_LANES + lane), 4 * lanes);
}

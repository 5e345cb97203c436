/* tcgen05.alloc, dealloc and relinquish_alloc_permit. Each block has its own 512 columns: that blocks of one SM share them is
 * not modelled. Of a pair, each block allocates and deallocates its own. */
#include <stdio.h>
#include <string.h>

#include "tcgen05/tensor.h"

enum { GRANULES = EMU_TENSOR_COLUMNS / EMU_TENSOR_LEAST };

/* Operands: 0 the number of columns, 1 the address of dealloc. */
typedef struct alloc_detail {
    emu_address address;
    ptx_space space;
} alloc_detail;

static bool valid_columns(emu_warp *warp, const emu_op *op, uint32_t columns) {
    if (columns >= EMU_TENSOR_LEAST && columns <= EMU_TENSOR_COLUMNS && (columns & (columns - 1)) == 0) return true;
    emu_find(warp, op, -1, EMU_TENSOR, columns, "%u columns: a power of two from %d to %d is due", columns,
             EMU_TENSOR_LEAST, EMU_TENSOR_COLUMNS);
    return false;
}

/* The first free columns that are aligned to their number; false: there are none. */
static bool find_free(const struct emu_tensor *tensor, uint32_t columns, uint32_t *first) {
    bool used[GRANULES] = {false};
    for (uint32_t i = 0; i < GRANULES; i++)
        for (uint32_t k = 0; k < tensor->allocation[i].columns / EMU_TENSOR_LEAST; k++) used[i + k] = true;
    for (uint32_t at = 0; at < GRANULES; at += columns / EMU_TENSOR_LEAST)
        if (memchr(used + at, true, columns / EMU_TENSOR_LEAST) == NULL) {
            *first = at * EMU_TENSOR_LEAST;
            return true;
        }
    return false;
}

static bool space_ready(const emu_warp *warp, const emu_wait *wait) {
    uint32_t first;
    return find_free(warp->block->tensor, (uint32_t)wait->value, &first);
}

static void describe_space(const emu_warp *warp, const emu_wait *wait, char *text, size_t bytes) {
    (void)warp;
    snprintf(text, bytes, "waits for %u free columns of tensor memory", (unsigned)wait->value);
}

static void check_permit(emu_warp *warp, const emu_op *op, uint32_t columns) {
    const struct emu_tensor *tensor = warp->block->tensor;
    if (tensor->relinquished)
        emu_find(warp, op, -1, EMU_TENSOR, 3, "allocates, and the block has relinquished the permit to allocate");
    if (tensor->last && columns > tensor->last)
        emu_find(warp, op, -1, EMU_TENSOR, 4,
                 "allocates %u columns after %u: a block's allocations must not become larger", columns, tensor->last);
}

static emu_result run_alloc(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const alloc_detail *detail = op->detail;
    if (!emu_tensor_grouped(warp, op)) return EMU_ABORT;
    struct emu_tensor *tensor = emu_tensor_of(warp->block);
    const uint32_t columns = emu_tensor_uniform(warp, op, mask, emu_u32(warp, op->operand[0]), "the number of columns");
    uint32_t first;
    if (!valid_columns(warp, op, columns)) return EMU_ABORT;
    if (!find_free(tensor, columns, &first)) {
        warp->current->wait = (emu_wait){.ready = space_ready, .describe = describe_space, .value = columns};
        return EMU_AGAIN;
    }
    check_permit(warp, op, columns);
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    const int lane = __builtin_ctz(mask);
    const emu_access access = {.kind = EMU_WRITE, .space = detail->space, .bytes = 4};
    emu_addresses(warp, &detail->address, address);
    if (!emu_memory_lanes(warp, op, 1u << lane, &access, address, pointer)) return EMU_ABORT;
    memcpy(pointer[lane], &first, sizeof first);
    tensor->allocation[first / EMU_TENSOR_LEAST] = (emu_tensor_allocation){columns, warp, op};
    tensor->last = columns;
    return EMU_NEXT;
}

/* Whoever deallocates has to know that all accesses are done; what comes after is another's memory. */
static void forget(emu_warp *warp, const emu_op *op, uint32_t first, uint32_t columns) {
    emu_actor actor;
    emu_actor_of_group(warp, op, -1, EMU_STREAM_TENSOR_STORE, emu_tensor_use_of(warp)->stores, EMU_PROXY_ASYNC, &actor);
    for (uint32_t i = first; i < first + columns; i++)
        emu_tensor_touch(&actor, warp->block, EMU_WRITE, 0, i, EMU_TENSOR_LANES);
    emu_actor_end(&actor);
    emu_shadow_fresh(warp->block->tensor->shadow, (uint64_t)first * EMU_TENSOR_LANES * 4,
                     (uint64_t)columns * EMU_TENSOR_LANES * 4, false);
}

static emu_result run_dealloc(emu_warp *warp, const emu_op *op, emu_mask mask) {
    if (!emu_tensor_grouped(warp, op)) return EMU_ABORT;
    struct emu_tensor *tensor = emu_tensor_of(warp->block);
    const uint32_t columns = emu_tensor_uniform(warp, op, mask, emu_u32(warp, op->operand[0]), "the number of columns");
    const uint32_t address = emu_tensor_uniform(warp, op, mask, emu_u32(warp, op->operand[1]), "the address");
    if (!valid_columns(warp, op, columns)) return EMU_ABORT;
    emu_tensor_allocation *allocation = NULL;
    if (address < EMU_TENSOR_COLUMNS && address % EMU_TENSOR_LEAST == 0)
        allocation = &tensor->allocation[address / EMU_TENSOR_LEAST];
    if (allocation == NULL || allocation->columns != columns) {
        emu_find(
            warp, op, -1, EMU_TENSOR, 5, "deallocates %u columns at 0x%08x: %s", columns, address,
            allocation && allocation->columns ? "another number was allocated there" : "no allocation begins there");
        return EMU_ABORT;
    }
    forget(warp, op, address, columns);
    *allocation = (emu_tensor_allocation){0};
    return EMU_NEXT;
}

static emu_result run_relinquish(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)mask;
    if (!emu_tensor_grouped(warp, op)) return EMU_ABORT;
    emu_tensor_of(warp->block)->relinquished = true;
    return EMU_NEXT;
}

/* ---- decoders -------------------------------------------------------------------------------------------- */
static bool begin(emu_decoding *d, emu_run *run) {
    d->op->run = run;
    d->op->aligned = true;
    return emu_tensor_group_word(d) && emu_mma_expect(d, "sync") && emu_mma_expect(d, "aligned");
}

bool emu_decode_tensor_alloc(emu_decoding *d) {
    alloc_detail *detail = emu_decode_alloc(d, sizeof *detail);
    d->op->detail = detail;
    if (!begin(d, run_alloc)) return false;
    detail->space = ptx_take(&d->words, "shared::cta") ? PTX_SHARED : PTX_GENERIC;
    return emu_mma_expect(d, "b32") && emu_mma_end(d) && emu_tensor_operands(d, 2, 2) &&
           emu_decode_address(d, &d->instruction->operand[0], detail->space, &detail->address) &&
           emu_mma_sources(d, 1, PTX_U32, 1, &d->op->operand[0]);
}

bool emu_decode_tensor_dealloc(emu_decoding *d) {
    return begin(d, run_dealloc) && emu_mma_expect(d, "b32") && emu_mma_end(d) && emu_tensor_operands(d, 2, 2) &&
           emu_mma_sources(d, 1, PTX_U32, 1, &d->op->operand[0]) &&
           emu_mma_sources(d, 0, PTX_U32, 1, &d->op->operand[1]);
}

bool emu_decode_tensor_relinquish(emu_decoding *d) { return begin(d, run_relinquish) && emu_mma_end(d); }

/* Products in flight: the operation that an engine runs, and warps' and warpgroups' records of them. */
#include "mma/products.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/decode.h"
#include "mma/decode.h"

/* ---- records --------------------------------------------------------------------------------------------- */
void emu_warp_mma_begin(emu_warp *warp) { warp->products = NULL; }

struct emu_products *emu_products_of(emu_warp *warp) {
    if (warp->products == NULL) {
        warp->products = emu_alloc(sizeof *warp->products);
        warp->products->use = emu_alloc((warp->code->register_bytes / 64 + 1) * sizeof(emu_use));
    }
    return warp->products;
}

emu_warpgroup *emu_warpgroup_of(emu_warp *warp) {
    struct emu_products *products = emu_products_of(warp);
    const uint32_t first = warp->index / EMU_WARPGROUP * EMU_WARPGROUP;
    if (products->group) return products->group;
    if (first + EMU_WARPGROUP > warp->block->n_warps) {
        emu_find(warp, NULL, -1, EMU_PROTOCOL, 0, "wgmma by a warp that is not of four: the block has %u warps",
                 warp->block->n_warps);
        return NULL;
    }
    for (uint32_t i = 0; i < EMU_WARPGROUP && !products->group; i++) {
        const emu_warp *other = &warp->block->warp[first + i];
        if (other->products) products->group = other->products->group;
    }
    if (!products->group) products->group = emu_alloc(sizeof *products->group);
    products->group->warp[warp->index - first] = warp;
    products->group->users++;
    return products->group;
}

static emu_product *last_in_flight(const emu_warpgroup *group) {
    emu_product *last = NULL;
    for (emu_product *product = group->first; product; product = product->next)
        if (product->arrived == (1u << EMU_WARPGROUP) - 1) last = product;
    return last;
}

static void leave_group(emu_warp *warp, emu_warpgroup *group) {
    group->warp[warp->index % EMU_WARPGROUP] = NULL;
    if (--group->users) return;
    while (group->first) { /* those that not all four came to; the others are the engine's */
        emu_product *product = group->first;
        group->first = product->next;
        emu_actor_end(&product->operation.actor);
        free(product);
    }
    free(group);
}

void emu_warp_mma_end(emu_warp *warp) {
    struct emu_products *products = warp->products;
    if (products == NULL) return;
    bool failed = warp->block->cluster->grid->failed;
    if (!failed && products->issued > products->known)
        emu_find(warp, NULL, -1, EMU_PROTOCOL, 0, "the warp exits without having waited for %llu wgmma",
                 (unsigned long long)(products->issued - products->known));
    emu_warpgroup *group = products->group;
    if (group) { /* its registers go: what is in flight is done now */
        emu_product *last;
        while ((last = last_in_flight(group)) != NULL) emu_engine_finish(&last->operation);
        leave_group(warp, group);
    }
    free(products->use);
    free(products);
    warp->products = NULL;
}

/* ---- operations ------------------------------------------------------------------------------------------ */
/* Reads what chunks of 16 bytes name: each byte is looked at once, in ranges as long as they come. */
bool emu_product_read(const emu_operation *operation, emu_block *block, const uint32_t *chunk, int n) {
    uint64_t present[(1 << 18) / 16 / 64] = {0};
    uint32_t least = UINT32_MAX, most = 0;
    for (int i = 0; i < n; i++) {
        uint32_t unit = chunk[i] / 16 % ((1 << 18) / 16);
        present[unit / 64] |= UINT64_C(1) << unit % 64;
        least = unit < least ? unit : least;
        most = unit > most ? unit : most;
    }
    for (uint32_t unit = least; unit <= most; unit++) {
        if (!(present[unit / 64] >> unit % 64 & 1)) continue;
        uint32_t first = unit;
        while (unit < most && present[(unit + 1) / 64] >> (unit + 1) % 64 & 1) unit++;
        const emu_access access = {.kind = EMU_READ, .space = PTX_SHARED, .cluster = true, .bytes = 16, .align = 16};
        uint64_t address = (uint64_t)block->rank << EMU_SHARED_RANK_SHIFT | first * 16;
        if (!emu_memory_range(&operation->actor, block, &access, address, (unit + 1 - first) * 16)) return false;
    }
    return true;
}

/* Rows of an operand from shared memory: the first 32 bytes of k, and where there are 64 the others from line EMU_MAX_N. */
static bool gather(const emu_product *product, uint64_t bits, bool trans, int rows, int pieces,
                   uint8_t (*line)[EMU_LINE]) {
    emu_descriptor descriptor;
    uint32_t chunk[EMU_MAX_CHUNKS];
    (void)emu_descriptor_read(bits, &descriptor); /* what is wrong with it was told at issue */
    emu_descriptor_chunks(&descriptor, trans, rows, pieces, chunk);
    if (!emu_product_read(&product->operation, product->operation.block, chunk, pieces * rows)) return false;
    const uint8_t *shared = product->operation.block->shared;
    for (int i = 0; i < pieces * rows; i++) {
        const uint8_t *from = shared + (chunk[i] % (1 << 18) - EMU_SHARED_FIRST);
        const int place = trans ? i % (8 * pieces) * 2 : i % pieces * 16; /* byte of k */
        uint8_t(*to)[EMU_LINE] = line + place / EMU_LINE * EMU_MAX_N;
        if (!trans) {
            memcpy(to[i / pieces] + place % EMU_LINE, from, 16);
            continue;
        }
        for (int row = 0; row < 8; row++) memcpy(to[i / (8 * pieces) * 8 + row] + place % EMU_LINE, from + 2 * row, 2);
    }
    return true;
}

static void negate(uint8_t (*line)[EMU_LINE], int rows, int bytes) {
    for (int row = 0; row < rows; row++)
        for (int i = bytes - 1; i < EMU_LINE; i += bytes) line[row][i] ^= 0x80;
}

static bool step(emu_operation *operation, emu_random *random) {
    (void)random;
    static uint8_t a[64][EMU_LINE], b[2 * EMU_MAX_N][EMU_LINE]; /* one thread runs everything */
    static uint32_t d[64 * EMU_MAX_N];
    emu_product *product = (emu_product *)operation;
    const emu_wgmma *what = product->what;
    const int n = what->n, bytes = ptx_type_bytes[what->dot->a];
    const bool half = what->dot->accumulator == PTX_F16;
    if (what->a_in_registers) memcpy(a, product->line, sizeof a);
    if ((!what->a_in_registers && !gather(product, product->a, what->trans_a, 64, 2, a)) ||
        !gather(product, product->b, what->trans_b, n, what->sparse ? 4 : 2, b)) {
        emu_engine_fail(operation);
        return true;
    }
    if (what->negate_a) negate(a, 64, bytes);
    for (int part = 0; part < 2 && what->negate_b; part++)
        negate(b + part * EMU_MAX_N, n, ptx_type_bytes[what->dot->b]);
    memset(d, 0, (size_t)(64 * n) * sizeof d[0]);
    emu_warp *const *warp = product->group->warp; /* NULL: has exited, and its registers are gone */
    for (int w = 0; w < EMU_WARPGROUP && product->add; w++)
        if (warp[w]) emu_fragment_accumulators(warp[w], what->d, 16, n, half, d + w * 16 * n);
    const uint8_t(*left)[EMU_LINE] = (const uint8_t(*)[EMU_LINE])a, (*right)[EMU_LINE] = (const uint8_t(*)[EMU_LINE])b;
    if (what->sparse)
        emu_tile_sparse(what->dot, 64, n, what->k / 2, left, (const uint8_t(*)[EMU_LINE])product->kept, right, d,
                        what->saturate);
    else
        emu_tile(what->dot, 64, n, what->k, left, right, d, what->saturate);
    for (int w = 0; w < EMU_WARPGROUP; w++)
        if (warp[w]) emu_fragment_results(warp[w], what->d, 16, n, half, d + w * 16 * n, UINT32_MAX);
    product->group->done = product->number;
    emu_total.tiles++;
    return true;
}

static void destroy(emu_operation *operation) {
    emu_product *product = (emu_product *)operation;
    for (emu_product **at = &product->group->first; *at; at = &(*at)->next)
        if (*at == product) {
            *at = product->next;
            break;
        }
    emu_actor_end(&operation->actor);
    free(product);
}

static void describe(const emu_operation *operation, char *text, size_t bytes) {
    const emu_product *product = (const emu_product *)operation;
    snprintf(text, bytes, "wgmma number %llu of its warpgroup", (unsigned long long)product->number);
}

emu_product *emu_product_next(emu_warp *warp, const emu_op *op) {
    emu_warpgroup *group = emu_warpgroup_of(warp);
    if (group == NULL) return NULL;
    const uint64_t number = warp->products->issued + 1;
    emu_product **at = &group->first;
    while (*at && (*at)->number < number) at = &(*at)->next;
    if (*at) return *at;
    emu_product *product = emu_alloc(sizeof *product);
    product->group = group;
    product->op = op;
    product->what = op->detail;
    product->number = number;
    product->chosen = emu_random_below(&warp->block->cluster->grid->random, EMU_WARPGROUP);
    *at = product;
    return product;
}

void emu_product_start(emu_product *product, emu_warp *last) {
    emu_operation *operation = &product->operation;
    emu_block *block = last->block;
    operation->block = block;
    operation->queue = UINT64_C(1) << 62 | last->index / EMU_WARPGROUP * EMU_WARPGROUP;
    operation->ranks = 1u << block->rank;
    operation->step = step;
    operation->destroy = destroy;
    operation->describe = describe;
    emu_engine_add(operation);
}

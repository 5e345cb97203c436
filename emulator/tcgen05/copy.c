/* tcgen05.cp: rows of 16 or 32 bytes from shared to tensor memory, in order with the products of the warp. Of a pair, each block
 * copies from its own shared memory to its own lanes.
 *
 * 4x256b gives one row to each warp's 32 lanes, at the address and 32, 64 and 96 lanes further (CuTe's copy_traits_sm100.hpp):
 * the row that tcgen05.shift leaves as it was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mma/products.h"
#include "tcgen05/product.h"

enum { WARPS = 4, WARP_LANES = EMU_TENSOR_LANES / WARPS };
/* Which rows each warp's 32 lanes get. */
typedef struct copy_shape {
    const char *shape, *multicast;
    int rows, pieces; /* of 16 bytes */
    int lanes;        /* of each warp */
    int first[WARPS]; /* row, by warp */
} copy_shape;
static const copy_shape shapes[] = {
    {"128x256b", NULL, 128, 2, 32, {0, 32, 64, 96}},         {"128x128b", NULL, 128, 1, 32, {0, 32, 64, 96}},
    {"64x128b", "warpx2::02_13", 64, 1, 32, {0, 0, 32, 32}}, {"64x128b", "warpx2::01_23", 64, 1, 32, {0, 32, 0, 32}},
    {"32x128b", "warpx4", 32, 1, 32, {0, 0, 0, 0}},          {"4x256b", NULL, 4, 2, 1, {0, 1, 2, 3}},
};
enum {
    N_SHAPES = sizeof shapes / sizeof shapes[0],
    MOST_ROWS = 128,
    GROUP = 8 /* rows that a descriptor names together */
};

typedef struct copy_detail {
    const copy_shape *shape;
    int width; /* bits of packed elements, which become bytes; 8: they are bytes */
    emu_address to;
    emu_operand from;
} copy_detail;

typedef struct copy {
    emu_operation operation;
    const copy_detail *detail;
    emu_block *block[2];
    int blocks;
    uint64_t from;
    uint32_t to;
} copy;

static bool gather(const copy *c, emu_block *block, uint8_t (*line)[EMU_LINE]) {
    const copy_shape *shape = c->detail->shape;
    emu_descriptor descriptor;
    uint32_t chunk[2 * MOST_ROWS];
    (void)emu_tensor_matrix_read(c->from, PTX_B8, false, &descriptor); /* what is wrong with it was told at issue */
    emu_descriptor_chunks(&descriptor, false, shape->rows < GROUP ? GROUP : shape->rows, shape->pieces, chunk);
    if (!emu_product_read(&c->operation, block, chunk, shape->rows * shape->pieces)) return false;
    for (int i = 0; i < shape->rows * shape->pieces; i++) {
        const uint8_t *from = block->shared + (chunk[i] % (1 << 18) - EMU_SHARED_FIRST);
        uint8_t *to = line[i / shape->pieces] + i % shape->pieces * 16;
        emu_tensor_unpack(c->detail->width, from, to);
        for (int k = 0; k < 16 && c->detail->width == 4; k++) to[k] = (uint8_t)(to[k] << 2); /* 00seem00 */
    }
    return true;
}

static void write(const copy *c, emu_block *block, const uint8_t (*line)[EMU_LINE]) {
    const copy_shape *shape = c->detail->shape;
    for (int i = 0; i < WARPS * shape->pieces * 4; i++) {
        const int warp = i % WARPS, word = i / WARPS;
        const uint32_t column = (c->to & 0xffff) + (uint32_t)word, lane = (c->to >> 16) + (uint32_t)(warp * WARP_LANES);
        emu_tensor_touch(&c->operation.actor, block, EMU_WRITE, lane, column, (uint32_t)shape->lanes);
        for (int row = 0; row < shape->lanes; row++)
            memcpy(&block->tensor->cell[column][lane + (uint32_t)row], line[shape->first[warp] + row] + 4 * word, 4);
    }
}

static bool step(emu_operation *operation, emu_random *random) {
    (void)random;
    static uint8_t line[MOST_ROWS][EMU_LINE]; /* one thread runs everything */
    const copy *c = (const copy *)operation;
    const bool exited = emu_tensor_exited(operation, c->block, c->blocks, "tcgen05.cp");
    for (int b = 0; b < c->blocks; b++) {
        if (exited || !gather(c, c->block[b], line)) {
            emu_engine_fail(operation);
            return true;
        }
        write(c, c->block[b], (const uint8_t(*)[EMU_LINE])line);
    }
    return true;
}

static void destroy(emu_operation *operation) {
    emu_actor_end(&operation->actor);
    free(operation);
}

static void describe(const emu_operation *operation, char *text, size_t bytes) {
    (void)operation;
    snprintf(text, bytes, "tcgen05.cp");
}

static bool check(emu_warp *warp, const emu_op *op, int lane, const copy *c) {
    emu_descriptor descriptor;
    const char *why = emu_tensor_matrix_read(c->from, PTX_B8, false, &descriptor);
    if (why)
        emu_find(warp, op, lane, EMU_DESCRIPTOR, c->from, "the descriptor of the source, 0x%llx: %s",
                 (unsigned long long)c->from, why);
    if (why) return false;
    const uint32_t lane0 = c->to >> 16, lanes = (uint32_t)c->detail->shape->lanes, most = WARP_LANES - lanes;
    if (lane0 > most) {
        emu_find(warp, op, lane, EMU_TENSOR, 7, "the destination at 0x%08x begins in lane %u: lane 0%s is due", c->to,
                 lane0, most ? " to 31" : "");
        return false;
    }
    for (int b = 0; b < c->blocks; b++)
        if (!emu_tensor_allocated(warp, op, c->block[b], c->to, EMU_TENSOR_LANES - most,
                                  (uint32_t)c->detail->shape->pieces * 4, "the destination"))
            return false;
    return true;
}

static emu_result run_copy(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const copy_detail *detail = op->detail;
    uint64_t to[EMU_LANES];
    if (!emu_tensor_grouped(warp, op)) return EMU_ABORT;
    emu_addresses(warp, &detail->to, to);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        copy *c = emu_alloc(sizeof *c);
        c->operation = (emu_operation){.step = step, .destroy = destroy, .describe = describe};
        c->detail = detail;
        c->blocks = emu_tensor_blocks(warp, op, c->block);
        c->from = emu_u64(warp, detail->from)[lane];
        c->to = (uint32_t)to[lane];
        if (!check(warp, op, lane, c)) {
            free(c);
            return EMU_ABORT;
        }
        for (int b = 0; b < c->blocks; b++) c->operation.ranks |= 1u << c->block[b]->rank;
        emu_tensor_issue(warp, op, lane, &c->operation);
    }
    return EMU_NEXT;
}

bool emu_decode_tensor_copy(emu_decoding *d) {
    copy_detail *detail = emu_decode_alloc(d, sizeof *detail);
    d->op->run = run_copy;
    d->op->detail = detail;
    if (!emu_tensor_group_word(d)) return false;
    for (int i = 0; i < N_SHAPES && !detail->shape; i++) {
        const ptx_words before = d->words;
        if (ptx_take(&d->words, shapes[i].shape) && (!shapes[i].multicast || ptx_take(&d->words, shapes[i].multicast)))
            detail->shape = &shapes[i];
        else
            d->words = before;
    }
    if (!detail->shape)
        return emu_decode_fail(d, "128x256b, 128x128b, 64x128b.warpx2, 32x128b.warpx4 and 4x256b are supported");
    detail->width = 8;
    if (ptx_take(&d->words, "b8x16")) detail->width = ptx_take(&d->words, "b4x16_p64") ? 4 : 6;
    if (detail->width == 6 && !emu_mma_expect(d, "b6x16_p32")) return false;
    return emu_mma_end(d) && emu_tensor_operands(d, 2, 2) && emu_tensor_address(d, 0, &detail->to) &&
           emu_mma_sources(d, 1, PTX_B64, 1, &detail->from);
}

/* Addresses from one space to another: cvta, isspacep, mapa, getctarank. All lanes of the destination are masked. */
#include "memory/parts.h"

#include <string.h>

/* A shared or local address that means nothing, for a generic address of another space: no block has this rank. */
#define NOWHERE_SHARED UINT64_C(0xfe000000)
#define SHARED_BITS UINT64_C(0xffffffff)

typedef struct addressing {
    emu_operand d, a, b;
    emu_named_space space;
    bool to;
} addressing;

static uint64_t window_of(emu_named_space space) {
    switch (emu_named_space_of[space]) {
        case PTX_SHARED: return EMU_WINDOW_SHARED;
        case PTX_LOCAL: return EMU_WINDOW_LOCAL;
        case PTX_PARAM: return EMU_WINDOW_PARAM;
        default: return 0;
    }
}

/* .global and .const addresses are generic ones. Of a generic address of another space PTX leaves the result open; here
 * an access by it is a finding: in 64 bits by the window that stays, in 32 by a rank that no block has. A null pointer
 * stays 0. */
static uint64_t convert(const addressing *form, uint64_t window, uint64_t a) {
    if (window == 0) return a;
    if (!form->to) return window | a;
    if ((a & EMU_WINDOW_MASK) == window) return a & ~EMU_WINDOW_MASK;
    return window == EMU_WINDOW_SHARED && a != 0 ? (a & ~SHARED_BITS) | NOWHERE_SHARED | (a & 0xffffff) : a;
}

static emu_result run_cvta(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const addressing *form = op->detail;
    const uint64_t *a = emu_u64(warp, form->a);
    uint64_t *d = emu_u64(warp, form->d), window = window_of(form->space);
    for (int lane = 0; lane < EMU_LANES; lane++) d[lane] = mask >> lane & 1 ? convert(form, window, a[lane]) : d[lane];
    return EMU_NEXT;
}

static bool is_in(const emu_warp *warp, emu_named_space space, uint64_t a) {
    uint64_t rank = (a & ~EMU_WINDOW_MASK) >> EMU_SHARED_RANK_SHIFT;
    ptx_space is = emu_memory_space(a);
    switch (space) {
        case EMU_NAMED_SHARED: return is == PTX_SHARED && rank == warp->block->rank;
        case EMU_NAMED_SHARED_CLUSTER: return is == PTX_SHARED && rank < warp->block->cluster->n_blocks;
        case EMU_NAMED_GLOBAL:
            return is == PTX_GLOBAL || is == PTX_PARAM; /* parameters' window lies in that of .global */
        case EMU_NAMED_CONST: {
            const emu_allocation *allocation = emu_memory_find((const void *)(uintptr_t)a);
            return allocation != NULL && allocation->constant;
        }
        default: return is == emu_named_space_of[space];
    }
}

static emu_result run_isspacep(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const addressing *form = op->detail;
    const uint64_t *a = emu_u64(warp, form->a);
    emu_mask in = 0;
    for (int lane = 0; lane < EMU_LANES; lane++) in |= (emu_mask)is_in(warp, form->space, a[lane]) << lane;
    uint32_t *d = emu_u32(warp, form->d);
    *d = (*d & ~mask) | (in & mask);
    return EMU_NEXT;
}

/* The rank is 32 bits: what no block has stays what no block has. */
static uint64_t with_rank(uint64_t a, uint32_t rank) {
    if (rank > 255) rank = 255;
    return (a & ~(UINT64_C(0xff) << EMU_SHARED_RANK_SHIFT)) | (uint64_t)rank << EMU_SHARED_RANK_SHIFT;
}

static emu_result run_mapa(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const addressing *form = op->detail;
    uint64_t a[EMU_LANES];
    const uint32_t *rank = emu_u32(warp, form->b);
    emu_lanes_read(warp, form->a, a);
    for (int lane = 0; lane < EMU_LANES; lane++)
        if (form->space != EMU_NAMED_GENERIC || emu_memory_space(a[lane]) == PTX_SHARED)
            a[lane] = with_rank(a[lane], rank[lane]);
    emu_lanes_write(warp, form->d, mask, a);
    return EMU_NEXT;
}

static emu_result run_getctarank(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const addressing *form = op->detail;
    uint64_t a[EMU_LANES];
    emu_lanes_read(warp, form->a, a);
    for (int lane = 0; lane < EMU_LANES; lane++) a[lane] = a[lane] >> EMU_SHARED_RANK_SHIFT & 0xff;
    emu_lanes_write(warp, form->d, mask, a);
    return EMU_NEXT;
}

/* Takes the words; type: of the address. */
static addressing *begin(emu_decoding *d, uint32_t allowed, uint32_t demanded, int n_operands, ptx_type *type) {
    emu_memory_words given;
    if (!emu_memory_words_take(d, allowed, &given) || !emu_memory_operands(d, &given, n_operands)) return NULL;
    if ((given.given & demanded) != demanded) {
        emu_decode_fail(d, "a state space is missing");
        return NULL;
    }
    addressing *form = emu_decode_alloc(d, sizeof(*form));
    form->space = (emu_named_space)given.value[EMU_WORD_SPACE];
    *type = (ptx_type)given.value[EMU_WORD_TYPE];
    if (!(allowed & EMU_WORD_BIT(TYPE))) *type = PTX_U64;
    if (*type != PTX_U32 && *type != PTX_U64) {
        emu_decode_fail(d, "an address of type .%s", ptx_type_text[*type]);
        return NULL;
    }
    d->op->detail = form;
    return form;
}

bool emu_decode_cvta(emu_decoding *d) {
    ptx_type type;
    bool to = ptx_take(&d->words, "to");
    addressing *form = begin(d, EMU_WORD_BIT(SPACE) | EMU_WORD_BIT(TYPE), EMU_WORD_BIT(SPACE), 2, &type);
    if (form == NULL) return false;
    if (type != PTX_U64) return emu_decode_fail(d, "generic addresses have 64 bits");
    form->to = to;
    d->op->run = run_cvta;
    return emu_decode_destination(d, &d->instruction->operand[0], type, &form->d) &&
           emu_decode_source(d, &d->instruction->operand[1], type, &form->a);
}

bool emu_decode_isspacep(emu_decoding *d) {
    ptx_type type;
    addressing *form = begin(d, EMU_WORD_BIT(SPACE), EMU_WORD_BIT(SPACE), 2, &type);
    if (form == NULL) return false;
    d->op->run = run_isspacep;
    return emu_decode_destination(d, &d->instruction->operand[0], PTX_PRED, &form->d) &&
           emu_decode_source(d, &d->instruction->operand[1], type, &form->a);
}

static bool only_cluster(emu_decoding *d, const addressing *form, ptx_type type) {
    if (form->space != EMU_NAMED_GENERIC && form->space != EMU_NAMED_SHARED_CLUSTER)
        return emu_decode_fail(d, "a space other than .shared::cluster");
    if (form->space == EMU_NAMED_GENERIC && type != PTX_U64)
        return emu_decode_fail(d, "generic addresses have 64 bits");
    return true;
}

bool emu_decode_mapa(emu_decoding *d) {
    ptx_type type;
    addressing *form = begin(d, EMU_WORD_BIT(SPACE) | EMU_WORD_BIT(TYPE), 0, 3, &type);
    if (form == NULL || !only_cluster(d, form, type)) return false;
    d->op->run = run_mapa;
    return emu_decode_destination(d, &d->instruction->operand[0], type, &form->d) &&
           emu_decode_source(d, &d->instruction->operand[1], type, &form->a) &&
           emu_decode_source(d, &d->instruction->operand[2], PTX_U32, &form->b);
}

bool emu_decode_getctarank(emu_decoding *d) {
    ptx_type type;
    addressing *form = begin(d, EMU_WORD_BIT(SPACE) | EMU_WORD_BIT(TYPE), 0, 2, &type);
    if (form == NULL || !only_cluster(d, form, type)) return false;
    d->op->run = run_getctarank;
    return emu_decode_destination(d, &d->instruction->operand[0], PTX_U32, &form->d) &&
           emu_decode_source(d, &d->instruction->operand[1], type, &form->a);
}

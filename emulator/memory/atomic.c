/* atom, red: lanes of one instruction are done one after the other, in an order of the dice's. */
#include "memory/parts.h"

#include <string.h>

enum { MOST = 8, MOST_BYTES = 16 };

typedef struct atomic {
    emu_access access;
    emu_address address;
    emu_operand d[MOST], b[MOST], c;
    int n;
    uint32_t bytes; /* an element's */
    bool returns;
    emu_update *update;
} atomic;

static const uint8_t *lane_of(const emu_warp *warp, emu_operand operand, int lane) {
    return (const uint8_t *)emu_at(warp, operand.at) + (size_t)lane * operand.bytes;
}

/* old: what was there before. Written to registers when all lanes are done: a destination may share its place with a
 * source. */
static void update_lane(const emu_warp *warp, const atomic *a, int lane, uint8_t *memory, bool flush, uint8_t *old) {
    const uint8_t *c = a->c.bytes > 0 ? lane_of(warp, a->c, lane) : NULL;
    memcpy(old, memory, a->access.bytes);
    for (int k = 0; k < a->n; k++) a->update(memory + (uint32_t)k * a->bytes, lane_of(warp, a->b[k], lane), c, flush);
}

static void return_old(const emu_warp *warp, const atomic *a, emu_mask mask, uint8_t old[EMU_LANES][MOST_BYTES]) {
    for (int k = 0; k < a->n; k++) {
        if (a->d[k].bytes == 0) continue; /* _ */
        uint8_t *d = emu_at(warp, a->d[k].at);
        for (emu_mask left = mask; left != 0; left &= left - 1) {
            int lane = __builtin_ctz(left);
            uint8_t value[MOST_BYTES] = {0}; /* wider registers get zeros above */
            memcpy(value, old[lane] + (uint32_t)k * a->bytes, a->bytes);
            memcpy(d + (size_t)lane * a->d[k].bytes, value, a->d[k].bytes);
        }
    }
}

static emu_result run_atomic(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const atomic *a = op->detail;
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES], old[EMU_LANES][MOST_BYTES];
    emu_addresses(warp, &a->address, address);
    if (!emu_memory_lanes(warp, op, mask, &a->access, address, pointer)) return EMU_ABORT;
    uint32_t first = 0, step = 1;
    if ((mask & (mask - 1)) != 0) {
        uint32_t dice = emu_random_next(&warp->block->cluster->grid->random);
        first = dice & 31;
        step = (dice >> 5 & 31) | 1; /* odd: all lanes have their turn */
    }
    for (uint32_t i = 0; i < EMU_LANES; i++) {
        int lane = (int)((first + i * step) & 31);
        if (!(mask >> lane & 1)) continue;
        ptx_space space = a->access.space == PTX_GENERIC ? emu_memory_space(address[lane]) : a->access.space;
        update_lane(warp, a, lane, pointer[lane], space == PTX_GLOBAL, old[lane]);
    }
    if (a->returns) return_old(warp, a, mask, old);
    return EMU_NEXT;
}

/* One register, or as many as the vector has elements; a destination may be _. */
static bool decode_elements(emu_decoding *d, const ptx_operand *operand, int n, ptx_type type, bool destination,
                            emu_operand *out) {
    bool vector = operand->kind == PTX_VECTOR;
    if (vector ? operand->n_parts != n : n != 1)
        return emu_decode_fail(d, "not as many registers as the vector has elements");
    for (int k = 0; k < n; k++) {
        const ptx_operand *part = vector ? &operand->parts[k] : operand;
        if (destination && part->kind == PTX_SINK) continue;
        if (!(destination ? emu_decode_destination(d, part, type, &out[k]) : emu_decode_source(d, part, type, &out[k])))
            return false;
        if (out[k].bytes < ptx_type_bytes[type])
            return emu_decode_fail(d, "a register of %d bytes for .%s", out[k].bytes, ptx_type_text[type]);
    }
    return true;
}

/* Vectors are of floating point and in global memory alone; noftz belongs to all types of 16 bits and to no other. */
static bool check_form(emu_decoding *d, const emu_memory_words *given, const atomic *a, ptx_type type) {
    bool half = type == PTX_F16 || type == PTX_F16X2 || type == PTX_BF16 || type == PTX_BF16X2;
    if (a->update == NULL) return emu_decode_fail(d, "no such operation on .%s", ptx_type_text[type]);
    if (half != ((given->given & EMU_WORD_BIT(NOFTZ)) != 0))
        return emu_decode_fail(d, ".noftz %s", half ? "is missing" : "of a type without it");
    if (a->n > 1 && !half && type != PTX_F32) return emu_decode_fail(d, "a vector of .%s", ptx_type_text[type]);
    if (a->n > 1 && a->access.space != PTX_GLOBAL && a->access.space != PTX_GENERIC)
        return emu_decode_fail(d, "a vector that is not in .global");
    if (a->access.bytes > 16) return emu_decode_fail(d, "%u bytes at once", a->access.bytes);
    if (a->access.space != PTX_GLOBAL && a->access.space != PTX_GENERIC && a->access.space != PTX_SHARED)
        return emu_decode_fail(d, "atomic operations are of .global and .shared memory");
    return true;
}

static bool decode_atomic(emu_decoding *d, bool returns) {
    emu_memory_words given;
    uint32_t allowed = EMU_WORD_BIT(SEMANTICS) | EMU_WORD_BIT(SCOPE) | EMU_WORD_BIT(SPACE) | EMU_WORD_BIT(UPDATE) |
                       EMU_WORD_BIT(HINT) | EMU_WORD_BIT(VECTOR) | EMU_WORD_BIT(TYPE) | EMU_WORD_BIT(NOFTZ);
    if (!emu_memory_words_take(d, allowed, &given)) return false;
    if (!(given.given & EMU_WORD_BIT(UPDATE))) return emu_decode_fail(d, "an operation is missing");
    emu_update_kind kind = (emu_update_kind)given.value[EMU_WORD_UPDATE];
    ptx_type type = (ptx_type)given.value[EMU_WORD_TYPE];
    bool compares = kind == EMU_UPDATE_CAS;
    if (!returns && (compares || kind == EMU_UPDATE_EXCH)) return emu_decode_fail(d, "red has no such operation");
    if (!emu_memory_operands(d, &given, 2 + returns + compares)) return false;
    const ptx_operand *operand = d->instruction->operand, *address = &operand[returns];
    atomic *a = emu_decode_alloc(d, sizeof(*a));
    a->n = given.given & EMU_WORD_BIT(VECTOR) ? given.value[EMU_WORD_VECTOR] : 1;
    a->bytes = ptx_type_bytes[type];
    a->returns = returns;
    a->update = emu_update_find(kind, type);
    a->access = emu_memory_words_access(&given, EMU_UPDATE, a->bytes * (uint32_t)a->n);
    if (!check_form(d, &given, a, type)) return false;
    if (returns && !decode_elements(d, &operand[0], a->n, type, true, a->d)) return false;
    if (address->kind != PTX_ADDRESS) return emu_decode_fail(d, "no address where one is expected");
    if (!emu_decode_address(d, address, a->access.space, &a->address)) return false;
    if (!decode_elements(d, &operand[returns + 1], a->n, type, false, a->b)) return false;
    if (compares && !decode_elements(d, &operand[returns + 2], 1, type, false, &a->c)) return false;
    d->op->detail = a;
    d->op->run = run_atomic;
    return true;
}

bool emu_decode_atom(emu_decoding *d) { return decode_atomic(d, true); }

bool emu_decode_red(emu_decoding *d) {
    if (d->instruction->n_words > 1 && strcmp(d->instruction->word[1], "async") == 0) return emu_decline(d);
    return decode_atomic(d, false);
}

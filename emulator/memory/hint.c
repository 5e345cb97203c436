/* Instructions about caches: prefetch, prefetchu, discard, applypriority, createpolicy; and multimem, which is refused.
 */
#include "memory/parts.h"

#include <string.h>

static emu_result run_nothing(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)warp;
    (void)op;
    (void)mask;
    return EMU_NEXT;
}

/* "[a]" as the first operand. Prefetches may name any address: they read nothing that the program sees. */
static bool take_address(emu_decoding *d, ptx_space space, int n_operands, emu_address *out) {
    if (d->instruction->n_operands != n_operands)
        return emu_decode_fail(d, "%d operands where %d are expected", d->instruction->n_operands, n_operands);
    if (d->instruction->operand[0].kind != PTX_ADDRESS) return emu_decode_fail(d, "no address where one is expected");
    return emu_decode_address(d, &d->instruction->operand[0], space, out);
}

static bool finish_words(emu_decoding *d) {
    return ptx_words_end(&d->words) || emu_decode_fail(d, "unknown qualifier .%s", d->instruction->word[d->words.next]);
}

bool emu_decode_prefetch(emu_decoding *d) {
    static const char *const spaces[] = {"global", "local", "const", "param", NULL};
    static const ptx_space space_of[] = {PTX_GLOBAL, PTX_LOCAL, PTX_CONST, PTX_PARAM, PTX_GENERIC};
    static const char *const levels[] = {"L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap", NULL};
    int space = ptx_take_of(&d->words, spaces, 4), level = ptx_take_of(&d->words, levels, -1);
    emu_address ignored;
    if (level < 0) return emu_decode_fail(d, "a cache level is missing");
    d->op->run = run_nothing;
    return finish_words(d) && take_address(d, space_of[space], 1, &ignored);
}

bool emu_decode_prefetchu(emu_decoding *d) {
    emu_address ignored;
    if (!ptx_take(&d->words, "L1")) return emu_decode_fail(d, "a cache level is missing");
    d->op->run = run_nothing;
    return finish_words(d) && take_address(d, PTX_GENERIC, 1, &ignored);
}

/* ---- discard, applypriority: of 128 bytes that are a multiple of 128 ---- */
enum { LINE = 128 };
typedef struct line_form {
    emu_access access;
    emu_address address;
} line_form;

/* A weak write of values that mean nothing. */
static emu_result run_discard(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const line_form *form = op->detail;
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    emu_addresses(warp, &form->address, address);
    if (!emu_memory_lanes(warp, op, mask, &form->access, address, pointer)) return EMU_ABORT;
    for (; mask != 0; mask &= mask - 1) {
        uint8_t *line = pointer[__builtin_ctz(mask)];
        memset(line, 0xff, LINE);
        const emu_allocation *a = emu_memory_find(line);
        if (a != NULL && a->shadow != NULL && a->kind == EMU_DEVICE)
            emu_shadow_fresh(a->shadow, (uint64_t)(line - a->memory), LINE, false);
    }
    return EMU_NEXT;
}

static bool decode_line(emu_decoding *d, const char *level, emu_run *run) {
    bool global = ptx_take(&d->words, "global");
    if (!ptx_take(&d->words, level)) return emu_decode_fail(d, ".%s is missing", level);
    line_form *form = emu_decode_alloc(d, sizeof(*form));
    form->access = (emu_access){
        .kind = EMU_WRITE, .space = global ? PTX_GLOBAL : PTX_GENERIC, .scope = EMU_SCOPE_SYS, .bytes = LINE};
    d->op->detail = form;
    d->op->run = run;
    if (!finish_words(d) || !take_address(d, form->access.space, 2, &form->address)) return false;
    const ptx_operand *size = &d->instruction->operand[1];
    return (size->kind == PTX_INTEGER && size->bits == LINE) || emu_decode_fail(d, "a size other than 128");
}

bool emu_decode_discard(emu_decoding *d) { return decode_line(d, "L2", run_discard); }
bool emu_decode_applypriority(emu_decoding *d) { return decode_line(d, "L2::evict_normal", run_nothing); }

/* ---- createpolicy: an opaque value, the same for the same priority ---- */
typedef struct policy_form {
    emu_operand d;
    uint64_t value;
} policy_form;

static emu_result run_createpolicy(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const policy_form *form = op->detail;
    uint64_t value[EMU_LANES];
    for (int lane = 0; lane < EMU_LANES; lane++) value[lane] = form->value;
    emu_lanes_write(warp, form->d, mask, value);
    return EMU_NEXT;
}

/* Operands after the policy are hints: looked at, without effect. */
static bool take_hints(emu_decoding *d, bool range, bool fractional) {
    const ptx_operand *operand = d->instruction->operand;
    int n = d->instruction->n_operands;
    emu_operand ignored;
    emu_address address;
    if (fractional)
        return n == 1 || (n == 2 && emu_decode_source(d, &operand[1], PTX_F32, &ignored)) ||
               (n > 2 && emu_decode_fail(d, "%d operands where at most 2 are expected", n));
    if (!range)
        return n == 2 ? emu_decode_source(d, &operand[1], PTX_B64, &ignored)
                      : emu_decode_fail(d, "an operand is missing");
    if (n != 4 || operand[1].kind != PTX_ADDRESS)
        return emu_decode_fail(d, "[address], primary size, total size expected");
    return emu_decode_address(d, &operand[1], PTX_GENERIC, &address) &&
           emu_decode_source(d, &operand[2], PTX_U32, &ignored) && emu_decode_source(d, &operand[3], PTX_U32, &ignored);
}

bool emu_decode_createpolicy(emu_decoding *d) {
    static const char *const priorities[] = {"L2::evict_normal", "L2::evict_first", "L2::evict_last",
                                             "L2::evict_unchanged", NULL};
    static const uint64_t values[] = {UINT64_C(0x16f0000000000000), UINT64_C(0x12f0000000000000),
                                      UINT64_C(0x14f0000000000000), UINT64_C(0x10f0000000000000)};
    bool range = ptx_take(&d->words, "range"), fractional = !range && ptx_take(&d->words, "fractional");
    if (!range && !fractional && !(ptx_take(&d->words, "cvt") && ptx_take(&d->words, "L2")))
        return emu_decode_fail(d, "none of .range, .fractional and .cvt.L2");
    int primary = 0;
    if (range) ptx_take(&d->words, "global");
    if (range || fractional) {
        primary = ptx_take_of(&d->words, priorities, -1);
        if (primary < 0) return emu_decode_fail(d, "a priority is missing");
        ptx_take_of(&d->words, priorities, -1);
    }
    if (!ptx_take(&d->words, "b64")) return emu_decode_fail(d, "a type other than .b64");
    if (!finish_words(d)) return false;
    policy_form *form = emu_decode_alloc(d, sizeof(*form));
    form->value = values[primary];
    d->op->detail = form;
    d->op->run = run_createpolicy;
    if (d->instruction->n_operands < 1) return emu_decode_fail(d, "no operands");
    return emu_decode_destination(d, &d->instruction->operand[0], PTX_B64, &form->d) &&
           take_hints(d, range, fractional);
}

bool emu_decode_multimem(emu_decoding *d) {
    return emu_decode_fail(d, "multicast memory of several devices is not emulated");
}

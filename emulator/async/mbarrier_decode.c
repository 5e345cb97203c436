/* Decoding of the mbarrier instructions. */
#include "async/mbarrier_ops.h"

/* Qualifiers between the operation's name and .b64, each at most once, in any order. */
typedef struct qualifiers {
    bool relaxed, shared, cluster;
} qualifiers;

static bool take_qualifiers(emu_decoding *d, qualifiers *out) {
    static const char *const scopes[] = {"cta", "cluster", NULL};
    *out = (qualifiers){0};
    bool acquire_or_release = ptx_take(&d->words, "release") || ptx_take(&d->words, "acquire");
    if (!acquire_or_release) out->relaxed = ptx_take(&d->words, "relaxed");
    ptx_take_of(&d->words, scopes, -1);
    if (ptx_take(&d->words, "shared") || ptx_take(&d->words, "shared::cta")) {
        out->shared = true;
    } else if (ptx_take(&d->words, "shared::cluster")) {
        out->shared = out->cluster = true;
    }
    if (!ptx_take(&d->words, "b64")) return emu_decode_fail(d, "an mbarrier has the type .b64");
    if (!ptx_words_end(&d->words)) return emu_decode_fail(d, "a word follows .b64");
    return true;
}

static bool take_address(emu_decoding *d, int operand, const qualifiers *q) {
    emu_mbarrier_detail *detail = emu_decode_alloc(d, sizeof *detail);
    detail->space = q->shared ? PTX_SHARED : PTX_GENERIC;
    detail->cluster = q->cluster;
    d->op->detail = detail;
    if (q->relaxed) d->op->flags |= EMU_MBARRIER_RELAXED;
    return emu_decode_address(d, &d->instruction->operand[operand], detail->space, &detail->address);
}

static bool operands(emu_decoding *d, int least, int most) {
    if (d->instruction->n_operands >= least && d->instruction->n_operands <= most) return true;
    return emu_decode_fail(d, "%d operands, where %d to %d belong", d->instruction->n_operands, least, most);
}

static bool decode_init(emu_decoding *d) {
    qualifiers q;
    d->op->run = emu_mbarrier_run_init;
    return take_qualifiers(d, &q) && operands(d, 2, 2) && take_address(d, 0, &q) &&
           emu_decode_source(d, &d->instruction->operand[1], PTX_U32, &d->op->operand[1]);
}

static bool decode_inval(emu_decoding *d) {
    qualifiers q;
    d->op->run = emu_mbarrier_run_inval;
    return take_qualifiers(d, &q) && operands(d, 1, 1) && take_address(d, 0, &q);
}

static bool decode_arrive(emu_decoding *d) {
    static const ptx_operand one = {.kind = PTX_INTEGER, .bits = 1};
    const ptx_instruction *instruction = d->instruction;
    qualifiers q;
    if (ptx_take(&d->words, "expect_tx")) d->op->flags |= EMU_ARRIVE_EXPECTS;
    if (ptx_take(&d->words, "noComplete")) d->op->flags |= EMU_ARRIVE_NO_COMPLETE;
    d->op->run = emu_mbarrier_run_arrive;
    if (!take_qualifiers(d, &q)) return false;
    /* Without the state, which nothing needs after a remote arrival, the address comes first. */
    int at = instruction->operand[0].kind == PTX_ADDRESS ? 0 : 1;
    bool counted = instruction->n_operands > at + 1;
    if (d->op->flags & (EMU_ARRIVE_EXPECTS | EMU_ARRIVE_NO_COMPLETE) && !counted)
        return emu_decode_fail(d, "a count is missing");
    d->op->operand[0].at = EMU_NOWHERE;
    if (at && !emu_decode_destination(d, &instruction->operand[0], PTX_B64, &d->op->operand[0])) return false;
    return operands(d, at + 1, at + 2) && take_address(d, at, &q) &&
           emu_decode_source(d, counted ? &instruction->operand[at + 1] : &one, PTX_U32, &d->op->operand[1]);
}

static bool decode_arrive_drop(emu_decoding *d) {
    d->op->flags |= EMU_ARRIVE_DROPS;
    return decode_arrive(d);
}

static bool decode_transfer(emu_decoding *d, int sign) {
    qualifiers q;
    d->op->run = emu_mbarrier_run_transfer;
    d->op->value = sign;
    return take_qualifiers(d, &q) && operands(d, 2, 2) && take_address(d, 0, &q) &&
           emu_decode_source(d, &d->instruction->operand[1], PTX_U32, &d->op->operand[1]);
}
static bool decode_expect(emu_decoding *d) { return decode_transfer(d, 1); }
static bool decode_complete(emu_decoding *d) { return decode_transfer(d, -1); }

static bool decode_wait(emu_decoding *d) {
    qualifiers q;
    bool parity = ptx_take(&d->words, "parity");
    if (parity) d->op->flags |= EMU_WAIT_PARITY;
    d->op->run = emu_mbarrier_run_wait;
    emu_operand hint; /* of a suspended try_wait's time: what it reads is checked, and not used */
    return take_qualifiers(d, &q) && operands(d, 3, d->op->flags & EMU_WAIT_TRIES ? 4 : 3) && take_address(d, 1, &q) &&
           emu_decode_destination(d, &d->instruction->operand[0], PTX_PRED, &d->op->operand[0]) &&
           emu_decode_source(d, &d->instruction->operand[2], parity ? PTX_U32 : PTX_B64, &d->op->operand[1]) &&
           (d->instruction->n_operands == 3 || emu_decode_source(d, &d->instruction->operand[3], PTX_U32, &hint));
}

static bool decode_try(emu_decoding *d) {
    d->op->flags |= EMU_WAIT_TRIES;
    return decode_wait(d);
}

static bool decode_pending_count(emu_decoding *d) {
    d->op->run = emu_mbarrier_run_pending_count;
    if (!ptx_take(&d->words, "b64") || !ptx_words_end(&d->words))
        return emu_decode_fail(d, "an mbarrier has the type .b64");
    return operands(d, 2, 2) && emu_decode_destination(d, &d->instruction->operand[0], PTX_B32, &d->op->operand[0]) &&
           emu_decode_source(d, &d->instruction->operand[1], PTX_B64, &d->op->operand[1]);
}

bool emu_decode_mbarrier(emu_decoding *d) {
    static const struct {
        const char *word;
        bool (*decode)(emu_decoding *);
    } kinds[] = {
        {"init", decode_init},
        {"inval", decode_inval},
        {"arrive", decode_arrive},
        {"arrive_drop", decode_arrive_drop},
        {"expect_tx", decode_expect},
        {"complete_tx", decode_complete},
        {"test_wait", decode_wait},
        {"try_wait", decode_try},
        {"pending_count", decode_pending_count},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ptx_take(&d->words, kinds[i].word)) return kinds[i].decode(d);
    return emu_decode_fail(d, "an mbarrier operation that is not known");
}

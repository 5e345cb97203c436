/* Control flow within a function: branches, exit, and what stops or delays a warp. */
#include <inttypes.h>
#include <string.h>

#include "exec/lanes.h"

static emu_result run_next(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)warp, (void)op, (void)mask;
    return EMU_NEXT;
}

/* kind: a loop's round, one that only polls, or no loop. Any round that does more is progress. */
emu_result emu_run_branch(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_fragment *fragment = warp->current;
    if (op->kind == EMU_POLLS) {
        if (fragment->spins < 1u << 30) fragment->spins += EMU_POLL;
    } else if (op->kind == EMU_ACTS) {
        fragment->spins = 0;
        fragment->rounds++;
    }
    return emu_jump(warp, mask, op->target);
}

static bool decode_branch(emu_decoding *d) {
    ptx_take(&d->words, "uni");
    if (!ptx_words_end(&d->words) || d->instruction->n_operands != 1 || d->instruction->operand[0].kind != PTX_LABEL)
        return emu_decode_fail(d, "bra{.uni} label");
    d->op->run = emu_run_branch;
    d->op->target = emu_decode_label(d, d->instruction->operand);
    return true;
}

/* brx.idx: each lane its own label of a list. */
typedef struct labels {
    uint32_t n, target[];
} labels;

static emu_result run_indexed(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const labels *list = op->detail;
    const uint32_t *index = emu_u32(warp, op->operand[0]);
    emu_mask rest = mask;
    while (rest) {
        int lane = __builtin_ctz(rest);
        emu_mask same = 0;
        for (int other = lane; other < EMU_LANES; other++)
            if (rest >> other & 1 && index[other] == index[lane]) same |= 1u << other;
        rest &= ~same;
        if (index[lane] >= list->n) {
            emu_find(warp, op, lane, EMU_DESCRIPTOR, index[lane], "index %u of a list of %u labels", index[lane],
                     list->n);
            return EMU_ABORT;
        }
        emu_jump(warp, same, list->target[index[lane]]);
        if (rest) warp->current->pc--; /* lanes that are still to be sent */
    }
    return EMU_JUMP;
}

static bool decode_indexed(emu_decoding *d) {
    if (!ptx_take(&d->words, "idx")) return emu_decode_fail(d, "brx.idx{.uni}");
    ptx_take(&d->words, "uni");
    const ptx_operand *list = d->instruction->operand + 1;
    if (!ptx_words_end(&d->words) || d->instruction->n_operands != 2 || list->kind != PTX_VECTOR)
        return emu_decode_fail(d, "brx.idx index, list of labels");
    labels *labels_of = emu_decode_alloc(d, sizeof *labels_of + (size_t)list->n_parts * sizeof *labels_of->target);
    labels_of->n = (uint32_t)list->n_parts;
    for (int i = 0; i < list->n_parts; i++) {
        if (list->parts[i].kind != PTX_LABEL) return emu_decode_fail(d, "operand %d of the list is no label", i);
        labels_of->target[i] = emu_decode_label(d, list->parts + i);
    }
    d->op->run = run_indexed;
    d->op->detail = labels_of;
    return emu_exact_source(d, d->instruction->operand, PTX_U32, d->op->operand);
}

emu_result emu_run_exit(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op;
    return emu_leave(warp, mask);
}

static bool decode_exit(emu_decoding *d) {
    d->op->run = emu_run_exit;
    return ptx_words_end(&d->words) ? true : emu_decode_fail(d, "exit has no qualifiers");
}

static emu_result run_trap(emu_warp *warp, const emu_op *op, emu_mask mask) {
    emu_find(warp, op, __builtin_ctz(mask), EMU_TRAP, 0, "trap");
    return EMU_ABORT;
}

static bool decode_trap(emu_decoding *d) {
    d->op->run = run_trap;
    return ptx_words_end(&d->words) ? true : emu_decode_fail(d, "trap has no qualifiers");
}

/* A warp has as many registers as it names. setmaxnreg.inc waits until other warps have let go of enough; if all together
 * set more than there are, it waits for ever. */
static emu_result run_setmaxnreg(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const emu_block *block = warp->block;
    const uint32_t all = emu_registers_at_most(warp->code->function, block->n_warps) * block->n_warps;
    uint32_t set = 0;
    warp->set_registers = (uint32_t)op->value;
    for (uint32_t w = 0; w < block->n_warps; w++) set += block->warp[w].set_registers;
    if (set <= all) return EMU_NEXT;
    emu_find(warp, op, __builtin_ctz(mask), EMU_DEADLOCK, 0,
             "setmaxnreg: the block's warps set %" PRIu32 " registers, its launch bounds leave it %" PRIu32, set, all);
    return EMU_NEXT;
}

/* brkpt without a debugger goes on; pragmas and pmevent tell tools something. */
static bool decode_nothing(emu_decoding *d) {
    d->op->run = run_next;
    return true;
}

static bool decode_setmaxnreg(emu_decoding *d) {
    static const char *const ways[] = {"inc", "dec", NULL};
    if (ptx_take_of(&d->words, ways, -1) < 0 || !ptx_take(&d->words, "sync") || !ptx_take(&d->words, "aligned") ||
        !ptx_take(&d->words, "u32") || !ptx_words_end(&d->words))
        return emu_decode_fail(d, "setmaxnreg.{inc,dec}.sync.aligned.u32");
    const ptx_operand *count = d->instruction->operand;
    if (d->instruction->n_operands != 1 || count->kind != PTX_INTEGER || count->bits < 24 || count->bits > 256 ||
        count->bits % 8)
        return emu_decode_fail(d, "the count is a multiple of 8 from 24 to 256");
    d->op->run = run_setmaxnreg;
    d->op->value = (int64_t)count->bits;
    d->op->aligned = true;
    return true;
}

/* A fragment that sleeps lets others of its warp run first. */
static emu_result run_sleep(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const uint32_t *ns = emu_u32(warp, op->operand[0]);
    uint32_t longest = 0;
    for (int lane = 0; lane < EMU_LANES; lane++)
        if (mask >> lane & 1 && ns[lane] > longest) longest = ns[lane];
    emu_time += longest;
    warp->current->spins += 32 * EMU_POLL;
    return EMU_NEXT;
}

static bool decode_sleep(emu_decoding *d) {
    if (!ptx_take(&d->words, "u32") || !ptx_words_end(&d->words)) return emu_decode_fail(d, "nanosleep.u32");
    d->op->run = run_sleep;
    return emu_exact_source(d, d->instruction->operand, PTX_U32, d->op->operand);
}

const emu_mnemonic emu_mnemonics_control[] = {
    {"bra", decode_branch},
    {"brx", decode_indexed},
    {"exit", decode_exit},
    {"trap", decode_trap},
    {"brkpt", decode_nothing},
    {"pmevent", decode_nothing},
    {"setmaxnreg", decode_setmaxnreg},
    {"nanosleep", decode_sleep},
    {NULL, NULL},
};

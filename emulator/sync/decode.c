/* Words and operands of barriers, fences and dependent launches (PTX ISA 9.0). */
#include <string.h>

#include "memory/memory.h"
#include "sync/internal.h"

static bool words_done(emu_decoding *d) {
    return ptx_words_end(&d->words) ||
           emu_decode_fail(d, "'.%s' is not known here", d->instruction->word[d->words.next]);
}

static bool operands_are(emu_decoding *d, int least, int most) {
    int n = d->instruction->n_operands;
    return (n >= least && n <= most) ||
           emu_decode_fail(d, "%d operands; it takes %d%s", n, least, least < most ? " or one more" : "");
}

/* ---- barriers of the block: {result,} number {, threads} {, predicate} ----------------------- */

static bool decode_cta_operands(emu_decoding *d, emu_way way) {
    const ptx_operand *o = d->instruction->operand;
    const bool reduces = way >= EMU_BAR_POPC;
    const int least = way == EMU_BAR_SYNC ? 1 : way == EMU_BAR_ARRIVE ? 2 : 3;
    if (!operands_are(d, least, way == EMU_BAR_ARRIVE ? 2 : least + 1)) return false;
    const bool threads = way == EMU_BAR_ARRIVE || d->instruction->n_operands > least;
    emu_op *op = d->op;
    op->kind = (uint8_t)way;
    op->flags = (uint8_t)(1 << EMU_BAR_NUMBER | threads << EMU_BAR_THREADS | reduces << EMU_BAR_RESULT |
                          reduces << EMU_BAR_PREDICATE);
    ptx_type result = way == EMU_BAR_POPC ? PTX_U32 : PTX_PRED;
    if (reduces && !emu_decode_destination(d, o++, result, &op->operand[EMU_BAR_RESULT])) return false;
    if (!emu_decode_source(d, o++, PTX_U32, &op->operand[EMU_BAR_NUMBER])) return false;
    if (threads && !emu_decode_source(d, o++, PTX_U32, &op->operand[EMU_BAR_THREADS])) return false;
    return !reduces || emu_decode_predicate(d, o, &op->operand[EMU_BAR_PREDICATE]);
}

static bool decode_cta(emu_decoding *d, bool aligned) {
    static const char *const ways[] = {"sync", "arrive", "red", NULL}, *const reductions[] = {"popc", "and", "or",
                                                                                              NULL};
    ptx_take(&d->words, "cta");
    int way = ptx_take_of(&d->words, ways, -1);
    if (way < 0) return emu_decode_fail(d, "sync, arrive or red expected");
    int reduction = way < 2 ? 0 : ptx_take_of(&d->words, reductions, -1);
    if (reduction < 0) return emu_decode_fail(d, "red.popc, red.and or red.or expected");
    if (way == 2) way = EMU_BAR_POPC + reduction;
    d->op->run = emu_run_barrier;
    d->op->aligned = ptx_take(&d->words, "aligned") || aligned;
    if (way >= EMU_BAR_POPC && !ptx_take(&d->words, way == EMU_BAR_POPC ? "u32" : "pred"))
        return emu_decode_fail(d, "the result's type, .%s, is missing", way == EMU_BAR_POPC ? "u32" : "pred");
    return words_done(d) && decode_cta_operands(d, (emu_way)way);
}

static bool decode_cluster(emu_decoding *d) {
    static const char *const orders[] = {"release", "relaxed", NULL};
    if (ptx_take(&d->words, "arrive")) {
        d->op->run = emu_run_cluster_arrive;
        d->op->flags = ptx_take_of(&d->words, orders, 0) == 1;
    } else if (ptx_take(&d->words, "wait")) {
        d->op->run = emu_run_cluster_wait;
        ptx_take(&d->words, "acquire");
    } else {
        return emu_decode_fail(d, "arrive or wait expected");
    }
    d->op->aligned = ptx_take(&d->words, "aligned");
    return words_done(d) && operands_are(d, 0, 0);
}

static bool decode_bar(emu_decoding *d) {
    const ptx_instruction *i = d->instruction;
    if (i->n_words > 1 && strcmp(i->word[1], "warp") == 0) return emu_decline(d);
    return decode_cta(d, true);
}

static bool decode_barrier(emu_decoding *d) {
    return ptx_take(&d->words, "cluster") ? decode_cluster(d) : decode_cta(d, false);
}

/* ---- fences ---------------------------------------------------------------------------------- */

static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", NULL}; /* in the order of emu_scope */

static bool decode_scope(emu_decoding *d) {
    int scope = ptx_take_of(&d->words, scopes, -1);
    if (scope < 0) return emu_decode_fail(d, "a scope expected: cta, cluster, gpu or sys");
    d->op->kind = (uint8_t)scope;
    return true;
}

/* tensormap::generic.release.gpu; …acquire.gpu [address], 128; */
static bool decode_tensormap(emu_decoding *d) {
    bool acquire = ptx_take(&d->words, "acquire");
    emu_address address;
    d->op->run = emu_run_fence_proxy_tensormap;
    if (!acquire && !ptx_take(&d->words, "release")) return emu_decode_fail(d, "acquire or release expected");
    if (!decode_scope(d) || !words_done(d)) return false;
    if (!acquire) return operands_are(d, 0, 0);
    if (!operands_are(d, 2, 2) || !emu_decode_address(d, &d->instruction->operand[0], PTX_GENERIC, &address))
        return false;
    const ptx_operand *size = &d->instruction->operand[1];
    return (size->kind == PTX_INTEGER && size->bits == 128) || emu_decode_fail(d, "the size of a tensor map is 128");
}

/* async{.global | .shared::cta | .shared::cluster}, alias,
 * async::generic.acquire.sync_restrict::shared::cluster.cluster, … */
static bool decode_proxy(emu_decoding *d) {
    static const char *const spaces[] = {"global", "shared::cta", "shared::cluster", NULL};
    static const char *const orders[] = {"acquire", "release", NULL};
    static const char *const restricted[] = {"sync_restrict::shared::cluster", "sync_restrict::shared::cta", NULL};
    d->op->run = emu_run_fence_proxy_async;
    if (ptx_take(&d->words, "tensormap::generic")) return decode_tensormap(d);
    if (ptx_take(&d->words, "alias")) {
        d->op->run = emu_run_nothing;
    } else if (ptx_take(&d->words, "async::generic")) {
        int order = ptx_take_of(&d->words, orders, -1);
        if (order < 0 || !ptx_take(&d->words, restricted[order]))
            return emu_decode_fail(d, "acquire or release, and sync_restrict expected");
        if (!decode_scope(d)) return false;
    } else if (ptx_take(&d->words, "async")) {
        ptx_take_of(&d->words, spaces, -1);
    } else {
        return emu_decode_fail(d, "a proxy expected: async, alias or tensormap::generic");
    }
    return words_done(d) && operands_are(d, 0, 0);
}

static bool decode_fence(emu_decoding *d) {
    static const char *const orders[] = {"acq_rel", "sc", "acquire", "release", NULL};
    if (ptx_take(&d->words, "proxy")) return decode_proxy(d);
    d->op->run = emu_run_fence;
    if (ptx_take(&d->words, "mbarrier_init")) {
        if (!ptx_take(&d->words, "release")) return emu_decode_fail(d, "release expected");
    } else {
        int order = ptx_take_of(&d->words, orders, 0);
        if (order == 2) ptx_take(&d->words, "sync_restrict::shared::cluster");
        if (order == 3) ptx_take(&d->words, "sync_restrict::shared::cta");
    }
    return decode_scope(d) && words_done(d) && operands_are(d, 0, 0);
}

static bool decode_membar(emu_decoding *d) {
    static const char *const levels[] = {"cta", "gl", "sys", NULL};
    static const emu_scope scope[] = {EMU_SCOPE_CTA, EMU_SCOPE_GPU, EMU_SCOPE_SYS};
    if (ptx_take(&d->words, "proxy")) return decode_proxy(d);
    int level = ptx_take_of(&d->words, levels, -1);
    if (level < 0) return emu_decode_fail(d, "a level expected: cta, gl or sys");
    d->op->run = emu_run_fence;
    d->op->kind = (uint8_t)scope[level];
    return words_done(d) && operands_are(d, 0, 0);
}

/* ---- programmatic dependent launch ----------------------------------------------------------- */

static bool decode_griddepcontrol(emu_decoding *d) {
    if (ptx_take(&d->words, "launch_dependents"))
        d->op->run = emu_run_launch_dependents;
    else if (ptx_take(&d->words, "wait"))
        d->op->run = emu_run_dependency_wait;
    else
        return emu_decode_fail(d, "launch_dependents or wait expected");
    return words_done(d) && operands_are(d, 0, 0);
}

const emu_mnemonic emu_mnemonics_sync[] = {
    {"bar", decode_bar},
    {"barrier", decode_barrier},
    {"membar", decode_membar},
    {"fence", decode_fence},
    {"griddepcontrol", decode_griddepcontrol},
    {NULL, NULL},
};

/* Findings of the shadow in words. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/record.h"
#include "machine/decode.h"

enum { TEXT = 700, TOLD = 256 };

/* Conflicts that were told in this launch: their text is not made again. */
static struct {
    const emu_op *op, *past;
    uint64_t key;
} told[TOLD];

void emu_report_begin(void) { memset(told, 0, sizeof told); }

static bool tell_again(const emu_op *op, const emu_op *past, uint64_t key) {
    size_t at = ((uintptr_t)op / sizeof *op * 31 + (uintptr_t)past / sizeof *past * 7 + key) % TOLD;
    bool again = told[at].op == op && told[at].past == past && told[at].key == key;
    told[at].op = op;
    told[at].past = past;
    told[at].key = key;
    return again;
}

/* ---- places -------------------------------------------------------------------------------------------------- */
static void source_text(const emu_family *family, const emu_op *op, char *text, size_t bytes) {
    const ptx_function *function = op && op->source && family ? emu_op_function(family->code, op) : NULL;
    if (function)
        ptx_location_text(function, op->source, text, bytes);
    else
        (void)snprintf(text, bytes, "an unknown place");
}

static void mnemonic_text(const emu_op *op, char *text, size_t bytes) {
    text[0] = 0;
    for (int i = 0; op && op->source && i < op->source->n_words && i < 4; i++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, bytes - used, "%s%s", i ? "." : "", op->source->word[i]);
    }
    if (!text[0]) (void)snprintf(text, bytes, "an instruction");
}

static void address_text(const emu_shadow *shadow, emu_warp *warp, uint64_t at, char *text, size_t bytes) {
    if (shadow->tensor) {
        (void)snprintf(text, bytes, "tensor memory lane %" PRIu64 ", column %" PRIu64, at / 4 % 128, at / 512);
        return;
    }
    if (!shadow->shared) {
        (void)snprintf(text, bytes, "global %p (byte %" PRIu64 " of its allocation)",
                       (const void *)(shadow->memory + at), at);
        return;
    }
    const emu_cluster *cluster = warp->block->cluster;
    (void)snprintf(text, bytes, "shared+%" PRIu64, at);
    for (uint32_t i = 0; i < cluster->n_blocks; i++)
        if (cluster->block[i].shared_shadow == shadow && &cluster->block[i] != warp->block)
            (void)snprintf(text, bytes, "shared+%" PRIu64 " of block rank %u", at, i);
}

/* ---- actors -------------------------------------------------------------------------------------------------- */
static void block_text(const emu_accessor *who, const emu_node *past, const emu_family *family, char *text,
                       size_t bytes) {
    if (past->family == who->family && past->rank == who->rank) {
        (void)snprintf(text, bytes, "the same block");
        return;
    }
    emu_dim block = family && past->rank < family->n_blocks ? family->block[past->rank] : (emu_dim){0};
    int used = snprintf(text, bytes, "block (%u,%u,%u)", block.x, block.y, block.z);
    if (family && who->warp && family->launch != who->warp->block->cluster->grid->number && used > 0 &&
        (size_t)used < bytes)
        (void)snprintf(text + used, bytes - (size_t)used, " of launch %" PRIu64 " (%s)", family->launch,
                       family->kernel ? family->kernel : "?");
}

static void actor_text(const emu_accessor *who, const emu_node *past, uint32_t lane, char *text, size_t bytes) {
    const emu_family *family = emu_family_of(past->family);
    const emu_slot *slot = family && past->slot < family->n_slots ? &family->slot[past->slot] : NULL;
    char block[200], mnemonic[80], of_lane[24] = "";
    block_text(who, past, family, block, sizeof block);
    mnemonic_text(past->op, mnemonic, sizeof mnemonic);
    if (lane < EMU_LANES) (void)snprintf(of_lane, sizeof of_lane, " lane %u", lane);
    if (slot && slot->kind == EMU_SLOT_WARP)
        (void)snprintf(text, bytes, "warp %u%s of %s", slot->warp, of_lane, block);
    else if (slot && slot->kind == EMU_SLOT_STREAM && slot->stream == EMU_STREAM_WGMMA)
        (void)snprintf(text, bytes, "%s of warps %u to %u of %s", mnemonic, slot->warp, slot->warp + 3u, block);
    else if (slot && slot->kind == EMU_SLOT_STREAM)
        (void)snprintf(text, bytes, "%s of warp %u of %s", mnemonic, slot->warp, block);
    else
        (void)snprintf(text, bytes, "%s of %s", mnemonic, block);
}

static const char *deed(bool write, bool strong, bool past) {
    if (strong) return write ? (past ? "atomically wrote" : "atomically writes") : (past ? "read" : "reads");
    return write ? (past ? "wrote" : "writes") : (past ? "read" : "reads");
}

static const char *reason(emu_verdict verdict, bool same_warp) {
    if (verdict == EMU_UNPROXIED)
        return "ordered, but without fence.proxy.async between that and the async proxy's access";
    if (verdict == EMU_UNFENCED)
        return "ordered, but without tcgen05.fence::before_thread_sync there and ::after_thread_sync here";
    if (verdict == EMU_NARROW) return "both are atomic, but the scope of one does not reach the other";
    return same_warp ? "no bar.warp.sync between them" : "nothing orders them";
}

/* Whether a lane of a store writes what is there already: then the race leaves no trace in memory. */
static bool writes_the_same(const emu_accessor *who, uint32_t lane) {
    const emu_stored *stored = who->access->stored;
    if (!stored || !who->at || lane >= EMU_LANES) return false;
    const uint8_t *there = who->shadow->memory + who->at[lane];
    for (uint32_t k = 0; k < stored->elements; k++)
        if (!stored->element[k] ||
            memcmp(there + k * stored->bytes, stored->element[k] + lane * stored->stride, stored->bytes) != 0)
            return false;
    return true;
}

static uint32_t line_of(const emu_op *op) { return op && op->source ? op->source->line : 0; }

void emu_report_conflict(const emu_accessor *who, emu_verdict verdict, uint32_t id, uint32_t past_lane, uint32_t lane,
                         uint64_t at) {
    const emu_node *past = &emu_nodes[id];
    bool engine = !who->order || past->engine,
         same_warp = past->family == who->family && past->slot == who->issuer && who->order;
    emu_finding_kind kind = verdict == EMU_UNPROXIED  ? EMU_PROXY
                            : verdict == EMU_UNFENCED ? EMU_TENSOR_FENCE
                            : engine                  ? EMU_OVERWRITTEN
                                                      : EMU_RACE;
    uint64_t key = (uint64_t)line_of(past->op) << 8 | (uint64_t)past->write << 4 | (uint64_t)verdict;
    int by = lane < EMU_LANES ? (int)lane : -1;
    if (tell_again(who->op, past->op, key ^ (uint64_t)kind << 56)) {
        emu_find(who->warp, who->op, by, kind, key, "as before");
        return;
    }
    char address[120], actor[400], source[TEXT];
    address_text(who->shadow, who->warp, at, address, sizeof address);
    actor_text(who, past, past_lane, actor, sizeof actor);
    source_text(emu_family_of(past->family), past->op, source, sizeof source);
    const bool same = kind == EMU_RACE && past->write && writes_the_same(who, lane);
    emu_find(who->warp, who->op, by, kind, key, "%s%s %s (%u bytes), which %s %s at %s: %s",
             deed(who->access->kind & EMU_WRITE, who->strength, false), same ? " the same value to" : "", address,
             who->access->bytes, actor, deed(past->write, past->strength, true), source, reason(verdict, same_warp));
}

void emu_report_uninitialized(emu_shadow *shadow, emu_warp *warp, const emu_op *op, int lane, uint64_t at,
                              uint64_t bytes) {
    char address[120];
    address_text(shadow, warp, at, address, sizeof address);
    emu_find(warp, op, lane, EMU_UNINITIALIZED, 0, "reads %s (%" PRIu64 " bytes), which nobody wrote", address, bytes);
}

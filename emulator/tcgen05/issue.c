/* What a warp has issued, what it knows of it, and the fences: the order of tcgen05 (PTX ISA, "Memory consistency model for
 * tcgen05"). */
#include <stdlib.h>
#include <string.h>

#include "tcgen05/tensor.h"

struct emu_tensor_use *emu_tensor_use_of(emu_warp *warp) {
    if (warp->tensor == NULL) {
        warp->tensor = emu_alloc(sizeof *warp->tensor);
        emu_tensor_unfenced(warp, &warp->tensor->fenced);
        warp->tensor->loaded = emu_alloc((warp->code->register_bytes / 64 + 1) * sizeof *warp->tensor->loaded);
    }
    return warp->tensor;
}

void emu_warp_tensor_end(emu_warp *warp) {
    struct emu_tensor_use *use = warp->tensor;
    if (use == NULL) return;
    if (!warp->block->cluster->grid->failed && use->products > use->committed)
        emu_find(warp, NULL, -1, EMU_PROTOCOL, 0,
                 "the warp exits, and no tcgen05.commit follows its last %llu tcgen05 operations",
                 (unsigned long long)(use->products - use->committed));
    emu_clock_free(use->issued);
    emu_clock_free(use->fenced);
    free(use->loaded);
    free(use);
    warp->tensor = NULL;
}

void emu_tensor_actor(emu_warp *warp, const emu_op *op, int lane, emu_stream_kind stream, uint64_t group,
                      emu_actor *out) {
    struct emu_tensor_use *use = emu_tensor_use_of(warp);
    emu_actor_of_group(warp, op, lane, stream, group, EMU_PROXY_ASYNC, out);
    out->fenced = emu_clock_copy(use->fenced);
    if (stream != EMU_STREAM_TENSOR || group == 0) return;
    emu_clock_group(&out->known, warp, stream, group - 1); /* in the pipeline behind what this warp issued before */
    emu_tensor_group(&out->fenced, warp, stream, group - 1);
}

void emu_tensor_issue(emu_warp *warp, const emu_op *op, int lane, emu_operation *operation) {
    struct emu_tensor_use *use = emu_tensor_use_of(warp);
    operation->block = warp->block;
    operation->queue = emu_tensor_queue(warp);
    emu_tensor_actor(warp, op, lane, EMU_STREAM_TENSOR, use->products++, &operation->actor);
    emu_clock_free(use->issued);
    use->issued = emu_clock_copy(operation->actor.known);
    emu_engine_add(operation);
}

uint32_t emu_tensor_uniform(emu_warp *warp, const emu_op *op, emu_mask mask, const uint32_t *lanes, const char *what) {
    const int first = __builtin_ctz(mask);
    emu_mask differ = 0;
    for (int lane = 0; lane < EMU_LANES; lane++) differ |= (emu_mask)(lanes[lane] != lanes[first]) << lane;
    differ &= mask;
    if (differ)
        emu_find(warp, op, __builtin_ctz(differ), EMU_TENSOR, 2, "%s differs between lanes %d and %d", what, first,
                 __builtin_ctz(differ));
    return lanes[first];
}

/* ---- fences ---------------------------------------------------------------------------------------------- */
static emu_result run_before(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    emu_tensor_before(warp);
    return EMU_NEXT;
}

static emu_result run_after(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    struct emu_tensor_use *use = emu_tensor_use_of(warp);
    emu_tensor_after(warp, &use->fenced);
    if (use->loads) emu_tensor_group(&use->fenced, warp, EMU_STREAM_TENSOR_LOAD, use->loads - 1);
    if (use->stores) emu_tensor_group(&use->fenced, warp, EMU_STREAM_TENSOR_STORE, use->stores - 1);
    return EMU_NEXT;
}

bool emu_decode_tensor_fence_before(emu_decoding *d) {
    d->op->run = run_before;
    return emu_mma_end(d);
}

bool emu_decode_tensor_fence_after(emu_decoding *d) {
    d->op->run = run_after;
    return emu_mma_end(d);
}

/* ---- waits ----------------------------------------------------------------------------------------------- */
/* What was loaded or stored is done: the warp knows it, and needs no fence for that. */
static void complete(emu_warp *warp, emu_stream_kind stream, uint64_t group) {
    struct emu_tensor_use *use = emu_tensor_use_of(warp);
    emu_acquire_group(warp, stream, group);
    emu_tensor_group(&use->fenced, warp, stream, group);
}

static emu_result run_wait_load(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    struct emu_tensor_use *use = emu_tensor_use_of(warp);
    complete(warp, EMU_STREAM_TENSOR_LOAD, use->loads++);
    use->pending = false;
    return EMU_NEXT;
}

static emu_result run_wait_store(emu_warp *warp, const emu_op *op, emu_mask mask) {
    (void)op, (void)mask;
    complete(warp, EMU_STREAM_TENSOR_STORE, emu_tensor_use_of(warp)->stores++);
    return EMU_NEXT;
}

static bool decode_wait(emu_decoding *d, emu_run *run) {
    d->op->run = run;
    d->op->aligned = true;
    return emu_mma_expect(d, "sync") && emu_mma_expect(d, "aligned") && emu_mma_end(d);
}

bool emu_decode_tensor_wait_load(emu_decoding *d) { return decode_wait(d, run_wait_load); }
bool emu_decode_tensor_wait_store(emu_decoding *d) { return decode_wait(d, run_wait_store); }

void emu_tensor_completed(emu_warp *warp, emu_clock **into) {
    const struct emu_tensor_use *use = warp->tensor;
    if (use && use->loads) emu_clock_group(into, warp, EMU_STREAM_TENSOR_LOAD, use->loads - 1);
    if (use && use->stores) emu_clock_group(into, warp, EMU_STREAM_TENSOR_STORE, use->stores - 1);
}

/* ---- registers that a load writes ------------------------------------------------------------------------ */
bool emu_tensor_pending(const emu_warp *warp) { return warp->tensor->pending; }

static bool is_register(const emu_touch *touch) {
    return !(touch->operand.at & EMU_CONSTANT) && touch->operand.bytes != 0;
}

/* Compilers copy registers in flight: the copy is in flight, too. Whatever else writes a register ends that. */
void emu_tensor_check(emu_warp *warp, const emu_op *op, emu_mask mask) {
    struct emu_tensor_use *use = warp->tensor;
    if (!use->pending || op->source == NULL) return;
    const bool copies = strcmp(op->source->word[0], "mov") == 0;
    int n;
    const emu_touch *touch = emu_op_touches(warp->code, op, &n);
    uint64_t copied = 0;
    for (int i = 0; i < n; i++) {
        if (touch[i].written || !is_register(&touch[i])) continue;
        const uint64_t loaded = use->loaded[touch[i].operand.at / 64];
        if (loaded != use->loads + 1) continue;
        if (copies)
            copied = loaded;
        else
            emu_find(warp, op, mask ? __builtin_ctz(mask) : -1, EMU_PENDING_REGISTER, touch[i].operand.at,
                     "reads a register that a tcgen05.ld writes which the warp has not waited for");
    }
    for (int i = 0; i < n; i++)
        if (touch[i].written && is_register(&touch[i])) use->loaded[touch[i].operand.at / 64] = copied;
}

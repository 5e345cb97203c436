/* Groups of a warp's asynchronous operations (PTX ISA, "async-group"): commit, and what is pending. */
#include "async/internal.h"

#include <stdlib.h>

struct emu_groups *emu_groups_of(emu_warp *warp) {
    if (!warp->groups) {
        warp->groups = emu_alloc(sizeof *warp->groups);
        warp->groups->cp_async.serial = warp->groups->bulk.serial = 1;
    }
    return warp->groups;
}

void emu_stream_add(emu_stream *stream, emu_pending *pending) {
    pending->next = stream->pending;
    pending->link = &stream->pending;
    if (pending->next) pending->next->link = &pending->next;
    stream->pending = pending;
}

void emu_pending_remove(emu_pending *pending) {
    if (!pending->link) return;
    *pending->link = pending->next;
    if (pending->next) pending->next->link = pending->link;
    pending->link = NULL;
}

void emu_stream_commit(emu_stream *stream, emu_mask lanes) {
    for (int lane = 0; lane < EMU_LANES; lane++) stream->group[lane] += lanes >> lane & 1;
    stream->commit[stream->n_commits++ % EMU_COMMITS] = (struct emu_commit){.lanes = lanes, .serial = stream->serial++};
}

uint64_t emu_stream_serial(const emu_stream *stream, int lane, uint32_t left) {
    if (left >= stream->group[lane]) return 0;
    uint32_t kept = stream->n_commits < EMU_COMMITS ? stream->n_commits : EMU_COMMITS;
    for (uint32_t back = 1; back <= kept; back++) {
        const struct emu_commit *commit = &stream->commit[(stream->n_commits - back) % EMU_COMMITS];
        if (commit->lanes >> lane & 1 && left-- == 0) return commit->serial;
    }
    return 0; /* more groups are left open than commits are remembered: nothing new is known */
}

emu_pending *emu_stream_pending(const emu_stream *stream, emu_mask mask, uint32_t left, bool read) {
    for (emu_pending *pending = stream->pending; pending; pending = pending->next) {
        if (read && pending->read) continue;
        for (emu_mask rest = pending->lanes & mask; rest; rest &= rest - 1)
            if (pending->group + left < stream->group[__builtin_ctz(rest)]) return pending;
    }
    return NULL;
}

/* Nobody else can wait for a thread's stores: whether the engine has read shared memory when the block exits is luck.
 */
static void report_unwaited(emu_warp *warp, emu_stream *bulk) {
    const struct emu_unwaited stored = bulk->stored;
    bulk->stored.serial = 0;
    if (stored.serial <= bulk->waited || warp->block->cluster->grid->failed) return;
    emu_find(warp, stored.op, stored.lane, EMU_EXITED, 1,
             "the warp exits without cp.async.bulk.wait_group for what this copies out of shared memory");
}

/* Operations that are still in flight point into it: then it stays until the block's memory goes. */
void emu_warp_async_end(emu_warp *warp) {
    struct emu_groups *groups = warp->groups;
    if (groups) report_unwaited(warp, &groups->bulk);
    if (!groups || groups->cp_async.pending || groups->bulk.pending) return;
    free(groups);
    warp->groups = NULL;
}

/* Bulk and tensor copies: parts that land at random times and in random order. A load moves a part and tells the
 * mbarrier; a store first reads all of its shared memory, part by part, and then writes. */
#include "async/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 4, MOST_ROW = 256 * 8 };

typedef struct copy {
    emu_operation base; /* its actor writes, and reads unless the copy is a store */
    emu_actor reader;   /* of a store */
    emu_pending pending;
    emu_copy_order order;
    emu_tensor_map map;
    uint64_t phase; /* of the mbarrier, at issue */
    uint32_t part_bytes, n_parts;
    uint32_t unread, unwritten; /* bit a part; unread: of stores */
    uint8_t staged[];           /* all bytes of a store, a part's of others */
} copy;

/* ---- global memory: rows of a box, or contiguous bytes ----------------------------------------------------------- */
static uint8_t *global_range(const copy *c, emu_access_kind kind, uint64_t address, uint32_t bytes) {
    const emu_access access = {.kind = kind,
                               .semantics = kind == EMU_UPDATE ? EMU_RELAXED : EMU_WEAK,
                               .scope = EMU_SCOPE_GPU,
                               .space = PTX_GLOBAL,
                               .bytes = 1,
                               .align = 1};
    return emu_memory_range(&c->base.actor, c->base.block, &access, address, bytes);
}

/* Rows [row, row + n) that follow each other in global memory without a gap, all within the tensor: at most until
 * `end`. */
static uint32_t whole_rows(const copy *c, uint32_t row, uint32_t end, uint32_t row_bytes, uint64_t address) {
    uint32_t n = 1;
    if (c->map.rank > 1 && c->map.stride[0] != row_bytes) return n;
    for (; row + n < end; n++) {
        uint32_t from, to;
        uint64_t next;
        emu_tensor_row(&c->map, &c->order.place, row + n, &from, &to, &next);
        if (from != 0 || to != row_bytes || next != address + (uint64_t)n * row_bytes) break;
    }
    return n;
}

static bool global_read(const copy *c, uint32_t first, uint32_t end, uint8_t *out) {
    if (!c->order.map) {
        const uint8_t *memory = global_range(c, EMU_READ, c->order.global + first, end - first);
        if (memory) memcpy(out, memory, end - first);
        return memory != NULL;
    }
    const uint32_t row_bytes = emu_tensor_row_bytes(&c->map), last_row = end / row_bytes;
    for (uint32_t row = first / row_bytes, n; row < last_row; row += n, out += n * row_bytes) {
        uint32_t from, to;
        uint64_t address;
        emu_tensor_row(&c->map, &c->order.place, row, &from, &to, &address);
        n = from == 0 && to == row_bytes ? whole_rows(c, row, last_row, row_bytes, address) : 1;
        uint32_t bytes = (n - 1) * row_bytes + to - from;
        if (bytes != n * row_bytes) emu_tensor_fill(&c->map, out, row_bytes);
        if (bytes == 0) continue;
        const uint8_t *memory = global_range(c, EMU_READ, address, bytes);
        if (!memory) return false;
        memcpy(out + from, memory, bytes);
        emu_tensor_convert(&c->map, out + from, bytes);
    }
    return true;
}

/* Bulk additions of f32 flush subnormals, as red does; those of tensors where the map's type says so (seen on an H200).
 */
static bool flushes(const copy *c) {
    return !c->order.map || c->map.type == EMU_TENSOR_F32_FTZ || c->map.type == EMU_TENSOR_TF32_FTZ;
}

static bool global_put(const copy *c, uint64_t address, const uint8_t *in, uint32_t bytes) {
    bool reduces = c->order.reduce != EMU_REDUCE_NONE;
    uint8_t *memory = global_range(c, reduces ? EMU_UPDATE : EMU_WRITE, address, bytes);
    if (!memory) return false;
    if (reduces) {
        emu_reduce(c->order.reduce, c->order.type, flushes(c), memory, in, bytes);
    } else {
        memcpy(memory, in, bytes);
    }
    return true;
}

/* Those bytes of each 16 that the mask has. */
static bool masked_put(const copy *c, uint32_t first, uint32_t end, const uint8_t *in) {
    for (uint32_t at = first; at < end; at++)
        if (!(c->order.without >> at % 16 & 1) && !global_put(c, c->order.global + at, in + (at - first), 1))
            return false;
    return true;
}

static bool global_write(const copy *c, uint32_t first, uint32_t end, const uint8_t *in) {
    if (!c->order.map && c->order.without) return masked_put(c, first, end, in);
    if (!c->order.map) return global_put(c, c->order.global + first, in, end - first);
    const uint32_t row_bytes = emu_tensor_row_bytes(&c->map), last_row = end / row_bytes;
    for (uint32_t row = first / row_bytes, n; row < last_row; row += n, in += n * row_bytes) {
        uint32_t from, to;
        uint64_t address;
        emu_tensor_row(&c->map, &c->order.place, row, &from, &to, &address);
        to = emu_tensor_stored(to);
        n = from == 0 && to == row_bytes ? whole_rows(c, row, last_row, row_bytes, address) : 1;
        uint32_t bytes = (n - 1) * row_bytes + to - from;
        if (bytes && !global_put(c, address, in + from, bytes)) return false;
    }
    return true;
}

/* ---- shared memory: contiguous bytes, or swizzled chunks of 16 by their address ---------------------------------- */
static uint8_t *shared_range(const copy *c, const emu_actor *who, emu_access_kind kind, uint32_t address,
                             uint32_t bytes) {
    const emu_access access = {.kind = kind,
                               .semantics = kind == EMU_UPDATE ? EMU_RELAXED : EMU_WEAK,
                               .scope = EMU_SCOPE_CLUSTER,
                               .space = PTX_SHARED,
                               .cluster = true,
                               .bytes = 16,
                               .align = 16};
    return emu_memory_range(who, c->base.block, &access, address, bytes);
}

/* flips: the halves of 16 bytes change places. */
static void move_chunk(uint8_t *shared, uint8_t *linear, uint32_t bytes, bool flips, bool store) {
    const uint32_t half = flips ? 8 : 0;
    memcpy(store ? linear : shared + half, store ? shared + half : linear, bytes - half);
    if (flips) memcpy(store ? linear + half : shared, store ? shared : linear + half, half);
}

/* Bytes [first, first + bytes) of the copy, which are whole rows, from or to shared memory. Chunks move within their
 * span. */
static bool shared_spans(const copy *c, const emu_actor *who, bool store, uint32_t first, uint32_t bytes,
                         uint8_t *linear) {
    const uint32_t base = c->order.shared + first;
    uint8_t *memory = shared_range(c, who, store ? EMU_READ : EMU_WRITE, base, bytes);
    for (uint32_t at = 0; memory && at < bytes; at += 16)
        move_chunk(memory + (int32_t)(emu_swizzle(c->map.swizzle, base + at) - base), linear + at, 16,
                   emu_swizzle_flips(c->map.swizzle, base + at), store);
    return memory != NULL;
}

/* The same of rows that are shorter than the span, the rest of which is not touched, and of pieces behind which there is a gap,
 * which counts as written: products read it, and make nothing of it. */
static bool shared_rows(const copy *c, const emu_actor *who, bool store, uint32_t first, uint32_t bytes,
                        uint8_t *linear) {
    const uint32_t row_bytes = emu_tensor_row_bytes(&c->map), pitch = emu_tensor_pitch(&c->map);
    const uint32_t base = c->order.shared + first / row_bytes * pitch, piece = emu_tensor_piece(&c->map);
    for (uint32_t at = 0; at < bytes; at += piece) {
        const uint32_t chunk = base + at / row_bytes * pitch + at % row_bytes / piece * 16;
        const uint32_t address = emu_swizzle(c->map.swizzle, chunk);
        uint8_t *memory = shared_range(c, who, store ? EMU_READ : EMU_WRITE, address, 16);
        if (!memory) return false;
        move_chunk(memory, linear + at, piece, emu_swizzle_flips(c->map.swizzle, chunk), store);
    }
    return true;
}

static bool shared_move(const copy *c, const emu_actor *who, bool store, uint32_t first, uint32_t bytes,
                        uint8_t *linear) {
    if (c->order.map && (c->map.swizzle != EMU_SWIZZLE_NONE || emu_tensor_piece(&c->map) < 16))
        return (emu_tensor_row_bytes(&c->map) == emu_tensor_pitch(&c->map) ? shared_spans : shared_rows)(
            c, who, store, first, bytes, linear);
    uint8_t *memory = shared_range(c, who, store ? EMU_READ : EMU_WRITE, c->order.shared + first, bytes);
    if (memory) memcpy(store ? linear : memory, store ? memory : linear, bytes);
    return memory != NULL;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */
static uint32_t choose_part(uint32_t parts, emu_random *random) {
    for (uint32_t skip = emu_random_below(random, (uint32_t)__builtin_popcount(parts)); skip > 0; skip--)
        parts &= parts - 1;
    return (uint32_t)__builtin_ctz(parts);
}

static uint32_t part_end(const copy *c, uint32_t part) {
    uint32_t end = (part + 1) * c->part_bytes;
    return end < c->order.bytes ? end : c->order.bytes;
}

static bool load_part(copy *c, uint32_t part) {
    const uint32_t first = part * c->part_bytes, bytes = part_end(c, part) - first;
    if (c->order.kind == EMU_COPY_PEER) {
        const uint8_t *source = shared_range(c, &c->base.actor, EMU_READ, c->order.from + first, bytes);
        if (!source) return false;
        memcpy(c->staged, source, bytes);
    } else if (!global_read(c, first, first + bytes, c->staged)) {
        return false;
    }
    if (c->order.reduce != EMU_REDUCE_NONE) {
        uint8_t *memory = shared_range(c, &c->base.actor, EMU_UPDATE, c->order.shared + first, bytes);
        if (!memory) return false;
        emu_reduce(c->order.reduce, c->order.type, false, memory, c->staged, bytes);
    } else if (!shared_move(c, &c->base.actor, false, first, bytes, c->staged)) {
        return false;
    }
    emu_mbarrier_complete(&c->base.actor, c->base.block->cluster, c->order.mbarrier, c->phase, bytes);
    return true;
}

static bool load_step(emu_operation *operation, emu_random *random) {
    copy *c = (copy *)operation;
    if (c->unwritten == 0) return true; /* of no bytes */
    uint32_t part = choose_part(c->unwritten, random);
    if (!load_part(c, part)) {
        emu_engine_fail(operation);
        return true;
    }
    c->unwritten &= ~(1u << part);
    return c->unwritten == 0;
}

static bool store_read(copy *c, uint32_t part) {
    const uint32_t first = part * c->part_bytes, bytes = part_end(c, part) - first;
    if (!shared_move(c, &c->reader, true, first, bytes, c->staged + first)) return false;
    c->unread &= ~(1u << part);
    return true;
}

static bool store_step(emu_operation *operation, emu_random *random) {
    copy *c = (copy *)operation;
    bool fine = true;
    if (c->unread) {
        fine = store_read(c, choose_part(c->unread, random));
        if (c->unread == 0) {
            c->pending.read = true;
            operation->ranks = 0;
        }
    } else if (c->unwritten) {
        uint32_t part = choose_part(c->unwritten, random);
        fine = global_write(c, part * c->part_bytes, part_end(c, part), c->staged + part * c->part_bytes);
        c->unwritten &= ~(1u << part);
    }
    if (!fine) emu_engine_fail(operation);
    return !fine || (c->unread | c->unwritten) == 0;
}

static void copy_destroy(emu_operation *operation) {
    copy *c = (copy *)operation;
    emu_pending_remove(&c->pending);
    if (c->order.kind == EMU_COPY_STORE) emu_actor_end(&c->reader);
    emu_actor_end(&operation->actor);
    free(c);
}

static void copy_describe(const emu_operation *operation, char *text, size_t bytes) {
    static const char *const kinds[] = {"global to shared memory", "shared memory to shared memory",
                                        "shared to global memory"};
    const copy *c = (const copy *)operation;
    snprintf(text, bytes, "a %s%s of %u bytes from %s (shared+%d of block rank %u)", c->order.map ? "tensor " : "bulk ",
             c->order.reduce == EMU_REDUCE_NONE ? "copy" : "reduction", c->order.bytes, kinds[c->order.kind],
             (int)(c->order.shared & ((1u << EMU_SHARED_RANK_SHIFT) - 1)) - EMU_SHARED_FIRST,
             c->order.shared >> EMU_SHARED_RANK_SHIFT);
}

/* ---- issue ------------------------------------------------------------------------------------------------------- */
static bool aligned(emu_warp *warp, const emu_op *op, int lane, const char *what, uint64_t value, uint32_t unit) {
    if (value % unit == 0) return true;
    emu_find(warp, op, lane, EMU_MISALIGNED, value, "%s 0x%" PRIx64 " is not a multiple of %u bytes", what, value,
             unit);
    return false;
}

static bool check_alignment(emu_warp *warp, const emu_op *op, int lane, const emu_copy_order *order) {
    if (order->map) return aligned(warp, op, lane, "the shared address of a tensor copy", order->shared, 128);
    return aligned(warp, op, lane, "the size of a bulk copy", order->bytes, 16) &&
           aligned(warp, op, lane, "the shared address of a bulk copy", order->shared, 16) &&
           aligned(warp, op, lane, "the source of a bulk copy", order->kind == EMU_COPY_PEER ? order->from : 0, 16) &&
           aligned(warp, op, lane, "the global address of a bulk copy",
                   order->kind == EMU_COPY_PEER ? 0 : order->global, 16);
}

/* The mbarrier, after a look whether its initialization is known here. NULL: reported. */
static emu_mbarrier *find_mbarrier(emu_warp *warp, const emu_op *op, int lane, const emu_copy_order *order) {
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    const emu_access access = {.kind = EMU_UPDATE,
                               .semantics = EMU_RELAXED,
                               .scope = EMU_SCOPE_CLUSTER,
                               .space = PTX_SHARED,
                               .cluster = true,
                               .engine = true,
                               .bytes = 8};
    address[lane] = order->mbarrier;
    if (!emu_memory_lanes(warp, op, 1u << lane, &access, address, pointer)) return NULL;
    emu_mbarrier *barrier = emu_mbarrier_at(warp->block->cluster, order->mbarrier, NULL);
    if (!emu_mbarrier_usable(barrier, warp, op, lane, order->mbarrier, "copy that completes on")) return NULL;
    const uint32_t between = (order->mbarrier ^ order->shared) >> EMU_SHARED_RANK_SHIFT;
    if (between == 0 || (between == 1 && order->pair)) return barrier;
    emu_find(warp, op, lane, EMU_BARRIER, order->mbarrier,
             "a copy into block rank %u completes on an mbarrier of block rank %u",
             order->shared >> EMU_SHARED_RANK_SHIFT, order->mbarrier >> EMU_SHARED_RANK_SHIFT);
    return NULL;
}

/* Parts hold whole rows and, where rows fill the swizzle's span, whole spans. */
static uint32_t part_unit(const emu_copy_order *order) { return order->map ? emu_tensor_row_bytes(order->map) : 16; }

static void split(copy *c, emu_random *random) {
    uint32_t unit = part_unit(&c->order), units = (c->order.bytes + unit - 1) / unit;
    uint32_t parts = 1 + emu_random_below(random, MOST_PARTS);
    c->part_bytes = (units + parts - 1) / parts * unit;
    c->n_parts = c->order.bytes ? (c->order.bytes + c->part_bytes - 1) / c->part_bytes : 0;
    c->unwritten = (1u << c->n_parts) - 1;
    if (c->order.kind == EMU_COPY_STORE) c->unread = c->unwritten;
}

bool emu_copy_issue(emu_warp *warp, const emu_op *op, int lane, const emu_copy_order *order) {
    emu_block *block = warp->block;
    emu_mbarrier *barrier = NULL;
    if (!check_alignment(warp, op, lane, order)) return false;
    if (order->kind != EMU_COPY_STORE && !(barrier = find_mbarrier(warp, op, lane, order))) return false;
    copy *c = emu_alloc(sizeof *c + order->bytes);
    c->order = *order;
    if (order->map) c->map = *order->map;
    c->base = (emu_operation){.block = block,
                              .ranks = 1u << (order->shared >> EMU_SHARED_RANK_SHIFT),
                              .destroy = copy_destroy,
                              .describe = copy_describe,
                              .step = order->kind == EMU_COPY_STORE ? store_step : load_step};
    split(c, emu_dice(warp));
    if (order->kind == EMU_COPY_STORE) {
        emu_stream *stream = &emu_groups_of(warp)->bulk;
        emu_actor_of_group(warp, op, lane, EMU_STREAM_BULK, stream->serial, EMU_PROXY_ASYNC, &c->base.actor);
        emu_actor_of_group(warp, op, lane, EMU_STREAM_BULK_READ, stream->serial, EMU_PROXY_ASYNC, &c->reader);
        c->pending = (emu_pending){.operation = &c->base, .lanes = 1u << lane, .group = stream->group[lane]};
        emu_stream_add(stream, &c->pending);
        stream->stored = (struct emu_unwaited){.serial = stream->serial, .op = op, .lane = lane};
    } else {
        if (order->kind == EMU_COPY_PEER) c->base.ranks |= 1u << block->rank;
        c->phase = barrier->phase.number;
        emu_actor_of_mbarrier(warp, op, lane, barrier->block, &barrier->slot, c->phase, EMU_PROXY_ASYNC,
                              &c->base.actor);
    }
    emu_engine_add(&c->base);
    return true;
}

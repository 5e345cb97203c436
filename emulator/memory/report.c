/* What is said of an access that cannot go on: what it did, where, and which memory it missed by how much. */
#include "memory/parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct line {
    char text[400];
    size_t used;
} line;

static void __attribute__((format(printf, 2, 3))) say(line *to, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(to->text + to->used, sizeof(to->text) - to->used, format, arguments);
    va_end(arguments);
    if (n > 0) to->used += (size_t)n;
    if (to->used >= sizeof(to->text)) to->used = sizeof(to->text) - 1;
}

typedef unsigned long long ull;

static const char *const kind_text[] = {[EMU_DEVICE] = "cudaMalloc",
                                        [EMU_PINNED] = "pinned host memory",
                                        [EMU_MANAGED] = "managed memory",
                                        [EMU_VARIABLE] = "variable"};

static void say_allocation(line *to, const emu_allocation *a) {
    if (a->name != NULL)
        say(to, "variable %s of %llu bytes", a->name, (ull)a->bytes);
    else
        say(to, "the allocation of %llu bytes (%s)", (ull)a->bytes, kind_text[a->kind]);
}

/* "reads 16 bytes", and where in respect of a region of so many bytes: inside only when the access is misaligned. */
static void say_place(line *to, uint64_t at, uint64_t bytes, uint64_t region_bytes) {
    int64_t signed_at = (int64_t)at;
    if (signed_at < 0)
        say(to, "at %llu bytes before", (ull)-at);
    else if (at >= region_bytes)
        say(to, "at %llu bytes past the end of", (ull)(at - region_bytes));
    else if (bytes > region_bytes - at)
        say(to, "of which the last %llu lie past the end of", (ull)(bytes - (region_bytes - at)));
    else
        say(to, "at offset %llu of", (ull)at);
}

static uint64_t distance(const emu_allocation *a, uint64_t address) {
    uint64_t first = (uint64_t)(uintptr_t)a->memory;
    if (address < first) return first - address;
    return address - first < a->bytes ? 0 : address - first - a->bytes;
}

static void say_global(line *to, uint64_t address, uint64_t bytes) {
    emu_allocation *before, *after;
    emu_memory_neighbours(address, &before, &after);
    emu_allocation *nearest = before;
    if (before == NULL || (after != NULL && distance(after, address) < distance(before, address))) nearest = after;
    if (address < 65536) {
        say(to, "at address 0x%llx, a null pointer%s", (ull)address, address > 0 ? " and an offset" : "");
    } else if (nearest == NULL) {
        say(to, "at address 0x%llx: no memory is allocated", (ull)address);
    } else {
        bool near = distance(nearest, address) <= UINT64_C(1) << 40;
        if (near) {
            say_place(to, address - (uint64_t)(uintptr_t)nearest->memory, bytes, nearest->bytes);
            say(to, " ");
            say_allocation(to, nearest);
            if (nearest->freed) say(to, ", which was freed");
        } else {
            say(to, "at address 0x%llx, which lies in no allocation", (ull)address);
        }
    }
}

static void say_shared_owner(line *to, const emu_viewer *viewer, const emu_block *owner) {
    say(to, "shared memory of %u bytes of ", owner->shared_bytes);
    if (owner == viewer->block)
        say(to, "the own block");
    else
        say(to, "block rank %u of the cluster", owner->rank);
}

static emu_finding_kind say_shared(line *to, const emu_viewer *viewer, const emu_access *access, uint64_t address,
                                   uint64_t bytes) {
    const emu_cluster *cluster = viewer->block->cluster;
    uint64_t plain = access->space == PTX_GENERIC ? address & ~EMU_WINDOW_MASK : address;
    uint64_t rank = plain >> EMU_SHARED_RANK_SHIFT;
    if (rank >= cluster->n_blocks) {
        say(to, "at shared address 0x%llx, of block rank %llu in a cluster of %u", (ull)plain, (ull)rank,
            cluster->n_blocks);
        return EMU_OUT_OF_BOUNDS;
    }
    const emu_block *owner = &cluster->block[rank];
    if (access->space == PTX_SHARED && !access->cluster && owner != viewer->block) {
        say(to,
            "by .shared::cta at an address in shared memory of block rank %llu of the cluster: .shared::cluster is "
            "needed",
            (ull)rank);
        return EMU_OUT_OF_BOUNDS;
    }
    if (owner->exited || owner->shared == NULL) {
        say(to, "in ");
        say_shared_owner(to, viewer, owner);
        say(to, ", which has exited");
        return EMU_EXITED;
    }
    uint64_t at = plain - (rank << EMU_SHARED_RANK_SHIFT) - EMU_SHARED_FIRST;
    say_place(to, at, bytes, owner->shared_bytes);
    say(to, " ");
    say_shared_owner(to, viewer, owner);
    return EMU_OUT_OF_BOUNDS;
}

static void say_other(line *to, const emu_viewer *viewer, ptx_space space, uint64_t address, uint64_t bytes) {
    uint64_t at = address & ~EMU_WINDOW_MASK;
    if (space == PTX_PARAM) {
        say_place(to, at, bytes, viewer->block->cluster->grid->parameter_bytes);
        say(to, " the kernel's parameters (%u bytes)", viewer->block->cluster->grid->parameter_bytes);
    } else if (viewer->warp == NULL) {
        say(to, "at 0x%llx in .local memory, which asynchronous operations cannot access", (ull)at);
    } else {
        say_place(to, at, bytes, viewer->warp->code->local_bytes);
        say(to, " the thread's .local memory of %u bytes", viewer->warp->code->local_bytes);
    }
}

static const char *const space_text[] = {[PTX_GENERIC] = "generic", [PTX_GLOBAL] = ".global", [PTX_SHARED] = ".shared",
                                         [PTX_LOCAL] = ".local",    [PTX_CONST] = ".const",   [PTX_PARAM] = ".param"};

void emu_memory_report(const emu_viewer *viewer, emu_warp *reporter, int lane, const emu_access *access,
                       uint64_t address, uint64_t bytes) {
    static const char *const verbs[] = {[EMU_READ] = "reads", [EMU_WRITE] = "writes", [EMU_UPDATE] = "updates"};
    line to = {.used = 0};
    emu_finding_kind kind = EMU_OUT_OF_BOUNDS;
    uint64_t align = access->align > 0 ? access->align : access->bytes > 0 ? access->bytes : 1;
    ptx_space space = access->space == PTX_GENERIC ? emu_memory_space(address) : access->space;
    say(&to, "%s %llu bytes ", verbs[access->kind], (ull)bytes);
    emu_region region = {.read_only = false};
    bool found = emu_region_find(viewer, access, address, &region) && address - region.base < region.bytes &&
                 region.bytes - (address - region.base) >= bytes;
    if ((space == PTX_GLOBAL || space == PTX_CONST) && emu_memory_space(address) != PTX_GLOBAL) {
        say(&to, "by %s at 0x%llx, which is a generic address of %s memory", space_text[space], (ull)address,
            space_text[emu_memory_space(address)]);
    } else if (space == PTX_SHARED) {
        emu_finding_kind shared = say_shared(&to, viewer, access, address, bytes);
        if (!found) kind = shared;
    } else if (space == PTX_GLOBAL || space == PTX_CONST) {
        say_global(&to, address, bytes);
    } else {
        say_other(&to, viewer, space, address, bytes);
    }
    if (found && region.read_only && (access->kind & EMU_WRITE)) {
        say(&to, ", which is read-only");
    } else if (found && (address & (align - 1)) != 0) {
        kind = EMU_MISALIGNED;
        say(&to, ": address 0x%llx is not a multiple of %llu", (ull)address, (ull)align);
    }
    emu_find(reporter, viewer->op, lane, kind, 0, "%s", to.text);
}

/* The way of every access: from addresses to pointers, by way of bounds, alignment, lifetime, and the shadow. */
#include "memory/parts.h"

/* All lanes lie within the region, aligned: offsets and pointers. False: not so, or not known. Without a comparison a
 * lane: an offset or what it leaves up to the last one would be negative. */
EMU_LANEWISE static bool all_within(const emu_region *region, uint64_t bytes, uint64_t align,
                                    const uint64_t address[EMU_LANES], uint64_t at[EMU_LANES],
                                    uint8_t *pointer[EMU_LANES]) {
    uint64_t base = region->base, last = region->bytes - bytes, stride = region->stride, out = 0, odd = 0;
    uint64_t host = (uint64_t)(uintptr_t)region->host; /* a number: what is added may be far off */
    for (int lane = 0; lane < EMU_LANES; lane++) {
        uint64_t offset = address[lane] - base;
        out |= offset | (last - offset);
        odd |= address[lane];
        at[lane] = offset;
        pointer[lane] = (uint8_t *)(uintptr_t)(host + offset + (uint64_t)lane * stride);
    }
    return (int64_t)(out | last) >= 0 && (odd & (align - 1)) == 0;
}

/* Which lanes' bytes lie within the region, all lanes looked at; their offsets in it, and which are not aligned. */
EMU_LANEWISE static emu_mask within(const emu_region *region, uint64_t bytes, uint64_t align,
                                    const uint64_t address[EMU_LANES], uint64_t at[EMU_LANES], emu_mask *misaligned) {
    uint64_t base = region->base, last = region->bytes - bytes;
    emu_mask in = 0, odd = 0;
    for (int lane = 0; lane < EMU_LANES; lane++) {
        uint64_t offset = address[lane] - base;
        at[lane] = offset;
        in |= (emu_mask)(offset <= last) << lane;
        odd |= (emu_mask)((address[lane] & (align - 1)) != 0) << lane;
    }
    *misaligned = odd;
    return region->bytes >= bytes ? in : 0;
}

static void point_some(const emu_region *region, emu_mask mask, const uint64_t at[EMU_LANES],
                       uint8_t *pointer[EMU_LANES]) {
    for (; mask != 0; mask &= mask - 1) {
        int lane = __builtin_ctz(mask);
        pointer[lane] = region->host + at[lane] + (uint64_t)lane * region->stride;
    }
}

static void count_bytes(const emu_access *access, uint64_t bytes) {
    if (access->kind & EMU_READ) emu_total.bytes_global_read += bytes;
    if (access->kind & EMU_WRITE) emu_total.bytes_global_written += bytes;
}

static void record(const emu_region *region, emu_warp *warp, const emu_op *op, emu_mask lanes, const emu_access *access,
                   const uint64_t at[EMU_LANES]) {
    if (region->global) count_bytes(access, (uint64_t)__builtin_popcount(lanes) * access->bytes);
    if (region->owner != NULL && region->owner != warp->block && !access->engine)
        emu_check_visit(region->owner, warp, op, __builtin_ctz(lanes));
    if (region->shadow != NULL) emu_shadow_lanes(region->shadow, warp, op, lanes, access, at);
}

bool emu_memory_lanes(emu_warp *warp, const emu_op *op, emu_mask mask, const emu_access *access,
                      const uint64_t address[EMU_LANES], uint8_t *pointer[EMU_LANES]) {
    const emu_viewer viewer = {.warp = warp, .block = warp->block, .op = op};
    uint64_t align = access->align > 0 ? access->align : access->bytes, at[EMU_LANES];
    emu_region region = {.read_only = false};
    for (emu_mask left = mask; left != 0;) {
        int first = __builtin_ctz(left);
        bool found = emu_region_find(&viewer, access, address[first], &region);
        bool forbidden = region.read_only && (access->kind & EMU_WRITE);
        if (left == EMU_ALL_LANES && found && !forbidden &&
            all_within(&region, access->bytes, align, address, at, pointer)) {
            record(&region, warp, op, left, access, at);
            return true;
        }
        emu_mask misaligned = 0, here = 0;
        if (found) here = within(&region, access->bytes, align, address, at, &misaligned) & left;
        if (!(here >> first & 1) || (here & misaligned) || forbidden) {
            int lane = here >> first & 1 && !forbidden ? __builtin_ctz(here & misaligned) : first;
            emu_memory_report(&viewer, warp, lane, access, address[lane], access->bytes);
            return false;
        }
        point_some(&region, here, at, pointer);
        record(&region, warp, op, here, access, at);
        left &= ~here;
    }
    return true;
}

uint8_t *emu_memory_range(const emu_actor *who, emu_block *block, const emu_access *access, uint64_t address,
                          uint64_t bytes) {
    const emu_viewer viewer = {.block = block, .op = who->op};
    uint64_t align = access->align > 0 ? access->align : access->bytes > 0 ? access->bytes : 1;
    emu_region region = {.read_only = false};
    bool found = emu_region_find(&viewer, access, address, &region);
    uint64_t at = found ? address - region.base : 0;
    if (!found || at > region.bytes || region.bytes - at < bytes || (address & (align - 1)) != 0 ||
        (region.read_only && (access->kind & EMU_WRITE))) {
        emu_memory_report(&viewer, who->warp, who->lane, access, address, bytes);
        return NULL;
    }
    if (region.global) count_bytes(access, bytes);
    if (region.shadow != NULL && bytes > 0) emu_shadow_range(region.shadow, who, access, at, bytes);
    return region.host + at;
}

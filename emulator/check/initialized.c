/* Reads of bytes that nobody wrote.
 *
 * Global memory: a read by ld or an atomic of one such byte is a finding. Shared memory: an atomic's is. A tile that is
 * not full is most often read with its unused rest, whose results are thrown away (ld, ldmatrix): there, a source line
 * is told of at the launch's end, when none of its reads in the whole launch met a byte that was written. Engines: a
 * range of more than 16 bytes of which none was written; wgmma's operands, in ranges of 16, are not looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check/record.h"
#include "machine/decode.h"

static void mark(emu_shadow *shadow, uint64_t at, uint64_t bytes) {
    for (uint64_t end = at + bytes; at < end;) {
        uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
        uint32_t n = EMU_PAGE - within < end - at ? EMU_PAGE - within : (uint32_t)(end - at);
        emu_page *page = &shadow->page[at >> EMU_PAGE_BITS];
        if (!page->complete) emu_page_mark(shadow, page, within, n);
        at += n;
    }
}

static bool marked(emu_shadow *shadow, uint64_t at, uint64_t bytes, bool any) {
    for (uint64_t end = at + bytes; at < end;) {
        uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
        uint32_t n = EMU_PAGE - within < end - at ? EMU_PAGE - within : (uint32_t)(end - at);
        const emu_page *page = &shadow->page[at >> EMU_PAGE_BITS];
        bool good = page->complete || emu_page_marked(page, within, n, any);
        if (good == any) return any;
        at += n;
    }
    return !any;
}

/* ---- source lines that read shared memory -------------------------------------------------------------------- */
typedef struct source_line {
    const char *file; /* NULL: not known, told apart by the instruction */
    uint32_t number;
    const emu_op *op; /* that read what nobody wrote, first */
    const emu_code *code;
    uint64_t launch, at;
    bool met; /* a byte that was written */
    uint32_t bytes, warp;
    int lane;
    emu_dim block;
} source_line;
static source_line *lines;
static uint32_t n_lines, capacity;
static struct {
    const emu_op *op;
    uint64_t launch;
} lately[512]; /* instructions whose line has met written bytes */

static source_line *line_of(const emu_warp *warp, const emu_op *op, uint64_t launch) {
    source_line key = {.op = op, .code = warp->code, .launch = launch};
    const ptx_function *function = op->source ? emu_op_function(warp->code, op) : NULL;
    if (function && op->source->loc) {
        key.file = function->location[op->source->loc].file;
        key.number = function->location[op->source->loc].line;
    }
    for (uint32_t i = 0; i < n_lines; i++) {
        source_line *line = &lines[i];
        bool same = key.file ? line->file == key.file && line->number == key.number : line->op == op;
        if (same && line->launch == launch) return line;
    }
    if (n_lines == capacity) {
        capacity = capacity ? 2 * capacity : 64;
        lines = emu_grow(lines, capacity, sizeof *lines);
    }
    lines[n_lines] = key;
    return &lines[n_lines++];
}

static void read_shared(emu_warp *warp, const emu_op *op, bool met, int lane, uint64_t at, uint32_t bytes) {
    uint64_t launch = warp->block->cluster->grid->number;
    size_t place = (uintptr_t)op / sizeof *op % (sizeof lately / sizeof lately[0]);
    if (!op || (lately[place].op == op && lately[place].launch == launch)) return;
    source_line *line = line_of(warp, op, launch);
    line->met = line->met || met;
    if (line->met) {
        lately[place].op = op;
        lately[place].launch = launch;
    } else if (!line->bytes) {
        line->op = op;
        line->at = at;
        line->bytes = bytes;
        line->warp = warp->index;
        line->lane = lane;
        line->block = warp->block->index;
    }
}

static void tell(emu_grid *grid, const source_line *line) {
    char source[600] = "an unknown place";
    const ptx_function *function = line->op->source ? emu_op_function(line->code, line->op) : NULL;
    if (function) ptx_location_text(function, line->op->source, source, sizeof source);
    uint64_t key = line->file ? line->number : (uintptr_t)line->op / sizeof *line->op;
    emu_find_grid(grid, EMU_UNINITIALIZED, key,
                  "all reads at %s are of shared memory that nobody wrote, such as shared+%" PRIu64
                  " (%u bytes) by block (%u,%u,%u) warp %u lane %d",
                  source, line->at, line->bytes, line->block.x, line->block.y, line->block.z, line->warp, line->lane);
}

void emu_initialized_end(emu_grid *grid) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < n_lines; i++) {
        if (lines[i].launch != grid->number)
            lines[left++] = lines[i];
        else if (!lines[i].met)
            tell(grid, &lines[i]);
    }
    n_lines = left;
}

/* ---- accesses ------------------------------------------------------------------------------------------------ */
static void read_pieces(emu_shadow *shadow, emu_warp *warp, const emu_op *op, const emu_access *access,
                        const emu_piece *p, int n) {
    bool lenient = shadow->shared && access->kind == EMU_READ && !emu_checks.shared_initialized;
    for (int i = 0; i < n; i++) {
        if (marked(shadow, p[i].at, p[i].bytes, lenient)) {
            if (lenient) read_shared(warp, op, true, 0, 0, 0);
            if (lenient) return;
            continue;
        }
        if (lenient) continue;
        uint64_t at = p[i].at;
        uint32_t lane = p[i].lane < EMU_LANES ? p[i].lane : 0;
        for (; p[i].lane_bytes && marked(shadow, at, access->bytes, false); lane++) at += access->bytes;
        emu_report_uninitialized(shadow, warp, op, (int)lane, at, access->bytes);
        return;
    }
    if (lenient && n > 0)
        read_shared(warp, op, false, p[0].lane < EMU_LANES ? (int)p[0].lane : 0, p[0].at, access->bytes);
}

void emu_initialized_pieces(emu_shadow *shadow, emu_warp *warp, const emu_op *op, const emu_access *access,
                            const emu_piece *p, int n) {
    if (access->kind & EMU_READ) read_pieces(shadow, warp, op, access, p, n);
    for (int i = 0; (access->kind & EMU_WRITE) && i < n; i++) mark(shadow, p[i].at, p[i].bytes);
}

void emu_initialized_range(emu_shadow *shadow, const emu_actor *actor, const emu_access *access, uint64_t at,
                           uint64_t bytes) {
    if ((access->kind & EMU_READ) && bytes > 16 && !marked(shadow, at, bytes, true))
        emu_report_uninitialized(shadow, actor->warp, actor->op, actor->lane, at, bytes);
    if (access->kind & EMU_WRITE) mark(shadow, at, bytes);
}

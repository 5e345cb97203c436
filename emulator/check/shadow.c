/* Pages of the shadow: granules of 16 bytes down to 1, made finer when an access asks for it; initialized bytes. */
#include <stdlib.h>
#include <string.h>

#include "check/record.h"
#include "check/witness.h"

emu_shadow *emu_shadows;

/* ---- life ---------------------------------------------------------------------------------------------------- */
emu_shadow *emu_shadow_create(const void *memory, uint64_t bytes, bool shared) {
    emu_shadow *shadow = emu_alloc(sizeof *shadow);
    if (!emu_checks.known) emu_checks_begin();
    shadow->memory = memory;
    shadow->bytes = bytes;
    shadow->shared = shared;
    shadow->n_pages = (bytes + EMU_PAGE - 1) / EMU_PAGE;
    shadow->page = emu_alloc((shadow->n_pages + 1) * sizeof(emu_page));
    shadow->next = emu_shadows;
    if (emu_shadows) emu_shadows->previous = shadow;
    emu_shadows = shadow;
    return shadow;
}

emu_shadow *emu_shadow_tensor(const void *memory, uint64_t bytes) {
    emu_shadow *shadow = emu_shadow_create(memory, bytes, true);
    shadow->tensor = true;
    return shadow;
}

void emu_location_put(emu_location *location) {
    if (!location || --location->refs > 0) return;
    emu_clock_free(location->all);
    for (uint32_t i = 0; i < location->n; i++)
        for (int level = 0; level < EMU_LEVELS - 1; level++) emu_clock_free(location->owner[i].near[level]);
    free(location);
}

static void forget_locations(emu_page *page, uint32_t first, uint32_t end) {
    for (uint32_t i = first; page->location && i < end; i++) {
        emu_location_put(page->location[i]);
        page->location[i] = NULL;
    }
}

static void page_free(emu_page *page) {
    forget_locations(page, 0, EMU_PAGE / 4);
    free(page->location);
    free(page->cell);
    free(page->initialized);
}

void emu_shadow_destroy(emu_shadow *shadow) {
    if (!shadow) return;
    for (uint64_t i = 0; i < shadow->n_pages; i++) page_free(&shadow->page[i]);
    if (shadow->next) shadow->next->previous = shadow->previous;
    if (shadow->previous)
        shadow->previous->next = shadow->next;
    else
        emu_shadows = shadow->next;
    free(shadow->witness);
    free(shadow->page);
    free(shadow);
}

/* ---- initialized bytes --------------------------------------------------------------------------------------- */
static uint32_t page_bytes(const emu_shadow *shadow, const emu_page *page) {
    uint64_t start = (uint64_t)(page - shadow->page) << EMU_PAGE_BITS;
    return shadow->bytes - start < EMU_PAGE ? (uint32_t)(shadow->bytes - start) : EMU_PAGE;
}

static void complete(emu_page *page) {
    free(page->initialized);
    page->initialized = NULL;
    page->complete = true;
}

static uint64_t bits_of(uint32_t at, uint32_t n) { return (n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0)) << at; }

void emu_page_mark(emu_shadow *shadow, emu_page *page, uint32_t at, uint32_t bytes) {
    if (page->complete) return;
    if (!page->initialized) {
        page->missing = (uint16_t)page_bytes(shadow, page);
        if (at == 0 && bytes >= page->missing) {
            page->complete = true;
            return;
        }
        page->initialized = emu_alloc(EMU_PAGE / 8);
    }
    for (uint32_t end = at + bytes; at < end;) {
        uint32_t n = 64 - at % 64 < end - at ? 64 - at % 64 : end - at;
        uint64_t fresh = bits_of(at % 64, n) & ~page->initialized[at / 64];
        if (fresh) {
            page->initialized[at / 64] |= fresh;
            page->missing = (uint16_t)(page->missing - __builtin_popcountll(fresh));
        }
        at += n;
    }
    if (page->missing == 0) complete(page);
}

bool emu_page_marked(const emu_page *page, uint32_t at, uint32_t bytes, bool any) {
    if (page->complete) return true;
    if (!page->initialized) return false;
    for (uint32_t end = at + bytes; at < end;) {
        uint32_t n = 64 - at % 64 < end - at ? 64 - at % 64 : end - at;
        uint64_t want = bits_of(at % 64, n), have = page->initialized[at / 64] & want;
        if (any && have) return true;
        if (!any && have != want) return false;
        at += n;
    }
    return !any;
}

static void unmark(emu_shadow *shadow, emu_page *page, uint32_t at, uint32_t bytes) {
    if (!page->complete && !page->initialized) return;
    uint32_t size = page_bytes(shadow, page);
    if (bytes >= size) {
        free(page->initialized);
        page->initialized = NULL;
        page->complete = false;
        return;
    }
    if (page->complete) {
        page->initialized = emu_alloc(EMU_PAGE / 8);
        memset(page->initialized, 0xff, EMU_PAGE / 8);
        page->missing = 0;
        page->complete = false;
    }
    for (uint32_t i = at; i < at + bytes; i++) {
        uint64_t bit = UINT64_C(1) << i % 64;
        if (page->initialized[i / 64] & bit) page->missing++;
        page->initialized[i / 64] &= ~bit;
    }
}

/* ---- cells --------------------------------------------------------------------------------------------------- */
static void refine(emu_page *page, uint32_t shift) {
    uint32_t n = (uint32_t)EMU_PAGE >> page->shift, each = 1u << (page->shift - shift);
    emu_cell *fine = malloc(((size_t)EMU_PAGE >> shift) * sizeof *fine);
    if (!fine) fine = emu_alloc(((size_t)EMU_PAGE >> shift) * sizeof *fine); /* ends in words */
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < each; k++) fine[i * each + k] = page->cell[i];
    free(page->cell);
    page->cell = fine;
    page->shift = (uint8_t)shift;
}

emu_page *emu_page_prepare(emu_shadow *shadow, uint64_t index, uint64_t alignment) {
    emu_page *page = &shadow->page[index];
    uint32_t shift = alignment & ((1 << EMU_COARSE) - 1) ? (uint32_t)__builtin_ctzll(alignment) : EMU_COARSE;
    if (page->generation != emu_check_generation) {
        page->generation = emu_check_generation;
        forget_locations(page, 0, EMU_PAGE / 4);
        if (page->cell) memset(page->cell, 0, ((size_t)EMU_PAGE >> page->shift) * sizeof(emu_cell));
    }
    if (!page->cell) {
        page->shift = (uint8_t)shift;
        page->cell = emu_alloc(((size_t)EMU_PAGE >> shift) * sizeof(emu_cell));
    } else if (shift < page->shift) {
        refine(page, shift);
    }
    return page;
}

static void fresh_part(emu_shadow *shadow, emu_page *page, uint32_t at, uint32_t bytes, bool initialized) {
    if (emu_checks.initialized) {
        if (initialized)
            emu_page_mark(shadow, page, at, bytes);
        else
            unmark(shadow, page, at, bytes);
    }
    if (!page->cell || page->generation != emu_check_generation) return;
    if (bytes >= page_bytes(shadow, page)) {
        page->generation = 0;
        return;
    }
    page = emu_page_for(shadow, (uint64_t)(page - shadow->page), at | bytes);
    memset(page->cell + (at >> page->shift), 0, (bytes >> page->shift) * sizeof(emu_cell));
    forget_locations(page, (at + 3) / 4, (at + bytes) / 4);
}

void emu_shadow_fresh(emu_shadow *shadow, uint64_t at, uint64_t bytes, bool initialized) {
    if (!emu_witnessing) emu_witness_fresh(shadow, at, bytes);
    for (uint64_t end = at + bytes; at < end;) {
        uint32_t within = (uint32_t)(at & (EMU_PAGE - 1));
        uint64_t n = EMU_PAGE - within < end - at ? EMU_PAGE - within : end - at;
        fresh_part(shadow, &shadow->page[at >> EMU_PAGE_BITS], within, (uint32_t)n, initialized);
        at += n;
    }
}

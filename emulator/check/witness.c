/* Attestation (emulator/witness.h): flags of each byte of global memory, kept beside the shadow, only while somebody asks. */
#include "emulator/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record.h"
#include "check/witness.h"
#include "memory/memory.h"

enum { OLD = 8 /* written since the first begin and before the last one */ };

bool emu_witnessing;
static emulator_witness seen;
static const void *stream_asked;
static uint64_t launches_before;

static unsigned char *flags_of(emu_shadow *shadow) {
    if (!shadow->witness) shadow->witness = emu_alloc(shadow->bytes ? shadow->bytes : 1);
    return shadow->witness;
}

/* ---- from checks and copies -------------------------------------------------------------------------------------- */

static void note_kept(const emu_shadow *shadow, const unsigned char *flags, uint64_t at, uint64_t bytes,
                      const char *kernel) {
    for (uint64_t i = at; i < at + bytes; i++) {
        if ((flags[i] & (OLD | EMULATOR_WROTE | EMULATOR_FROM_HOST)) != OLD || !shadow->memory[i]) continue;
        if (seen.kept++ == 0) (void)snprintf(seen.kept_by, sizeof seen.kept_by, "%s", kernel);
    }
}

void emu_witness_access(emu_shadow *shadow, const emu_access *access, uint64_t at, uint64_t bytes, const char *kernel) {
    unsigned char *flags = flags_of(shadow);
    if (at >= shadow->bytes) return;
    if (bytes > shadow->bytes - at) bytes = shadow->bytes - at;
    if (access->kind & EMU_READ) note_kept(shadow, flags, at, bytes, kernel);
    for (uint64_t i = at; i < at + bytes; i++) {
        if (access->kind & EMU_READ) flags[i] |= EMULATOR_READ;
        if (access->kind & EMU_WRITE) flags[i] |= EMULATOR_WROTE;
    }
    if (shadow->hosted && (access->kind & EMU_WRITE)) seen.fetched += bytes;
}

static emu_allocation *within(const void *memory, uint64_t bytes) {
    emu_allocation *a = emu_memory_find(memory);
    if (!a || !a->shadow || a->freed) return NULL;
    return (uint64_t)((const uint8_t *)memory - a->memory) + bytes <= a->bytes ? a : NULL;
}

void emu_witness_copy(void *to, const void *from, uint64_t bytes) {
    static const emu_access read = {.kind = EMU_READ}, write = {.kind = EMU_WRITE};
    emu_allocation *source = from ? within(from, bytes) : NULL, *target = within(to, bytes);
    if (source)
        emu_witness_access(source->shadow, &read, (uint64_t)((const uint8_t *)from - source->memory), bytes, "");
    if (target && (source || !from))
        emu_witness_access(target->shadow, &write, (uint64_t)((uint8_t *)to - target->memory), bytes, "");
    else if (target)
        memset(flags_of(target->shadow) + ((uint8_t *)to - target->memory), EMULATOR_FROM_HOST, bytes);
    if (source && !target) seen.fetched += bytes;
}

void emu_witness_enqueued(const void *stream) { seen.elsewhere += emu_witnessing && stream != stream_asked; }

void emu_witness_hosted(emu_shadow *shadow) { shadow->hosted = true; }

/* Between two launches memory is the caller's: what he writes is no state. */
void emu_witness_fresh(emu_shadow *shadow, uint64_t at, uint64_t bytes) {
    if (shadow->witness) memset(shadow->witness + at, 0, bytes);
}

/* ---- for callers ------------------------------------------------------------------------------------------------- */

void emu_witness_begin(const void *stream) {
    for (emu_shadow *s = emu_shadows; s; s = s->next) {
        if (s->shared || !s->witness) continue;
        for (uint64_t i = 0; i < s->bytes; i++) s->witness[i] = s->witness[i] & ~EMULATOR_READ ? OLD : 0;
    }
    seen = (emulator_witness){0};
    stream_asked = stream;
    launches_before = emu_total.launches;
    emu_witnessing = true;
}

void emulator_witness_end(emulator_witness *out) {
    seen.launches = emu_total.launches - launches_before;
    emu_witnessing = false;
    *out = seen;
}

void emulator_witness_bytes(const void *memory, size_t bytes, unsigned char *flags) {
    memset(flags, 0, bytes);
    emu_allocation *a = within(memory, bytes);
    if (!a || !a->shadow->witness) return;
    const unsigned char *from = a->shadow->witness + ((const uint8_t *)memory - a->memory);
    for (size_t i = 0; i < bytes; i++) flags[i] = from[i] & (EMULATOR_READ | EMULATOR_WROTE | EMULATOR_FROM_HOST);
}

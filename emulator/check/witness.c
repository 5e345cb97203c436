/* Attestation (emulator/witness.h): flags of each byte of global memory, kept beside the shadow, only while somebody asks. */
#include "emulator/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record.h"
#include "check/witness.h"

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

void emu_witness_from_host(emu_shadow *shadow, uint64_t at, uint64_t bytes) {
    memset(flags_of(shadow) + at, EMULATOR_FROM_HOST, bytes);
}

void emu_witness_fetched(uint64_t bytes) { seen.fetched += bytes; }

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

void emu_witness_flags(const emu_shadow *shadow, uint64_t at, uint64_t bytes, unsigned char *flags) {
    if (!shadow->witness) return;
    for (uint64_t i = 0; i < bytes; i++)
        flags[i] = shadow->witness[at + i] & (EMULATOR_READ | EMULATOR_WROTE | EMULATOR_FROM_HOST);
}

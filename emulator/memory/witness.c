/* Attestation (emulator/witness.h) of memory by its address: copies, and the flags that callers ask for. */
#include "memory/witness.h"

#include <string.h>

#include "check/witness.h"
#include "emulator/witness.h"
#include "memory/memory.h"

static emu_allocation *within(const void *memory, uint64_t bytes) {
    emu_allocation *a = emu_memory_find(memory);
    if (!a || !a->shadow || a->freed) return NULL;
    return (uint64_t)((const uint8_t *)memory - a->memory) + bytes <= a->bytes ? a : NULL;
}
static uint64_t offset_of(const emu_allocation *a, const void *memory) {
    return (uint64_t)((const uint8_t *)memory - a->memory);
}

void emu_witness_copy(void *to, const void *from, uint64_t bytes) {
    static const emu_access read = {.kind = EMU_READ}, write = {.kind = EMU_WRITE};
    const emu_allocation *source = from ? within(from, bytes) : NULL, *target = within(to, bytes);
    if (source) emu_witness_access(source->shadow, &read, offset_of(source, from), bytes, "");
    if (target && (source || !from))
        emu_witness_access(target->shadow, &write, offset_of(target, to), bytes, "");
    else if (target)
        emu_witness_from_host(target->shadow, offset_of(target, to), bytes);
    if (source && !target) emu_witness_fetched(bytes);
}

void emulator_witness_bytes(const void *memory, size_t bytes, unsigned char *flags) {
    memset(flags, 0, bytes);
    const emu_allocation *a = within(memory, bytes);
    if (a) emu_witness_flags(a->shadow, offset_of(a, memory), bytes, flags);
}

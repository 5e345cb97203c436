/* The witness by the runtime's handles. */
#include "emulator/witness.h"

#include "check/witness.h"
#include "runtime/runtime.h"

void emulator_witness_begin(void *stream) {
    EMU_LOCKED;
    emu_witness_begin(emu_stream_of(stream));
}

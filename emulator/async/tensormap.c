/* tensormap.replace: fields of a tensor map in global or shared memory. */
#include "async/copy.h"

bool emu_decode_tensormap(emu_decoding *d) { return emu_decode_fail(d, "tensormap.* is not emulated"); }

/* What checks, copies and streams tell the witness (emulator/witness.h). Nothing unless emu_witnessing. */
#ifndef EMULATOR_CHECK_WITNESS_H
#define EMULATOR_CHECK_WITNESS_H

#include "check/check.h"

extern bool emu_witnessing;
/* kernel: its name, "" of a copy. */
void emu_witness_access(emu_shadow *, const emu_access *, uint64_t at, uint64_t bytes, const char *kernel);
void emu_witness_copy(void *to, const void *from, uint64_t bytes); /* from NULL: a fill */
void emu_witness_enqueued(const void *stream);                     /* NULL: a function of the host */
void emu_witness_hosted(emu_shadow *);                             /* the host sees what is written there */
void emu_witness_fresh(emu_shadow *, uint64_t at, uint64_t bytes); /* written by the host while nobody asks */
void emu_witness_begin(const void *stream);                        /* as emu_witness_enqueued gets it */

#endif

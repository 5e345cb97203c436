/* What checks, copies and streams tell the witness (emulator/witness.h). Nothing unless emu_witnessing. */
#ifndef EMULATOR_CHECK_WITNESS_H
#define EMULATOR_CHECK_WITNESS_H

#include "check/check.h"

extern bool emu_witnessing;
/* kernel: its name, "" of a copy. */
void emu_witness_access(emu_shadow *, const emu_access *, uint64_t at, uint64_t bytes, const char *kernel);
void emu_witness_from_host(emu_shadow *, uint64_t at, uint64_t bytes); /* the host's bytes were copied there */
void emu_witness_fetched(uint64_t bytes);                              /* the host got so many of the device's bytes */
/* The bytes' flags (emulator/witness.h); untouched where there are none. */
void emu_witness_flags(const emu_shadow *, uint64_t at, uint64_t bytes, unsigned char *flags);
void emu_witness_enqueued(const void *stream);                     /* NULL: a function of the host */
void emu_witness_hosted(emu_shadow *);                             /* the host sees what is written there */
void emu_witness_fresh(emu_shadow *, uint64_t at, uint64_t bytes); /* written by the host while nobody asks */
void emu_witness_begin(const void *stream);                        /* as emu_witness_enqueued gets it */

#endif

/* What the decoders of mma/ share. */
#ifndef EMULATOR_MMA_DECODE_H
#define EMULATOR_MMA_DECODE_H

#include "machine/decode.h"

emu_decode emu_decode_mma, emu_decode_wgmma, emu_decode_ldmatrix, emu_decode_stmatrix, emu_decode_movmatrix,
    emu_decode_wmma;

/* The next word must be this one. */
bool emu_mma_expect(emu_decoding *, const char *word);
bool emu_mma_end(emu_decoding *);
/* "m16n8k16" */
typedef struct emu_shape {
    int m, n, k;
} emu_shape;
bool emu_mma_shape(emu_decoding *, emu_shape *);
/* Operand k, a vector of n registers (one may come without braces), to out[n]. */
bool emu_mma_sources(emu_decoding *, int k, ptx_type, int n, emu_operand *out);
bool emu_mma_destinations(emu_decoding *, int k, ptx_type, int n, emu_operand *out);
#endif

/* Matrices spread over the registers of a warp, as the PTX ISA's figures have them. g = lane / 4, t = lane % 4.
 *
 * Multiplicands are lines of packed elements, a row of a (a column of b) each, in words of four bytes: a register of a
 * is word t (+ 4 for the second half of 32 bytes) of row g (+ 8); of b, of column g. Accumulators: columns 2t and 2t +
 * 1 of row g (+ 8) of each eight columns; two f16 in a register. */
#ifndef EMULATOR_MMA_FRAGMENTS_H
#define EMULATOR_MMA_FRAGMENTS_H

#include "mma/numbers.h"

/* rows: 8 or 16, bytes of k: 16 or 32; (rows / 8) * (bytes / 16) registers, rows first. */
void emu_fragment_lines(const emu_warp *, const emu_operand *registers, int rows, int bytes, uint8_t (*line)[EMU_LINE]);
/* rows: 8 or 16, columns a multiple of 8; half: of f16. d: rows × columns, an element each. */
void emu_fragment_accumulators(const emu_warp *, const emu_operand *registers, int rows, int columns, bool half,
                               uint32_t *d);
void emu_fragment_results(emu_warp *, const emu_operand *registers, int rows, int columns, bool half, const uint32_t *d,
                          emu_mask);

/* f64: of k elements, a: row g (+ 8), element t (+ 4, …); b: column g. */
void emu_fragment_doubles(const emu_warp *, const emu_operand *registers, int rows, int k, double *line);
void emu_fragment_double_accumulators(const emu_warp *, const emu_operand *registers, int rows, double *d);
void emu_fragment_double_results(emu_warp *, const emu_operand *registers, int rows, const double *d, emu_mask);
#endif

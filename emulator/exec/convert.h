/* What the files of conversions share. */
#ifndef EMULATOR_EXEC_CONVERT_H
#define EMULATOR_EXEC_CONVERT_H

#include "ptx/ptx.h"

enum { ROUND_NONE, ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP, ROUND_NEAREST_AWAY };
enum { CONVERT_RELU = 1, CONVERT_FTZ = 2, CONVERT_SAT = 4, CONVERT_TO_INTEGER = 8, CONVERT_FINITE = 16 };

/* A number of any format: its class, its sign, and its magnitude m·2^e. */
typedef struct emu_exact {
    bool nan, infinite, negative;
    uint64_t m; /* 0: zero */
    int e;
} emu_exact;
emu_exact emu_exact_of_float(uint64_t bits, ptx_type type);
emu_exact emu_exact_of_integer(uint64_t bits, ptx_type type);
int emu_fraction_bits(ptx_type);
/* m·2^e / 2^unit as an integer. */
uint64_t emu_exact_rounded(const emu_exact *value, int unit, int rounding);
/* finite: beyond the largest number comes that number, not Inf. */
uint64_t emu_float_of_exact(const emu_exact *value, ptx_type type, int rounding, bool finite);
/* Clamped to the type's range. */
uint64_t emu_integer_of_exact(const emu_exact *value, ptx_type type, int rounding);
#endif

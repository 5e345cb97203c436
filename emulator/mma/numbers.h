/* What mma/ alone knows of numbers: the rules of a dot product, and operands as significands and exponents. */
#ifndef EMULATOR_MMA_NUMBERS_H
#define EMULATOR_MMA_NUMBERS_H

#include "mma/mma.h"

/* The rules. A chunk of k is summed at once with the accumulator; its result is the next chunk's accumulator. */
typedef enum emu_dot_kind {
    EMU_DOT_FUSED,
    EMU_DOT_CONVERTED, /* two products of f16 that begin with zero; the accumulator is added at last */
    EMU_DOT_INTEGER,
    EMU_DOT_DOUBLE, /* fma by fma */
} emu_dot_kind;
struct emu_dot {
    uint8_t sm; /* the first architecture with these rules */
    bool wgmma;
    ptx_type a, b, accumulator;
    emu_dot_kind kind;
    uint8_t chunk;    /* elements of k */
    uint8_t fraction; /* bits kept below the largest exponent; what is lower is cut off each addend */
    uint8_t mantissa; /* bits of the result: f32's are cut off, f16's rounded to nearest even */
    int16_t least;    /* the largest exponent is taken to be at least this: matters to sums below f32's normals */
};

typedef struct emu_format {
    uint8_t bytes, exponent_bits, mantissa_bits;
    uint8_t dropped; /* low bits that do not count (tf32) */
    bool infinities; /* an exponent of all ones is no number; otherwise (e4m3) only all ones is not */
    bool finite;     /* all are numbers (4 and 6 bits) */
} emu_format;
const emu_format *emu_format_of(ptx_type); /* NULL: not a floating type of a multiplicand or accumulator */

/* significand × 2^exponent; the significand has format->mantissa_bits of fraction. */
typedef struct emu_factor {
    int32_t significand;
    int32_t exponent;
    float special; /* 0: finite; otherwise an infinity or NaN */
} emu_factor;
enum { EMU_ZERO_EXPONENT = -2000 }; /* of factors that are zero: no product with one has the largest exponent */
emu_factor emu_factor_of(const emu_format *, uint32_t bits);

/* One operand of a tile, for vectors over n: of a [m][k], of b [k][n]. */
enum { EMU_MAX_M = 64, EMU_MAX_N = 256, EMU_MAX_K = 32, EMU_MAX_TILE = EMU_MAX_N * EMU_MAX_K };
typedef struct emu_factors {
    float factor[EMU_MAX_TILE]; /* the value, or the significand: 1 ≤ |s| < 2, less for subnormals (block.h) */
    int32_t exponent[EMU_MAX_TILE];
    uint8_t special[EMU_MAX_N]; /* by row of a, column of b: has infinities or NaNs */
    bool any_special;           /* of b */
} emu_factors;

/* d[m][n] += a[m][k] b[k][n], as raw bits of the accumulator's type. Rows of a and columns of b are lines of packed
 * elements; n is a multiple of 8. */
enum { EMU_LINE = 32 };
void emu_tile(const emu_dot *, int m, int n, int k, const uint8_t (*a)[EMU_LINE], const uint8_t (*b)[EMU_LINE],
              uint32_t *d, bool saturate);
/* The same with two of four of a's elements: a has the k that are kept, of row i at the places kept[i] of 2 k. b: the
 * first k elements of columns, then (from line EMU_MAX_N) the others. */
void emu_tile_sparse(const emu_dot *, int m, int n, int k, const uint8_t (*a)[EMU_LINE],
                     const uint8_t (*kept)[EMU_LINE], const uint8_t (*b)[EMU_LINE], uint32_t *d, bool saturate);
/* EMU_DOT_CONVERTED: the elements of a line whose index has bit 1 clear (part 0), or set (part 1), as f16. */
void emu_dot_converted(ptx_type, const uint8_t *line, int k, int part, uint16_t *out);
/* c (f32) plus terms value × 2^(exponent - fraction): each is cut off so many bits of fraction below the largest exponent,
 * and the sum to f32. special: 0, or the infinity or NaN that the terms add up to. */
typedef struct emu_term {
    int64_t value;
    int32_t exponent, fraction;
} emu_term;
uint32_t emu_dot_terms(const emu_term *, int n, float special, int fraction, uint32_t c);
uint32_t emu_dot_scaled(bool half, uint32_t x, int shift); /* x × 2^-shift */
uint32_t emu_dot_sum(bool half, uint32_t x, uint32_t y);   /* as add.rn does */
/* PTX's fma.rn.f64, as the tensor cores propagate NaNs: b's before the addend's before a's. */
double emu_dot_fma(double a, double b, double c);
void emu_tile_double(int m, int n, int k, const double *a, const double *b, double *d);
#endif

/* Dot products of whole tiles, eight columns at a time: the same bits as emu_dot_product()'s, by floats.
 *
 * Significands are floats; their product is exact (at most 22 bits). Scaled by a power of two such that the grid of the
 * sum is 1, its conversion to an integer cuts off what the hardware does. Sums of integers are exact. */
#include "mma/numbers.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 8 };

/* ---- operands
 * -------------------------------------------------------------------------------------------------------------- */
static uint32_t element(const uint8_t *line, int i, int bytes) {
    uint32_t bits = 0;
    memcpy(&bits, line + i * bytes, (size_t)bytes);
    return bits;
}

/* Tables for types of 8 and 16 bits: an entry is the factor, as float significand and exponent. */
typedef struct entry {
    float significand;
    int16_t exponent;
    bool special;
} entry;

static entry entry_of(const emu_format *format, uint32_t bits) {
    emu_factor factor = emu_factor_of(format, bits);
    return (entry){ldexpf((float)factor.significand, -format->mantissa_bits), (int16_t)factor.exponent,
                   factor.special != 0};
}

static const entry *table_of(ptx_type type, const emu_format *format) {
    static entry *tables[PTX_N_TYPES];
    if (tables[type] == NULL) {
        uint32_t n = 1u << (8 * format->bytes);
        entry *table = emu_alloc(n * sizeof *table);
        for (uint32_t i = 0; i < n; i++) table[i] = entry_of(format, i);
        tables[type] = table;
    }
    return tables[type];
}

/* Element (row, i) goes to row * along + i * across. */
static void factors(ptx_type type, const uint8_t (*lines)[EMU_LINE], int rows, int k, int along, int across,
                    emu_factors *out) {
    const emu_format *format = emu_format_of(type);
    const entry *table = format->bytes < 4 ? table_of(type, format) : NULL;
    out->any_special = false;
    for (int row = 0; row < rows; row++) {
        bool special = false;
        for (int i = 0; i < k; i++) {
            uint32_t bits = element(lines[row], i, format->bytes);
            entry e = table ? table[bits] : entry_of(format, bits);
            out->significand[row * along + i * across] = e.significand;
            out->exponent[row * along + i * across] = e.exponent;
            special |= e.special;
        }
        out->special[row] = special;
        out->any_special |= special;
    }
}

/* ---- accumulators
 * ------------------------------------------------------------------------------------------------------------ */
static inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}
static inline double power(int exponent) { /* of two, within the normal doubles */
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

/* Towards zero, to the float's lattice and then to so many bits. */
static inline uint32_t truncate_f32(double x, uint32_t keep) {
    float nearest = (float)x;
    uint32_t bits = bits_of(nearest);
    bool away = fabs((double)nearest) > fabs(x) && fabs(x) < 0x1p128;
    bits = (bits - away) & keep;
    return bits << 1 ? bits : 0; /* zero is positive */
}

static inline uint32_t round_f16(double x) {
    uint64_t wide;
    double magnitude = fabs(x);
    memcpy(&wide, &magnitude, 8);
    int exponent = (int)(wide >> 52) - 1023;
    exponent = exponent < -14 ? -14 : exponent > 16 ? 16 : exponent;
    double magic = power(exponent + 42) * 1.5; /* its last place is the f16's */
    double rounded = magnitude + magic - magic;
    rounded = rounded > 65536.0 ? 65536.0 : rounded;
    uint32_t bits = bits_of((float)rounded);
    uint32_t half = rounded < 0x1p-14 ? (uint32_t)(int32_t)(rounded * 0x1p24) : (bits >> 13) - (112u << 10);
    uint32_t sign = bits_of((float)copysign(1.0, x)) >> 31;
    return half ? sign << 15 | half : 0; /* zero is positive */
}

/* An accumulator as significand × 2^exponent. */
static inline void split_f32(uint32_t bits, float *significand, int *exponent) {
    int e = (int)(bits >> 23 & 0xff);
    uint32_t normal = (bits & 0x807fffffu) | 0x3f800000u;
    float subnormal = float_of(0x4b000000u | (bits & 0x7fffffu)) - 0x1p23f; /* the mantissa as an integer */
    subnormal = float_of(bits_of(subnormal * 0x1p-23f) | (bits & 0x80000000u));
    *significand = e ? float_of(normal) : subnormal;
    *exponent = e ? e - 127 : bits << 1 ? -126 : EMU_ZERO_EXPONENT;
}
static inline void split_f16(uint32_t bits, float *significand, int *exponent) {
    int e = (int)(bits >> 10 & 0x1f);
    float mantissa = (float)(int32_t)((bits & 0x3ff) | (e ? 0x400 : 0)) * 0x1p-10f;
    *significand = bits & 0x8000 ? -mantissa : mantissa;
    *exponent = e ? e - 15 : bits & 0x7fff ? -14 : EMU_ZERO_EXPONENT;
}

/* ---- eight outputs
 * ----------------------------------------------------------------------------------------------------------- */
/* A chunk of at most 16 elements of k fits 32-bit sums with 25 bits of fraction; longer ones have 13. */
static inline __attribute__((always_inline)) void chunk(const emu_dot *dot, bool half, int k, const float *sa,
                                                        const int32_t *ea, const float *sb, const int32_t *eb,
                                                        int stride, uint32_t *d) {
    float sc[WIDTH];
    int32_t ec[WIDTH], largest[WIDTH], sum[WIDTH] = {0};
    for (int j = 0; j < WIDTH; j++) {
        if (half)
            split_f16(d[j], &sc[j], &ec[j]);
        else
            split_f32(d[j], &sc[j], &ec[j]);
        largest[j] = ec[j] > dot->least ? ec[j] : dot->least;
    }
    for (int i = 0; i < k; i++)
        for (int j = 0; j < WIDTH; j++) {
            int32_t exponent = ea[i] + eb[i * stride + j];
            largest[j] = exponent > largest[j] ? exponent : largest[j];
        }
    int32_t bias[WIDTH]; /* of the scale 2^(exponent - largest + fraction) */
    for (int j = 0; j < WIDTH; j++) bias[j] = 127 + dot->fraction - largest[j];
    for (int i = 0; i < k; i++)
        for (int j = 0; j < WIDTH; j++) {
            int32_t scale = ea[i] + eb[i * stride + j] + bias[j];
            scale = scale < 0 ? 0 : scale;
            sum[j] += (int32_t)(sa[i] * sb[i * stride + j] * float_of((uint32_t)scale << 23));
        }
    uint32_t keep = ~((1u << (23 - dot->mantissa)) - 1);
    for (int j = 0; j < WIDTH; j++) {
        int32_t scale = ec[j] + bias[j];
        scale = scale < 0 ? 0 : scale;
        double total = (double)sum[j] + (double)(int32_t)(sc[j] * float_of((uint32_t)scale << 23));
        double x = total * power(largest[j] - dot->fraction);
        d[j] = half ? round_f16(x) : truncate_f32(x, keep);
    }
}

EMU_LANEWISE static void block_f32(const emu_dot *dot, int k, const float *sa, const int32_t *ea, const float *sb,
                                   const int32_t *eb, int stride, uint32_t *d) {
    chunk(dot, false, k, sa, ea, sb, eb, stride, d);
}
EMU_LANEWISE static void block_f16(const emu_dot *dot, int k, const float *sa, const int32_t *ea, const float *sb,
                                   const int32_t *eb, int stride, uint32_t *d) {
    chunk(dot, true, k, sa, ea, sb, eb, stride, d);
}

/* ---- tiles
 * ------------------------------------------------------------------------------------------------------------------ */
static uint32_t one(const emu_dot *dot, const uint8_t *a, const uint8_t *b, int k, uint32_t c) {
    uint32_t x[EMU_MAX_K], y[EMU_MAX_K];
    for (int i = 0; i < k; i++) {
        x[i] = element(a, i, ptx_type_bytes[dot->a]);
        y[i] = element(b, i, ptx_type_bytes[dot->b]);
    }
    return emu_dot_product(dot, x, y, k, c);
}

static void fused(const emu_dot *dot, int m, int n, int k, const uint8_t (*a)[EMU_LINE], const uint8_t (*b)[EMU_LINE],
                  uint32_t *d) {
    static emu_factors x, y; /* one thread runs everything */
    factors(dot->a, a, m, k, k, 1, &x);
    factors(dot->b, b, n, k, 1, n, &y);
    const bool half = dot->accumulator == PTX_F16;
    const uint32_t top = half ? 0x7c00 : 0x7f800000;
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column += WIDTH) {
            uint32_t *at = d + row * n + column, before[WIDTH];
            bool special[WIDTH];
            memcpy(before, at, sizeof before);
            for (int j = 0; j < WIDTH; j++)
                special[j] = x.special[row] || y.special[column + j] || (at[j] & top) == top;
            for (int i = 0; i < k; i += dot->chunk) {
                int length = k - i < dot->chunk ? k - i : dot->chunk, first = row * k + i, second = i * n + column;
                (half ? block_f16 : block_f32)(dot, length, x.significand + first, x.exponent + first,
                                               y.significand + second, y.exponent + second, n, at);
                for (int j = 0; j < WIDTH; j++) special[j] |= (at[j] & top) == top;
            }
            for (int j = 0; j < WIDTH; j++)
                if (special[j]) at[j] = one(dot, a[row], b[column + j], k, before[j]);
        }
}

static void converted(const emu_dot *dot, int m, int n, int k, const uint8_t (*a)[EMU_LINE],
                      const uint8_t (*b)[EMU_LINE], uint32_t *d) {
    const emu_dot *f16 = emu_dot_find(dot->sm, dot->wgmma, PTX_F16, PTX_F16, dot->accumulator);
    uint16_t x[EMU_MAX_M][EMU_LINE / 2], y[EMU_MAX_N][EMU_LINE / 2];
    uint32_t sum[EMU_MAX_M * 8] = {0};
    for (int part = 0; part < 2; part++) {
        for (int i = 0; i < m; i++) emu_dot_converted(dot->a, a[i], k, part, x[i]);
        for (int i = 0; i < n; i++) emu_dot_converted(dot->b, b[i], k, part, y[i]);
        fused(f16, m, n, k / 2, (const uint8_t(*)[EMU_LINE])x, (const uint8_t(*)[EMU_LINE])y, sum);
    }
    for (int i = 0; i < m * n; i++) d[i] = emu_dot_sum(dot->accumulator == PTX_F16, sum[i], d[i]);
}

static void integer(const emu_dot *dot, int m, int n, int k, const uint8_t (*a)[EMU_LINE], const uint8_t (*b)[EMU_LINE],
                    uint32_t *d, bool saturate) {
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++) {
            int64_t sum = (int32_t)d[row * n + column];
            for (int i = 0; i < k; i++) {
                int32_t x = dot->a == PTX_S8 ? (int8_t)a[row][i] : a[row][i];
                sum += x * (dot->b == PTX_S8 ? (int8_t)b[column][i] : b[column][i]);
            }
            if (saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            d[row * n + column] = (uint32_t)sum;
        }
}

void emu_tile(const emu_dot *dot, int m, int n, int k, const uint8_t (*a)[EMU_LINE], const uint8_t (*b)[EMU_LINE],
              uint32_t *d, bool saturate) {
    if (dot->kind == EMU_DOT_INTEGER)
        integer(dot, m, n, k, a, b, d, saturate);
    else if (dot->kind == EMU_DOT_CONVERTED)
        converted(dot, m, n, k, a, b, d);
    else
        fused(dot, m, n, k, a, b, d);
}

void emu_tile_double(int m, int n, int k, const double *a, const double *b, double *d) {
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++)
            for (int i = 0; i < k; i++) {
                double *at = &d[row * n + column];
                *at = emu_dot_fma(a[row * k + i], b[column * k + i], *at);
            }
}

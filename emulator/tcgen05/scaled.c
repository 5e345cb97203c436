/* Block-scaled products: arithmetic, and the scales in tensor memory.
 *
 * mxf8f6f4: each product has the exponents of its scales added; the sum is cut off as that of other products is. Of 4 bits
 * (mxf4, mxf4nvf4) the exact sums of 16 products, times the significands of their scales, are added, each cut off 35 bits of
 * fraction below the largest exponent of scales and accumulator (MMA-Sim, arXiv 2511.10909).
 *
 * Of sparse A these are the products of what it keeps; each scale is of twice as many elements of k.
 *
 * The scale of row m and block s of k: lane m % 32, the same in all four quarters, column m / 32, byte s. */
#include <math.h>
#include <string.h>

#include "tcgen05/product.h"

enum { GROUP = 16, FRACTION = 25, FRACTION_4 = 35 };

/* significand × 2^(exponent - 3); of a NaN `nan`. */
typedef struct scale {
    int32_t significand, exponent;
    bool nan;
} scale;

static scale scale_of(bool ue4m3, uint8_t bits) {
    if (!ue4m3) return (scale){8, bits - 127, bits == 255};
    const int32_t exponent = bits >> 3 & 15, mantissa = bits & 7; /* the sign is ignored */
    if (exponent == 15 && mantissa == 7) return (scale){.nan = true};
    return exponent ? (scale){8 + mantissa, exponent - 7, false} : (scale){mantissa, -6, false};
}

static uint32_t scaled_32(const emu_dot *dot, const uint8_t *a, const uint8_t *b, scale x, scale y, uint32_t c) {
    const emu_format *format_a = emu_format_of(dot->a), *format_b = emu_format_of(dot->b);
    emu_term term[EMU_LINE];
    float special = x.nan || y.nan ? NAN : 0;
    for (int i = 0; i < EMU_LINE; i++) {
        const emu_factor p = emu_factor_of(format_a, a[i]), q = emu_factor_of(format_b, b[i]);
        if (p.special != 0 || q.special != 0)
            special += (p.special != 0 ? p.special : (float)p.significand) *
                       (q.special != 0 ? q.special : (float)q.significand);
        term[i] = (emu_term){.value = (int64_t)p.significand * q.significand,
                             .exponent = p.exponent + q.exponent + x.exponent + y.exponent,
                             .fraction = format_a->mantissa_bits + format_b->mantissa_bits};
    }
    return emu_dot_terms(term, EMU_LINE, special, FRACTION, c);
}

/* Twice the value of e2m1's codes. */
static const int8_t doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static uint32_t scaled_64(int groups_of_scale, const int8_t *a, const int8_t *b, const scale *x, const scale *y,
                          uint32_t c) {
    enum { GROUPS = 2 * EMU_LINE / GROUP };
    emu_term term[GROUPS];
    float special = 0;
    for (int g = 0; g < GROUPS; g++) {
        const scale p = x[g / groups_of_scale], q = y[g / groups_of_scale];
        int32_t sum = 0;
        for (int i = g * GROUP; i < (g + 1) * GROUP; i++) sum += a[i] * b[i];
        if (p.nan || q.nan) special = NAN;
        term[g] = (emu_term){.value = (int64_t)sum * p.significand * q.significand,
                             .exponent = p.exponent + q.exponent,
                             .fraction = 2 + 3 + 3};
    }
    return emu_dot_terms(term, GROUPS, special, FRACTION_4, c);
}

static void scales_of(const emu_tensor_shape *shape, int id, uint32_t word, scale out[4]) {
    for (int s = 0; s < shape->scales; s++) out[s] = scale_of(shape->ue4m3, (uint8_t)(word >> 8 * (id + s)));
}

static void unpack(const uint8_t *line, int8_t out[2 * EMU_LINE]) {
    for (int i = 0; i < 2 * EMU_LINE; i++) out[i] = doubled[line[i / 2] >> i % 2 * 4 & 15];
}

void emu_tensor_multiply_scaled(const emu_tensor_shape *shape, int rows, emu_tensor_rows a,
                                const uint8_t (*all)[EMU_LINE], const uint32_t *scale_a, const uint32_t *scale_b,
                                uint32_t *d) {
    static int8_t y[EMU_MAX_N][2 * EMU_LINE]; /* one thread runs everything */
    static uint8_t kept[EMU_MAX_N][EMU_LINE];
    const uint8_t(*b)[EMU_LINE] = shape->sparse ? (const uint8_t(*)[EMU_LINE])kept : all;
    for (int row = 0; row < rows; row++) {
        int8_t x[2 * EMU_LINE];
        scale p[4], q[4];
        if (shape->sparse) emu_tensor_select(shape->n, a.place[row], all, kept);
        for (int column = 0; column < shape->n && shape->packed && (row == 0 || shape->sparse); column++)
            unpack(b[column], y[column]);
        if (shape->packed) unpack(a.line[row], x);
        scales_of(shape, shape->scale_a, scale_a[row], p);
        for (int column = 0; column < shape->n; column++) {
            uint32_t *at = &d[row * shape->n + column];
            scales_of(shape, shape->scale_b, scale_b[column], q);
            *at = shape->packed ? scaled_64(4 / shape->scales, x, y[column], p, q, *at)
                                : scaled_32(shape->dot, a.line[row], b[column], p[0], q[0], *at);
        }
    }
}

void emu_tensor_scales(const emu_actor *actor, emu_block *block, uint32_t address, int rows, uint32_t *word) {
    const uint32_t first = address & 0xffff;
    for (int row = 0; row < rows; row++) {
        const uint32_t column = first + (uint32_t)row / 32, lane = (uint32_t)row % 32;
        const uint32_t *cell = block->tensor->cell[column];
        for (uint32_t quarter = 0; quarter < 4 && lane == 0; quarter++)
            emu_tensor_touch(actor, block, EMU_READ, 32 * quarter, column, 32);
        for (uint32_t quarter = 1; quarter < 4; quarter++)
            if (cell[32 * quarter + lane] != cell[lane])
                emu_find(actor->warp, actor->op, actor->lane, EMU_TENSOR, 10,
                         "the scales of column %u, lane %u and lane %u differ: all quarters must have the same", column,
                         lane, 32 * quarter + lane);
        word[row] = cell[lane];
    }
}

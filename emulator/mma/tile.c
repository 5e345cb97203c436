/* Dot products of whole tiles: operands to factors, and eight columns at a time (block.c). */
#include "mma/block.h"

#include <math.h>
#include <string.h>

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

/* ---- operands -------------------------------------------------------------------------------------------- */
static inline uint32_t element(const uint8_t *line, int i, int bytes) {
    uint16_t half;
    uint32_t word;
    if (bytes == 1) return line[i];
    if (bytes == 2) return memcpy(&half, line + 2 * i, 2), half;
    return memcpy(&word, line + 4 * i, 4), word;
}

/* n elements as factors (whole: values, otherwise significands) and exponents; flags of those that are infinities or
 * NaNs are or-ed in. */
EMU_LANEWISE static void split(const emu_format *format, bool whole, const uint32_t *bits, int n, float *factor,
                               int32_t *exponent, uint8_t *special) {
    const int width = format->mantissa_bits, bias = (1 << (format->exponent_bits - 1)) - 1, dropped = format->dropped;
    const uint32_t most = (1u << format->exponent_bits) - 1, mask = (1u << width) - 1;
    const uint32_t not_finite =
        format->infinities ? 0 : mask; /* least mantissa that is none, under the largest exponent */
    const float scale = float_of((uint32_t)(127 - width) << 23);
    const int sign_at = width + format->exponent_bits;
    for (int i = 0; i < n; i++) {
        uint32_t x = bits[i] >> dropped, mantissa = x & mask, e = x >> width & most, sign = (x >> sign_at & 1) << 31;
        float normal = float_of(0x3f800000u | mantissa << (23 - width)), subnormal = (float)(int32_t)mantissa * scale;
        int32_t power = e ? (int32_t)e - bias : 1 - bias;
        factor[i] =
            float_of(bits_of(e ? normal : subnormal) | sign) * (whole ? float_of((uint32_t)(power + 127) << 23) : 1);
        exponent[i] = e || mantissa ? power : EMU_ZERO_EXPONENT;
        special[i] |= e == most && mantissa >= not_finite;
    }
}

/* Rows of a: [m][k]. */
static void factors_of_a(ptx_type type, const uint8_t (*lines)[EMU_LINE], int m, int k, emu_factors *out) {
    const emu_format *format = emu_format_of(type);
    for (int row = 0; row < m; row++) {
        uint32_t bits[EMU_MAX_K];
        uint8_t special[EMU_MAX_K] = {0};
        for (int i = 0; i < k; i++) bits[i] = element(lines[row], i, format->bytes);
        split(format, emu_block_narrow(type), bits, k, out->factor + row * k, out->exponent + row * k, special);
        out->special[row] = memchr(special, 1, (size_t)k) != NULL;
    }
}

/* Columns of b: [k][n]. */
static void factors_of_b(ptx_type type, const uint8_t (*lines)[EMU_LINE], int n, int k, emu_factors *out) {
    const emu_format *format = emu_format_of(type);
    memset(out->special, 0, (size_t)n);
    for (int i = 0; i < k; i++) {
        uint32_t bits[EMU_MAX_N];
        for (int column = 0; column < n; column++) bits[column] = element(lines[column], i, format->bytes);
        split(format, emu_block_narrow(type), bits, n, out->factor + i * n, out->exponent + i * n, out->special);
    }
    out->any_special = memchr(out->special, 1, (size_t)n) != NULL;
}

/* ---- tiles ----------------------------------------------------------------------------------------------- */
/* What a chunk of k from `first` on makes of accumulator c, by the reference. */
static uint32_t one(const emu_dot *dot, int first, int k, const uint8_t *a, const uint8_t *b, uint32_t c) {
    uint32_t x[EMU_MAX_K], y[EMU_MAX_K];
    for (int i = 0; i < k; i++) {
        x[i] = element(a, first + i, ptx_type_bytes[dot->a]);
        y[i] = element(b, first + i, ptx_type_bytes[dot->b]);
    }
    return emu_dot_product(dot, x, y, k, c);
}

/* Those of eight outputs whose operands have infinities or NaNs; bit j: column j. */
static uint32_t special_of(const emu_factors *x, int row, const emu_factors *y, int column) {
    if (x->special[row]) return (1u << EMU_BLOCK) - 1;
    uint32_t special = 0;
    for (int j = 0; y->any_special && j < EMU_BLOCK; j++) special |= (uint32_t)y->special[column + j] << j;
    return special;
}

/* Row `row` of x times eight columns of y, which has n. a, b: the same elements as bits. Outputs that have to do with
 * infinities and NaNs are the reference's. */
static void eight(const emu_dot *dot, int k, const emu_factors *x, int row, const uint8_t *a, const emu_factors *y,
                  int n, int column, const uint8_t (*b)[EMU_LINE], uint32_t *at) {
    emu_block_run *run = emu_block_of(dot);
    const uint32_t operands = special_of(x, row, y, column);
    for (int i = 0; i < k; i += dot->chunk) {
        const int length = k - i < dot->chunk ? k - i : dot->chunk, first = row * k + i, second = i * n + column;
        uint32_t before[EMU_BLOCK];
        memcpy(before, at, sizeof before);
        uint32_t special =
            run(dot, length, x->factor + first, x->exponent + first, y->factor + second, y->exponent + second, n, at);
        for (special |= operands; special; special &= special - 1) {
            const int j = __builtin_ctz(special);
            at[j] = one(dot, i, length, a, b[j], before[j]);
        }
    }
}

static void fused(const emu_dot *dot, int m, int n, int k, const uint8_t (*a)[EMU_LINE], const uint8_t (*b)[EMU_LINE],
                  uint32_t *d) {
    static emu_factors x, y; /* one thread runs everything */
    factors_of_a(dot->a, a, m, k, &x);
    factors_of_b(dot->b, b, n, k, &y);
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column += EMU_BLOCK)
            eight(dot, k, &x, row, a[row], &y, n, column, b + column, d + row * n + column);
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

/* ---- sparse tiles ---------------------------------------------------------------------------------------- */
/* Columns of b at the places that a row of a keeps. */
static void select_lines(int n, int k, int bytes, const uint8_t *kept, const uint8_t (*b)[EMU_LINE],
                         uint8_t (*out)[EMU_LINE]) {
    for (int column = 0; column < n; column++)
        for (int i = 0; i < k; i++)
            memcpy(out[column] + i * bytes, b[kept[i] / k * EMU_MAX_N + column] + kept[i] % k * bytes, (size_t)bytes);
}

static void select_factors(int n, int k, const uint8_t *kept, const emu_factors *halves, emu_factors *out) {
    for (int i = 0; i < k; i++) {
        const emu_factors *from = &halves[kept[i] / k];
        memcpy(out->factor + i * n, from->factor + kept[i] % k * n, (size_t)n * sizeof *out->factor);
        memcpy(out->exponent + i * n, from->exponent + kept[i] % k * n, (size_t)n * sizeof *out->exponent);
    }
}

void emu_tile_sparse(const emu_dot *dot, int m, int n, int k, const uint8_t (*a)[EMU_LINE],
                     const uint8_t (*kept)[EMU_LINE], const uint8_t (*b)[EMU_LINE], uint32_t *d, bool saturate) {
    static emu_factors x, halves[2], y; /* one thread runs everything */
    static uint8_t selected[EMU_MAX_N][EMU_LINE];
    const int bytes = ptx_type_bytes[dot->b];
    const bool integers = dot->kind == EMU_DOT_INTEGER;
    if (!integers) {
        factors_of_a(dot->a, a, m, k, &x);
        for (int half = 0; half < 2; half++) factors_of_b(dot->b, b + half * EMU_MAX_N, n, k, &halves[half]);
        for (int column = 0; column < n; column++)
            y.special[column] = halves[0].special[column] | halves[1].special[column];
        y.any_special = halves[0].any_special || halves[1].any_special;
    }
    for (int row = 0; row < m; row++) {
        select_lines(n, k, bytes, kept[row], b, selected);
        const uint8_t(*lines)[EMU_LINE] = (const uint8_t(*)[EMU_LINE])selected;
        if (dot->kind == EMU_DOT_CONVERTED) {
            converted(dot, 1, n, k, a + row, lines, d + row * n);
            continue;
        }
        if (integers) {
            integer(dot, 1, n, k, a + row, lines, d + row * n, saturate);
            continue;
        }
        select_factors(n, k, kept[row], halves, &y);
        for (int column = 0; column < n; column += EMU_BLOCK)
            eight(dot, k, &x, row, a[row], &y, n, column, lines + column, d + row * n + column);
    }
}

void emu_tile_double(int m, int n, int k, const double *a, const double *b, double *d) {
    for (int row = 0; row < m; row++)
        for (int column = 0; column < n; column++)
            for (int i = 0; i < k; i++) {
                double *at = &d[row * n + column];
                *at = emu_dot_fma(a[row * k + i], b[column * k + i], *at);
            }
}

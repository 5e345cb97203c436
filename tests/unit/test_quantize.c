/* The quantizers, bit for bit: their rules against ridge_store, block layouts against the text that defines them, every
 * variant and instruction set on numbers of all magnitudes against the rules in fp64, and tensors under other names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "machine/identity/machine.h"
#include "quantize/blocks.h"
#include "quantize/mx_rule.h"
#include "quantize/rule.h"
#include "ridge/ops.h"
#include "ridge/target.h"

static unsigned stored(ridge_dtype dtype, double value) {
    unsigned char code = 0;
    ridge_store(&code, dtype, 0, value);
    return code;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static void check_roundings(float v) {
    if (rule_is_odd(v)) return;
    if (rule_e4m3(v) != stored(RIDGE_E4M3, (double)v)) fail_msg("e4m3 of %a", (double)v);
    if (rule_e5m2(v) != stored(RIDGE_E5M2, (double)v)) fail_msg("e5m2 of %a", (double)v);
    if (rule_e2m1(v) != stored(RIDGE_E2M1, (double)v)) fail_msg("e2m1 of %a", (double)v);
}

static void rules_round_as_stores_do(void **state) {
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const uint16_t half = (uint16_t)bits;
        check_roundings(rule_float(bits << 16));
        check_roundings((float)ridge_load(&half, RIDGE_F16, 0));
    }
    for (int code = 0; code < 0x7f; code++) {
        const unsigned char byte = (unsigned char)code;
        const double v = ridge_load(&byte, RIDGE_E4M3, 0), last = code < 8 ? 0x1p-9 : ldexp(1, code / 8 - 10);
        assert_true((double)rule_of_e4m3((unsigned)code) == v);
        for (int half = 0; half < 2; half++) { /* a value, and the midpoint above it */
            float below = (float)(v + half * last / 2), above = below;
            for (int i = 0; i < 4; i++) {
                check_roundings(below), check_roundings(-below), check_roundings(above), check_roundings(-above);
                below = nextafterf(below, -INFINITY), above = nextafterf(above, INFINITY);
            }
        }
    }
    for (int code = 0; code < 0x7b; code++) { /* e5m2's midpoints are e4m3's neither in place nor in range */
        const unsigned char byte = (unsigned char)code;
        const double v = ridge_load(&byte, RIDGE_E5M2, 0), last = code < 4 ? 0x1p-16 : ldexp(1, code / 4 - 17);
        float below = (float)(v + last / 2), above = below;
        for (int i = 0; i < 4; i++) {
            check_roundings(below), check_roundings(-below), check_roundings(above), check_roundings(-above);
            below = nextafterf(below, -INFINITY), above = nextafterf(above, INFINITY);
        }
    }
    for (uint64_t i = 0; i < 200000; i++) check_roundings(rule_float((uint32_t)ridge_random(9, i)));
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static void scales_lie_where_the_layout_says(void **state) {
    (void)state;
    /* Row m, block k: tile (m / 128, k / 4) of 512 bytes, in it (m % 32) 16 + (m / 32 % 4) 4 + k % 4. */
    for (int64_t across = 1; across < 12; across++)
        for (int64_t r = 0; r < 300; r++)
            for (int64_t k = 0; k < across; k++) {
                const int64_t tiles = (across + 3) / 4;
                assert_int_equal(blocks_scale_at(&blocks_nvfp4, across, r, k),
                                 512 * (r / 128 * tiles + k / 4) + r % 32 * 16 + r / 32 % 4 * 4 + k % 4);
                assert_int_equal(blocks_scale_at(&blocks_fp8_blocks, across, r, k), r * across + k);
            }
    /* No two scales share a place, and all have one. */
    const block_layout *const layouts[] = {&blocks_fp8_blocks, &blocks_fp8_squares, &blocks_mxfp8, &blocks_mxfp4,
                                           &blocks_nvfp4};
    for (int l = 0; l < 5; l++)
        for (int64_t rows = 1; rows < 400; rows += 57)
            for (int64_t cols = 16; cols < 700; cols += 80) {
                const int64_t n = blocks_scales(layouts[l], rows, cols), across = blocks_across(layouts[l], cols);
                unsigned char *seen = calloc((size_t)n, 1);
                assert_non_null(seen);
                for (int64_t r = 0; r < blocks_down(layouts[l], rows); r++)
                    for (int64_t k = 0; k < across; k++) {
                        const int64_t at = blocks_scale_at(layouts[l], across, r, k);
                        assert_true(at >= 0 && at < n && !seen[at]);
                        seen[at] = 1;
                    }
                free(seen);
            }
    assert_int_equal(blocks_scales(&blocks_nvfp4, 129, 80), 2 * 2 * 512);
    assert_int_equal(blocks_scales(&blocks_fp8_squares, 129, 257), 2 * 3);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 140, MOST_COLS = 400, MOST = MOST_ROWS * MOST_COLS };

typedef struct matrix {
    float x[MOST];
    uint16_t half[MOST];
    unsigned char q[MOST], want_q[MOST];
    unsigned char s[MOST * 4], want_s[MOST * 4];
    float scratch[MOST];
    int64_t dim[RIDGE_MAX_RANK];
} matrix;

/* Numbers of all magnitudes: each block has an exponent of its own, and each number lies at most 2^16 below it. `odd`: one
 * block in 32 has a NaN or an infinity; one in 8 is zero. */
static void draw(matrix *m, int64_t rows, int64_t cols, int64_t block, bool odd, uint64_t seed, ridge_dtype dtype) {
    static const float special[4] = {NAN, INFINITY, -INFINITY, -0.0F};
    for (int64_t i = 0; i < rows * cols; i++) {
        const uint64_t of_block = ridge_random(seed, (uint64_t)(i / block)), h = ridge_random(seed + 1, (uint64_t)i);
        const int exponent = (int)(of_block >> 8 & 255) - 140, below = (int)(h & 15);
        float v = ldexpf(2 * (float)ridge_random_unit(seed + 2, (uint64_t)i) - 1, exponent - below);
        if ((of_block & 7) == 0) v = h & 1 ? -0.0F : 0.0F;
        if (odd && (of_block >> 3 & 31) == 0 && (h >> 8) % (uint64_t)block < 2) v = special[h >> 40 & 3];
        if (!isfinite(v) && !odd) v = 1;
        if (dtype == RIDGE_BF16) {
            ridge_store(m->half, RIDGE_BF16, i, (double)v);
            v = (float)ridge_load(m->half, RIDGE_BF16, i);
        }
        m->x[i] = v;
    }
}

static float largest(const float *x, int64_t n) {
    float max = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) return NAN;
        max = fmaxf(max, fabsf(x[i]));
    }
    return max;
}

static void want_fp8(matrix *m, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j += 128) {
            const int64_t n = cols - j < 128 ? cols - j : 128;
            const float max = largest(m->x + i * cols + j, n), a = fmaxf(max, 0x1p-100F);
            const float s = isnan(max) ? NAN : a / 448, r = 448 / a;
            memcpy(m->want_s + 4 * (i * ((cols + 127) / 128) + j / 128), &s, 4);
            for (int64_t k = i * cols + j; k < i * cols + j + n; k++)
                m->want_q[k] = (unsigned char)(isnan(max) ? 0 : stored(RIDGE_E4M3, (double)(m->x[k] * r)));
        }
}

static unsigned want_scale(float max, float t) {
    if (isnan(max) || !(t >= 0) || isinf(t)) return 0x7f;
    if (t < 0x1p-100F) return max > 0 ? 0x7f : 0;
    return stored(RIDGE_UE4M3, (double)(max * (1 / (6 * t))));
}

static void want_nvfp4(matrix *m, int64_t rows, int64_t cols, float t) {
    memset(m->want_s, 0, sizeof m->want_s);
    memset(m->want_q, 0, sizeof m->want_q);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j += 16) {
            const unsigned code = want_scale(largest(m->x + i * cols + j, 16), t);
            const float s = (float)ridge_load(&(unsigned char){(unsigned char)code}, RIDGE_UE4M3, 0);
            m->want_s[blocks_scale_at(&blocks_nvfp4, cols / 16, i, j / 16)] = (unsigned char)code;
            for (int64_t k = i * cols + j; k < i * cols + j + 16; k++)
                ridge_store(m->want_q, RIDGE_E2M1, k,
                            isnan(s) ? 0
                            : s > 0  ? (double)(m->x[k] * (1 / (s * t)))
                                     : copysign(0, (double)m->x[k]));
        }
}

/* The exponent is that of the largest magnitude less `top`, that of the element type's largest value. */
static void want_mx(matrix *m, int64_t rows, int64_t cols, ridge_dtype element, int top) {
    memset(m->want_s, 0, sizeof m->want_s);
    memset(m->want_q, 0, sizeof m->want_q);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j += 32) {
            const float max = largest(m->x + i * cols + j, 32);
            const int of_max = max > 0 ? ilogb((double)max) : -1000,
                      exponent = of_max - top < -127 ? -127 : of_max - top;
            m->want_s[blocks_scale_at(&blocks_mxfp8, cols / 32, i, j / 32)] =
                (unsigned char)(isnan(max) ? 0xff : exponent + 127);
            for (int64_t k = i * cols + j; k < i * cols + j + 32; k++)
                ridge_store(m->want_q, element, k, isnan(max) ? 0 : ldexp((double)m->x[k], -exponent));
        }
}

/* Runs every CPU variant of the target on every instruction set, and compares all bytes. */
static void run_all(matrix *m, const char *name, ridge_dtype dtype, float t, size_t q_bytes, size_t s_bytes) {
    const ridge_target *target = ridge_target_find(name);
    assert_non_null(target);
    ridge_case c = {.dtype = dtype};
    memcpy(c.dim, m->dim, sizeof c.dim);
    target->derive(c.dim);
    int64_t shape[4][RIDGE_MAX_RANK];
    void *const data[] = {dtype == RIDGE_BF16 ? (void *)m->half : (void *)m->x, &t};
    DLTensor in[2], out[2];
    for (int k = 0; k < target->n_in; k++)
        in[k] = (DLTensor){.data = data[k], .ndim = ridge_spec_shape(&target->in[k], &c, shape[k]), .shape = shape[k]};
    for (int k = 0; k < 2; k++)
        out[k] = (DLTensor){.data = k ? m->s : m->q,
                            .ndim = ridge_spec_shape(&target->out[k], &c, shape[2 + k]),
                            .shape = shape[2 + k]};
    int ran = 0;
    for (int v = 0; v < target->n_variants; v++)
        for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
            const ridge_variant *variant = &target->variants[v];
            if (ridge_variant_backend(variant) != RIDGE_BACKEND_cpu || !ridge_isa_supported((ridge_isa)isa)) continue;
            memset(m->q, 0xa5, sizeof m->q), memset(m->s, 0xa5, sizeof m->s);
            const ridge_call call = {.dim = c.dim, .dtype = dtype, .in = in, .out = out, .scratch = m->scratch};
            assert_int_equal(variant->run[isa](&call), RIDGE_OK);
            for (size_t i = 0; i < s_bytes; i++)
                if (m->s[i] != m->want_s[i])
                    fail_msg("%s %s %s: byte %d of s is 0x%02x, not 0x%02x", name, variant->name,
                             ridge_isa_name((ridge_isa)isa), (int)i, m->s[i], m->want_s[i]);
            for (size_t i = 0; i < q_bytes; i++)
                if (m->q[i] != m->want_q[i])
                    fail_msg("%s %s %s: byte %d of q is 0x%02x, not 0x%02x", name, variant->name,
                             ridge_isa_name((ridge_isa)isa), (int)i, m->q[i], m->want_q[i]);
            assert_true(m->q[q_bytes] == 0xa5 && m->s[s_bytes] == 0xa5);
            ran++;
        }
    assert_true(ran >= 4);
}

static void fp8_of_all_magnitudes(void **state) {
    matrix *m = *state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        const ridge_dtype dtype = seed & 1 ? RIDGE_BF16 : RIDGE_F32;
        const int64_t rows = 1 + (int64_t)(ridge_random(seed, 1) % (MOST_ROWS - 1));
        const int64_t cols = seed < 4 ? 256 : 1 + (int64_t)(ridge_random(seed, 2) % (MOST_COLS - 1));
        m->dim[0] = rows, m->dim[1] = cols;
        draw(m, rows, cols, seed & 2 ? 128 : 7, seed & 4, seed, dtype);
        want_fp8(m, rows, cols);
        run_all(m, "quantize_fp8_blocks", dtype, 0, (size_t)(rows * cols), 4 * (size_t)(rows * ((cols + 127) / 128)));
    }
}

static void nvfp4_of_all_magnitudes(void **state) {
    matrix *m = *state;
    static const float special[] = {0, -1, NAN, INFINITY, 1e38F, 0x1p-100F, 0x1p-101F, -0.0F};
    for (uint64_t seed = 0; seed < 32; seed++) {
        const ridge_dtype dtype = seed & 1 ? RIDGE_BF16 : RIDGE_F32;
        const int64_t rows = 1 + (int64_t)(ridge_random(seed, 1) % (MOST_ROWS - 1));
        const int64_t cols = 16 + 16 * (int64_t)(ridge_random(seed, 2) % (MOST_COLS / 16 - 1));
        const float t = seed % 4 == 3 ? special[seed / 4] : ldexpf(1.3F, (int)(ridge_random(seed, 3) % 200) - 99);
        m->dim[0] = rows, m->dim[1] = cols;
        draw(m, rows, cols, seed & 8 ? 16 : 5, seed & 4, seed, dtype);
        want_nvfp4(m, rows, cols, t);
        run_all(m, "quantize_nvfp4", dtype, t, (size_t)(rows * cols / 2),
                (size_t)blocks_scales(&blocks_nvfp4, rows, cols));
    }
    /* The scale that the README recommends, and a tensor of zeros, whose scale is 0. */
    m->dim[0] = 33, m->dim[1] = 64;
    draw(m, 33, 64, 33 * 64, false, 5, RIDGE_F32);
    const float t = largest(m->x, 33 * 64) / (448 * 6);
    want_nvfp4(m, 33, 64, t);
    run_all(m, "quantize_nvfp4", RIDGE_F32, t, 33 * 32, 512);
    memset(m->x, 0, sizeof m->x), memset(m->want_q, 0, sizeof m->want_q), memset(m->want_s, 0, sizeof m->want_s);
    run_all(m, "quantize_nvfp4", RIDGE_F32, 0, 33 * 32, 512);
}

static void mx_of_all_magnitudes(void **state) {
    matrix *m = *state;
    static const struct {
        const char *name;
        ridge_dtype element;
        int top, bits;
    } formats[] = {{"quantize_mxfp8", RIDGE_E4M3, 8, 8},
                   {"quantize_mxfp8_e5m2", RIDGE_E5M2, 15, 8},
                   {"quantize_mxfp4", RIDGE_E2M1, 2, 4}};
    for (uint64_t seed = 0; seed < 48; seed++) {
        const ridge_dtype dtype = seed & 1 ? RIDGE_BF16 : RIDGE_F32;
        const int64_t rows = 1 + (int64_t)(ridge_random(seed, 1) % (MOST_ROWS - 1));
        const int64_t cols = 32 + 32 * (int64_t)(ridge_random(seed, 2) % (MOST_COLS / 32 - 1));
        m->dim[0] = rows, m->dim[1] = cols;
        draw(m, rows, cols, seed & 8 ? 32 : 5, seed & 4, seed, dtype);
        const int f = (int)(seed % 3);
        want_mx(m, rows, cols, formats[f].element, formats[f].top);
        run_all(m, formats[f].name, dtype, 0, (size_t)(rows * cols * formats[f].bits / 8),
                (size_t)blocks_scales(&blocks_mxfp8, rows, cols));
    }
}

/* ---- tensors under other names ----------------------------------------------------------------------------------- */

typedef struct named {
    uint8_t code, bits;
    uint16_t lanes;
    int64_t cols;
    int64_t stride; /* 0: dense */
    bool good;
} named;

static void bytes_and_pairs_pass(void **state) {
    matrix *m = *state;
    static const named names[] = {
        {17, 4, 1, 64, 0, true},       {17, 4, 2, 32, 0, true},       {kDLUInt, 8, 1, 32, 0, true},
        {kDLUInt, 8, 1, 32, 33, true}, {17, 4, 1, 64, 66, true},      {17, 4, 1, 64, 65, false},
        {17, 4, 2, 64, 0, false},      {kDLUInt, 8, 1, 64, 0, false}, {kDLInt, 8, 1, 32, 0, false},
        {10, 8, 1, 32, 0, false},      {kDLUInt, 8, 2, 32, 0, false}, {kDLUInt, 16, 1, 32, 0, false},
    };
    static const named scale_names[] = {
        {10, 8, 1, 512, 0, true}, {kDLUInt, 8, 1, 512, 0, true}, {12, 8, 1, 512, 0, false}};
    ridge_context *context = NULL;
    ridge_error error;
    assert_int_equal(ridge_context_create(1, &context, &error), RIDGE_OK);
    m->dim[0] = 9, m->dim[1] = 64;
    draw(m, 9, 64, 16, false, 3, RIDGE_F32);
    float t = 0x1p10F;
    want_nvfp4(m, 9, 64, t);
    for (int i = 0; i < 15; i++) {
        const named *q = &names[i < 12 ? i : 0], *s = &scale_names[i < 12 ? 0 : i - 12];
        int64_t x_shape[2] = {9, 64}, one[1] = {1}, q_shape[2] = {9, q->cols}, s_shape[2] = {1, s->cols},
                q_strides[2] = {q->stride, 1};
        const DLTensor in[2] = {
            {.data = m->x, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = x_shape},
            {.data = &t, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = one}};
        const DLTensor out[2] = {
            {.data = m->q,
             .device = {kDLCPU, 0},
             .ndim = 2,
             .dtype = {q->code, q->bits, q->lanes},
             .shape = q_shape,
             .strides = q->stride ? q_strides : NULL},
            {.data = m->s, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {s->code, s->bits, s->lanes}, .shape = s_shape}};
        memset(m->q, 0xa5, sizeof m->q), memset(m->s, 0xa5, sizeof m->s);
        const bool good = q->good && s->good;
        const ridge_status status = ridge_apply(context, "quantize_nvfp4", NULL, in, 2, out, 2, NULL, &error);
        if ((status == RIDGE_OK) != good) fail_msg("name %d: %s", i, status == RIDGE_OK ? "was taken" : error.text);
        const size_t pitch = q->stride ? (size_t)q->stride * q->bits * q->lanes / 8 : 32;
        for (size_t row = 0; good && row < 9; row++) assert_memory_equal(m->q + row * pitch, m->want_q + row * 32, 32);
        if (good) assert_memory_equal(m->s, m->want_s, 512);
        for (size_t k = 0; !good && k < 600; k++) assert_true(m->q[k] == 0xa5 && m->s[k] == 0xa5);
    }
    ridge_context_destroy(context);
}

int main(void) {
    matrix *m = calloc(1, sizeof *m);
    if (!m) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_round_as_stores_do),          cmocka_unit_test(scales_lie_where_the_layout_says),
        cmocka_unit_test_prestate(fp8_of_all_magnitudes, m), cmocka_unit_test_prestate(nvfp4_of_all_magnitudes, m),
        cmocka_unit_test_prestate(mx_of_all_magnitudes, m),  cmocka_unit_test_prestate(bytes_and_pairs_pass, m),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(m);
    return failed;
}

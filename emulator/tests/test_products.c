/* More than 10^6 products of each type and unit, bit by bit as an H200 computes them: hashes of its answers
 * (products_h200.txt, written by tests/gpu/products/products.cu) against the emulator's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mma/numbers.h"
#include "products.h"

static const ptx_type types[] = {
    [PRODUCT_F16] = PTX_F16,   [PRODUCT_BF16] = PTX_BF16, [PRODUCT_TF32] = PTX_TF32, [PRODUCT_E4M3] = PTX_E4M3,
    [PRODUCT_E5M2] = PTX_E5M2, [PRODUCT_S8] = PTX_S8,     [PRODUCT_U8] = PTX_U8,     [PRODUCT_F32] = PTX_F32,
    [PRODUCT_S32] = PTX_S32,   [PRODUCT_F64] = PTX_F64};

static bool is_wgmma(const product_row *r) { return r->unit == product_wgmma || r->unit == product_wgmma_zero; }
static const emu_dot *dot_of(const product_row *r) {
    const emu_dot *dot = emu_dot_find(90, is_wgmma(r), types[r->a], types[r->b], types[r->c]);
    assert_non_null(dot);
    return dot;
}

static uint64_t a[PRODUCT_MAX_A], b[PRODUCT_MAX_B], c[PRODUCT_MAX_C];

static void double_tile(const product_row *r, uint64_t *d) {
    double x[16 * 16], y[8 * 16], z[16 * 8];
    memcpy(x, a, (size_t)(r->m * r->k) * 8);
    memcpy(y, b, (size_t)(r->n * r->k) * 8);
    memcpy(z, c, (size_t)(r->m * r->n) * 8);
    emu_tile_double(r->m, r->n, r->k, x, y, z);
    memcpy(d, z, (size_t)(r->m * r->n) * 8);
}

static void emulated_tile(const product_row *r, uint64_t *d) {
    if (r->c == PRODUCT_F64) {
        double_tile(r, d);
        return;
    }
    static uint8_t x[EMU_MAX_M][EMU_LINE], y[EMU_MAX_N][EMU_LINE];
    static uint32_t sums[PRODUCT_MAX_C];
    for (int i = 0; i < r->m; i++) product_pack(r->a, a + i * r->k, r->k, x[i]);
    for (int i = 0; i < r->n; i++) product_pack(r->b, b + i * r->k, r->k, y[i]);
    for (int i = 0; i < r->m * r->n; i++) sums[i] = r->unit == product_wgmma_zero ? 0 : (uint32_t)c[i];
    emu_tile(dot_of(r), r->m, r->n, r->k, (const uint8_t(*)[EMU_LINE])x, (const uint8_t(*)[EMU_LINE])y, sums,
             r->unit == product_mma_satfinite);
    for (int i = 0; i < r->m * r->n; i++) d[i] = sums[i];
}

/* All 64 hashes of a row; where a sanitizer makes the program slow, each 16th. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEP = 16 };
#else
enum { STEP = 1 };
#endif

/* Hash number `index` of a row, as the GPU's program computes it. */
static uint64_t emulated_hash(int row, int index) {
    const product_row *r = &product_rows[row];
    const int outputs = r->m * r->n, tiles = PRODUCT_BLOCK * PRODUCT_BLOCKS / outputs;
    uint64_t d[PRODUCT_MAX_C], hash = 0, block = 0;
    uint32_t done = 0;
    for (int tile = 0; tile < tiles; tile++) {
        product_tile(row, (uint32_t)(index * tiles + tile), a, b, c);
        emulated_tile(r, d);
        for (int i = 0; i < outputs; i++) {
            block = product_hash(block, d[i]);
            if (++done % PRODUCT_BLOCK) continue;
            hash = product_hash(hash, block);
            block = 0;
        }
    }
    return hash;
}

static void same_bits_as_the_gpu(void **state) {
    (void)state;
    FILE *file = fopen(EMULATOR_TESTS "/products_h200.txt", "r");
    assert_non_null(file);
    for (int row = 0; row < PRODUCT_N_ROWS; row++) {
        char name[64];
        int different = 0;
        assert_int_equal(fscanf(file, "%63s", name), 1);
        assert_string_equal(name, product_rows[row].name);
        for (int i = 0; i < PRODUCT_HASHES; i++) {
            unsigned long long expected;
            assert_int_equal(fscanf(file, "%llx", &expected), 1);
            different += i % STEP == 0 && emulated_hash(row, i) != expected;
        }
        if (different)
            fail_msg("%s: %d of %d blocks of %d products differ", name, different, PRODUCT_HASHES / STEP,
                     PRODUCT_BLOCK * PRODUCT_BLOCKS);
    }
    fclose(file);
}

/* The tiles' arithmetic by floats against single products by integers. */
static void tiles_as_single_products(void **state) {
    (void)state;
    for (int row = 0; row < PRODUCT_N_ROWS; row++) {
        const product_row *r = &product_rows[row];
        if (r->c == PRODUCT_F64 || r->unit == product_mma_satfinite) continue;
        uint64_t d[PRODUCT_MAX_C];
        for (uint32_t tile = 0; tile < 64; tile++) {
            product_tile(row, tile, a, b, c);
            emulated_tile(r, d);
            for (int i = 0; i < r->m * r->n; i++) {
                uint32_t x[EMU_MAX_K], y[EMU_MAX_K];
                for (int k = 0; k < r->k; k++) {
                    x[k] = (uint32_t)a[i / r->n * r->k + k];
                    y[k] = (uint32_t)b[i % r->n * r->k + k];
                }
                uint32_t addend = r->unit == product_wgmma_zero ? 0 : (uint32_t)c[i];
                assert_int_equal(emu_dot_product(dot_of(r), x, y, r->k, addend), d[i]);
            }
        }
    }
}

/* One product changed in its last bit is seen: the hashes can fail. */
static void hashes_tell_bits_apart(void **state) {
    (void)state;
    uint64_t hash = 0, other = 0;
    for (uint64_t i = 0; i < PRODUCT_BLOCK; i++) {
        hash = product_hash(hash, 3 * i);
        other = product_hash(other, i == 500 ? 3 * i ^ 1 : 3 * i);
    }
    assert_true(hash != other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_tell_bits_apart),
        cmocka_unit_test(tiles_as_single_products),
        cmocka_unit_test(same_bits_as_the_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

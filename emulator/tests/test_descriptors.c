/* Which bytes of shared memory a matrix descriptor of wgmma names: 128 descriptors as an H200 read them
 * (descriptors_h200.txt, written by tests/gpu/products/products.cu). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "descriptors.h"
#include "mma/descriptor.h"

/* Index of the 16-bit element (row, k) in the region. */
static uint32_t element(const uint32_t *chunk, bool trans, int row, int k) {
    if (!trans) return chunk[2 * row + k / 8] / 2 + (uint32_t)k % 8;
    return chunk[row / 8 * 16 + k] / 2 + (uint32_t)row % 8;
}

static void same_elements_as_the_gpu(void **state) {
    (void)state;
    FILE *file = fopen(EMULATOR_TESTS "/descriptors_h200.txt", "r");
    assert_non_null(file);
    for (int i = 0; i < DESCRIPTOR_CASES; i++) {
        descriptor_case c = descriptor_case_of(i);
        const int rows = c.b ? DESCRIPTOR_ROWS_B : DESCRIPTOR_ROWS_A;
        emu_descriptor descriptor;
        uint32_t chunk[EMU_MAX_CHUNKS];
        unsigned long long expected;
        uint64_t hash = 0;
        assert_null(emu_descriptor_read(descriptor_bits(&c), &descriptor));
        emu_descriptor_chunks(&descriptor, c.trans, rows, 2, chunk);
        for (int row = 0; row < rows; row++)
            for (int k = 0; k < DESCRIPTOR_K; k++) hash = product_hash(hash, element(chunk, c.trans, row, k));
        assert_int_equal(fscanf(file, "%llx", &expected), 1);
        if (hash != expected)
            fail_msg("case %d: operand %c, trans %d, swizzle %d, start %u, leading %u, stride %u, base %u", i,
                     c.b ? 'b' : 'a', c.trans, c.swizzle, c.start, c.lbo, c.sbo, c.base);
    }
    fclose(file);
}

static void reserved_bits_are_told(void **state) {
    (void)state;
    const uint64_t good =
        UINT64_C(1) << 62 | UINT64_C(7) << 49 | UINT64_C(0x3fff) << 32 | UINT64_C(0x3fff) << 16 | 0x3fff;
    emu_descriptor descriptor;
    assert_null(emu_descriptor_read(good, &descriptor));
    assert_int_equal(descriptor.start, 0x3fff0);
    assert_int_equal(descriptor.line, 128);
    assert_int_equal(descriptor.base, 7);
    int told = 0;
    for (int bit = 0; bit < 64; bit++) told += emu_descriptor_read(good ^ UINT64_C(1) << bit, &descriptor) != NULL;
    assert_int_equal(told, 2 + 2 + 3 + 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_elements_as_the_gpu),
        cmocka_unit_test(reserved_bits_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

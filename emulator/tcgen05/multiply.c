/* Arithmetic of tcgen05.mma: one fused sum an instruction (mma/numbers.c has the rules and their sources). */
#include <string.h>

#include "tcgen05/product.h"

static uint32_t element(const uint8_t *line, int i, int bytes) {
    uint32_t bits = 0;
    memcpy(&bits, line + i * bytes, (size_t)bytes);
    return bits;
}

/* Sums of 32 products of 25 bits do not fit the tile's integers: one output at a time. */
static void multiply_wide(const emu_tensor_shape *shape, const uint8_t (*a)[EMU_LINE], const uint8_t (*b)[EMU_LINE],
                          uint32_t *d) {
    uint32_t x[EMU_MAX_K], y[EMU_MAX_K];
    for (int row = 0; row < shape->m; row++) {
        for (int i = 0; i < shape->k; i++) x[i] = element(a[row], i, 1);
        for (int column = 0; column < shape->n; column++) {
            for (int i = 0; i < shape->k; i++) y[i] = element(b[column], i, 1);
            uint32_t *at = &d[row * shape->n + column];
            *at = emu_dot_product(shape->dot, x, y, shape->k, *at);
        }
    }
}

void emu_tensor_multiply(const emu_tensor_shape *shape, const uint8_t (*a)[EMU_LINE], const uint8_t (*b)[EMU_LINE],
                         int scale, uint32_t *d) {
    const emu_dot *dot = shape->dot;
    for (int i = 0; scale && i < shape->m * shape->n; i++)
        d[i] = emu_dot_scaled(dot->accumulator == PTX_F16, d[i], scale);
    if (dot->kind == EMU_DOT_FUSED && shape->k > 16) {
        multiply_wide(shape, a, b, d);
        return;
    }
    const int rows = shape->m < EMU_MAX_M ? shape->m : EMU_MAX_M;
    for (int row = 0; row < shape->m; row += rows)
        emu_tile(dot, rows, shape->n, shape->k, a + row, b, d + row * shape->n, shape->saturate);
}

/* Arithmetic of tcgen05.mma: one fused sum an instruction (mma/numbers.c has the rules and their sources). Of sparse A it is the
 * sum of the products that A keeps. */
#include <string.h>

#include "tcgen05/product.h"

static uint32_t element(const uint8_t *line, int i, int bytes) {
    uint32_t bits = 0;
    memcpy(&bits, line + i * bytes, (size_t)bytes);
    return bits;
}

void emu_tensor_select(int n, const uint8_t place[EMU_LINE], const uint8_t (*b)[EMU_LINE], uint8_t (*out)[EMU_LINE]) {
    for (int column = 0; column < n; column++)
        for (int i = 0; i < EMU_LINE; i++)
            out[column][i] = b[place[i] / EMU_LINE * EMU_MAX_N + column][place[i] % EMU_LINE];
}

/* Sums of 32 products of 25 bits do not fit the tile's integers: one output at a time. */
static void multiply_wide(const emu_tensor_shape *shape, emu_tensor_rows a, const uint8_t (*all)[EMU_LINE],
                          uint32_t *d) {
    static uint8_t kept[EMU_MAX_N][EMU_LINE]; /* one thread runs everything */
    const uint8_t(*b)[EMU_LINE] = shape->sparse ? (const uint8_t(*)[EMU_LINE])kept : all;
    uint32_t x[EMU_MAX_K], y[EMU_MAX_K];
    for (int row = 0; row < shape->m; row++) {
        if (shape->sparse) emu_tensor_select(shape->n, a.place[row], all, kept);
        for (int i = 0; i < shape->k; i++) x[i] = element(a.line[row], i, 1);
        for (int column = 0; column < shape->n; column++) {
            for (int i = 0; i < shape->k; i++) y[i] = element(b[column], i, 1);
            uint32_t *at = &d[row * shape->n + column];
            *at = emu_dot_product(shape->dot, x, y, shape->k, *at);
        }
    }
}

/* Elements of k that rows keep, from the places of their bytes. */
static void multiply_sparse(const emu_tensor_shape *shape, int rows, emu_tensor_rows a, const uint8_t (*b)[EMU_LINE],
                            uint32_t *d) {
    uint8_t kept[EMU_MAX_M][EMU_LINE];
    const int bytes = EMU_LINE / shape->k;
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < shape->k; i++) kept[row][i] = (uint8_t)(a.place[row][i * bytes] / bytes);
    emu_tile_sparse(shape->dot, rows, shape->n, shape->k, a.line, (const uint8_t(*)[EMU_LINE])kept, b, d,
                    shape->saturate);
}

void emu_tensor_multiply(const emu_tensor_shape *shape, emu_tensor_rows a, const uint8_t (*b)[EMU_LINE], int scale,
                         uint32_t *d) {
    const emu_dot *dot = shape->dot;
    for (int i = 0; scale && i < shape->m * shape->n; i++)
        d[i] = emu_dot_scaled(dot->accumulator == PTX_F16, d[i], scale);
    if (dot->kind == EMU_DOT_FUSED && shape->k > 16) {
        multiply_wide(shape, a, b, d);
        return;
    }
    const int rows = shape->m < EMU_MAX_M ? shape->m : EMU_MAX_M;
    for (int row = 0; row < shape->m; row += rows)
        if (shape->sparse)
            multiply_sparse(shape, rows, (emu_tensor_rows){a.line + row, a.place + row}, b, d + row * shape->n);
        else
            emu_tile(dot, rows, shape->n, shape->k, a.line + row, b, d + row * shape->n, shape->saturate);
}

/* What GPU kernels are told before they start, as far as it can be checked without a GPU: every tile of a product comes
 * exactly once whatever the order, and scratch has room for what is kept in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/random.h"
#include "cuda/pipe/order.h"
#include "cuda/linear/loss_scratch.h"
#include "cuda/linear/softmax_scratch.h"
#include "gemm/fp8.h"

static int draw(uint64_t seed, uint64_t i, int low, int high) {
    return low + (int)(ridge_random_unit(seed, i) * (high - low + 1));
}

static void every_tile_comes_once(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const int rows = draw(seed, 0, 1, 70), units = draw(seed, 1, 1, 70);
        const int band = draw(seed, 2, 1, 80), panel = draw(seed, 3, 0, 80);
        unsigned char *seen = calloc((size_t)(rows * units), 1);
        assert_non_null(seen);
        for (int i = 0; i < rows * units; i++) {
            const matmul_place at = matmul_place_of(i, rows, units, band, panel);
            assert_in_range(at.row, 0, rows - 1);
            assert_in_range(at.unit, 0, units - 1);
            assert_int_equal(seen[at.row * units + at.unit]++, 0);
        }
        free(seen);
    }
}

/* The tiles of a row follow each other when bands are one row high: softmax_epilogue counts on it. */
static void bands_of_one_row_are_rows(void **state) {
    (void)state;
    for (int i = 0; i < 35 * 9; i++) {
        const matmul_place at = matmul_place_of(i, 35, 9, 1, 0);
        assert_int_equal(at.row, i / 9);
        assert_int_equal(at.unit, i % 9);
    }
}

static void bands_share_their_columns(void **state) {
    (void)state;
    for (int i = 0; i < 8 * 20; i++) { /* the first band of eight rows */
        const matmul_place at = matmul_place_of(i, 32, 20, 8, 0);
        assert_int_equal(at.unit, i / 8);
        assert_int_equal(at.row, i % 8);
    }
}

static void loss_scratch_has_room(void **state) {
    (void)state;
    static const ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_TF32, RIDGE_BF16, RIDGE_F16};
    for (uint64_t seed = 0; seed < 400; seed++) {
        const int64_t rows = draw(seed, 0, 1, 70000), classes = draw(seed, 1, 1, 300000);
        const int64_t depth = draw(seed, 2, 1, 9000);
        const ridge_dtype dtype = dtypes[seed % 4];
        const linear_loss_scratch s = linear_loss_scratch_of(LINEAR_LOSS_TILES, rows, depth, classes, dtype, true);
        const int64_t element = (int64_t)ridge_dtype_size(linear_gradient_dtype(dtype));
        assert_in_range(s.chunk, 1, rows);
        assert_true(s.chunk == rows || s.chunk % 256 == 0);
        assert_true(s.gradient_stride >= classes && s.gradient_stride % 16 == 0);
        assert_true(s.chunk <= 256 || s.chunk * s.gradient_stride * element <= LINEAR_GRADIENT_BYTES);
        assert_true(s.bytes - s.gradient >= (size_t)(s.chunk * s.gradient_stride * element));
        assert_true(s.gradient - s.columns >= (size_t)((s.chunk + 255) / 256 * classes) * sizeof(float));
        assert_true(s.columns - s.shifts >= (size_t)((classes + 63) / 64 * s.chunk) * sizeof(float));
        const int64_t tiles = (classes + 63) / 64, parts = tiles < LINEAR_PARTS ? tiles : LINEAR_PARTS;
        assert_true(s.logit_sums - s.parts >= (size_t)(parts * rows) * sizeof(softmax_part));
        assert_int_equal(s.gradient % 1024, 0);
    }
}

/* Tiles count scales in 32 bits: those of a view whose lines lie farther apart are for other ways. */
static void far_scales_are_not_for_tiles(void **state) {
    (void)state;
    const ridge_operand dense = {.stride = {64, 1}}, apart = {.stride = {1 << 20, 1}};
    assert_true(fp8_scales_are_near(&dense, 1 << 24));
    assert_false(fp8_scales_are_near(&dense, 1 << 25));
    assert_true(fp8_scales_are_near(&apart, 2047));
    assert_false(fp8_scales_are_near(&apart, 4096));
}

/* Issue: the logits are never in memory, and what is does not grow with the classes. */
static void forward_scratch_is_by_rows_alone(void **state) {
    (void)state;
    const size_t at = linear_loss_scratch_of(LINEAR_LOSS_TILES, 8192, 4096, 131072, RIDGE_BF16, false).bytes;
    assert_true(at <= (size_t)64 << 20);
    assert_int_equal(linear_loss_scratch_of(LINEAR_LOSS_TILES, 8192, 4096, 1 << 24, RIDGE_BF16, false).bytes, at);
    assert_true(linear_loss_scratch_of(LINEAR_LOSS_TILES, 8192, 4096, 131072, RIDGE_BF16, true).bytes <= (size_t)3
                                                                                                             << 29);
    const size_t split =
        linear_loss_scratch_of(LINEAR_LOSS_SPLIT, 8192, 4096, 131072, RIDGE_F32, false).bytes; /* and x in halves */
    const size_t halves = (size_t)linear_split_bytes(8192, 4096, 2) + (size_t)LINEAR_SPLIT_CLASS_BYTES;
    assert_true(split <= at + halves + (1 << 20));
    assert_int_equal(linear_loss_scratch_of(LINEAR_LOSS_SPLIT, 8192, 4096, 1 << 20, RIDGE_F32, false).bytes, split);
}

/* Of a chunk of gradients, and of what is left at the end. */
static void sums_have_room(void **state) {
    (void)state;
    for (int64_t rows = 1; rows <= 20000; rows += 1 + rows / 100)
        for (int64_t chunk = rows < 256 ? rows : (rows + 255) / 256 * 256; chunk <= 20224; chunk += 256)
            assert_true(linear_sum_blocks(rows) <= linear_sum_blocks(chunk));
    for (int64_t rows = 1; rows <= 8192; rows++) assert_in_range(linear_sum_blocks(rows), 1, 32);
}

/* Every product's operands in one part of fp16 or two, whole slices of 64. */
static void split_scratch_has_room(void **state) {
    (void)state;
    int taken = 0;
    for (uint64_t seed = 0; seed < 800; seed++) {
        const int parts = 1 + (int)(seed / 2 % 2), way = parts == 2 ? LINEAR_LOSS_SPLIT : LINEAR_LOSS_HALF;
        const int64_t rows = draw(seed, 0, 1, 9000), depth = draw(seed, 1, 1, 9000), classes = draw(seed, 2, 1, 9000);
        const bool gradients = seed % 2;
        const linear_loss_scratch s = linear_loss_scratch_of(way, rows, depth, classes, RIDGE_F32, gradients);
        if (!linear_split_fits(rows, depth, classes, gradients, parts)) {
            assert_int_equal(s.bytes, 0);
            continue;
        }
        taken++;
        const int64_t product[][3] = {{rows, classes, depth}, {rows, depth, classes}, {classes, depth, rows}};
        for (int p = 0; p < (gradients ? 3 : 1); p++) {
            const size_t slices = (size_t)(product[p][2] + 63) / 64 * 64 * (size_t)parts * sizeof(uint16_t);
            const int64_t n = gradients ? product[p][1] : linear_split_classes(classes, depth, parts);
            for (int order = 0; order < (p == 2 ? 2 : 1); order++) { /* dw may be made turned */
                const size_t left = (size_t)((order ? n : product[p][0]) + 7) / 8 * 8,
                             right = (size_t)((order ? product[p][0] : n) + 7) / 8 * 8;
                assert_true(s.right - s.left >= left * slices);
                assert_true(s.left_undo - s.right >= right * slices);
                assert_true(s.right_undo - s.left_undo >= left * sizeof(float));
                assert_true(s.most - s.right_undo >= right * sizeof(float));
                const int64_t m = product[p][order], c = product[p][1 - order];
                if (p > 0) assert_true((double)(s.infinite - s.sums) >= linear_split_sums(m, c, product[p][2], parts));
            }
        }
        assert_true(s.bytes >= s.infinite + sizeof(unsigned));
        assert_true((double)(s.left_undo - s.left) <= (double)LINEAR_SPLIT_BYTES + 2048);
    }
    assert_true(taken > 50);
}

static void softmax_scratch_has_room(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const int64_t rows = draw(seed, 0, 1, 9000), depth = draw(seed, 1, 1, 9000), classes = draw(seed, 2, 1, 9000);
        const int64_t heads = draw(seed, 3, 1, 20), all = heads * linear_softmax_wide(classes);
        const ridge_dtype dtype = seed % 2 ? RIDGE_F32 : RIDGE_BF16;
        const int way = seed % 2 ? LINEAR_TILES_SPLIT : LINEAR_TILES_16;
        if (classes > LINEAR_TILES_CLASSES) continue;
        const linear_softmax_scratch s = linear_softmax_scratch_of(way, rows, depth, classes, heads, dtype);
        const size_t padded = (size_t)linear_softmax_padded(depth), two = 2 * sizeof(uint16_t);
        assert_true(padded >= (size_t)depth && padded % 64 == 0);
        assert_true(s.arrived - s.parts >= (size_t)(rows * (all / 128)) * sizeof(softmax_part));
        assert_true(s.x - s.arrived >= (size_t)heads * ((size_t)rows / 64 + 4) * sizeof(unsigned));
        if (dtype == RIDGE_F32) {
            assert_true(s.w - s.x >= (size_t)rows * padded * two);
            assert_true(s.x_undo - s.w >= (size_t)all * padded * two);
        }
    }
}

/* A gradient's product [m, n] of a depth k, as it is or transposed. */
static bool sums_fit(const linear_loss_scratch *s, int64_t m, int64_t n, int64_t k, int parts) {
    const double most = (double)(s->bytes - s->sums);
    return linear_split_sums(m, n, k, parts) <= most && linear_split_sums(n, m, k, parts) <= most;
}
/* Split-K of gradients, of the first chunk of rows and of the last: in 16 bits, and by multiply-adds. */
static void shares_of_way_have_room(int way) {
    const int parts = linear_gradient_parts(way);
    int shared = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        const int64_t rows = draw(seed, 0, 1, seed % 2 ? 2000 : 1 << 22), depth = draw(seed, 1, 1, 3000);
        const int64_t classes = draw(seed, 2, 1, seed % 3 ? 300 : 30000);
        const linear_loss_scratch s = linear_loss_scratch_of(way, rows, depth, classes, RIDGE_F16, true);
        const int64_t last = rows - (rows - 1) / s.chunk * s.chunk;
        for (int end = 0; end <= 1; end++) {
            const int64_t some = end ? last : s.chunk;
            assert_true(sums_fit(&s, some, depth, classes, parts) && sums_fit(&s, classes, depth, some, parts));
            shared += linear_split_shares(classes, depth, some, parts) > 1;
        }
        assert_int_equal(linear_split_shares(depth, classes, rows, parts),
                         linear_split_shares(classes, depth, rows, parts));
    }
    assert_true(shared > 400);
}
static void shares_have_room(void **state) {
    (void)state;
    shares_of_way_have_room(LINEAR_LOSS_TILES);
    shares_of_way_have_room(LINEAR_LOSS_FFMA);
    shares_of_way_have_room(SKINNY_SINGLE);
}

/* Every step of a depth is in one share, none of which is empty; few tiles have enough of them for all SMs. */
static void shares_cover_the_depth(void **state) {
    (void)state;
    int shared = 0;
    for (uint64_t seed = 0; seed < 4000; seed++) {
        const int64_t depth = draw(seed, 0, 1, seed % 2 ? 6000 : 1 << 20);
        const int64_t m = draw(seed, 1, 1, seed % 3 ? 128 : 3000), n = draw(seed, 2, 1, 1000);
        const any_split s = any_split_for(m, n, depth);
        assert_in_range(s.shares, 1, ANY_SPLIT_MOST);
        if (s.shares == 1) continue;
        shared++;
        assert_int_equal(s.each % any_tilings[s.tiles].turn, 0);
        assert_true((s.shares - 1) * s.each < depth && depth <= s.shares * s.each);
        assert_true(any_tiles_of(s.tiles, m, n) * s.shares <= ANY_SPLIT_TURNS * ANY_SPLIT_SMS);
    }
    assert_true(shared > 1000);
    const any_split few = any_split_for(48, 280, 77040);
    assert_true(any_tiles_of(few.tiles, 48, 280) * few.shares >= ANY_SPLIT_SMS);
}

/* Rows of a phase begin alike between boundaries of 16 bytes, and no fewer phases would do. */
static void rows_have_phases(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        const int bytes = seed % 2 ? 4 : 2;
        const uintptr_t address = (uintptr_t)(bytes * draw(seed, 0, 0, 1000));
        const int64_t line = draw(seed, 1, 0, 70), rows = draw(seed, 2, 1, 40);
        const thin_phases p = thin_phases_of(address, line, rows, bytes);
        assert_in_range(p.count, 1, 16 / bytes);
        for (int64_t r = 0; r < rows; r++) {
            const uintptr_t begin = address + (uintptr_t)(r * line * bytes);
            assert_int_equal(begin % 16 / (unsigned)bytes, (p.first + r % p.count * p.step) % (16 / bytes));
        }
        if (p.count > 1) assert_true(p.count / 2 * line * bytes % 16 != 0);
    }
}

/* Few columns: w's fragments and the sums of all shares, of every chunk of rows, fit before what lies behind. */
static void few_columns_have_room(void **state) {
    (void)state;
    static const ridge_dtype types[] = {RIDGE_F32, RIDGE_TF32, RIDGE_BF16, RIDGE_F16};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const ridge_dtype type = types[seed % 4];
        const bool exact = type == RIDGE_F32;
        const int64_t rows = draw(seed, 0, 1, seed % 3 ? 1 << 22 : 3000), depth = draw(seed, 1, 1, 5000);
        const int64_t classes = draw(seed, 2, 1, exact ? THIN_EXACT : THIN_COLUMNS);
        const int bytes = (int)ridge_dtype_size(type);
        const linear_loss_scratch s = linear_loss_scratch_of(LINEAR_LOSS_THIN, rows, depth, classes, type, true);
        const int64_t width = 16 / bytes, step = THIN_STEP_BYTES / bytes, steps = (depth + width - 1 + step - 1) / step;
        const size_t fragments = (size_t)(width * steps) * 512 * (exact ? 2 : 1);
        assert_true(8 * thin_tiles(classes) >= classes);
        assert_true(s.range - s.thin >= fragments * (size_t)thin_tiles(classes));
        for (int64_t first = 0; first < rows; first += s.chunk) {
            const int64_t some = rows - first < s.chunk ? rows - first : s.chunk;
            for (int phases = 1; phases <= 16 / bytes; phases *= 2) {
                const int shares = across_shares(some, depth, classes, bytes, phases);
                assert_in_range(shares, 1, ACROSS_SHARES);
                assert_int_equal(shares % phases, 0);
                assert_true(s.bytes - s.sums >= (size_t)(shares * classes * across_stride(depth) * 4));
                assert_true(s.gradient - s.columns >= (size_t)(shares * classes * 4));
            }
        }
    }
}

/* Every row and column of a product of few terms is a block's, and of a long depth a warp's. */
static void few_columns_are_shared(void **state) {
    (void)state;
    int joined = 0;
    for (uint64_t seed = 0; seed < 5000; seed++) {
        const int bytes = seed % 2 ? 4 : 2, phases = 1 << draw(seed, 0, 0, bytes == 4 ? 2 : 3);
        const bool exact = seed % 4 == 1;
        const thin_phases p = {phases, 0, 16 / bytes / phases};
        const int64_t rows = draw(seed, 1, 1, 1 << 20), columns = draw(seed, 2, 1, 40000);
        const outer_shares o = outer_shares_of(rows, columns, p, bytes, exact);
        const int64_t tiles = thin_row_tiles(rows, thin_rows_of(OUTER_COLUMNS / 8, exact), p) / phases;
        assert_true(o.count >= 1 && o.each >= 1 && o.count * o.each >= tiles);
        assert_true(o.across * OUTER_COLUMNS >= columns + (thin_aligned(p) ? 0 : 16 / bytes - 1));
        const int64_t steps = draw(seed, 3, 1, 3000);
        const int n = 1 << draw(seed, 4, 0, 4), of_warp = thin_rows_of(n, false);
        const thin_shares s = thin_shares_of(rows, n, of_warp, steps, p, seed % 3 ? 90 : 80, 132);
        assert_true(s.warps == 1 || steps >= s.warps * s.blocks * THIN_DEEP);
        assert_true(s.blocks == 1 || (s.warps == THIN_WARPS && seed % 3));
        joined += s.blocks > 1;
    }
    assert_true(joined > 5);
    const thin_phases one = {1, 0, 0};
    const thin_shares few = thin_shares_of(64, 4, 32, 1024, one, 90, 132);
    assert_int_equal(few.blocks, THIN_CLUSTER);
}

/* Copied weights lie in lines of the classes, so many at a time, or of the depth: both fit before what lies behind. */
static void copies_have_room(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const int64_t rows = draw(seed, 0, 1, 5000), depth = draw(seed, 1, 1, 5000);
        const int64_t classes = draw(seed, 2, 1, seed % 3 ? 300 : 200000), padded = (depth + 15) / 16 * 16;
        const int bytes = seed % 2 ? 4 : 2;
        const int64_t heads = draw(seed, 3, 1, 9), size = padded * bytes;
        const linear_copies s = linear_copies_of(rows, depth, classes, heads, bytes);
        assert_true(s.w - s.x >= (size_t)(rows * size));
        assert_true(s.w_stride > 1 && s.w_stride >= classes);
        assert_true(s.bytes - s.w >= (size_t)(heads * size * s.w_stride));
        for (int gradients = 0; gradients <= 1; gradients++) {
            const linear_loss_copies l = linear_loss_copies_of(rows, depth, classes, bytes, gradients);
            assert_true(l.w - l.x >= (size_t)(rows * size));
            assert_true(l.w_stride > 1 && l.w_stride >= l.classes && l.classes <= classes && l.classes >= 1);
            assert_true(l.dx - l.w >= (size_t)(size * l.w_stride));
            if (!gradients) continue;
            assert_true(l.dw - l.dx >= (size_t)(rows * size) && l.bytes - l.dw >= (size_t)(size * l.w_stride));
        }
    }
}

/* Copies of several heads in 16 bits: lines that TMA takes, whole tiles of a head. */
static void copies_of_heads_have_room(void **state) {
    (void)state;
    int taken = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const int64_t rows = draw(seed, 0, 1, 9000), depth = draw(seed, 1, 1, 9000), classes = draw(seed, 2, 1, 2000);
        const int64_t heads = draw(seed, 3, 1, 70);
        const int64_t tile = linear_heads_tile(classes), wide = linear_heads_wide(classes), columns = heads * wide;
        const linear_softmax_scratch s =
            linear_softmax_scratch_of(LINEAR_TILES_HEADS, rows, depth, classes, heads, RIDGE_BF16);
        assert_int_equal(linear_softmax_scratch_of(LINEAR_TILES_HEADS, rows, depth, classes, heads, RIDGE_F32).bytes,
                         0);
        assert_true(wide >= classes && wide % tile == 0);
        if (s.bytes == 0) continue;
        taken++;
        assert_true(s.w - s.x >= (size_t)(rows * depth) * sizeof(uint16_t));
        assert_true(s.x_undo - s.w >= (size_t)(columns * depth) * sizeof(uint16_t));
        assert_true(s.arrived - s.parts >= (size_t)(rows * (columns / tile)) * sizeof(softmax_part));
    }
    assert_true(taken > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tile_comes_once),
        cmocka_unit_test(bands_of_one_row_are_rows),
        cmocka_unit_test(bands_share_their_columns),
        cmocka_unit_test(loss_scratch_has_room),
        cmocka_unit_test(far_scales_are_not_for_tiles),
        cmocka_unit_test(forward_scratch_is_by_rows_alone),
        cmocka_unit_test(sums_have_room),
        cmocka_unit_test(split_scratch_has_room),
        cmocka_unit_test(softmax_scratch_has_room),
        cmocka_unit_test(shares_have_room),
        cmocka_unit_test(shares_cover_the_depth),
        cmocka_unit_test(rows_have_phases),
        cmocka_unit_test(few_columns_have_room),
        cmocka_unit_test(few_columns_are_shared),
        cmocka_unit_test(copies_have_room),
        cmocka_unit_test(copies_of_heads_have_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

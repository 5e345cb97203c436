/* Matrix products on a GPU: which way runs what, and that shares of K cover it, computed without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "gemm/any_shares.h"
#include "gemm/few_rows.h"
#include "gemm/gemv.h"
#include "gemm/hi_lo.h"
#include "gemm/shallow.h"
#include "gemm/waves.h"
#include "gemm/ways.h"
#include "gemm/wgmma.h"

static const ridge_abilities h200 = {.sm = 90, .sm_count = 132}, a100 = {.sm = 80, .sm_count = 108},
                             b200 = {.sm = 100, .sm_count = 148};

typedef struct shape {
    int64_t m, n, k;
    ridge_dtype dtype;
    unsigned column_major;
    const char *way;
} shape;

static ridge_problem problem_of(const shape *s, const ridge_abilities *here) {
    const ridge_case c = {.dim = {s->m, s->n, s->k}, .dtype = s->dtype, .option = {1}, .column_major = s->column_major};
    ridge_problem p;
    ridge_problem_dense(ridge_target_find("gemm"), &c, here, &p);
    return p;
}

/* As ridge_way_choose, in builds without CUDA too. */
static const char *chosen(const ridge_problem *p) {
    const ridge_way *best = NULL;
    double least = 0;
    for (int w = 0; w < GEMM_CUDA_WAYS; w++) {
        const ridge_way *way = &gemm_cuda_ways[w];
        if (p->here.sm < way->needs || (way->below && p->here.sm >= way->below)) continue;
        const ridge_plan plan = way->plan(way, p);
        if (plan.refusal) continue;
        assert_true(plan.us > 0);
        if (!best || plan.us < least) best = way, least = plan.us;
    }
    assert_non_null(best);
    return best->name;
}

static void all_run_by(const shape *shapes, size_t n, const ridge_abilities *here) {
    for (size_t i = 0; i < n; i++) {
        const ridge_problem p = problem_of(&shapes[i], here);
        if (strcmp(chosen(&p), shapes[i].way) != 0)
            fail_msg("%dx%dx%d: %s, not %s", (int)shapes[i].m, (int)shapes[i].n, (int)shapes[i].k, chosen(&p),
                     shapes[i].way);
    }
}
#define ALL_RUN_BY(shapes, here) all_run_by(shapes, sizeof(shapes) / sizeof(shapes)[0], here)

static void listed_shapes_keep_their_ways(void **state) {
    (void)state;
    static const shape shapes[] = {
        {4096, 4096, 4096, RIDGE_BF16, 0, "tile_256"},
        {8192, 8192, 8192, RIDGE_F16, 0, "tile_256"},
        {4096, 4096, 4096, RIDGE_F32, 0, "hi_lo_128"},
        {1024, 8192, 8192, RIDGE_F32, 0, "hi_lo_128"},
        {2928, 1520, 5912, RIDGE_BF16, (1u << GEMM_A) | (1u << GEMM_B), "waves"},
        {2176, 936, 4288, RIDGE_BF16, 0, "tile_192"},
        {1001, 3003, 2005, RIDGE_BF16, 0, "copied"},
        {1001, 3003, 2005, RIDGE_F32, 0, "hi_lo_128"},
        {256, 256, 256, RIDGE_F32, 0, "any"},
        {11359, 11663, 15, RIDGE_BF16, 1u << GEMM_A, "shallow"},
        {1103, 1159, 17, RIDGE_F32, 1u << GEMM_A, "shallow"},
        {8192, 8192, 64, RIDGE_BF16, 0, "tile_256"},
        {1, 1, 1, RIDGE_F16, 0, "vector"},
        {1, 4096, 4096, RIDGE_BF16, 1u << GEMM_B, "vector"},
        {3449, 1, 649, RIDGE_F32, 0, "vector"},
        {1, 1263, 1393, RIDGE_BF16, 0, "vector_across"},
        {8191, 1, 8191, RIDGE_F32, 1u << GEMM_A, "vector_across"},
        {672, 1, 3, RIDGE_F32, 1u << GEMM_A, "vector_across"},
        {512, 512, 16384, RIDGE_BF16, 0, "shares_128"},
        {512, 512, 16384, RIDGE_F32, 0, "hi_lo_shares"},
        {1, 8192, 8192, RIDGE_BF16, 0, "few_rows"},
        {8, 8192, 8192, RIDGE_BF16, 0, "few_rows"},
        {16, 8192, 8192, RIDGE_BF16, 0, "few_rows"},
        {16, 8192, 8192, RIDGE_F16, 1u << GEMM_B, "few_rows"},
        {8192, 16, 8192, RIDGE_BF16, 0, "few_rows"},
        {8192, 1, 8192, RIDGE_F16, 1u << GEMM_A, "few_rows"},
        {4, 128256, 4096, RIDGE_BF16, 1u << GEMM_B, "few_rows"},
    };
    ALL_RUN_BY(shapes, &h200);
}

static void older_devices_multiply_and_add(void **state) {
    (void)state;
    static const shape shapes[] = {{4096, 4096, 4096, RIDGE_BF16, 0, "any"},
                                   {4096, 4096, 4096, RIDGE_F32, 0, "any"},
                                   {4096, 4000, 24, RIDGE_F16, 0, "shallow"}};
    ALL_RUN_BY(shapes, &a100);
}

/* Tiles by tcgen05, of a pair of blocks where rows are enough; what wgmma alone makes has no code there. */
static void blackwell_has_tiles_of_its_own(void **state) {
    (void)state;
    static const shape shapes[] = {
        {4096, 4096, 4096, RIDGE_BF16, 0, "tensor_pairs"},
        {8192, 8192, 8192, RIDGE_F16, 1u << GEMM_B, "tensor_pairs"},
        {128, 32768, 8192, RIDGE_BF16, 0, "tensor_blocks"},
        {1001, 3003, 2005, RIDGE_BF16, 0, "any"},
        {4096, 4096, 4096, RIDGE_F32, 0, "any"},
    };
    ALL_RUN_BY(shapes, &b200);
}

static int draw(uint64_t seed, uint64_t i, int low, int high) {
    return low + (int)(ridge_random_unit(seed, i) * (high - low + 1));
}
static gemm_problem drawn(uint64_t seed, ridge_dtype dtype, int m) {
    const shape s = {draw(seed, 0, 1, m), draw(seed, 1, 1, 9000), draw(seed, 2, 1, 30000), dtype, 0, NULL};
    const ridge_problem p = problem_of(&s, &h200);
    return gemm_problem_of(&gemm_cuda_ways[0], &p);
}

/* Blocks of all shares run at once, and every slice of K is in one of them. */
static void clusters_of_few_rows_cover_k(void **state) {
    (void)state;
    int shared = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        const gemm_problem g = drawn(seed, RIDGE_BF16, GEMM_FEW);
        const gemm_few_rows f = gemm_few_rows_of(&g);
        const int64_t slices = (g.k + GEMM_FEW_SLICE - 1) / GEMM_FEW_SLICE;
        const int64_t tiles = (f.other.rows + GEMM_FEW_OUTPUTS - 1) / GEMM_FEW_OUTPUTS;
        assert_true(f.each * f.cluster >= slices && f.few.rows <= GEMM_FEW);
        assert_true(f.cluster == 1 || tiles * f.cluster <= GEMM_FEW_BLOCKS * 132);
        shared += f.cluster > 1;
    }
    assert_true(shared > 300);
}

/* Scratch of linear layers is made for lines along the depth, whatever the lines are. */
static void gemv_has_no_more_shares_across(void **state) {
    (void)state;
    int fewer = 0;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        const int rows = draw(seed, 0, 1, GEMV_BATCH), depth = draw(seed, 1, 1, 30000), side = draw(seed, 2, 1, 3);
        const int outputs = draw(seed, 3, 1, seed % 2 ? 300 : 40000);
        const gemv_product tensor = (gemv_product)draw(seed, 4, GEMV_MMA_16, GEMV_MMA_SPLIT);
        const gemv_plan along = gemv_plan_of(rows, depth, outputs, side, tensor, true);
        const gemv_plan across = gemv_plan_of(rows, depth, outputs, side, tensor, false);
        assert_true(across.shares <= along.shares && across.each * across.shares >= depth);
        fewer += across.shares < along.shares;
    }
    assert_true(fewer > 1000);
}

/* Shares of few rows' products by multiply-adds cover K, and x of one fits a block's shared memory. */
static void spread_shares_cover_k(void **state) {
    (void)state;
    static const ridge_dtype types[] = {RIDGE_F32, RIDGE_BF16};
    int shared = 0, across = 0, tensor = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const shape s = {draw(seed, 0, 1, GEMV_BATCH), draw(seed, 1, 65, 30000),
                         draw(seed, 2, 1, 30000),      types[seed % 2],
                         seed % 3 ? 0 : 1u << GEMM_B,  NULL};
        const ridge_problem p = problem_of(&s, &h200);
        const gemm_problem g = gemm_problem_of(&gemm_cuda_ways[0], &p);
        const gemm_gemv v = gemm_gemv_of(&g);
        if (v.plan.product != GEMV_FFMA && v.along) continue; /* those have gemv_plan_of's shares */
        assert_true(v.us > 0 && v.plan.rows * v.plan.groups >= v.few);
        assert_true(v.plan.each * v.plan.shares >= g.k && v.plan.each * (v.plan.shares - 1) < g.k);
        assert_true(v.plan.each % GEMV_STEP == 0 && v.plan.each * v.plan.rows <= gemv_room(v.plan.product));
        shared += v.plan.shares > 1, across += v.plan.groups > 1, tensor += v.plan.product != GEMV_FFMA;
    }
    assert_true(shared > 300 && across > 100 && tensor > 100);
}

/* The first part ends with a tile and before C does, and its tiles are whole waves but for less than a line of them. */
static void waves_end_with_a_tile(void **state) {
    (void)state;
    int cut = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const int64_t m = draw(seed, 0, 1, 6000), n = 8 * draw(seed, 1, 1, 900), k = 8 * draw(seed, 2, 1, 900);
        const gemm_problem g = {.m = m,
                                .n = n,
                                .k = k,
                                .batch = 1,
                                .a = {.line = k, .step = 1},
                                .b = {.line = n, .step = 1},
                                .c = {.line = n, .step = 1},
                                .dtype = RIDGE_BF16,
                                .here = h200};
        const gemm_waves w = gemm_waves_of(&g);
        if (w.first == 0) continue;
        const gemm_tile *t = gemm_cuda_ways[w.tile].own;
        const int64_t down = GEMM_TILE_ROWS * t->cluster_m, along = t->columns * t->cluster_n;
        const int64_t side = w.rows ? (n + along - 1) / along : (m + down - 1) / down; /* clusters of a line */
        const int64_t lines = w.first / (w.rows ? down : along),
                      room = gemm_room(t, &g) / (t->cluster_m * t->cluster_n);
        const int64_t waves = (lines * side + room - 1) / room;
        assert_true(w.first % (w.rows ? down : along) == 0 && w.first < (w.rows ? m : n));
        assert_true(waves * room - lines * side < side && !t->split);
        cut++;
    }
    assert_true(cut > 500);
}

/* All tiles are some block's, the turns hold all blocks and no fewer do, and one tile a block is done no sooner. */
static void turns_hold_all_tiles(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const int64_t tiles = draw(seed, 0, 1, 400), parts = draw(seed, 1, 1, 300), resident = draw(seed, 2, 1, 2);
        const gemv_turns t = gemv_turns_of(tiles, parts, (int)resident);
        const int64_t wave = GEMV_BLOCKS / 2 * resident, blocks = (tiles + t.tiles - 1) / t.tiles * parts;
        assert_true(t.tiles >= 1 && t.tiles <= tiles);
        assert_true(blocks <= t.turns * wave && blocks > (t.turns - 1) * wave);
        assert_true(t.turns * (3 * t.tiles + 2) <= (tiles * parts + wave - 1) / wave * 5);
    }
}

/* Shares by multiply-adds cover K, none is empty, and they are made for fewer tiles than SMs alone; a K of 0 has none. */
static void shares_of_any_cover_k(void **state) {
    (void)state;
    int shared = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        gemm_problem g = drawn(seed, seed % 2 ? RIDGE_F32 : RIDGE_F16, 2000);
        if (seed % 10 == 0) g.k = 0;
        const any_split split = gemm_any_shares_of(&g).split;
        if (split.shares < 2) continue;
        assert_true(g.k > 0 && split.each % any_tilings[split.tiles].turn == 0);
        assert_true(split.each * split.shares >= g.k && split.each * (split.shares - 1) < g.k);
        assert_true(any_tiles_of(split.tiles, g.m, g.n) < h200.sm_count && split.shares <= ANY_SPLIT_MOST);
        shared++;
    }
    assert_true(shared > 300);
}

/* Every group of rows of every tile of columns is in one unit, and every block has one at least. */
static void units_of_shallow_cover_c(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const bool halves = seed % 2;
        const int m = draw(seed, 0, 1, 70000), n = draw(seed, 1, 1, 70000), sms = draw(seed, 2, 1, 150);
        const gemm_shallow_units u = gemm_shallow_units_of(m, n, halves, sms);
        const int rows = GEMM_SHALLOW_WARPS * (halves ? GEMM_SHALLOW_ROWS_16 : GEMM_SHALLOW_ROWS);
        const int columns = halves ? GEMM_SHALLOW_COLUMNS_16 : GEMM_SHALLOW_COLUMNS;
        assert_true(u.tiles * columns >= n && (u.tiles - 1) * columns < n);
        assert_true(u.groups * rows >= m && (u.groups - 1) * rows < m);
        assert_int_equal(u.count % u.tiles, 0);
        assert_true(u.count / u.tiles * u.deep >= u.groups && (u.count / u.tiles - 1) * u.deep < u.groups);
        assert_true(u.blocks >= 1 && u.blocks <= u.count && u.blocks <= GEMM_SHALLOW_BLOCKS * sms);
    }
}

/* A share ends where the hi part ends at the latest: behind it is the lo part. */
static void shares_of_hi_lo_end_with_the_part(void **state) {
    (void)state;
    static const gemm_tile tile = {128, 3, 2, 1, true, 5.2e6, 3};
    int shared = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        const gemm_problem g = drawn(seed, RIDGE_F32, 900);
        const gemm_hi_lo at = gemm_hi_lo_of(&tile, &g);
        assert_true(at.padded >= g.k && at.padded % (64 * at.shares) == 0);
        assert_true(at.b - at.a >= (size_t)((g.m + 7) / 8 * 8 * 4 * at.padded));
        assert_true(at.a_undo - at.b >= (size_t)((g.n + 7) / 8 * 8 * 4 * at.padded));
        assert_true(at.shares == 1 || at.bytes - at.sums >= (size_t)(4 * g.m * gemm_share_line(g.n) * at.shares));
        shared += at.shares > 1;
    }
    assert_true(shared > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_shapes_keep_their_ways),
        cmocka_unit_test(older_devices_multiply_and_add),
        cmocka_unit_test(blackwell_has_tiles_of_its_own),
        cmocka_unit_test(clusters_of_few_rows_cover_k),
        cmocka_unit_test(gemv_has_no_more_shares_across),
        cmocka_unit_test(spread_shares_cover_k),
        cmocka_unit_test(turns_hold_all_tiles),
        cmocka_unit_test(waves_end_with_a_tile),
        cmocka_unit_test(units_of_shallow_cover_c),
        cmocka_unit_test(shares_of_any_cover_k),
        cmocka_unit_test(shares_of_hi_lo_end_with_the_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

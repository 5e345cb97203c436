/* Tensor and bulk copies on a machine built by hand, beside a reference that goes element by element: random tensors of
 * all ranks and types, boxes, coordinates, swizzles and element strides; the bytes that mbarriers get; multicast and
 * copies to peers; what cuTensorMapEncodeTiled refuses. tests/hardware/tensor_copies.cu compares the same geometry with
 * a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "async/copy.h"

enum {
    N_BLOCKS = 2,
    SHARED = 96 * 1024,
    GLOBAL = 1 << 20,
    BARRIER = SHARED - 64,
    MBARRIER = BARRIER + EMU_SHARED_FIRST,
    CASES = 150
};

static emu_grid grid = {
    .name = "test", .number = 1, .blocks = {N_BLOCKS, 1, 1}, .threads = {32, 1, 1}, .cluster = {N_BLOCKS, 1, 1}};
static emu_cluster cluster;
static emu_block block[N_BLOCKS];
static emu_warp warp[N_BLOCKS];
static ptx_function function = {.name = "test"};
static emu_op op[1];
static emu_code code = {.function = &function, .op = op};
static uint8_t *global, *expected_global, expected_shared[N_BLOCKS][SHARED];

static int set_up(void **state) {
    (void)state;
    setenv("EMULATOR_RACES", "0", 1);
    setenv("EMULATOR_INITIALIZED", "0", 1);
    setenv("EMULATOR_MAX_FINDINGS", "1000", 1);
    setenv("EMULATOR_ARCHITECTURE", "100", 1); /* packed types, atoms of 32 and 64 bytes */
    grid.code = &code;
    grid.n_clusters = 1;
    emu_random_seed(&grid.random, 3);
    cluster = (emu_cluster){.grid = &grid, .block = block, .n_blocks = N_BLOCKS, .live_blocks = N_BLOCKS};
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        block[i] = (emu_block){
            .cluster = &cluster, .rank = i, .index = {i, 0, 0}, .warp = &warp[i], .n_warps = 1, .shared_bytes = SHARED};
        warp[i] = (emu_warp){.block = &block[i], .code = &code, .lanes = UINT32_MAX, .n_fragments = 1};
        warp[i].current = warp[i].fragment;
        emu_block_memory_begin(&block[i]);
        emu_block_async_begin(&block[i]);
        emu_mbarrier *barrier = emu_mbarrier_create(&block[i], BARRIER);
        barrier->live = true;
        emu_phase_init(&barrier->phase, 1);
        emu_mbarrier_seal(barrier);
    }
    emu_check_grid_begin(&grid);
    emu_check_cluster_begin(&cluster);
    global = emu_memory_allocate(GLOBAL, EMU_DEVICE);
    expected_global = emu_alloc(GLOBAL);
    return 0;
}

/* ---- the reference ----------------------------------------------------------------------------------------------- */
typedef struct tensor {
    int type, swizzle, fill;
    uint32_t rank, bytes, box[5], step[5];
    uint64_t size[5], stride[5]; /* stride[0]: of an element */
    uint64_t first;              /* byte of global memory */
    int32_t c[5];
} tensor;

/* Calls visit for each element that is copied: its place in shared memory before swizzling, and in global memory (-1:
 * outside). */
typedef void visit_element(const tensor *, uint32_t shared, int64_t in_global, void *context);
static void each_element(const tensor *t, visit_element *visit, void *context) {
    uint32_t n[5], span[] = {0, 32, 64, 128, 128, 128, 128};
    for (int i = 0; i < 5; i++) n[i] = i < (int)t->rank ? (t->box[i] + t->step[i] - 1) / t->step[i] : 1;
    n[0] = t->box[0];
    uint32_t pitch = t->swizzle ? span[t->swizzle] : n[0] * t->bytes, row = 0;
    for (uint32_t e = 0; e < n[4]; e++)
        for (uint32_t d = 0; d < n[3]; d++)
            for (uint32_t c = 0; c < n[2]; c++)
                for (uint32_t b = 0; b < n[1]; b++, row++)
                    for (uint32_t a = 0; a < n[0]; a++) {
                        uint32_t k[5] = {a, b * t->step[1], c * t->step[2], d * t->step[3], e * t->step[4]};
                        int64_t at = (int64_t)t->first;
                        for (int i = 0; i < (int)t->rank && at >= 0; i++) {
                            int64_t x = (int64_t)t->c[i] + k[i];
                            at = x < 0 || x >= (int64_t)t->size[i] ? -1 : at + x * (int64_t)t->stride[i];
                        }
                        visit(t, row * pitch + a * t->bytes, at, context);
                    }
}

/* CUDA C++ Programming Guide, "swizzle": the 16-byte chunk's number within its span is XORed with that of its 128-byte
 * line. The swizzle of number 5 swaps the halves of each 16 bytes of every second line. */
static uint32_t swizzled(int swizzle, uint32_t at) {
    static const uint32_t chunks[] = {1, 2, 4, 8, 4, 4, 2}, atom[] = {16, 16, 16, 16, 32, 32, 64};
    uint32_t line = at / 128, chunk = at / atom[swizzle] % chunks[swizzle];
    if (swizzle == 5 && line % 2) at = at % 16 < 8 ? at + 8 : at - 8;
    return at - chunk * atom[swizzle] + (chunk ^ line % chunks[swizzle]) * atom[swizzle];
}

static void load_element(const tensor *t, uint32_t shared, int64_t in_global, void *context) {
    uint8_t value[8];
    for (uint32_t i = 0; i < 8; i++) value[i] = !t->fill ? 0 : i % 2 ? 0x7f : 0xf7;
    if (in_global >= 0) memcpy(value, global + in_global, t->bytes);
    memcpy(expected_shared[0] + swizzled(t->swizzle, *(uint32_t *)context + shared), value, t->bytes);
}

static void store_element(const tensor *t, uint32_t shared, int64_t in_global, void *context) {
    if (in_global < 0) return;
    memcpy(expected_global + in_global, block[0].shared + swizzled(t->swizzle, *(uint32_t *)context + shared),
           t->bytes);
}

/* The rest of a 16-byte chunk that a row ends in is stored, too. */
static void store_rest(const tensor *t, uint32_t shared, int64_t in_global, void *context) {
    store_element(t, shared, in_global, context);
    if (in_global < 0) return;
    uint64_t end = (uint64_t)in_global + t->bytes;
    uint64_t row = (t->size[0] * t->bytes) % 16, next = (end + 15) / 16 * 16;
    bool last = ((uint64_t)in_global - t->first) % 16 + t->bytes == row;
    for (uint64_t at = end; last && row && at < next; at++)
        expected_global[at] =
            block[0].shared[swizzled(t->swizzle, *(uint32_t *)context + shared + t->bytes + (uint32_t)(at - end))];
}

static void count_element(const tensor *t, uint32_t shared, int64_t in_global, void *context) {
    (void)shared, (void)in_global;
    *(uint64_t *)context += t->bytes;
}

/* ---- random cases ------------------------------------------------------------------------------------------------ */
static uint32_t below(uint32_t n) { return emu_random_below(&grid.random, n); }

static tensor draw(bool store) {
    static const int types[] = {EMU_TENSOR_U8,  EMU_TENSOR_U16, EMU_TENSOR_S32, EMU_TENSOR_S64,
                                EMU_TENSOR_F16, EMU_TENSOR_F32, EMU_TENSOR_F64, EMU_TENSOR_BF16};
    static const uint32_t span[] = {256, 32, 64, 128, 128, 128, 128};
    tensor t = {.type = types[below(8)], .rank = 1 + below(5), .swizzle = (int)below(7), .first = 16 * below(64)};
    t.bytes = emu_tensor_type_bits((emu_tensor_type)t.type) / 8;
    t.fill = t.type >= EMU_TENSOR_F16 && below(2);
    t.box[0] = (below(2) ? span[t.swizzle] / 16 : 1 + below(span[t.swizzle] / 16)) * 16 / t.bytes;
    t.step[0] = 1;
    t.stride[0] = t.bytes;
    uint64_t stride = 0;
    for (uint32_t i = 0; i < t.rank; i++) {
        if (i > 0) {
            t.box[i] = 1 + below(i == 1 ? 20 : 5);
            t.step[i] = below(3) ? 1 : 1 + below(4);
            t.stride[i] = stride + 16 * below(2);
        }
        t.size[i] = 1 + below(i == 0 ? 2 * t.box[0] : i == 1 ? 24 : 5);
        stride = i == 0 ? (t.size[0] * t.bytes + 15) / 16 * 16 : t.stride[i] * t.size[i];
        t.c[i] = below(3) ? (int32_t)below((uint32_t)t.size[i] + t.box[i]) - (int32_t)t.box[i] : 0;
        if (store && t.c[i] < 0) t.c[i] = 0;
    }
    t.c[0] = t.c[0] / (int32_t)(16 / t.bytes) * (int32_t)(16 / t.bytes);
    return t;
}

static emu_tensor_request request_of(const tensor *t, emu_tensor_map *map) {
    return (emu_tensor_request){.out = map,
                                .address = global + t->first,
                                .type = t->type,
                                .rank = t->rank,
                                .sizes = t->size,
                                .strides = t->stride + 1,
                                .steps = t->step,
                                .swizzle = t->swizzle,
                                .fill = t->fill};
}

static int encode(const tensor *t, emu_tensor_map *map, const char **why) {
    const emu_tensor_request request = request_of(t, map);
    return emu_tensor_map_tiled(&request, t->box, why);
}

static void random_bytes(uint8_t *bytes, uint32_t n) {
    for (uint32_t at = 0; at + 4 <= n; at += 4) {
        uint32_t word = emu_random_next(&grid.random);
        memcpy(bytes + at, &word, 4);
    }
}

static void scramble(void) {
    random_bytes(global, GLOBAL);
    memcpy(expected_global, global, GLOBAL);
    for (uint32_t b = 0; b < N_BLOCKS; b++) {
        random_bytes(block[b].shared, BARRIER);
        memcpy(expected_shared[b], block[b].shared, SHARED);
    }
}

static void run_engines(void) {
    while (emu_engine_step(&cluster, &grid.random)) {
    }
}

static void expect_bytes(uint32_t rank, int64_t bytes) {
    emu_mbarrier *barrier = emu_mbarrier_at(&cluster, rank << EMU_SHARED_RANK_SHIFT | MBARRIER, NULL);
    assert_int_equal(barrier->phase.tx, -bytes);
    emu_mbarrier_transfer(barrier, &warp[0], op, 0, bytes);
    uint64_t phase = barrier->phase.number;
    emu_mbarrier_arrive(barrier, &warp[0], op, 0, 1, false);
    assert_int_equal(barrier->phase.number, phase + 1);
}

static void compare(const tensor *t, const char *what) {
    if (memcmp(block[0].shared, expected_shared[0], BARRIER) == 0 && memcmp(global, expected_global, GLOBAL) == 0)
        return;
    uint32_t at = 0;
    while (at < BARRIER && block[0].shared[at] == expected_shared[0][at]) at++;
    uint32_t g = 0;
    while (g < GLOBAL && global[g] == expected_global[g]) g++;
    fail_msg("%s of type %d, rank %u, swizzle %d, box %u %u %u, size %u %u, c %d %d %d: shared %u, global %u", what,
             t->type, t->rank, t->swizzle, t->box[0], t->box[1], t->box[2], (unsigned)t->size[0], (unsigned)t->size[1],
             t->c[0], t->c[1], t->c[2], at, g);
}

static void loads(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        tensor t = draw(false);
        _Alignas(64) emu_tensor_map map;
        const char *why;
        assert_int_equal(encode(&t, &map, &why), 0);
        uint32_t offset = 128 * below(9);
        uint64_t bytes = 0;
        each_element(&t, count_element, &bytes);
        if (bytes * 8 > SHARED * 4) continue;
        scramble();
        uint32_t shared = EMU_SHARED_FIRST + offset;
        emu_copy_order order = {
            .kind = EMU_COPY_LOAD, .bytes = (uint32_t)bytes, .shared = shared, .mbarrier = MBARRIER, .map = &map};
        memcpy(order.place.coordinate, t.c, sizeof t.c);
        assert_int_equal(emu_tensor_row_bytes(&map) * emu_tensor_rows(&map, EMU_TENSOR_TILE), bytes);
        assert_true(emu_copy_issue(&warp[0], op, 3, &order));
        run_engines();
        each_element(&t, load_element, &offset);
        expect_bytes(0, (int64_t)bytes);
        memcpy(expected_shared[0] + BARRIER, block[0].shared + BARRIER, SHARED - BARRIER);
        compare(&t, "load");
    }
    assert_int_equal(emu_findings_count(), 0);
}

static void stores(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        tensor t = draw(true);
        _Alignas(64) emu_tensor_map map;
        const char *why;
        assert_int_equal(encode(&t, &map, &why), 0);
        uint32_t offset = 128 * below(9);
        scramble();
        emu_copy_order order = {.kind = EMU_COPY_STORE, .shared = EMU_SHARED_FIRST + offset, .map = &map};
        order.bytes = emu_tensor_row_bytes(&map) * emu_tensor_rows(&map, EMU_TENSOR_TILE);
        if (order.bytes * 8 > SHARED * 4) continue;
        memcpy(order.place.coordinate, t.c, sizeof t.c);
        each_element(&t, store_rest, &offset);
        assert_true(emu_copy_issue(&warp[0], op, 3, &order));
        run_engines();
        compare(&t, "store");
    }
    assert_int_equal(emu_findings_count(), 0);
}

/* ---- im2col: pixels in the order of a walk, step by step ------------------------------------------------------------- */
typedef struct walk {
    tensor t;
    int lower[3], upper[3];
    uint32_t channels, pixels;
    uint16_t offset[3];
} walk;

static walk draw_walk(void) {
    walk w = {.t = draw(false), .channels = 0, .pixels = 1 + below(40)};
    tensor *t = &w.t;
    while (t->rank < 3) *t = draw(false);
    w.channels = t->box[0];
    for (uint32_t i = 1; i < t->rank; i++) {
        const bool outer = i + 1 == t->rank;
        t->step[i] = outer ? 1 : 1 + below(3);
        if (outer) continue;
        w.lower[i - 1] = (int)below(4) - 2;
        w.upper[i - 1] = (int)below(4) - 2;
        w.offset[i - 1] = (uint16_t)below(3);
        if ((int64_t)t->size[i] - 1 + w.upper[i - 1] < w.lower[i - 1]) w.upper[i - 1] = w.lower[i - 1] + 1;
        const int64_t places = (int64_t)t->size[i] - 1 + w.upper[i - 1] - w.lower[i - 1] + 1;
        t->c[i] = w.lower[i - 1] + (int32_t)below((uint32_t)places);
    }
    t->c[t->rank - 1] = (int32_t)below((uint32_t)t->size[t->rank - 1]);
    return w;
}

/* The next pixel along the first dimension that has one; those before it go back to their lower corner. */
static void take_step(const walk *w, int32_t at[5]) {
    const int outer = (int)w->t.rank - 1;
    for (int i = 1; i < outer; i++) {
        at[i] += (int32_t)w->t.step[i];
        if (at[i] <= (int64_t)w->t.size[i] - 1 + w->upper[i - 1]) return;
        at[i] = w->lower[i - 1];
    }
    at[outer]++;
}

static void load_pixel(const walk *w, const int32_t c[5], uint32_t shared) {
    for (uint32_t a = 0; a < w->channels; a++) {
        int64_t at = (int64_t)w->t.first;
        for (int i = 0; i < (int)w->t.rank && at >= 0; i++) {
            const bool spatial = i > 0 && i + 1 < (int)w->t.rank;
            const int64_t x = (int64_t)c[i] + (i == 0 ? a : spatial ? w->offset[i - 1] : 0);
            at = x < 0 || x >= (int64_t)w->t.size[i] ? -1 : at + x * (int64_t)w->t.stride[i];
        }
        load_element(&w->t, a * w->t.bytes, at, &shared);
    }
}

static void pixels(void **state) {
    static const uint32_t span[] = {0, 32, 64, 128, 128, 128, 128};
    (void)state;
    for (int k = 0; k < CASES; k++) {
        walk w = draw_walk();
        _Alignas(64) emu_tensor_map map;
        const char *why;
        const emu_tensor_request request = request_of(&w.t, &map);
        assert_int_equal(emu_tensor_map_im2col(&request, w.lower, w.upper, w.channels, w.pixels, &why), 0);
        const uint32_t row = w.channels * w.t.bytes, pitch = w.t.swizzle ? span[w.t.swizzle] : row;
        scramble();
        emu_copy_order order = {.kind = EMU_COPY_LOAD,
                                .bytes = row * w.pixels,
                                .shared = EMU_SHARED_FIRST,
                                .mbarrier = MBARRIER,
                                .map = &map,
                                .place.mode = EMU_TENSOR_IM2COL};
        memcpy(order.place.coordinate, w.t.c, sizeof w.t.c);
        memcpy(order.place.offset, w.offset, sizeof w.offset);
        assert_true(emu_copy_issue(&warp[0], op, 3, &order));
        run_engines();
        for (uint32_t p = 0; p < w.pixels; p++, take_step(&w, w.t.c)) load_pixel(&w, w.t.c, p * pitch);
        expect_bytes(0, (int64_t)row * w.pixels);
        memcpy(expected_shared[0] + BARRIER, block[0].shared + BARRIER, SHARED - BARRIER);
        compare(&w.t, "im2col");
    }
    assert_int_equal(emu_findings_count(), 0);
}

/* ---- four rows of a matrix, in any order ------------------------------------------------------------------------------ */
static void four_rows(void **state) {
    (void)state;
    for (int k = 0; k < CASES; k++) {
        const bool store = k % 2;
        tensor t = draw(store);
        while (t.rank != 2) t = draw(store);
        t.box[1] = t.step[1] = 1;
        _Alignas(64) emu_tensor_map map;
        const char *why;
        assert_int_equal(encode(&t, &map, &why), 0);
        scramble();
        emu_copy_order order = {.kind = store ? EMU_COPY_STORE : EMU_COPY_LOAD,
                                .bytes = 4 * emu_tensor_row_bytes(&map),
                                .shared = EMU_SHARED_FIRST,
                                .mbarrier = MBARRIER,
                                .map = &map,
                                .place = {EMU_TENSOR_FOUR, {t.c[0]}, {0}}};
        assert_int_equal(emu_tensor_rows(&map, EMU_TENSOR_FOUR), 4);
        for (uint32_t r = 0; r < 4; r++) { /* each row once: stores to one row would race */
            t.c[1] = (int32_t)(((uint32_t)k + r * 5) % ((uint32_t)t.size[1] + 3)) - (store ? 0 : 2);
            for (uint32_t before = 0; before < r; before++)
                if (order.place.coordinate[1 + before] == t.c[1]) t.c[1] = (int32_t)t.size[1] + (int32_t)r;
            order.place.coordinate[1 + r] = t.c[1];
            uint32_t at = r * emu_tensor_pitch(&map);
            each_element(&t, store ? store_rest : load_element, &at);
        }
        assert_true(emu_copy_issue(&warp[0], op, 3, &order));
        run_engines();
        if (!store) expect_bytes(0, order.bytes);
        memcpy(expected_shared[0] + BARRIER, block[0].shared + BARRIER, SHARED - BARRIER);
        compare(&t, store ? "scatter4" : "gather4");
    }
    assert_int_equal(emu_findings_count(), 0);
}

static void pixels_refused(void **state) {
    (void)state;
    tensor t = draw(false);
    while (t.rank != 4 || t.swizzle) t = draw(false);
    _Alignas(64) emu_tensor_map map;
    const int corner[3] = {0, 0, 0}, far_corner[3] = {128, 0, 0};
    const uint32_t c = t.box[0];
    const char *why;
    emu_tensor_request r = request_of(&t, &map);
    assert_int_equal(emu_tensor_map_im2col(&r, corner, corner, c, 8, &why), 0);
    assert_int_equal(emu_tensor_map_im2col(&r, far_corner, corner, c, 8, &why), 1);
    assert_int_equal(emu_tensor_map_im2col(&r, corner, far_corner, c, 8, &why), 1);
    assert_int_equal(emu_tensor_map_im2col(&r, NULL, corner, c, 8, &why), 1);
    assert_int_equal(emu_tensor_map_im2col(&r, corner, corner, 257, 8, &why), 1);
    assert_int_equal(emu_tensor_map_im2col(&r, corner, corner, c, 1025, &why), 1);
    assert_int_equal(emu_tensor_map_im2col(&r, corner, corner, c, 0, &why), 1);
    r.rank = 2;
    assert_int_equal(emu_tensor_map_im2col(&r, corner, corner, c, 8, &why), 1);
}

/* ---- packed elements: 16 of 4 or 6 bits lie together, and take 8 or 16 bytes of shared memory --------------------------- */
typedef struct packed {
    int type, bits, piece; /* bytes of 16 elements in 16 bytes of shared memory; 16: no gaps */
} packed;
static const packed packed_types[] = {
    {EMU_TENSOR_U4_ALIGN8, 4, 16}, {EMU_TENSOR_U4_ALIGN16, 4, 8}, {EMU_TENSOR_U6_ALIGN16, 6, 12}};

static tensor draw_packed(const packed *p) {
    static const int without_gaps[] = {0, 1, 2, 3, 4, 5, 6}, with_gaps[] = {0, 3, 4};
    static const uint32_t span[] = {128, 32, 64, 128, 128, 128, 128};
    const bool gaps = p->piece < 16;
    const uint32_t unit = gaps ? 128 : 32;
    tensor t = {.type = p->type, .rank = 2, .first = 32 * below(32), .step = {1, 1 + below(2)}, .bytes = 1};
    t.swizzle = gaps ? with_gaps[below(3)] : without_gaps[below(7)];
    t.box[0] = gaps ? 128 : 32 * (1 + below(span[t.swizzle] / 16));
    t.box[1] = 1 + below(24);
    t.size[0] = gaps ? 128 * (1 + below(3)) : 2 * (1 + below(300));
    t.size[1] = 1 + below(40);
    t.stride[1] = (t.size[0] * (uint64_t)p->bits / 8 + 31) / 32 * 32 + 32 * below(2);
    t.c[0] = (int32_t)(unit * below(4)) - (int32_t)unit;
    t.c[1] = (int32_t)below(40) - 8;
    return t;
}

static void packed_row(const tensor *t, const packed *p, uint32_t row, uint32_t at) {
    const int64_t of_row = (int64_t)t->size[0] * p->bits / 8, first = (int64_t)t->c[0] * p->bits / 8;
    const int64_t y = t->c[1] + (int64_t)(row * t->step[1]);
    for (int64_t b = 0; b < t->box[0] * (int64_t)p->bits / 8; b++) {
        const bool inside = y >= 0 && y < (int64_t)t->size[1] && first + b >= 0 && first + b < of_row;
        const uint32_t place = at + (uint32_t)(b / p->piece * 16 + b % p->piece);
        expected_shared[0][swizzled(t->swizzle, place)] =
            inside ? global[(int64_t)t->first + y * (int64_t)t->stride[1] + first + b] : 0;
    }
}

static void packed_loads(void **state) {
    static const uint32_t span[] = {0, 32, 64, 128, 128, 128, 128};
    (void)state;
    for (int i = 0; i < 3 * CASES; i++) {
        const packed *p = &packed_types[i % 3];
        const tensor t = draw_packed(p);
        _Alignas(64) emu_tensor_map map;
        const char *why;
        const uint32_t rows = (t.box[1] + t.step[1] - 1) / t.step[1], row_bytes = t.box[0] * (uint32_t)p->bits / 8;
        const uint32_t pitch = t.swizzle ? span[t.swizzle] : row_bytes / (uint32_t)p->piece * 16,
                       offset = 128 * below(9);
        assert_int_equal(encode(&t, &map, &why), 0);
        scramble();
        emu_copy_order order = {.kind = EMU_COPY_LOAD,
                                .bytes = rows * row_bytes,
                                .shared = EMU_SHARED_FIRST + offset,
                                .mbarrier = MBARRIER,
                                .map = &map};
        memcpy(order.place.coordinate, t.c, sizeof t.c);
        assert_true(emu_copy_issue(&warp[0], op, 3, &order));
        run_engines();
        for (uint32_t row = 0; row < rows; row++) packed_row(&t, p, row, offset + row * pitch);
        expect_bytes(0, rows * row_bytes); /* gaps are not counted */
        compare(&t, "packed load");
    }
    assert_int_equal(emu_findings_count(), 0);
}

/* Several copies in flight at once land whole, whatever the order of their parts. */
static void bulk_copies(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        scramble();
        int64_t arrived[N_BLOCKS] = {0};
        for (uint32_t k = 0; k < 8; k++) { /* disjoint slices of both memories */
            uint32_t bytes = 16 * below(200), slice = 8192 * k;
            uint64_t from = GLOBAL / 8 * k + 16 * below(1000);
            emu_copy_kind kind = (emu_copy_kind)below(3);
            uint32_t rank = kind == EMU_COPY_STORE ? 0 : below(N_BLOCKS);
            emu_copy_order order = {
                .kind = kind, .bytes = bytes, .global = (uintptr_t)global + from, .mbarrier = rank << 24 | MBARRIER};
            order.shared = (rank << 24) + EMU_SHARED_FIRST + slice;
            order.from = EMU_SHARED_FIRST + slice + 4096;
            const uint8_t *source =
                kind == EMU_COPY_LOAD ? global + from : block[0].shared + slice + (kind == EMU_COPY_PEER ? 4096 : 0);
            if (kind == EMU_COPY_STORE && below(2)) order.without = (uint16_t)below(1 << 16);
            uint8_t *target = kind == EMU_COPY_STORE ? expected_global + from : expected_shared[rank] + slice;
            for (uint32_t at = 0; at < bytes; at++)
                if (!(order.without >> at % 16 & 1)) target[at] = source[at];
            assert_true(emu_copy_issue(&warp[0], op, (int)k, &order));
            if (kind != EMU_COPY_STORE) arrived[rank] += bytes;
        }
        run_engines();
        for (uint32_t b = 0; b < N_BLOCKS; b++) {
            expect_bytes(b, arrived[b]);
            assert_memory_equal(block[b].shared, expected_shared[b], BARRIER);
        }
        assert_memory_equal(global, expected_global, GLOBAL);
    }
    assert_int_equal(emu_findings_count(), 0);
}

static void reductions(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        scramble();
        uint32_t bytes = 16 * (1 + below(100));
        emu_copy_order order = {.kind = below(2) ? EMU_COPY_STORE : EMU_COPY_PEER,
                                .bytes = bytes,
                                .global = (uintptr_t)global,
                                .mbarrier = MBARRIER};
        order.reduce = below(2) ? EMU_REDUCE_MAX : EMU_REDUCE_ADD;
        order.type = PTX_S32;
        order.shared = EMU_SHARED_FIRST + (order.kind == EMU_COPY_PEER ? 8192 : 0);
        order.from = EMU_SHARED_FIRST;
        uint8_t *target = order.kind == EMU_COPY_STORE ? expected_global : expected_shared[0] + 8192;
        for (uint32_t at = 0; at < bytes; at += 4) {
            int32_t a, b;
            memcpy(&a, target + at, 4);
            memcpy(&b, block[0].shared + at, 4);
            a = order.reduce == EMU_REDUCE_MAX ? (a > b ? a : b) : (int32_t)((uint32_t)a + (uint32_t)b);
            memcpy(target + at, &a, 4);
        }
        assert_true(emu_copy_issue(&warp[0], op, 0, &order));
        run_engines();
        if (order.kind == EMU_COPY_PEER) expect_bytes(0, bytes);
        assert_memory_equal(block[0].shared, expected_shared[0], BARRIER);
        assert_memory_equal(global, expected_global, GLOBAL);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */
static void refused(const tensor *t, const char *reason) {
    _Alignas(64) emu_tensor_map map;
    const char *why = NULL;
    assert_int_equal(encode(t, &map, &why), 1);
    assert_non_null(why);
    if (!strstr(why, reason)) fail_msg("refused because \"%s\", not because of \"%s\"", why, reason);
}

static void encodings(void **state) {
    (void)state;
    const tensor good = {.type = EMU_TENSOR_BF16,
                         .rank = 3,
                         .swizzle = 3,
                         .bytes = 2,
                         .box = {64, 8, 2},
                         .step = {1, 1, 1},
                         .size = {100, 20, 4},
                         .stride = {2, 208, 4160}};
    _Alignas(64) emu_tensor_map map;
    const char *why;
    tensor t = good;
    assert_int_equal(encode(&t, &map, &why), 0);
    assert_null(emu_tensor_map_wrong(&map));
    emu_tensor_request request = request_of(&t, &map);
    request.address = NULL;
    assert_int_equal(emu_tensor_map_tiled(&request, t.box, &why), 0);
    request.sizes = NULL;
    assert_int_equal(emu_tensor_map_tiled(&request, t.box, &why), 1);
    assert_int_equal(encode(&t, &map, &why), 0);
    map.stride[0] += 16;
    assert_non_null(emu_tensor_map_wrong(&map)); /* damaged */
    t = good, t.first = 8, refused(&t, "address");
    t = good, t.stride[1] = 200, refused(&t, "multiple of 16");
    t = good, t.stride[2] = UINT64_C(1) << 40, refused(&t, "2^40");
    t = good, t.size[1] = 0, refused(&t, "size of the tensor");
    t = good, t.size[1] = (UINT64_C(1) << 32) + 1, refused(&t, "size of the tensor");
    t = good, t.box[1] = 257, refused(&t, "box");
    t = good, t.box[0] = 65, refused(&t, "multiple of 16");
    t = good, t.box[0] = 72, refused(&t, "swizzle's span");
    t = good, t.step[2] = 9, refused(&t, "element stride");
    t = good, t.rank = 6, refused(&t, "rank");
    t = good, t.type = EMU_TENSOR_U16, t.fill = 1, refused(&t, "NaN");
    t = good, t.box[1] = 256, t.box[2] = 8, refused(&t, "shared memory");
    t = good, t.type = EMU_TENSOR_U4_ALIGN8, t.size[0] = 99, refused(&t, "multiple of 2 elements");
    t = good, t.type = EMU_TENSOR_U4_ALIGN8, t.box[0] = 40, refused(&t, "multiple of 16");
    t = good, t.type = EMU_TENSOR_U4_ALIGN16, t.size[0] = 128, refused(&t, "multiple of 32");
    const tensor gaps = {.type = EMU_TENSOR_U6_ALIGN16,
                         .rank = 2,
                         .swizzle = 3,
                         .box = {128, 8},
                         .step = {1, 1},
                         .size = {256, 20},
                         .stride = {0, 192}};
    t = gaps;
    assert_int_equal(encode(&t, &map, &why), 0);
    t = gaps, t.first = 16, refused(&t, "32-byte aligned");
    t = gaps, t.size[0] = 192, refused(&t, "multiple of 128 elements");
    t = gaps, t.box[0] = 64, refused(&t, "128 elements");
    t = gaps, t.swizzle = 2, refused(&t, "swizzles of 128 bytes");
    t = gaps, t.swizzle = 5, refused(&t, "flips 8 bytes");
    t = gaps, t.fill = 1, refused(&t, "NaN");
    t = good, t.size[0] = UINT64_C(1) << 32, t.stride[1] = (UINT64_C(1) << 40) - 16;
    assert_int_equal(encode(&t, &map, &why), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads),       cmocka_unit_test(pixels),     cmocka_unit_test(pixels_refused),
        cmocka_unit_test(four_rows),   cmocka_unit_test(stores),     cmocka_unit_test(packed_loads),
        cmocka_unit_test(bulk_copies), cmocka_unit_test(reductions), cmocka_unit_test(encodings)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}

/* How fast the shadow is on the patterns that kernels have: printed; the test fails only if a count is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check/check.h"
#include "core/core.h"

enum { WARPS = 8, SHARED = 64 << 10, GLOBAL = 4 << 20 };
static emu_code code;
static emu_op ops[16];
static emu_grid grid;
static emu_cluster cluster;
static emu_block block;
static emu_warp warp[WARPS];
static uint8_t shared_memory[SHARED] __attribute__((aligned(1024)));
static uint8_t *global_memory;
static emu_shadow *shared, *global;

static double seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int begin(void **state) {
    (void)state;
    static uint64_t number;
    grid = (emu_grid){.code = &code, .name = "speed", .number = ++number};
    cluster = (emu_cluster){.grid = &grid, .block = &block, .n_blocks = 1};
    block = (emu_block){.cluster = &cluster, .warp = warp, .n_warps = WARPS};
    for (uint32_t w = 0; w < WARPS; w++)
        warp[w] = (emu_warp){.block = &block, .index = w, .lanes = UINT32_MAX, .code = &code};
    emu_check_grid_begin(&grid);
    emu_check_cluster_begin(&cluster);
    emu_shadow_fresh(shared, 0, SHARED, true);
    emu_shadow_fresh(global, 0, GLOBAL, true);
    return 0;
}

static int end(void **state) {
    (void)state;
    emu_check_cluster_end(&cluster);
    emu_check_grid_end(&grid);
    emu_check_host_waited(grid.end_clock);
    emu_clock_free(grid.end_clock);
    return 0;
}

static void barrier(void) {
    emu_clock *clock = NULL;
    for (int w = 0; w < WARPS; w++) emu_release(&warp[w], &clock);
    for (int w = 0; w < WARPS; w++) emu_acquire(&warp[w], clock);
    emu_clock_free(clock);
}

/* Lane l accesses start + l * stride. */
static void access_row(emu_shadow *shadow, int w, int op, emu_access_kind kind, uint64_t start, uint32_t bytes,
                       uint64_t stride) {
    const emu_access access = {.kind = kind, .bytes = bytes};
    uint64_t at[EMU_LANES];
    for (uint64_t l = 0; l < EMU_LANES; l++) at[l] = start + l * stride;
    emu_shadow_lanes(shadow, &warp[w], &ops[op], UINT32_MAX, &access, at);
}

static void tell(const char *what, double lanes, double time) {
    print_message("%-58s %7.0f M lanes/s, %5.1f ns a warp's access\n", what, lanes / time * 1e-6, time / lanes * 32e9);
}

/* Each warp writes a row, all read all rows; twice two barriers in between. */
static void tile(uint32_t bytes, uint64_t stride, const char *name) {
    uint64_t found = emu_findings_count();
    double start = seconds(), lanes = 0;
    for (int turn = 0; turn < 400; turn++) {
        for (int w = 0; w < WARPS; w++)
            for (int k = 0; k < 4; k++, lanes += 32)
                access_row(shared, w, 0, EMU_WRITE, (uint64_t)(w * 4 + k) * 32 * stride, bytes, stride);
        barrier();
        for (int w = 0; w < WARPS; w++)
            for (int k = 0; k < 4 * WARPS; k++, lanes += 32)
                access_row(shared, w, 1, EMU_READ, (uint64_t)k * 32 * stride, bytes, stride);
        barrier();
    }
    tell(name, lanes, seconds() - start);
    assert_int_equal(emu_findings_count(), found);
}
static void tiles(void **state) {
    (void)state;
    tile(4, 4, "shared tile, 4 bytes a lane");
    tile(16, 16, "shared tile, 16 bytes a lane");
    tile(4, 36, "shared tile, 4 bytes a lane, rows padded");
    tile(2, 2, "shared tile, 2 bytes a lane");
}

static void stream(uint32_t bytes, const char *name) {
    uint64_t found = emu_findings_count();
    double start = seconds(), lanes = 0;
    for (int turn = 0; turn < 8; turn++) {
        barrier();
        for (uint64_t at = 0; at + 32 * bytes <= GLOBAL / 2; at += 32 * bytes, lanes += 64) {
            int w = (int)(at / (32 * bytes) % WARPS);
            access_row(global, w, 2, EMU_READ, at, bytes, bytes);
            access_row(global, w, 3, EMU_WRITE, GLOBAL / 2 + at, bytes, bytes);
        }
    }
    tell(name, lanes, seconds() - start);
    assert_int_equal(emu_findings_count(), found);
}
static void streams(void **state) {
    (void)state;
    stream(16, "global copy, 16 bytes a lane");
    stream(4, "global copy, 4 bytes a lane");
    stream(2, "global copy, 2 bytes a lane");
}

static void scattered(void **state) {
    (void)state;
    double start = seconds(), lanes = 0;
    for (int turn = 0; turn < 20000; turn++, lanes += 32)
        access_row(global, turn % WARPS, 4, EMU_READ, (uint64_t)(turn % 64) * 4, 4, 4096);
    tell("global reads of 4 bytes, 4096 apart", lanes, seconds() - start);
    start = seconds();
    lanes = 0;
    for (int turn = 0; turn < 20000; turn++, lanes += 32) access_row(shared, turn % WARPS, 5, EMU_READ, 0, 4, 0);
    tell("shared reads of one word by all lanes", lanes, seconds() - start);
}

static void atomics(void **state) {
    (void)state;
    const emu_access access = {.kind = EMU_UPDATE, .semantics = EMU_RELAXED, .scope = EMU_SCOPE_GPU, .bytes = 4};
    for (int fenced = 0; fenced < 2; fenced++) {
        double start = seconds(), lanes = 0;
        for (int turn = 0; turn < 20000; turn++, lanes += 32) {
            uint64_t at[EMU_LANES];
            for (uint64_t l = 0; l < EMU_LANES; l++) at[l] = (uint64_t)(turn / WARPS % 1000) * 128 + l * 4;
            emu_shadow_lanes(global, &warp[turn % WARPS], &ops[6], UINT32_MAX, &access, at);
        }
        tell(fenced ? "global atomics after a fence" : "global atomics", lanes, seconds() - start);
        for (int w = 0; w < WARPS; w++) emu_fence(&warp[w], EMU_SCOPE_GPU);
    }
}

/* A ring of stages: an engine writes a box of 16 KiB, four warps' wgmma read it in ranges of 16 bytes. */
static void pipeline(void **state) {
    (void)state;
    uint64_t found = emu_findings_count();
    const emu_access write = {.kind = EMU_WRITE, .bytes = 1}, read = {.kind = EMU_READ, .bytes = 1};
    uint32_t slot[4] = {0};
    emu_clock *empty[4] = {0};
    double time = 0, bytes_written = 0, bytes_read = 0, time_read = 0;
    for (uint64_t turn = 0; turn < 400; turn++) {
        uint64_t stage = turn % 4, base = stage * (16 << 10);
        emu_acquire(&warp[4], empty[stage]);
        emu_actor actor;
        emu_actor_of_mbarrier(&warp[4], &ops[7], 0, &block, &slot[stage], turn / 4, EMU_PROXY_ASYNC, &actor);
        double start = seconds();
        for (uint64_t row = 0; row < 128; row++, bytes_written += 128)
            emu_shadow_range(shared, &actor, &write, base + row * 128, 128);
        time += seconds() - start;
        emu_actor_end(&actor);
        emu_clock *full = NULL;
        emu_clock_phase(&full, &block, slot[stage], turn / 4);
        for (int w = 0; w < 4; w++) {
            emu_acquire(&warp[w], full);
            emu_actor_of_group(&warp[w], &ops[8], -1, EMU_STREAM_WGMMA, turn, EMU_PROXY_ASYNC, &actor);
            start = seconds();
            for (uint64_t chunk = 0; chunk < 1024; chunk++, bytes_read += 16)
                emu_shadow_range(shared, &actor, &read, base + chunk * 16, 16);
            time_read += seconds() - start;
            emu_actor_end(&actor);
        }
        for (int w = 0; w < 4; w++) {
            emu_acquire_group(&warp[w], EMU_STREAM_WGMMA, turn);
            emu_release(&warp[w], &empty[stage]);
        }
        emu_clock_free(full);
    }
    for (int i = 0; i < 4; i++) emu_clock_free(empty[i]);
    print_message("%-58s %7.0f MB/s\n", "engine writes rows of 128 bytes", bytes_written / time * 1e-6);
    print_message("%-58s %7.0f MB/s, %5.1f ns a range\n", "wgmma reads ranges of 16 bytes",
                  bytes_read / time_read * 1e-6, time_read / bytes_read * 16e9);
    assert_int_equal(emu_findings_count(), found);
}

static void synchronization(void **state) {
    (void)state;
    double start = seconds();
    enum { TURNS = 20000 };
    for (int turn = 0; turn < TURNS; turn++) {
        for (int w = 0; w < WARPS; w++) access_row(shared, w, 9, EMU_READ, 0, 4, 0);
        barrier();
    }
    print_message("%-58s %7.0f ns a warp\n", "barrier of 8 warps, one read each",
                  (seconds() - start) / TURNS / WARPS * 1e9);
    start = seconds();
    for (int turn = 0; turn < TURNS; turn++) {
        access_row(shared, 0, 9, EMU_READ, 0, 4, 0);
        emu_fence(&warp[0], EMU_SCOPE_GPU);
    }
    print_message("%-58s %7.0f ns\n", "fence after a read", (seconds() - start) / TURNS * 1e9);
}

int main(int n_arguments, char **argument) {
    if (n_arguments > 1) cmocka_set_test_filter(argument[1]);
    setenv("EMULATOR_MAX_FINDINGS", "3", 1);
    global_memory = aligned_alloc(4096, GLOBAL);
    shared = emu_shadow_create(shared_memory, SHARED, true);
    global = emu_shadow_create(global_memory, GLOBAL, false);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tiles, begin, end),
        cmocka_unit_test_setup_teardown(streams, begin, end),
        cmocka_unit_test_setup_teardown(scattered, begin, end),
        cmocka_unit_test_setup_teardown(atomics, begin, end),
        cmocka_unit_test_setup_teardown(pipeline, begin, end),
        cmocka_unit_test_setup_teardown(synchronization, begin, end),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    emu_shadow_destroy(shared);
    emu_shadow_destroy(global);
    free(global_memory);
    return failed;
}

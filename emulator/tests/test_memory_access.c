/* emu_memory_lanes() and emu_memory_range() on a machine built by hand: every edge of every space against a plain
 * reference, and the sentences of findings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "check/check.h"
#include "memory/memory.h"

enum { N_BLOCKS = 3, EXITED = 2, SHARED = 2048, LOCAL = 64, PARAMETERS = 40, N_ALLOCATIONS = 4 };

static emu_grid grid = {
    .name = "test", .number = 1, .blocks = {1, 1, 1}, .threads = {32, 1, 1}, .cluster = {N_BLOCKS, 1, 1}};
static emu_cluster cluster;
static emu_block block[N_BLOCKS];
static emu_warp warp[N_BLOCKS];
static uint8_t parameters[PARAMETERS];
static ptx_function function = {.name = "test"};
static emu_op op[1];
static emu_code code = {.function = &function, .local_bytes = LOCAL, .op = op};
static uint8_t *memory[N_ALLOCATIONS], *freed;
static const uint64_t memory_bytes[N_ALLOCATIONS] = {4096, 1, 100, 100000};

static int set_up(void **state) {
    (void)state;
    setenv("EMULATOR_RACES", "0", 1);
    setenv("EMULATOR_INITIALIZED", "0", 1);
    setenv("EMULATOR_MAX_FINDINGS", "0", 1);
    grid.code = &code;
    grid.parameters = parameters;
    grid.parameter_bytes = PARAMETERS;
    grid.n_clusters = 1;
    cluster = (emu_cluster){.grid = &grid, .block = block, .n_blocks = N_BLOCKS, .live_blocks = N_BLOCKS};
    for (uint32_t i = 0; i < N_BLOCKS; i++) {
        block[i] = (emu_block){
            .cluster = &cluster, .rank = i, .index = {i, 0, 0}, .warp = &warp[i], .n_warps = 1, .shared_bytes = SHARED};
        warp[i] = (emu_warp){.block = &block[i], .code = &code, .lanes = UINT32_MAX, .n_fragments = 1};
        warp[i].current = warp[i].fragment;
        emu_block_memory_begin(&block[i]);
    }
    emu_check_grid_begin(&grid);
    emu_check_cluster_begin(&cluster);
    block[EXITED].exited = true;
    for (int i = 0; i < N_ALLOCATIONS; i++) memory[i] = emu_memory_allocate(memory_bytes[i], EMU_DEVICE);
    freed = emu_memory_allocate(256, EMU_DEVICE);
    emu_memory_free(freed);
    return 0;
}

/* What an access of so many bytes at the address should come to: a pointer, or NULL and the key of the finding. */
static uint8_t *expected(const emu_warp *w, int lane, const emu_access *access, uint64_t address, const char **key) {
    uint64_t plain = address, bytes = access->bytes;
    ptx_space space = access->space;
    bool cluster_wide = access->cluster;
    if (space == PTX_GENERIC) {
        uint64_t top = address >> 56;
        space = top == 1 ? PTX_SHARED : top == 2 ? PTX_LOCAL : top == 3 ? PTX_PARAM : PTX_GLOBAL;
        if (top >= 1 && top <= 3) plain = address & ((UINT64_C(1) << 56) - 1);
        cluster_wide = true;
    }
    uint8_t *host = NULL;
    uint64_t size = 0, at = plain;
    *key = "out-of-bounds";
    if (space == PTX_GLOBAL) {
        for (int i = 0; i < N_ALLOCATIONS; i++) {
            uint64_t first = (uint64_t)(uintptr_t)memory[i];
            if (plain >= first && plain < first + memory_bytes[i])
                host = memory[i], size = memory_bytes[i], at = plain - first;
        }
    } else if (space == PTX_SHARED) {
        uint64_t rank = plain >> 24;
        at = plain % (1 << 24);
        if (rank >= N_BLOCKS || (rank != w->block->rank && !cluster_wide)) return NULL;
        if (rank == EXITED) {
            *key = "exited-shared-memory";
            return NULL;
        }
        if (at < 1024) return NULL;
        at -= 1024;
        host = block[rank].shared;
        size = SHARED;
    } else if (space == PTX_LOCAL) {
        host = w->local + lane * LOCAL;
        size = LOCAL;
    } else {
        host = parameters;
        size = PARAMETERS;
        if (access->kind & EMU_WRITE) return NULL;
    }
    if (host == NULL || at + bytes > size) return NULL;
    *key = "misaligned";
    return address % bytes == 0 ? host + at : NULL;
}

/* Near an edge of some region. */
static uint64_t draw_address(emu_random *random, ptx_space space, uint64_t near) {
    uint64_t jitter = emu_random_below(random, 8) != 0 ? 0 : emu_random_below(random, 40);
    uint64_t window = space == PTX_GENERIC ? UINT64_C(1) << 56 : 0;
    int i = (int)emu_random_below(random, N_ALLOCATIONS);
    uint64_t rank = emu_random_below(random, 16) != 0 ? 0 : emu_random_below(random, N_BLOCKS + 1);
    switch (space == PTX_GENERIC
                ? (ptx_space[]){PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM}[emu_random_below(random, 4)]
                : space) {
        case PTX_GLOBAL:
            if (emu_random_below(random, 30) == 0) return (uint64_t)(uintptr_t)freed;
            return (uint64_t)(uintptr_t)memory[i] + (near % memory_bytes[i]) / 16 * 16 + jitter - (jitter > 36);
        case PTX_SHARED:
            return window + (rank << 24) + 1024 + near % SHARED / 16 * 16 + jitter - (jitter > 36 ? 1040 : 0);
        case PTX_LOCAL: return 2 * window + near % LOCAL / 16 * 16 + jitter;
        default: return 3 * window + near % PARAMETERS / 16 * 16 + jitter;
    }
}

/* The error of the finding that was told is that of one of the lanes that failed. */
static bool is_kind_of_some(emu_mask mask, uint8_t *const want[EMU_LANES], const char *const keys[EMU_LANES]) {
    bool some = false;
    for (int lane = 0; lane < EMU_LANES; lane++) {
        if (!(mask >> lane & 1) || want[lane] != NULL) continue;
        int error = strcmp(keys[lane], "misaligned") == 0 ? 716 : strcmp(keys[lane], "out-of-bounds") == 0 ? 700 : 719;
        some |= grid.error == error;
    }
    return some;
}

static int failures, passes;
static void one_access(emu_random *random, emu_access access) {
    emu_warp *w = &warp[0];
    emu_mask mask =
        emu_random_below(random, 3) == 0 ? UINT32_MAX : emu_random_next(random) | 1u << emu_random_below(random, 32);
    uint64_t address[EMU_LANES], near = emu_random_next(random);
    uint8_t *pointer[EMU_LANES], *want[EMU_LANES];
    bool spread = emu_random_below(random, 2);
    const char *keys[EMU_LANES];
    bool good = true;
    if (w->local == NULL) { /* comes with the first access */
        uint64_t zeros[EMU_LANES] = {0};
        assert_true(emu_memory_lanes(w, op, 1, &(emu_access){.kind = EMU_READ, .space = PTX_LOCAL, .bytes = 1}, zeros,
                                     pointer));
    }
    for (int lane = 0; lane < EMU_LANES; lane++) {
        address[lane] = spread || lane == 0 ? draw_address(random, access.space, near + (uint64_t)lane * 16)
                                            : address[0] + (uint64_t)lane * access.bytes;
        pointer[lane] = (uint8_t *)&address[lane];
        want[lane] = expected(w, lane, &access, address[lane], &keys[lane]);
        if (mask >> lane & 1 && want[lane] == NULL) good = false;
    }
    uint64_t before = emu_findings_count();
    (void)emu_findings_take();
    grid.error = 0;
    bool ok = emu_memory_lanes(w, op, mask, &access, address, pointer);
    assert_int_equal(ok, good);
    if (good) {
        passes++;
        assert_int_equal(emu_findings_count(), before);
        for (int lane = 0; lane < EMU_LANES; lane++)
            assert_ptr_equal(pointer[lane], mask >> lane & 1 ? want[lane] : (uint8_t *)&address[lane]);
    } else {
        failures++;
        assert_int_equal(emu_findings_count(), before + 1);
        assert_true(is_kind_of_some(mask, want, keys));
    }
}

static void random_accesses(void **state) {
    (void)state;
    emu_random random;
    emu_random_seed(&random, 3);
    const ptx_space spaces[] = {PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM};
    for (int i = 0; i < 300000; i++) {
        emu_access access = {.kind = (emu_access_kind)(1 + emu_random_below(&random, 3)),
                             .space = spaces[emu_random_below(&random, 5)]};
        access.bytes = 1u << emu_random_below(&random, 5);
        access.cluster = emu_random_below(&random, 2);
        one_access(&random, access);
    }
    assert_true(passes > 10000 && failures > 10000); /* both were tried */
}

/* ---- sentences ---- */
static char sentence[4096];
static const char *said(emu_access access, uint64_t address) {
    uint64_t addresses[EMU_LANES] = {[5] = address};
    uint8_t *pointer[EMU_LANES];
    static uint32_t line;
    static ptx_instruction many[100]; /* findings that repeat at an instruction are told once */
    assert_in_range(line, 0, 99);
    ptx_instruction *fresh = &many[line];
    fresh->line = ++line;
    op[0].source = function.instruction = fresh;
    function.n_instructions = 1;
    (void)emu_findings_take();
    bool ok = emu_memory_lanes(&warp[0], op, 1u << 5, &access, addresses, pointer);
    const char *text = emu_findings_take();
    snprintf(sentence, sizeof(sentence), "%s%s", ok ? "ok" : "", text != NULL ? text : "");
    op[0].source = NULL;
    return sentence;
}
#define SAID(access, address, start, end)                                             \
    do {                                                                              \
        const char *text = said(access, address);                                     \
        if (strncmp(text, start, strlen(start)) != 0 || strlen(text) < strlen(end) || \
            strcmp(text + strlen(text) - strlen(end), end) != 0)                      \
            fail_msg("said: %s", text);                                               \
    } while (0)

static void sentences(void **state) {
    (void)state;
    uint64_t a = (uint64_t)(uintptr_t)memory[0];
    emu_access read16 = {.kind = EMU_READ, .space = PTX_GLOBAL, .bytes = 16},
               write4 = {.kind = EMU_WRITE, .space = PTX_GENERIC, .bytes = 4};
    emu_access shared8 = {.kind = EMU_UPDATE, .space = PTX_SHARED, .bytes = 8};
    SAID(read16, a + 4096 + 16,
         "out-of-bounds: ", ": reads 16 bytes at 16 bytes past the end of the allocation of 4096 bytes (cudaMalloc)");
    SAID(read16, a + 4088, "out-of-bounds: ",
         ": reads 16 bytes of which the last 8 lie past the end of the allocation of 4096 bytes (cudaMalloc)");
    SAID(read16, a - 16,
         "out-of-bounds: ", ": reads 16 bytes at 16 bytes before the allocation of 4096 bytes (cudaMalloc)");
    SAID(write4, 0, "out-of-bounds: ", ": writes 4 bytes at address 0x0, a null pointer");
    SAID(write4, 256, "out-of-bounds: ", ": writes 4 bytes at address 0x100, a null pointer and an offset");
    SAID(write4, (uint64_t)(uintptr_t)freed + 8, "out-of-bounds: ",
         ": writes 4 bytes at offset 8 of the allocation of 256 bytes (cudaMalloc), which was freed");
    SAID(shared8, 1024 + SHARED, "out-of-bounds: ",
         ": updates 8 bytes at 0 bytes past the end of shared memory of 2048 bytes of the own block");
    SAID(shared8, 1024 + SHARED - 4, "out-of-bounds: ",
         ": updates 8 bytes of which the last 4 lie past the end of shared memory of 2048 bytes of the own block");
    SAID(shared8, 1000,
         "out-of-bounds: ", ": updates 8 bytes at 24 bytes before shared memory of 2048 bytes of the own block");
    SAID(shared8, 1 << 24 | 1024, "out-of-bounds: ", ".shared::cluster is needed");
    shared8.cluster = true;
    SAID(shared8, 1 << 24 | 1024, "ok", "ok");
    SAID(shared8, 1 << 24 | 8192, "out-of-bounds: ",
         ": updates 8 bytes at 5120 bytes past the end of shared memory of 2048 bytes of block rank 1 of the cluster");
    SAID(shared8, 2 << 24 | 1024, "exited-shared-memory: ",
         ": updates 8 bytes in shared memory of 2048 bytes of block rank 2 of the cluster, which has exited");
    SAID(shared8, 7 << 24 | 1024, "out-of-bounds: ", "of block rank 7 in a cluster of 3");
    SAID(shared8, 1028, "misaligned: ", "of the own block: address 0x404 is not a multiple of 8");
    SAID(write4, a + 6, "misaligned: ", "is not a multiple of 4");
    SAID(write4, EMU_WINDOW_LOCAL + LOCAL,
         "out-of-bounds: ", ": writes 4 bytes at 0 bytes past the end of the thread's .local memory of 64 bytes");
    SAID(write4, EMU_WINDOW_PARAM + 8, "out-of-bounds: ", "the kernel's parameters (40 bytes), which is read-only");
    SAID(read16, EMU_WINDOW_SHARED + 1024, "out-of-bounds: ", "which is a generic address of .shared memory");
}

static void variables(void **state) {
    (void)state;
    static uint64_t constants[8];
    emu_allocation *a = emu_memory_register(constants, sizeof(constants), EMU_VARIABLE, "table");
    a->constant = true;
    uint64_t at = (uint64_t)(uintptr_t)constants;
    emu_access read = {.kind = EMU_READ, .space = PTX_CONST, .bytes = 8},
               write = {.kind = EMU_WRITE, .space = PTX_GLOBAL, .bytes = 8};
    SAID(read, at + 56, "ok", "ok");
    SAID(read, at + 64, "out-of-bounds: ", ": reads 8 bytes at 0 bytes past the end of variable table of 64 bytes");
    SAID(write, at + 16,
         "out-of-bounds: ", ": writes 8 bytes at offset 16 of variable table of 64 bytes, which is read-only");
    assert_true(emu_memory_free(constants));
}

static void ranges(void **state) {
    (void)state;
    emu_actor actor;
    emu_actor_of_group(&warp[0], op, 3, EMU_STREAM_BULK, 0, EMU_PROXY_ASYNC, &actor);
    emu_access read = {.kind = EMU_READ, .space = PTX_GLOBAL, .align = 16},
               write = {.kind = EMU_WRITE, .space = PTX_SHARED, .align = 16};
    uint64_t a = (uint64_t)(uintptr_t)memory[3];
    assert_ptr_equal(emu_memory_range(&actor, &block[0], &read, a + 160, 4096), memory[3] + 160);
    assert_ptr_equal(emu_memory_range(&actor, &block[0], &read, a, memory_bytes[3]), memory[3]);
    assert_null(emu_memory_range(&actor, &block[0], &read, a, memory_bytes[3] + 1));
    assert_null(emu_memory_range(&actor, &block[0], &read, a + 8, 16));
    assert_null(emu_memory_range(&actor, &block[0], &read, a - 16, 16));
    assert_null(emu_memory_range(&actor, &block[0], &read, EMU_WINDOW_LOCAL, 16));
    assert_ptr_equal(emu_memory_range(&actor, &block[1], &write, 1 << 24 | 1024, SHARED), block[1].shared);
    assert_null(emu_memory_range(&actor, &block[0], &write, 1 << 24 | 1024, 16));
    write.cluster = true;
    assert_ptr_equal(emu_memory_range(&actor, &block[0], &write, 1 << 24 | 2048, 16), block[1].shared + 1024);
    assert_null(emu_memory_range(&actor, &block[0], &write, 2 << 24 | 1024, 16));
    emu_actor_end(&actor);
}

static void pointers(void **state) {
    (void)state;
    emu_block *owner = NULL;
    assert_ptr_equal(emu_shared_pointer(&cluster, 1 << 24 | 1032, 8, &owner), block[1].shared + 8);
    assert_ptr_equal(owner, &block[1]);
    assert_null(emu_shared_pointer(&cluster, 3 << 24 | 1024, 8, &owner));
    assert_null(emu_shared_pointer(&cluster, 1020, 8, &owner));
    assert_null(emu_shared_pointer(&cluster, 1024 + SHARED - 4, 8, &owner));
    assert_non_null(emu_shared_pointer(&cluster, 1024 + SHARED - 8, 8, NULL));
    assert_int_equal(emu_memory_space(EMU_WINDOW_SHARED + 5), PTX_SHARED);
    assert_int_equal(emu_memory_space(EMU_WINDOW_LOCAL), PTX_LOCAL);
    assert_int_equal(emu_memory_space(EMU_WINDOW_PARAM + 100), PTX_PARAM);
    assert_int_equal(emu_memory_space((uint64_t)(uintptr_t)memory[0]), PTX_GLOBAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_accesses), cmocka_unit_test(sentences), cmocka_unit_test(variables),
        cmocka_unit_test(ranges),          cmocka_unit_test(pointers),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

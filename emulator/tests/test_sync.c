/* Barriers, fences and dependent launches: kernels in PTX, each with several seeds. Right ones give right answers and
 * no finding; wrong ones the finding that names their fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "run_ptx.h"

enum { SEEDS = 12, WORDS = 4096 };
static uint32_t *out;
static char report[] = "/tmp/emulator_test_sync_XXXXXX";

/* A kernel of one pointer; its registers: %tid.x in t, %laneid in lane, %cluster_ctarank in rank, the pointer in at. */
#define KERNEL_BEGIN(shared)                                                                              \
    ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k(.param .u64 p)\n{\n"                        \
    ".reg .pred a, b, c; .reg .b32 t, lane, rank, x, y, z, w; .reg .b64 at, to; " shared                  \
    "\nmov.u32 t, %tid.x; mov.u32 lane, %laneid; mov.u32 rank, %cluster_ctarank; ld.param.u64 at, [p];\n" \
    "mul.wide.u32 to, t, 4; add.u64 to, at, to;\n"
#define KERNEL_END "\nret;\n}\n"
#define KERNEL(shared, body) KERNEL_BEGIN(shared) body KERNEL_END
#define ROOM ".shared .align 4 .b8 room[4096];"

static int set_up(void **state) {
    (void)state;
    int file = mkstemp(report);
    if (file < 0 || close(file)) return 1;
    setenv("EMULATOR_MAX_FINDINGS", "1", 1);
    setenv("EMULATOR_INITIALIZED", "0", 1); /* races are told first */
    setenv("EMULATOR_REPORT", report, 1);
    out = emu_memory_allocate(WORDS * sizeof *out, EMU_PINNED);
    return out == NULL;
}

static int tear_down(void **state) {
    (void)state;
    return !emu_memory_free(out) || unlink(report);
}

/* Each run's kernel has a name of its own: findings that repeat in one kernel are told once. */
static const char *run(const char *text, uint32_t blocks, uint32_t threads, uint32_t cluster, uint64_t seed) {
    static int number;
    char named[4000], name[16];
    const char *at = strstr(text, ".entry k(");
    assert_non_null(at);
    snprintf(name, sizeof name, "k%d", ++number);
    int length =
        snprintf(named, sizeof named, "%.*s.entry %s%s", (int)(at - text), text, name, at + strlen(".entry k"));
    assert_true(length < (int)sizeof named);
    memset(out, 0xee, WORDS * sizeof *out);
    const run_shape shape = {.blocks = blocks, .threads = threads, .cluster = cluster, .seed = seed};
    return run_ptx(named, name, &shape, (const uint64_t[]){(uintptr_t)out});
}

static void assert_clean(const char *text, uint32_t blocks, uint32_t threads, uint32_t cluster,
                         uint32_t (*expected)(uint32_t), uint32_t words) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *finding = run(text, blocks, threads, cluster, seed);
        if (finding) fail_msg("seed %d: %s", (int)seed, finding);
        for (uint32_t k = 0; k < words; k++)
            if (out[k] != expected(k)) fail_msg("seed %d: [%u] is %u, not %u", (int)seed, k, out[k], expected(k));
    }
}

/* At least one of the seeds, or all of them. */
static void assert_found(const char *text, uint32_t blocks, uint32_t threads, uint32_t cluster, const char *says,
                         bool always) {
    int times = 0;
    char other[1000] = "no finding";
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *finding = run(text, blocks, threads, cluster, seed);
        if (finding && strstr(finding, says))
            times++;
        else if (finding)
            snprintf(other, sizeof other, "%s", finding);
    }
    if (always ? times < SEEDS : !times) fail_msg("'%s' in %d of %d seeds; else %s", says, times, SEEDS, other);
}

/* ---- barriers of the block ------------------------------------------------------------------- */

/* Each thread writes its number, reads that of the thread at the other end, four times over. 100 threads: the last warp
 * is partial. */
#define REVERSE(barrier)                                                                                              \
    KERNEL(ROOM,                                                                                                      \
           "mov.u32 x, room; shl.b32 y, t, 2; add.u32 x, x, y; mov.u32 z, 0; mov.u32 w, 0; mov.u32 y, room; sub.u32 " \
           "lane, 99, t; "                                                                                            \
           "shl.b32 lane, lane, 2; add.u32 y, y, lane;\n"                                                             \
           "AGAIN: add.u32 rank, t, z; st.shared.u32 [x], rank; " barrier                                             \
           " ld.shared.u32 rank, [y]; add.u32 w, w, rank; " barrier                                                   \
           " add.u32 z, z, 1; setp.lt.u32 a, z, 4; @a bra AGAIN; st.global.u32 [to], w;")
static uint32_t reversed(uint32_t k) { return 4 * (99 - k) + 6; }

static void test_barrier_of_all(void **state) {
    (void)state;
    assert_clean(REVERSE("bar.sync 0;"), 1, 100, 1, reversed, 100);
    assert_clean(REVERSE("barrier.sync 3, 128;"), 1, 100, 1, reversed, 100);
    assert_clean(REVERSE("barrier.cta.sync.aligned 15;"), 1, 100, 1, reversed, 100);
    assert_clean(REVERSE("bar.red.and.pred a, 2, 1;"), 1, 100, 1, reversed, 100);
    assert_clean(REVERSE("mov.u32 lane, 7; bar.sync lane;"), 1, 100, 1, reversed, 100);
    assert_found(REVERSE(""), 1, 100, 1, "race", true);
    assert_found(REVERSE("bar.warp.sync -1;"), 1, 96, 1, "race", true);
}

/* Two warps write one word. A race of equal values leaves no trace in memory, and says so. */
#define ONE_WORD(value) \
    KERNEL(ROOM, "mov.u32 x, room; setp.ne.u32 a, lane, 0; @!a st.shared.v2.u32 [x], {" value ", 7};")
static void test_race_of_equal_values_says_so(void **state) {
    (void)state;
    static const char says[] = "writes the same value to shared";
    assert_found(ONE_WORD("5"), 1, 64, 1, says, true);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *finding = run(ONE_WORD("t"), 1, 64, 1, seed);
        assert_non_null(finding);
        assert_non_null(strstr(finding, "nothing orders them"));
        assert_null(strstr(finding, says));
    }
}

static void test_barrier_makes_nothing_known_before_it_completes(void **state) {
    (void)state;
    /* Warp 0 arrives without waiting, and reads: nothing orders that behind the others' stores. */
    assert_found(KERNEL(ROOM,
                        "mov.u32 x, room; shl.b32 y, t, 2; add.u32 x, x, y; setp.lt.u32 a, t, 32; @a bra FIRST; "
                        "st.shared.u32 [x], t;"
                        "bar.sync 1, 64; ret; FIRST: bar.arrive 1, 64; ld.shared.u32 y, [x+128];"),
                 1, 64, 1, "race", true);
    /* The other way round it is right: those that sync know what came before an arrive. */
    assert_clean(
        KERNEL(ROOM,
               "mov.u32 x, room; shl.b32 y, t, 2; add.u32 x, x, y; setp.lt.u32 a, t, 32; @!a bra SECOND; st.shared.u32 "
               "[x], t;"
               "bar.arrive 1, 64; ret; SECOND: bar.sync 1, 64; ld.shared.u32 y, [x+-128]; st.global.u32 [to+-128], y;"),
        1, 64, 1, NULL, 0);
}

/* Warps 0 and 1 produce into one word for warp 2, eight times; full is barrier 1, empty barrier 2. */
static uint32_t produced(uint32_t k) { return 100 + 2 * k; }
static void test_producers_and_consumer(void **state) {
    (void)state;
    assert_clean(
        KERNEL(
            ROOM,
            "mov.u32 x, room; shl.b32 y, t, 2; add.u32 x, x, y; mov.u32 z, 0; setp.ge.u32 a, t, 64; @a bra CONSUME;\n"
            "PRODUCE: setp.eq.u32 b, z, 0; @b bra FILL; bar.sync 2, 96; FILL: add.u32 y, z, 50; st.shared.u32 [x], y;\n"
            "bar.arrive 1, 96; add.u32 z, z, 1; setp.lt.u32 b, z, 8; @b bra PRODUCE; ret;\n"
            "CONSUME: bar.sync 1, 96; ld.shared.u32 y, [x+-256]; ld.shared.u32 w, [x+-128]; add.u32 y, y, w;\n"
            "mul.wide.u32 to, z, 4; add.u64 to, at, to; setp.eq.u32 b, lane, 5; @b st.global.u32 [to], y;\n"
            "add.u32 z, z, 1; setp.eq.u32 b, z, 8; @b bra DONE; bar.arrive 2, 96; bra CONSUME; DONE:"),
        1, 96, 1, produced, 8);
}

static uint32_t own_number(uint32_t k) { return k; }

/* A warp that arrives and then waits counts twice, as FlashAttention-3 has it. */
static void test_arrive_then_sync(void **state) {
    (void)state;
    assert_clean(KERNEL("",
                        "setp.ge.u32 a, t, 64; @a bra DONE; bar.arrive 1, 128; bar.sync 1, 128;"
                        "st.global.u32 [to], t; DONE:"),
                 1, 128, 1, own_number, 64);
}

static uint32_t multiples_of_three(uint32_t k) { return k < 100 ? 34 : k < 200 ? 0 : k < 300 ? 1 : 0; }
static void test_reductions(void **state) {
    (void)state;
    assert_clean(
        KERNEL("",
               "rem.u32 x, t, 3; setp.eq.u32 a, x, 0; bar.red.popc.u32 y, 0, a; st.global.u32 [to], y;\n"
               "barrier.red.and.pred b, 1, 128, a; selp.u32 y, 1, 0, b; st.global.u32 [to+400], y;\n"
               "barrier.red.or.aligned.pred b, 1, a; selp.u32 y, 1, 0, b; st.global.u32 [to+800], y;\n"
               "setp.ne.u32 a, t, t; bar.red.or.pred b, 0, a; selp.u32 y, 1, 0, b; st.global.u32 [to+1200], y;"),
        1, 100, 1, multiples_of_three, 400);
    assert_clean(KERNEL("", "rem.u32 x, t, 3; setp.ne.u32 a, x, 0; bar.red.popc.u32 y, 0, !a; st.global.u32 [to], y;"),
                 1, 100, 1, multiples_of_three, 100);
}

static void test_exited(void **state) {
    (void)state;
    /* Warps 1 and 3 are gone before, and lanes 0 to 6 of warp 0. */
    assert_clean(
        KERNEL(ROOM,
               "and.b32 x, t, 32; setp.ne.u32 a, x, 0; st.global.u32 [to], t; @a ret; setp.lt.u32 a, t, 7; @a exit;\n"
               "bar.sync 0; barrier.sync 0; st.global.u32 [to], t;"),
        1, 128, 1, own_number, 128);
    /* A barrier for a number of threads waits for those that have exited, too. */
    assert_found(KERNEL("", "setp.lt.u32 a, t, 32; @a ret; bar.sync 0, 64;"), 1, 64, 1, "deadlock", true);
}

static uint32_t halves(uint32_t k) { return k % 32 < 16 ? k + 16 : k - 16; }
static void test_divergent(void **state) {
    (void)state;
    /* Without .aligned, lanes of a warp may come by different instructions. */
    assert_clean(
        KERNEL(ROOM,
               "mov.u32 x, room; shl.b32 y, t, 2; add.u32 x, x, y; setp.lt.u32 a, lane, 16; @a bra LOW;\n"
               "st.shared.u32 [x], t; barrier.sync 0; ld.shared.u32 z, [x+-64]; bra OUT;\n"
               "LOW: st.shared.u32 [x], t; barrier.sync 0; ld.shared.u32 z, [x+64];\nOUT: st.global.u32 [to], z;"),
        1, 64, 1, halves, 64);
    assert_found(KERNEL("", "setp.lt.u32 a, lane, 16; @a bra LOW; bar.sync 0; bra OUT; LOW: bar.sync 0; OUT:"), 1, 64,
                 1, "divergent-aligned", true);
}

static void test_misused(void **state) {
    (void)state;
    static const struct {
        const char *body, *says;
    } cases[] = {
        {"setp.lt.u32 a, t, 32; @a bra X; bar.sync 1, 96; ret; X: bar.sync 1, 64;", "others came for"},
        {"bar.sync 1, 40;", "no multiple of 32"},
        {"bar.sync 1, 128;", "in a block of 96"},
        {"bar.sync 16;", "barrier 16: a block has 16"},
        {"barrier.sync t;", "different barriers"},
        {"bar.arrive 1, 96; bar.arrive 1, 96;", "a second time in one phase"},
        {"setp.lt.u32 a, t, 32; @a bra X; bar.sync 1; ret; X: bar.red.popc.u32 x, 1, a;", "another instruction"},
        {"barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;", "again without barrier.cluster.wait"},
        {"barrier.cluster.wait;", "without having arrived"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        static const char *const kernel[] = {KERNEL_BEGIN(""), KERNEL_END};
        char text[2000];
        snprintf(text, sizeof text, "%s%s%s", kernel[0], cases[k].body, kernel[1]);
        assert_found(text, 1, 96, 1, cases[k].says, true);
    }
}

/* ---- a deadlock names who is missing --------------------------------------------------------- */

static void assert_reported(const char *text, uint32_t blocks, uint32_t threads, uint32_t cluster, const char *says) {
    static char lines[1 << 20];
    assert_int_equal(truncate(report, 0), 0);
    const char *finding = run(text, blocks, threads, cluster, 1);
    assert_non_null(finding);
    assert_non_null(strstr(finding, "deadlock"));
    FILE *file = fopen(report, "r");
    assert_non_null(file);
    lines[fread(lines, 1, sizeof lines - 1, file)] = 0;
    assert_int_equal(fclose(file), 0);
    if (!strstr(lines, says)) fail_msg("'%s' is not in %s", says, lines);
}

static void test_deadlocks(void **state) {
    (void)state;
    assert_reported(
        KERNEL("",
               "setp.eq.u32 a, t, 64; @a bra SKIP; setp.lt.u32 a, t, 96; @a bra COME; setp.ge.u32 a, t, 128; @a "
               "bra COME;"
               "SKIP: barrier.sync 2, 64; ret; COME: barrier.sync 1, 160;"),
        1, 160, 1,
        "waits at barrier 1 for 160 threads, 96 are here (warps 0, 1, 4) (not with all their lanes: warps 2)");
    assert_reported(KERNEL("", "setp.lt.u32 a, t, 32; @a ret; bar.sync 3, 96;"), 1, 96, 1,
                    "waits at barrier 3 for 96 threads, 64 are here (warps 1, 2) (exited: warps 0)");
    assert_reported(
        KERNEL("",
               "setp.eq.u32 a, rank, 1; @a bra OTHER; barrier.cluster.arrive; barrier.cluster.wait; ret;\n"
               "OTHER: setp.lt.u32 a, t, 32; @a ret; bar.sync 1, 64; barrier.cluster.arrive; barrier.cluster.wait;"),
        2, 64, 2, "waits at barrier.cluster for 128 threads, 96 have arrived or exited; not warp 1 of block rank 1");
}

/* ---- clusters -------------------------------------------------------------------------------- */

/* Each thread writes to the next block's shared memory and reads there, after the barrier, what the one before wrote.
 */
#define NEIGHBOUR(first, second)                                                                           \
    KERNEL(ROOM,                                                                                           \
           "mov.u32 x, room; shl.b32 y, t, 2; add.u32 x, x, y; add.u32 y, rank, 1; and.b32 y, y, 3; "      \
           "mapa.shared::cluster.u32 z, x, y;\n"                                                           \
           "shl.b32 w, rank, 8; add.u32 w, w, t; st.shared::cluster.u32 [z], w;\n" first                   \
           "\nld.shared.u32 w, [x];\n" second                                                              \
           "\nmul.wide.u32 to, rank, 256; add.u64 to, to, at; mul.wide.u32 at, t, 4; add.u64 to, to, at; " \
           "st.global.u32 [to], w;")
static uint32_t from_neighbour(uint32_t k) { return (k / 64 + 3) % 4 * 256 + k % 64; }

static void test_cluster(void **state) {
    (void)state;
#define LAST "barrier.cluster.arrive; barrier.cluster.wait;"
    assert_clean(NEIGHBOUR("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;", LAST), 4,
                 64, 4, from_neighbour, 256);
    assert_clean(NEIGHBOUR("barrier.cluster.arrive; mov.u32 w, 3; barrier.cluster.wait;", LAST), 4, 64, 4,
                 from_neighbour, 256);
    assert_clean(
        NEIGHBOUR("fence.acq_rel.cluster; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;", LAST),
        4, 64, 4, from_neighbour, 256);
    assert_clean(NEIGHBOUR("membar.gl; barrier.cluster.arrive.relaxed; barrier.cluster.wait;", LAST), 4, 64, 4,
                 from_neighbour, 256);
    /* Divergent lanes of a warp, three phases, and threads that leave after they arrived, or without. */
    assert_clean(
        NEIGHBOUR("setp.lt.u32 a, lane, 9; @a bra L; barrier.cluster.arrive; barrier.cluster.wait; bra M;\n"
                  "L: barrier.cluster.arrive; barrier.cluster.wait;\nM: barrier.cluster.arrive; barrier.cluster.wait;",
                  "barrier.cluster.arrive;"),
        4, 64, 4, from_neighbour, 256);
    assert_found(NEIGHBOUR("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;", LAST), 4,
                 64, 4, "race", true);
    assert_found(
        NEIGHBOUR("fence.acq_rel.cta; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;",
                  LAST),
        4, 64, 4, "race", true);
    assert_found(NEIGHBOUR("bar.sync 0;", LAST), 4, 64, 4, "race", true);
#undef LAST
}

/* ---- forms ---------------------------------------------------------------------------------- */

static void test_forms(void **state) {
    (void)state;
    assert_clean(
        KERNEL(
            "",
            "membar.cta; membar.gl; membar.sys; membar.proxy.alias; fence.acq_rel.cta; fence.sc.gpu; fence.cluster;\n"
            "fence.acquire.sys; fence.release.cta; fence.acquire.sync_restrict::shared::cluster.cluster;\n"
            "fence.release.sync_restrict::shared::cta.cluster; fence.mbarrier_init.release.cluster; "
            "fence.proxy.alias;\n"
            "fence.proxy.async; fence.proxy.async.global; fence.proxy.async.shared::cta; "
            "fence.proxy.async.shared::cluster;\n"
            "fence.proxy.tensormap::generic.release.gpu; fence.proxy.tensormap::generic.acquire.sys [at], 128;\n"
            "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n"
            "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"
            "griddepcontrol.wait; griddepcontrol.launch_dependents;\n"
            "bar.cta.sync 0; barrier.sync.aligned 0, 64; barrier.cta.red.popc.aligned.u32 x, 3, 64, a;\n"
            "bar.arrive 1, 64; barrier.cta.arrive.aligned 2, 64;\n"
            "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"),
        2, 64, 2, NULL, 0);
    static const struct {
        const char *instruction, *says;
    } wrong[] = {
        {"bar.sync;", "operands"},
        {"bar.sync 0, 64, 64;", "operands"},
        {"bar.arrive 0;", "operands"},
        {"bar.arrive.aligned 0, 32, a;", "operands"},
        {"bar.red.popc.pred a, 0, b;", ".u32, is missing"},
        {"bar.red.xor.pred a, 0, b;", "red.popc, red.and or red.or expected"},
        {"bar.wait 0;", "sync, arrive or red expected"},
        {"bar.sync.relaxed 0;", "'.relaxed' is not known here"},
        {"barrier.cluster.sync;", "arrive or wait expected"},
        {"barrier.cluster.wait.release;", "'.release' is not known here"},
        {"membar.gpu;", "cta, gl or sys"},
        {"fence.acq_rel;", "a scope expected"},
        {"fence.proxy.texture;", "a proxy expected"},
        {"fence.proxy.tensormap::generic.acquire.gpu [at], 64;", "128"},
        {"fence.mbarrier_init.acquire.cluster;", "release expected"},
        {"griddepcontrol.stop;", "launch_dependents or wait expected"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        static const char *const kernel[] = {KERNEL_BEGIN(""), KERNEL_END};
        char text[2000];
        snprintf(text, sizeof text, "%s%s%s", kernel[0], wrong[k].instruction, kernel[1]);
        ptx_error error = {0};
        ptx_module *module = ptx_module_open(text, strlen(text), &error);
        assert_non_null(module);
        assert_null(emu_code_of(ptx_function_find(module, "k"), &error));
        if (!strstr(error.text, wrong[k].says)) fail_msg("%s: %s", wrong[k].instruction, error.text);
        ptx_module_close(module);
    }
}

/* ---- dependent launches ---------------------------------------------------------------------- */

/* The second launch begins while the first may still run, and reads what it wrote. */
static const char *run_dependent(const char *first, const char *second, uint64_t seed) {
    ptx_module *modules[2];
    const emu_code *codes[2] = {run_code(&modules[0], first, "k"), run_code(&modules[1], second, "k")};
    const run_shape shape = {.blocks = 6, .threads = 64, .seed = seed};
    const uint64_t parameters[] = {(uintptr_t)out};
    memset(out, 0, WORDS * sizeof *out);
    emu_grid *grids[2] = {run_grid(codes[0], &shape, parameters), run_grid(codes[1], &shape, parameters)};
    grids[1]->after = grids[0];
    grids[1]->programmatic = true;
    (void)emu_findings_take();
    emu_schedule_add(grids[0]);
    for (bool added = false; emu_schedule_grids();) {
        emu_grid *grid = emu_schedule_run(UINT64_MAX);
        assert_non_null(grid);
        if (grid->done) emu_check_grid_end(grid);
        if (!added && grids[0]->dependents_may_start) emu_schedule_add(grids[1]), added = true;
    }
    for (int k = 1; k >= 0; k--) run_grid_free(grids[k]);
    for (int k = 0; k < 2; k++) {
        emu_code_free(codes[k]);
        ptx_module_close(modules[k]);
    }
    return emu_findings_take();
}

#define ADDRESS "mov.u32 x, %ctaid.x; mad.lo.u32 x, x, 64, t; mul.wide.u32 to, x, 4; add.u64 to, at, to;\n"
static const char writes_late[] =
    KERNEL("", ADDRESS "griddepcontrol.launch_dependents; add.u32 x, x, 1; st.global.u32 [to], x;");
static const char waits_and_adds[] =
    KERNEL("", ADDRESS "griddepcontrol.wait; ld.global.u32 y, [to]; add.u32 y, y, 1000; st.global.u32 [to], y;");
static const char adds_at_once[] =
    KERNEL("", ADDRESS "ld.global.u32 y, [to]; add.u32 y, y, 1000; st.global.u32 [to], y;");

static void test_dependent_launch(void **state) {
    (void)state;
    int races = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *finding = run_dependent(writes_late, waits_and_adds, seed);
        if (finding) fail_msg("seed %d: %s", (int)seed, finding);
        for (uint32_t k = 0; k < 6 * 64; k++) assert_int_equal(out[k], 1001 + k);
        finding = run_dependent(writes_late, adds_at_once, seed);
        races += finding && strstr(finding, "race");
    }
    assert_int_equal(races, SEEDS);
}

/* Warp 1 is suspended when warp 0 completes two phases one after the other: it has seen the first. */
static uint32_t any_number(uint32_t k) { return k; }
static void test_suspended_wait_sees_its_phase(void **state) {
    (void)state;
    assert_clean(
        KERNEL(".shared .align 8 .b64 bar; .shared .align 4 .b32 flag;",
               "setp.eq.u32 a, t, 0; @a mbarrier.init.shared::cta.b64 [bar], 1; @a st.shared.u32 [flag], 0; bar.sync 0;"
               "mov.u32 z, 0; setp.ge.u32 a, t, 32; @a bra WAIT;"
               "POLL: ld.relaxed.cta.shared.u32 x, [flag]; setp.eq.u32 a, x, 0; @a bra POLL;"
               "LATER: add.u32 z, z, 1; setp.lt.u32 a, z, 20000; @a bra LATER;"
               "setp.eq.u32 a, t, 0; @a mbarrier.arrive.shared::cta.b64 _, [bar];"
               "@a mbarrier.arrive.shared::cta.b64 _, [bar]; bra DONE;"
               "WAIT: st.relaxed.cta.shared.u32 [flag], 1;"
               "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 b, [bar], 0; @!b bra AGAIN;"
               "DONE: st.global.u32 [to], t;"),
        1, 64, 1, any_number, 64);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier_of_all),
        cmocka_unit_test(test_barrier_makes_nothing_known_before_it_completes),
        cmocka_unit_test(test_race_of_equal_values_says_so),
        cmocka_unit_test(test_producers_and_consumer),
        cmocka_unit_test(test_arrive_then_sync),
        cmocka_unit_test(test_suspended_wait_sees_its_phase),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_exited),
        cmocka_unit_test(test_divergent),
        cmocka_unit_test(test_misused),
        cmocka_unit_test(test_deadlocks),
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_dependent_launch),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

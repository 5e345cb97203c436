/* Lanes that go different ways: loops left at different times, calls, spin locks between lanes, waiting for each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/core.h"
#include "tests/ptx_launch.h"

#define HEAD                                                                                                     \
    ".visible .entry k(.param .u64 out) {\n.reg .b64 %rd<12>;\n.reg .b32 %r<40>;\n.reg .b16 %h<8>;\n.reg .pred " \
    "%p<12>;\n"                                                                                                  \
    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
#define TAIL "st.global.u32 [%rd3], %r10;\nret;\n}\n"

enum { THREADS = 64 };
typedef struct run {
    uint32_t *out; /* of the lanes, more beyond */
    uint64_t findings;
} run;

static run run_text(const char *text, uint32_t threads, uint64_t seed) {
    ptx_kernel kernel = ptx_kernel_open(text);
    if (!kernel.code) print_error("%s\n", kernel.error.text);
    assert_non_null(kernel.code);
    run r = {.out = emu_memory_allocate(4096, EMU_DEVICE)};
    memset(r.out, 0, 4096);
    emu_memory_host_wrote(r.out, 4096);
    const void *parameters[] = {r.out};
    r.findings = ptx_kernel_run(&kernel, 1, 1, threads, seed, parameters, 1);
    ptx_kernel_close(&kernel);
    return r;
}
static void done(run *r) { assert_true(emu_memory_free(r->out)); }

/* Steps of the Collatz sequence: each lane leaves the loop when it is done. */
static void loops_left_at_different_times(void **state) {
    (void)state;
    run r =
        run_text(HEAD
                 "add.u32 %r2, %r1, 1;\nmov.u32 %r10, 0;\n"
                 "loop:\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 bra end;\n"
                 "and.b32 %r3, %r2, 1;\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra even;\n"
                 "mad.lo.u32 %r2, %r2, 3, 1;\nbra join;\neven:\nshr.u32 %r2, %r2, 1;\njoin:\nadd.u32 %r10, %r10, 1;\n"
                 "bra loop;\nend:\n" TAIL,
                 THREADS, 1);
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t steps = 0;
        for (uint32_t n = t + 1; n != 1; n = n & 1 ? 3 * n + 1 : n / 2) steps++;
        assert_int_equal(r.out[t], steps);
    }
    assert_int_equal(r.findings, 0);
    done(&r);
}

/* Lanes meet again behind the branch: activemask there has all of them, within it only those that took it. */
static void lanes_meet_again(void **state) {
    (void)state;
    run r = run_text(HEAD
                     "and.b32 %r2, %r1, 3;\nsetp.ne.u32 %p1, %r2, 0;\nmov.u32 %r5, 0;\n@%p1 bra skip;\n"
                     "activemask.b32 %r5;\nskip:\nactivemask.b32 %r6;\nxor.b32 %r10, %r5, %r6;\n" TAIL,
                     THREADS, 1);
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(r.out[t], t & 3 ? 0xffffffff : 0xffffffff ^ 0x11111111);
    done(&r);
}

/* A lock taken lane by lane: the lane that has it runs behind the loop in which the others spin. */
static void spin_lock_between_lanes(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed < 4; seed++) {
        run r = run_text(
            HEAD
            "spin:\natom.acquire.gpu.global.cas.b32 %r2, [%rd1+2048], 0, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra spin;\n"
            "ld.relaxed.gpu.global.u32 %r10, [%rd1+2052];\nadd.u32 %r4, %r10, 1;\n"
            "st.relaxed.gpu.global.u32 [%rd1+2052], %r4;\natom.release.gpu.global.exch.b32 %r5, [%rd1+2048], 0;\n" TAIL,
            THREADS, seed);
        uint64_t seen = 0;
        for (uint32_t t = 0; t < THREADS; t++) seen |= UINT64_C(1) << r.out[t];
        assert_true(seen == UINT64_MAX); /* each number once: nobody was within with another */
        assert_int_equal(r.out[2052 / 4], THREADS);
        assert_int_equal(r.findings, 0);
        done(&r);
    }
}

/* Each lane waits for the flag that the lane above it sets: the last lane goes first, whatever the order of code. */
static void lanes_wait_in_a_chain(void **state) {
    (void)state;
    run r = run_text(HEAD
                     "mov.u32 %r10, 1;\nsetp.eq.u32 %p1, %r1, 31;\n@%p1 bra go;\n"
                     "wait:\nld.acquire.gpu.global.u32 %r10, [%rd3+4];\nsetp.eq.u32 %p2, %r10, 0;\n@%p2 bra wait;\n"
                     "add.u32 %r10, %r10, 1;\ngo:\nst.release.gpu.global.u32 [%rd3], %r10;\nret;\n}\n",
                     32, 1);
    for (uint32_t t = 0; t < 32; t++) assert_int_equal(r.out[t], 32 - t);
    assert_int_equal(r.findings, 0);
    done(&r);
}

/* shfl of all lanes behind a branch waits for those that were long away. */
static void shuffle_waits_for_its_members(void **state) {
    (void)state;
    run r = run_text(HEAD
                     "mov.u32 %r10, %r1;\nmov.u32 %r2, 0;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bra meet;\n"
                     "around:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, %r1;\n@%p2 bra around;\n"
                     "meet:\nshfl.sync.bfly.b32 %r10|%p3, %r10, 1, 31, -1;\nvote.sync.ballot.b32 %r4, %p1, "
                     "-1;\nxor.b32 %r10, %r10, %r4;\n" TAIL,
                     32, 1);
    for (uint32_t t = 0; t < 32; t++) assert_int_equal(r.out[t], (t ^ 1) ^ 0x7f);
    assert_int_equal(r.findings, 0);
    done(&r);
}

/* Two halves of a warp with masks of their own, at different times and in different branches. */
static void groups_by_their_masks(void **state) {
    (void)state;
    run r =
        run_text(HEAD
                 "setp.lt.u32 %p1, %r1, 16;\nselp.b32 %r2, 0x0000ffff, 0xffff0000, %p1;\n"
                 "redux.sync.add.u32 %r10, %r1, %r2;\nmatch.any.sync.b32 %r4, %r10, %r2;\nxor.b32 %r10, %r10, %r4;\n"
                 "@%p1 bra low;\nelect.sync %r5|%p2, 0xffff0000;\nbra join;\n"
                 "low:\nelect.sync %r5|%p2, 0x0000ffff;\njoin:\nselp.b32 %r6, 0x10000000, 0, %p2;\nadd.u32 %r10, %r10, "
                 "%r6;\n" TAIL,
                 32, 1);
    for (uint32_t t = 0; t < 32; t++) {
        uint32_t sum = t < 16 ? 120 : 376, mask = t < 16 ? 0xffff : 0xffff0000;
        assert_int_equal(r.out[t], (sum ^ mask) + (t % 16 == 0 ? 0x10000000 : 0));
    }
    assert_int_equal(r.findings, 0);
    done(&r);
}

/* bar.warp.sync is met in two branches, at two instructions. */
static void warp_barrier_at_two_places(void **state) {
    (void)state;
    run r = run_text(
        HEAD
        "xor.b32 %r2, %r1, 16;\nmul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd5, %rd1, %rd4;\nadd.u32 %r3, %r1, 100;\n"
        "st.global.u32 [%rd3+512], %r3;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 bra low;\n"
        "bar.warp.sync -1;\nld.global.u32 %r10, [%rd5+512];\nbra join;\n"
        "low:\nbar.warp.sync -1;\nld.global.u32 %r10, [%rd5+512];\njoin:\n" TAIL,
        32, 1);
    for (uint32_t t = 0; t < 32; t++) assert_int_equal(r.out[t], (t ^ 16) + 100);
    assert_int_equal(r.findings, 0);
    done(&r);
}

static void exits_by_turns(void **state) {
    (void)state;
    run r = run_text(HEAD
                     "st.global.u32 [%rd3], %r1;\nand.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 exit;\n"
                     "vote.sync.ballot.b32 %r10, %p1, 0x55555555;\nbar.sync 0;\nactivemask.b32 %r10;\n" TAIL,
                     THREADS, 1);
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(r.out[t], t & 1 ? t : 0x55555555);
    assert_int_equal(r.findings, 0);
    done(&r);
}

static void table_of_branches(void **state) {
    (void)state;
    run r = run_text(HEAD
                     "and.b32 %r2, %r1, 3;\nmov.u32 %r10, 7;\nts: .branchtargets a, b, c, d;\nbrx.idx %r2, ts;\n"
                     "a:\nadd.u32 %r10, %r10, 1;\nb:\nadd.u32 %r10, %r10, 10;\nc:\nadd.u32 %r10, %r10, 100;\nd:\n" TAIL,
                     THREADS, 1);
    static const uint32_t expected[] = {118, 117, 107, 7};
    for (uint32_t t = 0; t < THREADS; t++) assert_int_equal(r.out[t], expected[t & 3]);
    assert_int_equal(r.findings, 0);
    done(&r);
}

/* A partial warp: lanes that do not exist are nobody's to wait for. */
static void partial_warp(void **state) {
    (void)state;
    run r =
        run_text(HEAD "setp.lt.u32 %p1, %r1, 1000;\nvote.sync.ballot.b32 %r10, %p1, -1;\nbar.sync 0;\n" TAIL, 41, 1);
    for (uint32_t t = 0; t < 41; t++) assert_int_equal(r.out[t], t < 32 ? 0xffffffff : 0x1ff);
    assert_int_equal(r.findings, 0);
    done(&r);
}

/* What is told: a barrier in a branch, a shuffle without its lanes, a mask without its own lane. */
static void faults_are_told(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra low;\nbar.sync 0;\nbra join;\nlow:\nbar.sync 0;\njoin:\n" TAIL,
        HEAD
        "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra low;\nshfl.sync.idx.b32 %r10, %r1, 0, 31, -1;\nbra join;\n"
        "low:\nshfl.sync.idx.b32 %r10, %r1, 0, 31, -1;\njoin:\n" TAIL,
        HEAD "shfl.sync.idx.b32 %r10, %r1, 0, 31, 0xffff;\n" TAIL,
        HEAD "setp.lt.u32 %p1, %r1, 16;\n@%p1 bar.sync 0;\n" TAIL,
        HEAD "trap;\n" TAIL,
        HEAD "and.b32 %r2, %r1, 7;\nmov.u32 %r10, 7;\nts: .branchtargets a, b;\nbrx.idx %r2, ts;\na:\nb:\n" TAIL,
    };
    static const char *const words[] = {
        "divergent-aligned", "divergent-aligned", "protocol", "divergent-aligned", "trap", "bad-descriptor"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        run r = run_text(texts[i], 32, 1);
        assert_true(r.findings > 0);
        const char *text = emu_findings_take();
        assert_non_null(text);
        if (!strstr(text, words[i])) print_error("%s\n", text);
        assert_non_null(strstr(text, words[i]));
        done(&r);
    }
}

/* Of 384 threads one warpgroup lets go of registers and two take them: 168 a thread at launch, 2016 of twelve warps. */
static void registers_that_a_block_has(void **state) {
    (void)state;
    static const struct {
        int few, many;
        uint64_t findings;
    } blocks[] = {{24, 240, 0}, {40, 232, 0}, {32, 240, 1}, {24, 248, 1}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "%ssetp.lt.u32 %%p1, %%r1, 128;\n@%%p1 bra few;\nsetmaxnreg.inc.sync.aligned.u32 %d;\nbra end;\n"
                 "few:\nsetmaxnreg.dec.sync.aligned.u32 %d;\nend:\nmov.u32 %%r10, 1;\n%s",
                 HEAD, blocks[i].many, blocks[i].few, TAIL);
        run r = run_text(text, 384, 1);
        assert_int_equal(r.findings > 0, blocks[i].findings > 0);
        const char *found = emu_findings_take();
        if (found) assert_non_null(strstr(found, "setmaxnreg"));
        done(&r);
    }
}

/* Unknown words, types and operands are refused with the line's own text. */
static void forms_that_are_not_known(void **state) {
    (void)state;
    static const char *const lines[] = {
        "add.ftz.s32 %r2, %r1, %r1;",
        "add.s32 %r2, %r1;",
        "mul.s32 %r2, %r1, %r1;",
        "frobnicate.b32 %r2, %r1;",
        "cvt.f32.s32 %r2, %r1;",
        "cvt.rn.s32.f32 %r2, %r1;",
        "mov.b32 %r2, %rd1;",
        "setp.lo.s32 %p1, %r1, 2;",
        "shl.b32 %r2, %r1, %rd1;",
        "fma.f32 %r2, %r1, %r1, %r1;",
        "ex2.f32 %r2, %r1;",
        "mov.u32 %r2, %nosuch;",
        "lop3.b32 %r2, %r1, %r1, %r1, 256;",
        "shfl.idx.b32 %r2, %r1, 0, 31;",
        "prmt.b32.xyz %r2, %r1, %r1, 0;",
        "bra.uni.uni end;",
        "mov.b64 {%r1, %r2, %r3}, %rd1;",
        "add.s32 %h1, %r1, %r1;",
        "vote.sync.ballot.pred %p1, %p2, -1;",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s\nend:\n%s", HEAD, lines[i], TAIL);
        ptx_kernel kernel = ptx_kernel_open(text);
        if (kernel.code) print_error("accepted: %s\n", lines[i]);
        assert_null(kernel.code);
        assert_true(kernel.error.text[0] && !strchr(kernel.error.text, '\n'));
        ptx_kernel_close(&kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_left_at_different_times),
        cmocka_unit_test(lanes_meet_again),
        cmocka_unit_test(spin_lock_between_lanes),
        cmocka_unit_test(lanes_wait_in_a_chain),
        cmocka_unit_test(shuffle_waits_for_its_members),
        cmocka_unit_test(groups_by_their_masks),
        cmocka_unit_test(warp_barrier_at_two_places),
        cmocka_unit_test(exits_by_turns),
        cmocka_unit_test(table_of_branches),
        cmocka_unit_test(partial_warp),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(registers_that_a_block_has),
        cmocka_unit_test(forms_that_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* tcgen05 as PTX: forms that are refused, and mutated kernels, which may do anything but crash. What right programs compute,
 * and what is found in wrong ones, is tested by programs/tensor_memory.cu and programs/tensor_product.cu. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/ptx_launch.h"

#define BEGIN                                                                                                       \
    ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<12>; .reg .b64 %rd<8>; .reg .pred %p<3>; .reg .b16 %h1;\n" \
    ".shared .align 1024 .b8 s[8192]; .shared .align 8 .b8 bar[8]; .shared .align 4 .b32 at;\n"                     \
    "mov.u32 %r1, 64; mov.u32 %r2, 0; mov.u32 %r3, %tid.x; mov.b32 %r4, 0x8040010; mov.u32 %r9, 0;\n"               \
    "mov.u32 %r5, s; shr.u32 %r5, %r5, 4; cvt.u64.u32 %rd1, %r5; or.b64 %rd1, %rd1, 0x401000080000;\n"              \
    "add.u64 %rd2, %rd1, 256; setp.eq.u32 %p1, %r3, 0; setp.ne.u32 %p2, %r3, %r3;\n"
#define END "ret;\n}\n"

static int set_up(void **state) {
    (void)state;
    setenv("EMULATOR_ARCHITECTURE", "100", 1);
    setenv("EMULATOR_LIMIT", "20000", 1);
    setenv("EMULATOR_MAX_FINDINGS", "0", 1);
    return 0;
}

static void forms_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *why; /* why NULL: it is taken */
    } cases[] = {
        {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 32;", NULL},
        {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], %rd1;", "8 bytes"},
        {"tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [at], 32;", NULL},
        {"tcgen05.alloc.cta_group::3.sync.aligned.shared::cta.b32 [at], 32;", "cta_group::1 or 2"},
        {"tcgen05.alloc.cta_group::1.sync.b32 [at], 32;", "aligned"},
        {"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1;", "operands"},
        {"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3];", NULL},
        {"tcgen05.ld.sync.aligned.32x32b.x3.b32 {%r1, %r2, %r3}, [%r3];", "x1 to x128"},
        {"tcgen05.ld.sync.aligned.16x256b.x64.b32 {%r1}, [%r3];", "x1 to x32"},
        {"tcgen05.ld.sync.aligned.16x128b.x1.b32 {%r1}, [%r3];", "registers"},
        {"tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%r3], 512;", "below 512"},
        {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%rd1}, [%r3];", "8 bytes"},
        {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [s];", "not in tensor memory"},
        {"tcgen05.st.sync.aligned.32x32b.x1.pack::16b.b32 [%r3], {%r1};", "pack::16b"},
        {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r4, %p1;", NULL},
        {"tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%r1], %rd1, %rd2, %r4, %p1, 15;", NULL},
        {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r4, %p1, 16;", "0 to 15"},
        {"tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd2, %r4, %p1, 1;", "kind::f16 and kind::tf32"},
        {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r4, {%r1, %r1}, %p1;", "registers"},
        {"tcgen05.mma.cta_group::1.kind::mxf4 [%r1], %rd1, %rd2, %r4, %p1;", "block_scale"},
        {"tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r1], %rd1, %rd2, %r4, [%r1], [%r1], %p1;", NULL},
        {"tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::4X [%r1], %rd1, %rd2, %r4, [%r1], [%r1], %p1;",
         "number of scales"},
        {"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [%r1], %rd1, %rd2, %r4, [%r1], [%r1], %p1;",
         "number of scales"},
        {"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b3::use [%r1], %rd1, %rd2, %r4, %p1;", NULL},
        {"tcgen05.mma.ws.cta_group::2.kind::f16 [%r1], %rd1, %rd2, %r4, %p1;", "cta_group::1"},
        {"tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r4, %p1, %rd1;", "zero columns"},
        {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r1], %r4, %p1;", NULL},
        {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r4, %p1;", "operands"},
        {"tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r1, %r4, %p1;", "must be an address"},
        {"tcgen05.mma.sp.cta_group::1.kind::tf32 [%r1], [%r1], %rd2, [%r1], %r4, {%r1, %r1, %r1, %r1}, %p1, 15;", NULL},
        {"tcgen05.mma.sp.cta_group::1.kind::i8 [%r1], %rd1, %rd2, [%r1], %r4, %p1, 1;", "kind::f16 and kind::tf32"},
        {"tcgen05.mma.sp.cta_group::2.kind::mxf4.block_scale [%r1], %rd1, %rd2, [%r1], %r4, [%r1], [%r1], %p1;", NULL},
        {"tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale [%r1], %rd1, %rd2, %r4, [%r1], [%r1], %p1;",
         "must be an address"},
        {"tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r1], %r4, %p1;", "sparse .ws"},
        {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %r1, %rd2, %r4, %p1;", "too narrow"},
        {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];", NULL},
        {"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar];", "operands"},
        {"tcgen05.cp.cta_group::1.32x128b.warpx4 [%r1], %rd1;", NULL},
        {"tcgen05.cp.cta_group::1.32x128b [%r1], %rd1;", "warpx4"},
        {"tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16.b6x16_p32 [%r1], %rd1;", NULL},
        {"tcgen05.cp.cta_group::1.128x128b.b8x16.b8x16 [%r1], %rd1;", "b6x16_p32"},
        {"tcgen05.cp.cta_group::1.4x256b [%r1], %rd1;", NULL},
        {"tcgen05.cp.cta_group::1.4x256b.warpx4 [%r1], %rd1;", "warpx4 is not supported"},
        {"tcgen05.cp.cta_group::2.4x256b.b8x16.b4x16_p64 [%r1], %rd1;", NULL},
        {"tcgen05.cp.cta_group::1.4x128b [%r1], %rd1;", "4x256b are supported"},
        {"tcgen05.shift.cta_group::1.down [%r1];", NULL},
        {"tcgen05.shift.down.cta_group::2 [%r1];", NULL},
        {"tcgen05.shift.cta_group::1 [%r1];", "down"},
        {"tcgen05.shift.cta_group::1.down [%r1], %rd1;", "operands"},
        {"tcgen05.shift.cta_group::1.down [s];", "not in tensor memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4000];
        sprintf(text, "%s%s\n%s", BEGIN, cases[i].text, END);
        ptx_kernel kernel = ptx_kernel_open(text);
        if (cases[i].why ? kernel.code || !strstr(kernel.error.text, cases[i].why) : !kernel.code)
            fail_msg("%s: %s", cases[i].text, kernel.code ? "is taken" : kernel.error.text);
        ptx_kernel_close(&kernel);
    }
}

/* ---- mutated kernels ------------------------------------------------------------------------------------- */
static const char right[] = BEGIN
    "setp.ge.u32 %p2, %r3, 32; @%p2 bra ready; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], %r1;\n"
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
    "@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "ready: mov.u32 %r5, s; mad.lo.u32 %r5, %r3, 4, %r5;\n"
    "copy: st.shared.b32 [%r5], %r9; add.u32 %r5, %r5, 512; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 16; @%p2 bra "
    "copy;\n"
    "fence.proxy.async.shared::cta; bar.sync 0; ld.shared.b32 %r5, [at];\n"
    "shr.u32 %r6, %r3, 5; shl.b32 %r6, %r6, 21; add.u32 %r6, %r6, %r5;\n"
    "tcgen05.st.sync.aligned.16x128b.x2.b32 [%r6], {%r1, %r2, %r3, %r4}; mov.b32 %r11, 0x44444444;\n"
    "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r6+32], {%r11, %r11}; tcgen05.wait::st.sync.aligned;\n"
    "tcgen05.fence::before_thread_sync; bar.sync 0; setp.ne.u32 %p2, %r3, %r3; @!%p1 bra wait;\n"
    "tcgen05.fence::after_thread_sync; add.u32 %r10, %r5, 0;\n"
    "tcgen05.mma.cta_group::1.kind::f16 [%r5], %rd1, %rd2, %r4, {%r2, %r2, %r2, %r2}, %p2;\n"
    "tcgen05.mma.cta_group::1.kind::f8f6f4 [%r5], [%r10], %rd2, %r4, %p1;\n"
    "tcgen05.mma.cta_group::1.kind::i8 [%r5], %rd1, %rd2, 0x8040420, %p2;\n"
    "tcgen05.mma.sp.cta_group::1.kind::f16 [%r5], %rd1, %rd2, [%r5+32], 0x8040014, %p2;\n"
    "tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%r5], [%r10], %rd2, [%r5+32], 0x8040014, %p1;\n"
    "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [%r5], %rd1;\n"
    "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r5], %rd1;\n"
    "tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%r5], %rd1, %rd2, 0x8840480, [%r5], [%r5], %p1;\n"
    "tcgen05.shift.cta_group::1.down [%r5]; tcgen05.cp.cta_group::1.4x256b [%r5], %rd1;\n"
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
    "wait: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra wait; tcgen05.fence::after_thread_sync;\n"
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r7, %r8}, [%r6+2]; tcgen05.wait::ld.sync.aligned;\n"
    "bar.sync 0; @!%p1 bra end; st.shared.b32 [s], %r7;\n"
    "end: setp.ge.u32 %p2, %r3, 32; @%p2 bra over; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, %r1;\nover: " END;

static uint64_t state_of_dice = 1;
static size_t draw(size_t n) { /* xorshift64* */
    state_of_dice ^= state_of_dice >> 12, state_of_dice ^= state_of_dice << 25, state_of_dice ^= state_of_dice >> 27;
    return (size_t)((state_of_dice * UINT64_C(2685821657736338717)) >> 33) % n;
}

/* A digit of a constant or register's number, a letter of a word, or an instruction that is left out. */
static void mutate(char *text) {
    const size_t length = strlen(text), at = draw(length);
    if (draw(5) == 0) {
        char *end = strchr(text + at, ';'), *next = end ? strchr(end + 1, ';') : NULL;
        if (next) memset(end, ' ', (size_t)(next - end));
        return;
    }
    for (size_t i = at; i < length; i++)
        if (text[i] >= '0' && text[i] <= '9') {
            text[i] = (char)('0' + draw(10));
            return;
        }
}

static uint64_t run(const char *text, uint64_t seed, bool *taken) {
    ptx_kernel kernel = ptx_kernel_open(text);
    uint64_t findings = 0;
    static const char *nothing;
    *taken = kernel.code != NULL;
    if (kernel.code) findings = ptx_kernel_run(&kernel, 1, 1, 128, seed, (const void *const[]){nothing}, 1);
    if (!kernel.code) assert_true(kernel.error.text[0] != 0);
    ptx_kernel_close(&kernel);
    return findings;
}

static void mutants_do_not_crash(void **state) {
    (void)state;
    enum { ROUNDS = 3000 };
    static char text[sizeof right];
    int ran = 0, found = 0;
    bool taken;
    if (run(right, 1, &taken) || !taken) fail_msg("the kernel itself: %s", emu_findings_take());
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(text, right, sizeof right);
        for (size_t times = 1 + draw(3); times; times--) mutate(text);
        found += run(text, (uint64_t)round, &taken) > 0;
        ran += taken;
    }
    assert_true(ran > ROUNDS / 4 && found > ROUNDS / 8); /* most are still kernels, and many are wrong */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_that_are_refused),
        cmocka_unit_test(mutants_do_not_crash),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

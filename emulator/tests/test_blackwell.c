/* Arithmetic that sm_100 adds: pairs of f32, and redux of f32. What the device says that it is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "tests/ptx_launch.h"

enum { LANES = 32 };
static uint32_t *out;

static int set_up(void **state) {
    (void)state;
    setenv("EMULATOR_ARCHITECTURE", "100", 1);
    out = emu_memory_allocate(8 * LANES, EMU_DEVICE);
    return out == NULL;
}

/* instruction: of %rd1 = (lane, 2^-24), %rd2 = (1, 1) and %f1 = lane - 16, NaN in lane 5, to %rd3 or %f2. */
static void run(const char *instruction, bool pair) {
    char text[2000];
    sprintf(
        text,
        ".visible .entry k(.param .u64 out)\n{\n.reg .b32 %%r<4>; .reg .b64 %%rd<8>; .reg .f32 %%f<6>; .reg .pred "
        "%%p;\nld.param.u64 %%rd4, [out]; mov.u32 %%r1, %%tid.x; mul.wide.u32 %%rd5, %%r1, 8; add.u64 %%rd4, %%rd4, "
        "%%rd5;\ncvt.rn.f32.u32 %%f3, %%r1; mov.b64 %%rd1, {%%f3, 0f33800000}; mov.b64 %%rd2, {0f3F800000, "
        "0f3F800000};\nsub.f32 %%f1, %%f3, 0f41800000; setp.eq.u32 %%p, %%r1, 5; @%%p mov.f32 %%f1, 0f7FC00000;\n"
        "%s\n%s\nret;\n}\n",
        instruction, pair ? "st.global.b64 [%rd4], %rd3;" : "st.global.f32 [%rd4], %f2; st.global.f32 [%rd4+4], %f2;");
    ptx_kernel kernel = ptx_kernel_open(text);
    if (!kernel.code) fail_msg("%s", kernel.error.text);
    if (ptx_kernel_run(&kernel, 1, 1, LANES, 1, (const void *const[]){out}, 1)) fail_msg("%s", emu_findings_take());
    ptx_kernel_close(&kernel);
}

static void assert_lane(int lane, float low, float high) {
    float found[2];
    memcpy(found, out + 2 * lane, sizeof found);
    if (found[0] != low || found[1] != high)
        fail_msg("lane %d: %a and %a, not %a and %a", lane, (double)found[0], (double)found[1], (double)low,
                 (double)high);
}

static void pairs(void **state) {
    (void)state;
    const float tiny = 0x1p-24f;
    run("add.rn.f32x2 %rd3, %rd1, %rd2;", true);
    for (int lane = 0; lane < LANES; lane++) assert_lane(lane, (float)lane + 1, 1); /* 1 + 2^-24 is a tie */
    run("add.rp.f32x2 %rd3, %rd1, %rd2;", true);
    assert_lane(3, 4, 1 + 0x1p-23f);
    run("sub.f32x2 %rd3, %rd1, %rd2;", true);
    assert_lane(7, 6, tiny - 1);
    run("mul.rn.f32x2 %rd3, %rd1, %rd1;", true);
    assert_lane(9, 81, tiny * tiny);
    run("fma.rn.f32x2 %rd3, %rd1, %rd1, %rd2;", true);
    assert_lane(9, 82, 1);
    run("mov.b64 %rd1, {0f00000001, 0f3F800000}; fma.rn.ftz.f32x2 %rd3, %rd1, %rd2, %rd2;", true);
    assert_lane(0, 1, 2);
    run("setp.lt.u32 %p, %r1, 4; mov.b64 %rd3, %rd2; @%p add.rn.f32x2 %rd3, %rd2, %rd2;", true);
    assert_lane(3, 2, 2);
    assert_lane(4, 1, 1);
}

/* Each lane has 16 bytes, and clears the first 8. */
static void cleared(void **state) {
    (void)state;
    run("{ .shared .align 16 .b8 room[512]; .reg .b32 at, low, high; .reg .b64 n;\n"
        "mov.u32 at, room; mad.lo.u32 at, %r1, 16, at; mov.u64 n, 8; mov.u32 low, 7;\n"
        "st.shared.v4.u32 [at], {low, low, low, low}; st.bulk.weak.shared::cta [at], n, 0;\n"
        "ld.shared.u32 low, [at+4]; ld.shared.u32 high, [at+8]; mov.b64 %rd3, {low, high}; }",
        true);
    for (int lane = 0; lane < LANES; lane++) {
        assert_int_equal(out[2 * lane], 0);
        assert_int_equal(out[2 * lane + 1], 7);
    }
}

static void reductions(void **state) {
    (void)state;
    run("redux.sync.max.f32 %f2, %f1, 0xffffffff;", false);
    assert_lane(0, 15, 15);
    run("redux.sync.min.f32 %f2, %f1, 0xffffffff;", false);
    assert_lane(31, -16, -16);
    run("redux.sync.max.abs.f32 %f2, %f1, 0xffffffff;", false);
    assert_lane(5, 16, 16);
    run("redux.sync.max.NaN.f32 %f2, %f1, 0xffffffff;", false);
    assert_int_equal(out[0], 0x7fffffff);
}

/* %f4 and %f5 to 16 or 32 bits in %rd3, as the instruction says, of one lane. */
static uint32_t converted(float high, float low, const char *instruction) {
    char text[600];
    uint32_t bits[2];
    memcpy(&bits[0], &high, 4);
    memcpy(&bits[1], &low, 4);
    sprintf(text,
            "{ .reg .b8 b, zero; .reg .b16 h; .reg .b32 r; mov.f32 %%f4, 0f%08X; mov.f32 %%f5, 0f%08X; mov.b32 r, 0; "
            "mov.b32 {b, zero, zero, zero}, r; %s mov.b64 %%rd3, {r, r}; }",
            bits[0], bits[1], instruction);
    run(text, true);
    return out[0];
}
#define E2M1 "cvt.rn.satfinite.e2m1x2.f32 b, %f4, %f5; mov.b32 r, {b, zero, zero, zero};"
#define OF_E2M1 "cvt.rn.satfinite.e2m1x2.f32 b, %f4, %f5; cvt.rn.f16x2.e2m1x2 r, b;"
#define E2M3 "cvt.rn.satfinite.e2m3x2.f32 h, %f4, %f5; cvt.u32.u16 r, h;"
#define E3M2 "cvt.rn.satfinite.e3m2x2.f32 h, %f4, %f5; cvt.u32.u16 r, h;"
#define OF_E3M2 "cvt.rn.satfinite.e3m2x2.f32 h, %f4, %f5; cvt.rn.f16x2.e3m2x2 r, h;"
#define UP "cvt.rp.satfinite.ue8m0x2.f32 h, %f4, %f5; cvt.u32.u16 r, h;"
#define DOWN "cvt.rz.satfinite.ue8m0x2.f32 h, %f4, %f5; cvt.u32.u16 r, h;"
#define OF_UP "cvt.rp.satfinite.ue8m0x2.f32 h, %f4, %f5; cvt.rn.bf16x2.ue8m0x2 r, h;"

static void conversions(void **state) {
    (void)state;
    assert_int_equal(converted(3, -0.5f, E2M1), 0x59);
    assert_int_equal(converted(2.5f, 5, E2M1), 0x46); /* ties: to 2 and to 4 */
    assert_int_equal(converted(0.25f, -0.75f, E2M1), 0x0a);
    assert_int_equal(converted(100, NAN, E2M1), 0x77);
    assert_int_equal(converted(-6, 1.5f, OF_E2M1), 0xc6003e00);
    assert_int_equal(converted(7.5f, -0.125f, E2M3), 0x1f21);
    assert_int_equal(converted(28, 0.0625f, E3M2), 0x1f01);
    assert_int_equal(converted(-28, 0.0625f, OF_E3M2), 0xcf002c00);
    assert_int_equal(converted(1.25f, 1, UP), 0x807f);
    assert_int_equal(converted(1.25f, 0, DOWN), 0x7f00);
    assert_int_equal(converted(INFINITY, 0x1.8p-127f, UP), 0xfe01);
    assert_int_equal(converted(NAN, 3, OF_UP), 0x7fff4080);
}

static void capability(void **state) {
    (void)state;
    struct cudaDeviceProp told;
    int major = 0, minor = -1;
    assert_int_equal(cudaGetDeviceProperties(&told, 0), cudaSuccess);
    assert_int_equal(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
    assert_int_equal(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0), cudaSuccess);
    assert_int_equal(major, 10);
    assert_int_equal(minor, 0);
    assert_int_equal(told.major, major);
    assert_int_equal(told.minor, minor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),       cmocka_unit_test(cleared),    cmocka_unit_test(reductions),
        cmocka_unit_test(conversions), cmocka_unit_test(capability),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

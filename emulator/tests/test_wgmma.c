/* wgmma as PTX: results by the ISA's layouts, and what is reported of programs that break its rules.
 *
 * A warpgroup multiplies a[64][k] by b[k][n], small integers. Operands lie in shared memory K-major in core matrices of
 * eight rows of 16 bytes (no swizzle): 16 bytes of k are 128 bytes apart, eight rows 256. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/ptx_launch.h"

enum { THREADS = 128, OPERANDS = 2048 + 8192, OUT = 64 * 256 };
static uint8_t *in;   /* a, then b, as they shall lie in shared memory */
static uint32_t *out; /* [register][thread] */

static int set_up(void **state) {
    (void)state;
    in = emu_memory_allocate(OPERANDS, EMU_DEVICE);
    out = emu_memory_allocate(4 * OUT, EMU_DEVICE);
    return 0;
}

static uint64_t run_text(const char *text, uint32_t threads, uint64_t seed) {
    ptx_kernel kernel = ptx_kernel_open(text);
    if (kernel.code == NULL) fail_msg("%s\n%s", kernel.error.text, text);
    memset(out, 0xcd, 4 * OUT);
    emu_memory_host_wrote(in, OPERANDS);
    emu_memory_host_wrote(out, 4 * OUT);
    uint64_t findings = ptx_kernel_run(&kernel, 1, 1, threads, seed, (const void *const[]){in, out}, 2);
    ptx_kernel_close(&kernel);
    return findings;
}

/* ---- a program ------------------------------------------------------------------------------------------- */
typedef struct program {
    const char *form; /* after "wgmma.mma_async.sync.aligned.m64n" and n */
    int n, registers; /* of d, of 32 bits */
    bool a_in_registers;
    const char *after;   /* scale-d and what follows it */
    const char *stage;   /* between the operands' stores and the fence; NULL: fence.proxy.async and bar.sync */
    const char *before;  /* the first wgmma; NULL: wgmma.fence */
    const char *between; /* two wgmma; NULL: there is only one */
    const char *end;     /* NULL: commit_group, wait_group 0 */
} program;

static const char barrier[] = "fence.proxy.async.shared::cta; bar.sync 0;\n", fence[] = "wgmma.fence.sync.aligned;\n";
static const char commit[] = "wgmma.commit_group.sync.aligned;\n", wait[] = "wgmma.wait_group.sync.aligned 0;\n";

static void text_of(const program *p, char *text) {
    const bool singles = strstr(p->form, ".f32.") != NULL;
    char d[2000] = "{", instruction[3000];
    for (int i = 0, length = 1; i < p->registers; i++) length += sprintf(d + length, "%s%%d%d", i ? "," : "", i);
    sprintf(instruction, "wgmma.mma_async.sync.aligned.m64n%d%s %s}, %s, %%rd6, %s;\n", p->n, p->form, d,
            p->a_in_registers ? "{%a0,%a1,%a2,%a3}" : "%rd5", p->after);
    int length = sprintf(
        text,
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %%r<12>; .reg .b64 %%rd<12>; .reg .b32 "
        "%%a<4>;\n"
        ".reg .pred %%p<3>; .reg .%s %%d<130>; .reg .f32 %%x<4>; .shared .align 1024 .b8 s[%d];\n"
        "ld.param.u64 %%rd1, [in]; ld.param.u64 %%rd2, [out]; mov.u32 %%r1, %%tid.x; mov.u32 %%r2, s; mov.u32 %%r3, "
        "%%r1;\n"
        "$copy: mul.wide.u32 %%rd3, %%r3, 16; add.s64 %%rd4, %%rd1, %%rd3; ld.global.v4.b32 {%%a0,%%a1,%%a2,%%a3}, "
        "[%%rd4];\n"
        "mad.lo.u32 %%r4, %%r3, 16, %%r2; st.shared.v4.b32 [%%r4], {%%a0,%%a1,%%a2,%%a3}; add.u32 %%r3, %%r3, %d;\n"
        "setp.lt.u32 %%p1, %%r3, %d; @%%p1 bra $copy;\n%s"
        /* Registers of a: row g and g + 8 of the warp's 16, words t of both halves of k. */
        "shr.u32 %%r5, %%r1, 5; shl.b32 %%r5, %%r5, 9; shr.u32 %%r6, %%r1, 2; and.b32 %%r6, %%r6, 7; "
        "mad.lo.u32 %%r5, %%r6, 16, %%r5; and.b32 %%r6, %%r1, 3; mad.lo.u32 %%r5, %%r6, 4, %%r5; add.u32 %%r5, %%r5, "
        "%%r2;\n"
        "ld.shared.b32 %%a0, [%%r5]; ld.shared.b32 %%a1, [%%r5+256]; ld.shared.b32 %%a2, [%%r5+128]; "
        "ld.shared.b32 %%a3, [%%r5+384];\n"
        "cvt.u64.u32 %%rd5, %%r2; shr.u64 %%rd5, %%rd5, 4; or.b64 %%rd5, %%rd5, 0x1000080000; add.s64 %%rd6, %%rd5, "
        "128;\n"
        "setp.eq.u32 %%p2, %%r1, %%r1;\n",
        singles ? "f32" : "b32", OPERANDS, THREADS, OPERANDS / 16, p->stage ? p->stage : barrier);
    for (int i = 0; i < p->registers; i++)
        length +=
            singles ? sprintf(text + length, "cvt.rn.f32.u32 %%d%d, %%r1; add.f32 %%d%d, %%d%d, 0f%08X;\n", i, i, i, 0)
                    : sprintf(text + length, "mov.b32 %%d%d, 0;\n", i);
    length += sprintf(text + length, "%s%s%s%s%s", p->before ? p->before : fence, instruction,
                      p->between ? p->between : "", p->between ? instruction : "",
                      p->end ? p->end : "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    length += sprintf(text + length, "mul.wide.u32 %%rd3, %%r1, 4; add.s64 %%rd2, %%rd2, %%rd3;\n");
    for (int i = 0; i < p->registers; i++)
        length += sprintf(text + length, "st.global.b32 [%%rd2+%d], %%d%d;\n", 4 * THREADS * i, i);
    sprintf(text + length, "ret;\n}\n");
}

static uint64_t run(const program *p, uint64_t seed) {
    static char text[40000];
    text_of(p, text);
    return run_text(text, THREADS, seed);
}

/* ---- results --------------------------------------------------------------------------------------------- */
static int a[64][32], b[256][32];
static uint32_t dice = 1;
static int small(void) {
    dice = dice * 1664525 + 1013904223;
    return (int)(dice >> 16) % 7 - 3;
}
static uint16_t half_of(int value) { /* at most 3 in magnitude */
    static const uint16_t halves[] = {0, 0x3c00, 0x4000, 0x4200};
    return (uint16_t)(halves[value < 0 ? -value : value] | (value < 0 ? 0x8000 : 0));
}
static uint8_t *at(uint8_t *operand, int row, int byte) {
    return operand + row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
}
/* Operands of f16 (k = 16) or s8 (k = 32). */
static void fill(bool halves) {
    const int k = halves ? 16 : 32;
    for (int row = 0; row < 64 + 256; row++)
        for (int i = 0; i < k; i++) {
            int value = small();
            uint8_t *operand = row < 64 ? in : in + 2048;
            const int r = row < 64 ? row : row - 64;
            uint16_t bits = half_of(value);
            if (halves)
                memcpy(at(operand, r, 2 * i), &bits, 2);
            else
                *at(operand, r, i) = (uint8_t)value;
            if (row < 64)
                a[r][i] = value;
            else
                b[r][i] = value;
        }
}

/* "Element i of thread: row 16 (warp) + T / 4 (+ 8), column 8 (i / 4) + 2 (T % 4) + i % 2" */
static int sum_of(int thread, int i, int k, int sign) {
    const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + thread % 4 * 2 + i % 2;
    int sum = 0;
    for (int x = 0; x < k; x++) sum += sign * a[row][x] * b[column][x];
    return sum;
}

static void check(const program *p, int k, int add, int sign, int times) {
    fill(k == 16);
    uint64_t findings = run(p, (uint64_t)p->n);
    if (findings) fail_msg("%s", emu_findings_take());
    const bool halves = strstr(p->form, ".f16.f16.f16") != NULL, integers = k == 32;
    for (int thread = 0; thread < THREADS; thread++)
        for (int i = 0; i < p->n / 2; i++) {
            int sum = times * sum_of(thread, i, k, sign) + (add && !integers && !halves ? thread : 0);
            float single = (float)sum;
            uint32_t word = out[(halves ? i / 2 : i) * THREADS + thread], expected;
            memcpy(&expected, &single, 4);
            if (integers) expected = (uint32_t)sum;
            if (halves) { /* exact in f32, too: compare as the float that the half is */
                uint32_t bits = word >> (i % 2 * 16) & 0xffff;
                word = bits & 0x7fff ? (bits & 0x8000) << 16 | (((bits & 0x7fff) << 13) + (112u << 23)) : 0;
            }
            if (word != expected) fail_msg("thread %d, element %d: %d is due\n%s", thread, i, sum, p->form);
        }
}

static void products(void **state) {
    (void)state;
    for (int n = 8; n <= 256; n += n < 32 ? 8 : 56) {
        const char *more[] = {"1, 1, 1, 0, 0", "0, 1, 1, 0, 0", "%p2, -1, 1, 0, 0", "!%p2, 1, -1, 0, 0"};
        for (int i = 0; i < 4; i++) {
            program p = {.form = "k16.f32.f16.f16", .n = n, .registers = n / 2, .after = more[i]};
            check(&p, 16, i % 2 == 0, i < 2 ? 1 : -1, 1);
        }
        program p = {
            .form = "k16.f32.f16.f16", .n = n, .registers = n / 2, .a_in_registers = true, .after = "1, 1, 1, 0"};
        check(&p, 16, true, 1, 1);
        p = (program){.form = "k16.f16.f16.f16", .n = n, .registers = n / 4, .after = "1, 1, 1, 0, 0", .between = ""};
        check(&p, 16, true, 1, 2);
    }
    for (int n = 8; n <= 256; n *= 2) {
        program p = {.form = "k32.s32.s8.s8", .n = n, .registers = n / 2, .after = "1", .between = commit};
        check(&p, 32, true, 1, 2);
    }
}

/* ---- what breaks the rules ------------------------------------------------------------------------------- */
static const program plain = {
    .form = "k16.f32.f16.f16", .n = 64, .registers = 32, .a_in_registers = true, .after = "1, 1, 1, 0"};

/* The program gives a finding of this kind whatever the order in which things run. */
static void told(const program *p, const char *key) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        fill(true);
        (void)emu_findings_take();
        uint64_t findings = run(p, seed);
        const char *text = emu_findings_take();
        if (!findings) fail_msg("seed %d: no finding, %s is due", (int)seed, key);
        if (strstr(text, key) == NULL) fail_msg("seed %d: %s is due, not: %s", (int)seed, key, text);
    }
}
static void not_told(const program *p) {
    for (uint64_t seed = 1; seed <= 5; seed++) {
        fill(true);
        if (run(p, seed)) fail_msg("%s", emu_findings_take());
    }
}

static void honest_programs(void **state) {
    (void)state;
    program p = plain;
    not_told(&p);
    p.between = ""; /* the same shape, the same accumulators: in order */
    not_told(&p);
    p.between = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"; /* untouched since */
    not_told(&p);
    p.between =
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nadd.f32 %d3, %d3, %d4;\n"
        "add.u32 %a1, %a1, 0;\nwgmma.fence.sync.aligned;\n";
    not_told(&p);
    p = plain; /* a copy in flight, and constants behind the fence */
    p.before = "wgmma.fence.sync.aligned;\nmov.f32 %d3, 0f00000000;\n";
    p.end =
        "mov.f32 %x1, %d4;\nmov.f32 %x2, %x1;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
        "add.f32 %d4, %x2, %x1;\n";
    not_told(&p);
}

static void registers_in_flight(void **state) {
    (void)state;
    program p = plain;
    p.end = commit; /* the stores read the accumulators */
    told(&p, "pending-register");
    p.end = wait; /* of a group that was never committed */
    told(&p, "pending-register");
    p.end = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;\n";
    told(&p, "pending-register");
    p.end = "add.u32 %a2, %a2, 1;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    told(&p, "pending-register");
    p.end =
        "mov.f32 %x1, %d4;\nwgmma.commit_group.sync.aligned;\nadd.f32 %x2, %x1, %x1;\nwgmma.wait_group.sync.aligned "
        "0;\n";
    told(&p, "pending-register");
}

static void fences_left_out(void **state) {
    (void)state;
    program p = plain;
    p.before = "";
    told(&p, "protocol");
    p.before = NULL;
    p.between = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nadd.f32 %d3, %d3, %d4;\n";
    told(&p, "protocol");
    p.between = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nadd.u32 %a0, %a0, 0;\n";
    told(&p, "protocol");
    p = plain;
    p.stage = "bar.sync 0;\n";
    told(&p, "missing-proxy-fence");
}

static void nobody_waits(void **state) {
    (void)state;
    program p = plain;
    p.end = "wgmma.commit_group.sync.aligned;\nret;\n";
    told(&p, "protocol");
}

static void shared_memory_in_flight(void **state) {
    (void)state;
    program p = plain;
    p.end = "st.shared.b32 [%r2+2048], %r1;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    told(&p, "race");
    p.end =
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nbar.sync 0;\nsetp.eq.u32 %p1, %r1, 0;\n"
        "@%p1 st.shared.b32 [%r2+2048], %r1;\n";
    not_told(&p);
}

static void operands_that_differ(void **state) {
    (void)state;
    program p = plain;
    p.before = "wgmma.fence.sync.aligned;\nsetp.eq.u32 %p1, %r1, 77;\n@%p1 add.s64 %rd6, %rd6, 8;\n";
    told(&p, "bad-descriptor");
    p.before = "wgmma.fence.sync.aligned;\nsetp.ge.u32 %p1, %r1, 96;\n@%p1 add.s64 %rd6, %rd6, 8;\n";
    told(&p, "bad-descriptor");
    p.before = "wgmma.fence.sync.aligned;\nor.b64 %rd6, %rd6, 0x1000000000000000;\n";
    told(&p, "bad-descriptor");
    p.before = "wgmma.fence.sync.aligned;\nadd.s64 %rd6, %rd6, 0x2000;\n"; /* beyond the block's shared memory */
    told(&p, "out-of-bounds");
}

static void warps_that_do_not_come(void **state) {
    (void)state;
    program p = plain;
    p.before = "wgmma.fence.sync.aligned;\nsetp.ge.u32 %p1, %r1, 96;\n@%p1 bra $wait;\n";
    p.end = "wgmma.commit_group.sync.aligned;\n$wait:\nwgmma.wait_group.sync.aligned 0;\n";
    told(&p, "deadlock");
    static char text[40000];
    text_of(&plain, text);
    (void)emu_findings_take();
    assert_true(run_text(text, 96, 1) > 0);
    assert_non_null(strstr(emu_findings_take(), "protocol"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(honest_programs),
        cmocka_unit_test(registers_in_flight),
        cmocka_unit_test(fences_left_out),
        cmocka_unit_test(nobody_waits),
        cmocka_unit_test(shared_memory_in_flight),
        cmocka_unit_test(operands_that_differ),
        cmocka_unit_test(warps_that_do_not_come),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

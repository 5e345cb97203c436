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

enum { THREADS = 128, METADATA = 2048 + 16384, OPERANDS = METADATA + 4 * THREADS, OUT = 64 * 256 };
static uint8_t *in;   /* a, then b, then words of metadata, as they shall lie in shared memory */
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
    bool sparse;      /* wgmma.mma_async.sp, with the metadata in %a0 */
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
    sprintf(instruction, "wgmma.mma_async%s.sync.aligned.m64n%d%s %s}, %s, %%rd6, %s;\n", p->sparse ? ".sp" : "", p->n,
            p->form, d, p->a_in_registers ? "{%a0,%a1,%a2,%a3}" : "%rd5", p->after);
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

/* ---- sparse a -------------------------------------------------------------------------------------------- */
/* Metadata into %a0; b has 64 bytes of k, so its groups of eight columns are 512 bytes apart. */
#define SPARSE_SETUP                                                \
    "mad.lo.u32 %r5, %r1, 4, %r2; ld.shared.b32 %a0, [%r5+18432]; " \
    "add.s64 %rd6, %rd6, 0x1000000000;\n"
static const char sparse_setup[] = SPARSE_SETUP "wgmma.fence.sync.aligned;\n";
static int wide_b[256][64];
static int places[64][32]; /* in k, of the elements of a row of a */

static void keep(int thread, int nibble, int row, int group) {
    static const int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    const int *pair = pairs[(small() + 3) % 6];
    uint32_t word;
    memcpy(&word, in + METADATA + 4 * thread, 4);
    word |= (uint32_t)(pair[0] | pair[1] << 2) << 4 * nibble;
    memcpy(in + METADATA + 4 * thread, &word, 4);
    for (int i = 0; i < 2; i++) places[row][2 * group + i] = 4 * group + pair[i];
}

/* Types of sparse products: elements of f16, and two of 8 bits, whose metadata lies alike. */
typedef enum kind { HALVES, INTEGERS, E4M3 } kind;
static const char *const sparse_forms[] = {"k32.f32.f16.f16", "k64.s32.s8.s8", "k64.f32.e4m3.e4m3"};
static uint8_t e4m3_of(int value) { /* at most 3 in magnitude */
    static const uint8_t codes[] = {0, 0x38, 0x40, 0x44};
    return (uint8_t)(codes[value < 0 ? -value : value] | (value < 0 ? 0x80 : 0));
}
static uint8_t *sparse_at(int line, int byte) {
    const int r = line - 64;
    return line < 64 ? at(in, line, byte) : in + 2048 + r / 8 * 512 + byte / 16 * 128 + r % 8 * 16 + byte % 16;
}

/* The ISA's figures: of f16, threads 2 selector and 2 selector + 1 of each quad have sixteen columns each, of two rows eight
 * apart; of 8 bits, threads 0 and 2 have 32 columns each of the first, 1 and 3 of the second. Other threads' words are zero. */
static void fill_metadata(bool halves, int selector) {
    memset(in, 0, OPERANDS);
    for (int row = 0; row < 64; row++) {
        const int quad = row / 16 * 32 + row % 8 * 4, below = row % 16 / 8;
        for (int group = 0; group < (halves ? 8 : 16); group++) {
            if (halves)
                keep(quad + 2 * selector + group / 4, 4 * below + group % 4, row, group);
            else
                keep(quad + 2 * (group / 8) + below, group % 8, row, group);
        }
    }
}
static void fill_sparse(kind type, int selector) {
    const int n = type == HALVES ? 16 : 32;
    fill_metadata(type == HALVES, selector);
    for (int line = 0; line < 64 + 256; line++)
        for (int i = 0; i < (line < 64 ? n : 2 * n); i++) {
            const int value = small();
            const uint16_t bits = half_of(value);
            if (type == HALVES)
                memcpy(sparse_at(line, 2 * i), &bits, 2);
            else
                *sparse_at(line, i) = type == E4M3 ? e4m3_of(value) : (uint8_t)value;
            *(line < 64 ? &a[line][i] : &wide_b[line - 64][i]) = value;
        }
}

static void check_sparse(kind type, int n, int selector, const char *after) {
    const program p = {
        .form = sparse_forms[type], .sparse = true, .n = n, .registers = n / 2, .after = after, .before = sparse_setup};
    fill_sparse(type, selector);
    if (run(&p, (uint64_t)n)) fail_msg("%s", emu_findings_take());
    for (int thread = 0; thread < THREADS; thread++)
        for (int i = 0; i < n / 2; i++) {
            const int row = thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8,
                      column = i / 4 * 8 + thread % 4 * 2 + i % 2;
            int sum = type == INTEGERS ? 0 : thread;
            for (int x = 0; x < (type == HALVES ? 16 : 32); x++) sum += a[row][x] * wide_b[column][places[row][x]];
            const float single = (float)sum;
            uint32_t expected = (uint32_t)sum;
            if (type != INTEGERS) memcpy(&expected, &single, 4);
            if (out[i * THREADS + thread] != expected) fail_msg("thread %d, element %d: %d is due", thread, i, sum);
        }
}

static void sparse_products(void **state) {
    (void)state;
    for (int n = 8; n <= 256; n += n < 32 ? 8 : 56) {
        check_sparse(HALVES, n, 0, "%a0, 0, 1, 1, 1, 0, 0");
        check_sparse(HALVES, n, 1, "%a0, 1, 1, 1, 1, 0, 0");
        check_sparse(E4M3, n, 0, "%a0, 0, 1, 1, 1");
    }
    for (int n = 8; n <= 256; n *= 2) check_sparse(INTEGERS, n, 0, "%a0, 0, 1");
}

/* Where the sums of e4m3 lose bits, a sparse product is that of the elements which are kept, bit by bit. Each row's own are in b
 * of a dense product in turn, of which that row is compared. */
static void sparse_sums_are_those_of_what_is_kept(void **state) {
    (void)state;
    enum { N = 32, REGISTERS = N / 2 };
    const program sparse = {.form = "k64.f32.e4m3.e4m3",
                            .sparse = true,
                            .n = N,
                            .registers = REGISTERS,
                            .after = "%a0, 0, 1, 1, 1",
                            .before = sparse_setup},
                  dense = {.form = "k32.f32.e4m3.e4m3", .n = N, .registers = REGISTERS, .after = "1, 1, 1"};
    static uint8_t right[N][64];
    static uint32_t kept[REGISTERS * THREADS];
    fill_metadata(false, 0);
    for (int line = 0; line < 64 + N; line++)
        for (int i = 0; i < (line < 64 ? 32 : 64); i++) {
            const uint8_t code = (uint8_t)((small() & 1) << 7 | ((small() + 3) * 17 + small() + 3)); /* no NaN */
            *sparse_at(line, i) = code;
            if (line >= 64) right[line - 64][i] = code;
        }
    if (run(&sparse, 3)) fail_msg("%s", emu_findings_take());
    memcpy(kept, out, sizeof kept);
    for (int row = 0; row < 64; row += 7) {
        for (int column = 0; column < N; column++)
            for (int i = 0; i < 32; i++) *at(in + 2048, column, i) = right[column][places[row][i]];
        if (run(&dense, (uint64_t)row)) fail_msg("%s", emu_findings_take());
        for (int thread = row / 16 * 32 + row % 8 * 4, last = thread + 4; thread < last; thread++)
            for (int i = 0; i < REGISTERS; i++)
                if (i / 2 % 2 == row / 8 % 2) assert_int_equal(out[i * THREADS + thread], kept[i * THREADS + thread]);
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

/* Warp 0 exits behind its wgmma, before warps 2 and 3 have issued theirs: a barrier of the warps that are left says so. */
static void a_warp_that_exits_too_early(void **state) {
    (void)state;
    program p = plain;
    p.before = "wgmma.fence.sync.aligned;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bar.sync 0;\n";
    p.end =
        "setp.lt.u32 %p2, %r1, 32;\n@%p2 ret;\n@!%p1 bar.sync 0;\n"
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    told(&p, "exits without having waited");
    for (int thread = 32; thread < THREADS; thread++) {
        const float sum = (float)(sum_of(thread, 0, 16, 1) + thread);
        assert_memory_equal(&out[thread], &sum, sizeof sum);
    }
}

/* Bad metadata of one thread, and metadata whose register is overwritten in flight. Threads that are not selected may have
 * anything. */
static void metadata_that_is_not_of_pairs(void **state) {
    (void)state;
    static const struct {
        const char *change, *end, *key; /* key NULL: nothing is told */
    } cases[] = {
        {"setp.eq.u32 %p1, %r1, 36;\n@%p1 and.b32 %a0, %a0, 0xfffffff0;\n", NULL, "bad-descriptor"}, /* 0 and 0 */
        {"setp.eq.u32 %p1, %r1, 36;\n@%p1 or.b32 %a0, %a0, 0xf0000000;\n", NULL, "bad-descriptor"},  /* 3 and 3 */
        {"and.b32 %a0, %a0, 0xfffffff0; or.b32 %a0, %a0, 1;\n", NULL, "bad-descriptor"},             /* 1 and 0 */
        {"", "add.u32 %a0, %a0, 1;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
         "pending-register"},
        {"wgmma.fence.sync.aligned;\nadd.u32 %a0, %a0, 0;\n", NULL, NULL},
        {"setp.eq.u32 %p1, %r1, 38;\n@%p1 mov.b32 %a0, 0;\n", NULL, NULL}, /* is of selector 1 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char before[600];
        sprintf(before, "%s%s%s", SPARSE_SETUP, cases[i].change, fence);
        const program p = {.form = "k32.f32.f16.f16",
                           .sparse = true,
                           .n = 64,
                           .registers = 32,
                           .after = "%a0, 0, 1, 1, 1, 0, 0",
                           .before = before,
                           .end = cases[i].end};
        fill_sparse(HALVES, 0);
        (void)emu_findings_take();
        const uint64_t findings = run(&p, i + 1);
        const char *text = emu_findings_take();
        if (cases[i].key ? !findings || strstr(text, cases[i].key) == NULL : findings != 0)
            fail_msg("case %d: %s is due, not: %s", (int)i, cases[i].key ? cases[i].key : "nothing",
                     text ? text : "nothing");
    }
}

static void sparse_forms_that_are_refused(void **state) {
    (void)state;
    static const program cases[] = {
        {.form = "k16.f32.f16.f16", .after = "%a0, 0, 1, 1, 1, 0, 0"}, /* k of a dense product */
        {.form = "k32.f32.f16.f16", .after = "%a0, 2, 1, 1, 1, 0, 0"}, /* there is no third pair */
        {.form = "k64.f32.e4m3.e4m3", .after = "%a0, 1, 1, 1, 1"},     /* all threads have metadata */
        {.form = "k32.f32.f16.f16", .after = "1, 1, 1, 0, 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static char text[40000];
        program p = cases[i];
        p.sparse = true, p.n = 64, p.registers = 32;
        text_of(&p, text);
        ptx_kernel kernel = ptx_kernel_open(text);
        if (kernel.code != NULL) fail_msg("case %d is taken", (int)i);
        ptx_kernel_close(&kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),
        cmocka_unit_test(sparse_products),
        cmocka_unit_test(sparse_sums_are_those_of_what_is_kept),
        cmocka_unit_test(honest_programs),
        cmocka_unit_test(registers_in_flight),
        cmocka_unit_test(fences_left_out),
        cmocka_unit_test(nobody_waits),
        cmocka_unit_test(shared_memory_in_flight),
        cmocka_unit_test(operands_that_differ),
        cmocka_unit_test(warps_that_do_not_come),
        cmocka_unit_test(a_warp_that_exits_too_early),
        cmocka_unit_test(metadata_that_is_not_of_pairs),
        cmocka_unit_test(sparse_forms_that_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

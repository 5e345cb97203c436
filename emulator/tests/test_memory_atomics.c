/* atom and red as PTX programs over several blocks and seeds: what commutes must come to the sequential result, and
 * what was returned must be explained by some order. */
#include <setjmp.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/ptx_launch.h"

enum { BLOCKS = 3, THREADS = 80, N = BLOCKS * THREADS, SLOTS = 5, SLOT_BYTES = 16 };
static uint8_t *counters, *values, *returned;

static int set_up(void **state) {
    (void)state;
    counters = emu_memory_allocate(SLOTS * SLOT_BYTES, EMU_DEVICE);
    values = emu_memory_allocate(N * 16, EMU_DEVICE);
    returned = emu_memory_allocate(N * 16, EMU_DEVICE);
    return 0;
}

/* Every thread does the instruction once on counter tid % SLOTS, with operand values[gid], and stores what it got.
 * space: "global", generic ("") — or "shared", where each block has counters of its own, copied in at first and out at
 * the end of the block's turn: run with one block then. */
static void run(const char *what, const char *type, int bytes, const char *space, bool red, const char *compare,
                uint32_t blocks, uint64_t seed) {
    bool shared = strncmp(space, "shared", 6) == 0 || strcmp(space, "generic shared") == 0;
    bool generic = space[0] == 0 || strcmp(space, "generic shared") == 0;
    char text[4000], dot[20] = "";
    if (!generic) snprintf(dot, sizeof(dot), ".%s", space);
    int bits = bytes < 2 ? 16 : 8 * bytes;
    size_t used = (size_t)snprintf(
        text, sizeof(text),
        ".visible .entry k(.param .u64 counters, .param .u64 values, .param .u64 returned)\n{\n"
        ".reg .b64 %%rd<20>; .reg .b32 %%r<20>; .reg .b%d %%a, %%b, %%c, %%zero; mov.b64 %%rd10, 0; %s\n"
        ".reg .pred %%p<4>; .shared "
        ".align 16 .b8 sh[%d];\n"
        "ld.param.u64 %%rd1, [counters]; ld.param.u64 %%rd2, [values]; ld.param.u64 %%rd3, "
        "[returned]; mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x;\n"
        "mad.lo.u32 %%r3, %%r2, %d, %%r1; mul.wide.u32 %%rd4, %%r3, 16; add.s64 %%rd2, %%rd2, %%rd4; "
        "add.s64 %%rd3, %%rd3, %%rd4;\n"
        "rem.u32 %%r4, %%r1, %d; mul.lo.u32 %%r5, %%r4, %d; cvt.u64.u32 %%rd5, %%r5; add.s64 %%rd1, "
        "%%rd1, %%rd5; ld.global.b%d %%b, [%%rd2];\n",
        bits,
        bits == 128  ? "mov.b128 %zero, {%rd10, %rd10};"
        : bits == 64 ? "mov.b64 %zero, 0;"
        : bits == 32 ? "mov.b32 %zero, 0;"
                     : "mov.b16 %zero, 0;",
        SLOTS * SLOT_BYTES, THREADS, SLOTS, SLOT_BYTES, bits);
    if (shared)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "setp.lt.u32 %%p1, %%r1, %d; mov.u32 %%r6, sh; add.u32 %%r6, %%r6, %%r5; cvt.u64.u32 "
                                 "%%rd6, %%r6; cvta.shared.u64 %%rd7, %%rd6;\n"
                                 "@%%p1 ld.global.b%d %%c, [%%rd1]; @%%p1 st.shared.b%d [%%r6], %%c; bar.sync 0;\n",
                                 SLOTS, bits, bits);
    const char *at = shared && generic ? "%rd7" : shared ? "%r6" : "%rd1";
    if (red)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "red%s.%s.%s [%s], %s%%b;\n", dot, what, type, at,
                                 compare);
    else
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "atom%s.%s.%s %%a, [%s], %s%%b; st.global.b%d [%%rd3], %%a;\n", dot, what, type, at,
                                 compare, bits);
    if (shared)
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "bar.sync 0; @%%p1 ld.shared.b%d %%c, [%%r6]; @%%p1 st.global.b%d [%%rd1], %%c;\n",
                                 bits, bits);
    snprintf(text + used, sizeof(text) - used, "ret; }\n");
    ptx_kernel kernel = ptx_kernel_open(text);
    if (kernel.code == NULL) fail_msg("%s\n%s", kernel.error.text, text);
    emu_memory_host_wrote(counters, SLOTS * SLOT_BYTES);
    emu_memory_host_wrote(values, N * 16);
    uint64_t findings =
        ptx_kernel_run(&kernel, blocks, 1, THREADS, seed, (const void *const[]){counters, values, returned}, 3);
    if (findings != 0) fail_msg("%d findings:\n%s", (int)findings, text);
    ptx_kernel_close(&kernel);
}

static const char *const spaces[] = {"global", "", "shared", "shared::cta", "shared::cluster", "generic shared"};
enum { N_SPACES = 6 };
static bool in_shared(int space) { return space >= 2; }

static uint64_t read_slot(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    memcpy(&value, at, (size_t)bytes);
    return value;
}

static emu_random dice = {{9, 8, 7, 6}};
static void fill(void) {
    for (int i = 0; i < SLOTS * SLOT_BYTES; i++) counters[i] = (uint8_t)emu_random_next(&dice);
    for (int i = 0; i < N * 16; i++) values[i] = (uint8_t)emu_random_next(&dice);
}

static int64_t extended(uint64_t x, int bytes) { return (int64_t)(x << (64 - 8 * bytes)) >> (64 - 8 * bytes); }

static uint64_t apply(const char *what, bool is_signed, int bytes, uint64_t a, uint64_t b) {
    uint64_t mask = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * bytes)) - 1;
    bool less = is_signed ? extended(a, bytes) < extended(b, bytes) : a < b;
    if (strcmp(what, "add") == 0) return (a + b) & mask;
    if (strcmp(what, "min") == 0) return less ? a : b;
    if (strcmp(what, "max") == 0) return less ? b : a;
    if (strcmp(what, "and") == 0) return a & b;
    if (strcmp(what, "or") == 0) return a | b;
    return a ^ b;
}

static void commuting(void **state) {
    (void)state;
    static const struct {
        const char *what, *types[4];
    } forms[] = {{"add", {"u32", "s32", "u64", "s64"}},
                 {"min", {"u32", "s32", "u64", "s64"}},
                 {"max", {"u32", "s32", "u64", "s64"}},
                 {"and", {"b32", "b64"}},
                 {"or", {"b32", "b64"}},
                 {"xor", {"b32", "b64"}}};
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
        for (int t = 0; t < 4 && forms[f].types[t] != NULL; t++)
            for (int space = 0; space < N_SPACES; space++)
                for (int red = 0; red < 2; red++) {
                    const char *type = forms[f].types[t];
                    int bytes = type[1] == '3' ? 4 : 8, n = (in_shared(space) ? 1 : BLOCKS) * THREADS;
                    fill();
                    uint64_t want[SLOTS];
                    for (int s = 0; s < SLOTS; s++) want[s] = read_slot(counters + s * SLOT_BYTES, bytes);
                    for (int i = 0; i < n; i++)
                        want[i % THREADS % SLOTS] = apply(forms[f].what, type[0] == 's', bytes,
                                                          want[i % THREADS % SLOTS], read_slot(values + 16 * i, bytes));
                    run(forms[f].what, type, bytes, spaces[space], red, "", (uint32_t)(n / THREADS), f);
                    for (int s = 0; s < SLOTS; s++)
                        assert_int_equal(read_slot(counters + s * SLOT_BYTES, bytes), want[s]);
                }
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Counting: the old values of a counter are 0, 1, 2, … each once; in the order of the lanes only by chance. */
static void counting(void **state) {
    (void)state;
    static const char *const semantics[] = {"add", "relaxed.gpu.add", "acquire.sys.add", "release.cta.add",
                                            "acq_rel.gpu.add"};
    int in_order = 0, orders = 0;
    for (int k = 0; k < 5; k++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            memset(counters, 0, SLOTS * SLOT_BYTES);
            for (int i = 0; i < N; i++) memcpy(values + 16 * i, &(uint64_t){1}, 8);
            run(semantics[k], "u32", 4, k == 3 ? "shared" : "global", false, "", k == 3 ? 1 : BLOCKS, seed);
            int n = k == 3 ? THREADS : N;
            for (int s = 0; s < SLOTS; s++) {
                uint64_t old[N];
                int count = 0;
                bool ascending = true;
                for (int i = 0; i < n; i++)
                    if (i % THREADS % SLOTS == s) {
                        old[count++] = read_slot(returned + 16 * i, 4);
                        if (count > 1 && i % THREADS < 32 && i < THREADS && old[count - 1] < old[count - 2])
                            ascending = false;
                    }
                in_order += ascending;
                orders++;
                qsort(old, (size_t)count, sizeof(old[0]), by_value);
                for (int i = 0; i < count; i++) assert_int_equal(old[i], i);
                assert_int_equal(read_slot(counters + s * SLOT_BYTES, 4), count);
            }
        }
    assert_in_range(in_order, 0, orders / 2);
}

/* inc and dec wrap at the bound; all operands are the same, so that any order is the same. */
static void wrapping(void **state) {
    (void)state;
    for (int up = 0; up < 2; up++) {
        uint32_t bound = 7, want[SLOTS];
        for (uint32_t s = 0; s < SLOTS; s++) {
            uint32_t first = 3 * s; /* beyond the bound, too */
            memcpy(counters + s * SLOT_BYTES, &first, 4);
            want[s] = first;
        }
        for (int i = 0; i < N; i++) {
            uint32_t *w = &want[i % THREADS % SLOTS];
            memcpy(values + 16 * i, &bound, 4);
            *w = up ? (*w >= bound ? 0 : *w + 1) : (*w == 0 || *w > bound ? bound : *w - 1);
        }
        run(up ? "inc" : "dec", "u32", 4, "global", false, "", BLOCKS, 1);
        for (int s = 0; s < SLOTS; s++) assert_int_equal(read_slot(counters + s * SLOT_BYTES, 4), want[s]);
    }
}

/* exch: all that was put in comes out again, or is still there. */
static void exchanging(void **state) {
    (void)state;
    for (int bytes = 4; bytes <= 16; bytes *= 2)
        for (int space = 0; space < N_SPACES; space++) {
            int n = in_shared(space) ? THREADS : N;
            fill();
            uint64_t sum[2] = {0, 0}, left[2] = {0, 0};
            char type[8];
            snprintf(type, sizeof(type), "b%d", 8 * bytes);
            for (int half = 0; half < bytes; half += 8) {
                int part = bytes < 8 ? bytes : 8;
                for (int s = 0; s < SLOTS; s++) sum[half / 8] += read_slot(counters + s * SLOT_BYTES + half, part);
                for (int i = 0; i < n; i++) sum[half / 8] += read_slot(values + 16 * i + half, part);
            }
            run("exch", type, bytes, spaces[space], false, "", (uint32_t)(n / THREADS), (uint64_t)space);
            for (int half = 0; half < bytes; half += 8) {
                int part = bytes < 8 ? bytes : 8;
                for (int s = 0; s < SLOTS; s++) left[half / 8] += read_slot(counters + s * SLOT_BYTES + half, part);
                for (int i = 0; i < n; i++) left[half / 8] += read_slot(returned + 16 * i + half, part);
                assert_int_equal(sum[half / 8], left[half / 8]);
            }
        }
}

/* cas: of all threads that expect zero one finds it, and all others find what that one has stored. */
static void comparing(void **state) {
    (void)state;
    for (int bytes = 2; bytes <= 16; bytes *= 2)
        for (int space = 0; space < N_SPACES; space++) {
            char type[8];
            int n = in_shared(space) ? THREADS : N, part = bytes < 8 ? bytes : 8;
            snprintf(type, sizeof(type), "b%d", 8 * bytes);
            memset(counters, 0, SLOTS * SLOT_BYTES);
            for (int i = 0; i < N; i++) memcpy(values + 16 * i, (uint64_t[]){(uint64_t)i + 1, 5}, 16);
            run("cas", type, bytes, spaces[space], false, "%zero, ", (uint32_t)(n / THREADS), (uint64_t)space);
            for (int s = 0; s < SLOTS; s++) {
                uint64_t stored = read_slot(counters + s * SLOT_BYTES, part);
                int winners = 0;
                for (int i = 0; i < n; i++) {
                    if (i % THREADS % SLOTS != s) continue;
                    uint64_t old = read_slot(returned + 16 * i, part);
                    winners += old == 0;
                    assert_int_equal(old, old == 0 ? 0 : stored);
                    if (old == 0) assert_int_equal(stored, i + 1);
                    if (bytes == 16) assert_int_equal(read_slot(returned + 16 * i + 8, 8), old == 0 ? 0 : 5);
                }
                assert_int_equal(winners, 1);
            }
        }
}

/* A lock-free counter by a loop of cas. */
static void cas_loop(void **state) {
    (void)state;
    static const char text[] =
        ".visible .entry k(.param .u64 counter)\n{\n.reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p<2>;\n"
        "ld.param.u64 %rd1, [counter]; ld.relaxed.gpu.global.u32 %r1, [%rd1];\n"
        "again: add.u32 %r2, %r1, 3; atom.relaxed.gpu.global.cas.b32 %r3, [%rd1], %r1, %r2; setp.ne.u32 %p1, %r3, %r1; "
        "mov.u32 %r1, %r3;\n"
        "@%p1 bra again; ret; }\n";
    for (uint64_t seed = 0; seed < 3; seed++) {
        ptx_kernel kernel = ptx_kernel_open(text);
        if (kernel.code == NULL) fail_msg("%s", kernel.error.text);
        memset(counters, 0, 4);
        emu_memory_host_wrote(counters, 4);
        assert_int_equal(ptx_kernel_run(&kernel, BLOCKS, 1, THREADS, seed, (const void *const[]){counters}, 1), 0);
        assert_int_equal(read_slot(counters, 4), 3 * N);
        ptx_kernel_close(&kernel);
    }
}

/* Sums of small integers are exact in every floating type, in any order. */
static void floating(void **state) {
    (void)state;
    for (int red = 0; red < 2; red++)
        for (int space = 0; space < N_SPACES; space++) {
            int n = in_shared(space) ? THREADS : N;
            float sum[SLOTS] = {0};
            double sums[SLOTS] = {0};
            memset(counters, 0, SLOTS * SLOT_BYTES);
            for (int i = 0; i < n; i++) {
                float f = (float)((int)emu_random_below(&dice, 100) - 50);
                memcpy(values + 16 * i, &f, 4);
                sum[i % THREADS % SLOTS] += f;
            }
            run("add", "f32", 4, spaces[space], red, "", (uint32_t)(n / THREADS), 3);
            for (int s = 0; s < SLOTS; s++) assert_memory_equal(counters + s * SLOT_BYTES, &(float){sum[s] + 0.0f}, 4);
            memset(counters, 0, SLOTS * SLOT_BYTES);
            for (int i = 0; i < n; i++) {
                double f = (int)emu_random_below(&dice, 100) * 0.25;
                memcpy(values + 16 * i, &f, 8);
                sums[i % THREADS % SLOTS] += f;
            }
            run("add", "f64", 8, spaces[space], red, "", (uint32_t)(n / THREADS), 3);
            for (int s = 0; s < SLOTS; s++) assert_memory_equal(counters + s * SLOT_BYTES, &sums[s], 8);
        }
}

/* Small integers as fp16 and bf16: both hold up to 256 of ones; 48 threads at most meet at a counter. */
static void halves(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int bytes;
        uint16_t one, count_of[49];
    } forms[] = {
        {"f16", 2, 0x3c00, {0}}, {"f16x2", 4, 0x3c00, {0}}, {"bf16", 2, 0x3f80, {0}}, {"bf16x2", 4, 0x3f80, {0}}};
    for (int f = 0; f < 4; f++)
        for (int space = 0; space < N_SPACES; space++) {
            int n = in_shared(space) ? THREADS : N, count = n / SLOTS;
            memset(counters, 0, SLOTS * SLOT_BYTES);
            for (int i = 0; i < n; i++)
                for (int half = 0; half < 2; half++) memcpy(values + 16 * i + 2 * half, &forms[f].one, 2);
            run("add.noftz", forms[f].type, forms[f].bytes, spaces[space], f & 1, "", (uint32_t)(n / THREADS), 3);
            float value = (float)count; /* 48 or 16: a few leading bits of an f32 */
            uint32_t bits;
            memcpy(&bits, &value, 4);
            uint16_t want = (uint16_t)(bits >> 16);
            if (forms[f].type[0] == 'f') want = (uint16_t)((bits - (112u << 23)) >> 13);
            for (int s = 0; s < SLOTS; s++)
                for (int half = 0; half < forms[f].bytes / 2; half++)
                    assert_int_equal(read_slot(counters + s * SLOT_BYTES + 2 * half, 2), want);
        }
}

/* Vectors: elements are updated each for itself; what is returned are the elements as they were. */
static void vectors(void **state) {
    (void)state;
    static const struct {
        const char *words, *type;
        int n, bytes;
        uint32_t one, two;
    } forms[] = {{"v2.f32.add", "f32", 2, 4, 0x3f800000, 0x40000000},
                 {"v4.f32.add", "f32", 4, 4, 0x3f800000, 0x40000000},
                 {"add.noftz.v2.f16", "f16", 2, 2, 0x3c00, 0x4000},
                 {"v4.bf16.add.noftz", "bf16", 4, 2, 0x3f80, 0x4000},
                 {"v8.f16.add.noftz", "f16", 8, 2, 0x3c00, 0x4000},
                 {"v2.f16x2.add.noftz", "f16x2", 2, 4, 0x3c003c00, 0x40004000},
                 {"v4.bf16x2.add.noftz", "bf16x2", 4, 4, 0x3f803f80, 0x40004000}};
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
        for (int red = 0; red < 2; red++) {
            char text[2000], list[200] = "{", ones[400] = "";
            for (int k = 0; k < forms[f].n; k++) {
                snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%%v%d", k ? ", " : "", k);
                snprintf(ones + strlen(ones), sizeof(ones) - strlen(ones), "mov.b%d %%v%d, %u; ", 8 * forms[f].bytes, k,
                         forms[f].one);
            }
            strcat(list, "}");
            snprintf(text, sizeof(text),
                     ".visible .entry k(.param .u64 c, .param .u64 v, .param .u64 r)\n{\n.reg .b64 %%rd<8>; .reg .b32 "
                     "%%r<4>; .reg .b%d %%v<8>;\n"
                     "ld.param.u64 %%rd1, [c]; ld.param.u64 %%rd2, [r]; mov.u32 %%r1, %%ctaid.x; mul.wide.u32 %%rd3, "
                     "%%r1, 16; add.s64 %%rd2, %%rd2, %%rd3; %s\n"
                     "%s.global.relaxed.gpu.%s %s%s[%%rd1], %s; st.global.v%d.b%d [%%rd2], %s; ret; }\n",
                     8 * forms[f].bytes, ones, red ? "red" : "atom", forms[f].words, red ? "" : list, red ? "" : ", ",
                     list, forms[f].n > 4 ? 8 : forms[f].n, 8 * forms[f].bytes, list);
            ptx_kernel kernel = ptx_kernel_open(text);
            if (kernel.code == NULL) fail_msg("%s\n%s", kernel.error.text, text);
            memset(counters, 0, 16);
            emu_memory_host_wrote(counters, 16);
            assert_int_equal(ptx_kernel_run(&kernel, 2, 1, 1, 3, (const void *const[]){counters, values, returned}, 3),
                             0);
            for (int k = 0; k < forms[f].n; k++) {
                int at = k * forms[f].bytes;
                assert_int_equal(read_slot(counters + at, forms[f].bytes), forms[f].two);
                uint64_t a = read_slot(returned + at, forms[f].bytes),
                         b = read_slot(returned + 16 + at, forms[f].bytes);
                if (red)
                    assert_true(a == forms[f].one && b == forms[f].one); /* untouched */
                else
                    assert_true((a == 0 && b == forms[f].one) || (b == 0 && a == forms[f].one));
            }
            ptx_kernel_close(&kernel);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commuting),  cmocka_unit_test(counting),  cmocka_unit_test(wrapping),
        cmocka_unit_test(exchanging), cmocka_unit_test(comparing), cmocka_unit_test(cas_loop),
        cmocka_unit_test(floating),   cmocka_unit_test(halves),    cmocka_unit_test(vectors),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

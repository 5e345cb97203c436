/* Forms of ld, ldu and st as small PTX programs: bytes go from memory through registers, shared and local memory to
 * memory again. */
#include <setjmp.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/ptx_launch.h"

enum { THREADS = 96, MOST = 32, BYTES = THREADS * MOST };
static uint8_t *in, *out;

static int set_up(void **state) {
    (void)state;
    in = emu_memory_allocate(BYTES, EMU_DEVICE);
    out = emu_memory_allocate(BYTES, EMU_DEVICE);
    emu_random random;
    emu_random_seed(&random, 5);
    for (int i = 0; i < BYTES; i++) in[i] = (uint8_t)emu_random_next(&random);
    emu_memory_host_wrote(in, BYTES);
    return 0;
}

static uint64_t run(const char *text, uint32_t blocks, uint32_t cluster, uint32_t threads) {
    ptx_kernel kernel = ptx_kernel_open(text);
    if (kernel.code == NULL) fail_msg("%s\n%s", kernel.error.text, text);
    (void)emu_findings_take();
    memset(out, 0xcd, BYTES);
    emu_memory_host_wrote(out, BYTES);
    uint64_t findings = ptx_kernel_run(&kernel, blocks, cluster, threads, 7, (const void *const[]){in, out}, 2);
    ptx_kernel_close(&kernel);
    return findings;
}

static const char head[] =
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .b64 %rd<40>; .reg .b32 %r<20>; .reg .b16 %h<20>; .reg .pred %p<8>;\n"
    "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
    "cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2; mov.u32 %r1, %tid.x;\n";

/* The key of the first finding since the last call. */
static const char *first_key(void) {
    static char key[100];
    const char *text = emu_findings_take();
    snprintf(key, sizeof(key), "%s", text != NULL ? text : "");
    key[strcspn(key, ":")] = 0;
    return key;
}

/* "%v0" or "{%v0, %v1, …}". */
static const char *registers(int n) {
    static const char *const lists[] = {[1] = "%v0",
                                        [2] = "{%v0, %v1}",
                                        [4] = "{%v0, %v1, %v2, %v3}",
                                        [8] = "{%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}"};
    return lists[n];
}

static void copy_through(const char *type, int bytes, int n, const char *load, const char *store,
                         const char *in_between) {
    char text[4000], vector[16] = "";
    if (n > 1) snprintf(vector, sizeof(vector), ".v%d", n);
    snprintf(text, sizeof(text),
             "%s.reg .b%d %%v<8>; .shared .align 32 .b8 buffer[%d]; .local .align 32 .b8 own[64];\n"
             "mul.wide.u32 %%rd3, %%r1, %d; add.s64 %%rd1, %%rd1, %%rd3; add.s64 %%rd2, %%rd2, %%rd3;\n"
             "mov.u32 %%r2, buffer; mad.lo.u32 %%r2, %%r1, %d, %%r2; mov.u64 %%rd4, own; cvta.shared.u64 %%rd5, "
             "buffer; add.s64 %%rd5, "
             "%%rd5, %%rd3; cvta.local.u64 %%rd6, %%rd4;\n"
             "%s%s.%s %s, [%%rd1];\n",
             head, bytes < 2 ? 16 : 8 * bytes, BYTES, n * bytes, n * bytes, load, vector, type, registers(n));
    size_t used = strlen(text);
    /* through a space and back, by another way */
    static const struct {
        const char *name, *write, *write_at, *read, *read_at;
    } ways[] = {{"shared", "st.shared", "%r2", "ld.shared::cta", "%r2"},
                {"shared by 64 bits, generic", "st", "%rd5", "ld.shared", "%r2"},
                {"generic, cluster", "st.volatile.shared", "%r2", "ld.volatile", "%rd5"},
                {"local", "st.local", "%rd4", "ld.local", "%rd4 + 0"},
                {"local, generic", "st.local", "%rd4", "ld", "%rd6"},
                {"named", "st.local", "own", "ld.local", "own"}};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(ways[i].name, in_between) == 0)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s.%s [%s], %s;\n%s%s.%s %s, [%s];\n",
                                     ways[i].write, vector, type, ways[i].write_at, registers(n), ways[i].read, vector,
                                     type, registers(n), ways[i].read_at);
    snprintf(text + used, sizeof(text) - used, "%s%s.%s [%%rd2], %s;\nret;\n}\n", store, vector, type, registers(n));
    uint64_t findings = run(text, 1, 1, THREADS);
    if (findings != 0 || memcmp(in, out, (size_t)(THREADS * n * bytes)) != 0 ||
        out[THREADS * n * bytes < BYTES ? THREADS * n * bytes : 0] == 0)
        fail_msg("%d findings, or other bytes:\n%s", (int)findings, text);
}

static const struct {
    const char *name;
    int bytes;
} types[] = {{"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2}, {"b32", 4},  {"u32", 4},
             {"s32", 4}, {"f32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16}};
enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

static void types_and_vectors(void **state) {
    (void)state;
    static const char *const ways[] = {
        "", "shared", "shared by 64 bits, generic", "generic, cluster", "local", "local, generic", "named"};
    for (int t = 0; t < N_TYPES; t++)
        for (int n = 1; n <= 8; n *= 2)
            for (size_t w = 0; n * types[t].bytes <= 16 && w < sizeof(ways) / sizeof(ways[0]); w++)
                copy_through(types[t].name, types[t].bytes, n, "ld.global", "st.global", ways[w]);
}

static void qualifiers(void **state) {
    (void)state;
    static const char *const loads[] = {"ld.weak.global",
                                        "ld.global.ca",
                                        "ld.global.cg",
                                        "ld.global.cs",
                                        "ld.global.lu",
                                        "ld.global.cv",
                                        "ld.global.nc",
                                        "ld.global.nc.L1::no_allocate.L2::256B",
                                        "ld.global.L1::evict_last",
                                        "ld.global.L1::evict_unchanged.L2::evict_first",
                                        "ld.global.L2::64B",
                                        "ld.L2::128B",
                                        "ld",
                                        "ld.volatile.global",
                                        "ld.relaxed.gpu.global",
                                        "ld.global.relaxed.cta",
                                        "ld.acquire.sys.global",
                                        "ld.acquire.cluster.global",
                                        "ld.global.ca.nc",
                                        "ldu.global",
                                        "ldu"};
    static const char *const stores[] = {"st.weak.global",
                                         "st.global.wb",
                                         "st.global.cg",
                                         "st.global.cs",
                                         "st.global.wt",
                                         "st.global.L1::no_allocate",
                                         "st.global.L1::evict_first.L2::evict_last",
                                         "st",
                                         "st.volatile.global",
                                         "st.relaxed.gpu.global",
                                         "st.release.sys.global",
                                         "st.global.release.cta"};
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
        copy_through("u32", 4, i % 2 ? 1 : 4, loads[i], "st.global", "");
    for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
        copy_through("f32", 4, i % 2 ? 1 : 2, "ld.global", stores[i], "");
    copy_through("u32", 4, 1, "ld.mmio.relaxed.sys.global", "st.mmio.relaxed.sys.global", "");
}

static void cache_policies(void **state) {
    (void)state;
    char text[3000];
    snprintf(text, sizeof(text),
             "%smul.wide.u32 %%rd3, %%r1, 16; add.s64 %%rd1, %%rd1, %%rd3; add.s64 %%rd2, %%rd2, %%rd3;\n"
             "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %%rd4, 0.5; "
             "createpolicy.fractional.L2::evict_first.b64 %%rd5, 1.0;\n"
             "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 %%rd6, [%%rd1], 65536, 131072; "
             "createpolicy.cvt.L2.b64 %%rd7, %%rd6;\n"
             "prefetch.global.L2 [%%rd1]; prefetch.L1 [%%rd2]; prefetch.global.L2::evict_last [%%rd1]; prefetchu.L1 "
             "[%%rd1]; prefetch.tensormap [%%rd1];\n"
             "prefetch.global.L2 [%%rd1 + 1000000]; applypriority.global.L2::evict_normal [%%rd1], 128;\n"
             "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%%r2, %%r3, %%r4, %%r5}, [%%rd1], %%rd5;\n"
             "st.global.L2::cache_hint.v4.u32 [%%rd2], {%%r2, %%r3, %%r4, %%r5}, %%rd4; ret; }\n",
             head);
    assert_int_equal(run(text, 1, 1, THREADS), 0);
    assert_memory_equal(in, out, THREADS * 16);
}

/* Loads into wider registers: signed types extend the sign, others with zeros. Stores take the low bits. */
static void extension(void **state) {
    (void)state;
    for (int t = 0; t < N_TYPES - 1; t++)
        for (int wide = 16; wide <= 64; wide *= 2) {
            int bytes = types[t].bytes;
            if (8 * bytes > wide || types[t].name[0] == 'f') continue;
            char text[2000];
            snprintf(text, sizeof(text),
                     "%s.reg .b%d %%v<2>; mul.wide.u32 %%rd3, %%r1, %d; add.s64 %%rd1, %%rd1, %%rd3; mul.wide.u32 "
                     "%%rd3, %%r1, 16;\n"
                     "add.s64 %%rd2, %%rd2, %%rd3; ld.global.%s %%v0, [%%rd1]; st.global.b%d [%%rd2], %%v0; "
                     "st.global.%s [%%rd2 + 8], %%v0; ret; }\n",
                     head, wide, bytes, types[t].name, wide, types[t].name);
            assert_int_equal(run(text, 1, 1, THREADS), 0);
            for (int i = 0; i < THREADS; i++) {
                uint64_t value = 0, got = 0;
                memcpy(&value, in + i * bytes, (size_t)bytes);
                assert_memory_equal(out + 16 * i + 8, &value, (size_t)bytes);
                if (bytes < 8) assert_int_equal(out[16 * i + 8 + bytes], 0xcd);
                if (types[t].name[0] == 's')
                    value = (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
                memcpy(&got, out + 16 * i, (size_t)wide / 8);
                if (wide < 64) value &= (UINT64_C(1) << wide) - 1;
                assert_int_equal(got, value);
            }
        }
}

/* Lanes whose guard is false keep their registers and store nothing; addresses of theirs may be anything. */
static void guards(void **state) {
    (void)state;
    char text[2000];
    snprintf(text, sizeof(text),
             "%sand.b32 %%r2, %%r1, 1; setp.eq.u32 %%p1, %%r2, 1; mul.wide.u32 %%rd3, %%r1, 4; add.s64 %%rd2, %%rd2, "
             "%%rd3;\n"
             "add.s64 %%rd1, %%rd1, %%rd3; mov.u32 %%r3, 77; @!%%p1 mov.u64 %%rd1, 12345; @%%p1 ld.global.u32 %%r3, "
             "[%%rd1];\n"
             "setp.lt.u32 %%p2, %%r1, 70; @%%p2 st.global.u32 [%%rd2], %%r3; ret; }\n",
             head);
    assert_int_equal(run(text, 1, 1, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        uint32_t got, want = 77;
        memcpy(&got, out + 4 * i, 4);
        if (i & 1) memcpy(&want, in + 4 * i, 4);
        assert_int_equal(got, i < 70 ? want : 0xcdcdcdcd);
    }
}

/* Entry parameters of all types by name, by offset and by a register; .const variables and generic addresses of them.
 */
static void parameters(void **state) {
    (void)state;
    static const char text[] =
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 box[16])\n{\n"
        ".reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .b16 %h<8>;\n"
        "ld.param.u64 %rd2, [out]; mov.b64 %rd3, box; ld.param.v2.u32 {%r1, %r2}, [%rd3]; st.global.v2.u32 [%rd2], "
        "{%r1, %r2};\n"
        "ld.param.v4.u8 {%h1, %h2, %h3, %h4}, [box + 8]; st.global.v4.u8 [%rd2 + 8], {%h1, %h2, %h3, %h4};\n"
        "cvta.param.u64 %rd4, %rd3; ld.u32 %r3, [%rd4 + 12]; st.global.u32 [%rd2 + 12], %r3; ld.param::entry.u64 %rd5, "
        "[box + 8];\n"
        "st.global.u64 [%rd2 + 16], %rd5; ret; }\n";
    ptx_kernel kernel = ptx_kernel_open(text);
    if (kernel.code == NULL) fail_msg("%s", kernel.error.text);
    uint64_t box[2] = {UINT64_C(0x8877665544332211), UINT64_C(0xffeeddccbbaa9988)};
    uint64_t findings =
        ptx_kernel_run(&kernel, 1, 1, 32, 7, (const void *const[]){in, out, (void *)box[0], (void *)box[1]}, 4);
    ptx_kernel_close(&kernel);
    assert_int_equal(findings, 0);
    assert_memory_equal(out, box, 16);
    assert_memory_equal(out + 16, &box[1], 8);
}

/* isspacep, cvta.to and loads of a generic address in each space: a bit for each answer. */
static void windows(void **state) {
    (void)state;
    char text[6000];
    size_t used = (size_t)snprintf(
        text, sizeof(text),
        "%s.shared .align 8 .b8 sh[64]; .local .align 8 .b8 lo[16]; .param .align 8 .b8 unused[8];\n"
        "cvta.global.u64 %%rd10, %%rd1; cvta.shared.u64 %%rd11, sh; mov.u64 %%rd4, lo; cvta.local.u64 %%rd12, %%rd4;\n"
        "mov.b64 %%rd5, in; cvta.param.u64 %%rd13, %%rd5; mov.u32 %%r3, %%cluster_ctarank; xor.b32 %%r3, %%r3, 1;\n"
        "mapa.u64 %%rd14, %%rd11, %%r3; mul.wide.u32 %%rd3, %%r1, 64; add.s64 %%rd2, %%rd2, %%rd3; mov.u32 %%r9, "
        "%%ctaid.x;\n"
        "mul.wide.u32 %%rd3, %%r9, 1024; add.s64 %%rd2, %%rd2, %%rd3;\n",
        head);
    static const char *const spaces[] = {"global", "shared", "shared::cta", "shared::cluster",
                                         "local",  "param",  "const"};
    for (int k = 0; k < 5; k++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "mov.u32 %%r5, 0;\n");
        for (int s = 0; s < 7; s++)
            used += (size_t)snprintf(text + used, sizeof(text) - used,
                                     "isspacep.%s %%p1, %%rd%d; selp.u32 %%r4, %d, 0, %%p1; or.b32 %%r5, %%r5, %%r4;\n",
                                     spaces[s], 10 + k, 1 << s);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "st.global.u32 [%%rd2 + %d], %%r5;\n", 4 * k);
    }
    snprintf(text + used, sizeof(text) - used,
             "getctarank.u64 %%r6, %%rd14; st.global.u32 [%%rd2 + 20], %%r6; getctarank.shared::cluster.u32 %%r6, sh; "
             "st.global.u32 [%%rd2 + 24], %%r6;\n"
             "mov.u32 %%r7, sh; mapa.shared::cluster.u32 %%r8, %%r7, %%r3; cvta.shared::cluster.u64 %%rd15, %%rd15; "
             "cvta.to.shared::cluster.u64 %%rd16, %%rd14;\n"
             "cvt.u32.u64 %%r10, %%rd16; sub.u32 %%r10, %%r10, %%r8; st.global.u32 [%%rd2 + 28], %%r10;\n"
             "cvta.to.local.u64 %%rd17, %%rd12; sub.u64 %%rd17, %%rd17, %%rd4; cvta.to.param.u64 %%rd18, %%rd13; "
             "sub.u64 %%rd18, %%rd18, %%rd5;\n"
             "st.global.u64 [%%rd2 + 32], %%rd17; st.global.u64 [%%rd2 + 40], %%rd18; ret; }\n");
    assert_int_equal(run(text, 2, 2, 8), 0);
    for (int block = 0; block < 2; block++)
        for (int i = 0; i < 8; i++) {
            uint32_t got[12];
            memcpy(got, out + 1024 * block + 64 * i, sizeof(got));
            const uint32_t want[12] = {1, 2 + 4 + 8, 16, 1 + 32, 8, (uint32_t)!block, (uint32_t)block};
            for (int k = 0; k < 12; k++)
                if (got[k] != want[k])
                    fail_msg("block %d, lane %d, answer %d: %u instead of %u", block, i, k, got[k], want[k]);
        }
}

/* Each block stores into its neighbour's shared memory, by shared::cluster and by generic addresses, and reads its own.
 */
static void distributed(void **state) {
    (void)state;
    char text[3000];
    snprintf(text, sizeof(text),
             "%s.shared .align 16 .b8 sh[1024]; mov.u32 %%r2, %%cluster_ctarank; add.u32 %%r3, %%r2, 1; and.b32 %%r3, "
             "%%r3, 3;\n"
             "mov.u32 %%r4, sh; mapa.shared::cluster.u32 %%r5, %%r4, %%r3; shl.b32 %%r6, %%r1, 2; add.u32 %%r5, %%r5, "
             "%%r6; mad.lo.u32 %%r7, %%r2, 1000, %%r1;\n"
             "st.shared::cluster.u32 [%%r5], %%r7; cvta.shared.u64 %%rd4, sh; mapa.u64 %%rd5, %%rd4, %%r3; cvt.u64.u32 "
             "%%rd6, %%r6; add.s64 %%rd5, %%rd5, %%rd6;\n"
             "add.u32 %%r8, %%r7, 500; st.u32 [%%rd5 + 512], %%r8; barrier.cluster.arrive.aligned; "
             "barrier.cluster.wait.aligned;\n"
             "add.u32 %%r9, %%r4, %%r6; ld.shared.u32 %%r10, [%%r9]; ld.shared.u32 %%r11, [%%r9 + 512]; mul.wide.u32 "
             "%%rd7, %%r2, 512; add.s64 %%rd2, %%rd2, %%rd7;\n"
             "add.s64 %%rd2, %%rd2, %%rd6; add.s64 %%rd2, %%rd2, %%rd6; st.global.v2.u32 [%%rd2], {%%r10, %%r11}; "
             "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret; }\n",
             head);
    assert_int_equal(run(text, 4, 4, 64), 0);
    for (uint32_t block = 0; block < 4; block++)
        for (uint32_t i = 0; i < 64; i++) {
            uint32_t got[2], want = (block + 3) % 4 * 1000 + i;
            memcpy(got, out + 512 * block + 8 * i, sizeof(got));
            assert_int_equal(got[0], want);
            assert_int_equal(got[1], want + 500);
        }
}

/* What cannot be must fail to decode, in words. */
static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *instruction, *why;
    } cases[] = {{"ld.global.L3.u32 %r1, [%rd1];", "L3"},
                 {"ld.global.u32.u32 %r1, [%rd1];", "u32"},
                 {"ld.global %r1, [%rd1];", "type"},
                 {"ld.shared.global.u32 %r1, [%rd1];", "second"},
                 {"ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];", "registers"},
                 {"ld.global.u64 %r1, [%rd1];", "narrow"},
                 {"ld.mmio.global.u32 %r1, [%rd1];", "mmio"},
                 {"st.const.u32 [%rd1], %r1;", "const"},
                 {"ld.global.u32 %r1, [%rd1], %rd2;", "operands"},
                 {"atom.global.add.b32 %r1, [%rd1], %r2;", "operation"},
                 {"atom.global.add.f16 %h1, [%rd1], %h2;", "noftz"},
                 {"atom.shared.v2.f32.add {%r1, %r2}, [%r3], {%r1, %r2};", "vector"},
                 {"red.global.exch.b32 [%rd1], %r1;", "red"},
                 {"atom.local.add.u32 %r1, [%rd1], %r2;", "atomic"},
                 {"cvta.shared.u32 %r1, %r2;", "64 bits"},
                 {"cvta.u64 %rd1, %rd2;", "space"},
                 {"prefetch.global [%rd1];", "level"},
                 {"discard.global.L2 [%rd1], 64;", "128"},
                 {"multimem.ld_reduce.global.add.u32 %r1, [%rd1];", "multicast"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1000];
        snprintf(text, sizeof(text), "%s%s ret; }\n", head, cases[i].instruction);
        ptx_kernel kernel = ptx_kernel_open(text);
        if (kernel.code != NULL || strstr(kernel.error.text, cases[i].why) == NULL)
            fail_msg("%s: %s", cases[i].instruction, kernel.code != NULL ? "accepted" : kernel.error.text);
        assert_null(strchr(kernel.error.text, '\n'));
        ptx_kernel_close(&kernel);
    }
}

/* Two lanes, one place: the same value is fine, another is a race. */
static void collisions(void **state) {
    (void)state;
    char text[1000];
    for (int differ = 0; differ < 2; differ++)
        for (int space = 0; space < 2; space++) {
            snprintf(text, sizeof(text), "%s.shared .align 4 .b8 sh[4]; %s %%r2, %s; st.%s.u32 [%s], %%r2; ret; }\n",
                     head, "mov.u32", differ ? "%tid.x" : "5", space ? "shared" : "global", space ? "sh" : "%rd2");
            assert_int_equal(run(text, 1, 1, 32), differ);
        }
}

/* What was discarded means nothing until it is written again. */
static void discarded(void **state) {
    (void)state;
    char text[1000];
    for (int rewrite = 0; rewrite < 2; rewrite++) {
        snprintf(text, sizeof(text),
                 "%sdiscard.global.L2 [%%rd2 + 128], 128; %s ld.global.u32 %%r2, [%%rd2 + 160]; ret; }\n", head,
                 rewrite ? "st.global.u32 [%rd2 + 160], 5;" : "");
        assert_int_equal(run(text, 1, 1, 1), !rewrite);
        if (!rewrite) assert_string_equal(first_key(), "uninitialized");
    }
    snprintf(text, sizeof(text), "%sdiscard.global.L2 [%%rd2 + 64], 128; ret; }\n", head);
    assert_int_equal(run(text, 1, 1, 1), 1);
    assert_string_equal(first_key(), "misaligned");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_vectors), cmocka_unit_test(qualifiers),  cmocka_unit_test(cache_policies),
        cmocka_unit_test(extension),         cmocka_unit_test(guards),      cmocka_unit_test(parameters),
        cmocka_unit_test(windows),           cmocka_unit_test(distributed), cmocka_unit_test(refusals),
        cmocka_unit_test(collisions),        cmocka_unit_test(discarded),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

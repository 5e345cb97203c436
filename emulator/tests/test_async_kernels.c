/* Kernels with asynchronous copies and mbarriers, as PTX: right ones give right answers and no finding under many
 * seeds; each with one fault planted gives its finding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "async/async.h"
#include "async/tensor_map.h"
#include "kernel.h"

enum { WORDS = 16384, SEEDS = 12, MAP = 128 };

/* Parameters, in this order: out, in, then a tensor map at 64. */
typedef struct parameters {
    uint32_t *out;
    const uint32_t *in;
    uint64_t unused[6];
    uint8_t map[MAP];
} parameters;
static _Alignas(64) parameters given;
static uint32_t *out, *in;

static const char head[] =
    ".version 8.4\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 p_out, .param .u64 p_in, .param .align 64 .b8 p_map[128]) {\n"
    ".reg .pred %p<8>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<8>;\n"
    ".shared .align 1024 .b8 stage[8192]; .shared .align 1024 .b8 other[8192]; .shared .align 8 .b64 bar[8];\n"
    "ld.param.u64 %rd1, [p_out]; cvta.to.global.u64 %rd1, %rd1;\n"
    "ld.param.u64 %rd2, [p_in]; cvta.to.global.u64 %rd2, %rd2;\n"
    "mov.u64 %rd3, p_map; cvta.param.u64 %rd3, %rd3;\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, stage; mov.u32 %r3, bar; mov.u32 %r4, other;\n"
    "mov.u32 %r5, %ctaid.x; mov.u32 %r6, %cluster_ctarank; mov.u32 %r7, %warpid;\n"
    "setp.eq.u32 %p1, %r1, 0;\n"; /* %p1: thread 0 */

/* Pieces that kernels are put together from; a fault leaves one out or takes another. */
#define INIT(n, count) "@%p1 mbarrier.init.shared::cta.b64 [%r3+" #n "], " #count ";\n"
#define FENCE "@%p1 fence.mbarrier_init.release.cluster;\n fence.proxy.async;\n"
#define SYNC "bar.sync 0;\n"
#define CLUSTER_SYNC "barrier.cluster.arrive.release.aligned;\n barrier.cluster.wait.acquire.aligned;\n"
#define EXPECT(n, bytes) "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3+" #n "], " #bytes ";\n"
#define LOAD(n, bytes)                                                                                           \
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], " #bytes ", [%r3+" #n \
    "];"                                                                                                         \
    "\n"
#define WAIT(label, n, parity)                                                              \
    "WAIT_" #label ": mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3+" #n "], " #parity \
    ";\n"                                                                                   \
    "@!%p2 bra WAIT_" #label ";\n"
/* out[thread] = stage[thread] + 1, of 128 threads */
#define USE                                                                                               \
    "shl.b32 %r10, %r1, 2; add.u32 %r11, %r2, %r10; ld.shared.u32 %r12, [%r11]; add.u32 %r12, %r12, 1;\n" \
    "mad.lo.u32 %r13, %r5, 512, %r10; cvt.u64.u32 %rd4, %r13; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r12;\n"
/* stage[thread] = 7 thread */
#define FILL "shl.b32 %r10, %r1, 2; add.u32 %r11, %r2, %r10; mul.lo.u32 %r12, %r1, 7; st.shared.u32 [%r11], %r12;\n"
#define ASYNC_FENCE "fence.proxy.async.shared::cta;\n"
#define STORE "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 512;\n"
#define COMMIT "@%p1 cp.async.bulk.commit_group;\n"
#define WAIT_READ "@%p1 cp.async.bulk.wait_group.read 0;\n"
#define WAIT_WRITTEN "@%p1 cp.async.bulk.wait_group 0;\n"
#define TENSOR_LOAD                                                                                                 \
    "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd3, {0, 0}], " \
    "[%r3];\n"
#define TENSOR_STORE "@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {0, 0}], [%r2];\n"
/* Each thread copies its 4 bytes. */
#define CP_ASYNC                                                                                         \
    "shl.b32 %r10, %r1, 2; add.u32 %r11, %r2, %r10; cvt.u64.u32 %rd4, %r10; add.u64 %rd5, %rd2, %rd4;\n" \
    "cp.async.ca.shared.global [%r11], [%rd5], 4;\n"
#define END "ret;\n}\n"

static int set_up(void **state) {
    (void)state;
    setenv("EMULATOR_MAX_FINDINGS", "0", 1);
    out = emu_memory_allocate(WORDS * 4, EMU_DEVICE);
    in = emu_memory_allocate(WORDS * 4, EMU_DEVICE);
    for (uint32_t i = 0; i < WORDS; i++) in[i] = i * i + 3;
    emu_memory_host_wrote(in, WORDS * 4);
    given.out = out;
    given.in = in;
    const uint64_t sizes[2] = {32, 64}, strides[1] = {128};
    const uint32_t box[2] = {32, 4}, steps[2] = {1, 1};
    const char *why;
    const emu_tensor_request request = {
        .out = given.map, .address = in, .type = 2, .rank = 2, .sizes = sizes, .strides = strides, .steps = steps};
    assert_int_equal(emu_tensor_map_tiled(&request, box, &why), 0);
    return 0;
}

static const char *run(const kernel *k, uint32_t blocks, uint32_t cluster, uint64_t seed) {
    for (uint32_t i = 0; i < WORDS; i++) out[i] = 0xdead;
    emu_memory_host_wrote(out, WORDS * 4);
    const launch l = {.blocks = blocks,
                      .threads = 128,
                      .cluster = cluster,
                      .parameters = &given,
                      .parameter_bytes = sizeof given,
                      .seed = seed};
    return kernel_run(k, &l);
}

/* ---- right kernels ----------------------------------------------------------------------------------------------- */
typedef struct right {
    const char *name, *body;
    uint32_t blocks, cluster;
    uint32_t (*expected)(uint32_t i);
    uint32_t n;
} right;

static uint32_t in_plus_one(uint32_t i) { return i % 128 * (i % 128) + 4; }
static uint32_t sevens(uint32_t i) { return 7 * i; }
static uint32_t added(uint32_t i) { return 0xdead + 7 * i; }
static uint32_t of_neighbour(uint32_t i) { return 7 * (i % 128) + 1; }
static uint32_t pair_sum(uint32_t i) { return i % 64 == 0 ? 256 : 0; }

/* A ring of two stages: thread 0 loads 8 tiles of 512 bytes, everybody adds them up, with full and empty barriers. */
#define RING                                                                                                           \
    INIT(0, 1)                                                                                                         \
    INIT(8, 1)                                                                                                         \
    INIT(16, 4)                                                                                                        \
    INIT(24, 4)                                                                                                        \
    FENCE SYNC                                                                                                         \
        "mov.u32 %r20, 0; mov.u32 %r21, 0; mov.u32 %r30, 0;\n" /* tile, sum; produced */                               \
        "and.b32 %r31, %r1, 31; setp.eq.u32 %p5, %r31, 0;\n"                                                           \
        "PRODUCE: setp.ge.u32 %p3, %r30, 8; @%p3 bra CONSUME; add.u32 %r33, %r20, 2; setp.ge.u32 %p3, %r30, %r33; "    \
        "@%p3 bra CONSUME;\n"                                                                                          \
        "and.b32 %r22, %r30, 1; shl.b32 %r23, %r22, 3; add.u32 %r24, %r3, %r23; shr.u32 %r25, %r30, 1; and.b32 %r25, " \
        "%r25, 1;\n"                                                                                                   \
        "xor.b32 %r26, %r25, 1;\n"                                                                                     \
        "@!%p1 bra PRODUCED;\n"                                                                                        \
        "EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r24+16], %r26; @!%p2 bra EMPTY;\n"                     \
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r24], 512;\n"                                                  \
        "shl.b32 %r27, %r30, 9; cvt.u64.u32 %rd6, %r27; add.u64 %rd7, %rd2, %rd6; shl.b32 %r28, %r22, 9; add.u32 "     \
        "%r29, %r2, %r28;\n"                                                                                           \
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r29], [%rd7], 512, [%r24];\n"             \
        "PRODUCED: add.u32 %r30, %r30, 1; bra PRODUCE;\n"                                                              \
        "CONSUME: and.b32 %r22, %r20, 1; shl.b32 %r23, %r22, 3; add.u32 %r24, %r3, %r23; shr.u32 %r25, %r20, 1; "      \
        "and.b32 %r25, %r25, 1;\n"                                                                                     \
        "FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r24], %r25; @!%p2 bra FULL;\n"                          \
        "shl.b32 %r28, %r22, 9; add.u32 %r29, %r2, %r28; shl.b32 %r10, %r1, 2; add.u32 %r29, %r29, %r10; "             \
        "ld.shared.u32 %r12, [%r29];\n"                                                                                \
        "add.u32 %r21, %r21, %r12; bar.warp.sync -1;\n"                                                                \
        "@%p5 mbarrier.arrive.shared::cta.b64 _, [%r24+16];\n"                                                         \
        "add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 8; @%p3 bra PRODUCE;\n"                                         \
        "shl.b32 %r10, %r1, 2; cvt.u64.u32 %rd4, %r10; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r21;\n" END
static uint32_t ring_sum(uint32_t i) {
    uint32_t sum = 0;
    for (uint32_t tile = 0; tile < 8; tile++) sum += (tile * 128 + i) * (tile * 128 + i) + 3;
    return sum;
}

/* Both blocks of a cluster get both halves by multicast. */
#define MULTICAST \
    INIT(0, 1) FENCE CLUSTER_SYNC EXPECT(0, 512)                                                                                        \
    "shl.b32 %r20, %r6, 8; add.u32 %r21, %r2, %r20; cvt.u64.u32 %rd6, %r20; add.u64 %rd7, %rd2, %rd6; mov.u16 %rs1, 3;\n"               \
    "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r21], [%rd7], 256, [%r3], %rs1;\n"     \
    WAIT(A, 0, 0) USE CLUSTER_SYNC END

/* Each thread stores into the other block of the cluster. */
#define ST_ASYNC                                                                                                     \
    INIT(0, 1)                                                                                                       \
    FENCE EXPECT(0, 512) CLUSTER_SYNC                                                                                \
        "xor.b32 %r20, %r6, 1; shl.b32 %r10, %r1, 2; add.u32 %r21, %r2, %r10; mapa.shared::cluster.u32 %r22, %r21, " \
        "%r20;\n"                                                                                                    \
        "mapa.shared::cluster.u32 %r23, %r3, %r20; mul.lo.u32 %r24, %r1, 7;\n"                                       \
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r22], %r24, [%r23];\n" WAIT(A, 0, 0)            \
            USE CLUSTER_SYNC END

#define PEER_COPY                                                                                                      \
    INIT(0, 1)                                                                                                         \
    FENCE EXPECT(0, 512) "add.u32 %r2, %r2, 0;\n" FILL ASYNC_FENCE CLUSTER_SYNC                                        \
                         "xor.b32 %r20, %r6, 1; mapa.shared::cluster.u32 %r22, %r4, %r20; mapa.shared::cluster.u32 "   \
                         "%r23, %r3, %r20;\n"                                                                          \
                         "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r22], [%r2], " \
                         "512, [%r23];\n" WAIT(A, 0, 0) "mov.u32 %r2, %r4;\n" USE CLUSTER_SYNC END

/* 128 threads add 1 twice to words of the peer, and one more by inc; thread counts come out. */
#define RED_ASYNC \
    INIT(0, 1) FENCE "@%p1 st.shared.u32 [%r2], 0; @%p1 st.shared.u32 [%r2+256], 0;\n" EXPECT(0, 1024) CLUSTER_SYNC                     \
    "xor.b32 %r20, %r6, 1; mapa.shared::cluster.u32 %r22, %r2, %r20; mapa.shared::cluster.u32 %r23, %r3, %r20;\n"                       \
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r22], 2, [%r23];\n"                               \
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%r22+256], 2, [%r23];\n" WAIT(A, 0, 0)             \
    "shl.b32 %r10, %r1, 2; mov.u32 %r12, 0; and.b32 %r13, %r1, 63; setp.eq.u32 %p3, %r13, 0; add.u32 %r11, %r2, %r10;\n"                \
    "@%p3 ld.shared.u32 %r12, [%r11];\n"                                                                                                \
    "mad.lo.u32 %r13, %r5, 512, %r10; cvt.u64.u32 %rd4, %r13; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r12;\n" CLUSTER_SYNC END

/* Thread arrivals with states, counts and test_wait. */
#define STATES                                                                                                         \
    INIT(0, 128)                                                                                                       \
    INIT(8, 256)                                                                                                       \
    SYNC FILL                                                                                                          \
        "mbarrier.arrive.shared::cta.b64 %rd8, [%r3];\n"                                                               \
        "TEST: mbarrier.test_wait.shared::cta.b64 %p2, [%r3], %rd8; @!%p2 bra TEST;\n"                                 \
        "mbarrier.arrive.noComplete.shared.b64 %rd9, [%r3+8], 1; mbarrier.arrive.shared.b64 %rd9, [%r3+8];\n"          \
        "TRY: mbarrier.try_wait.shared.b64 %p2, [%r3+8], %rd9, 1000; @!%p2 bra TRY;\n"                                 \
        "xor.b32 %r14, %r1, 127; shl.b32 %r10, %r14, 2; add.u32 %r11, %r2, %r10; ld.shared.u32 %r12, [%r11]; add.u32 " \
        "%r12, %r12, 1;\n"                                                                                             \
        "cvt.u64.u32 %rd4, %r10; add.u64 %rd5, %rd1, %rd4; st.global.u32 [%rd5], %r12;\n" END

#define CP_ARRIVE \
    INIT(0, 128)  \
    SYNC CP_ASYNC \
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r3];\n" WAIT(A, 0, 0) "xor.b32 %r1, %r1, 127;\n" USE END
#define CP_ARRIVE_INC                                                                                          \
    INIT(0, 128)                                                                                               \
    SYNC CP_ASYNC                                                                                              \
        "cp.async.mbarrier.arrive.shared::cta.b64 [%r3]; mbarrier.arrive.shared::cta.b64 %rd8, [%r3];\n" WAIT( \
            A, 0, 0) "xor.b32 %r1, %r1, 127;\n" USE END

/* A map with another address, made in shared memory and used from global memory. */
#define REPLACE                                                                                               \
    INIT(0, 1)                                                                                                \
    FENCE                                                                                                     \
    "mov.u32 %r20, 0; @!%p1 bra COPIED;\n"                                                                    \
    "COPY: cvt.u64.u32 %rd6, %r20; add.u64 %rd7, %rd3, %rd6; ld.b64 %rd8, [%rd7]; add.u32 %r21, %r4, %r20;\n" \
    "st.shared.b64 [%r21], %rd8; add.u32 %r20, %r20, 8; setp.lt.u32 %p3, %r20, 128; @%p3 bra COPY;\n"         \
    "add.u64 %rd9, %rd2, 512; tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r4], %rd9;\n"     \
    "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r4], 1, 3;\n"                                  \
    "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r4], 3;\n"                                       \
    "COPIED: add.u64 %rd10, %rd1, 32768;\n" SYNC                                                              \
    "setp.ge.u32 %p4, %r1, 32; @%p4 bra MADE;\n"                                                              \
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd10], [%r4], " \
    "128;\n"                                                                                                  \
    "fence.proxy.tensormap::generic.acquire.gpu [%rd10], 128;\n"                                              \
    "MADE: mov.u64 %rd3, %rd10;\n" EXPECT(0, 512) TENSOR_LOAD                                                 \
    WAIT(A, 0, 0) USE END
static uint32_t replaced(uint32_t i) { return i < 96 ? (i + 128) * (i + 128) + 4 : 1; } /* the last row is outside */

static const right rights[] = {
    {"bulk load", INIT(0, 1) FENCE SYNC EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 0) USE END, 3, 1, in_plus_one, 384},
    {"two loads, one phase each",
     INIT(0, 1) FENCE SYNC EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 0) USE SYNC EXPECT(0, 256) LOAD(0, 256) WAIT(B, 0, 1)
         USE END,
     1, 1, in_plus_one, 128},
    {"bulk store", FILL ASYNC_FENCE SYNC STORE COMMIT WAIT_READ END, 1, 1, sevens, 128},
    {"bulk store, written", FILL ASYNC_FENCE SYNC STORE COMMIT WAIT_WRITTEN END, 1, 1, sevens, 128},
    {"bulk reduction",
     FILL ASYNC_FENCE SYNC
     "@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 512;\n" COMMIT WAIT_READ END,
     1, 1, added, 128},
    {"tensor load", INIT(0, 1) FENCE SYNC EXPECT(0, 512) TENSOR_LOAD WAIT(A, 0, 0) USE END, 2, 1, in_plus_one, 256},
    {"cp.async", CP_ASYNC "cp.async.wait_all;\n" SYNC USE END, 2, 1, in_plus_one, 256},
    {"cp.async groups",
     CP_ASYNC "cp.async.commit_group; cp.async.commit_group;\n cp.async.wait_group 1;\n" SYNC
              "xor.b32 %r1, %r1, 127;\n" USE END,
     1, 1, in_plus_one, 128},
    {"cp.async arrives", CP_ARRIVE, 1, 1, in_plus_one, 128},
    {"cp.async arrives beside", CP_ARRIVE_INC, 1, 1, in_plus_one, 128},
    {"ring", RING, 1, 1, ring_sum, 128},
    {"multicast", MULTICAST, 4, 2, in_plus_one, 512},
    {"st.async", ST_ASYNC, 4, 2, of_neighbour, 512},
    {"copy to a peer", PEER_COPY, 4, 2, of_neighbour, 512},
    {"red.async", RED_ASYNC, 2, 2, pair_sum, 256},
    {"replaced tensor map", REPLACE, 1, 1, replaced, 128},
    {"states", STATES, 1, 1, of_neighbour, 128},
};

static char text[16384];
static const char *program(const char *body) {
    const char *registers = ".reg .b16 %rs<4>;\n";
    snprintf(text, sizeof text, "%s%s%s", head, registers, body);
    return text;
}

static void right_kernels(void **state) {
    (void)state;
    for (size_t r = 0; r < sizeof rights / sizeof *rights; r++) {
        kernel k = kernel_open(program(rights[r].body), "k");
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const char *finding = run(&k, rights[r].blocks, rights[r].cluster, seed);
            if (finding) fail_msg("%s, seed %u: %s", rights[r].name, (unsigned)seed, finding);
            for (uint32_t i = 0; i < rights[r].n; i++)
                if (out[i] != rights[r].expected(i))
                    fail_msg("%s, seed %u: out[%u] is %u, not %u", rights[r].name, (unsigned)seed, i, out[i],
                             rights[r].expected(i));
        }
        kernel_close(&k);
    }
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */
typedef struct fault {
    const char *name, *body, *key; /* key: of the finding, or two with a bar between */
    uint32_t blocks, cluster;
    int always; /* found by every seed; otherwise by one of SEEDS */
} fault;

static const fault faults[] = {
    {"expects too little", INIT(0, 1) FENCE SYNC EXPECT(0, 496) LOAD(0, 512) WAIT(A, 0, 0) USE END, "transaction-count",
     1, 1, 1},
    {"expects too much", INIT(0, 1) FENCE SYNC EXPECT(0, 528) LOAD(0, 512) WAIT(A, 0, 0) USE END, "deadlock", 1, 1, 1},
    {"expects nothing",
     INIT(0, 1) FENCE SYNC "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r3];\n" LOAD(0, 512) WAIT(A, 0, 0) USE END,
     "transaction-count|race|uninitialized|overwritten-in-flight", 1, 1, 1},
    {"does not wait", INIT(0, 1) FENCE SYNC EXPECT(0, 512) LOAD(0, 512) USE SYNC WAIT(A, 0, 0) END,
     "race|uninitialized|overwritten-in-flight", 1, 1, 1},
    {"waits for the wrong parity",
     INIT(0, 1) FENCE SYNC EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 1) USE SYNC WAIT(B, 0, 0) END,
     "race|uninitialized|overwritten-in-flight", 1, 1, 1},
    {"waits for a phase that cannot come", INIT(0, 2) FENCE SYNC EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 0) USE END,
     "deadlock", 1, 1, 1},
    {"no initialization", SYNC EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 0) USE END, "barrier-misuse", 1, 1, 1},
    {"initialization not seen", INIT(0, 1) FENCE EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 0) USE END,
     "race|barrier-misuse|overwritten-in-flight", 1, 1, 1},
    {"invalidated",
     INIT(0, 1) FENCE "@%p1 mbarrier.inval.shared::cta.b64 [%r3];\n" SYNC EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 0)
         USE END,
     "barrier-misuse", 1, 1, 1},
    {"overwritten",
     INIT(0, 1) FENCE SYNC "@%p1 st.shared.u32 [%r3], 0;\n" EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 0) USE END,
     "barrier-misuse|race", 1, 1, 1},
    {"too many arrivals", INIT(0, 64) SYNC "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r3], 65;\n" END, "barrier-misuse",
     1, 1, 1},
    {"count of zero", INIT(0, 0) SYNC END, "barrier-misuse", 1, 1, 1},
    {"exits under a load", INIT(0, 1) FENCE SYNC EXPECT(0, 8192) LOAD(0, 8192) END, "exited-shared-memory", 1, 1, 0},
    {"exits under a store", FILL ASYNC_FENCE SYNC STORE COMMIT END, "exited-shared-memory", 1, 1, 0},
    {"bytes left over", INIT(0, 1) FENCE SYNC EXPECT(0, 512) END, "transaction-count", 1, 1, 1},
    {"size not a multiple of 16", INIT(0, 1) FENCE SYNC EXPECT(0, 504) LOAD(0, 504) WAIT(A, 0, 0) END, "misaligned", 1,
     1, 1},
    {"no proxy fence", FILL SYNC STORE COMMIT WAIT_READ END, "missing-proxy-fence", 1, 1, 1},
    {"overwrites what a store reads", FILL ASYNC_FENCE SYNC STORE COMMIT FILL WAIT_READ END,
     "race|overwritten-in-flight", 1, 1, 1},
    {"loads over what is read",
     INIT(0, 1) FENCE SYNC EXPECT(0, 512) LOAD(0, 512) WAIT(A, 0, 0) USE EXPECT(0, 512) LOAD(0, 512) WAIT(B, 0, 1)
         USE END,
     "race|overwritten-in-flight", 1, 1, 1},
    {"reads a store's result too early",
     FILL ASYNC_FENCE SYNC STORE COMMIT WAIT_READ "@%p1 ld.global.u32 %r40, [%rd1];\n" WAIT_WRITTEN END,
     "race|overwritten-in-flight", 1, 1, 1},
    {"cp.async not waited for", CP_ASYNC "cp.async.commit_group;\n" SYNC USE END,
     "race|uninitialized|overwritten-in-flight", 1, 1, 1},
    {"cp.async waits for too little", CP_ASYNC "cp.async.commit_group;\n cp.async.wait_group 1;\n" SYNC USE END,
     "race|uninitialized|overwritten-in-flight", 1, 1, 1},
    {"cp.async of others not synchronized", CP_ASYNC "cp.async.wait_all; xor.b32 %r1, %r1, 127;\n" USE END,
     "race|uninitialized|overwritten-in-flight", 1, 1, 1},
    {"no tensor map there", INIT(0, 1) FENCE SYNC EXPECT(0, 512) "mov.u64 %rd3, %rd2;\n" TENSOR_LOAD WAIT(A, 0, 0) END,
     "bad-descriptor", 1, 1, 1},
    {"unaligned inner coordinate",
     INIT(0, 1) FENCE SYNC EXPECT(
         0, 512) "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd3, "
                 "{1, 0}], [%r3];\n" WAIT(A, 0, 0) END,
     "bad-descriptor", 1, 1, 1},
    {"wrong rank",
     INIT(0, 1) FENCE SYNC EXPECT(
         0, 512) "@%p1 cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd3, "
                 "{0, 0, 0}], [%r3];\n" WAIT(A, 0, 0) END,
     "bad-descriptor", 1, 1, 1},
    {"four rows by a map of boxes",
     INIT(0, 1) FENCE SYNC EXPECT(
         0,
         512) "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%r2], "
              "[%rd3, {0, 3, 1, 7, 2}], [%r3];\n" WAIT(A, 0, 0) END,
     "bad-descriptor", 1, 1, 1},
    {"im2col by a map of two dimensions",
     INIT(0, 1)
         FENCE SYNC EXPECT(0, 512) "mov.u16 %rs1, 0; @%p1 "
                                   "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                                   "[%r2], [%rd3, {0, 0, 0}], [%r3], {%rs1};\n" WAIT(A, 0, 0) END,
     "bad-descriptor", 1, 1, 1},
    {"st.bulk of half a unit", SYNC "mov.u64 %rd6, 12; @%p1 st.bulk.weak.shared::cta [%r2], %rd6, 0;\n" END,
     "misaligned", 1, 1, 1},
    {"st.bulk beyond the stage", SYNC "mov.u64 %rd6, 65536; @%p1 st.bulk.weak.shared::cta [%r2], %rd6, 0;\n" END,
     "out-of-bounds", 1, 1, 1},
    {"metadata of no places",
     "mov.b32 %r20, 0; mov.b32 %r21, 0; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, "
     "%f1;\n"
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r20, %r20}, "
     "{%r20, %r20}, {%f1, %f2, %f3, %f4}, %r21, 0;\n" END,
     "bad-descriptor", 1, 1, 1},
    {"expects without the cluster's sync",
     INIT(0, 1) FENCE EXPECT(
         0, 512) "shl.b32 %r20, %r6, 8; add.u32 %r21, %r2, %r20; cvt.u64.u32 %rd6, %r20; add.u64 %rd7, %rd2, %rd6; "
                 "mov.u16 %rs1, 3;\n"
                 "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r21], "
                 "[%rd7], 256, [%r3], %rs1;\n" WAIT(A, 0, 0) USE CLUSTER_SYNC END,
     "race|barrier-misuse|overwritten-in-flight", 2, 2, 1},
    {"no cluster sync at exit",
     INIT(0, 1) FENCE EXPECT(0, 512) CLUSTER_SYNC
     "xor.b32 %r20, %r6, 1; shl.b32 %r10, %r1, 2; add.u32 %r21, %r2, %r10; mapa.shared::cluster.u32 %r22, %r21, %r20;\n"
     "mapa.shared::cluster.u32 %r23, %r3, %r20; setp.eq.u32 %p4, %r6, 0; @%p4 ret;\n"
     "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r22], %r1, [%r23];\n" END,
     "exited-shared-memory|transaction-count|barrier-misuse", 2, 2, 1},
    {"mbarrier of another block",
     INIT(0, 1) FENCE EXPECT(0, 512) CLUSTER_SYNC
     "xor.b32 %r20, %r6, 1; mapa.shared::cluster.u32 %r22, %r3, %r20;\n"
     "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 512, [%r22];\n" WAIT(
         A, 0, 0) CLUSTER_SYNC END,
     "barrier-misuse", 2, 2, 1},
};

/* Is the finding one of the keys? */
static int is_key(const char *finding, const char *keys) {
    for (const char *key = keys; *key;) {
        size_t n = strcspn(key, "|");
        if (finding && strncmp(finding, key, n) == 0 && finding[n] == ':') return 1;
        key += n + (key[n] == '|');
    }
    return 0;
}

static void planted_faults(void **state) {
    (void)state;
    int missed = 0;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        kernel k = kernel_open(program(faults[f].body), "k");
        int found = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const char *finding = run(&k, faults[f].blocks, faults[f].cluster, seed);
            int is = is_key(finding, faults[f].key);
            found += is;
            if (!is && faults[f].always && missed++ < 10)
                print_error("%s, seed %u: %s\n", faults[f].name, (unsigned)seed, finding ? finding : "no finding");
            if (seed == 1 && getenv("SHOW_FINDINGS"))
                print_message("%s: %s\n", faults[f].name, finding ? finding : "none");
        }
        if (found == 0 && missed++ < 10) print_error("%s: never found\n", faults[f].name);
        kernel_close(&k);
    }
    assert_int_equal(missed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(right_kernels), cmocka_unit_test(planted_faults)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}

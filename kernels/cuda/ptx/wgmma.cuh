/* wgmma: 64 rows of sums in the registers of a warpgroup, plus a product of two tiles in shared memory.
 *
 *   wgmma<T, N, KA, KB>(sums, a, b, accumulate)      sums[64, N] (+)= A[64, K] B[K, N], K: 32 bytes of T;
 *                                                  sums are wgmma_sum<T>: int of int8_t, else float
 *   wgmma_rs<T, N, KB>(sums, a, b, accumulate)     the same, A from registers (as mma has them)
 *   wgmma_rs(sums, a, b, accumulate)               the same of fp16, B K-major, in other sizes
 *   wgmma_sp<T, N, Pair>(sums, a, b, codes, accumulate)
 *                                                  the same of 2:4 sparse A, K: 64 bytes of T, of which A has half; Pair:
 *                                                  which two lanes of four have the codes of it (PTX's selector); of
 *                                                  8 bits all four have, and Pair is 0
 *
 * KA, KB: whether the operand is K-major, that is, K runs along its 128-byte lines; else M, or N, does (16-bit types
 * only). Sum 4j + e of a thread is in row 16 warp + lane / 4 + 8 (e / 2), column 8j + 2 (lane % 4) + e % 2.
 *
 * Operands lie as TMA leaves boxes of 128-byte lines under the 128-byte swizzle: groups of eight lines are 1024 bytes.
 *   K-major   a line is a row (a column of B), 64 elements of 16 bits long in K: K advances within lines
 *   else      a line is one k, 64 elements along M or N; the next 64 elements are `chunk` bytes further on
 * A sparse A's lines are half as long, under the 64-byte swizzle. */
#ifndef RIDGE_KERNELS_CUDA_PTX_WGMMA_CUH
#define RIDGE_KERNELS_CUDA_PTX_WGMMA_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace ridge {

struct tf32 {
    float bits;
};
struct e4m3 {
    uint8_t bits;
};

/* What sums of products of T are. */
template <typename T>
struct wgmma_sum_of {
    using type = float;
};
template <>
struct wgmma_sum_of<int8_t> {
    using type = int;
};
template <typename T>
using wgmma_sum = typename wgmma_sum_of<T>::type;

/* Multiplicand descriptors: address, "leading" and "stride" offsets in units of 16 bytes, swizzle of 128 bytes. */
__device__ inline uint64_t wgmma_descriptor(uint32_t address, int chunk) {
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(chunk >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}
/* The same of K-major lines of 64 bytes under their swizzle. */
__device__ inline uint64_t wgmma_descriptor_64B(uint32_t address) {
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(512 >> 4) << 32 | (uint64_t)2 << 62;
}
/* And of 32 bytes, a slice of K. */
__device__ inline uint64_t wgmma_descriptor_32B(uint32_t address) {
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(256 >> 4) << 32 | (uint64_t)3 << 62;
}
/* From one slice of K (32 bytes of a line, or 16 lines) to the next, in a descriptor's units. */
template <bool KMajor>
constexpr int wgmma_step = (KMajor ? 32 : 16 * 128) >> 4;

__device__ inline void wgmma_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit_group(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Left>
__device__ inline void wgmma_wait_group(void) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
}
/* Behind a wait: no use of a sum moves before it. */
template <int N>
__device__ inline void wgmma_settle(float (&sums)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int N>
__device__ inline void wgmma_settle(int (&sums)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+r"(sums[i])::"memory");
}

/* Before a fence: A's registers are made there, and not between the products that read them. */
template <int M, int N>
__device__ inline void wgmma_hold(unsigned (&a)[M][N]) {
#pragma unroll
    for (int i = 0; i < M * N; i++) asm volatile("" : "+r"(a[i / N][i % N])::"memory");
}

/* Waits for all groups; the sums may then be used. */
template <int N>
__device__ inline void wgmma_finish(float (&d)[N]) {
    wgmma_wait_group<0>();
    wgmma_settle(d);
}

/* Sums of asm statements, and their names. */
#define RIDGE_AT_4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define RIDGE_AT_16(d, i) RIDGE_AT_4(d, i), RIDGE_AT_4(d, i + 4), RIDGE_AT_4(d, i + 8), RIDGE_AT_4(d, i + 12)
#define RIDGE_SUMS_8(d) RIDGE_AT_4(d, 0), RIDGE_AT_4(d, 4)
#define RIDGE_SUMS_28(d) RIDGE_AT_16(d, 0), RIDGE_AT_4(d, 16), RIDGE_AT_4(d, 20), RIDGE_AT_4(d, 24)
#define RIDGE_SUMS_32(d) RIDGE_AT_16(d, 0), RIDGE_AT_16(d, 16)
#define RIDGE_SUMS_36(d) RIDGE_AT_16(d, 0), RIDGE_AT_16(d, 16), RIDGE_AT_4(d, 32)
#define RIDGE_SUMS_40(d) RIDGE_AT_16(d, 0), RIDGE_AT_16(d, 16), RIDGE_AT_4(d, 32), RIDGE_AT_4(d, 36)
#define RIDGE_SUMS_48(d) RIDGE_AT_16(d, 0), RIDGE_AT_16(d, 16), RIDGE_AT_16(d, 32)
#define RIDGE_SUMS_52(d) RIDGE_AT_16(d, 0), RIDGE_AT_16(d, 16), RIDGE_AT_16(d, 32), RIDGE_AT_4(d, 48)
#define RIDGE_SUMS_64(d) RIDGE_AT_16(d, 0), RIDGE_AT_16(d, 16), RIDGE_AT_16(d, 32), RIDGE_AT_16(d, 48)
#define RIDGE_SUMS_80(d) RIDGE_SUMS_64(d), RIDGE_AT_16(d, 64)
#define RIDGE_SUMS_96(d) RIDGE_SUMS_64(d), RIDGE_AT_16(d, 64), RIDGE_AT_16(d, 80)
#define RIDGE_SUMS_128(d) \
    RIDGE_SUMS_64(d), RIDGE_AT_16(d, 64), RIDGE_AT_16(d, 80), RIDGE_AT_16(d, 96), RIDGE_AT_16(d, 112)
#define RIDGE_INTS_4(d, i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define RIDGE_INTS_16(d, i) RIDGE_INTS_4(d, i), RIDGE_INTS_4(d, i + 4), RIDGE_INTS_4(d, i + 8), RIDGE_INTS_4(d, i + 12)
#define RIDGE_INTS_64(d, i) \
    RIDGE_INTS_16(d, i), RIDGE_INTS_16(d, i + 16), RIDGE_INTS_16(d, i + 32), RIDGE_INTS_16(d, i + 48)
#define RIDGE_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define RIDGE_NAMES_28 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27"
#define RIDGE_NAMES_32 \
    RIDGE_NAMES_28     \
    ","                \
    "%28,%29,%30,%31"
#define RIDGE_NAMES_36 \
    RIDGE_NAMES_32     \
    ","                \
    "%32,%33,%34,%35"
#define RIDGE_NAMES_40 \
    RIDGE_NAMES_36     \
    ","                \
    "%36,%37,%38,%39"
#define RIDGE_NAMES_48 \
    RIDGE_NAMES_40     \
    ","                \
    "%40,%41,%42,%43,%44,%45,%46,%47"
#define RIDGE_NAMES_52 \
    RIDGE_NAMES_48     \
    ","                \
    "%48,%49,%50,%51"
#define RIDGE_NAMES_64 \
    RIDGE_NAMES_52     \
    ","                \
    "%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define RIDGE_NAMES_72 \
    RIDGE_NAMES_64     \
    ","                \
    "%64,%65,%66,%67,%68,%69,%70,%71"
#define RIDGE_NAMES_80 \
    RIDGE_NAMES_72     \
    ","                \
    "%72,%73,%74,%75,%76,%77,%78,%79"
#define RIDGE_NAMES_96 \
    RIDGE_NAMES_80     \
    ","                \
    "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define RIDGE_NAMES_128                                                                                         \
    RIDGE_NAMES_80                                                                                              \
    ","                                                                                                         \
    "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,"                              \
    "%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%" \
    "120,%121,%122,%123,%124,%125,%126,%127"
/* Behind the sums: two descriptors, accumulate, then for 16 bits whether the operands are not K-major. */
#define RIDGE_WGMMA(n, shape, types, a_, b_, p_, more, ...)                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\nwgmma.mma_async.sync.aligned." shape "." types \
                 " {" RIDGE_NAMES_##n "}, " a_ ", " b_ ", p, 1, 1" more ";\n}"                                \
                 : RIDGE_SUMS_##n(d)                                                                          \
                 : "l"(a), "l"(b), "r"(accumulate)__VA_ARGS__)
#define RIDGE_COMMA ,

template <typename T>
struct wgmma_type;

#define RIDGE_WGMMA_16_OF(n, shape, name, a_, b_, p_, ta, tb)                          \
    template <int TA, int TB>                                                          \
    static __device__ void run(float(&d)[n], uint64_t a, uint64_t b, int accumulate) { \
        RIDGE_WGMMA(n, shape, "f32." name "." name, a_, b_, p_, ", " ta ", " tb,       \
                    RIDGE_COMMA "n"(TA)RIDGE_COMMA "n"(TB));                           \
    }
/* A from registers. */
#define RIDGE_WGMMA_16_RS(n, shape, name, a0, a1, a2, a3, b_, p_, tb)                                                 \
    template <int TB>                                                                                                 \
    static __device__ void run_rs(float(&d)[n], const unsigned(&a)[4], uint64_t b, int accumulate) {                  \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32." name  \
                     "." name " {" RIDGE_NAMES_##n "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_ ", p, 1, 1, " tb ";\n}" \
                     : RIDGE_SUMS_##n(d)                                                                              \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate), "n"(TB));                 \
    }
/* A sparse, B K-major. */
#define RIDGE_WGMMA_16_SP(n, shape, name, a_, b_, p_, codes_, pair_)                                       \
    template <int Pair>                                                                                    \
    static __device__ void run_sp(float(&d)[n], uint64_t a, uint64_t b, unsigned codes, int accumulate) {  \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\nwgmma.mma_async.sp.sync.aligned." shape \
                     ".f32." name "." name " {" RIDGE_NAMES_##n "}, " a_ ", " b_ ", " codes_ ", " pair_    \
                                                                ", p, 1, 1, 0, 0;\n}"                      \
                     : RIDGE_SUMS_##n(d)                                                                   \
                     : "l"(a), "l"(b), "r"(accumulate), "r"(codes), "n"(Pair));                            \
    }
#define RIDGE_WGMMA_16(type, name)                                                                         \
    template <>                                                                                            \
    struct wgmma_type<type> {                                                                              \
        RIDGE_WGMMA_16_OF(128, "m64n256k16", name, "%128", "%129", "%130", "%131", "%132")                 \
        RIDGE_WGMMA_16_OF(96, "m64n192k16", name, "%96", "%97", "%98", "%99", "%100")                      \
        RIDGE_WGMMA_16_OF(64, "m64n128k16", name, "%64", "%65", "%66", "%67", "%68")                       \
        RIDGE_WGMMA_16_OF(52, "m64n104k16", name, "%52", "%53", "%54", "%55", "%56")                       \
        RIDGE_WGMMA_16_OF(48, "m64n96k16", name, "%48", "%49", "%50", "%51", "%52")                        \
        RIDGE_WGMMA_16_OF(40, "m64n80k16", name, "%40", "%41", "%42", "%43", "%44")                        \
        RIDGE_WGMMA_16_OF(32, "m64n64k16", name, "%32", "%33", "%34", "%35", "%36")                        \
        RIDGE_WGMMA_16_RS(128, "m64n256k16", name, "%128", "%129", "%130", "%131", "%132", "%133", "%134") \
        RIDGE_WGMMA_16_RS(96, "m64n192k16", name, "%96", "%97", "%98", "%99", "%100", "%101", "%102")      \
        RIDGE_WGMMA_16_RS(64, "m64n128k16", name, "%64", "%65", "%66", "%67", "%68", "%69", "%70")         \
        RIDGE_WGMMA_16_RS(32, "m64n64k16", name, "%32", "%33", "%34", "%35", "%36", "%37", "%38")          \
        RIDGE_WGMMA_16_RS(8, "m64n16k16", name, "%8", "%9", "%10", "%11", "%12", "%13", "%14")             \
        RIDGE_WGMMA_16_SP(128, "m64n256k32", name, "%128", "%129", "%130", "%131", "%132")                 \
        RIDGE_WGMMA_16_SP(64, "m64n128k32", name, "%64", "%65", "%66", "%67", "%68")                       \
    };
RIDGE_WGMMA_16(__nv_bfloat16, "bf16")
RIDGE_WGMMA_16(__half, "f16")

#define RIDGE_WGMMA_TF32(n, shape, a_, b_, p_)                                         \
    template <int TA, int TB>                                                          \
    static __device__ void run(float(&d)[n], uint64_t a, uint64_t b, int accumulate) { \
        static_assert(TA == 0 && TB == 0, "tf32 operands are K-major");                \
        RIDGE_WGMMA(n, shape, "f32.tf32.tf32", a_, b_, p_, "", );                      \
    }
template <>
struct wgmma_type<tf32> {
    RIDGE_WGMMA_TF32(128, "m64n256k8", "%128", "%129", "%130")
    RIDGE_WGMMA_TF32(64, "m64n128k8", "%64", "%65", "%66")
    RIDGE_WGMMA_TF32(32, "m64n64k8", "%32", "%33", "%34")
};

#define RIDGE_WGMMA_8(n, shape, name, a_, b_, p_)                                      \
    template <int TA, int TB>                                                          \
    static __device__ void run(float(&d)[n], uint64_t a, uint64_t b, int accumulate) { \
        static_assert(TA == 0 && TB == 0, "operands of 8 bits are K-major");           \
        RIDGE_WGMMA(n, shape, "f32." name "." name, a_, b_, p_, "", );                 \
    }
#define RIDGE_WGMMA_8_RS(n, shape, name, a0, a1, a2, a3, b_, p_)                                                     \
    template <int TB>                                                                                                \
    static __device__ void run_rs(float(&d)[n], const unsigned(&a)[4], uint64_t b, int accumulate) {                 \
        static_assert(TB == 0, "operands of 8 bits are K-major");                                                    \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32." name \
                     "." name " {" RIDGE_NAMES_##n "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_ ", p, 1, 1;\n}"        \
                     : RIDGE_SUMS_##n(d)                                                                             \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate));                         \
    }
#define RIDGE_WGMMA_8_SP(n, shape, name, a_, b_, p_, codes_)                                                    \
    template <int Pair>                                                                                         \
    static __device__ void run_sp(float(&d)[n], uint64_t a, uint64_t b, unsigned codes, int accumulate) {       \
        static_assert(Pair == 0, "all lanes have codes of 8-bit operands");                                     \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\nwgmma.mma_async.sp.sync.aligned." shape      \
                     ".f32." name "." name " {" RIDGE_NAMES_##n "}, " a_ ", " b_ ", " codes_ ", 0, p, 1, 1;\n}" \
                     : RIDGE_SUMS_##n(d)                                                                        \
                     : "l"(a), "l"(b), "r"(accumulate), "r"(codes));                                            \
    }
template <>
struct wgmma_type<e4m3> {
    RIDGE_WGMMA_8(128, "m64n256k32", "e4m3", "%128", "%129", "%130")
    RIDGE_WGMMA_8(64, "m64n128k32", "e4m3", "%64", "%65", "%66")
    RIDGE_WGMMA_8(48, "m64n96k32", "e4m3", "%48", "%49", "%50")
    RIDGE_WGMMA_8(32, "m64n64k32", "e4m3", "%32", "%33", "%34")
    RIDGE_WGMMA_8(80, "m64n160k32", "e4m3", "%80", "%81", "%82")
    RIDGE_WGMMA_8_RS(32, "m64n64k32", "e4m3", "%32", "%33", "%34", "%35", "%36", "%37")
    RIDGE_WGMMA_8_SP(128, "m64n256k64", "e4m3", "%128", "%129", "%130", "%131")
    RIDGE_WGMMA_8_SP(64, "m64n128k64", "e4m3", "%64", "%65", "%66", "%67")
};

/* Sums of integers are exact modulo 2^32. */
#define RIDGE_WGMMA_I8(n, shape, sums, a_, b_, p_)                                                      \
    template <int TA, int TB>                                                                           \
    static __device__ void run(int(&d)[n], uint64_t a, uint64_t b, int accumulate) {                    \
        static_assert(TA == 0 && TB == 0, "operands of 8 bits are K-major");                            \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\nwgmma.mma_async.sync.aligned." shape \
                     ".s32.s8.s8 {" RIDGE_NAMES_##n "}, " a_ ", " b_ ", p;\n}"                          \
                     : sums                                                                             \
                     : "l"(a), "l"(b), "r"(accumulate));                                                \
    }
template <>
struct wgmma_type<int8_t> {
    RIDGE_WGMMA_I8(128, "m64n256k32", RIDGE_INTS_64(d, 0) RIDGE_COMMA RIDGE_INTS_64(d, 64), "%128", "%129", "%130")
    RIDGE_WGMMA_I8(64, "m64n128k32", RIDGE_INTS_64(d, 0), "%64", "%65", "%66")
    RIDGE_WGMMA_I8(32, "m64n64k32", RIDGE_INTS_16(d, 0) RIDGE_COMMA RIDGE_INTS_16(d, 16), "%32", "%33", "%34")
};

template <typename T, int N, bool KA, bool KB>
__device__ inline void wgmma(wgmma_sum<T> (&sums)[N / 2], uint64_t a, uint64_t b, int accumulate) {
    wgmma_type<T>::template run<KA ? 0 : 1, KB ? 0 : 1>(sums, a, b, accumulate);
}

template <typename T, int N, bool KB>
__device__ inline void wgmma_rs(float (&sums)[N / 2], const unsigned (&a)[4], uint64_t b, int accumulate) {
    wgmma_type<T>::template run_rs<KB ? 0 : 1>(sums, a, b, accumulate);
}

template <typename T, int N, int Pair>
__device__ inline void wgmma_sp(float (&sums)[N / 2], uint64_t a, uint64_t b, unsigned codes, int accumulate) {
    wgmma_type<T>::template run_sp<Pair>(sums, a, b, codes, accumulate);
}

#define RIDGE_WGMMA_FROM(shape, names, a_, b_, p_, sums)                                            \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " p_ ", 0;\nwgmma.mma_async.sync.aligned." shape \
                 ".f32.f16.f16 {" names "}, {" a_ "}, " b_ ", p, 1, 1, 0;\n}"                       \
                 : sums                                                                             \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))
#define RIDGE_WGMMA_FROM_OF(n, shape, a_, b_, p_)                                                      \
    __device__ inline void wgmma_rs(float(&d)[n], const unsigned(&a)[4], uint64_t b, int accumulate) { \
        RIDGE_WGMMA_FROM(shape, RIDGE_NAMES_##n, a_, b_, p_, RIDGE_SUMS_##n(d));                       \
    }
RIDGE_WGMMA_FROM_OF(28, "m64n56k16", "%28, %29, %30, %31", "%32", "%33")
RIDGE_WGMMA_FROM_OF(36, "m64n72k16", "%36, %37, %38, %39", "%40", "%41")
RIDGE_WGMMA_FROM_OF(52, "m64n104k16", "%52, %53, %54, %55", "%56", "%57")
RIDGE_WGMMA_FROM_OF(64, "m64n128k16", "%64, %65, %66, %67", "%68", "%69")
/* Of the columns, the first 72 in d, the others in e. */
__device__ inline void wgmma_rs(float (&d)[36], float (&e)[36], const unsigned (&a)[4], uint64_t b, int accumulate) {
    RIDGE_WGMMA_FROM("m64n144k16", RIDGE_NAMES_72, "%72, %73, %74, %75", "%76", "%77",
                     RIDGE_SUMS_36(d) RIDGE_COMMA RIDGE_SUMS_36(e));
}

#undef RIDGE_WGMMA_FROM_OF
#undef RIDGE_WGMMA_FROM
#undef RIDGE_WGMMA_8
#undef RIDGE_WGMMA_8_RS
#undef RIDGE_WGMMA_I8
#undef RIDGE_WGMMA_8_SP
#undef RIDGE_WGMMA_TF32
#undef RIDGE_WGMMA_16
#undef RIDGE_WGMMA_16_RS
#undef RIDGE_WGMMA_16_SP
#undef RIDGE_WGMMA_16_OF
#undef RIDGE_WGMMA
#undef RIDGE_COMMA
#undef RIDGE_NAMES_128
#undef RIDGE_NAMES_80
#undef RIDGE_NAMES_72
#undef RIDGE_NAMES_64
#undef RIDGE_NAMES_52
#undef RIDGE_NAMES_48
#undef RIDGE_NAMES_40
#undef RIDGE_NAMES_36
#undef RIDGE_NAMES_28
#undef RIDGE_NAMES_8
#undef RIDGE_SUMS_128
#undef RIDGE_SUMS_64
#undef RIDGE_SUMS_52
#undef RIDGE_SUMS_40
#undef RIDGE_SUMS_36
#undef RIDGE_SUMS_28
#undef RIDGE_SUMS_8
#undef RIDGE_AT_16
#undef RIDGE_INTS_64
#undef RIDGE_INTS_16
#undef RIDGE_INTS_4
#undef RIDGE_AT_4

}  // namespace ridge

#endif

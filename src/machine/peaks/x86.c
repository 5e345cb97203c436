/* Peak loops of x86-64: SSE2, AVX2 with FMA, AVX-512, and the dot-product instructions for bf16 and int8. */
#include "machine/peaks/chains.h"
#include "machine/peaks/peaks.h"

#if defined(__x86_64__)

typedef float xmm __attribute__((vector_size(16), may_alias));
typedef float ymm __attribute__((vector_size(32), may_alias));
typedef float zmm __attribute__((vector_size(64), may_alias));

#define SPLIT_STEP(i, add, multiply)                           \
    if ((i) < 6)                                               \
        __asm__ volatile(add " %1, %0" : "+x"(a##i) : "x"(y)); \
    else                                                       \
        __asm__ volatile(multiply " %1, %0" : "+x"(a##i) : "x"(x));
#define DOT_STEP(i, instruction, class) \
    __asm__ volatile(instruction " %2, %1, %0" : "+" class(a##i) : class(x), class(y));

/* ---- SSE2: six chains of additions beside six of multiplications ------------------------------------------------- */

#define PEAK(name) sse2_ps_##name
#define PEAK_TARGET
#define PEAK_VECTOR xmm
#define PEAK_CHAINS PEAK_0_TO_11
#define PEAK_STEP(i) SPLIT_STEP(i, "addps", "mulps")
#include "machine/peaks/loop.h"

#define PEAK(name) sse2_pd_##name
#define PEAK_TARGET
#define PEAK_VECTOR xmm
#define PEAK_CHAINS PEAK_0_TO_11
#define PEAK_STEP(i) SPLIT_STEP(i, "addpd", "mulpd")
#include "machine/peaks/loop.h"

/* ---- AVX2: sixteen registers hold twelve chains and the operands ------------------------------------------------- */

#define PEAK(name) avx2_ps_##name
#define PEAK_TARGET __attribute__((target("avx2,fma")))
#define PEAK_VECTOR ymm
#define PEAK_CHAINS PEAK_0_TO_11
#define PEAK_STEP(i) DOT_STEP(i, "vfmadd231ps", "x")
#include "machine/peaks/loop.h"

#define PEAK(name) avx2_pd_##name
#define PEAK_TARGET __attribute__((target("avx2,fma")))
#define PEAK_VECTOR ymm
#define PEAK_CHAINS PEAK_0_TO_11
#define PEAK_STEP(i) DOT_STEP(i, "vfmadd231pd", "x")
#include "machine/peaks/loop.h"

/* Products of bytes in pairs, summed in 16 bits: a bound for kernels that widen to 32 bits later. y is signed. */
#define PEAK(name) avx2_b_##name
#define PEAK_TARGET __attribute__((target("avx2")))
#define PEAK_VECTOR ymm
#define PEAK_CHAINS PEAK_0_TO_11
#define PEAK_STEP(i)                                                                                            \
    {                                                                                                           \
        ymm t;                                                                                                  \
        __asm__ volatile("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(a##i), "=&x"(t) : "x"(x), "x"(y)); \
    }
#include "machine/peaks/loop.h"

#define PEAK(name) avx_vnni_##name
#define PEAK_TARGET __attribute__((target("avx2")))
#define PEAK_VECTOR ymm
#define PEAK_CHAINS PEAK_0_TO_11
#define PEAK_STEP(i) DOT_STEP(i, "%{vex%} vpdpbusd", "x")
#include "machine/peaks/loop.h"

/* ---- AVX-512: both widths, since some processors run two 256-bit instructions where they run one of 512 ---------- */

#define PEAK(name) avx512_ps_##name
#define PEAK_TARGET __attribute__((target("avx512f")))
#define PEAK_VECTOR zmm
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) DOT_STEP(i, "vfmadd231ps", "v")
#include "machine/peaks/loop.h"

#define PEAK(name) avx512_pd_##name
#define PEAK_TARGET __attribute__((target("avx512f")))
#define PEAK_VECTOR zmm
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) DOT_STEP(i, "vfmadd231pd", "v")
#include "machine/peaks/loop.h"

#define PEAK(name) bf16_zmm_##name
#define PEAK_TARGET __attribute__((target("avx512f,avx512bf16")))
#define PEAK_VECTOR zmm
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) DOT_STEP(i, "vdpbf16ps", "v")
#include "machine/peaks/loop.h"

#define PEAK(name) bf16_ymm_##name
#define PEAK_TARGET __attribute__((target("avx512f,avx512vl,avx512bf16")))
#define PEAK_VECTOR ymm
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) DOT_STEP(i, "vdpbf16ps", "v")
#include "machine/peaks/loop.h"

#define PEAK(name) vnni_zmm_##name
#define PEAK_TARGET __attribute__((target("avx512f,avx512vnni")))
#define PEAK_VECTOR zmm
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) DOT_STEP(i, "vpdpbusd", "v")
#include "machine/peaks/loop.h"

#define PEAK(name) vnni_ymm_##name
#define PEAK_TARGET __attribute__((target("avx512f,avx512vl,avx512vnni")))
#define PEAK_VECTOR ymm
#define PEAK_CHAINS PEAK_0_TO_19
#define PEAK_STEP(i) DOT_STEP(i, "vpdpbusd", "v")
#include "machine/peaks/loop.h"

#include "machine/peaks/amx.h"

static const ridge_peak_loop loops[] = {
    {"fp32 sse2", "fp32", "", "6 chains of addps beside 6 of mulps", sse2_ps_run, RIDGE_PEAK_F32_SPLIT, 12, 16, 4, 1},
    {"fp32 avx2", "fp32", "fma", "12 independent ymm accumulators, vfmadd231ps", avx2_ps_run, RIDGE_PEAK_F32, 12, 32, 8,
     1},
    {"fp32 avx512", "fp32", "avx512f", "20 independent zmm accumulators, vfmadd231ps", avx512_ps_run, RIDGE_PEAK_F32,
     20, 64, 16, 1},
    {"fp64 sse2", "fp64", "", "6 chains of addpd beside 6 of mulpd", sse2_pd_run, RIDGE_PEAK_F64_SPLIT, 12, 16, 2, 1},
    {"fp64 avx2", "fp64", "fma", "12 independent ymm accumulators, vfmadd231pd", avx2_pd_run, RIDGE_PEAK_F64, 12, 32, 4,
     1},
    {"fp64 avx512", "fp64", "avx512f", "20 independent zmm accumulators, vfmadd231pd", avx512_pd_run, RIDGE_PEAK_F64,
     20, 64, 8, 1},
    {"bf16 avx512_bf16", "bf16", "avx512_bf16", "20 independent zmm accumulators, vdpbf16ps", bf16_zmm_run,
     RIDGE_PEAK_BF16, 20, 64, 16, 2},
    {"bf16 avx512_bf16", "bf16", "avx512_bf16", "20 independent ymm accumulators, vdpbf16ps", bf16_ymm_run,
     RIDGE_PEAK_BF16, 20, 32, 8, 2},
    {"int8 avx2", "int8", "avx2", "12 independent ymm accumulators, vpmaddubsw and vpaddw in 16 bits", avx2_b_run,
     RIDGE_PEAK_I8_I16, 12, 32, 16, 2},
    {"int8 avx_vnni", "int8", "avx_vnni", "12 independent ymm accumulators, vpdpbusd", avx_vnni_run, RIDGE_PEAK_I8_I32,
     12, 32, 8, 4},
    {"int8 avx512_vnni", "int8", "avx512_vnni", "20 independent zmm accumulators, vpdpbusd", vnni_zmm_run,
     RIDGE_PEAK_I8_I32, 20, 64, 16, 4},
    {"int8 avx512_vnni", "int8", "avx512_vnni", "20 independent ymm accumulators, vpdpbusd", vnni_ymm_run,
     RIDGE_PEAK_I8_I32, 20, 32, 8, 4},
#if RIDGE_HAVE_AMX
    {"bf16 amx_bf16", "bf16", "amx_bf16", "6 independent tiles, tdpbf16ps", amx_bf16_run, RIDGE_PEAK_BF16, 6, 1024, 256,
     32},
    {"int8 amx_int8", "int8", "amx_int8", "6 independent tiles, tdpbssd", amx_int8_run, RIDGE_PEAK_I8_I32, 6, 1024, 256,
     64},
#endif
};

const ridge_peak_loop *ridge_peaks_native(int *count) {
    *count = (int)(sizeof loops / sizeof loops[0]);
    return loops;
}

#endif

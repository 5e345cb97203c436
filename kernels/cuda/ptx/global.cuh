/* Global memory: cache policies, loads and stores with hints, ordered accesses to counters. */
#ifndef RIDGE_KERNELS_CUDA_PTX_GLOBAL_CUH
#define RIDGE_KERNELS_CUDA_PTX_GLOBAL_CUH

#include <cuda_runtime.h>
#include <stdint.h>

namespace ridge {

/* ---- L2 policies ---- */

__device__ inline uint64_t createpolicy_evict_last(void) {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ inline uint64_t createpolicy_evict_first(void) {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ inline uint64_t createpolicy_evict_normal(void) {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* ---- 16 and 8 bytes at a time; p is aligned accordingly ---- */

/* Not kept in L1. Ordinary loads: ld.global.nc says that nobody writes what it reads while the kernel runs, and ptxas
 * moved it before griddepcontrol.wait, when the launch before may still write (tests/gpu/waits.py). */
__device__ inline uint4 ld_global(const void *p, uint64_t policy) {
    uint4 v;
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p), "l"(policy));
    return v;
}
/* Kept in L1, for neighbours that share its line. */
__device__ inline uint4 ld_global_v4(const void *p) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
/* Zeros unless present. One asm statement: a choice between two values would wait for each load before the next. */
__device__ inline uint4 ld_global_if(const void *p, uint64_t policy, bool present) {
    uint4 v;
    asm volatile(
        "{\n\t.reg .pred present;\n\tsetp.ne.u32 present, %6, 0;\n\t"
        "mov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\tmov.u32 %2, 0;\n\tmov.u32 %3, 0;\n\t"
        "@present ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;\n\t}"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p), "l"(policy), "r"((unsigned)present));
    return v;
}
/* The same, kept in L1. */
__device__ inline uint4 ld_global_v4_if(const void *p, uint64_t policy, bool present) {
    uint4 v;
    asm volatile(
        "{\n\t.reg .pred present;\n\tsetp.ne.u32 present, %6, 0;\n\t"
        "mov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\tmov.u32 %2, 0;\n\tmov.u32 %3, 0;\n\t"
        "@present ld.global.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;\n\t}"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p), "l"(policy), "r"((unsigned)present));
    return v;
}
/* Without a policy, and not kept; 8 and 4 bytes likewise. */
__device__ inline uint4 ld_global_if(const void *p, bool present) {
    uint4 v;
    asm volatile(
        "{\n\t.reg .pred present;\n\tsetp.ne.u32 present, %5, 0;\n\t"
        "mov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\tmov.u32 %2, 0;\n\tmov.u32 %3, 0;\n\t"
        "@present ld.global.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];\n\t}"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(p), "r"((unsigned)present));
    return v;
}
__device__ inline uint2 ld_global_v2_if(const void *p, bool present) {
    uint2 v;
    asm volatile(
        "{\n\t.reg .pred present;\n\tsetp.ne.u32 present, %3, 0;\n\tmov.u32 %0, 0;\n\tmov.u32 %1, 0;\n\t"
        "@present ld.global.L1::no_allocate.v2.u32 {%0,%1}, [%2];\n\t}"
        : "=r"(v.x), "=r"(v.y)
        : "l"(p), "r"((unsigned)present));
    return v;
}
__device__ inline unsigned ld_global_u32_if(const void *p, bool present) {
    unsigned v;
    asm volatile(
        "{\n\t.reg .pred present;\n\tsetp.ne.u32 present, %2, 0;\n\tmov.u32 %0, 0;\n\t"
        "@present ld.global.L1::no_allocate.u32 %0, [%1];\n\t}"
        : "=r"(v)
        : "l"(p), "r"((unsigned)present));
    return v;
}
__device__ inline uint2 ld_global_v2(const void *p) {
    uint2 v;
    asm volatile("ld.global.L1::no_allocate.v2.u32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
}
/* A hint: nothing waits for it. */
__device__ inline void prefetch_global_L2(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
/* Brings the whole 128-byte line to L2. */
__device__ inline float4 ld_global_L2_128B(const float *p) {
    float4 v;
    asm volatile("ld.global.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(p));
    return v;
}
/* One store: the compiler would take an ordinary one apart where that saves moves. */
__device__ inline void st_global_v4(void *p, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}
__device__ inline void st_global_hint(void *p, uint4 v, uint64_t policy) {
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1,%2,%3,%4}, %5;" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w), "l"(policy)
                 : "memory");
}
__device__ inline void st_global_cs_v2(void *p, uint2 v) {
    asm volatile("st.global.cs.v2.u32 [%0], {%1,%2};" ::"l"(p), "r"(v.x), "r"(v.y) : "memory");
}

/* ---- counters that blocks share ---- */

__device__ inline void red_relaxed_add(unsigned *counter, unsigned n) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(n) : "memory");
}
__device__ inline void red_release_add(unsigned *counter, unsigned n) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(n) : "memory");
}
__device__ inline unsigned ld_relaxed(const unsigned *counter) {
    unsigned v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(counter) : "memory");
    return v;
}
__device__ inline unsigned ld_acquire(const unsigned *counter) {
    unsigned v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(counter) : "memory");
    return v;
}

}  // namespace ridge

#endif

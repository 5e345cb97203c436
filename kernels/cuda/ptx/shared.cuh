/* Shared memory: addresses as the instructions take them, accesses, and the proxy fence before TMA or the tensor cores
 * read what threads have written. */
#ifndef RIDGE_KERNELS_CUDA_PTX_SHARED_CUH
#define RIDGE_KERNELS_CUDA_PTX_SHARED_CUH

#include <cuda_runtime.h>
#include <stdint.h>

namespace ridge {

__device__ inline uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ inline void st_shared(uint32_t address, float v) {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(v) : "memory");
}
__device__ inline void st_shared_v2(uint32_t address, float x, float y) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(x), "f"(y) : "memory");
}
__device__ inline float2 ld_shared_v2(uint32_t address) {
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address) : "memory");
    return v;
}

__device__ inline void st_shared_v4(uint32_t address, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ inline uint16_t ld_shared_u16(uint32_t address) {
    uint16_t v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(address) : "memory");
    return v;
}
__device__ inline unsigned ld_shared_u32(uint32_t address) {
    unsigned v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(address) : "memory");
    return v;
}
__device__ inline uint2 ld_shared_u32x2(uint32_t address) {
    uint2 v;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "r"(address) : "memory");
    return v;
}
__device__ inline uint4 ld_shared_v4(uint32_t address) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}

/* Four 8 x 8 matrices of 16-bit elements from rows of shared memory, as mma.sync's fragments: a lane names a row.
 * trans: each matrix transposed. */
__device__ inline void ldmatrix_x4(unsigned (&v)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(from)
                 : "memory");
}
__device__ inline void ldmatrix_x4_trans(unsigned (&v)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(from)
                 : "memory");
}
/* Four 8 x 8 matrices of 16-bit elements, from the layout of an accumulator to rows of shared memory. */
__device__ inline void stmatrix_x4(uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c),
                 "r"(d)
                 : "memory");
}
/* The same, each matrix transposed. */
__device__ inline void stmatrix_x4_trans(uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b),
                 "r"(c), "r"(d)
                 : "memory");
}

/* Orders this thread's writes to shared memory before reads by TMA and wgmma. */
__device__ inline void fence_proxy_async(void) { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace ridge

#endif

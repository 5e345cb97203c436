/* tcgen05: products whose sums lie in tensor memory (TMEM). For sm_100a alone.
 *
 * A CTA's tensor memory has 128 lanes of 512 columns of 32 bits; an address is lane << 16 | column. A warp reaches the 32
 * lanes of its place in its warpgroup, at 32 (warp % 4). Sum (m, n) of a product of 128 rows is in lane m, column n.
 *
 *   tcgen05_alloc, tcgen05_dealloc      by one whole warp: columns, a power of two from 32 to 512
 *   tcgen05_mma, tcgen05_cp             by one thread; they return at once, and its commit arrives at an mbarrier
 *   tcgen05_ld                          by a whole warp: a thread has its lane's columns, once tcgen05_wait_ld() is over
 *   tcgen05_st                          by a whole warp: its lanes have the columns, once tcgen05_wait_st() is over
 *   tcgen05_fence_…_thread_sync         on both sides of what orders tcgen05 of one thread behind tcgen05 of another
 *
 * Group: 1, or 2 for a pair of CTAs whose ranks in their cluster differ in the last bit; all of a kernel's tcgen05 has the same.
 * A pair allocates and gives back together, a warp of each. A thread of the first CTA starts products of 256 rows: each CTA
 * has half of A's rows and of B's columns in its shared memory, and 128 rows of sums in its tensor memory. */
#ifndef RIDGE_KERNELS_CUDA_PTX_TCGEN05_CUH
#define RIDGE_KERNELS_CUDA_PTX_TCGEN05_CUH

#include <stdint.h>

namespace ridge {

/* Writes the address of the first column to shared memory at `to`. */
template <int Group = 1>
__device__ inline void tcgen05_alloc(uint32_t to, int columns) {
    asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to), "r"(columns),
                 "n"(Group)
                 : "memory");
}
template <int Group = 1>
__device__ inline void tcgen05_dealloc(uint32_t address, int columns) {
    asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns), "n"(Group)
                 : "memory");
}
__device__ inline void tcgen05_fence_before_thread_sync(void) {
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ inline void tcgen05_fence_after_thread_sync(void) {
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

/* D (+)= A B in 16 bits, sums in fp32: a, b as mma/sm100.cuh describes them, 16 elements of K. */
template <int Group = 1>
__device__ inline void tcgen05_mma_f16(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, int accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %4, 0;\n"
        "tcgen05.mma.cta_group::%5.kind::f16 [%0], %1, %2, %3, add;\n}" ::"r"(d),
        "l"(a), "l"(b), "r"(instruction), "r"(accumulate), "n"(Group)
        : "memory");
}
/* The same with A in tensor memory: row r in lane r, two elements a column, eight columns. */
__device__ inline void tcgen05_mma_f16_of_tensor(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction,
                                                 int accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %4, 0;\n"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, add;\n}" ::"r"(d),
        "r"(a), "l"(b), "r"(instruction), "r"(accumulate)
        : "memory");
}
/* Four bits with a scale for each 16 of K, sums in fp32: 64 elements of K, both lines along K. The scales are ue4m3, in tensor
 * memory as tcgen05_cp_scales leaves them: A's of the CTA's rows, B's of all columns, also in each CTA of a pair. */
template <int Group = 1>
__device__ inline void tcgen05_mma_nvfp4(uint32_t d, uint64_t a, uint64_t b, uint32_t instruction, uint32_t a_scales,
                                         uint32_t b_scales, int accumulate) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.ne.b32 add, %6, 0;\n"
        "tcgen05.mma.cta_group::%7.kind::mxf4nvf4.block_scale.scale_vec::4X [%0], %1, %2, %3, [%4], [%5], add;\n}" ::
            "r"(d),
        "l"(a), "l"(b), "r"(instruction), "r"(a_scales), "r"(b_scales), "r"(accumulate), "n"(Group)
        : "memory");
}
/* A tile of scales, 32 lines of 16 bytes in shared memory (mma/sm100.cuh describes it), to four columns of tensor memory, the
 * same in each 32 lanes: byte s of lane r % 32, column r / 32 is scale s of row r. Of a pair, each CTA has its own. Products that
 * the same thread starts behind it read what it has brought. */
template <int Group = 1>
__device__ inline void tcgen05_cp_scales(uint32_t to, uint64_t from) {
    asm volatile("tcgen05.cp.cta_group::%2.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(from), "n"(Group) : "memory");
}
/* One arrival at the mbarrier when all products and copies that this thread has started are done. It fences before the arrival. */
__device__ inline void tcgen05_commit(uint32_t barrier) {
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
                 : "memory");
}
/* The same of a pair's products: an arrival at the barrier at this address in both CTAs, which are the first of their cluster. */
__device__ inline void tcgen05_commit_pair(uint32_t barrier) {
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
            barrier),
        "h"((uint16_t)3)
        : "memory");
}

/* Sixteen columns of the warp's 32 lanes. */
__device__ inline void tcgen05_ld(unsigned (&v)[16], uint32_t address) {
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x16.b32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
        : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]), "=r"(v[8]),
          "=r"(v[9]), "=r"(v[10]), "=r"(v[11]), "=r"(v[12]), "=r"(v[13]), "=r"(v[14]), "=r"(v[15])
        : "r"(address)
        : "memory");
}
/* Thirty-two. */
__device__ inline void tcgen05_ld_x32(unsigned *v, uint32_t address) {
    asm volatile(
        "tcgen05.ld.sync.aligned.32x32b.x32.b32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, [%32];"
        : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]), "=r"(v[8]),
          "=r"(v[9]), "=r"(v[10]), "=r"(v[11]), "=r"(v[12]), "=r"(v[13]), "=r"(v[14]), "=r"(v[15]), "=r"(v[16]),
          "=r"(v[17]), "=r"(v[18]), "=r"(v[19]), "=r"(v[20]), "=r"(v[21]), "=r"(v[22]), "=r"(v[23]), "=r"(v[24]),
          "=r"(v[25]), "=r"(v[26]), "=r"(v[27]), "=r"(v[28]), "=r"(v[29]), "=r"(v[30]), "=r"(v[31])
        : "r"(address)
        : "memory");
}
/* From registers to thirty-two columns of the warp's 32 lanes. */
__device__ inline void tcgen05_st_x32(uint32_t address, const unsigned (&v)[32]) {
    asm volatile(
        "tcgen05.st.sync.aligned.32x32b.x32.b32 [%0], "
        "{%1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, "
        "%17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32};" ::"r"(address),
        "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7]), "r"(v[8]), "r"(v[9]),
        "r"(v[10]), "r"(v[11]), "r"(v[12]), "r"(v[13]), "r"(v[14]), "r"(v[15]), "r"(v[16]), "r"(v[17]), "r"(v[18]),
        "r"(v[19]), "r"(v[20]), "r"(v[21]), "r"(v[22]), "r"(v[23]), "r"(v[24]), "r"(v[25]), "r"(v[26]), "r"(v[27]),
        "r"(v[28]), "r"(v[29]), "r"(v[30]), "r"(v[31])
        : "memory");
}
/* Waits for the warp's stores. */
__device__ inline void tcgen05_wait_st(void) { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }
/* Waits for the warp's loads. No use of what was loaded moves before it. */
template <int N>
__device__ inline void tcgen05_wait_ld(unsigned (&v)[N]) {
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
#pragma unroll
    for (int i = 0; i < N; i++) asm volatile("" : "+r"(v[i])::"memory");
}

}  // namespace ridge

#endif

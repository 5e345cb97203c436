/* Peak loops of fp32 multiply-adds and of mma.sync, the tensor-core instruction that every GPU since the A100 has.
 * Operands and accumulators stay in registers; nothing is loaded in the loop. */
#include <cuda_runtime.h>

extern "C" {
#include "machine/gpu/meter.h"
}

namespace {

__device__ inline void add_up(uint32_t right, uint32_t *sums) {
    right = __reduce_add_sync(~0u, right);
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.x % RIDGE_GPU_SUMS], right);
}

/* ---- FFMA: a step adds a·b and then (1 - a)·b to each of 16 chains, all integers below 2^24 ------------------------
 */

constexpr int CHAINS = 16, FFMA_THREADS = 512, FFMA_BLOCKS = 2, FFMA_STEPS = 16000;

__device__ inline void multiply_add(float &sum, float a, float b) {
    asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));
}

__global__ void __launch_bounds__(FFMA_THREADS) ffma_kernel(int steps, uint32_t *sums) {
    int t = blockIdx.x * FFMA_THREADS + threadIdx.x;
    float b = (float)(256 + t * 37 % 255), plus = (float)(8192 + t * 1021 % 8191), minus = 1 - plus, sum[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++) sum[i] = (float)i;
#pragma unroll 4
    for (int n = 0; n < steps; n++) {
#pragma unroll
        for (int i = 0; i < CHAINS; i++) multiply_add(sum[i], plus, b);
#pragma unroll
        for (int i = 0; i < CHAINS; i++) multiply_add(sum[i], minus, b);
    }
    uint32_t right = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; i++) right += sum[i] == (float)i + (float)steps * b;
    add_up(right, sums);
}

void ffma(const ridge_gpu_work *w) {
    ffma_kernel<<<FFMA_BLOCKS * w->sm_count, FFMA_THREADS, 0, (cudaStream_t)w->stream>>>((int)w->passes, w->sums);
}

const ridge_gpu_loop scalar_loops[] = {
    {"fp32 ffma", "fp32", "16 independent chains of fma.rn.f32 a thread, 32 warps an SM", RIDGE_GPU_OPERANDS, 80, 9999,
     FFMA_BLOCKS, FFMA_THREADS, CHAINS, 2.0 * 2 * CHAINS *FFMA_THREADS, FFMA_STEPS, ffma},
};

/* ---- mma.sync: 16 rows, 8 columns, 32 bytes of K; a warp has 8 tiles side by side ----------------------------------
 */

constexpr int TILES = 8, MMA_THREADS = 256, MMA_BLOCKS = 2;

template <ridge_gpu_operand K>
struct sum_of {
    using type = float;
};
template <>
struct sum_of<RIDGE_GPU_S8> {
    using type = int;
};

#define MMA(shape, types, constraint)                                                                                 \
    asm volatile("mma.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : constraint(d[0]), constraint(d[1]), constraint(d[2]), constraint(d[3])                             \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <ridge_gpu_operand K>
__device__ inline void mma(typename sum_of<K>::type (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    if constexpr (K == RIDGE_GPU_F16) MMA("m16n8k16", "f32.f16.f16.f32", "+f");
    if constexpr (K == RIDGE_GPU_BF16) MMA("m16n8k16", "f32.bf16.bf16.f32", "+f");
    if constexpr (K == RIDGE_GPU_TF32) MMA("m16n8k8", "f32.tf32.tf32.f32", "+f");
    if constexpr (K == RIDGE_GPU_S8) MMA("m16n8k32", "s32.s8.s8.s32", "+r");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    if constexpr (K == RIDGE_GPU_E4M3) MMA("m16n8k32", "f32.e4m3.e4m3.f32", "+f");
#endif
}

__device__ inline uint32_t word(const uint8_t *p) { return *(const uint32_t *)p; }

/* Warp w of a block has rows 16w …; its lane, in the instruction's numbering, row or column `group` and four bytes of K
 * at 4·`place`, and those 8 rows or 16 bytes further. */
template <ridge_gpu_operand K>
__global__ void __launch_bounds__(MMA_THREADS)
    mma_kernel(const ridge_gpu_operands *o, int steps, float unit, float slack, uint32_t *sums) {
    using sum_type = typename sum_of<K>::type;
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
    uint32_t plus[4], minus[4], b[TILES][2];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        plus[i] = word(&o->a[0][row + i % 2 * 8][4 * place + i / 2 * 16]);
        minus[i] = word(&o->a[1][row + i % 2 * 8][4 * place + i / 2 * 16]);
    }
    sum_type d[TILES][4] = {};
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
        for (int i = 0; i < 2; i++) b[t][i] = word(&o->b[8 * t + group][4 * place + 16 * i]);
    for (int n = 0; n < steps; n++) {
#pragma unroll
        for (int t = 0; t < TILES; t++) mma<K>(d[t], plus, b[t]);
#pragma unroll
        for (int t = 0; t < TILES; t++) mma<K>(d[t], minus, b[t]);
    }
    uint32_t right = 0;
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int sign = o->row_sign[row + i / 2 * 8] * o->column_sign[8 * t + 2 * place + i % 2];
            right += fabsf((float)d[t][i] - (float)(steps * sign) * unit) <= slack;
        }
    add_up(right, sums);
}

template <ridge_gpu_operand K>
void mma_loop(const ridge_gpu_work *w) {
    mma_kernel<K><<<MMA_BLOCKS * w->sm_count, MMA_THREADS, 0, (cudaStream_t)w->stream>>>(w->operands, (int)w->passes,
                                                                                         w->unit, w->slack, w->sums);
}

constexpr double mma_flops(int depth) { return 2.0 * 16 * 8 * depth * 2 * TILES * (MMA_THREADS / 32); }
#define MMA_ROOM MMA_BLOCKS, MMA_THREADS, 4 * TILES

const ridge_gpu_loop mma_loops[] = {
    {"tf32 mma", "tf32", "mma.sync m16n8k8, fp32 sums, 8 tiles a warp, 16 warps an SM", RIDGE_GPU_TF32, 80, 9999,
     MMA_ROOM, mma_flops(8), 1 << 15, mma_loop<RIDGE_GPU_TF32>},
    {"fp16 mma", "fp16", "mma.sync m16n8k16, fp32 sums, 8 tiles a warp, 16 warps an SM", RIDGE_GPU_F16, 80, 9999,
     MMA_ROOM, mma_flops(16), 1 << 15, mma_loop<RIDGE_GPU_F16>},
    {"bf16 mma", "bf16", "mma.sync m16n8k16, fp32 sums, 8 tiles a warp, 16 warps an SM", RIDGE_GPU_BF16, 80, 9999,
     MMA_ROOM, mma_flops(16), 1 << 15, mma_loop<RIDGE_GPU_BF16>},
    {"fp8 mma", "fp8", "mma.sync m16n8k32 e4m3, fp32 sums, 8 tiles a warp, 16 warps an SM", RIDGE_GPU_E4M3, 89, 9999,
     MMA_ROOM, mma_flops(32), 1 << 12, mma_loop<RIDGE_GPU_E4M3>},
    {"int8 mma", "int8", "mma.sync m16n8k32, int32 sums, 8 tiles a warp, 16 warps an SM", RIDGE_GPU_S8, 80, 9999,
     MMA_ROOM, mma_flops(32), 1 << 15, mma_loop<RIDGE_GPU_S8>},
};

}  // namespace

extern "C" const ridge_gpu_loop *ridge_gpu_scalar_loops(int *count) {
    *count = (int)(sizeof scalar_loops / sizeof scalar_loops[0]);
    return scalar_loops;
}
extern "C" const ridge_gpu_loop *ridge_gpu_mma_loops(int *count) {
    *count = (int)(sizeof mma_loops / sizeof mma_loops[0]);
    return mma_loops;
}

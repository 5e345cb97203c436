/* Peak loops of wgmma: two warpgroups an SM, each with a 64 x 256 tile of sums in
 * registers, both operands in shared memory as 128-byte rows under the 128-byte swizzle.
 *
 * Layouts as PTX describes them: a matrix is K-major, groups of 8 rows lie 1024 bytes apart, the 16-byte chunk c of row
 * r is at chunk c ^ (r % 8), and a slice of K is 32 bytes further on. */
#include <cuda_runtime.h>

extern "C" {
#include "machine/gpu/meter.h"
}

namespace {

constexpr int GROUPS = 2, THREADS = 128 * GROUPS, SUMS = 128, SLICES = RIDGE_GPU_K_BYTES / RIDGE_GPU_SLICE;
constexpr int A_BYTES = RIDGE_GPU_ROWS * RIDGE_GPU_K_BYTES, B_BYTES = RIDGE_GPU_COLUMNS * RIDGE_GPU_K_BYTES;
constexpr int SHARED_BYTES = 1024 + 2 * A_BYTES + B_BYTES;
static_assert(RIDGE_GPU_ROWS == 64 * GROUPS && RIDGE_GPU_COLUMNS == 256 && RIDGE_GPU_K_BYTES == 128, "tile of wgmma");

template <ridge_gpu_operand K>
struct sum_of {
    using type = float;
};
template <>
struct sum_of<RIDGE_GPU_S8> {
    using type = int;
};

/* Compiled for sm_90a alone. On other GPUs the table's range of compute capabilities excludes these loops. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL

#define LIST_8(f, i) f(i), f(i + 1), f(i + 2), f(i + 3), f(i + 4), f(i + 5), f(i + 6), f(i + 7)
#define LIST_64(f, i)                                                                                           \
    LIST_8(f, i), LIST_8(f, i + 8), LIST_8(f, i + 16), LIST_8(f, i + 24), LIST_8(f, i + 32), LIST_8(f, i + 40), \
        LIST_8(f, i + 48), LIST_8(f, i + 56)
#define SUM_F(i) "+f"(d[i])
#define SUM_I(i) "+r"(d[i])
#define NAMES                                                                                                         \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29," \
    "%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,"    \
    "%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,"    \
    "%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,"   \
    "%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}"
/* d += a·b. Flags after the descriptors: accumulate, signs of a and b, and, for 16-bit types, no transposition. */
#define WGMMA(shape, types, flags, SUM)                                                          \
    asm volatile(                                                                                \
        "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"                                               \
        "wgmma.mma_async.sync.aligned." shape "." types " " NAMES ", %128, %129, p" flags ";\n}" \
        : LIST_64(SUM, 0), LIST_64(SUM, 64)                                                      \
        : "l"(a), "l"(b))

template <ridge_gpu_operand K>
__device__ inline void wgmma(typename sum_of<K>::type (&d)[SUMS], uint64_t a, uint64_t b) {
    if constexpr (K == RIDGE_GPU_F16) WGMMA("m64n256k16", "f32.f16.f16", ", 1, 1, 0, 0", SUM_F);
    if constexpr (K == RIDGE_GPU_BF16) WGMMA("m64n256k16", "f32.bf16.bf16", ", 1, 1, 0, 0", SUM_F);
    if constexpr (K == RIDGE_GPU_TF32) WGMMA("m64n256k8", "f32.tf32.tf32", ", 1, 1", SUM_F);
    if constexpr (K == RIDGE_GPU_E4M3) WGMMA("m64n256k32", "f32.e4m3.e4m3", ", 1, 1", SUM_F);
    if constexpr (K == RIDGE_GPU_S8) WGMMA("m64n256k32", "s32.s8.s8", "", SUM_I);
}

/* Used after a wait: keeps the compiler from moving uses of the sum across it. */
__device__ inline void settle(float &sum) { asm volatile("" : "+f"(sum)::"memory"); }
__device__ inline void settle(int &sum) { asm volatile("" : "+r"(sum)::"memory"); }

__device__ inline uint64_t descriptor(uint32_t address) {
    const uint64_t leading = 1, stride = 1024 >> 4, swizzle_128 = 1;
    return (uint64_t)((address & 0x3ffff) >> 4) | leading << 16 | stride << 32 | swizzle_128 << 62;
}

/* rows x 128 bytes from global memory to shared, swizzled. */
__device__ inline void stage(uint8_t *to, const uint8_t *from, int rows) {
    for (int i = threadIdx.x; i < rows * 8; i += THREADS) {
        int row = i / 8, chunk = i % 8;
        *(uint4 *)(to + row * 128 + ((chunk ^ row % 8) * 16)) = *(const uint4 *)(from + row * 128 + chunk * 16);
    }
}

/* Sum i of a thread is in row 16·warp + lane/4 (+ 8 for the second pair of four), columns 8·(i/4) + 2·(lane%4) …. */
template <typename T>
__device__ inline uint32_t count_right(const T (&d)[SUMS], const ridge_gpu_operands *o, int steps, float unit,
                                       float slack) {
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    float s[2] = {(float)o->row_sign[row], (float)o->row_sign[row + 8]};
    uint32_t right = 0;
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        float e = (float)o->column_sign[i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2];
        right += fabsf((float)d[i] - (float)steps * s[i % 4 / 2] * e * unit) <= slack;
    }
    return right;
}

template <ridge_gpu_operand K>
__global__ void __launch_bounds__(THREADS, 1)
    wgmma_kernel(const ridge_gpu_operands *o, int steps, float unit, float slack, uint32_t *sums) {
    extern __shared__ uint8_t raw[];
    uint8_t *memory = raw + (1024 - (uint32_t)__cvta_generic_to_shared(raw) % 1024) % 1024;
    stage(memory, o->a[0][0], RIDGE_GPU_ROWS);
    stage(memory + A_BYTES, o->a[1][0], RIDGE_GPU_ROWS);
    stage(memory + 2 * A_BYTES, o->b[0], RIDGE_GPU_COLUMNS);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    uint32_t base = (uint32_t)__cvta_generic_to_shared(memory), mine = base + threadIdx.x / 128 * (A_BYTES / GROUPS);
    uint64_t plus = descriptor(mine), minus = descriptor(mine + A_BYTES), b = descriptor(base + 2 * A_BYTES);
    typename sum_of<K>::type d[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; i++) d[i] = 0;
    for (int n = 0; n < steps; n++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < SLICES; k++) {
            wgmma<K>(d, plus + k * (RIDGE_GPU_SLICE >> 4), b + k * (RIDGE_GPU_SLICE >> 4));
            wgmma<K>(d, minus + k * (RIDGE_GPU_SLICE >> 4), b + k * (RIDGE_GPU_SLICE >> 4));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < SUMS; i++) settle(d[i]);
    uint32_t right = __reduce_add_sync(~0u, count_right(d, o, steps, unit, slack));
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.x % RIDGE_GPU_SUMS], right);
}

#else
template <ridge_gpu_operand K>
__global__ void wgmma_kernel(const ridge_gpu_operands *, int, float, float, uint32_t *) {}
#endif

template <ridge_gpu_operand K>
void wgmma_loop(const ridge_gpu_work *w) {
    (void)cudaFuncSetAttribute(wgmma_kernel<K>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES);
    wgmma_kernel<K><<<w->sm_count, THREADS, SHARED_BYTES, (cudaStream_t)w->stream>>>(w->operands, (int)w->passes,
                                                                                     w->unit, w->slack, w->sums);
}

constexpr double flops(int depth) { return 2.0 * 64 * 256 * depth * 2 * SLICES * GROUPS; }
#define ROOM 90, 90, 1, THREADS, SUMS

const ridge_gpu_loop loops[] = {
    {"tf32 wgmma", "tf32", "wgmma m64n256k8, operands in shared memory, 2 warpgroups an SM", RIDGE_GPU_TF32, ROOM,
     flops(8), 1 << 15, wgmma_loop<RIDGE_GPU_TF32>},
    {"fp16 wgmma", "fp16", "wgmma m64n256k16, fp32 sums, operands in shared memory, 2 warpgroups", RIDGE_GPU_F16, ROOM,
     flops(16), 1 << 15, wgmma_loop<RIDGE_GPU_F16>},
    {"bf16 wgmma", "bf16", "wgmma m64n256k16, fp32 sums, operands in shared memory, 2 warpgroups", RIDGE_GPU_BF16, ROOM,
     flops(16), 1 << 15, wgmma_loop<RIDGE_GPU_BF16>},
    {"fp8 wgmma", "fp8", "wgmma m64n256k32 e4m3, operands in shared memory, 2 warpgroups", RIDGE_GPU_E4M3, ROOM,
     flops(32), 1 << 12, wgmma_loop<RIDGE_GPU_E4M3>},
    {"int8 wgmma", "int8", "wgmma m64n256k32, int32 sums, operands in shared memory, 2 warpgroups", RIDGE_GPU_S8, ROOM,
     flops(32), 1 << 15, wgmma_loop<RIDGE_GPU_S8>},
};

}  // namespace

extern "C" const ridge_gpu_loop *ridge_gpu_wgmma_loops(int *count) {
    *count = (int)(sizeof loops / sizeof loops[0]);
    return loops;
}

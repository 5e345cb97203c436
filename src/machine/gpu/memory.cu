/* Movers of GPU memory: kernels that only read, copy or write, in several shapes. The fastest shape is the ceiling. All
 * accesses are 16 bytes a thread and coalesced. Shapes differ in the number of loads in flight, in the block size, and
 * in whether the grid covers the memory once or strides over it. */
#include <cuda_runtime.h>

extern "C" {
#include "machine/gpu/meter.h"
}

namespace {

enum policy { PLAIN, ONCE, L2_ONLY };

template <policy P>
__device__ inline uint4 load(const uint4 *p) {
    uint4 v;
    if constexpr (P == ONCE)
        asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(p));
    else if constexpr (P == L2_ONLY)
        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(p)
                     : "memory");
    else
        asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(p)
                     : "memory");
    return v;
}

template <policy P>
__device__ inline void store(uint4 *p, uint4 v) {
    if constexpr (P == ONCE)
        asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                     : "memory");
    else
        asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                     : "memory");
}

/* What ridge_gpu_meter_fill leaves in the four words of vector i. */
__device__ inline uint4 pattern(uint32_t i) {
    const uint32_t step = 2654435761u;
    uint32_t first = i * (4 * step);
    return make_uint4(first, first + step, first + 2 * step, first + 3 * step);
}

__device__ inline uint32_t total(uint4 v) { return v.x + v.y + (v.z + v.w); }

__device__ inline void add_up(uint32_t sum, uint32_t *sums) {
    sum = __reduce_add_sync(~0u, sum);
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[blockIdx.x % RIDGE_GPU_SUMS], sum);
}

/* ---- DRAM: `each` vectors a thread, all in flight; a block covers one contiguous piece --------------------------- */

template <int EACH, policy P>
__global__ void read_kernel(const uint4 *from, size_t n, uint32_t *sums) {
    uint32_t sum = 0;
    size_t piece = (size_t)blockDim.x * EACH;
    for (size_t at = blockIdx.x * piece + threadIdx.x; at < n; at += gridDim.x * piece) {
        uint4 v[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) v[i] = load<P>(from + at + (size_t)i * blockDim.x);
#pragma unroll
        for (int i = 0; i < EACH; i++) sum += total(v[i]);
    }
    add_up(sum, sums);
}

template <int EACH, policy P>
__global__ void copy_kernel(uint4 *to, const uint4 *from, size_t n) {
    size_t piece = (size_t)blockDim.x * EACH;
    for (size_t at = blockIdx.x * piece + threadIdx.x; at < n; at += gridDim.x * piece) {
        uint4 v[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) v[i] = load<P>(from + at + (size_t)i * blockDim.x);
#pragma unroll
        for (int i = 0; i < EACH; i++) store<P>(to + at + (size_t)i * blockDim.x, v[i]);
    }
}

template <int EACH, policy P>
__global__ void write_kernel(uint4 *to, size_t n) {
    size_t piece = (size_t)blockDim.x * EACH;
    for (size_t at = blockIdx.x * piece + threadIdx.x; at < n; at += gridDim.x * piece)
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            size_t j = at + (size_t)i * blockDim.x;
            store<P>(to + j, pattern((uint32_t)j));
        }
}

/* Number of blocks: one pass over n vectors, or, with WAVES > 0, that many full waves, which stride over them. */
template <int EACH, int THREADS, int WAVES>
unsigned grid(const ridge_gpu_work *w, size_t n) {
    size_t all = n / ((size_t)THREADS * EACH);
    size_t waves = (size_t)WAVES * (2048 / THREADS) * (size_t)w->sm_count;
    return (unsigned)(WAVES > 0 && waves < all ? waves : all);
}

template <int EACH, int THREADS, int WAVES, policy P>
void read_dram(const ridge_gpu_work *w) {
    size_t n = w->bytes / 16;
    read_kernel<EACH, P><<<grid<EACH, THREADS, WAVES>(w, n), THREADS, 0, (cudaStream_t)w->stream>>>(
        (const uint4 *)w->memory, n, w->sums);
}

template <int EACH, int THREADS, int WAVES, policy P>
void copy_dram(const ridge_gpu_work *w) {
    size_t n = w->bytes / 32;
    const uint4 *from = (const uint4 *)w->memory;
    copy_kernel<EACH, P>
        <<<grid<EACH, THREADS, WAVES>(w, n), THREADS, 0, (cudaStream_t)w->stream>>>((uint4 *)w->memory + n, from, n);
}

template <int EACH, int THREADS, int WAVES, policy P>
void write_dram(const ridge_gpu_work *w) {
    size_t n = w->bytes / 16;
    write_kernel<EACH, P>
        <<<grid<EACH, THREADS, WAVES>(w, n), THREADS, 0, (cudaStream_t)w->stream>>>((uint4 *)w->memory, n);
}

void copy_by_driver(const ridge_gpu_work *w) {
    (void)cudaMemcpyAsync(w->memory + w->bytes / 2, w->memory, w->bytes / 2, cudaMemcpyDeviceToDevice,
                          (cudaStream_t)w->stream);
}

const ridge_gpu_mover dram_movers[] = {
    {RIDGE_GPU_READ, "blocks of 256, 4 x 16 B a thread", read_dram<4, 256, 0, PLAIN>},
    {RIDGE_GPU_READ, "blocks of 256, 8 x 16 B a thread", read_dram<8, 256, 0, PLAIN>},
    {RIDGE_GPU_READ, "blocks of 512, 8 x 16 B a thread, .nc no_allocate", read_dram<8, 512, 0, ONCE>},
    {RIDGE_GPU_READ, "strided, blocks of 512, 4 x 16 B, .nc no_allocate", read_dram<4, 512, 1, ONCE>},
    {RIDGE_GPU_READ, "strided, blocks of 512, 8 x 16 B, .nc no_allocate", read_dram<8, 512, 1, ONCE>},
    {RIDGE_GPU_READ, "strided, blocks of 1024, 8 x 16 B", read_dram<8, 1024, 1, PLAIN>},
    {RIDGE_GPU_COPY, "blocks of 256, 4 x 16 B a thread", copy_dram<4, 256, 0, PLAIN>},
    {RIDGE_GPU_COPY, "blocks of 512, 8 x 16 B a thread", copy_dram<8, 512, 0, PLAIN>},
    {RIDGE_GPU_COPY, "blocks of 1024, 2 x 16 B a thread", copy_dram<2, 1024, 0, PLAIN>},
    {RIDGE_GPU_COPY, "blocks of 1024, 4 x 16 B a thread", copy_dram<4, 1024, 0, PLAIN>},
    {RIDGE_GPU_COPY, "strided, blocks of 1024, 4 x 16 B", copy_dram<4, 1024, 1, PLAIN>},
    {RIDGE_GPU_COPY, "cudaMemcpyAsync", copy_by_driver},
    {RIDGE_GPU_STREAM, "ld.nc st.cs, blocks of 256, 4 x 16 B a thread", copy_dram<4, 256, 0, ONCE>},
    {RIDGE_GPU_STREAM, "ld.nc st.cs, blocks of 512, 4 x 16 B a thread", copy_dram<4, 512, 0, ONCE>},
    {RIDGE_GPU_STREAM, "ld.nc st.cs, blocks of 512, 8 x 16 B a thread", copy_dram<8, 512, 0, ONCE>},
    {RIDGE_GPU_STREAM, "ld.nc st.cs, blocks of 1024, 2 x 16 B a thread", copy_dram<2, 1024, 0, ONCE>},
    {RIDGE_GPU_STREAM, "ld.nc st.cs, blocks of 1024, 4 x 16 B a thread", copy_dram<4, 1024, 0, ONCE>},
    {RIDGE_GPU_STREAM, "ld.nc st.cs, strided, blocks of 1024, 4 x 16 B", copy_dram<4, 1024, 1, ONCE>},
    {RIDGE_GPU_WRITE, "blocks of 256, 4 x 16 B a thread", write_dram<4, 256, 0, PLAIN>},
    {RIDGE_GPU_WRITE, "st.cs, blocks of 256, 4 x 16 B a thread", write_dram<4, 256, 0, ONCE>},
    {RIDGE_GPU_WRITE, "st.cs, blocks of 1024, 4 x 16 B a thread", write_dram<4, 1024, 0, ONCE>},
    {RIDGE_GPU_WRITE, "strided, blocks of 1024, 4 x 16 B", write_dram<4, 1024, 1, PLAIN>},
};

/* ---- L2: the whole grid walks around a set that fits in L2, `passes` accesses a thread, bypassing L1 --------------
 */

struct walk {
    uint32_t at, n, step;
    __device__ walk(uint32_t vectors)
        : at((blockIdx.x * blockDim.x + threadIdx.x) % vectors), n(vectors), step(gridDim.x * blockDim.x % vectors) {}
    __device__ uint32_t next() {
        uint32_t here = at;
        at += step; /* both below n, which is below 2^31 */
        if (at >= n) at -= n;
        return here;
    }
};

__global__ void __launch_bounds__(RIDGE_GPU_THREADS)
    l2_read_kernel(const uint4 *from, uint32_t n, int64_t passes, uint32_t *sums) {
    walk w(n);
    uint32_t sum = 0;
    for (int64_t p = 0; p < passes; p += RIDGE_GPU_DEPTH) {
        uint4 v[RIDGE_GPU_DEPTH];
#pragma unroll
        for (int i = 0; i < RIDGE_GPU_DEPTH; i++) v[i] = load<L2_ONLY>(from + w.next());
#pragma unroll
        for (int i = 0; i < RIDGE_GPU_DEPTH; i++) sum += total(v[i]);
    }
    add_up(sum, sums);
}

__global__ void __launch_bounds__(RIDGE_GPU_THREADS)
    l2_copy_kernel(uint4 *to, const uint4 *from, uint32_t n, int64_t passes) {
    walk w(n);
    for (int64_t p = 0; p < passes; p += RIDGE_GPU_DEPTH / 2) {
        uint4 v[RIDGE_GPU_DEPTH / 2];
        uint32_t at[RIDGE_GPU_DEPTH / 2];
#pragma unroll
        for (int i = 0; i < RIDGE_GPU_DEPTH / 2; i++) {
            at[i] = w.next();
            v[i] = load<L2_ONLY>(from + at[i]);
        }
#pragma unroll
        for (int i = 0; i < RIDGE_GPU_DEPTH / 2; i++) store<PLAIN>(to + at[i], v[i]);
    }
}

__global__ void __launch_bounds__(RIDGE_GPU_THREADS) l2_write_kernel(uint4 *to, uint32_t n, int64_t passes) {
    walk w(n);
    for (int64_t p = 0; p < passes; p++) {
        uint32_t at = w.next();
        store<PLAIN>(to + at, pattern(at));
    }
}

void l2_read(const ridge_gpu_work *w) {
    l2_read_kernel<<<RIDGE_GPU_BLOCKS * w->sm_count, RIDGE_GPU_THREADS, 0, (cudaStream_t)w->stream>>>(
        (const uint4 *)w->memory, (uint32_t)(w->bytes / 16), w->passes, w->sums);
}
void l2_copy(const ridge_gpu_work *w) {
    uint32_t n = (uint32_t)(w->bytes / 32);
    const uint4 *from = (const uint4 *)w->memory;
    l2_copy_kernel<<<RIDGE_GPU_BLOCKS * w->sm_count, RIDGE_GPU_THREADS, 0, (cudaStream_t)w->stream>>>(
        (uint4 *)w->memory + n, from, n, w->passes);
}
void l2_write(const ridge_gpu_work *w) {
    l2_write_kernel<<<RIDGE_GPU_BLOCKS * w->sm_count, RIDGE_GPU_THREADS, 0, (cudaStream_t)w->stream>>>(
        (uint4 *)w->memory, (uint32_t)(w->bytes / 16), w->passes);
}

const ridge_gpu_mover l2_movers[] = {
    {RIDGE_GPU_READ, "all SMs around one set, ld.cg, 8 x 16 B in flight", l2_read},
    {RIDGE_GPU_COPY, "all SMs around one set, ld.cg and st, 4 x 16 B in flight", l2_copy},
    {RIDGE_GPU_WRITE, "all SMs around one set, st", l2_write},
};

/* ---- shared memory: rows of 16 bytes a thread; a quarter warp covers all banks once -------------------------------
 */

__device__ inline uint4 load_shared(uint32_t address) {
    uint4 v;
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(address)
                 : "memory");
    return v;
}
__device__ inline void store_shared(uint32_t address, uint4 v) {
    asm volatile("st.volatile.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ inline bool same(uint4 a, uint4 b) { return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w; }

/* Each thread works in its own 16 bytes of each row, so no barrier is needed. Adds the sum of the words it read, or the
 * number of vectors that are correct at the end. */
template <ridge_gpu_motion M>
__global__ void __launch_bounds__(RIDGE_GPU_THREADS) shared_kernel(int64_t passes, uint32_t *sums) {
    extern __shared__ uint4 rows[];
    constexpr int ROWS = RIDGE_GPU_SHARED_ROWS, THREADS = RIDGE_GPU_THREADS;
    uint32_t first = (uint32_t)__cvta_generic_to_shared(rows + threadIdx.x);
    const uint32_t row = THREADS * 16;
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (int r = 0; r < ROWS; r++) store_shared(first + r * row, pattern(r * THREADS + threadIdx.x));
    for (int64_t p = 0; p < passes; p++) {
        if constexpr (M == RIDGE_GPU_WRITE) {
            uint4 v = make_uint4((uint32_t)p, (uint32_t)p + 1, threadIdx.x, 7);
#pragma unroll
            for (int r = 0; r < ROWS; r++) store_shared(first + r * row, v);
        } else {
            uint4 v[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; r++) v[r] = load_shared(first + r * row);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                if constexpr (M == RIDGE_GPU_COPY)
                    store_shared(first + (r + 1) % ROWS * row, v[r]);
                else
                    sum.x += v[r].x, sum.y += v[r].y, sum.z += v[r].z, sum.w += v[r].w;
        }
    }
    uint32_t found = 0;
    if constexpr (M == RIDGE_GPU_READ)
        found = total(sum);
    else
        for (int r = 0; r < ROWS; r++) {
            uint32_t last = (uint32_t)(passes - 1), source = (uint32_t)((r + ROWS - passes % ROWS) % ROWS);
            uint4 want = M == RIDGE_GPU_COPY ? pattern(source * THREADS + threadIdx.x)
                                             : make_uint4(last, last + 1, threadIdx.x, 7);
            found += same(load_shared(first + r * row), want);
        }
    add_up(found, sums);
}

template <ridge_gpu_motion M>
void shared(const ridge_gpu_work *w) {
    const int bytes = RIDGE_GPU_SHARED_ROWS * RIDGE_GPU_THREADS * 16;
    (void)cudaFuncSetAttribute(shared_kernel<M>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    shared_kernel<M><<<w->sm_count, RIDGE_GPU_THREADS, bytes, (cudaStream_t)w->stream>>>(w->passes, w->sums);
}

const ridge_gpu_mover shared_movers[] = {
    {RIDGE_GPU_READ, "ld.shared.v4 without bank conflicts, 32 warps an SM", shared<RIDGE_GPU_READ>},
    {RIDGE_GPU_COPY, "ld.shared.v4 and st.shared.v4 without bank conflicts", shared<RIDGE_GPU_COPY>},
    {RIDGE_GPU_WRITE, "st.shared.v4 without bank conflicts", shared<RIDGE_GPU_WRITE>},
};

__global__ void mismatch_kernel(const uint4 *memory, size_t n, uint32_t *sums) {
    uint32_t wrong = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        uint4 want = pattern((uint32_t)i), got = memory[i];
        wrong += (got.x != want.x) + (got.y != want.y) + (got.z != want.z) + (got.w != want.w);
    }
    add_up(wrong, sums);
}

}  // namespace

extern "C" const ridge_gpu_mover *ridge_gpu_dram_movers(int *count) {
    *count = (int)(sizeof dram_movers / sizeof dram_movers[0]);
    return dram_movers;
}
extern "C" const ridge_gpu_mover *ridge_gpu_l2_movers(int *count) {
    *count = (int)(sizeof l2_movers / sizeof l2_movers[0]);
    return l2_movers;
}
extern "C" const ridge_gpu_mover *ridge_gpu_shared_movers(int *count) {
    *count = (int)(sizeof shared_movers / sizeof shared_movers[0]);
    return shared_movers;
}

extern "C" void ridge_gpu_meter_fill(void *memory, size_t bytes, void *stream) {
    write_kernel<1, PLAIN><<<1024, 1024, 0, (cudaStream_t)stream>>>((uint4 *)memory, bytes / 16);
}

extern "C" void ridge_gpu_meter_mismatches(const void *memory, size_t bytes, uint32_t *sums, void *stream) {
    mismatch_kernel<<<1024, 1024, 0, (cudaStream_t)stream>>>((const uint4 *)memory, bytes / 16, sums);
}

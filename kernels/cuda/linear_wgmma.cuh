/* p = softmax(x w + b) as linear_narrow.cuh has it, with Hopper's own products, which read w from shared memory: a
 * cluster has a tile of 64 rows and all classes, a block of it a part of the depth, in chunks of 32.
 *
 *   warps 0-3, 4-7   multiply chunks 0, 2, ... and 1, 3, ...: a lane splits its elements of x into hi + lo in registers
 *   warps 8-11       split w into hi + lo, and turn it: tf32 operands must have the depth innermost
 *
 * Of a chunk, twelve products go to one sum on the tensor cores, the small ones first, and this is added to the warp's
 * sum by the ordinary adders: tensor cores truncate as they add, and 1/8 of 1024 in one chain would be biased by 6e-7.
 */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_WGMMA_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_WGMMA_CUH

#include "cuda/linear_narrow.cuh"

namespace ridge {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define RIDGE_HAS_WGMMA 1
#endif

#ifdef RIDGE_HAS_WGMMA
/* d (64 rows x 8 Tiles classes, this lane's as in mma) = a b, or += where keep is not 0. */
template <int Tiles>
struct linear_wgmma;
template <>
struct linear_wgmma<7> {
    static __device__ void add(float (&d)[28], const unsigned (&a)[4], uint64_t b, int keep) {
        asm volatile(
            "{\n\t.reg .pred keep;\n\tsetp.ne.b32 keep, %33, 0;\n\t"
            "wgmma.mma_async.sync.aligned.m64n56k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
            "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27}, {%28, %29, %30, %31}, "
            "%32, keep, 1, 1;\n\t}"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
              "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
              "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
              "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
    }
};
template <>
struct linear_wgmma<13> {
    static __device__ void add(float (&d)[52], const unsigned (&a)[4], uint64_t b, int keep) {
        asm volatile(
            "{\n\t.reg .pred keep;\n\tsetp.ne.b32 keep, %57, 0;\n\t"
            "wgmma.mma_async.sync.aligned.m64n104k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
            "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, "
            "%33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51}, {%52, "
            "%53, %54, %55}, %56, keep, 1, 1;\n\t}"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
              "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
              "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
              "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
              "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
              "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
              "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
    }
};
template <>
struct linear_wgmma<16> {
    static __device__ void add(float (&d)[64], const unsigned (&a)[4], uint64_t b, int keep) {
        asm volatile(
            "{\n\t.reg .pred keep;\n\tsetp.ne.b32 keep, %69, 0;\n\t"
            "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
            "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, "
            "%33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, "
            "%54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, keep, 1, 1;\n\t}"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
              "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
              "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
              "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
              "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
              "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
              "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
              "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(keep));
    }
};

__device__ inline void linear_wgmma_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void linear_wgmma_end(void) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
__device__ inline void linear_barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(row_shared(barrier)) : "memory");
}
/* Of some of the block's warps. */
__device__ inline void linear_meet(int which, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(which), "r"(threads) : "memory");
}
#endif

template <int Tiles, bool Turned>
struct linear_wide {
    static constexpr int NT = Tiles, columns = 8 * NT;
    static constexpr bool turned = Turned;
    static constexpr int BM = 64, KC = 32, threads = 384, group = 128;
    static constexpr int x_pitch = KC + 8, w_pitch = KC + 4; /* of w where it is turned */
    static constexpr int split_floats = KC * columns;        /* of one of hi and lo */
    static constexpr int most_stages = 8, splits = 4;        /* of hi and lo of w: so far the splitting may be ahead */
    static_assert(2 * most_stages + 2 * splits < 32, "a lane for each barrier");
};
enum { LINEAR_SHARED = 227 * 1024 }; /* bytes that a block may have */

/* What depends on the case: S blocks a cluster, and stages that there is room for. */
struct linear_plan {
    int split, stages, x_floats, w_floats; /* floats of a stage */
    int part_floats;                       /* of what one block sends to one other */
    int bytes;
};
template <typename L>
linear_plan linear_plan_of(int64_t depth, int64_t classes, int split) {
    linear_plan p = {};
    p.split = split;
    p.x_floats = L::BM * L::x_pitch;
    p.w_floats = (int)(L::turned ? classes * L::w_pitch : classes * L::KC);
    p.part_floats = (L::BM + split - 1) / split * L::columns;
    const int64_t chunks = ((depth + 15) / 16 + split - 1) / split * 16;
    const int rest =
        4 * (2 * L::splits * L::split_floats + split * p.part_floats) + 8 * (2 * L::most_stages + 2 * L::splits + 2);
    p.stages = (int)((chunks + L::KC - 1) / L::KC);
    const int fit = (LINEAR_SHARED - rest) / (4 * (p.x_floats + p.w_floats));
    if (p.stages > fit) p.stages = fit;
    if (p.stages > L::most_stages) p.stages = L::most_stages;
    if ((int64_t)p.stages * L::KC < chunks) p.stages -= p.stages % 2; /* a stage serves one of the two groups */
    p.bytes = rest + 4 * p.stages * (p.x_floats + p.w_floats);
    return p;
}

template <typename L>
__global__ void __launch_bounds__(L::threads, 1) linear_kernel_wgmma(linear_args a, linear_plan plan) {
#ifdef RIDGE_HAS_WGMMA
    extern __shared__ __align__(16) float linear_memory[];
    float *split = linear_memory; /* of hi and lo, several */
    float *parts = split + 2 * L::splits * L::split_floats, *x_stages = parts + plan.split * plan.part_floats;
    float *w_stages = x_stages + plan.stages * plan.x_floats;
    uint64_t *x_here = (uint64_t *)(w_stages + plan.stages * plan.w_floats), *w_here = x_here + L::most_stages;
    uint64_t *ready = w_here + L::most_stages, *taken = ready + L::splits, *arrived = taken + L::splits;
    int &odd = *(int *)(arrived + 1);

    /* In 32 bits: a division of 64 by what is not a constant costs hundreds of cycles. */
    const unsigned blocks = (unsigned)plan.split, units = (unsigned)(a.depth / 16);
    const int rank = (int)(blockIdx.x % blocks), classes = (int)a.classes;
    const int64_t row = (int64_t)(blockIdx.x / blocks) * L::BM;
    const int64_t k0 = (int64_t)((unsigned)rank * units / blocks) * 16;
    const int64_t k_end = (int64_t)(((unsigned)rank + 1) * units / blocks) * 16;
    const int chunks = ((int)(k_end - k0) + L::KC - 1) / L::KC;
    const int rows = a.batch - row < L::BM ? (int)(a.batch - row) : L::BM;
    const int own = rank * L::BM / plan.split, owned = (rank + 1) * L::BM / plan.split - own;
    const int warp = __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0), role = warp / 4,
              lane = (int)threadIdx.x % L::group;
    const int g = lane % 32 / 4, t = lane % 4;
    a.w += blockIdx.y * a.w_head, a.b += blockIdx.y * a.b_head, a.p += blockIdx.y * a.p_head;

    if (warp == 0) { /* a lane for each, and one fence: each costs some hundred cycles */
        const int which = lane, last = 2 * L::most_stages + 2 * L::splits;
        if (which < last)
            linear_barrier_init(&x_here[which],
                                which >= L::most_stages && which < 2 * L::most_stages && !L::turned ? 1 : L::group);
        if (which == last) row_barrier_init(arrived);
        __syncwarp();
        if (which == 0) {
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            row_barrier_expect(arrived, plan.split * owned * L::columns * 4);
            odd = 0;
        }
    }
    __syncthreads();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    linear_after_previous();

    const auto steps_of = [&](int c) { return k_end - k0 - c * L::KC < L::KC ? (int)(k_end - k0 - c * L::KC) : L::KC; };
    const auto load_x = [&](int c, int s) { /* by the group that multiplies it */
                                            const float *from = a.x + row * a.x_row + k0 + c * L::KC;
                                            const int r0 = lane / 8, column = lane % 8 * 4;
                                            if (column < steps_of(c))
#pragma unroll
                                                for (int k = 0; k < 4; k++) {
                                                    const int r = r0 + 16 * k;
                                                    asm volatile(
                                                        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(row_shared(
                                                            x_stages + s * plan.x_floats + r * L::x_pitch + column)),
                                                        "l"(from + (r < rows ? r : rows - 1) * a.x_row + column)
                                                        : "memory");
                                                }
                                            linear_arrive_copied(&x_here[s]);
    };
    const auto load_w = [&](int c, int s) {
        float *to = w_stages + s * plan.w_floats;
        const float *from = a.w + (k0 + c * L::KC) * a.w_depth;
        if constexpr (L::turned) {
            const int column = lane % 8 * 4;
            if (column < steps_of(c))
#pragma unroll 2
                for (int r = lane / 8; r < classes; r += L::group / 8)
                    asm volatile(
                        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(row_shared(to + r * L::w_pitch + column)),
                        "l"(from + r * a.w_class + column)
                        : "memory");
            linear_arrive_copied(&w_here[s]);
        } else if (lane == 0) {
            const int bytes = 4 * steps_of(c) * classes;
            row_barrier_expect(&w_here[s], bytes);
            linear_bulk(to, from, bytes, &w_here[s]);
        }
    };

    float high[4 * L::NT] = {};
    if (role == 2) { /* w */
#pragma unroll 1
        for (int s = 0; s < plan.stages && s < chunks; s++) load_w(s, s);
#pragma unroll 1
        for (int c = 0, s = 0, phase = 0; c < chunks; c++) {
            const float *w = w_stages + s * plan.w_floats;
            float *hi = split + c % L::splits * (2 * L::split_floats), *lo = hi + L::split_floats;
            row_barrier_wait(&w_here[s], phase);
            if (c >= L::splits) row_barrier_wait(&taken[c % L::splits], (c / L::splits - 1) & 1);
            const int slices = steps_of(c) / 8;
            constexpr int rounds = (4 * L::columns + L::group - 1) / L::group, batch = L::NT > 13 ? 2 : rounds;
#pragma unroll 1
            for (int begin = 0; begin < rounds; begin += batch) {
                float v[batch][8];
#pragma unroll
                for (int i = 0; i < batch; i++) {
                    const int e = lane + (begin + i) * L::group, slice = e / L::columns, n = e % L::columns;
                    const bool present = n < classes && slice < slices;
                    const float *from =
                        w + (present ? L::turned ? n * L::w_pitch + 8 * slice : 8 * slice * classes + n : 0);
#pragma unroll
                    for (int k = 0; k < 8; k++) v[i][k] = present ? from[L::turned ? k : k * classes] : 0.0f;
                }
#pragma unroll
                for (int i = 0; i < batch; i++) {
                    const int e = lane + (begin + i) * L::group, slice = e / L::columns, n = e % L::columns;
                    if (e >= 4 * L::columns) break;
#pragma unroll
                    for (int h = 0; h < 2; h++) { /* even places, then odd ones: lanes read x by pairs */
                        const linear_split p[4] = {linear_split_of(v[i][h]), linear_split_of(v[i][2 + h]),
                                                   linear_split_of(v[i][4 + h]), linear_split_of(v[i][6 + h])};
                        const int at = (2 * slice + h) * L::columns + n;
                        ((uint4 *)hi)[at] = make_uint4(p[0].hi, p[1].hi, p[2].hi, p[3].hi);
                        ((uint4 *)lo)[at] = make_uint4(p[0].lo, p[1].lo, p[2].lo, p[3].lo);
                    }
                }
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            linear_barrier_arrive(&ready[c % L::splits]);
            if (c + plan.stages < chunks) {
                linear_meet(1, L::group);
                load_w(c + plan.stages, s);
            }
            if (++s == plan.stages) s = 0, phase ^= 1;
        }
    } else { /* products */
#pragma unroll 1
        for (int c = role; c < plan.stages && c < chunks; c += 2) load_x(c, c);
#pragma unroll 1
        for (int c = role, s = role, phase = 0; c < chunks; c += 2) {
            const float *x = x_stages + s * plan.x_floats + (warp % 4 * 16 + g) * L::x_pitch + 2 * t;
            const unsigned hi_at = row_shared(split + c % L::splits * (2 * L::split_floats));
            const int slices = steps_of(c) / 8;
            row_barrier_wait(&x_here[s], phase);
            unsigned hi[4][4], lo[4][4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const float2 upper = *(const float2 *)(x + 8 * k),
                             lower = *(const float2 *)(x + 8 * L::x_pitch + 8 * k);
                const float v[4] = {upper.x, lower.x, upper.y, lower.y};
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const linear_split both = linear_split_of(k < slices ? v[e] : 0.0f);
                    hi[k][e] = both.hi, lo[k][e] = both.lo;
                }
            }
            const auto place = [&](int low, int k) {
                const unsigned at = hi_at + low * (4 * L::split_floats) + k * (2 * L::columns * 16);
                /* in a cluster, the upper bits of an address say which block */
                return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)(L::columns * 16 >> 4) << 16 |
                       (uint64_t)(128 >> 4) << 32;
            };
            float d[4 * L::NT];
            row_barrier_wait(&ready[c % L::splits], c / L::splits & 1);
            linear_wgmma_begin();
#pragma unroll
            for (int k = 0; k < 4; k++) {
                linear_wgmma<L::NT>::add(d, lo[k], place(0, k), k > 0);
                linear_wgmma<L::NT>::add(d, hi[k], place(1, k), 1);
            }
#pragma unroll
            for (int k = 0; k < 4; k++) linear_wgmma<L::NT>::add(d, hi[k], place(0, k), 1);
            linear_wgmma_end();
            linear_barrier_arrive(&taken[c % L::splits]);
#pragma unroll
            for (int e = 0; e < 4 * L::NT; e++) high[e] += d[e];
            if (c + plan.stages < chunks) {
                linear_meet(2 + role, L::group);
                load_x(c + plan.stages, s);
            }
            s += 2;
            if (s >= plan.stages) s = role, phase ^= 1;
        }
    }
    const linear_softmax_rows<L> softmax(a);

    float *sums = split; /* what is sent, in place of what was multiplied */
    const int m = warp % 4 * 16 + g;
    float zero = 0.0f;
    __syncthreads();
    if (role == 1)
#pragma unroll
        for (int n = 0; n < L::NT; n++) {
            *(float2 *)(sums + m * L::columns + 8 * n + 2 * t) = make_float2(high[4 * n], high[4 * n + 1]);
            *(float2 *)(sums + (m + 8) * L::columns + 8 * n + 2 * t) = make_float2(high[4 * n + 2], high[4 * n + 3]);
        }
    __syncthreads();
    if (role == 0)
#pragma unroll
        for (int n = 0; n < L::NT; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float2 *at = (float2 *)(sums + (m + 8 * h) * L::columns + 8 * n + 2 * t);
                const float2 v = make_float2(at->x + high[4 * n + 2 * h], at->y + high[4 * n + 2 * h + 1]);
                zero = fmaf(v.x, 0.0f, fmaf(v.y, 0.0f, zero));
                *at = v;
            }
    if (zero != 0.0f) odd = 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (odd) {
        for (int e = (int)threadIdx.x; e < rows * classes; e += L::threads) {
            const float *x = a.x + (row + e / classes) * a.x_row, *w = a.w + e % classes * a.w_class;
            float sum = 0.0f;
            for (int64_t k = k0; k < k_end; k++) sum = fmaf(x[k], w[k * a.w_depth], sum);
            sums[e / classes * L::columns + e % classes] = sum;
        }
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
    }
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); /* all have started */
    if ((int)threadIdx.x < plan.split) {
        const int to = (int)threadIdx.x, first = to * L::BM / plan.split, n = (to + 1) * L::BM / plan.split - first;
        linear_copy(sums + first * L::columns, parts + rank * plan.part_floats, arrived, to, n * L::columns * 4);
    }
    row_barrier_wait(arrived, 0);
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); /* what I was sent has been read */
    softmax.template write<0, 0>(a, parts, row + own, owned, plan.split, plan.part_floats);
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

template <typename L>
cudaError_t linear_allow_wgmma(void) {
    static const cudaError_t allowed = cudaFuncSetAttribute((const void *)linear_kernel_wgmma<L>,
                                                            cudaFuncAttributeMaxDynamicSharedMemorySize, LINEAR_SHARED);
    return allowed;
}

/* How many clusters of 1 … 8 blocks a device has room for at once: one that does not fit waits for all of another. */
struct linear_room {
    int clusters[9];
};
template <typename L>
linear_room linear_room_of(void) {
    linear_room room = {};
    for (int split = 2; split <= 8 && linear_allow_wgmma<L>() == cudaSuccess; split++) {
        cudaLaunchAttribute attribute = {};
        cudaLaunchConfig_t config = {};
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = (unsigned)split;
        attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
        config.gridDim = dim3((unsigned)split);
        config.blockDim = dim3(L::threads);
        config.dynamicSmemBytes = LINEAR_SHARED;
        config.attrs = &attribute;
        config.numAttrs = 1;
        if (cudaOccupancyMaxActiveClusters(&room.clusters[split], linear_kernel_wgmma<L>, &config) != cudaSuccess)
            room.clusters[split] = 0;
    }
    (void)cudaGetLastError(); /* a refusal is an answer */
    return room;
}
/* The largest cluster of which so many fit at once. */
template <typename L>
int linear_split_for(int64_t clusters) {
    static const linear_room room = linear_room_of<L>();
    for (int split = 8; split > 1; split--)
        if (room.clusters[split] >= clusters) return split;
    return 1;
}

template <typename L>
ridge_status linear_launch_wgmma(const linear_args &a, int heads, int split, cudaStream_t stream, bool overlap) {
    if (linear_allow_wgmma<L>() != cudaSuccess) return RIDGE_FAILED;
    const int64_t tiles = (a.batch + L::BM - 1) / L::BM;
    if (tiles == 0) return RIDGE_OK;
    if (tiles * 8 > INT32_MAX) return RIDGE_UNSUPPORTED;
    const linear_plan plan = linear_plan_of<L>(a.depth, a.classes, split);
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(tiles * split), (unsigned)heads);
    config.blockDim = dim3(L::threads);
    config.dynamicSmemBytes = (size_t)plan.bytes;
    config.stream = stream;
    config.attrs = attributes;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = (unsigned)split;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    config.numAttrs = overlap ? 2 : 1;
    (void)cudaLaunchKernelEx(&config, linear_kernel_wgmma<L>, a, plan);
    return launched();
}

}  // namespace ridge

#endif

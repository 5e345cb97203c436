/* p = softmax(x w + b) for up to 128 classes on Hopper, fp32 in three products of hi and lo parts, where a cluster of
 * eight can have all of the depth at once: 72 rows and all classes in a cluster, an eighth of the depth, at most 128,
 * in a block. An H200 runs 15 clusters of eight at a time: 1080 rows.
 *
 *   copies     both operands come to shared memory by TMA as they are, all requested at the start, in chunks of
 *              32 steps of the depth
 *   x          a warpgroup splits a chunk's rows; hi and lo parts lie side by side as one operand of 144 columns
 *   w          two warpgroups have 64 classes each: a thread loads its classes from the chunk and splits them in
 *              registers, from where wgmma takes them
 *   products   transposed, classes x rows: 64 classes are the rows of wgmma's tile, 72 rows its columns, so that no
 *              tile is larger than what 15 clusters need. w hi times (x hi | x lo), then w lo times x hi
 *   sums       a block sends the sums of other blocks' rows by cp.async.bulk (15 bytes a cycle), adds all parts of
 *              its nine rows in one order, and takes their softmax
 *
 * The parts have no scale of their own (split_fp16_unscaled): in a sum of 128 products 2^-26 is lost, less than
 * softmax's own rounding. For |v| >= 2^10 lo overflows and a sum is not finite, as with infinities: then the block
 * computes its sums again from shared memory by fp32 multiply-adds. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_STREAM_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_STREAM_CUH

#include "cuda/host/tensor_map.cuh"
#include "cuda/ptx/tensor.cuh"
#include "cuda/skinny/wgmma.cuh"
#include "cuda/tile/swizzle.cuh"

namespace ridge {

/* Even: a number of classes that two at a time divide. */
template <bool Trans, bool Even>
struct linear_stream {
    static constexpr bool trans = Trans, even = Even;
    static constexpr int NT = 16, classes = 8 * NT, rows = 72, split = 8, owned = rows / split;
    static constexpr int in_registers = even ? 2 : 1; /* chunks of w: single loads leave less room */
    static constexpr int chunk = 32, chunks = 4, depth = split * chunks * chunk;
    static constexpr int multipliers = 2 * 128, splitters = 128, threads = multipliers + splitters;
    static constexpr int warps = splitters / 32;
    static constexpr int box_bytes = rows * 128;            /* a chunk of x as it comes */
    static constexpr int stage_parts_bytes = 2 * box_bytes; /* two chunks of x in hi and lo parts: hi, then lo */
    static constexpr int x_bytes = chunks * box_bytes, x_parts_bytes = chunks / 2 * stage_parts_bytes;
    static_assert(rows % split == 0 && rows % 8 == 0 && box_bytes % 1024 == 0, "whole tiles, swizzled by 1024 bytes");
};

/* What depends on the case. Shared memory: x, its hi and lo parts, w, the block's sums, what other blocks send,
 * barriers. */
struct linear_stream_plan {
    linear_shares depth; /* in chunks */
    int w_bytes;         /* of a chunk */
    int pitch;           /* of a row's sums: an odd multiple of four floats, for the banks */
    int bytes;
};
template <typename L>
linear_stream_plan linear_stream_plan_of(int64_t classes, int64_t depth) {
    linear_stream_plan p = {};
    p.depth = linear_shares_of((depth + L::chunk - 1) / L::chunk, L::split);
    p.w_bytes = (int)(L::trans ? (classes + 7) / 8 * 8 : classes) * L::chunk * 4;
    p.pitch = (int)(classes + 3) / 8 * 8 + 4;
    p.bytes = L::x_bytes + L::x_parts_bytes + L::chunks * p.w_bytes + (L::rows + L::split * L::owned) * p.pitch * 4 +
              8 * (2 * L::chunks + 1);
    return p;
}

#ifdef RIDGE_HAS_WGMMA
/* Where a block is, and what of the depth it has. */
template <typename L>
struct linear_stream_place {
    int rank, row, k0, chunks;
    __device__ explicit linear_stream_place(const linear_stream_plan &plan) {
        rank = cluster_ctarank(), row = (int)blockIdx.x / L::split * L::rows;
        k0 = plan.depth.begin(rank) * L::chunk, chunks = plan.depth.begin(rank + 1) - plan.depth.begin(rank);
    }
};

/* The block's parts of its operands in shared memory. */
template <typename L>
struct linear_stream_memory {
    unsigned char *x, *x_parts, *w;
    float *sums, *parts;
    uint64_t *full, *ready;
    cluster_sums exchange;

    __device__ linear_stream_memory(unsigned char *memory, const linear_stream_plan &plan) : exchange(NULL) {
        x = memory, x_parts = x + L::x_bytes, w = x_parts + L::x_parts_bytes;
        sums = (float *)(w + L::chunks * plan.w_bytes), parts = sums + L::rows * plan.pitch;
        full = (uint64_t *)(parts + L::split * L::owned * plan.pitch);
        ready = full + L::chunks, exchange = cluster_sums(ready + L::chunks);
    }
    /* Four steps of the depth of a row of x, of a class of w. */
    __device__ float4 x_at(int row, int k) const {
        return *(const float4 *)(x + k / 32 * L::box_bytes + swizzle_128B_word(row, k % 32));
    }
    __device__ float4 w_at(const linear_stream_plan &plan, int class_, int k, int classes) const {
        const unsigned char *chunk = w + k / 32 * plan.w_bytes;
        if constexpr (L::trans) return *(const float4 *)(chunk + swizzle_128B_word(class_, k % 32));
        const float *from = (const float *)chunk + k % 32 * classes + class_;
        return make_float4(from[0], from[classes], from[2 * classes], from[3 * classes]);
    }
};

/* All of both operands, by one thread. What of x lies beyond its end reads as zero, and so does w if it is transposed.
 */
template <typename L>
__device__ inline void linear_stream_fetch(const linear_args &a, const linear_stream_plan &plan,
                                           const linear_stream_place<L> &at, const linear_stream_memory<L> &memory,
                                           const CUtensorMap *x, const CUtensorMap *w) {
    const uint64_t policy = createpolicy_evict_normal();
    for (int c = 0; c < at.chunks; c++) {
        const int k = at.k0 + c * L::chunk;
        const int w_bytes = L::trans ? plan.w_bytes : min((int)a.depth - k, L::chunk) * (int)a.classes * 4;
        const unsigned full = shared_address(memory.full + c);
        mbarrier_arrive_expect_tx(shared_address(memory.full + c), L::box_bytes + w_bytes);
        cp_async_bulk_tensor_2d(shared_address(memory.x + c * L::box_bytes), x, full, k, at.row, policy);
        if constexpr (L::trans)
            cp_async_bulk_tensor_2d(shared_address(memory.w + c * plan.w_bytes), w, full, k, 0, policy);
        else
            cp_async_bulk(shared_address(memory.w + c * plan.w_bytes), a.w + (int64_t)k * a.w_depth, w_bytes, full);
    }
}

/* Zeros for what no copy brings, by the splitters. */
template <typename L>
__device__ inline void linear_stream_clear(const linear_args &a, const linear_stream_plan &plan,
                                           const linear_stream_place<L> &at, const linear_stream_memory<L> &memory) {
    const auto clear = [](unsigned char *from, const unsigned char *end) {
        for (from += ((int)threadIdx.x - L::multipliers) * 16; from < end; from += L::splitters * 16)
            *(float4 *)from = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    };
    const int present = min((int)a.depth - at.k0, at.chunks * L::chunk);
    clear(memory.x + at.chunks * L::box_bytes, memory.x + L::x_bytes);
    clear(memory.w + (L::trans ? at.chunks * plan.w_bytes : max(present, 0) * (int)a.classes * 4),
          memory.w + L::chunks * plan.w_bytes);
}

/* x in hi and lo parts. A warp takes eight rows of a chunk at a time, a lane eight steps of one; which row, is such
 * that neither reading nor writing meets in a bank. */
template <typename L>
__device__ inline void linear_stream_split(const linear_stream_memory<L> &memory, int chunks) {
    constexpr int tiles = L::rows / 8, most = (tiles + L::warps - 1) / L::warps;
    const int warp = ((int)threadIdx.x - L::multipliers) / 32, lane = (int)threadIdx.x % 32;
    const int eight = lane % 4, i = lane / 4, line = i / 2 ^ i % 2 * 5;
#pragma unroll 1
    for (int c = 0; c < L::chunks; c++) {
        if (c < chunks) mbarrier_wait_parity(shared_address(memory.full + c), 0);
        const int first = (warp + c) % L::warps;
        const unsigned char *from = memory.x + c * L::box_bytes + line * 128 + first * 1024;
        unsigned char *to = memory.x_parts + c / 2 * L::stage_parts_bytes + line * 128 + first * 1024 +
                            ((c % 2 * 4 + eight) ^ line) * 16;
        float4 v[most][2];
#pragma unroll
        for (int j = 0; j < most; j++)
#pragma unroll
            for (int h = 0; h < 2; h++)
                if (first + j * L::warps < tiles)
                    v[j][h] = *(const float4 *)(from + j * L::warps * 1024 + ((2 * eight + h) ^ line) * 16);
#pragma unroll
        for (int j = 0; j < most; j++)
            if (first + j * L::warps < tiles) {
                const fp16_parts p0 = split_fp16_unscaled(v[j][0].x, v[j][0].y),
                                 p1 = split_fp16_unscaled(v[j][0].z, v[j][0].w);
                const fp16_parts p2 = split_fp16_unscaled(v[j][1].x, v[j][1].y),
                                 p3 = split_fp16_unscaled(v[j][1].z, v[j][1].w);
                unsigned char *place = to + j * L::warps * 1024;
                *(uint4 *)place = make_uint4(p0.hi, p1.hi, p2.hi, p3.hi);
                *(uint4 *)(place + L::box_bytes) = make_uint4(p0.lo, p1.lo, p2.lo, p3.lo);
            }
        fence_proxy_async();
        __syncwarp();
        if (lane == 0) mbarrier_arrive(shared_address(memory.ready + c));
    }
}

/* Two of a warp's classes, the first of which is `class_`, in sixteen steps of a chunk, in hi and lo parts. They are
 * called rows g and g + 8 of the tensor core's tile. */
template <typename L>
struct linear_stream_classes {
    unsigned hi[4], lo[4];
    __device__ void load(const unsigned char *w, int classes, int class_, int step, int t) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int k = 16 * step + 8 * half + 2 * t;
            float2 here, next; /* of step k: both classes; of step k + 1 */
            if constexpr (L::trans) {
                const float2 u = *(const float2 *)(w + swizzle_128B_word(min(class_, classes - 1), k));
                const float2 v = *(const float2 *)(w + swizzle_128B_word(min(class_ + 1, classes - 1), k));
                here = make_float2(u.x, v.x), next = make_float2(u.y, v.y);
            } else {
                const float *from = (const float *)w + k * classes;
                if constexpr (L::even) {
                    here = *(const float2 *)(from + min(class_, classes - 2));
                    next = *(const float2 *)(from + min(class_, classes - 2) + classes);
                } else {
                    const int one = min(class_, classes - 1), two = min(class_ + 1, classes - 1);
                    here = make_float2(from[one], from[two]);
                    next = make_float2(from[classes + one], from[classes + two]);
                }
            }
            const fp16_parts one = split_fp16_unscaled(here.x, next.x), two = split_fp16_unscaled(here.y, next.y);
            hi[2 * half] = one.hi, hi[2 * half + 1] = two.hi;
            lo[2 * half] = one.lo, lo[2 * half + 1] = two.lo;
        }
    }
};

/* The first of a thread's two classes. */
__device__ inline int linear_stream_class(void) { return (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4 * 2; }

/* A warpgroup's 64 classes by 72 rows of sums. */
template <typename L>
__device__ inline void linear_stream_multiply(const linear_args &a, const linear_stream_plan &plan,
                                              const linear_stream_memory<L> &memory, int chunks, float (&sum)[36]) {
    const int class_ = linear_stream_class(), t = (int)threadIdx.x % 4;
    float hi_lo[36], lo_hi[36];
    linear_stream_classes<L> w[L::in_registers][2];
#pragma unroll
    for (int c = 0; c < L::chunks; c++) {
        if (c < chunks) mbarrier_wait_parity(shared_address(memory.full + c), 0);
        const unsigned char *from = memory.w + c * plan.w_bytes;
        wgmma_wait_group<L::in_registers - 1>(); /* w is free */
#pragma unroll
        for (int s = 0; s < 2; s++) w[c % L::in_registers][s].load(from, (int)a.classes, class_, s, t);
        mbarrier_wait_parity(shared_address(memory.ready + c), 0);
        const unsigned x_parts = shared_address(memory.x_parts + c / 2 * L::stage_parts_bytes) + c % 2 * 64;
        wgmma_fence();
#pragma unroll
        for (int s = 0; s < 2; s++) {
            const uint64_t x = wgmma_descriptor(x_parts + s * 32, 16);
            wgmma_rs(sum, hi_lo, w[c % L::in_registers][s].hi, x, c + s > 0);
            wgmma_rs(lo_hi, w[c % L::in_registers][s].lo, x, c + s > 0);
        }
        wgmma_commit_group();
    }
    wgmma_finish(sum), wgmma_finish(hi_lo), wgmma_finish(lo_hi);
#pragma unroll
    for (int i = 0; i < 36; i++) sum[i] = fmaf(hi_lo[i] + lo_hi[i], 1.0f / UNSCALED_LO, sum[i]);
}

/* To shared memory, rows of classes. Whether one is not finite. */
template <typename L>
__device__ inline bool linear_stream_store(const float (&sum)[36], int pitch, int classes, float *sums) {
    const int class_ = linear_stream_class(), t = (int)threadIdx.x % 4;
    if (class_ >= classes) return false;
    float zero[2] = {};
#pragma unroll
    for (int j = 0; j < L::rows / 8; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const float2 v = make_float2(sum[4 * j + e], sum[4 * j + 2 + e]);
            *(float2 *)(sums + (8 * j + 2 * t + e) * pitch + class_) = v;
            zero[0] = fmaf(v.x, 0.0f, zero[0]), zero[1] = fmaf(v.y, 0.0f, zero[1]);
        }
    return !(zero[0] + zero[1] == 0.0f);
}

/* The block's sums again, by fp32 multiply-adds: a warp has six rows, a lane every 32nd class. */
template <typename L>
__device__ inline void linear_stream_again(const linear_args &a, const linear_stream_plan &plan,
                                           const linear_stream_memory<L> &memory, int chunks) {
    constexpr int rows = L::rows / (L::threads / 32), all = L::classes / 32;
    const int row = (int)threadIdx.x / 32 * rows, lane = (int)threadIdx.x % 32, classes = (int)a.classes;
    float sum[rows][all] = {};
#pragma unroll 1
    for (int k = 0; k < chunks * L::chunk; k += 4) {
        float4 w[all];
#pragma unroll
        for (int c = 0; c < all; c++) w[c] = memory.w_at(plan, min(lane + 32 * c, classes - 1), k, classes);
#pragma unroll
        for (int r = 0; r < rows; r++) {
            const float4 x = memory.x_at(row + r, k);
#pragma unroll
            for (int c = 0; c < all; c++) sum[r][c] = ffma_chain(sum[r][c], x, w[c]);
        }
    }
#pragma unroll
    for (int r = 0; r < rows; r++)
#pragma unroll
        for (int c = 0; c < all; c++)
            if (lane + 32 * c < classes) memory.sums[(row + r) * plan.pitch + lane + 32 * c] = sum[r][c];
}
#endif

template <typename L, typename Op>
__global__ void __launch_bounds__(L::threads, 1)
    linear_kernel_stream(linear_args a, const __grid_constant__ Op op, linear_stream_plan plan,
                         const __grid_constant__ CUtensorMap x_map, const __grid_constant__ CUtensorMap w_map) {
#ifdef RIDGE_HAS_WGMMA
    extern __shared__ __align__(1024) unsigned char linear_stream_shared[];
    const linear_stream_memory<L> memory(linear_stream_shared, plan);
    const linear_stream_place<L> at(plan);
    const bool multiplies = __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0) < L::multipliers / 32;

    if (threadIdx.x == L::multipliers) {
        for (int c = 0; c < L::chunks; c++) {
            mbarrier_init(shared_address(memory.full + c), 1);
            mbarrier_init(shared_address(memory.ready + c), L::warps);
        }
        memory.exchange.begin((L::split - 1) * L::owned * plan.pitch * 4);
        prefetch_tensormap(&x_map);
        if (L::trans) prefetch_tensormap(&w_map);
        griddepcontrol_wait();
        linear_stream_fetch(a, plan, at, memory, &x_map, &w_map);
    }
    if (!multiplies) linear_stream_clear(a, plan, at, memory);
    __syncthreads();
    barrier_cluster_arrive_relaxed();
    after_previous_launch();

    bool again = false;
    if (multiplies) {
        float sum[36];
        linear_stream_multiply(a, plan, memory, at.chunks, sum);
        again = linear_stream_store<L>(sum, plan.pitch, (int)a.classes, memory.sums);
        fence_proxy_async();
    } else {
        linear_stream_split(memory, at.chunks);
    }
    if (__syncthreads_or(again)) {
        linear_stream_again(a, plan, memory, at.chunks);
        fence_proxy_async();
        __syncthreads();
    }
    memory.exchange.started();
    const int warp = (int)threadIdx.x / 32, to = (at.rank + warp) % L::split, part = L::owned * plan.pitch;
    if (0 < warp && warp < L::split && threadIdx.x % 32 == 0)
        memory.exchange.send(memory.sums + to * part, memory.parts + at.rank * part, to, part * 4);

    const linear_rows<L, Op> rows(a, op, at.row + at.rank * L::owned);
    memory.exchange.received();
    const auto sum_of = [&](int from, int row, int column) {
        return (from == at.rank ? memory.sums : memory.parts) + (from * L::owned + row) * plan.pitch + column;
    };
    rows.template write<L::owned, L::split>(a, sum_of, L::owned, L::split);
    memory.exchange.end();
#else
    __trap(); /* launched on Hopper alone */
#endif
}

template <typename L>
launch_shape linear_stream_shape(const linear_stream_plan &plan, int64_t clusters) {
    return {dim3((unsigned)(clusters * L::split)), L::threads, plan.bytes, L::split};
}

/* Clusters that fit on a device at once. */
template <typename L, typename Op>
int linear_stream_room(void) {
    static per_device<int> room;
    return room.get([] {
        const linear_stream_plan largest = linear_stream_plan_of<L>(L::classes, L::depth);
        int clusters = 0;
        const void *const kernel = (const void *)linear_kernel_stream<L, Op>;
        if (allow_shared(kernel, largest.bytes) == cudaSuccess)
            (void)resident_clusters(&clusters, kernel, linear_stream_shape<L>(largest, 1));
        (void)cudaGetLastError(); /* a refusal is an answer */
        return clusters;
    });
}

template <typename L, typename Op>
bool linear_stream_takes(const linear_args &a, int heads) {
    return heads == 1 && a.depth <= L::depth && a.classes <= L::classes &&
           (a.batch + L::rows - 1) / L::rows <= linear_stream_room<L, Op>();
}

template <typename L, typename Op>
ridge_status linear_launch_stream(const linear_args &a, const Op &op, cudaStream_t stream) {
    if (a.batch == 0) return RIDGE_OK;
    const linear_stream_plan plan = linear_stream_plan_of<L>(a.classes, a.depth);
    CUtensorMap x = {}, w = {};
    if (!make_map<float>(&x, {a.x, a.depth, a.batch, a.x_row}, L::rows, CU_TENSOR_MAP_DATA_TYPE_FLOAT32))
        return RIDGE_FAILED;
    if (L::trans &&
        !make_map<float>(&w, {a.w, a.depth, a.classes, a.w_class}, plan.w_bytes / 128, CU_TENSOR_MAP_DATA_TYPE_FLOAT32))
        return RIDGE_FAILED;
    return launch_overlapping(linear_kernel_stream<L, Op>,
                              linear_stream_shape<L>(plan, (a.batch + L::rows - 1) / L::rows), stream, true, a, op,
                              plan, x, w);
}

}  // namespace ridge

#endif

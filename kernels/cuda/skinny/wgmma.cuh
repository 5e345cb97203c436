/* p = softmax(x w + b) for up to 128 classes on Hopper's tensor cores, fp32 in three products of hi and lo parts (see
 * gemm/split.cuh), of any size (skinny/stream.cuh has the shapes that fit the GPU at once). A cluster has a tile of 64
 * rows and all classes, a block a part of the depth, each of its two warpgroups half of that part, in slabs of 64.
 *
 *   w      a thread has a class: it loads the slab's 64 elements, scales them by the largest, splits them, and stores
 *          the parts to shared memory in wgmma's layout
 *   x      a thread has a quarter of two rows, straight from memory: wgmma takes it from registers
 *   sums   with scales undone, added over the warpgroups in shared memory; sums of other blocks' rows go to those
 *          blocks by cp.async.bulk, 12 bytes a cycle, which is why they are few; every block adds all parts of its rows
 *          in one order, and takes their softmax
 *
 * Where a part of the depth is one slab (`deep` is false), an SM has room for two blocks: the next launch's blocks are
 * set up while this one's compute. With more slabs, their sums are added in fp32, because tensor cores truncate as they
 * add. An infinity has no lo part: where a sum is not finite, the block computes its sums again by fp32 multiply-adds.
 */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_WGMMA_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_WGMMA_CUH

#include <type_traits>

#include "cuda/host/launch.cuh"
#include "cuda/mma/ffma.cuh"
#include "cuda/pipe/cluster_sums.cuh"
#include "cuda/ptx/barrier.cuh"
#include "cuda/ptx/bulk.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/skinny/rows_of_logits.cuh"
#include "cuda/skinny/shares.cuh"
#include "cuda/tile/split.cuh"

namespace ridge {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define RIDGE_HAS_WGMMA 1
#endif

template <int Tiles, bool Trans, bool Several>
struct linear_wide {
    static constexpr int NT = Tiles, columns = 8 * NT;
    static constexpr bool trans = Trans, deep = Several;
    static constexpr int BM = 64, slab = 64, steps = slab / 16, groups = 2, group = 128, threads = groups * group;
    static constexpr int part_bytes = slab * columns * 2; /* a slab of w, hi or lo */
    static constexpr int sum_floats = BM * columns;
    /* Two halves of the classes: one is in flight while the other is added. In memory, sums of the first half come
     * first. */
    template <int Half>
    static constexpr int first_tile = Half == 0 ? 0 : (NT + 1) / 2;
    template <int Half>
    static constexpr int tiles = Half == 0 ? (NT + 1) / 2 : NT / 2;
    template <int Half>
    static constexpr int first = 8 * first_tile<Half>;
    __device__ static int sum_at(int rows, int row, int column) {
        return column < first<1> ? row * first<1> + column
                                 : rows * first<1> + row * (columns - first<1>)+column - first<1>;
    }
    static constexpr int resident = deep || NT > 13 || (NT == 7 && trans) ? 1 : 2;
    static constexpr bool ahead = NT <= 13; /* registers suffice for loading the next slab while this is multiplied */
};

/* What depends on the case: blocks of a cluster, the rows each owns, the steps of 16 of the depth each warpgroup has;
 * floats that a block sends to another, shared memory. */
struct linear_plan {
    int split;
    linear_shares rows, depth;
    int part_floats, bytes;
};
/* Memory: w's hi and lo parts, sums, scales, what other blocks send, a barrier. */
template <typename L>
linear_plan linear_plan_of(int split, int64_t depth) {
    linear_plan p = {};
    p.split = split;
    p.rows = linear_shares_of(L::BM, split);
    p.depth = linear_shares_of(depth / 16, L::groups * split);
    p.part_floats = (L::BM + split - 1) / split * L::columns;

    p.bytes = L::groups * 2 * L::part_bytes + (L::sum_floats + L::groups * L::columns + split * p.part_floats) * 4 + 16;
    return p;
}

#ifdef RIDGE_HAS_WGMMA
/* A slab of one class of w. Of the depth, whole steps of 16 are there, or none of it. */
template <typename L>
struct linear_class_slab {
    float v[L::slab];

    __device__ void load(const float *from, int64_t step, int count, bool present) {
#pragma unroll
        for (int s = 0; s < L::steps; s++) {
            if (present && 16 * s < count) {
#pragma unroll
                for (int i = 16 * s; i < 16 * s + 16; i += L::trans ? 4 : 1) {
                    if constexpr (L::trans) {
                        const float4 four = *(const float4 *)(from + i);
                        v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
                    } else {
                        v[i] = *from;
                        from += step;
                    }
                }
            } else {
#pragma unroll
                for (int i = 16 * s; i < 16 * s + 16; i++) v[i] = 0.0f;
            }
        }
    }
    /* To shared memory: 16 bytes of eight steps of the depth, then those of the next class. Within 16 steps the order
     * is that of x in registers, where lane t of four has steps 4 t to 4 t + 3, and they are called 2 t, 2 t + 1,
     * 2 t + 8 and 2 t + 9. Returns what undoes the scale. */
    __device__ float store(unsigned char *hi, unsigned char *lo) const {
        float most[4] = {};
#pragma unroll
        for (int i = 0; i < L::slab; i++) most[i % 4] = fmaxf(most[i % 4], fabsf(v[i]));
        const split_scale scale(fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3])));
#pragma unroll
        for (int eight = 0; eight < L::slab / 8; eight++) {
            const float *from = v + eight / 2 * 16 + eight % 2 * 2;
            const fp16_parts p0 = split_fp16(from[0], from[1], scale.by), p1 = split_fp16(from[4], from[5], scale.by);
            const fp16_parts p2 = split_fp16(from[8], from[9], scale.by), p3 = split_fp16(from[12], from[13], scale.by);
            *(uint4 *)(hi + eight * L::columns * 16) = make_uint4(p0.hi, p1.hi, p2.hi, p3.hi);
            *(uint4 *)(lo + eight * L::columns * 16) = make_uint4(p0.lo, p1.lo, p2.lo, p3.lo);
        }
        return scale.undo;
    }
};

/* A lane's part of a slab of x: of two rows, four elements of each step of 16. */
template <typename L>
struct linear_rows_slab {
    float4 v[L::steps][2];

    __device__ void load(const float *upper, const float *lower, int count) {
#pragma unroll
        for (int s = 0; s < L::steps; s++) {
            const bool present = 16 * s < count;
            v[s][0] = present ? *(const float4 *)(upper + 16 * s) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            v[s][1] = present ? *(const float4 *)(lower + 16 * s) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }
    __device__ split_scale scale(int row) const {
        float most = 0.0f;
#pragma unroll
        for (int s = 0; s < L::steps; s++) {
            const float4 f = v[s][row];
            most = fmaxf(fmaxf(most, fmaxf(fabsf(f.x), fabsf(f.y))), fmaxf(fabsf(f.z), fabsf(f.w)));
        }
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        return split_scale(fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2)));
    }
};

/* The same in hi and lo parts, as the tensor cores take them. */
template <typename L>
struct x_slab_parts {
    unsigned hi[L::steps][4], lo[L::steps][4];
    float undo[2]; /* of either row */

    __device__ void split(const linear_rows_slab<L> &x) {
#pragma unroll
        for (int row = 0; row < 2; row++) {
            const split_scale scale = x.scale(row);
            undo[row] = scale.undo;
#pragma unroll
            for (int s = 0; s < L::steps; s++) {
                const fp16_parts a = split_fp16(x.v[s][row].x, x.v[s][row].y, scale.by);
                const fp16_parts b = split_fp16(x.v[s][row].z, x.v[s][row].w, scale.by);
                hi[s][row] = a.hi, hi[s][2 + row] = b.hi;
                lo[s][row] = a.lo, lo[s][2 + row] = b.lo;
            }
        }
    }
};

/* d = a slab's products, but for the scales: the small ones first. */
template <typename L>
__device__ inline void linear_multiply(float (&d)[4 * L::NT], const x_slab_parts<L> &x, unsigned hi_at,
                                       unsigned lo_at) {
    const auto place = [](unsigned at, int s) {
        /* in a cluster, the upper bits of an address say which block */
        return (uint64_t)(((at + s * (2 * L::columns * 16)) & 0x3ffff) >> 4) | (uint64_t)(L::columns * 16 >> 4) << 16 |
               (uint64_t)(128 >> 4) << 32;
    };
    wgmma_fence();
#pragma unroll
    for (int s = 0; s < L::steps; s++) {
        wgmma_rs(d, x.lo[s], place(hi_at, s), s > 0);
        wgmma_rs(d, x.hi[s], place(lo_at, s), 1);
    }
#pragma unroll
    for (int s = 0; s < L::steps; s++) wgmma_rs(d, x.hi[s], place(hi_at, s), 1);
    wgmma_commit_group();
}
/* Where a thread is and what it has to do. */
template <typename L>
struct linear_place {
    int rank, row, own, owned; /* first of the cluster's rows; those of them that the block owns */
    int group, lane, m;        /* m, m + 8: the thread's rows in sums */
    int k0, k_end;

    __device__ explicit linear_place(const linear_plan &plan) {
        unsigned thread, tile, block; /* read again wherever this is constructed: kept, they would cost registers */
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
        asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(tile));
        asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(block));
        rank = (int)block, row = (int)tile * L::BM;
        own = plan.rows.begin(rank), owned = plan.rows.begin(rank + 1) - own;
        const int warp = __shfl_sync(0xffffffffu, (int)thread / 32, 0);
        group = warp / 4, lane = (int)thread % L::group, m = warp % 4 * 16 + lane % 32 / 4;
        k0 = plan.depth.begin(L::groups * rank + group) * 16;
        k_end = plan.depth.begin(L::groups * rank + group + 1) * 16;
    }
};

/* The block's sums of a half again, by fp32 multiply-adds. */
template <typename L, int Half>
__device__ inline void linear_again(const linear_args &a, const linear_place<L> &at, const linear_plan &plan,
                                    float *sums) {
    const int rows = min(L::BM, (int)a.batch - at.row),
              classes = min((int)a.classes - L::template first<Half>, 8 * L::template tiles<Half>);
    const int k0 = plan.depth.begin(L::groups * at.rank) * 16, k_end = plan.depth.begin(L::groups * (at.rank + 1)) * 16;
    for (int e = (int)threadIdx.x; e < rows * classes; e += L::threads) {
        const int row = e / classes, column = L::template first<Half> + e % classes;
        const float *x = a.x + (int64_t)(at.row + row) * a.x_row, *w = a.w + column * a.w_class;
        sums[L::sum_at(L::BM, row, column)] = ffma_chain(0.0f, x + k0, w + k0 * a.w_depth, a.w_depth, k_end - k0);
    }
}

/* Sums of both warpgroups in shared memory: each leaves there what it has of the rows of one half of the tile, and adds
 * to what it finds of the other. Whether there is one that is not finite. */
template <typename L, int Half>
__device__ inline bool linear_add_groups(const float (&total)[4 * L::NT], const linear_place<L> &at, float *sums) {
    constexpr int tiles = L::template tiles<Half>, skip = 4 * L::template first_tile<Half>;
    float *upper = sums + L::sum_at(L::BM, at.m, L::template first<Half> + 2 * (at.lane % 4)),
          *lower = upper + 8 * 8 * tiles;
    const bool first = at.group == 0;
#pragma unroll
    for (int n = 0; n < tiles; n++)
        *(float2 *)((first ? lower : upper) + 8 * n) =
            first ? make_float2(total[skip + 4 * n + 2], total[skip + 4 * n + 3])
                  : make_float2(total[skip + 4 * n], total[skip + 4 * n + 1]);
    __syncthreads();
    float zero[2] = {};
#pragma unroll
    for (int n = 0; n < tiles; n++) {
        float2 *place = (float2 *)((first ? upper : lower) + 8 * n), v = *place;
        v.x += first ? total[skip + 4 * n] : total[skip + 4 * n + 2];
        v.y += first ? total[skip + 4 * n + 1] : total[skip + 4 * n + 3];
        zero[0] = fmaf(v.x, 0.0f, zero[0]), zero[1] = fmaf(v.y, 0.0f, zero[1]);
        *place = v;
    }
    fence_proxy_async();
    return __syncthreads_or(!(zero[0] + zero[1] == 0.0f));
}

/* A half's sums of other blocks' rows, to them. */
template <typename L, int Half>
__device__ inline void linear_send(const linear_args &a, const linear_plan &plan, const float (&total)[4 * L::NT],
                                   float *sums, float *parts, const cluster_sums &exchange) {
    const linear_place<L> at(plan);
    if (linear_add_groups<L, Half>(total, at, sums)) {
        linear_again<L, Half>(a, at, plan, sums);
        fence_proxy_async();
        __syncthreads();
    }
    const int to = (int)threadIdx.x / 32; /* a warp for each: copies that one warp begins wait for each other */
    if (to < plan.split && threadIdx.x % 32 == 0) {
        const int first = plan.rows.begin(to), n = plan.rows.begin(to + 1) - first;
        if (to != at.rank)
            exchange.send(sums + L::sum_at(L::BM, first, L::template first<Half>),
                          parts + at.rank * plan.part_floats + L::sum_at(n, 0, L::template first<Half>), to,
                          n * 8 * L::template tiles<Half> * 4);
    }
}
#endif

template <typename L, typename Op>
__global__ void __launch_bounds__(L::threads, L::resident)
    linear_kernel_wgmma(linear_args a, const __grid_constant__ Op op, linear_plan plan) {
#ifdef RIDGE_HAS_WGMMA
    extern __shared__ __align__(128) unsigned char linear_wide_memory[];
    float *sums = (float *)(linear_wide_memory + L::groups * 2 * L::part_bytes);
    float *undo = sums + L::sum_floats, *parts = undo + L::groups * L::columns;
    const cluster_sums exchange((uint64_t *)(parts + plan.split * plan.part_floats));

    const linear_place<L> at(plan);
    const int group = at.group, lane = at.lane, t = lane % 4, k0 = at.k0, k_end = at.k_end;
    a.w += blockIdx.y * a.w_head;

    if (threadIdx.x == 0) exchange.begin((plan.split - 1) * at.owned * L::columns * 4);
    __syncwarp();
    barrier_cluster_arrive_relaxed();
    after_previous_launch();

    const int last = min(at.row + L::BM, (int)a.batch) - 1;
    const float *upper = a.x + (int64_t)min(at.row + at.m, last) * a.x_row + 4 * t;
    const float *lower = a.x + (int64_t)min(at.row + at.m + 8, last) * a.x_row + 4 * t;
    unsigned char *hi = linear_wide_memory + group * 2 * L::part_bytes, *lo = hi + L::part_bytes;
    linear_rows_slab<L> x;
    linear_class_slab<L> w;
    x_slab_parts<L> x_parts;
    const auto load_x = [&](int k) { x.load(upper + k, lower + k, k_end - k); };
    const auto load_w = [&](int k) {
        w.load(a.w + (int64_t)k * a.w_depth + lane * a.w_class, a.w_depth, k_end - k, lane < (int)a.classes);
    };
    const auto multiply = [&](float(&d)[4 * L::NT]) {
        if (!L::deep) x_parts.split(x);
        if (lane < L::columns) undo[group * L::columns + lane] = w.store(hi + lane * 16, lo + lane * 16);
        if (L::deep) x_parts.split(x); /* it was loaded last */
        fence_proxy_async();
        bar_sync<128>(1 + group);
        linear_multiply<L>(d, x_parts, shared_address(hi), shared_address(lo));
    };
    /* Of the tiles from n to end, sum = d with scales undone, added to what is there where a slab was before. */
    const auto undone = [&](float(&sum)[4 * L::NT], const float(&d)[4 * L::NT], auto n_, auto end) {
#pragma unroll
        for (int n = n_; n < end; n++) {
            const float2 column = *(const float2 *)(undo + group * L::columns + 8 * n + 2 * t);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float v = d[4 * n + e] * x_parts.undo[e / 2];
                const float factor = e % 2 == 0 ? column.x : column.y;
                sum[4 * n + e] = L::deep ? fmaf(v, factor, sum[4 * n + e]) : v * factor;
            }
        }
    };
    using begin = std::integral_constant<int, 0>;
    using middle = std::integral_constant<int, L::template first_tile<1>>;
    using end = std::integral_constant<int, L::NT>;
    float total[4 * L::NT];
    load_x(k0);
    load_w(k0);
    if constexpr (L::deep) {
        for (float &v : total) v = 0.0f;
        /* As many slabs for all, of zeros at the end: so groups meet equally often, which racecheck needs to tell their
         * barriers from the block's. */
        int slabs = ((plan.depth.each + (plan.depth.more > 0)) * 16 + L::slab - 1) / L::slab;
#pragma unroll 1
        for (int k = k0; slabs > 0; slabs--, k += L::slab) {
            float d[4 * L::NT];
            multiply(d);
            if (L::ahead) load_w(k + L::slab); /* beyond the end: zeros */
            wgmma_finish(d);
            undone(total, d, begin(), end());
            bar_sync<128>(1 + group);
            if (!L::ahead) load_w(k + L::slab);
            load_x(k + L::slab);
        }
    } else {
        multiply(total);
        wgmma_finish(total);
        undone(total, total, begin(), middle());
    }
    exchange.started();
    linear_send<L, 0>(a, plan, total, sums, parts, exchange);
    if constexpr (!L::deep) undone(total, total, middle(), end());
    linear_send<L, 1>(a, plan, total, sums, parts, exchange);

    a.b += blockIdx.y * a.b_head, a.p += blockIdx.y * a.p_head;
    const linear_place<L> now(plan);
    const linear_rows<L, Op> rows(a, op, now.row + now.own);
    exchange.received();
    const auto sum_of = [&](int part, int row, int column) {
        return part == now.rank ? sums + L::sum_at(L::BM, now.own + row, column)
                                : parts + part * plan.part_floats + L::sum_at(now.owned, row, column);
    };
    if (plan.split == 8)
        rows.template write<8, 8>(a, sum_of, 8, 8);
    else
        rows.template write<0, 0>(a, sum_of, now.owned, plan.split);
    exchange.end();
#else
    __trap(); /* launched on Hopper alone */
#endif
}

template <typename L>
launch_shape linear_wide_shape(int split) {
    return {dim3((unsigned)split), L::threads, linear_plan_of<L>(split, 0).bytes, split};
}

template <typename L, typename Op>
cudaError_t linear_allow_wgmma(void) {
    int bytes = 0;
    for (int split = 1; split <= 8; split++) bytes = max(bytes, linear_plan_of<L>(split, 0).bytes);
    return allow_shared((const void *)linear_kernel_wgmma<L, Op>, bytes);
}

/* How many clusters of 1 … 8 blocks fit on a device at once: one that does not fit waits for all of another. */
struct linear_room {
    int clusters[9];
};
template <typename L, typename Op>
linear_room linear_room_of(void) {
    linear_room room = {};
    const void *const kernel = (const void *)linear_kernel_wgmma<L, Op>;
    for (int split = 2; split <= 8 && linear_allow_wgmma<L, Op>() == cudaSuccess; split++)
        (void)resident_clusters(&room.clusters[split], kernel, linear_wide_shape<L>(split));
    (void)cudaGetLastError(); /* a refusal is an answer */
    return room;
}

/* The largest cluster of which so many fit at once. */
template <typename L, typename Op>
int linear_split_for(int64_t clusters) {
    static per_device<linear_room> known;
    const linear_room room = known.get(linear_room_of<L, Op>, [](const linear_room &r) { return r.clusters[2] > 0; });
    for (int split = 8; split > 1; split--)
        if (room.clusters[split] >= clusters) return split;
    return 1;
}

template <typename L, typename Op>
ridge_status linear_launch_wgmma(const linear_args &a, const Op &op, int heads, int split, cudaStream_t stream,
                                 bool overlap) {
    const int64_t tiles = (a.batch + L::BM - 1) / L::BM;
    if (tiles == 0) return RIDGE_OK;
    if (tiles * 8 > INT32_MAX || a.depth > INT32_MAX / 2 || a.batch > INT32_MAX / 2) return RIDGE_UNSUPPORTED;
    launch_shape shape = linear_wide_shape<L>(split);
    shape.grid = dim3((unsigned)(tiles * split), (unsigned)heads);
    return launch_overlapping(linear_kernel_wgmma<L, Op>, shape, stream, overlap, a, op,
                              linear_plan_of<L>(split, a.depth));
}

}  // namespace ridge

#endif

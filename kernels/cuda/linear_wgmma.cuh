/* p = softmax(x w + b) for up to 128 classes on Hopper's tensor cores, fp32 in three products of halves (see
 * hopper/split.cuh), of any size (see linear_stream.cuh for what fits the chip at once): a cluster has a tile of 64
 * rows and all classes, a block of it a part of the depth, and either of its two warpgroups half of that, in slabs
 * of 64.
 *
 *   w      a thread has a class: the slab's 64 elements come to its registers, are scaled by the largest of them, split
 *          into high + low, and go to shared memory as the tensor cores want them
 *   x      a thread has a quarter of two rows, straight from memory: products take it from registers
 *   sums   with scales undone: the warpgroups add theirs in shared memory; those of other blocks' rows go on to them by
 *          bulk copies (some 12 bytes a cycle: it is this that asks for few bytes); every block adds all parts of its
 *          rows in one order, and takes their softmax
 *
 * Where a part of the depth is one slab (`Deep` is false), a multiprocessor has room for two blocks, so that the next
 * launch's blocks are set up while this one's compute. Where it is more, slabs are added in fp32: tensor cores truncate
 * as they add. An infinity has no low half: where a sum is not finite the block makes its sums again, one fused
 * multiply-add after another, as fp32 would have it. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_WGMMA_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_WGMMA_CUH

#include "cuda/hopper/ptx.cuh"
#include "cuda/hopper/wgmma.cuh"
#include "cuda/linear_narrow.cuh"

namespace ridge {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define RIDGE_HAS_WGMMA 1
#endif

template <int Tiles, bool Turned, bool Several>
struct linear_wide {
    static constexpr int NT = Tiles, columns = 8 * NT;
    static constexpr bool turned = Turned, deep = Several;
    static constexpr int BM = 64, slab = 64, steps = slab / 16, groups = 2, group = 128, threads = groups * group;
    static constexpr int half_bytes = slab * columns * 2; /* a slab of w, high or low */
    static constexpr int sum_floats = BM * columns;
    /* Classes in two halves, of which one is on its way while the other is added up. Of some rows' sums, those of the
     * first half come first. */
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
    static constexpr int resident = deep || NT > 13 || (NT == 7 && turned) ? 1 : 2;
    static constexpr bool ahead = NT <= 13; /* registers suffice for loading the next slab while this is multiplied */
};

/* `all` things in as many shares as there are, as equal as can be. (Divisions cost a kernel hundreds of cycles.) */
struct linear_shares {
    int each, more; /* the first `more` shares have one more */

    __host__ __device__ int begin(int share) const { return share * each + min(share, more); }
};
inline linear_shares linear_shares_of(int64_t all, int shares) { return {(int)(all / shares), (int)(all % shares)}; }

/* What depends on the case: blocks of a cluster, the rows each owns, the steps of 16 of the depth each warpgroup has;
 * floats that a block sends to another, shared memory. */
struct linear_plan {
    int split;
    linear_shares rows, depth;
    int part_floats, bytes;
};
/* Memory: w's halves, sums, scales, what other blocks send, a barrier. */
template <typename L>
linear_plan linear_plan_of(int split, int64_t depth) {
    linear_plan p = {};
    p.split = split;
    p.rows = linear_shares_of(L::BM, split);
    p.depth = linear_shares_of(depth / 16, L::groups * split);
    p.part_floats = (L::BM + split - 1) / split * L::columns;

    p.bytes = L::groups * 2 * L::half_bytes + (L::sum_floats + L::groups * L::columns + split * p.part_floats) * 4 + 16;
    return p;
}

/* A power of two that brings `most`, the largest of some |v|, to [2^14, 2^15), and its inverse. Of what is not finite
 * any power will do. */
struct linear_scale {
    float by, undo;
    __device__ explicit linear_scale(float most) {
        const int exponent = max(__float_as_int(most) >> 23, 15);
        by = __int_as_float((268 - exponent) << 23);
        undo = __int_as_float((exponent - 14) << 23);
    }
};
struct linear_halves {
    unsigned high, low;
    __device__ linear_halves(float a, float b, float scale) {
        const __half2 h = __floats2half2_rn(a * scale, b * scale);
        const float2 f = __half22float2(h);
        const __half2 l = __floats2half2_rn(fmaf(a, scale, -f.x), fmaf(b, scale, -f.y));
        high = *(const unsigned *)&h, low = *(const unsigned *)&l;
    }
};

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
                for (int i = 16 * s; i < 16 * s + 16; i += L::turned ? 4 : 1) {
                    if constexpr (L::turned) {
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
    __device__ float store(unsigned char *high, unsigned char *low) const {
        float most[4] = {};
#pragma unroll
        for (int i = 0; i < L::slab; i++) most[i % 4] = fmaxf(most[i % 4], fabsf(v[i]));
        const linear_scale scale(fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3])));
#pragma unroll
        for (int eight = 0; eight < L::slab / 8; eight++) {
            const float *from = v + eight / 2 * 16 + eight % 2 * 2;
            const linear_halves p0(from[0], from[1], scale.by), p1(from[4], from[5], scale.by);
            const linear_halves p2(from[8], from[9], scale.by), p3(from[12], from[13], scale.by);
            *(uint4 *)(high + eight * L::columns * 16) = make_uint4(p0.high, p1.high, p2.high, p3.high);
            *(uint4 *)(low + eight * L::columns * 16) = make_uint4(p0.low, p1.low, p2.low, p3.low);
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
    __device__ linear_scale scale(int row) const {
        float most = 0.0f;
#pragma unroll
        for (int s = 0; s < L::steps; s++) {
            const float4 f = v[s][row];
            most = fmaxf(fmaxf(most, fmaxf(fabsf(f.x), fabsf(f.y))), fmaxf(fabsf(f.z), fabsf(f.w)));
        }
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        return linear_scale(fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2)));
    }
};

/* The same in halves, as the tensor cores take them. */
template <typename L>
struct linear_rows_halves {
    unsigned high[L::steps][4], low[L::steps][4];
    float undo[2]; /* of either row */

    __device__ void split(const linear_rows_slab<L> &x) {
#pragma unroll
        for (int row = 0; row < 2; row++) {
            const linear_scale scale = x.scale(row);
            undo[row] = scale.undo;
#pragma unroll
            for (int s = 0; s < L::steps; s++) {
                const linear_halves a(x.v[s][row].x, x.v[s][row].y, scale.by);
                const linear_halves b(x.v[s][row].z, x.v[s][row].w, scale.by);
                high[s][row] = a.high, high[s][2 + row] = b.high;
                low[s][row] = a.low, low[s][2 + row] = b.low;
            }
        }
    }
};

/* d = a slab's products, but for the scales: the small ones first. */
template <typename L>
__device__ inline void linear_multiply(float (&d)[4 * L::NT], const linear_rows_halves<L> &x, unsigned high_at,
                                       unsigned low_at) {
    const auto place = [](unsigned at, int s) {
        /* in a cluster, the upper bits of an address say which block */
        return (uint64_t)(((at + s * (2 * L::columns * 16)) & 0x3ffff) >> 4) | (uint64_t)(L::columns * 16 >> 4) << 16 |
               (uint64_t)(128 >> 4) << 32;
    };
    hopper::wgmma_begin();
#pragma unroll
    for (int s = 0; s < L::steps; s++) {
        hopper::wgmma_from(d, x.low[s], place(high_at, s), s > 0);
        hopper::wgmma_from(d, x.high[s], place(low_at, s), 1);
    }
#pragma unroll
    for (int s = 0; s < L::steps; s++) hopper::wgmma_from(d, x.high[s], place(high_at, s), 1);
    hopper::wgmma_commit();
}
template <int N>
__device__ inline void linear_settle(float (&d)[N]) {
    hopper::wgmma_wait<0>();
    hopper::wgmma_settle(d);
}

/* Of one warpgroup. */
__device__ inline void linear_meet(int group) { asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory"); }

/* Where a thread is and what it has to do. */
template <typename L>
struct linear_place {
    int rank, row, own, owned; /* first of the cluster's rows; those of them that the block owns */
    int group, lane, m;        /* m, m + 8: the thread's rows in sums */
    int k0, k_end;

    __device__ explicit linear_place(const linear_plan &plan) {
        unsigned thread, tile, block; /* read anew wherever this is made: kept, they would cost registers */
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

/* The block's sums of a half again, by fused multiply-adds. */
template <typename L, int Half>
__device__ inline void linear_again(const linear_args &a, const linear_place<L> &at, const linear_plan &plan,
                                    float *sums) {
    const int rows = min(L::BM, (int)a.batch - at.row),
              classes = min((int)a.classes - L::template first<Half>, 8 * L::template tiles<Half>);
    const int k0 = plan.depth.begin(L::groups * at.rank) * 16, k_end = plan.depth.begin(L::groups * (at.rank + 1)) * 16;
    for (int e = (int)threadIdx.x; e < rows * classes; e += L::threads) {
        const int row = e / classes, column = L::template first<Half> + e % classes;
        const float *x = a.x + (int64_t)(at.row + row) * a.x_row, *w = a.w + column * a.w_class;
        float sum = 0.0f;
#pragma unroll 1
        for (int k = k0; k < k_end; k++) sum = fmaf(x[k], w[k * a.w_depth], sum);
        sums[L::sum_at(L::BM, row, column)] = sum;
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
    hopper::shared_fence();
    return __syncthreads_or(!(zero[0] + zero[1] == 0.0f));
}

/* A half's sums of other blocks' rows, to them. */
template <typename L, int Half>
__device__ inline void linear_send(const linear_args &a, const linear_plan &plan, const float (&total)[4 * L::NT],
                                   float *sums, float *parts, uint64_t *arrived) {
    const linear_place<L> at(plan);
    if (linear_add_groups<L, Half>(total, at, sums)) {
        linear_again<L, Half>(a, at, plan, sums);
        hopper::shared_fence();
        __syncthreads();
    }
    const int to = (int)threadIdx.x / 32; /* a warp for each: copies that one warp begins wait for each other */
    if (to < plan.split && threadIdx.x % 32 == 0) {
        const int first = plan.rows.begin(to), n = plan.rows.begin(to + 1) - first;
        if (to != at.rank)
            linear_copy(sums + L::sum_at(L::BM, first, L::template first<Half>),
                        parts + at.rank * plan.part_floats + L::sum_at(n, 0, L::template first<Half>), arrived, to,
                        n * 8 * L::template tiles<Half> * 4);
    }
}
#endif

template <typename L, typename Op>
__global__ void __launch_bounds__(L::threads, L::resident)
    linear_kernel_wgmma(linear_args a, const __grid_constant__ Op op, linear_plan plan) {
#ifdef RIDGE_HAS_WGMMA
    extern __shared__ __align__(128) unsigned char linear_wide_memory[];
    float *sums = (float *)(linear_wide_memory + L::groups * 2 * L::half_bytes);
    float *undo = sums + L::sum_floats, *parts = undo + L::groups * L::columns;
    uint64_t *arrived = (uint64_t *)(parts + plan.split * plan.part_floats);

    const linear_place<L> at(plan);
    const int group = at.group, lane = at.lane, t = lane % 4, k0 = at.k0, k_end = at.k_end;
    a.w += blockIdx.y * a.w_head;

    if (threadIdx.x == 0) {
        row_barrier_init(arrived);
        hopper::barrier_init_fence();
        row_barrier_expect(arrived, (plan.split - 1) * at.owned * L::columns * 4);
    }
    __syncwarp();
    hopper::cluster_arrive_relaxed();
    after_previous_launch();

    const int last = min(at.row + L::BM, (int)a.batch) - 1;
    const float *upper = a.x + (int64_t)min(at.row + at.m, last) * a.x_row + 4 * t;
    const float *lower = a.x + (int64_t)min(at.row + at.m + 8, last) * a.x_row + 4 * t;
    unsigned char *high = linear_wide_memory + group * 2 * L::half_bytes, *low = high + L::half_bytes;
    linear_rows_slab<L> x;
    linear_class_slab<L> w;
    linear_rows_halves<L> halves;
    const auto load_x = [&](int k) { x.load(upper + k, lower + k, k_end - k); };
    const auto load_w = [&](int k) {
        w.load(a.w + (int64_t)k * a.w_depth + lane * a.w_class, a.w_depth, k_end - k, lane < (int)a.classes);
    };
    const auto multiply = [&](float(&d)[4 * L::NT]) {
        if (!L::deep) halves.split(x);
        if (lane < L::columns) undo[group * L::columns + lane] = w.store(high + lane * 16, low + lane * 16);
        if (L::deep) halves.split(x); /* it was loaded last */
        hopper::shared_fence();
        linear_meet(group);
        linear_multiply<L>(d, halves, row_shared(high), row_shared(low));
    };
    /* Of the tiles from n to end, sum = d with scales undone, added to what is there where a slab was before. */
    const auto undone = [&](float(&sum)[4 * L::NT], const float(&d)[4 * L::NT], auto n_, auto end) {
#pragma unroll
        for (int n = n_; n < end; n++) {
            const float2 column = *(const float2 *)(undo + group * L::columns + 8 * n + 2 * t);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const float v = d[4 * n + e] * halves.undo[e / 2];
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
            linear_settle(d);
            undone(total, d, begin(), end());
            linear_meet(group);
            if (!L::ahead) load_w(k + L::slab);
            load_x(k + L::slab);
        }
    } else {
        multiply(total);
        linear_settle(total);
        undone(total, total, begin(), middle());
    }
    hopper::cluster_wait(); /* all have started */
    linear_send<L, 0>(a, plan, total, sums, parts, arrived);
    if constexpr (!L::deep) undone(total, total, middle(), end());
    linear_send<L, 1>(a, plan, total, sums, parts, arrived);

    a.b += blockIdx.y * a.b_head, a.p += blockIdx.y * a.p_head;
    const linear_place<L> now(plan);
    const linear_rows<L, Op> rows(a, op, now.row + now.own);
    row_barrier_wait(arrived, 0);
    hopper::cluster_arrive_relaxed(); /* what I was sent is here */
    const auto sum_of = [&](int part, int row, int column) {
        return part == now.rank ? sums + L::sum_at(L::BM, now.own + row, column)
                                : parts + part * plan.part_floats + L::sum_at(now.owned, row, column);
    };
    if (plan.split == 8)
        rows.template write<8, 8>(a, sum_of, 8, 8);
    else
        rows.template write<0, 0>(a, sum_of, now.owned, plan.split);
    hopper::cluster_wait();
#endif
}

template <typename L, typename Op>
cudaError_t linear_allow_wgmma(void) {
    static allowed_per_device allowed;
    return allowed.get([] {
        int bytes = 0;
        for (int split = 1; split <= 8; split++) bytes = max(bytes, linear_plan_of<L>(split, 0).bytes);
        return cudaFuncSetAttribute((const void *)linear_kernel_wgmma<L, Op>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    });
}

/* How many clusters of 1 … 8 blocks a device has room for at once: one that does not fit waits for all of another. */
struct linear_room {
    int clusters[9];
};
template <typename L>
cudaLaunchConfig_t linear_config(cudaLaunchAttribute *cluster, int split) {
    cudaLaunchConfig_t config = {};
    cluster->id = cudaLaunchAttributeClusterDimension;
    cluster->val.clusterDim = {(unsigned)split, 1, 1};
    config.gridDim = dim3((unsigned)split);
    config.blockDim = dim3(L::threads);
    config.dynamicSmemBytes = (size_t)linear_plan_of<L>(split, 0).bytes;
    config.attrs = cluster;
    config.numAttrs = 1;
    return config;
}
template <typename L, typename Op>
linear_room linear_room_of(void) {
    linear_room room = {};
    for (int split = 2; split <= 8 && linear_allow_wgmma<L, Op>() == cudaSuccess; split++) {
        cudaLaunchAttribute cluster = {};
        const cudaLaunchConfig_t config = linear_config<L>(&cluster, split);
        if (cudaOccupancyMaxActiveClusters(&room.clusters[split], linear_kernel_wgmma<L, Op>, &config) != cudaSuccess)
            room.clusters[split] = 0;
    }
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
    RIDGE_TRY(cuda_status(linear_allow_wgmma<L, Op>(), "cudaFuncSetAttribute"));
    const int64_t tiles = (a.batch + L::BM - 1) / L::BM;
    if (tiles == 0) return RIDGE_OK;
    if (tiles * 8 > INT32_MAX || a.depth > INT32_MAX / 2 || a.batch > INT32_MAX / 2) return RIDGE_UNSUPPORTED;
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = linear_config<L>(attributes, split);
    config.gridDim = dim3((unsigned)(tiles * split), (unsigned)heads);
    config.stream = stream;
    attributes[1] = overlapping();
    config.numAttrs = overlap ? 2 : 1;
    return launch_with(config, linear_kernel_wgmma<L, Op>, a, op, linear_plan_of<L>(split, a.depth));
}

}  // namespace ridge

#endif

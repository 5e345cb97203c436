/* C = x W^T of up to 16 rows of x, W in NVFP4: memory is what it should take. Tensor cores by mma.sync, whose fragments lanes load
 * as they like: a lane has 16 bytes of codes, 32 of K, of each of its two rows, and K is in another order for it. Of eight codes
 * in a word, those four places apart are the two of a register. x is put into that order in shared memory once.
 *
 * The blocks of a cluster share K, and keep their part of x. A cluster has groups of 16 rows of W; a block's steps through all of
 * its groups are one line, of which each warp has an equal part, whose codes come to a place of its own in shared memory. No
 * warp waits for another before the end, where the cluster adds what shares and warps have of a group. */
#include "cuda/gemm/fp4.cuh"
#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/ptx/global.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/tile/pack.cuh"

extern "C" {
#include "nvfp4_gemm.h"
}

namespace ridge::nvfp4_few {

/* K of a step in two halves, in each of which lane t of four has 32. */
[[maybe_unused]] constexpr int HALF = FP4_STEP / 2, HALVES_X = 2 * 2 * 32; /* 16-byte pieces of eight rows of x */

template <typename Type, int Tokens>
struct few_rows_shape {
    using T = Type;
    using two = typename fp4_type<T>::two;
    static constexpr int eights = Tokens / 8;
    static constexpr int warps = FP4_FEW_WARPS, threads = 32 * warps;
    static constexpr int codes = 16 * FP4_STEP / 2, stage = FP4_FEW_STAGE;
    static constexpr int x_pieces = 2 * HALVES_X * eights; /* of a step */
    enum {
        chains = 2,                     /* independent sums */
        slot = FP4_FEW_SLOT(Tokens) / 4 /* sums of a group, [tokens, 16] */
    };
    static_assert(stage == codes + 16 * FP4_STEP / FP4_BLOCK && 16 * x_pieces == FP4_FEW_X(Tokens));
};

struct few_rows_args {
    const uint8_t *q, *s;
    int64_t q_line, s_line; /* bytes */
    const void *x;
    int64_t x_line;
    void *c;
    int64_t c_line;
    const float *tensor;
    int m, n, k, each; /* K of a share, in steps of FP4_STEP */
    int groups;
};

/* Row i of 16 of a group. Scales of rows 32 apart lie side by side: a group has four whole lines of a tile of scales. */
__device__ inline int few_rows_row(int group, int i) {
    return group / FP4_GROUPS * FP4_ROWS + group % FP4_GROUPS * 4 + i % 4 + i / 4 * 32;
}

/* A block's steps through its groups, one group behind the other, in equal parts for its warps. */
struct few_rows_line {
    int groups, steps;
    __device__ int begin(int warp) const { return groups * steps * warp / FP4_FEW_WARPS; }
};

/* The one step of a warp that is on its way, to shared memory: 2304 bytes, 36 KiB of all warps. More of them were slower. */
template <class S>
class few_rows_ahead {
    const few_rows_args &a;
    const uint8_t *low, *high, *scales;
    int group, step, left, first, steps; /* first: of K in this share */

    __device__ int lane(void) const { return (int)threadIdx.x % 32; }
    __device__ void seek(void) {
        const int row = few_rows_row(group, lane() / 4), column = (first + lane() % 4 * 32) / 2;
        low = a.q + min(row, a.n - 1) * a.q_line + column, high = a.q + min(row + 64, a.n - 1) * a.q_line + column;
        scales = a.s + group / FP4_GROUPS * a.s_line + (first / FP4_SLICE + lane() / 4) * BLOCKS_TILE +
                 (group % FP4_GROUPS * 4 + lane() % 4) * 16;
    }

   public:
    const uint32_t at; /* codes [half, low and high row, lane], then scales [tile of four, row of four, 16 bytes] */

    /* From step `from` of the block's line on, `count` steps. */
    __device__ few_rows_ahead(const few_rows_args &args, uint32_t to, int first_group, const few_rows_line &line,
                              int from, int count, int of_k)
        : a(args),
          group(first_group + from / line.steps),
          step(from % line.steps),
          left(count),
          first(of_k),
          steps(line.steps),
          at(to) {
        seek();
    }
    __device__ void ask(void) {
        if (left == 0) return;
        const int k = first + step * FP4_STEP;
        const uint32_t to = at + (uint32_t)(lane() * 16);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const bool present = k + h * HALF + lane() % 4 * 32 < a.k;
            cp_async_16_if(to + h * 1024, low + step * (FP4_STEP / 2) + h * (HALF / 2), present);
            cp_async_16_if(to + h * 1024 + 512, high + step * (FP4_STEP / 2) + h * (HALF / 2), present);
        }
        if (lane() < 16)
            cp_async_16_if(to + S::codes, scales + step * (FP4_STEP / FP4_SLICE * BLOCKS_TILE),
                           k + lane() / 4 * FP4_SLICE < a.k);
        left--;
        if (++step < steps) return;
        step = 0, group++;
        if (left > 0) seek();
    }
};

/* The codes of a word in registers of two, in the order of S; times fp4_type's power of two. A shift and a choice of bits serve
 * two registers: magnitudes and signs of both are in place for one, and by one more shift for the other. */
__device__ inline unsigned few_rows_choose(unsigned mask, unsigned a, unsigned b) {
    unsigned v; /* one LOP3: of the same in C, ptxas 13.0 makes two */
    asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(v) : "r"(mask), "r"(a), "r"(b));
    return v;
}
__device__ inline void few_rows_values(__nv_bfloat16, unsigned (&v)[4], unsigned word) {
    constexpr unsigned all = 0x81c081c0u, signs = 0xfe00fe00u;
    const unsigned of_3 = few_rows_choose(signs, word, word >> 6), of_1 = few_rows_choose(signs, word << 8, word << 2);
    v[3] = of_3 & all, v[2] = of_3 << 4 & all, v[1] = of_1 & all, v[0] = of_1 << 4 & all;
}
__device__ inline void few_rows_values(__half, unsigned (&v)[4], unsigned word) {
    constexpr unsigned all = 0x8e008e00u, signs = 0xf0f0f0f0u;
    const unsigned of_3 = few_rows_choose(signs, word, word >> 3), of_2 = few_rows_choose(signs, word << 4, word << 1);
    v[3] = of_3 & all, v[1] = of_3 << 8 & all, v[2] = of_2 & all, v[0] = of_2 << 8 & all;
}
/* Scales of bytes u and u + 2, times what fp4_type says: their codes are 16-bit numbers but for a power of two. */
__device__ inline __nv_bfloat162 few_rows_scales(__nv_bfloat16, unsigned codes, int u) {
    const unsigned placed = __byte_perm(codes, 0, (unsigned)(0x4240 + 0x0101 * u)) << 4;
    return __hmul2(__hmul2(*(const __nv_bfloat162 *)&placed, __float2bfloat162_rn(0x1p127f)),
                   __float2bfloat162_rn(0x1p112f));
}
__device__ inline __half2 few_rows_scales(__half, unsigned codes, int u) {
    const unsigned placed = __byte_perm(codes, 0, (unsigned)(0x4240 + 0x0101 * u)) << 7;
    return __hmul2(*(const __half2 *)&placed, __float2half2_rn(32768.0f));
}
__device__ inline __nv_bfloat162 few_rows_both(__nv_bfloat162 v, bool high) {
    return high ? __high2bfloat162(v) : __low2bfloat162(v);
}
__device__ inline __half2 few_rows_both(__half2 v, bool high) { return high ? __high2half2(v) : __low2half2(v); }

/* x's rows of a share in the order of fragments: of each half step, block, eight rows and lane, 8 words of two elements, in two
 * pieces of 16 bytes that lie apart. A warp takes two rows in a step, so that its stores meet all banks. Rows that x does not have
 * stay as they are: theirs are columns of the products that nobody reads. behind(): when the first rows have been asked for. */
template <class S, typename Behind>
__device__ inline void few_rows_put_x(uint4 *to, const few_rows_args &a, int first, int steps, Behind behind) {
    constexpr int batch = 4; /* loads in flight, of two pieces */
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, count = steps * ((a.m + 1) / 2);
    const uint64_t again = createpolicy_evict_last();
    for (int i = warp; i == warp || i < count; i += batch * S::warps) {
        uint4 v[batch][2];
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const int at = i + j * S::warps, token = at / steps * 2 + lane / 16;
            const int k = first + (at % steps * 16 + lane % 16) * FP4_BLOCK;
            const bool present = at < count && token < a.m && k < a.k;
            const uint4 *const from = (const uint4 *)((const typename S::T *)a.x + token * a.x_line + k);
            v[j][0] = ld_global_v4_if(from, again, present), v[j][1] = ld_global_v4_if(from + 1, again, present);
        }
        if (i == warp) behind();
#pragma unroll
        for (int j = 0; j < batch; j++) {
            const int at = i + j * S::warps, token = at / steps * 2 + lane / 16, block = at % steps * 16 + lane % 16;
            if (at >= count || token >= a.m) continue;
            const uint4 &x = v[j][0], &y = v[j][1];
            uint4 *const piece =
                to + ((block / 8 * 2 + block % 2) * S::eights + token / 8) * 64 + token % 8 * 4 + block % 8 / 2;
            piece[0] = make_uint4(__byte_perm(x.x, x.z, 0x5410), __byte_perm(y.x, y.z, 0x5410),
                                  __byte_perm(x.x, x.z, 0x7632), __byte_perm(y.x, y.z, 0x7632));
            piece[32] = make_uint4(__byte_perm(x.y, x.w, 0x5410), __byte_perm(y.y, y.w, 0x5410),
                                   __byte_perm(x.y, x.w, 0x7632), __byte_perm(y.y, y.w, 0x7632));
        }
    }
}

/* One half step. codes: of scales, two of the low row, two of the high one. x: the lane's first piece. */
template <class S>
__device__ inline void few_rows_half(float (&d)[S::chains][4], const uint4 &low, const uint4 &high, unsigned codes,
                                     const uint4 *x) {
    using T = typename S::T;
    using two = typename S::two;
#pragma unroll
    for (int u = 0; u < 2; u++) {
        const two pair = few_rows_scales(T(), codes, u);
        const two of_row[2] = {few_rows_both(pair, false), few_rows_both(pair, true)};
        const unsigned words[4] = {u ? low.z : low.x, u ? high.z : high.x, u ? low.w : low.y, u ? high.w : high.y};
        unsigned v[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++) few_rows_values(T(), v[i], words[i]);
        uint4 b[S::eights][2];
#pragma unroll
        for (int n = 0; n < S::eights; n++)
#pragma unroll
            for (int part = 0; part < 2; part++) b[n][part] = x[((u * S::eights + n) * 2 + part) * 32];
#pragma unroll
        for (int s = 0; s < 4; s++) {
            unsigned f[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const two product = __hmul2(*(const two *)&v[i][s], of_row[i % 2]);
                f[i] = *(const unsigned *)&product;
            }
#pragma unroll
            for (int n = 0; n < S::eights; n++) {
                const uint4 &mine = b[n][s / 2];
                mma_m16n8k16(T(), d[S::eights == 1 ? u : n], f, s % 2 ? mine.z : mine.x, s % 2 ? mine.w : mine.y);
            }
        }
    }
}

/* Sums of a group over the share's steps from `step` to `end`. */
template <class S>
__device__ inline void few_rows_sum(float (&d)[S::chains][4], few_rows_ahead<S> &ahead, const uint4 *x,
                                    const few_rows_args &a, int first, int step, int end) {
    const int lane = (int)threadIdx.x % 32, t = lane % 4;
    const unsigned mine = t % 2 ? 0x7632u : 0x5410u;
    unsigned odd = 0; /* bit 7 of a byte: a scale that is no value */
    for (; step < end; step++) {
        uint4 low[2], high[2];
        unsigned codes[2];
        cp_async_wait_all();
        __syncwarp();
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const uint32_t at = ahead.at + (uint32_t)(h * 1024 + lane * 16);
            low[h] = ld_shared_v4(at), high[h] = ld_shared_v4(at + 512);
            const uint32_t of =
                ahead.at + S::codes + (uint32_t)((2 * h + t / 2) * 64 + lane / 4 % 4 * 16 + lane / 16 * 4);
            codes[h] = __byte_perm(ld_shared_u32(of), ld_shared_u32(of + 8), mine);
            if (first + step * FP4_STEP + h * HALF + t * 32 >= a.k) codes[h] = 0; /* padding */
            odd |= ((codes[h] & 0x7f7f7f7fu) + 0x01010101u) | codes[h];
        }
        __syncwarp(); /* all lanes have their scales */
        ahead.ask();
#pragma unroll
        for (int h = 0; h < 2; h++)
            few_rows_half<S>(d, low[h], high[h], codes[h], x + step * S::x_pieces + h * (S::x_pieces / 2) + lane);
    }
    odd |= __shfl_xor_sync(0xffffffffu, odd, 1), odd |= __shfl_xor_sync(0xffffffffu, odd, 2);
#pragma unroll
    for (int e = 0; e < 4; e++)
        if (odd & (e < 2 ? 0x8080u : 0x80800000u)) d[0][e] = d[S::chains - 1][e] = __int_as_float(0x7fffffff);
}

/* To a slot of shared memory, [tokens, 16]. */
template <class S>
__device__ inline void few_rows_keep(float *slot, const float (&d)[S::chains][4]) {
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int n = 0; n < S::eights; n++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            slot[(n * 8 + lane % 4 * 2 + e % 2) * 16 + lane / 4 + e / 2 * 8] =
                S::eights == 1 ? d[0][e] + d[1][e] : d[n][e];
}

/* A warp's part of the line. Whoever begins a group has its slot; the rest of a group that another warp began goes to the warp's
 * own slot, behind those of the groups. */
template <class S>
__device__ inline void few_rows_part(float *sums, few_rows_ahead<S> &ahead, const uint4 *x, const few_rows_args &a,
                                     const few_rows_line &line, int first) {
    const int warp = (int)threadIdx.x / 32, begin = line.begin(warp), end = line.begin(warp + 1);
    for (int at = begin; at < end;) {
        float d[S::chains][4] = {};
        const int group = at / line.steps, step = at % line.steps, to = min(line.steps, step + end - at);
        few_rows_sum<S>(d, ahead, x, a, first, step, to);
        few_rows_keep<S>(sums + (step > 0 ? line.groups + warp : group) * S::slot, d);
        at += to - step;
    }
}

__device__ inline float4 few_rows_add(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

/* Adds to the slot of the group that a warp's part begins within what it and others that went on with that group have, in their
 * order. The first of them does it for all. */
template <class S>
__device__ inline void few_rows_join(float *sums, const few_rows_line &line) {
    const int warp = (int)threadIdx.x / 32, group = line.begin(warp) / line.steps, start = group * line.steps;
    if (line.begin(warp) == start || line.begin(warp - 1) > start) return; /* the first warp begins at 0 */
    for (int at = (int)threadIdx.x % 32 * 4; at < S::slot; at += 32 * 4) {
        float4 *const to = (float4 *)(sums + group * S::slot + at);
        float4 sum = *to;
        for (int other = warp; other < S::warps && line.begin(other) < start + line.steps; other++)
            if (line.begin(other) < line.begin(other + 1))
                sum = few_rows_add(sum, *(const float4 *)(sums + (line.groups + other) * S::slot + at));
        *to = sum;
    }
}

/* The sum of all shares, in their order; the block's own where there is one. */
__device__ inline float4 few_rows_shares(const float *sums, int cluster) {
    if (cluster == 1) return *(const float4 *)sums;
    const uint32_t at = shared_address(sums);
    float4 part[FP4_FEW_CLUSTER] = {};
#pragma unroll
    for (int share = 0; share < FP4_FEW_CLUSTER; share++)
        if (share < cluster) part[share] = ld_shared_cluster_v4(at, share);
    float4 sum = part[0];
#pragma unroll
    for (int share = 1; share < FP4_FEW_CLUSTER; share++)
        if (share < cluster) sum = few_rows_add(sum, part[share]);
    return sum;
}

/* The block's part of the cluster's outputs. Rows come in fours, which lie side by side; those of neighbouring threads follow. */
template <class S>
__device__ inline void few_rows_store(const few_rows_args &a, const float *sums, int rank, int cluster, int group,
                                      int groups, float scale) {
    using T = typename S::T;
    for (int i = rank * S::threads + (int)threadIdx.x; i < groups * 4 * a.m; i += cluster * S::threads) {
        const int token = i / (groups * 4), of = i % groups, four = i / groups % 4;
        const int feature = few_rows_row(group + of, four * 4);
        const float4 sum = few_rows_shares(sums + of * S::slot + token * 16 + four * 4, cluster);
        const pack<T, 4> packed = {from_float<T>(sum.x * scale), from_float<T>(sum.y * scale),
                                   from_float<T>(sum.z * scale), from_float<T>(sum.w * scale)};
        T *const to = (T *)a.c + token * a.c_line + feature;
        if (feature + 4 <= a.n && (uintptr_t)to % sizeof(packed) == 0)
            *(pack<T, 4> *)to = packed;
        else
            for (int e = 0; e < 4 && feature + e < a.n; e++) to[e] = packed.v[e];
    }
}

template <class S>
__global__ void __launch_bounds__(S::threads, 1) few_rows_kernel(const __grid_constant__ few_rows_args a) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) uint4 few_rows_shared[];
    const int rank = cluster_ctarank(), cluster = cluster_nctarank(), clusters = (int)gridDim.x / cluster;
    const int warp = (int)threadIdx.x / 32, mine = (int)blockIdx.x / cluster;
    const int group = (int)((int64_t)a.groups * mine / clusters),
              groups = (int)((int64_t)a.groups * (mine + 1) / clusters) - group;
    const int first = rank * a.each * FP4_STEP, steps = min(a.each, (a.k - first + FP4_STEP - 1) / FP4_STEP);
    const few_rows_line line = {groups, steps};
    const uint32_t base = shared_address(few_rows_shared + a.each * S::x_pieces);
    float *const sums = (float *)(few_rows_shared + a.each * S::x_pieces + S::warps * S::stage / 16);
    few_rows_ahead<S> ahead(a, base + (uint32_t)(warp * S::stage), group, line, line.begin(warp),
                            line.begin(warp + 1) - line.begin(warp), first);
    after_previous_launch();
    const float scale = *a.tensor * FP4_UNDO;
    few_rows_put_x<S>(few_rows_shared, a, first, steps, [&] { ahead.ask(); });
    __syncthreads();
    few_rows_part<S>(sums, ahead, few_rows_shared, a, line, first);
    __syncthreads();
    few_rows_join<S>(sums, line);
    if (cluster > 1)
        barrier_cluster_sync();
    else
        __syncthreads();
    few_rows_store<S>(a, sums, rank, cluster, group, groups, scale);
    if (cluster > 1) barrier_cluster_sync(); /* a block must not exit while others read its sums */
#else
    (void)a;
    __trap(); /* clusters begin at 9.0 */
#endif
}

template <typename T, int Tokens>
ridge_status few_rows(const ridge_call *call) {
    using S = few_rows_shape<T, Tokens>;
    const int64_t m = call->dim[FP4_M], n = call->dim[FP4_N], k = call->dim[FP4_K];
    const fp4_few f = fp4_few_of(m, n, k, device_limit(cudaDevAttrMultiProcessorCount));
    const DLTensor *q = &call->in[FP4_Q], *s = &call->in[FP4_S];
    const matrix_view x = view_of(call->in[FP4_X]), c = view_of(call->out[0]);
    const few_rows_args a = {(const uint8_t *)ridge_data(q),
                             (const uint8_t *)ridge_data(s),
                             ridge_row_stride(q) / 2,
                             ridge_row_stride(s),
                             x.base,
                             x.line,
                             c.base,
                             c.line,
                             (const float *)ridge_data(&call->in[FP4_TENSOR]),
                             (int)m,
                             (int)n,
                             (int)k,
                             f.steps,
                             fp4_groups_of(n)};
    return launch_as(LAUNCH_OVERLAP, few_rows_kernel<S>,
                     {dim3((unsigned)(f.clusters * f.shares)), S::threads, f.bytes, f.shares}, stream_of(call), a);
}

template <typename T>
ridge_status of_type(const ridge_call *call) {
    if (call->dim[FP4_M] == 0) return RIDGE_OK;
    return call->dim[FP4_M] <= 8 ? few_rows<T, 8>(call) : few_rows<T, 16>(call);
}

}  // namespace ridge::nvfp4_few

extern "C" ridge_status nvfp4_gemm_cuda_few_rows(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) return ridge::nvfp4_few::of_type<__nv_bfloat16>(call);
    return call->dtype == RIDGE_F16 ? ridge::nvfp4_few::of_type<__half>(call) : RIDGE_UNSUPPORTED;
}

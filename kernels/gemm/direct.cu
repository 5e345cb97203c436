/* Products of operands that are read as they lie, by mma.sync or fp32 multiply-adds: see direct.h.
 *
 * Threads bring a slice in pieces of 16 bytes to registers while the one before is multiplied, and from there to shared
 * memory. A piece that lies between 16-byte boundaries is cut out of the two aligned pieces around it. */
#include "gemm/call.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/ptx/shared.cuh"
#include "cuda/tile/pack.cuh"
#include "cuda/tile/swizzle.cuh"

extern "C" {
#include "gemm/direct.h"
#include "gemm/wgmma.h"
}

namespace ridge {

constexpr int DIRECT_THREADS = 256;

/* Narrow: lines of the tile's narrow side. Slices of 16 bits lie as mma.sync's ldmatrix takes either order; those of
 * fp32 as [k][line]. */
template <typename Type, int Narrow>
struct direct_shape {
    using T = Type;
    static constexpr bool is_f32 = sizeof(T) == 4;
    static constexpr int W = GEMM_DIRECT_WIDE, X = Narrow, blocks = X == 16 && !is_f32 ? 3 : 2;
    static constexpr int K = GEMM_DIRECT_SLICE_BYTES / (int)sizeof(T), piece = pack_width<T>;
    static constexpr int w_pitch = W + 4, x_pitch = X + 4; /* fp32: in elements */
    static constexpr int w_bytes = is_f32 ? K * w_pitch * 4 : W * 128;
    static constexpr int x_bytes = is_f32 ? K * x_pitch * 4 : (X > K ? X : K) * 128;
    static constexpr int buffer = (w_bytes + x_bytes + 1023) / 1024 * 1024;
    static constexpr int groups = is_f32 ? DIRECT_THREADS / (W / 8 * X / 4) : 1; /* that take turns along K */
    static constexpr int sums_pitch = W + 4, bytes = 2 * buffer;
    static_assert(X * sums_pitch * 4 <= bytes && blocks * (bytes + 1024) <= 227 * 1024);
};

/* One operand as lines of contiguous elements: `extent` lines of the tile's side, along K or across it. */
struct direct_side {
    const uint8_t *base, *end;
    int64_t line; /* bytes */
    int extent;
    bool along;
};

template <typename T>
struct direct_args {
    direct_side w, x;
    int k, each; /* slices of a block */
    void *c;
    int64_t c_w, c_x; /* steps of C along either side, in elements */
    float *sums;      /* of shares; NULL: to C */
    int64_t sums_next;
    bool wide, transposed; /* terms have C's rows and columns: transposed, w are the rows */
    float alpha;
    gemm_terms<T> terms;
};

/* ---- pieces ---- */

/* For each slice again: no registers for what follows from it. */
__device__ inline int thread_again(void) {
    int thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

/* 16 bytes on their way: from byte `shift` of low and high on. */
struct direct_piece {
    uint4 low, high;
    unsigned shift;
};

__device__ inline uint4 direct_cut(const direct_piece &p) {
    const unsigned v[8] = {p.low.x, p.low.y, p.low.z, p.low.w, p.high.x, p.high.y, p.high.z, p.high.w};
    unsigned two[6], one[5];
#pragma unroll
    for (int i = 0; i < 6; i++) two[i] = p.shift & 8 ? v[i + 2] : v[i];
#pragma unroll
    for (int i = 0; i < 5; i++) one[i] = p.shift & 4 ? two[i + 1] : two[i];
    const unsigned bits = p.shift % 4 * 8;
    return make_uint4(__funnelshift_r(one[0], one[1], bits), __funnelshift_r(one[1], one[2], bits),
                      __funnelshift_r(one[2], one[3], bits), __funnelshift_r(one[3], one[4], bits));
}

/* Elements at `from`, of which `valid` exist: one by one, at the ends of lines and of the matrix. */
__device__ inline unsigned direct_word(const float *from, int i, int valid) {
    return i < valid ? __float_as_uint(from[i]) : 0;
}
template <typename T>
__device__ inline unsigned direct_word(const T *from, int i, int valid) {
    const unsigned short *const halves = (const unsigned short *)from;
    const unsigned low = 2 * i < valid ? halves[2 * i] : 0, high = 2 * i + 1 < valid ? halves[2 * i + 1] : 0;
    return low | high << 16;
}
template <typename T>
__device__ inline uint4 direct_gather(const T *from, int valid) {
    return make_uint4(direct_word(from, 0, valid), direct_word(from, 1, valid), direct_word(from, 2, valid),
                      direct_word(from, 3, valid));
}

/* Elements [along, along + piece) of a line; those beyond `length` are zeros, and so are all where `is_line` is false. */
template <typename T>
__device__ inline void direct_fetch(direct_piece &p, const direct_side &side, int64_t line, int along, int length,
                                    bool is_line, uint64_t policy) {
    const uint8_t *const from = side.base + line * side.line + (int64_t)along * (int)sizeof(T);
    const int valid = is_line ? length - along : 0;
    const unsigned shift = (unsigned)((uintptr_t)from % 16);
    const uint8_t *const at = from - shift;
    const bool whole = valid >= pack_width<T> && at >= side.base && at + (shift ? 32 : 16) <= side.end;
    p.low = ld_global_v4_if(at, policy, whole);
    p.high = ld_global_v4_if(at + 16, policy, whole && shift);
    p.shift = whole ? shift : 0;
    if (!whole && valid > 0) p.low = direct_gather((const T *)from, valid);
}

/* A thread's pieces of a slice of one side, of Lines lines. */
template <class S, int Lines>
struct direct_pieces {
    static constexpr int all = Lines * 8, mine = (all + DIRECT_THREADS - 1) / DIRECT_THREADS;
    static constexpr int across = Lines / S::piece; /* pieces of a line that runs across K */
    direct_piece p[mine];

    /* Line and piece of the thread's i-th: neighbours in memory are a warp's, but for fp32 along K, which is transposed on
     * its way to shared memory, where a warp has different lines. */
    __device__ static void place(int at, bool along, int *line, int *piece) {
        if (!along)
            *line = at / across, *piece = at % across;
        else if (S::is_f32)
            *line = at % Lines, *piece = at / Lines;
        else
            *line = at / 8, *piece = at % 8;
    }
    /* first: the tile's first line; k: the slice's first. */
    __device__ void fetch(const direct_side &side, int first, int k, int k_end, uint64_t policy) {
        const int thread = thread_again();
#pragma unroll
        for (int i = 0; i < mine; i++) {
            int line, piece;
            place(i * DIRECT_THREADS + thread, side.along, &line, &piece);
            const bool here = all % DIRECT_THREADS == 0 || i * DIRECT_THREADS + thread < all;
            const int start = piece * S::piece;
            if (side.along)
                direct_fetch<typename S::T>(p[i], side, first + line, k + start, k_end,
                                            here && first + line < side.extent, policy);
            else
                direct_fetch<typename S::T>(p[i], side, k + line, first + start, side.extent, here && k + line < k_end,
                                            policy);
        }
    }
    __device__ void put(uint32_t to, bool along, int pitch) const {
        const int thread = thread_again();
#pragma unroll
        for (int i = 0; i < mine; i++) {
            if (all % DIRECT_THREADS && i * DIRECT_THREADS + thread >= all) continue;
            int line, piece;
            place(i * DIRECT_THREADS + thread, along, &line, &piece);
            const uint4 v = direct_cut(p[i]);
            if constexpr (!S::is_f32) {
                const int half = along ? 0 : piece / 8;
                st_shared_v4(to + (uint32_t)(half * S::K * 128 + swizzle_128B(line, piece % 8)), v);
            } else if (along) {
                const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                for (int e = 0; e < 4; e++)
                    st_shared(to + 4 * (uint32_t)((piece * 4 + e) * pitch + line), __uint_as_float(words[e]));
            } else {
                st_shared_v4(to + 4 * (uint32_t)(line * pitch + piece * 4), v);
            }
        }
    }
};

/* ---- products of a slice ---- */

/* 16 bits: a warp has 16 of w and all of x. */
template <class S>
struct direct_mma {
    float sums[S::X / 8][4] = {};

    __device__ void multiply(uint32_t w, uint32_t x, bool w_along, bool x_along) {
        const int thread = thread_again(), lane = thread % 32, warp = thread / 32, part = lane / 8;
#pragma unroll
        for (int s = 0; s < S::K / 16; s++) {
            unsigned a[4];
            if (w_along)
                ldmatrix_x4(a, w + (uint32_t)swizzle_128B(warp * 16 + lane % 16, 2 * s + lane / 16));
            else
                ldmatrix_x4_trans(
                    a, w + (uint32_t)(warp / 4 * S::K * 128 +
                                      swizzle_128B(16 * s + part / 2 * 8 + lane % 8, warp % 4 * 2 + part % 2)));
#pragma unroll
            for (int n = 0; n < S::X / 16; n++) {
                unsigned b[4];
                if (x_along)
                    ldmatrix_x4(b, x + (uint32_t)swizzle_128B(16 * n + part / 2 * 8 + lane % 8, 2 * s + part % 2));
                else
                    ldmatrix_x4_trans(b,
                                      x + (uint32_t)swizzle_128B(16 * s + part % 2 * 8 + lane % 8, 2 * n + part / 2));
                mma_m16n8k16(typename S::T(), sums[2 * n], a, b[0], b[1]);
                mma_m16n8k16(typename S::T(), sums[2 * n + 1], a, b[2], b[3]);
            }
        }
    }
    /* To [x][w]. */
    __device__ void put(uint32_t to) const {
        const int lane = (int)threadIdx.x % 32, w = (int)threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
        for (int n = 0; n < S::X / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                st_shared(to + 4 * (uint32_t)((8 * n + lane % 4 * 2 + e % 2) * S::sums_pitch + w + e / 2 * 8),
                          sums[n][e]);
    }
};

/* fp32: a thread has 2 x 4 of w by 4 of x; groups of threads take turns along K. */
template <class S>
struct direct_ffma {
    static constexpr int group_threads = DIRECT_THREADS / S::groups;
    float sums[4][8] = {};

    __device__ static int group(void) { return (int)threadIdx.x / group_threads; }
    __device__ static int w(int j) { return (int)threadIdx.x % 16 * 4 + j / 4 * 64 + j % 4; }
    __device__ static int x(void) { return (int)threadIdx.x % group_threads / 16 * 4; }

    __device__ void multiply(uint32_t from_w, uint32_t from_x, bool, bool) {
#pragma unroll 8
        for (int k = group(); k < S::K; k += S::groups) {
            const uint4 low = ld_shared_v4(from_w + 4 * (uint32_t)(k * S::w_pitch + w(0))),
                        high = ld_shared_v4(from_w + 4 * (uint32_t)(k * S::w_pitch + w(4))),
                        four = ld_shared_v4(from_x + 4 * (uint32_t)(k * S::x_pitch + x()));
            const unsigned a[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w},
                           b[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) sums[i][j] = fmaf(__uint_as_float(b[i]), __uint_as_float(a[j]), sums[i][j]);
        }
    }
    /* To [x][w], the groups' sums added in their order. */
    __device__ void put(uint32_t to) {
#pragma unroll 1
        for (int g = 0; g < S::groups; g++) {
            if (g == group()) {
#pragma unroll
                for (int i = 0; i < 4; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) {
                        const uint32_t at = to + 4 * (uint32_t)((x() + i) * S::sums_pitch + w(j));
                        st_shared(at, g == 0 ? sums[i][j] : ld_shared(at) + sums[i][j]);
                    }
            }
            if (S::groups > 1) __syncthreads();
        }
    }
};

/* ---- a block ---- */

/* The block's part of the cluster's tile: the sums of all blocks, in their order. Neighbouring threads have neighbours of
 * C in memory. */
template <class S>
__device__ inline void direct_store(const direct_args<typename S::T> &p, uint32_t sums, int rank, int cluster,
                                    int first_w, int first_x) {
    const int each = S::W / cluster;
    const bool along_w = p.c_w == 1;
    for (int i = (int)threadIdx.x; i < S::X * each; i += DIRECT_THREADS) {
        const int mine = along_w ? i % each : i / S::X, w = rank * each + mine, x = along_w ? i / each : i % S::X;
        const uint32_t at = sums + 4 * (uint32_t)(x * S::sums_pitch + w);
        float sum = 0.0f;
#pragma unroll 4
        for (int other = 0; other < cluster; other++) sum += ld_shared_cluster(at, other);
        if (first_x + x >= p.x.extent || first_w + w >= p.w.extent) continue;
        const int64_t to = (first_x + x) * p.c_x + (first_w + w) * p.c_w;
        float value = sum * p.alpha;
        if (p.sums) {
            p.sums[(int64_t)blockIdx.z * p.sums_next + to] = value;
            continue;
        }
        if (p.terms.any())
            value = p.transposed ? p.terms.of(value, first_w + w, first_x + x)
                                 : p.terms.of(value, first_x + x, first_w + w);
        if (p.wide)
            ((float *)p.c)[to] = value;
        else
            ((typename S::T *)p.c)[to] = from_float<typename S::T>(value);
    }
}

template <class S>
__global__ void __launch_bounds__(DIRECT_THREADS, S::blocks)
    direct_kernel(const __grid_constant__ direct_args<typename S::T> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t direct_shared[];
    const uint32_t base = shared_address(direct_shared);
    const int rank = cluster_ctarank(), cluster = cluster_nctarank();
    const int first_w = (int)blockIdx.x / cluster * S::W, first_x = (int)blockIdx.y * S::X;
    const int64_t first = (int64_t)((int)blockIdx.z * cluster + rank) * p.each * S::K;
    const int k_begin = (int)min((int64_t)p.k, first), k_end = (int)min((int64_t)p.k, first + (int64_t)p.each * S::K);
    const uint64_t once = createpolicy_evict_first(), again = createpolicy_evict_last();
    direct_pieces<S, S::W> w;
    direct_pieces<S, S::X> x;
    std::conditional_t<S::is_f32, direct_ffma<S>, direct_mma<S>> product;
    after_previous_launch();
    if (k_begin < k_end) {
        w.fetch(p.w, first_w, k_begin, k_end, once), x.fetch(p.x, first_x, k_begin, k_end, again);
    }
#pragma unroll 1
    for (int k = k_begin, turn = 0; k < k_end; k += S::K, turn ^= 1) {
        const uint32_t of_w = base + (uint32_t)(turn * S::buffer), of_x = of_w + S::w_bytes;
        w.put(of_w, p.w.along, S::w_pitch), x.put(of_x, p.x.along, S::x_pitch);
        __syncthreads(); /* also: the other buffer has been read */
        const int next = k + S::K;
        if (next < k_end) w.fetch(p.w, first_w, next, k_end, once), x.fetch(p.x, first_x, next, k_end, again);
        product.multiply(of_w, of_x, p.w.along, p.x.along);
    }
    __syncthreads(); /* the slices have been read: the sums take their place */
    product.put(base);
    barrier_cluster_sync();
    direct_store<S>(p, base, rank, cluster, first_w, first_x);
    barrier_cluster_sync(); /* a block must not exit while others read its sums */
#else
    __trap(); /* launched on Hopper alone */
#endif
}

/* ---- launch ---- */

template <typename T>
static direct_side direct_side_of(const matrix_view &m) { /* [lines, k] */
    const bool along = m.step == 1;
    const int64_t line = along ? m.line : m.step, last = (along ? m.rows : m.columns) - 1;
    const int64_t length = along ? m.columns : m.rows;
    const uint8_t *const base = (const uint8_t *)m.base;
    const int64_t elements = m.rows > 0 && m.columns > 0 ? last * line + length : 0;
    return {base, base + elements * (int64_t)sizeof(T), line * (int64_t)sizeof(T), (int)m.rows, along};
}

template <class S>
static ridge_status direct_run(const gemm_direct &d, const direct_args<typename S::T> &p, cudaStream_t stream) {
    static allowed_per_device allowed;
    const auto kernel = direct_kernel<S>;
    RIDGE_TRY(
        cuda_status(allowed.get([&] { return allow_shared((const void *)kernel, S::bytes); }), "cudaFuncSetAttribute"));
    const dim3 grid((unsigned)(d.wide_tiles * d.cluster), (unsigned)d.narrow_tiles, (unsigned)d.shares);
    return launch_as(LAUNCH_OVERLAP, kernel, {grid, DIRECT_THREADS, S::bytes, d.cluster}, stream, p);
}

template <typename T>
static ridge_status direct_of(const gemm_call &g) {
    const gemm_problem problem = g.problem();
    const gemm_direct d = gemm_direct_of(&problem);
    direct_args<T> p = {};
    const direct_side a = direct_side_of<T>(g.a), b = direct_side_of<T>(transposed(g.b));
    p.w = d.transposed ? a : b, p.x = d.transposed ? b : a;
    p.k = (int)problem.k, p.each = (int)d.each;
    p.c = g.c.base, p.wide = g.wide, p.alpha = g.alpha, p.transposed = d.transposed, p.terms = g.terms<T>();
    const int64_t line = d.shares > 1 ? gemm_share_line(problem.n) : g.c.line;
    p.c_w = d.transposed ? line : 1, p.c_x = d.transposed ? 1 : line;
    if (d.shares > 1) p.sums = (float *)g.scratch, p.sums_next = problem.m * line;
    const ridge_status status = d.narrow == 16 ? direct_run<direct_shape<T, 16>>(d, p, g.stream)
                                               : direct_run<direct_shape<T, 64>>(d, p, g.stream);
    return status == RIDGE_OK && d.shares > 1 ? gemm_add_shares(g, p.sums, d.shares) : status;
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_direct(const ridge_call *call) {
    using namespace ridge;
    const gemm_call g(call);
    if (g.c.rows == 0 || g.c.columns == 0) return RIDGE_OK;
    return with_storage(g.dtype, [&]<typename T>() { return direct_of<T>(g); });
}

/* Products of up to 16 rows in 16 bits, by mma.sync, of operands that lie anywhere: see direct.h.
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
}

namespace ridge {

constexpr int DIRECT_THREADS = 256, DIRECT_PIECE = 8; /* elements */
constexpr int DIRECT_W = GEMM_DIRECT_WIDE, DIRECT_X = GEMM_DIRECT_NARROW, DIRECT_K = GEMM_DIRECT_SLICE;
/* Shared memory: two slices of w and of x, in lines of 128 bytes along K or across it; then sums, [x][w] of fp32. */
constexpr int DIRECT_W_BYTES = DIRECT_W * 128, DIRECT_SLICE_BYTES = DIRECT_W_BYTES + DIRECT_K * 128;
constexpr int DIRECT_BYTES = 2 * DIRECT_SLICE_BYTES, DIRECT_SUMS_PITCH = DIRECT_W + 4;
static_assert(DIRECT_X * DIRECT_SUMS_PITCH * 4 <= DIRECT_BYTES && GEMM_DIRECT_BLOCKS * DIRECT_BYTES <= 227 * 1024);

/* One operand as lines of contiguous elements: `extent` lines of the tile's side, along K or across it. */
struct direct_side {
    const uint8_t *base, *end;
    int64_t line; /* bytes */
    int extent;
    bool along;
};

template <typename T>
struct direct_args {
    direct_side w, x; /* the other operand, and the narrow one */
    int k, each;      /* slices of a block */
    void *c;
    int64_t c_w, c_x;      /* steps of C along either side, in elements */
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
    const uint8_t *const from = side.base + line * side.line + 2 * (int64_t)along;
    const int valid = is_line ? length - along : 0;
    const unsigned shift = (unsigned)((uintptr_t)from % 16);
    const uint8_t *const at = from - shift;
    const bool whole = valid >= DIRECT_PIECE && at >= side.base && at + (shift ? 32 : 16) <= side.end;
    p.low = ld_global_v4_if(at, policy, whole);
    p.high = ld_global_v4_if(at + 16, policy, whole && shift);
    p.shift = whole ? shift : 0;
    if (!whole && valid > 0) p.low = direct_gather((const T *)from, valid);
}

/* A thread's pieces of a slice of one side, of Lines lines: neighbours in memory are a warp's. */
template <typename T, int Lines>
struct direct_pieces {
    static constexpr int all = Lines * 8, mine = (all + DIRECT_THREADS - 1) / DIRECT_THREADS;
    static constexpr int across = Lines / DIRECT_PIECE; /* pieces of a line that runs across K; along it there are 8 */
    direct_piece p[mine];

    __device__ static bool is_here(int at) { return all % DIRECT_THREADS == 0 || at < all; }
    /* first: the tile's first line; k: the slice's first. */
    __device__ void fetch(const direct_side &side, int first, int k, int k_end, uint64_t policy) {
        if (side.along)
            fetch_lines<8>(side, first, side.extent, k, k_end, policy);
        else
            fetch_lines<across>(side, k, k_end, first, side.extent, policy);
    }
    __device__ void put(uint32_t to, bool along) const {
        if (along)
            put_lines<8>(to);
        else
            put_lines<across>(to);
    }

   private:
    /* Each: pieces of a line. */
    template <int Each>
    __device__ void fetch_lines(const direct_side &side, int first, int lines, int start, int length, uint64_t policy) {
        const int thread = thread_again();
#pragma unroll
        for (int i = 0; i < mine; i++) {
            const int at = i * DIRECT_THREADS + thread, line = first + at / Each;
            direct_fetch<T>(p[i], side, line, start + at % Each * DIRECT_PIECE, length, is_here(at) && line < lines,
                            policy);
        }
    }
    template <int Each>
    __device__ void put_lines(uint32_t to) const {
        const int thread = thread_again();
#pragma unroll
        for (int i = 0; i < mine; i++) {
            const int at = i * DIRECT_THREADS + thread, piece = at % Each;
            if (is_here(at))
                st_shared_v4(to + (uint32_t)(piece / 8 * DIRECT_K * 128 + swizzle_128B(at / Each, piece % 8)),
                             direct_cut(p[i]));
        }
    }
};

/* ---- a block ---- */

/* Of a warp: 16 of w and all of x. */
struct direct_sums {
    float v[DIRECT_X / 8][4] = {};

    template <typename T>
    __device__ void add(uint32_t w, uint32_t x, bool w_along, bool x_along) {
        const int thread = thread_again(), lane = thread % 32, warp = thread / 32, part = lane / 8;
#pragma unroll
        for (int s = 0; s < DIRECT_K / 16; s++) {
            unsigned a[4], b[4];
            if (w_along)
                ldmatrix_x4(a, w + (uint32_t)swizzle_128B(warp * 16 + lane % 16, 2 * s + lane / 16));
            else
                ldmatrix_x4_trans(
                    a, w + (uint32_t)(warp / 4 * DIRECT_K * 128 +
                                      swizzle_128B(16 * s + part / 2 * 8 + lane % 8, warp % 4 * 2 + part % 2)));
            if (x_along)
                ldmatrix_x4(b, x + (uint32_t)swizzle_128B(part / 2 * 8 + lane % 8, 2 * s + part % 2));
            else
                ldmatrix_x4_trans(b, x + (uint32_t)swizzle_128B(16 * s + part % 2 * 8 + lane % 8, part / 2));
            mma_m16n8k16(T(), v[0], a, b[0], b[1]);
            mma_m16n8k16(T(), v[1], a, b[2], b[3]);
        }
    }
    /* To [x][w]. */
    __device__ void put(uint32_t to) const {
        const int lane = (int)threadIdx.x % 32, w = (int)threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
        for (int n = 0; n < DIRECT_X / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                st_shared(to + 4 * (uint32_t)((8 * n + lane % 4 * 2 + e % 2) * DIRECT_SUMS_PITCH + w + e / 2 * 8),
                          v[n][e]);
    }
};

/* The block's part of the cluster's tile, the sums of all blocks in their order: a thread has four of w. */
template <typename T>
__device__ inline void direct_store(const direct_args<T> &p, uint32_t sums, int rank, int cluster, int first) {
    const int each = DIRECT_W / cluster;
    for (int i = (int)threadIdx.x; i < DIRECT_X * each / 4; i += DIRECT_THREADS) {
        const int x = p.c_w == 1 ? i / (each / 4) : i % DIRECT_X; /* neighbours in memory are a warp's */
        const int w = rank * each + (p.c_w == 1 ? i % (each / 4) : i / DIRECT_X) * 4;
        const uint32_t at = sums + 4 * (uint32_t)(x * DIRECT_SUMS_PITCH + w);
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
        for (int other = 0; other < cluster; other++) {
            const float4 v = ld_shared_cluster_v4(at, other);
            sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
        }
        const float values[4] = {sum.x, sum.y, sum.z, sum.w};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int mine = first + w + j;
            if (x >= p.x.extent || mine >= p.w.extent) continue;
            const int64_t to = x * p.c_x + mine * p.c_w;
            float value = values[j] * p.alpha;
            if (p.terms.any()) value = p.transposed ? p.terms.of(value, mine, x) : p.terms.of(value, x, mine);
            if (p.wide)
                ((float *)p.c)[to] = value;
            else
                ((T *)p.c)[to] = from_float<T>(value);
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(DIRECT_THREADS, GEMM_DIRECT_BLOCKS)
    direct_kernel(const __grid_constant__ direct_args<T> p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(1024) uint8_t direct_shared[];
    const uint32_t base = shared_address(direct_shared);
    const int rank = cluster_ctarank(), cluster = cluster_nctarank();
    const int first = (int)blockIdx.x / cluster * DIRECT_W;
    const int64_t begin = (int64_t)rank * p.each * DIRECT_K, end = begin + (int64_t)p.each * DIRECT_K;
    const int k_begin = (int)min((int64_t)p.k, begin), k_end = (int)min((int64_t)p.k, end);
    const uint64_t once = createpolicy_evict_first(), again = createpolicy_evict_last();
    direct_pieces<T, DIRECT_W> w;
    direct_pieces<T, DIRECT_X> x;
    direct_sums product;
    after_previous_launch();
    if (k_begin < k_end) w.fetch(p.w, first, k_begin, k_end, once), x.fetch(p.x, 0, k_begin, k_end, again);
#pragma unroll 1
    for (int k = k_begin, turn = 0; k < k_end; k += DIRECT_K, turn ^= 1) {
        const uint32_t of_w = base + (uint32_t)(turn * DIRECT_SLICE_BYTES), of_x = of_w + DIRECT_W_BYTES;
        w.put(of_w, p.w.along), x.put(of_x, p.x.along);
        __syncthreads(); /* also: the other slice has been read */
        const int next = k + DIRECT_K;
        if (next < k_end) w.fetch(p.w, first, next, k_end, once), x.fetch(p.x, 0, next, k_end, again);
        product.template add<T>(of_w, of_x, p.w.along, p.x.along);
    }
    __syncthreads(); /* the slices have been read: the sums take their place */
    product.put(base);
    barrier_cluster_sync();
    direct_store<T>(p, base, rank, cluster, first);
    barrier_cluster_sync(); /* a block must not exit while others read its sums */
#else
    __trap(); /* launched on Hopper alone */
#endif
}

/* ---- launch ---- */

static direct_side direct_side_of(const matrix_view &m) { /* [lines, k] */
    const bool along = m.step == 1;
    const int64_t line = along ? m.line : m.step, last = (along ? m.rows : m.columns) - 1;
    const int64_t length = along ? m.columns : m.rows;
    const int64_t elements = m.rows > 0 && m.columns > 0 ? last * line + length : 0;
    const uint8_t *const base = (const uint8_t *)m.base;
    return {base, base + 2 * elements, 2 * line, (int)m.rows, along};
}

template <typename T>
static ridge_status direct_of(const gemm_call &g) {
    const gemm_problem problem = g.problem();
    const gemm_direct d = gemm_direct_of(&problem);
    const direct_side a = direct_side_of(g.a), b = direct_side_of(transposed(g.b));
    direct_args<T> p = {};
    p.w = d.transposed ? a : b, p.x = d.transposed ? b : a;
    p.k = (int)problem.k, p.each = (int)d.each;
    p.c = g.c.base, p.c_w = d.transposed ? g.c.line : 1, p.c_x = d.transposed ? 1 : g.c.line;
    p.wide = g.wide, p.alpha = g.alpha, p.transposed = d.transposed, p.terms = g.terms<T>();
    const auto kernel = direct_kernel<T>;
    const dim3 grid((unsigned)(d.tiles * d.cluster));
    return launch_as(LAUNCH_OVERLAP, kernel, {grid, DIRECT_THREADS, DIRECT_BYTES, d.cluster}, g.stream, p);
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_direct(const ridge_call *call) {
    using namespace ridge;
    const gemm_call g(call);
    if (g.c.rows == 0 || g.c.columns == 0) return RIDGE_OK;
    if (g.dtype == RIDGE_BF16) return direct_of<__nv_bfloat16>(g);
    return g.dtype == RIDGE_F16 ? direct_of<__half>(g) : RIDGE_UNSUPPORTED;
}

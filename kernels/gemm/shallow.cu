/* Products of a small K, by fp32 multiply-adds or mma.sync (16 bits): see shallow.h. Neighbouring lanes write neighbouring words of
 * C, whose lines begin anywhere: a warp's 128 bytes are in one or two lines of L2. */
#include "gemm/call.cuh"
#include "cuda/ptx/global.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/ptx/math.cuh"
#include "cuda/ptx/mma.cuh"
#include "cuda/ptx/shared.cuh"

extern "C" {
#include "gemm/shallow.h"
}

namespace ridge {

constexpr int SHALLOW_THREADS = 32 * GEMM_SHALLOW_WARPS;

/* Element (i, k) is i line + k step elements behind the first. */
template <typename T>
struct shallow_side {
    const T *base;
    int64_t line, step;

    explicit shallow_side(const matrix_view &m) : base((const T *)m.base), line(m.line), step(m.step) {}
    __device__ T at(int64_t i, int k) const { return base[i * line + k * step]; }
};

template <typename T, typename To>
struct shallow_args {
    shallow_side<T> a, b; /* [rows, depth], [columns, depth] */
    int rows, columns, depth;
    To *c;
    int64_t line;
    float alpha;
    gemm_terms<T> terms;
};

/* Loads of a thread that are under way together: one by one, each would wait for memory. */
constexpr int SHALLOW_LOADS = 16;

/* The block's columns of B to their places, zeros behind them and behind the depth. Neighbouring threads read neighbours. */
template <int Most, typename T, typename To, typename Put>
__device__ inline void shallow_fill(const shallow_args<T, To> &p, int first, const Put &put) {
    const bool across = p.b.line == 1;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < Most * GEMM_SHALLOW_COLUMNS; i += SHALLOW_LOADS * SHALLOW_THREADS) {
        T v[SHALLOW_LOADS];
        const auto each = [&](const auto &f) {
#pragma unroll
            for (int e = 0; e < SHALLOW_LOADS; e++) {
                const int at = i + e * SHALLOW_THREADS;
                f(e, across ? at % GEMM_SHALLOW_COLUMNS : at / Most, across ? at / GEMM_SHALLOW_COLUMNS : at % Most);
            }
        };
        each([&](int e, int column, int k) {
            v[e] = first + column < p.columns && k < p.depth ? p.b.at(first + column, k) : T(0.0f);
        });
        each([&](int e, int column, int k) { put(column, k, v[e]); });
    }
}

/* fp32: a warp has 8 rows, a lane every 32nd of 128 columns. Most: steps of K, 32 or 64. */
template <int Most>
struct shallow_ffma {
    static constexpr int rows = GEMM_SHALLOW_ROWS, most = Most, loads = rows * most / 32,
                         pitch = GEMM_SHALLOW_COLUMNS + 1;
    static constexpr int each = GEMM_SHALLOW_COLUMNS / 32, own = GEMM_SHALLOW_COLUMNS;
    struct memory {
        float a[GEMM_SHALLOW_WARPS][rows][most], b[most][pitch];
    };
    using args = shallow_args<float, float>;
    float next[loads]; /* of A, on the way */

    __device__ static void fill(memory &to, const args &p, int first) {
        shallow_fill<most>(p, first, [&](int column, int k, float v) { to.b[k][column] = v; });
    }
    /* Row and step of number i: neighbouring lanes have neighbours in memory. */
    __device__ static int2 place(const args &p, int i, int lane) {
        return p.a.line == 1 ? make_int2(lane % rows, lane / rows + 32 / rows * i)
                             : make_int2(i % rows, lane + i / rows * 32);
    }
    /* Rows behind the last are that one again: they are not stored. */
    __device__ void fetch(const args &p, int row, int lane) {
#pragma unroll
        for (int i = 0; i < loads; i++) {
            const int2 at = place(p, i, lane);
            next[i] = at.y < p.depth ? p.a.at(min(row + at.x, p.rows - 1), at.y) : 0.0f;
        }
    }
    __device__ void put(memory &to, const args &p, int warp, int lane) const {
#pragma unroll
        for (int i = 0; i < loads; i++) {
            const int2 at = place(p, i, lane);
            to.a[warp][at.x][at.y] = next[i];
        }
    }
    __device__ static void multiply(float (&sums)[rows][each], const memory &from, int warp, int lane, int depth) {
        for (int k = 0; k < depth; k += 4) {
            float4 a[rows];
#pragma unroll
            for (int r = 0; r < rows; r++) a[r] = *(const float4 *)&from.a[warp][r][k];
#pragma unroll
            for (int s = 0; s < 4; s++) {
                float b[each];
#pragma unroll
                for (int j = 0; j < each; j++) b[j] = from.b[k + s][lane + 32 * j];
#pragma unroll
                for (int r = 0; r < rows; r++)
#pragma unroll
                    for (int j = 0; j < each; j++)
                        sums[r][j] = fmaf(s == 0   ? a[r].x
                                          : s == 1 ? a[r].y
                                          : s == 2 ? a[r].z
                                                   : a[r].w,
                                          b[j], sums[r][j]);
            }
        }
    }
    template <typename Fetch>
    __device__ static void finish(memory &shared, const args &p, int row, int first, int warp, int lane,
                                  const Fetch &fetch_next) {
        fetch_next(); /* while these are multiplied */
        float sums[rows][each] = {};
        multiply(sums, shared, warp, lane, p.depth);
        const int left = p.columns - first - lane;
#pragma unroll
        for (int r = 0; r < rows; r++)
#pragma unroll
            for (int j = 0; j < each; j++) sums[r][j] *= p.alpha;
        if (p.terms.any())
#pragma unroll
            for (int r = 0; r < rows; r++) {
#pragma unroll
                for (int j = 0; j < each; j++)
                    if (row + r < p.rows && 32 * j < left)
                        sums[r][j] = p.terms.added(sums[r][j], row + r, first + lane + 32 * j);
                gemm_activate(sums[r], p.terms.function);
            }
        float *to = p.c + row * p.line + first + lane;
#pragma unroll
        for (int r = 0; r < rows; r++, to += p.line) {
            if (row + r >= p.rows) break;
#pragma unroll
            for (int j = 0; j < each; j++)
                if (32 * j < left) to[32 * j] = sums[r][j];
        }
    }
};

/* 16 bits: a warp has 16 rows and 128 columns, tiles of mma.sync, whose results meet in its shared memory as lines. Of these leave
 * the sectors of L2 that begin within the unit's 112 columns: none is written twice, in parts. */
template <typename T, typename To>
struct shallow_mma {
    static constexpr int rows = GEMM_SHALLOW_ROWS_16, most = GEMM_SHALLOW_K_16;
    static constexpr int columns = GEMM_SHALLOW_COLUMNS, own = GEMM_SHALLOW_COLUMNS_16;
    static constexpr int tiles = 8;        /* that are multiplied at once: 64 columns */
    static constexpr int pitch = most + 8; /* of K's elements: ldmatrix has no conflicts */
    static constexpr int per = 4 / (int)sizeof(To), of_pack = 4 * per, of_sector = 8 * per;
    static_assert(columns - own == 16 && own % of_sector == 0);
    struct memory {
        T a[GEMM_SHALLOW_WARPS][rows][pitch], b[columns][pitch];
        __align__(16) unsigned line[GEMM_SHALLOW_WARPS][rows][columns / per + 4];
    };
    using args = shallow_args<T, To>;
    static constexpr int pairs = rows / 2; /* of K's elements, of a lane */
    T next[pairs][2];                      /* of A, on the way */

    __device__ static void fill(memory &to, const args &p, int first) {
        shallow_fill<most>(p, first, [&](int column, int k, T v) { to.b[column][k] = v; });
    }
    /* Row and step of a pair. */
    __device__ static int2 place(const args &p, int i, int lane) {
        return p.a.line == 1 ? make_int2(lane % rows, 2 * (lane / rows + 32 / rows * i))
                             : make_int2(2 * i + lane / 16, lane % 16 * 2);
    }
    __device__ void fetch(const args &p, int row, int lane) {
#pragma unroll
        for (int i = 0; i < pairs; i++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int2 at = place(p, i, lane);
                next[i][e] = at.y + e < p.depth ? p.a.at(min(row + at.x, p.rows - 1), at.y + e) : T(0.0f);
            }
    }
    __device__ void put(memory &to, const args &p, int warp, int lane) const {
#pragma unroll
        for (int i = 0; i < pairs; i++) {
            const int2 at = place(p, i, lane);
            *(pack<T, 2> *)&to.a[warp][at.x][at.y] = {next[i][0], next[i][1]};
        }
    }
    /* 64 columns from `column` on. */
    __device__ static void multiply(float (&sums)[tiles][4], const memory &from, int column, int warp, int lane,
                                    int depth) {
        const uint32_t a = shared_address(&from.a[warp][lane % 16][lane / 16 * 8]);
        const uint32_t b = shared_address(&from.b[column + lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8]);
        for (int k = 0; k < depth; k += 16) {
            unsigned of_a[4];
            ldmatrix_x4(of_a, a + 2 * (uint32_t)k);
#pragma unroll
            for (int j = 0; j < tiles; j += 2) {
                unsigned of_b[4];
                ldmatrix_x4(of_b, b + 2 * (uint32_t)(j * 8 * pitch + k));
                mma_m16n8k16(T(), sums[j], of_a, of_b[0], of_b[1]);
                mma_m16n8k16(T(), sums[j + 1], of_a, of_b[2], of_b[3]);
            }
        }
    }
    /* Elements from a boundary of 16 bytes to where C's line begins. In shared memory it begins behind as many, or behind one more
     * where these are no whole words. */
    __device__ static int skew(const To *to) { return (int)((uintptr_t)to % 16 / sizeof(To)); }
    __device__ static int odd(int skew) { return skew % per; }
    /* Whether the sector of a pack that begins with this element of the line begins in the unit, or before the first one. */
    __device__ static bool is_own(const To *to, int element, int column) {
        const int begin = element - (int)((uintptr_t)(to + element) % 32 / sizeof(To));
        return (begin >= 0 || column == 0) && begin < own;
    }

    /* What becomes of the sums, to the warp's lines; `at` of them. */
    __device__ static void put_line(memory &shared, const args &p, float (&sums)[tiles][4], int row, int column, int at,
                                    int warp, int lane) {
        const int mine = lane / 4, of_tile = lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < tiles; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) sums[j][e] *= p.alpha;
        if (p.terms.any())
#pragma unroll
            for (int j = 0; j < tiles; j++) {
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const int r = row + mine + e / 2 * 8, c = column + at + 8 * j + of_tile + e % 2;
                    if (r < p.rows && c < p.columns) sums[j][e] = p.terms.added(sums[j][e], r, c);
                }
                gemm_activate(sums[j], p.terms.function);
            }
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int r = mine + 8 * half, behind = skew(p.c + (row + r) * p.line + column);
            unsigned *const to = &shared.line[warp][r][(behind + odd(behind) + at + of_tile) / per];
#pragma unroll
            for (int j = 0; j < tiles; j++) {
                const float *const v = &sums[j][2 * half];
                if constexpr (per == 1)
                    to[8 * j] = __float_as_uint(v[0]), to[8 * j + 1] = __float_as_uint(v[1]);
                else
                    to[4 * j] = cvt_rn_x2(To(), v[0], v[1]);
            }
        }
    }
    /* Pack by pack of 16 bytes; count: of C's columns from `column` on. */
    __device__ static void store_packs(const memory &shared, const args &p, int row, int column, int count, int warp,
                                       int lane) {
        constexpr int packs = columns / of_pack;
        const int number = lane % packs;
        To *to = p.c + (row + lane / packs) * p.line + column;
#pragma unroll 4
        for (int r = lane / packs; r < rows; r += 32 / packs, to += 32 / packs * p.line) {
            const int behind = skew(to), first = of_pack * number - behind;
            if (row + r >= p.rows || first < 0 || first + of_pack > count || !is_own(to, first, column)) continue;
            const unsigned *const from = &shared.line[warp][r][4 * number];
            const uint4 v = *(const uint4 *)from;
            const unsigned next = from[4], shift = 16 * (unsigned)odd(behind);
            st_global_v4(to + first, make_uint4(__funnelshift_r(v.x, v.y, shift), __funnelshift_r(v.y, v.z, shift),
                                                __funnelshift_r(v.z, v.w, shift), __funnelshift_r(v.w, next, shift)));
        }
    }
    /* What is left of C's line before its first whole pack, and behind its last. */
    __device__ static void store_ends(const memory &shared, const args &p, int row, int column, int count, int warp,
                                      int lane) {
        const int r = lane % rows;
        if (row + r >= p.rows) return;
        To *const to = p.c + (row + r) * p.line + column;
        const int behind = skew(to), head = column == 0 && behind ? min(of_pack - behind, count) : 0;
        const int last = (count + behind) / of_pack * of_pack - behind,
                  tail = is_own(to, last, column) ? max(last, head) : count;
        const To *const from = (const To *)shared.line[warp][r] + behind + odd(behind);
#pragma unroll 1
        for (int i = lane < rows ? 0 : tail; i < (lane < rows ? head : count); i++) to[i] = from[i];
    }
    template <typename Fetch>
    __device__ static void finish(memory &shared, const args &p, int row, int column, int warp, int lane,
                                  const Fetch &fetch_next) {
        const int count = p.columns - column;
#pragma unroll 1
        for (int part = 0; part < min(count, columns); part += 8 * tiles) {
            float sums[tiles][4] = {};
            multiply(sums, shared, part, warp, lane, p.depth);
            put_line(shared, p, sums, row, column, part, warp, lane);
        }
        fetch_next(); /* while these leave: before, there are no registers left */
        __syncwarp();
        store_packs(shared, p, row, column, count, warp, lane);
        if (column == 0 || count < columns) store_ends(shared, p, row, column, count, warp, lane);
    }
};

template <class Product, typename T, typename To>
__global__ void __launch_bounds__(SHALLOW_THREADS, GEMM_SHALLOW_BLOCKS)
    shallow_product(const __grid_constant__ shallow_args<T, To> p, const gemm_shallow_units units) {
    extern __shared__ float4 shallow_room[];
    auto &shared = *(typename Product::memory *)shallow_room;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const auto row_of = [&](int group) { return (group * GEMM_SHALLOW_WARPS + warp) * Product::rows; };
    after_previous_launch();
    Product product;
    for (int unit = (int)blockIdx.x; unit < units.count; unit += (int)gridDim.x) {
        const int column = unit % units.tiles * Product::own;
        int group = unit / units.tiles * units.deep;
        const int end = min(group + units.deep, units.groups);
        product.fetch(p, row_of(group), lane);
        __syncthreads(); /* the unit before has been multiplied */
        Product::fill(shared, p, column);
        __syncthreads();
        for (; group < end; group++) {
            product.put(shared, p, warp, lane);
            __syncwarp();
            Product::finish(shared, p, row_of(group), column, warp, lane, [&] {
                if (group + 1 < end) product.fetch(p, row_of(group + 1), lane);
            });
            __syncwarp(); /* the rows have been read */
        }
    }
}

template <class Product, typename T, typename To>
static ridge_status shallow_run(const gemm_call &g) {
    const shallow_args<T, To> p = {shallow_side<T>(g.a),
                                   shallow_side<T>(transposed(g.b)),
                                   (int)g.c.rows,
                                   (int)g.c.columns,
                                   (int)g.a.columns,
                                   (To *)g.c.base,
                                   g.c.line,
                                   g.alpha,
                                   g.terms<T>()};
    const gemm_shallow_units units =
        gemm_shallow_units_of(p.rows, p.columns, sizeof(T) == 2, device_limit(cudaDevAttrMultiProcessorCount));
    return launch_overlapping(shallow_product<Product, T, To>,
                              {dim3((unsigned)units.blocks), SHALLOW_THREADS, (int)sizeof(typename Product::memory)},
                              g.stream, device_overlaps(), p, units);
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_shallow(const ridge_call *call) {
    using namespace ridge;
    const gemm_call g(call);
    if (g.c.rows == 0 || g.c.columns == 0) return RIDGE_OK;
    return with_storage(g.dtype, [&]<typename T>() {
        if constexpr (sizeof(T) == 4)
            return g.a.columns <= 32 ? shallow_run<shallow_ffma<32>, float, float>(g)
                                     : shallow_run<shallow_ffma<GEMM_SHALLOW_K>, float, float>(g);
        else
            return g.wide ? shallow_run<shallow_mma<T, float>, T, float>(g) : shallow_run<shallow_mma<T, T>, T, T>(g);
    });
}

/* Products in 16 bits by wgmma: the pipeline of cuda/gemm/matmul.cuh in the tiles of tiles.h. The sums leave by TMA, or
 * as fp32: C itself, or those of each share of K, which a second launch adds in their order. fp32 leaves by TMA, too, where C lies
 * in pieces of 16 bytes. */
#ifndef RIDGE_GEMM_WGMMA_CUH
#define RIDGE_GEMM_WGMMA_CUH

#include "gemm/call.cuh"
#include "cuda/epilogue/store_added.cuh"
#include "cuda/gemm/products.cuh"

extern "C" {
#include "gemm/wgmma.h"
}

namespace ridge {

/* C = alpha times the sums. */
template <typename T, int N>
struct gemm_epilogue {
    CUtensorMap map;
    float *wide; /* NULL: by the map, in 16 bits */
    int64_t line, next;
    float alpha;
    int rows, columns;
    int across;  /* 0, or columns of tiles of a share of K */
    bool pairs;  /* two neighbours of `wide` can be stored at once */
    bool mapped; /* `wide` by the map */
    static constexpr int scratch = store_slots<T, N>::bytes;
    static bool waits(void) { return false; }
    struct state {};
    __device__ void prepare(uint32_t at) const { store_slots<T, N>{at}.init(); }
    __device__ state begin(const matmul_tile &, int) const { return {}; }
    __device__ void finish(const matmul_tile &tile, const state &, float (&sums)[N / 2], uint32_t at, int group) const {
#pragma unroll
        for (int i = 0; i < N / 2; i++) sums[i] *= alpha;
        keep(tile, sums, at, group);
    }
    __device__ void keep(const matmul_tile &tile, const float (&sums)[N / 2], uint32_t at, int group) const {
        if (!wide) return store_slots<T, N>{at}.put(sums, tile.number);
        if (mapped) return store_slots<float, N>{at}.put(sums, tile.number);
        const int share = across > 0 ? tile.n / N / across : 0;
        const matmul_tile here = {tile.m, tile.n - share * across * N, tile.part, tile.opens};
        store_pairs<N>(wide + share * next, line, rows, columns, here, sums, group, pairs);
    }
    __device__ void end(void) const {}
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t slots) const {
        if (!wide)
            store_tiles<S, T>(&map, plan, rank, slots);
        else if (mapped)
            store_tiles<S, float>(&map, plan, rank, slots);
    }
};

/* What terms make of alpha times the sums. Biases are loaded ahead of a tile's products; an addend comes by TMA while they
 * are made. What TMA does not take, or fp32, is loaded element by element behind them. */
template <typename T, int N>
struct gemm_terms_epilogue : gemm_epilogue<T, N> {
    using plain = gemm_epilogue<T, N>;
    CUtensorMap addend_map;
    gemm_terms<T> terms;
    bool ahead;                                           /* all terms are loaded ahead */
    static constexpr int bias_at = tile_store_bytes + 64; /* in a warpgroup's scratch, behind the slots' barriers */
    static_assert(bias_at + 2 * N <= plain::scratch);
    struct state {
        unsigned bias;   /* of columns 2 t and 2 t + 1, t: the thread */
        float low, high; /* of the thread's two rows */
    };
    __device__ state begin(const matmul_tile &tile, int group) const {
        state s = {0u, 0.0f, 0.0f};
        if (!ahead) return s;
        const int row = tile.m + fragment_row(group), pair = 2 * thread_of_warpgroup(), column = tile.n + pair;
        if (terms.bias && pair < N) {
            const float low = column < this->columns ? to_float(terms.bias[column]) : 0.0f;
            const float high = column + 1 < this->columns ? to_float(terms.bias[column + 1]) : 0.0f;
            s.bias = cvt_rn_x2(T(), low, high);
        }
        if (terms.row_bias) {
            s.low = row < this->rows ? to_float(terms.row_bias[row]) : 0.0f;
            s.high = row + 8 < this->rows ? to_float(terms.row_bias[row + 8]) : 0.0f;
        }
        return s;
    }
    /* Byte of pair 4 j + t of a tile's columns: a lane reads those of j and of j + 1 at once. */
    __device__ static uint32_t place_of(int pair) {
        return (uint32_t)(bias_at + 4 * (pair / 8 * 8 + pair % 4 * 2 + pair / 4 % 2));
    }
    __device__ void add_biases(const state &s, float (&sums)[N / 2], uint32_t at, int group) const {
        if (!terms.bias && !terms.row_bias) return;
        if (terms.bias) {
            warpgroup_sync(group); /* all threads have read those of the tile before */
            if (2 * thread_of_warpgroup() < N) st_shared(at + place_of(thread_of_warpgroup()), __uint_as_float(s.bias));
            warpgroup_sync(group);
        }
#pragma unroll
        for (int j = 0; j < N / 8; j += 2) {
            const float2 words = terms.bias ? ld_shared_v2(at + place_of(4 * j + fragment_column() / 2)) : float2();
#pragma unroll
            for (int i = 0; i < 2; i++) {
                float left, right, *const to = &sums[4 * (j + i)];
                unpack_pair(T(), __float_as_uint(i == 0 ? words.x : words.y), &left, &right);
                to[0] += left + s.low, to[1] += right + s.low, to[2] += left + s.high, to[3] += right + s.high;
            }
        }
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
#pragma unroll
        for (int i = 0; i < N / 2; i++) sums[i] *= this->alpha;
        if (ahead) {
            add_biases(s, sums, at, group);
            if (terms.addend)
                return added_slots<T, N>{{at}}.put(sums, tile.number, terms.beta,
                                                   [&](float(&v)[32]) { gemm_activate(v, terms.function); });
        } else {
            terms.add_to_fragment(sums, tile.m, tile.n, group, this->rows, this->columns);
        }
        gemm_activate(sums, terms.function);
        this->keep(tile, sums, at, group);
    }
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t slots) const {
        if (ahead && terms.addend)
            store_tiles_added<S, T>(&addend_map, &this->map, plan, rank, slots);
        else
            plain::template store<S>(plan, rank, slots);
    }
};

/* Cluster rows of a band: blocks that run together share operands in L2, which keeps these rather than C. */
constexpr int BAND = 8;
constexpr bool KEEP = true;

template <typename T, int N>
bool epilogue_of(gemm_epilogue<T, N> *e, const gemm_call &g, int shares, int cluster_n) {
    e->alpha = g.alpha, e->rows = (int)g.c.rows, e->columns = (int)g.c.columns;
    if (shares > 1) {
        const int tiles = (int)((g.c.columns + N - 1) / N);
        e->wide = (float *)g.scratch, e->line = gemm_share_line(g.c.columns), e->next = g.c.rows * e->line;
        e->across = (tiles + cluster_n - 1) / cluster_n * cluster_n, e->pairs = true;
    } else if (g.wide) {
        e->wide = (float *)g.c.base, e->line = g.c.line;
        e->pairs = (uintptr_t)g.c.base % 8 == 0 && g.c.line % 2 == 0;
        e->mapped = gemm_lies_in_pieces(g.c) && make_map<float>(&e->map, lines_of(g.c), 64);
    } else {
        return make_map<T>(&e->map, lines_of(g.c), 64);
    }
    return true;
}

/* Whether all terms can be loaded ahead, an addend by its map. */
template <typename T, int N>
bool terms_of(gemm_terms_epilogue<T, N> *e, const gemm_call &g) {
    e->terms = g.terms<T>();
    e->ahead = !g.wide && (!g.addend.base || (g.addend.by_rows() && is_tileable<T>(g.addend)));
    return !e->ahead || !g.addend.base || make_map<T>(&e->addend_map, lines_of(g.addend), 64);
}

template <matmul_tuning Tuned, typename T, bool Terms>
ridge_status gemm_in_tile_of(const gemm_call &g, int shares) {
    matmul_plan plan = matmul_whole(g.a.columns, GEMM_SLICE, BAND, KEEP, KEEP);
    plan.slices = (plan.slices + shares - 1) / shares;
    std::conditional_t<Terms, gemm_terms_epilogue<T, Tuned.columns>, gemm_epilogue<T, Tuned.columns>> e = {};
    if (!epilogue_of<T, Tuned.columns>(&e, g, shares, Tuned.cluster_n)) return RIDGE_FAILED;
    if constexpr (Terms)
        if (!terms_of(&e, g)) return RIDGE_FAILED;
    RIDGE_TRY((product_in<T, Tuned>(g.a, transposed(g.b), plan, e, g.stream, shares)));
    return shares == 1 ? RIDGE_OK : gemm_add_shares(g, gemm_sums_of(g, (const float *)g.scratch, shares));
}
/* Terms: of the epilogue of whole sums; those of shares are for the launch that adds. */
template <matmul_tuning Tuned, bool Terms>
ridge_status gemm_in_tile(const gemm_tile &tile, const gemm_call &g) {
    const gemm_problem p = g.problem();
    const int shares = gemm_shares(&tile, &p);
    if (g.c.rows == 0) return RIDGE_OK;
    if (g.dtype == RIDGE_BF16) return gemm_in_tile_of<Tuned, __nv_bfloat16, Terms>(g, shares);
    return g.dtype == RIDGE_F16 ? gemm_in_tile_of<Tuned, __half, Terms>(g, shares) : RIDGE_UNSUPPORTED;
}

enum {
#define NUMBER(name, ...) GEMM_NUMBER_OF_##name,
    GEMM_TILES(NUMBER)
#undef NUMBER
};

}  // namespace ridge

#endif

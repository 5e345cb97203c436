/* fp32 and tf32 products by wgmma from parts in fp16: see hi_lo.h. */
#include "gemm/call.cuh"
#include "cuda/epilogue/scale.cuh"
#include "cuda/gemm/products.cuh"
#include "cuda/gemm/split.cuh"

extern "C" {
#include "gemm/hi_lo.h"
#include "gemm/wgmma.h"
}

namespace ridge {

/* A power of two as the product of two: a sum times the first, times a column's power of two, times the second stays in
 * fp32's range wherever the result does. */
struct undo_factors {
    float first, second;
    __device__ undo_factors(float undo, float alpha) {
        const int exponent = (__float_as_int(undo) >> 23) - 127, half = exponent >> 1;
        first = __int_as_float((half + 127) << 23), second = __int_as_float((exponent - half + 127) << 23) * alpha;
    }
};

/* C = alpha times the sums of scaled parts, or what terms make of that; without them, sums of a share of K. */
template <int N>
struct gemm_hi_lo_epilogue {
    using slots = store_slots<float, N>;
    CUtensorMap map;
    float *c;
    int64_t line, next;
    const float *row_undo, *column_undo;
    float alpha;
    int rows, columns;
    int across;  /* 0, or columns of tiles of a share of K */
    bool pairs;  /* two neighbours of c can be stored at once */
    bool mapped; /* c by the map */
    gemm_terms<float> terms;
    static constexpr int scratch = slots::bytes, undo_at = tile_store_bytes + 64; /* behind the slots' barriers */
    static_assert(undo_at + 2 * N <= scratch);
    static bool waits(void) { return false; }
    struct state {
        undo_ahead rows;
        unsigned columns; /* the upper halves of two powers of two, which have no more */
    };
    __device__ void prepare(uint32_t at) const { slots{at}.init(); }
    /* The tile in its share's matrix. */
    __device__ matmul_tile place(const matmul_tile &tile, int *share) const {
        *share = across > 0 ? tile.n / N / across : 0;
        return {tile.m, tile.n - *share * across * N, tile.part, tile.opens};
    }
    __device__ state begin(const matmul_tile &tile, int group) const {
        int share;
        const matmul_tile here = place(tile, &share);
        const int pair = 2 * thread_of_warpgroup(), column = here.n + pair;
        const auto upper = [&](int of) {
            return pair < N && of < columns ? __float_as_uint(column_undo[of]) >> 16 : 0u;
        };
        return {{row_undo, here.m + fragment_row(group), rows}, upper(column) | upper(column + 1) << 16};
    }
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        const undo_factors low(s.rows.low, alpha), high(s.rows.high, alpha);
        warpgroup_sync(group); /* all threads have read the columns of the tile before */
        if (2 * thread_of_warpgroup() < N)
            st_shared(at + undo_at + 4 * (uint32_t)thread_of_warpgroup(), __uint_as_float(s.columns));
        warpgroup_sync(group);
#pragma unroll
        for (int j = 0; j < N / 8; j++) {
            const unsigned two = ld_shared_u32(at + undo_at + 2 * (uint32_t)(8 * j + fragment_column()));
            const float left = __uint_as_float(two << 16), right = __uint_as_float(two & 0xffff0000u);
            sums[4 * j] = sums[4 * j] * low.first * left * low.second;
            sums[4 * j + 1] = sums[4 * j + 1] * low.first * right * low.second;
            sums[4 * j + 2] = sums[4 * j + 2] * high.first * left * high.second;
            sums[4 * j + 3] = sums[4 * j + 3] * high.first * right * high.second;
        }
        int share;
        const matmul_tile here = place(tile, &share);
        if (terms.any()) {
            terms.add_to_fragment(sums, here.m, here.n, group, rows, columns);
            gemm_activate(sums, terms.function);
        }
        if (mapped) return slots{at}.put(sums, tile.number);
        store_pairs<N>(c + share * next, line, rows, columns, here, sums, group, pairs);
    }
    __device__ void end(void) const {}
    template <class S>
    __device__ void store(const matmul_plan &plan, int rank, uint32_t at) const {
        if (mapped) store_tiles<S, float>(&map, plan, rank, at);
    }
};

/* The launches of a product in these tiles. */
template <class S>
struct gemm_by_parts {
    const gemm_call &g;
    const gemm_hi_lo at;

    template <typename P>
    P *part(size_t offset) const {
        return (P *)(g.scratch + offset);
    }
    unsigned *infinite(void) const { return part<unsigned>(at.infinite); }
    split_side<S::parts> left(void) const {
        return {part<__half>(at.a), part<float>(at.a_undo), infinite(), part<unsigned>(at.largest)};
    }
    split_side<S::parts> right(void) const {
        return {part<__half>(at.b), part<float>(at.b_undo), infinite(), part<unsigned>(at.largest) + SPLIT_FEW};
    }
    gemm_hi_lo_epilogue<S::N> epilogue(void) const {
        gemm_hi_lo_epilogue<S::N> e = {};
        e.c = (float *)g.c.base, e.line = g.c.line;
        e.row_undo = left().undo, e.column_undo = right().undo, e.alpha = g.alpha;
        e.rows = (int)g.c.rows, e.columns = (int)g.c.columns;
        e.pairs = (uintptr_t)e.c % 8 == 0 && e.line % 2 == 0;
        if (at.shares == 1) {
            e.terms = g.terms<float>();
            e.mapped = gemm_lies_in_pieces(g.c) && make_map<float>(&e.map, lines_of(g.c), 64);
            return e;
        }
        e.c = part<float>(at.sums), e.line = gemm_share_line(g.c.columns), e.next = g.c.rows * e.line;
        e.across = (e.columns + S::N - 1) / S::N, e.pairs = true;
        return e;
    }
    ridge_status run(void) const {
        const matrix_view a = g.a, b = transposed(g.b); /* lines are what is summed over */
        matmul_plan plan = matmul_whole(at.padded, GEMM_SLICE, 8);
        if (S::parts > 1) plan.low = plan.slices;
        plan.slices /= at.shares;
        RIDGE_TRY(clear_memory(infinite(), sizeof(unsigned), g.stream));
        RIDGE_TRY(split_sides(left(), a, right(), b, (int)at.padded, g.stream));
        RIDGE_TRY(matmul_run<S>(left().parts(a, (int)at.padded), right().parts(b, (int)at.padded), a.rows, b.rows, plan,
                                epilogue(), g.stream, at.shares));
        if (at.shares > 1) RIDGE_TRY(gemm_add_shares(g, gemm_sums_of(g, part<float>(at.sums), at.shares)));
        return gemm_by_multiply_adds(g, infinite());
    }
};

template <matmul_tuning Tuned>
static ridge_status by_parts(const gemm_call &g, const gemm_tile &tile) {
    const gemm_problem p = g.problem();
    if (g.c.rows == 0) return RIDGE_OK;
    return gemm_by_parts<matmul_shape<__half, Tuned>>{g, gemm_hi_lo_of(&tile, &p)}.run();
}
#define IN_TILE(products_, name, columns_, stages_, cluster_m_, cluster_n_, split_, rate_, idea_)         \
    static ridge_status in_##name(const gemm_call &g) {                                                   \
        constexpr matmul_tuning tuned = {.columns = columns_,                                             \
                                         .stages = stages_,                                               \
                                         .cluster_m = cluster_m_,                                         \
                                         .cluster_n = cluster_n_,                                         \
                                         .promote = (products_) == 3 ? 2 : 0,                             \
                                         .split = (products_) == 3};                                      \
        return by_parts<tuned>(g, {columns_, stages_, cluster_m_, cluster_n_, split_, rate_, products_}); \
    }
#define IN_HI_LO_TILE(...) IN_TILE(3, __VA_ARGS__)
#define IN_HI_TILE(...) IN_TILE(1, __VA_ARGS__)
GEMM_HI_LO_TILES(IN_HI_LO_TILE)
GEMM_HI_TILES(IN_HI_TILE)

ridge_status gemm_by_hi_lo_128(const gemm_call &g) { return in_hi_lo_128(g); }

}  // namespace ridge

#define RUN(name, ...)                                                 \
    extern "C" ridge_status gemm_cuda_##name(const ridge_call *call) { \
        return ridge::in_##name(ridge::gemm_call(call));               \
    }
GEMM_HI_LO_TILES(RUN)
GEMM_HI_TILES(RUN)

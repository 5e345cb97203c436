/* Grouped products: see grouped.h. */
#include "gemm/wgmma.cuh"
#include "cuda/gemm/any.cuh"

extern "C" {
#include "gemm/grouped.h"
}

namespace ridge {

struct grouped_call {
    matrix_view a, b, c; /* b: the first group's */
    int64_t next;        /* elements to the next group's B */
    matmul_groups groups;
    float alpha;
    cudaStream_t stream;
    explicit grouped_call(const ridge_call *call)
        : a(view_of(call->in[GEMM_A])),
          c(view_of(call->out[0])),
          alpha((float)call->option[GEMM_ALPHA]),
          stream(stream_of(call)) {
        const DLTensor &all = call->in[GEMM_B];
        const int64_t count = all.shape[0], rows = all.shape[1], columns = all.shape[2];
        const int64_t line = all.strides && rows > 1 ? all.strides[1] : columns;
        b = {ridge_data(&all), rows, columns, line < columns ? columns : line, 1};
        next = all.strides && count > 1 ? all.strides[0] : rows * b.line;
        groups = {(const int *)ridge_data(&call->in[GROUPED_ENDS]), (int)count, (int)a.rows, 0, (int)count + 1};
    }
};

/* All groups by one launch, or each by one of its own; launch(groups). */
template <class Launch>
static ridge_status for_groups(const grouped_call &g, bool each, Launch launch) {
    if (!each) return launch(g.groups);
    for (int of = 0; of <= g.groups.count; of++) {
        matmul_groups one = g.groups;
        one.first = of, one.behind = of + 1;
        RIDGE_TRY(launch(one));
    }
    return RIDGE_OK;
}

/* A tile in whose rows another group begins leaves without TMA, which would store all 64 rows of a box. */
template <typename T, int N>
struct grouped_epilogue : gemm_epilogue<T, N> {
    using plain = gemm_epilogue<T, N>;
    using state = typename plain::state;
    T *c;
    int64_t c_line;
    __device__ void finish(const matmul_tile &tile, const state &s, float (&sums)[N / 2], uint32_t at,
                           int group) const {
        if (tile.m + GEMM_TILE_ROWS <= tile.end) return plain::finish(tile, s, sums, at, group);
#pragma unroll
        for (int i = 0; i < N / 2; i++) sums[i] *= this->alpha;
        store_pairs_to_end<T, N>(c, c_line, this->columns, tile, sums, group);
    }
};

/* A is one matrix of a batch of one: behind it TMA finds zeros. */
template <typename T, matmul_tuning Tuned>
static ridge_status grouped_in(const grouped_call &g, bool each) {
    using S = matmul_shape<T, Tuned, true, false>;
    CUtensorMap a_map, b_map;
    grouped_epilogue<T, S::N> e = {};
    e.alpha = g.alpha, e.rows = (int)g.c.rows, e.columns = (int)g.c.columns;
    e.c = (T *)g.c.base, e.c_line = g.c.line;
    const int64_t a_next = (g.a.rows * g.a.line + 7) / 8 * 8, b_next = (g.next + 7) / 8 * 8;
    if (!make_map_of_batch<T>(&a_map, lines_of(g.a), S::a_box, 1, a_next) ||
        !make_map_of_batch<T>(&b_map, lines_of(g.b), S::b_box, g.groups.count, b_next) ||
        !make_map<T>(&e.map, lines_of(g.c), 64))
        return RIDGE_FAILED;
    matmul_plan plan = matmul_whole(g.a.columns, GEMM_SLICE, BAND, KEEP, KEEP);
    return for_groups(g, each, [&](const matmul_groups &groups) {
        plan.groups = groups;
        /* A group more, and a tile more for every group that does not end with one. */
        const int64_t rows = g.a.rows + (int64_t)S::M * (each ? 1 : g.groups.count);
        return matmul_run_maps<S>(a_map, b_map, rows, g.c.columns, plan, e, g.stream, 1);
    });
}
template <matmul_tuning Tuned>
static ridge_status grouped_by(const ridge_call *call, bool each) {
    const grouped_call g(call);
    if (g.c.rows == 0) return RIDGE_OK;
    if (call->dtype == RIDGE_BF16) return grouped_in<__nv_bfloat16, Tuned>(g, each);
    return call->dtype == RIDGE_F16 ? grouped_in<__half, Tuned>(g, each) : RIDGE_UNSUPPORTED;
}

/* C's rows from `begin` to below `end`: alpha times the sums, or zero. */
template <typename T>
struct grouped_store {
    T *c;
    int64_t line, columns;
    int begin, end;
    float alpha;
    bool wide, zero;

    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            if (place.row(i) < begin || place.row(i) >= end) continue;
#pragma unroll
            for (int j = 0; j < Place::columns; j++) v[i][j] = zero ? 0.0f : v[i][j] * alpha;
            any_put(c + place.row(i) * line, v[i], place, columns, wide);
        }
    }
};

/* A block has a tile of rows and columns, for each group that has rows in it. */
template <typename T>
__global__ void __launch_bounds__(ANY_THREADS)
    grouped_multiply_adds(const __grid_constant__ any_matrix<T> a, const __grid_constant__ any_matrix<T> b,
                          int64_t b_next, int64_t columns, int depth, const __grid_constant__ matmul_groups groups,
                          const __grid_constant__ grouped_store<T> to) {
    using S = any_medium;
    extern __shared__ float4 any_room[];
    after_previous_launch();
    const int first = (int)blockIdx.x * S::side, last = min(first + S::side, groups.rows);
    int end = 0;
    for (int g = 0; g < groups.behind; g++) {
        const int begin = end;
        end = g < groups.count ? min(max(groups.ends[g], begin), groups.rows) : groups.rows;
        if (begin >= last) break;
        if (g < groups.first || end <= max(first, begin)) continue;
        any_matrix<T> of_group = b;
        of_group.base += min(g, groups.count - 1) * b_next;
        grouped_store<T> epilogue = to;
        epilogue.begin = begin, epilogue.end = end, epilogue.zero = g == groups.count;
        any_unit<S>(a, of_group, groups.rows, columns, any_depth{depth, depth}, first, (int)blockIdx.y, 1, epilogue,
                    (float *)any_room);
        __syncthreads(); /* before the next group's slices */
    }
}

template <typename T>
static ridge_status grouped_any(const grouped_call &g, bool each) {
    using S = any_medium;
    if (g.a.columns > ANY_DEPTH) return RIDGE_UNSUPPORTED;
    const auto kernel = grouped_multiply_adds<T>;
    constexpr int bytes = S::floats * (int)sizeof(float);
    const grouped_store<T> to = {
        (T *)g.c.base, g.c.line, g.c.columns, 0, 0, g.alpha, any_is_wide((T *)g.c.base, g.c.line), false};
    const dim3 grid((unsigned)((g.c.rows + S::side - 1) / S::side), (unsigned)((g.c.columns + S::side - 1) / S::side));
    /* `wide` of a group's B asks for all of them: base and lines of whole packs. */
    return for_groups(g, each, [&](const matmul_groups &groups) {
        return launch_overlapping(kernel, {grid, ANY_THREADS, bytes}, g.stream, device_overlaps(), any_matrix<T>(g.a),
                                  any_matrix<T>(transposed(g.b), g.next), g.next, g.c.columns, (int)g.a.columns, groups,
                                  to);
    });
}
static ridge_status grouped_any_by(const ridge_call *call, bool each) {
    const grouped_call g(call);
    if (g.c.rows == 0) return RIDGE_OK;
    return with_storage(call->dtype, [&]<typename T>() { return grouped_any<T>(g, each); });
}

}  // namespace ridge

#define RUN(name, columns_, stages_, cluster_m_, cluster_n_, ...)                                                   \
    static constexpr ridge::matmul_tuning tuned_##name = {                                                          \
        .columns = columns_, .stages = stages_, .cluster_m = cluster_m_, .cluster_n = cluster_n_, .grouped = true}; \
    extern "C" ridge_status gemm_cuda_##name(const ridge_call *call) {                                              \
        return ridge::grouped_by<tuned_##name>(call, false);                                                        \
    }                                                                                                               \
    extern "C" ridge_status gemm_cuda_each_##name(const ridge_call *call) {                                         \
        return ridge::grouped_by<tuned_##name>(call, true);                                                         \
    }
GEMM_GROUPED_TILES(RUN)

extern "C" ridge_status gemm_cuda_grouped_any(const ridge_call *call) { return ridge::grouped_any_by(call, false); }
extern "C" ridge_status gemm_cuda_each_grouped_any(const ridge_call *call) { return ridge::grouped_any_by(call, true); }

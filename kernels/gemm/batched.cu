/* Batched products: see batched.h. */
#include "gemm/wgmma.cuh"
#include "cuda/gemm/any.cuh"

extern "C" {
#include "gemm/batched.h"
}

namespace ridge {

/* One tensor: the first matrix, and the elements to the next one. */
struct batched_view {
    matrix_view m;
    int64_t next;

    explicit batched_view(const DLTensor &t) {
        const int64_t rows = t.shape[1], columns = t.shape[2];
        const int64_t line = t.strides && rows > 1 ? t.strides[1] : columns;
        m = {ridge_data(&t), rows, columns, line < columns ? columns : line, 1};
        next = t.strides && t.shape[0] > 1 ? t.strides[0] : rows * m.line;
    }
};
struct batched_call {
    batched_view a, b, c;
    int64_t count;
    float alpha;
    cudaStream_t stream;
    explicit batched_call(const ridge_call *call)
        : a(call->in[GEMM_A]),
          b(call->in[GEMM_B]),
          c(call->out[0]),
          count(call->dim[BATCHED_BATCH]),
          alpha((float)call->option[GEMM_ALPHA]),
          stream(stream_of(call)) {}
    bool is_empty(void) const { return count == 0 || c.m.rows == 0; }
};

/* TMA asks for a stride between matrices in pieces even where there is one. */
template <typename T>
static bool map_of(CUtensorMap *map, const batched_view &v, int lines, int64_t count) {
    return make_map_of_batch<T>(map, lines_of(v.m), lines, count, (v.next + 7) / 8 * 8);
}

/* A type of its own: one kernel may not be compiled in two places. */
template <typename T, int N>
struct batched_epilogue : gemm_epilogue<T, N> {};

template <typename T, matmul_tuning Tuned>
static ridge_status batched_in(const batched_call &g) {
    using S = matmul_shape<T, Tuned, true, false>;
    CUtensorMap a_map, b_map;
    batched_epilogue<T, S::N> e = {};
    e.alpha = g.alpha, e.rows = (int)g.c.m.rows, e.columns = (int)g.c.m.columns;
    if (!map_of<T>(&a_map, g.a, S::a_box, g.count) || !map_of<T>(&b_map, g.b, S::b_box, g.count) ||
        !map_of<T>(&e.map, g.c, 64, g.count))
        return RIDGE_FAILED;
    matmul_plan plan = matmul_whole(g.a.m.columns, GEMM_SLICE, BAND, KEEP, KEEP);
    plan.batch = (int)g.count;
    return matmul_run_maps<S>(a_map, b_map, g.c.m.rows, g.c.m.columns, plan, e, g.stream, 1);
}
template <matmul_tuning Tuned>
static ridge_status batched_by(const ridge_call *call) {
    const batched_call g(call);
    if (g.is_empty()) return RIDGE_OK;
    if (call->dtype == RIDGE_BF16) return batched_in<__nv_bfloat16, Tuned>(g);
    return call->dtype == RIDGE_F16 ? batched_in<__half, Tuned>(g) : RIDGE_UNSUPPORTED;
}

/* C = alpha times the sums of product blockIdx.z. */
template <typename T>
struct batched_store {
    T *c;
    int64_t line, next, rows, columns;
    float alpha;
    bool wide;

    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            if (place.row(i) >= rows) continue;
#pragma unroll
            for (int j = 0; j < Place::columns; j++) v[i][j] *= alpha;
            any_put(c + blockIdx.z * next + place.row(i) * line, v[i], place, columns, wide);
        }
    }
};
/* Products beside each other, as many as a launch takes. */
template <typename T>
static ridge_status batched_any(const batched_call &g) {
    constexpr int64_t most = 65535;
    for (int64_t first = 0; first < g.count; first += most) {
        batched_view a = g.a, b = g.b;
        a.m.base = (T *)a.m.base + first * a.next, b.m.base = (T *)b.m.base + first * b.next;
        T *const c = (T *)g.c.m.base + first * g.c.next;
        const batched_store<T> e = {c,
                                    g.c.m.line,
                                    g.c.next,
                                    g.c.m.rows,
                                    g.c.m.columns,
                                    g.alpha,
                                    any_is_wide(c, g.c.m.line) && g.c.next % 4 == 0};
        const int64_t left = g.count - first;
        RIDGE_TRY(any_run(any_matrix<T>(a.m, a.next), any_matrix<T>(transposed(b.m), b.next), g.c.m.rows, g.c.m.columns,
                          a.m.columns, e, g.stream, (int)(left < most ? left : most)));
    }
    return RIDGE_OK;
}

}  // namespace ridge

#define RUN(name, columns_, stages_, cluster_m_, cluster_n_, ...)        \
    extern "C" ridge_status gemm_cuda_##name(const ridge_call *call) {   \
        constexpr ridge::matmul_tuning tuned = {.columns = columns_,     \
                                                .stages = stages_,       \
                                                .cluster_m = cluster_m_, \
                                                .cluster_n = cluster_n_, \
                                                .batched = true};        \
        return ridge::batched_by<tuned>(call);                           \
    }
GEMM_BATCHED_TILES(RUN)

extern "C" ridge_status gemm_cuda_batched_any(const ridge_call *call) {
    using namespace ridge;
    const batched_call g(call);
    if (g.is_empty()) return RIDGE_OK;
    return with_storage(call->dtype, [&]<typename T>() { return batched_any<T>(g); });
}

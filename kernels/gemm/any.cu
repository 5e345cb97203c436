/* Products by fp32 multiply-adds, of any type, order and alignment. */
#include "gemm/call.cuh"
#include "cuda/gemm/any.cuh"

namespace ridge {

/* C by rows: alpha times the sums, or what terms make of that. */
template <typename T, typename To, bool Terms>
struct gemm_any_store {
    To *c;
    int64_t line, rows, columns;
    float alpha;
    bool wide;
    gemm_terms<T> terms;

    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            if (place.row(i) >= rows) continue;
#pragma unroll
            for (int j = 0; j < Place::columns; j++) {
                v[i][j] *= alpha;
                if constexpr (Terms)
                    if (place.column(j) < columns) v[i][j] = terms.added(v[i][j], place.row(i), place.column(j));
            }
            if constexpr (Terms) gemm_activate(v[i], terms.function);
            any_put(c + place.row(i) * line, v[i], place, columns, wide);
        }
    }
};

template <typename T, typename To, bool Terms>
static ridge_status by_multiply_adds(const gemm_call &g, const unsigned *only_if) {
    To *const c = (To *)g.c.base;
    const gemm_any_store<T, To, Terms> e = {
        c, g.c.line, g.c.rows, g.c.columns, g.alpha, any_is_wide(c, g.c.line), g.terms<T>()};
    return any_run(any_matrix<T>(g.a), any_matrix<T>(transposed(g.b)), g.c.rows, g.c.columns, g.a.columns, e, g.stream,
                   1, only_if);
}
ridge_status gemm_by_multiply_adds(const gemm_call &g, const unsigned *only_if) {
    const auto run = [&]<typename T, bool Terms>() {
        return g.wide ? by_multiply_adds<T, float, Terms>(g, only_if) : by_multiply_adds<T, T, Terms>(g, only_if);
    };
    return with_storage(g.dtype, [&]<typename T>() {
        return g.has_terms() ? run.template operator()<T, true>() : run.template operator()<T, false>();
    });
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_any(const ridge_call *call) {
    return ridge::gemm_by_multiply_adds(ridge::gemm_call(call));
}

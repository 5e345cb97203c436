/* Products by fp32 multiply-adds, of any type, order and alignment. */
#include "gemm/call.cuh"
#include "cuda/gemm/any.cuh"

namespace ridge {

/* C = alpha times the sums, C by rows. */
template <typename To>
struct gemm_any_store {
    To *c;
    int64_t line, rows, columns;
    float alpha;
    bool wide;

    template <class Place>
    __device__ void tile(float (&v)[Place::rows][Place::columns], const Place &place) const {
#pragma unroll
        for (int i = 0; i < Place::rows; i++) {
            if (place.row(i) >= rows) continue;
#pragma unroll
            for (int j = 0; j < Place::columns; j++) v[i][j] *= alpha;
            any_put(c + place.row(i) * line, v[i], place, columns, wide);
        }
    }
};

template <typename T, typename To>
static ridge_status by_multiply_adds(const gemm_call &g, const unsigned *only_if) {
    To *const c = (To *)g.c.base;
    const gemm_any_store<To> e = {c, g.c.line, g.c.rows, g.c.columns, g.alpha, any_is_wide(c, g.c.line)};
    return any_run(any_matrix<T>(g.a), any_matrix<T>(transposed(g.b)), g.c.rows, g.c.columns, g.a.columns, e, g.stream,
                   1, only_if);
}
ridge_status gemm_by_multiply_adds(const gemm_call &g, const unsigned *only_if) {
    return with_storage(g.dtype, [&]<typename T>() {
        return g.wide ? by_multiply_adds<T, float>(g, only_if) : by_multiply_adds<T, T>(g, only_if);
    });
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_any(const ridge_call *call) {
    return ridge::gemm_by_multiply_adds(ridge::gemm_call(call));
}

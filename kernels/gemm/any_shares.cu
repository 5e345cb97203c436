/* Products by fp32 multiply-adds in shares of K: see any_shares.h. */
#include "gemm/call.cuh"
#include "cuda/gemm/any.cuh"

extern "C" {
#include "gemm/any_shares.h"
#include "gemm/wgmma.h"
}

namespace ridge {

/* alpha times the sums of a share: `next` elements lie between shares. */
struct gemm_share_store {
    static constexpr bool of_share = true;
    float *sums;
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
            any_put(sums + blockIdx.z * next + place.row(i) * line, v[i], place, columns, wide);
        }
    }
};

template <typename T>
static ridge_status multiply_shares(const gemm_call &g, const any_split &split) {
    float *const sums = (float *)g.scratch;
    const int64_t line = gemm_share_line(g.c.columns);
    const any_matrix<T> a(g.a, split.each * g.a.step);
    const matrix_view b_rows = transposed(g.b);
    const any_matrix<T> b(b_rows, split.each * b_rows.step);
    const gemm_share_store to = {sums, line, g.c.rows * line, g.c.rows, g.c.columns, g.alpha, any_is_wide(sums, line)};
    const any_depth steps = {(int)g.a.columns, (int)split.each};
    RIDGE_TRY(any_launch({split.tiles, 1}, any_device(), a, b, g.c.rows, g.c.columns, steps, 1, to, g.stream,
                         split.shares, NULL));
    return gemm_add_shares(g, gemm_sums_of(g, sums, split.shares));
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_any_shares(const ridge_call *call) {
    using namespace ridge;
    const gemm_call g(call);
    if (g.c.rows == 0 || g.c.columns == 0) return RIDGE_OK;
    const gemm_problem problem = g.problem();
    const any_split split = gemm_any_shares_of(&problem).split;
    if (split.shares < 2) return RIDGE_UNSUPPORTED;
    return with_storage(g.dtype, [&]<typename T>() { return multiply_shares<T>(g, split); });
}

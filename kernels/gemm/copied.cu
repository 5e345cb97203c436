/* Products whose matrices lie between 16-byte boundaries: copied to scratch, multiplied there by tiles, C copied back. */
#include "gemm/call.cuh"
#include "cuda/linear/copies.cuh"

extern "C" {
#include "gemm/copied.h"
}

namespace ridge {

/* Lies as m does, in lines of whole pieces. */
static matrix_view place_of(const matrix_view &m, const gemm_copy &copy, uint8_t *scratch) {
    if (!copy.copied) return m;
    void *const base = scratch + copy.at;
    return m.by_rows() ? matrix_view{base, m.rows, m.columns, copy.line, 1}
                       : matrix_view{base, m.rows, m.columns, 1, copy.line};
}
static linear_copy task_of(const matrix_view &from, const matrix_view &to, const gemm_copy &copy) {
    if (!copy.copied) return {};
    return {lines_of(from), lines_of(to)};
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_copied(const ridge_call *call) {
    using namespace ridge;
    gemm_call g(call);
    const gemm_problem p = g.problem();
    const gemm_copies all = gemm_copies_of(&p);
    const matrix_view a = g.a, b = g.b, c = g.c;
    g.a = place_of(a, all.a, g.scratch), g.b = place_of(b, all.b, g.scratch), g.c = place_of(c, all.c, g.scratch);
    RIDGE_TRY(linear_copy_both(2, task_of(a, g.a, all.a), task_of(b, g.b, all.b), g.stream));
    g.scratch += all.sums;
    RIDGE_TRY(gemm_by_tile(all.tile, g));
    return all.c.copied ? linear_copy_back(g.c, c, g.stream) : RIDGE_OK;
}

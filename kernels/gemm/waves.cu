/* A product in two parts of C, so that no wave of tiles leaves SMs idle: see waves.h. */
#include "gemm/call.cuh"

extern "C" {
#include "gemm/waves.h"
}

namespace ridge {

/* Rows of A and C from `from` on, or columns of B and C. */
static gemm_call part_of(const gemm_call &g, bool rows, int64_t from, int64_t count) {
    gemm_call part = g;
    const int64_t c_bytes = g.wide ? 4 : 2;
    const auto cut = [&](matrix_view &m, int64_t bytes) {
        const int64_t step = rows ? m.line : m.step;
        m.base = (char *)m.base + from * step * bytes;
        (rows ? m.rows : m.columns) = count;
    };
    cut(rows ? part.a : part.b, 2), cut(part.c, c_bytes);
    return part;
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_waves(const ridge_call *call) {
    using namespace ridge;
    const gemm_call g(call);
    const gemm_problem p = g.problem();
    const gemm_waves w = gemm_waves_of(&p);
    if (w.first == 0) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(gemm_by_tile(w.tile, part_of(g, w.rows, 0, w.first)));
    return gemm_by_tile(w.rest, part_of(g, w.rows, w.first, (w.rows ? p.m : p.n) - w.first));
}

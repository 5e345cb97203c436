/* Products of few rows, or columns, by the kernels of cuda/gemv: see gemv.h. */
#include "gemm/call.cuh"
#include "cuda/gemv/call.cuh"

extern "C" {
#include "gemm/gemv.h"
}

namespace ridge {

template <typename T, typename To>
struct gemv_end_args {
    const float *sums; /* [shares][few][line] */
    int64_t line;
    int shares, parts; /* warps that have a row's shares together */
    int few, outputs;
    To *c;
    int64_t c_few, c_output; /* steps of C, in elements */
    float alpha;
    bool transposed; /* outputs are C's rows */
    gemm_terms<T> terms;
};

/* C from the sums of all shares, in the order of warps and of a warp's shares: a warp has 32 outputs of one of the few rows, or
 * its part of their shares. Neighbours in C's memory are a warp's: where outputs are C's rows, that is another thread's sum. */
template <typename T, typename To>
__global__ void __launch_bounds__(GEMV_THREADS) gemv_end(const __grid_constant__ gemv_end_args<T, To> p) {
    __shared__ float of_warp[GEMV_WARPS][33];
    after_previous_launch();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, part = warp % p.parts;
    const int rows = GEMV_WARPS / p.parts, first_row = (int)blockIdx.y * rows, first = (int)blockIdx.x * 32;
    const int row = first_row + warp / p.parts;
    float sum = 0.0f;
    if (row < p.few && first + lane < p.outputs) {
        const float *const from = p.sums + row * p.line + first + lane;
#pragma unroll 8
        for (int s = part; s < p.shares; s += p.parts) sum += from[s * (p.few * p.line)];
    }
    of_warp[warp][lane] = sum;
    __syncthreads();
    if ((int)threadIdx.x >= 32 * rows) return;
    const int mine = p.transposed ? (int)threadIdx.x % rows : (int)threadIdx.x / 32;
    const int output = p.transposed ? (int)threadIdx.x / rows : lane;
    const int64_t few = first_row + mine, place = first + output;
    if (few >= p.few || place >= p.outputs) return;
    sum = 0.0f;
    for (int other = 0; other < p.parts; other++) sum += of_warp[mine * p.parts + other][output];
    sum *= p.alpha;
    if (p.terms.any()) sum = p.transposed ? p.terms.of(sum, place, few) : p.terms.of(sum, few, place);
    p.c[few * p.c_few + place * p.c_output] = from_float<To>(sum);
}

template <typename T, typename To>
static ridge_status gemv_to(const gemm_call &g, const gemm_gemv &v) {
    const matrix_view b = transposed(g.b), &x = v.transposed ? b : g.a, &w = v.transposed ? g.a : b;
    float *const sums = (float *)g.scratch;
    gemv_args<T> a = gemv_args_of<T>(x, w, v.plan);
    a.to.z = sums, a.to.line = v.line, a.to.next = v.few * v.line;
    RIDGE_TRY(gemv_multiply(a, v.along, v.plan, 1, g.stream));
    const int shares = (int)v.plan.shares;
    /* Warps have a row together where there are not enough outputs for all SMs, or too many shares for one. */
    const bool many = v.few * v.outputs >= GEMV_BLOCKS * 32 * GEMV_WARPS && shares < 4 * GEMV_WARPS;
    const int parts = many || shares < 4 ? 1 : shares < GEMV_WARPS ? 4 : GEMV_WARPS;
    const gemv_end_args<T, To> end = {sums,
                                      v.line,
                                      shares,
                                      parts,
                                      (int)v.few,
                                      (int)v.outputs,
                                      (To *)g.c.base,
                                      v.transposed ? 1 : g.c.line,
                                      v.transposed ? g.c.line : 1,
                                      g.alpha,
                                      v.transposed,
                                      g.terms<T>()};
    const int rows = GEMV_WARPS / parts;
    const dim3 grid((unsigned)((v.outputs + 31) / 32), (unsigned)((v.few + rows - 1) / rows));
    return launch_overlapping(gemv_end<T, To>, {grid, GEMV_THREADS}, g.stream, device_overlaps(), end);
}

}  // namespace ridge

extern "C" ridge_status gemm_cuda_gemv(const ridge_call *call) {
    using namespace ridge;
    const gemm_call g(call);
    if (g.c.rows == 0 || g.c.columns == 0) return RIDGE_OK;
    gemm_problem problem = g.problem();
    problem.dtype = call->dtype; /* the plan tells f32 from tf32 */
    const gemm_gemv v = gemm_gemv_of(&problem);
    return with_storage(g.dtype, [&]<typename T>() { return g.wide ? gemv_to<T, float>(g, v) : gemv_to<T, T>(g, v); });
}

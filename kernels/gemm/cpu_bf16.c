/* What the ways of cpu/gemm_bf16.h plan. */
#include "cpu/gemm_bf16.h"

#include "gemm/cpu.h"

/* Beats (model/cpu_cost.h), of a Zen 5 core: a pair's two multiply-adds by the widened tile, where one by vdpbf16ps counts as
 * one; an element that is packed. */
static const double widened = 3, packed = 0.2;

#if defined(__x86_64__)
const char *gemm_cpu_bf16_lacks(void) { return bf16_has_pairs_avx512() ? NULL : "needs AVX512-BF16"; }
#endif

/* The extents are those of C's rows in lines (problem.h), or of its transpose. */
ridge_plan gemm_cpu_bf16_plan(const ridge_way *way, const ridge_problem *p) {
    const bool native = *(const bool *)way->own;
    const gemm_problem g = gemm_problem_of(way, p);
    const int threads = g.here.threads > 1 ? g.here.threads : 1;
    const bool across = bf16_is_across(g.m, g.n);
    const bf16_layout l = bf16_layout_of(across ? g.n : g.m, across ? g.m : g.n, g.k, g.here.isa, threads);
    const double elements = gemm_bytes_read(&g) / 2, results = (double)g.m * (double)g.n;
    const double pairs = (double)(across ? g.n : g.m) * (double)l.panels * (double)l.pairs;
    const double beats = pairs * (native ? 1 : widened) + elements * packed;
    if (g.dtype != RIDGE_BF16) return (ridge_plan){.refusal = "for bf16"};
    return (ridge_plan){.us = cpu_cost_of(&p->here, beats / threads, (elements + results) / 2 / threads),
                        .scratch = l.bytes,
                        .traffic = {.read = 4 * elements, .written = 2 * elements + gemm_bytes_written(&g)},
                        .arithmetic = {native ? RIDGE_BF16 : RIDGE_DTYPE_NONE, native}};
}

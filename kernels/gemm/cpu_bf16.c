/* What the ways of cpu/gemm_bf16.h plan. */
#include "cpu/gemm_bf16.h"

#include "gemm/cpu.h"

/* Beats (cpu/cost.h), of a Zen 5 core: the multiply-adds of a row's pair with two vectors, by each tile; a pair that is
 * packed; an element of C. */
static const double tile[] = {1.02, 3}, packed = 0.5, result = 0.1;

#if defined(__x86_64__)
const char *gemm_cpu_bf16_lacks(void) {
#ifndef RIDGE_WITHOUT_avx512
    if (bf16_has_pairs_avx512()) return NULL;
#endif
    return "needs AVX512-BF16";
}
#endif

/* The part of a thread: whole panels, or strips, of C's longer side. */
static double share_of(const bf16_layout *l, int64_t m, int64_t n, int rows, int threads) {
    const int64_t all = n >= m ? l->panels : (m + rows - 1) / rows;
    const int64_t most = (all + threads - 1) / threads;
    return all > 0 ? (double)most / (double)all : 1;
}

ridge_plan gemm_cpu_bf16_plan(const ridge_way *way, const ridge_problem *p) {
    const bool widened = *(const bool *)way->own;
    const gemm_problem g = gemm_problem_of(way, p);
    const int threads = g.here.threads > 1 ? g.here.threads : 1;
    const bool across = bf16_is_across(g.m, g.n);
    const int64_t m = across ? g.n : g.m, n = across ? g.m : g.n;
    const cpu_tile of = cpu_tile_of(g.here.isa);
    const bf16_layout l = bf16_layout_of(n, g.k, g.here.isa, threads);
    const double pairs = (double)l.pairs, panels = (double)l.panels;
    const double in_panels = pairs * panels * 2 * of.lanes, in_strips = pairs * (double)m;
    const double tiles = (double)m * panels * pairs * tile[widened] * share_of(&l, m, n, of.rows, threads);
    const double rest = ((in_panels + in_strips) * packed + (double)m * (double)n * result) / threads;
    const double wake = threads > 1 ? 2 * cpu_wake : 0, moved = gemm_bytes_read(&g) + gemm_bytes_written(&g);
    return (ridge_plan){
        .refusal = g.dtype == RIDGE_BF16 ? NULL : "for bf16",
        .us = cpu_cost_of(&p->here, tiles + rest + wake, moved / 4 / threads),
        .scratch = l.bytes,
        .traffic = {.read = gemm_bytes_read(&g) + 4 * in_panels, .written = 4 * in_panels + gemm_bytes_written(&g)},
        .arithmetic = {widened ? RIDGE_DTYPE_NONE : RIDGE_BF16, !widened}};
}

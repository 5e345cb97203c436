#include <math.h>

#include "cpu/gemm_shared.h"
#include "cpu/cost.h"
#include "gemm/cpu.h"

static gemm_facts facts_of(const gemm_problem *g) {
    return (gemm_facts){.m = g->m,
                        .n = g->n,
                        .k = g->k,
                        .a_by_depth = g->a.step == 1,
                        .b_by_row = g->b.step == 1,
                        .a_stride = g->a.step == 1 ? g->a.line : g->a.step,
                        .b_stride = g->b.step == 1 ? g->b.line : g->b.step,
                        .threads = g->here.threads > 1 ? g->here.threads : 1,
                        .isa = g->here.isa};
}

static ridge_plan plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_way own = *(const gemm_way *)way->own;
    const gemm_problem g = gemm_problem_of(way, p);
    if (g.dtype != RIDGE_F32) return (ridge_plan){.refusal = "for f32"};
    const gemm_facts facts = facts_of(&g);
    const double beats = gemm_way_beats(own, &facts), floats = gemm_operands(&facts) + gemm_results(&facts);
    const double slices = own == GEMM_WAY_BLOCKED ? ceil((double)g.k / GEMM_BLOCK_DEPTH) : 1;
    const double written = gemm_bytes_written(&g), again = way->number == GEMM_WITH_TERMS ? written : 0;
    return (ridge_plan){
        .refusal = gemm_way_refusal(own, &facts),
        .us = cpu_cost_of(&p->here, beats, floats),
        .scratch = gemm_product_scratch(g.m, g.n, g.k, facts.threads),
        .traffic = {.read = gemm_bytes_read(&g) + written * (slices - 1) + again, .written = written * slices + again}};
}

static ridge_plan shared_plan(const ridge_way *way, const ridge_problem *p) {
    const gemm_problem g = gemm_problem_of(way, p);
    if (g.dtype != RIDGE_F32) return (ridge_plan){.refusal = "for f32"};
    const gemm_facts facts = facts_of(&g);
    const double again = way->number == GEMM_WITH_TERMS ? gemm_bytes_written(&g) : 0;
    ridge_traffic traffic = gemm_shared_traffic(&facts);
    traffic.read += again + g.more, traffic.written += again;
    return (ridge_plan){
        .us = cpu_cost_of(&p->here, gemm_shared_beats(&facts), gemm_operands(&facts) + gemm_results(&facts)),
        .scratch = gemm_shared_scratch(g.m, g.n, g.k, facts.threads),
        .traffic = traffic};
}

/* number: see problem.h. */
#define WAY(number_, own_, name_, idea_)                                                                     \
    {                                                                                                        \
        .name = name_, .idea = idea_, .plan = plan, .run = RIDGE_CPU(gemm_cpu_optimized), .number = number_, \
        .own = &(const gemm_way) {                                                                           \
            own_                                                                                             \
        }                                                                                                    \
    }
#define SHARED(number_)                                                                               \
    {                                                                                                 \
        .name = "shared", .idea = "threads pack B together and share all of it", .plan = shared_plan, \
        .run = RIDGE_CPU(gemm_cpu_shared), .number = number_                                          \
    }
#define WAYS(number)                                                                        \
    WAY(number, GEMM_WAY_STREAM, "stream", "nothing is packed; B is read in row order"),    \
        WAY(number, GEMM_WAY_DOTS, "dots", "vectors along K, B transposed slice by slice"), \
        WAY(number, GEMM_WAY_BLOCKED, "blocked", "a thread packs panels of its own block of B"), SHARED(number)

const ridge_way gemm_cpu_ways[GEMM_CPU_WAYS] = {
    WAYS(GEMM_PLAIN),
#if defined(__x86_64__)
    {.name = "pairs",
     .idea = "bf16, pairs along K by vdpbf16ps",
     .lacks = gemm_cpu_bf16_lacks,
     .plan = gemm_cpu_bf16_plan,
     .run = RIDGE_CPU_AVX512(gemm_cpu_bf16),
     .own = &(const bool){false}},
#endif
    {.name = "widened",
     .idea = "bf16, pairs along K widened to fp32 in registers",
     .plan = gemm_cpu_bf16_plan,
     .run = RIDGE_CPU(gemm_cpu_bf16),
     .own = &(const bool){true}},
};
const ridge_way gemm_terms_cpu_ways[GEMM_TERMS_CPU_WAYS] = {WAYS(GEMM_WITH_TERMS)};

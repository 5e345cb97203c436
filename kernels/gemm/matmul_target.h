/* What the targets of C[m,n] = A[m,k] B[k,n] have in common: tensors, work, oracle; and of those in 16 bits the bound,
 * what they reject and the ways that take operands as they come. Included once, by target.c. */
#ifndef RIDGE_KERNELS_GEMM_MATMUL_TARGET_H
#define RIDGE_KERNELS_GEMM_MATMUL_TARGET_H

#include <math.h>

#include "model/matmul_dims.h"
#include "ridge/target.h"

#define MATMUL_DIMS \
    { "m", "n", "k" }

static const ridge_tensor_spec matmul_in[] = {
    {.name = "a", .rank = 2, .dim = {MATMUL_M, MATMUL_K}, .by_row = true},
    {.name = "b", .rank = 2, .dim = {MATMUL_K, MATMUL_N}},
};
static const ridge_tensor_spec matmul_out[] = {{.name = "c", .rank = 2, .dim = {MATMUL_M, MATMUL_N}}};

static inline double matmul_bytes(const ridge_case *c, int rows, int columns) {
    return (double)ridge_dtype_size(c->dtype) * (double)c->dim[rows] * (double)c->dim[columns];
}
static inline double matmul_a_bytes(const ridge_case *c) { return matmul_bytes(c, MATMUL_M, MATMUL_K); }
static inline double matmul_b_bytes(const ridge_case *c) { return matmul_bytes(c, MATMUL_K, MATMUL_N); }
static inline double matmul_c_bytes(const ridge_case *c) { return matmul_bytes(c, MATMUL_M, MATMUL_N); }

static inline void matmul_work(const ridge_case *c, ridge_work *w) {
    w->flops = 2.0 * (double)c->dim[MATMUL_M] * (double)c->dim[MATMUL_N] * (double)c->dim[MATMUL_K];
    w->bytes_read = matmul_a_bytes(c) + matmul_b_bytes(c);
    w->bytes_written = matmul_c_bytes(c);
}

static inline void matmul_oracle(const ridge_oracle_call *call) {
    const int64_t m = call->dim[MATMUL_M], n = call->dim[MATMUL_N], k = call->dim[MATMUL_K];
    for (int64_t i = 0; i < m; i++) {
        double *restrict c = call->out[0] + i * n;
        for (int64_t j = 0; j < n; j++) c[j] = 0;
        for (int64_t d = 0; d < k; d++) {
            const double s = call->in[0][i * k + d];
            const double *restrict b = call->in[1] + d * n;
            for (int64_t j = 0; j < n; j++) c[j] += s * b[j];
        }
    }
}

/* In 16 bits, by tensor cores, derived in targets/two_stage_pipeline/README.md: a step of 16 loses up to 2 u of the
 * partial sum, all in one direction; the result is rounded once to storage. */
static inline void matmul_bound_16(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    const double k = (double)call->dim[MATMUL_K], product = call->in_max[0] * call->in_max[1], u = 0x1p-24;
    *b = (ridge_bound){.relative = ridge_dtype_roundoff(call->dtype)};
    if (kind == RIDGE_EXACT && k * product < 0x1p24) return; /* every partial sum is an integer that fits */
    b->absolute = 2 * u * (k / 16 + 1) * product * (10.0 / 9.0 * sqrt(k) + 1);
    b->relative += 2 * u;
}

/* tf32: both factors of each term round to 11 bits, and their sums are those of tensor cores. targets/gemm/README.md derives
 * the term of the roundings. */
static inline void matmul_bound_tf32(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double k = (double)call->dim[MATMUL_K], product = call->in_max[0] * call->in_max[1];
    matmul_bound_16(call, kind, output, b);
    b->relative = 0x1p-24;
    if (kind == RIDGE_EXACT && k * product < 0x1p24) return;
    b->absolute += 0x1p-10 * product * fmin(k, 1.5 * sqrt(k));
    b->relative *= 3;
}

/* By multiply-adds in fp32, derived in targets/micro_tiling_matmul/README.md: partial sums as a random walk, and partial
 * sums that drift towards the result. f16 rounds once more, to storage. */
static inline void matmul_bound_32(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)output;
    const double k = (double)call->dim[MATMUL_K], product = call->in_max[0] * call->in_max[1], u = 0x1p-24;
    *b = (ridge_bound){.relative = call->dtype == RIDGE_F16 ? ridge_dtype_roundoff(RIDGE_F16) : 0};
    if (kind == RIDGE_EXACT && k * product < 0x1p24) return; /* every partial sum is an integer that fits */
    b->absolute = 7 * u * product * k / 7.3;
    b->relative += u * (1 + 7 * sqrt(k) / 3);
}

/* That of the call's type. */
static inline void matmul_bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    if (ridge_dtype_size(call->dtype) == 2)
        matmul_bound_16(call, kind, output, b);
    else
        (call->dtype == RIDGE_TF32 ? matmul_bound_tf32 : matmul_bound_32)(call, kind, output, b);
}

/* ---- the ways of a variant in 16 bits ---- */

enum { MATMUL_ANY, MATMUL_TILES }; /* of ridge_way.number: any operands by multiply-adds; a number of its own and up */

/* Whether an operand's lines lie in pieces of 16 bytes. */
static inline bool matmul_in_pieces(const ridge_problem *p, int tensor) {
    const int64_t bytes = (int64_t)ridge_dtype_size(p->c.dtype);
    const ridge_operand *t = &p->tensor[tensor];
    return t->offset % 16 == 0 && t->stride[0] * bytes % 16 == 0 && t->stride[1] == 1;
}
static inline const char *matmul_piece_refusal(const ridge_problem *p) {
    for (int tensor = 0; tensor < 3; tensor++)
        if (!matmul_in_pieces(p, tensor)) return "for operands in lines of 16-byte pieces";
    if (p->c.dim[MATMUL_N] % 8 != 0) return "for n in multiples of 8: TMA stores whole pieces";
    return p->c.dim[MATMUL_M] < 1 ? "for one row and more" : NULL;
}
/* The time of a way is its place among those that take the problem, and `any` comes last. */
static inline ridge_plan matmul_plan_any(const ridge_way *way, const ridge_problem *p) {
    (void)p;
    return (ridge_plan){.us = way->number == MATMUL_ANY ? 1000 : way->number};
}
/* TMA and cp.async copy pieces of 16 bytes. */
static inline ridge_plan matmul_plan_pieces(const ridge_way *way, const ridge_problem *p) {
    return (ridge_plan){.refusal = matmul_piece_refusal(p), .us = way->number};
}
/* cp.async has no end of a line between the elements of a piece. */
static inline ridge_plan matmul_plan_eights(const ridge_way *way, const ridge_problem *p) {
    const bool whole = p->c.dim[MATMUL_N] % 8 == 0 && p->c.dim[MATMUL_K] % 8 == 0;
    return whole ? matmul_plan_pieces(way, p) : (ridge_plan){.refusal = "for n and k in multiples of 8"};
}
/* order: the way's place among those that take the problem; plan_: matmul_plan_…; fn: its launch. Ways from 9.0 on have
 * instructions of that capability alone. */
#define MATMUL_WAY(order, name_, idea_, needs_, plan_, fn)                                                       \
    {                                                                                                            \
        .name = name_, .idea = idea_, .needs = needs_, .below = (needs_) < 90 ? 0 : (needs_) + 1, .plan = plan_, \
        .run = RIDGE_CUDA(fn), .number = MATMUL_TILES + order                                                    \
    }
RIDGE_CUDA_DECLARE(matmul_cuda_any); /* kernels/cuda/gemm/plain.cu */
#define MATMUL_WAY_ANY                                                                         \
    {                                                                                          \
        .name = "any", .idea = "multiply-adds, operands as they lie", .plan = matmul_plan_any, \
        .run = RIDGE_CUDA(matmul_cuda_any), .number = MATMUL_ANY                               \
    }

static inline const char *matmul_reject_16(const ridge_case *c) {
    if (c->dtype != RIDGE_BF16 && c->dtype != RIDGE_F16) return "for bf16 and f16";
    return c->dim[MATMUL_N] < 1 || c->dim[MATMUL_K] < 1 ? "n and k must be at least 1" : NULL;
}

/* The shapes at which the rungs of the ladder are compared, and edges of tiles and slices. */
#define MATMUL_GPU .only = RIDGE_ONLY_CUDA
#define MATMUL_CASES_16                                                            \
    {.dim = {4096, 4096, 4096}, .dtype = RIDGE_BF16, MATMUL_GPU},                  \
        {.dim = {8192, 8192, 8192}, .dtype = RIDGE_BF16, MATMUL_GPU},              \
        {.dim = {4096, 4096, 4096}, .dtype = RIDGE_F16, MATMUL_GPU},               \
        {.dim = {0, 8, 16}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU},        \
        {.dim = {1, 8, 8}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU},         \
        {.dim = {1, 1, 1}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},          \
        {.dim = {129, 136, 40}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU},    \
        {.dim = {257, 264, 200}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU},    \
        {.dim = {61, 97, 113}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU},     \
        {.dim = {300, 520, 328}, .dtype = RIDGE_BF16, .edge = true, MATMUL_GPU}, { \
        .dim = {64, 1032, 72}, .dtype = RIDGE_F16, .edge = true, MATMUL_GPU        \
    }

/* The target of this folder, of products in 16 bits: its variants have the table `variants`, its cases `cases`. */
#define MATMUL_TARGET(name_, summary_)                                           \
    const ridge_target ridge_target_##name_ = {.name = #name_,                   \
                                               .chapter = "ch09",                \
                                               .summary = summary_,              \
                                               .dims = MATMUL_DIMS,              \
                                               .cases = RIDGE_LIST(cases),       \
                                               .in = RIDGE_LIST(matmul_in),      \
                                               .out = RIDGE_LIST(matmul_out),    \
                                               .variants = RIDGE_LIST(variants), \
                                               .work = matmul_work,              \
                                               .oracle = matmul_oracle,          \
                                               .bound = matmul_bound_16,         \
                                               .products = true,                 \
                                               .reject = matmul_reject_16}

/* A rung: the target of this folder, whose variants have the tables baseline_ways and optimized_ways. */
#define MATMUL_RUNG(name_, summary_, baseline_idea, optimized_idea)                                                  \
    static const ridge_variant variants[] = {                                                                        \
        {.name = "cuda/baseline", .role = RIDGE_BASELINE, .idea = baseline_idea, .ways = RIDGE_LIST(baseline_ways)}, \
        {.name = "cuda/optimized",                                                                                   \
         .role = RIDGE_OPTIMIZED,                                                                                    \
         .idea = optimized_idea,                                                                                     \
         .ways = RIDGE_LIST(optimized_ways)}};                                                                       \
    MATMUL_TARGET(name_, summary_)

#endif

/* Many products in fp32 on the CPU, of any extents: three loops for each, or the ways of cpu/gemm_product.h, a product a
 * thread where there are enough of them, else all threads on each. Included by a target's cpu.c, once for each
 * instruction set. */
#ifndef RIDGE_GEMM_CPU_MANY_H
#define RIDGE_GEMM_CPU_MANY_H

#include "cpu/gemm_product.h"

typedef struct gemm_many {
    const ridge_call *call;
    gemm_product (*of)(const ridge_call *call, int64_t i);
    int64_t count;
    int64_t most_m, n, k; /* extents that scratch is for; n and k are the same in all */
    float alpha;
} gemm_many;

static inline void gemm_many_scale(const gemm_product *p, float alpha) {
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) p->c[i * p->c_row + j] *= alpha;
}

static inline void gemm_many_loops(void *arg, int rank, int size) {
    const gemm_many *many = arg;
    int64_t begin, end;
    ridge_share(many->count, 1, rank, size, &begin, &end);
    for (int64_t of = begin; of < end; of++) {
        const gemm_product p = many->of(many->call, of);
        for (int64_t i = 0; i < p.m; i++) {
            float *restrict c = p.c + i * p.c_row;
            for (int64_t j = 0; j < p.n; j++) c[j] = 0;
            for (int64_t k = 0; k < p.k; k++) {
                const float a = p.a[i * p.a_row + k];
                const float *restrict b = p.b + k * p.b_depth;
                for (int64_t j = 0; j < p.n; j++) c[j] += a * b[j];
            }
        }
        gemm_many_scale(&p, many->alpha);
    }
}

/* A thread's products, each by itself. */
static inline void gemm_many_alone(void *arg, int rank, int size) {
    const gemm_many *many = arg;
    const size_t room = gemm_product_scratch(many->most_m, many->n, many->k, 1);
    void *const scratch = (char *)many->call->scratch + (size_t)rank * ((room + 63) / 64 * 64);
    int64_t begin, end;
    ridge_share(many->count, 1, rank, size, &begin, &end);
    for (int64_t of = begin; of < end; of++) {
        const gemm_product p = many->of(many->call, of);
        if (p.m == 0) continue;
        gemm_product_best(&p, scratch, NULL);
        gemm_many_scale(&p, many->alpha);
    }
}

/* alone: a product a thread. */
static inline void gemm_many_run(gemm_many *many, bool alone) {
    if (alone) {
        ridge_team_run(many->call->team, gemm_many_alone, many);
        return;
    }
    for (int64_t of = 0; of < many->count; of++) {
        const gemm_product p = many->of(many->call, of);
        if (p.m == 0) continue;
        gemm_product_best(&p, many->call->scratch, many->call->team);
        gemm_many_scale(&p, many->alpha);
    }
}

#endif

/* What is made of a product in place on a CPU: c = f(alpha c + beta addend + bias + row_bias), a pass over its rows.
 * Included by cpu.c, for each instruction set. */
#ifndef RIDGE_GEMM_CPU_TERMS_H
#define RIDGE_GEMM_CPU_TERMS_H

#include "cpu/vec_activation.h"
#include "gemm/cpu.h"

typedef struct gemm_cpu_terms {
    const gemm_product *p;
    float alpha, beta;
    const float *addend; /* NULL: none; likewise the biases */
    int64_t addend_row, addend_column;
    const float *bias, *row_bias;
    int function;
    vf_gelu_tables gelu;
} gemm_cpu_terms;

/* Elements j … of row i of the addend, which may be column-major. */
VF_INLINE vf2 addend_at(const gemm_cpu_terms *t, int64_t i, int64_t j, int64_t count) {
    const float *from = t->addend + i * t->addend_row + j * t->addend_column;
    if (t->addend_column == 1) return vf2_load_n(from, count, VF_F32);
    float some[VF2_LANES] = {0};
    for (int64_t e = 0; e < count; e++) some[e] = from[e * t->addend_column];
    return vf2_load_f32(some);
}

VF_INLINE vf2 with_terms(const gemm_cpu_terms *t, int64_t i, int64_t j, int64_t count, vf2 v) {
    const vf alpha = vf_set1(t->alpha), beta = vf_set1(t->beta);
    v = (vf2){vf_mul(alpha, v.a), vf_mul(alpha, v.b)};
    if (t->bias) {
        const vf2 bias = vf2_load_n(t->bias + j, count, VF_F32);
        v = (vf2){vf_add(v.a, bias.a), vf_add(v.b, bias.b)};
    }
    if (t->row_bias) {
        const vf bias = vf_set1(t->row_bias[i]);
        v = (vf2){vf_add(v.a, bias), vf_add(v.b, bias)};
    }
    if (t->addend) {
        const vf2 addend = addend_at(t, i, j, count);
        v = (vf2){vf_fma(beta, addend.a, v.a), vf_fma(beta, addend.b, v.b)};
    }
    if (t->function == GEMM_RELU_SQUARED) {
        v = (vf2){vf_relu(v.a), vf_relu(v.b)};
        return (vf2){vf_mul(v.a, v.a), vf_mul(v.b, v.b)};
    }
    return vf2_activate(t->function, &t->gelu, v);
}

/* A thread's rows. */
static void add_terms(void *arg, int rank, int size) {
    const gemm_cpu_terms *t = arg;
    int64_t begin, end;
    ridge_share(t->p->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float *const c = t->p->c + i * t->p->c_row;
        for (int64_t j = 0; j < t->p->n; j += VF2_LANES) {
            const int64_t left = t->p->n - j, count = left < VF2_LANES ? left : VF2_LANES;
            vf2_store_n(c + j, count, with_terms(t, i, j, count, vf2_load_n(c + j, count, VF_F32)), VF_F32);
        }
    }
}

#endif

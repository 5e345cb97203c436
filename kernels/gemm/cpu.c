/* C = alpha A B in fp32 or bf16, and f(alpha A B + beta C + bias), compiled once for each instruction set: see cpu.h. */
#include "gemm/cpu.h"

#include "cpu/gemm_bf16.h"
#include "cpu/gemm_shared.h"
#include "gemm/cpu_terms.h"
#include "quantize/rule.h"

static int64_t stride_of(const DLTensor *t, int dim) {
    if (t->shape[dim] <= 1 || !t->strides) return dim == 0 ? t->shape[1] : 1;
    return t->strides[dim];
}

/* C by rows: of a column-major one, its transpose. */
static gemm_product product_of(const ridge_call *call) {
    const DLTensor *a = &call->in[GEMM_A], *b = &call->in[GEMM_B], *c = &call->out[0];
    const bool across = stride_of(c, 1) != 1;
    const DLTensor *left = across ? b : a, *right = across ? a : b;
    return (gemm_product){.m = c->shape[across],
                          .n = c->shape[!across],
                          .k = call->dim[MATMUL_K],
                          .a = ridge_data(left),
                          .a_row = stride_of(left, across),
                          .a_depth = stride_of(left, !across),
                          .b = ridge_data(right),
                          .b_depth = stride_of(right, across),
                          .b_column = stride_of(right, !across),
                          .c = ridge_data(c),
                          .c_row = stride_of(c, across)};
}

/* What is made of a product. terms: of a target with more than alpha. */
static gemm_cpu_terms terms_of(const ridge_call *call, const gemm_product *p, bool terms) {
    gemm_cpu_terms t = {.p = p, .alpha = (float)call->option[GEMM_ALPHA]};
    if (!terms) return t;
    const bool across = stride_of(&call->out[0], 1) != 1;
    const DLTensor *addend = &call->in[GEMM_ADDEND];
    const float *bias = call->option[GEMM_HAS_BIAS] > 0 ? ridge_data(&call->in[GEMM_BIAS]) : NULL;
    const float *row_bias = call->option[GEMM_HAS_ROW_BIAS] > 0 ? ridge_data(&call->in[GEMM_ROW_BIAS]) : NULL;
    t.addend = call->option[GEMM_HAS_ADDEND] > 0 ? ridge_data(addend) : NULL;
    t.addend_row = stride_of(addend, across), t.addend_column = stride_of(addend, !across);
    t.bias = across ? row_bias : bias, t.row_bias = across ? bias : row_bias;
    t.beta = (float)call->option[GEMM_BETA], t.function = (int)call->option[GEMM_FUNCTION];
    t.gelu = vf_gelu_prepare();
    return t;
}
static bool changes(const gemm_cpu_terms *t) {
    return t->alpha > 1 || t->alpha < 1 || t->addend || t->bias || t->row_bias || t->function;
}

/* What is made of the product of a way. */
static ridge_status finish(const ridge_call *call, const gemm_product *p) {
    gemm_cpu_terms t = terms_of(call, p, call->way->number == GEMM_WITH_TERMS);
    if (changes(&t)) ridge_team_run(call->team, add_terms, &t);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(gemm_cpu_optimized)(const ridge_call *call) {
    const gemm_product p = product_of(call);
    if (p.m == 0) return RIDGE_OK;
    RIDGE_ISA_FN(gemm_product)(&p, *(const gemm_way *)call->way->own, call->scratch, call->team);
    return finish(call, &p);
}

ridge_status RIDGE_ISA_FN(gemm_cpu_shared)(const ridge_call *call) {
    const gemm_product p = product_of(call);
    if (p.m == 0) return RIDGE_OK;
    RIDGE_ISA_FN(gemm_shared)(&p, call->scratch, call->team);
    return finish(call, &p);
}

/* Each row of C as sums of rows of B, which the compiler makes vectors of where they are contiguous. */
static void loops(void *arg, int rank, int size) {
    const gemm_cpu_terms *t = arg;
    const gemm_product *p = t->p;
    int64_t begin, end;
    ridge_share(p->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float *restrict c = p->c + i * p->c_row;
        for (int64_t j = 0; j < p->n; j++) c[j] = 0;
        for (int64_t d = 0; d < p->k; d++) {
            const float a = p->a[i * p->a_row + d * p->a_depth];
            const float *restrict b = p->b + d * p->b_depth;
            if (p->b_column == 1)
                for (int64_t j = 0; j < p->n; j++) c[j] += a * b[j];
            else
                for (int64_t j = 0; j < p->n; j++) c[j] += a * b[j * p->b_column];
        }
        for (int64_t j = 0; j < p->n; j++) c[j] *= t->alpha; /* sums first: alpha a may be 0 where a is not */
    }
}

/* ---- bf16 ---- */

static bf16_product bf16_of(const ridge_call *call) {
    const gemm_product p = product_of(call);
    return (bf16_product){.m = p.m,
                          .n = p.n,
                          .k = p.k,
                          .a = {(const uint16_t *)(const void *)p.a, p.a_row, p.a_depth},
                          .b = {(const uint16_t *)(const void *)p.b, p.b_column, p.b_depth},
                          .c = p.c,
                          .c_row = p.c_row,
                          .c_column = 1,
                          .wide = call->option[GEMM_WIDE] > 0,
                          .alpha = (float)call->option[GEMM_ALPHA]};
}

ridge_status RIDGE_ISA_FN(gemm_cpu_bf16)(const ridge_call *call) {
    const bf16_product p = bf16_of(call);
    if (p.m > 0) RIDGE_ISA_FN(bf16_product)(&p, *(const bool *)call->way->own, call->scratch, call->team);
    return RIDGE_OK;
}

static float widened(uint16_t v) { return rule_float((uint32_t)v << 16); }

/* As loops(), some columns at a time, whose sums are in fp32. */
enum { COLUMNS = 256 };
static void bf16_row(const bf16_product *p, int64_t i, int64_t j, int64_t columns) {
    float sums[COLUMNS] = {0};
    for (int64_t d = 0; d < p->k; d++) {
        const float a = widened(p->a.at[i * p->a.line + d * p->a.depth]);
        const uint16_t *b = p->b.at + j * p->b.line + d * p->b.depth;
        if (p->b.line == 1)
            for (int64_t e = 0; e < columns; e++) sums[e] += a * widened(b[e]);
        else
            for (int64_t e = 0; e < columns; e++) sums[e] += a * widened(b[e * p->b.line]);
    }
    for (int64_t e = 0; e < columns; e++) {
        const float c = p->alpha * sums[e];
        const int64_t at = i * p->c_row + j + e;
        if (p->wide)
            ((float *)p->c)[at] = c;
        else
            ((uint16_t *)p->c)[at] = rule_bf16(c);
    }
}
static void bf16_loops(void *arg, int rank, int size) {
    const bf16_product *p = arg;
    int64_t begin, end;
    ridge_share(p->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < p->n; j += COLUMNS) bf16_row(p, i, j, p->n - j < COLUMNS ? p->n - j : COLUMNS);
}

/* ---- baselines ---- */

ridge_status RIDGE_ISA_FN(gemm_cpu_baseline)(const ridge_call *call) {
    if (call->dtype == RIDGE_BF16) {
        bf16_product p = bf16_of(call);
        ridge_team_run(call->team, bf16_loops, &p);
        return RIDGE_OK;
    }
    const gemm_product p = product_of(call);
    gemm_cpu_terms t = terms_of(call, &p, false);
    ridge_team_run(call->team, loops, &t);
    return RIDGE_OK;
}

/* The product, then each term in a pass of its own. */
ridge_status RIDGE_ISA_FN(gemm_terms_cpu_baseline)(const ridge_call *call) {
    const gemm_product p = product_of(call);
    const gemm_cpu_terms all = terms_of(call, &p, true), none = {.p = &p, .alpha = 1, .gelu = all.gelu};
    gemm_cpu_terms pass[] = {none, none, none, none};
    pass[0].bias = all.bias, pass[1].row_bias = all.row_bias;
    pass[2].addend = all.addend, pass[2].beta = all.beta;
    pass[2].addend_row = all.addend_row, pass[2].addend_column = all.addend_column;
    pass[3].function = all.function;
    ridge_team_run(call->team, loops, (void *)&all);
    for (int i = 0; i < 4; i++)
        if (changes(&pass[i])) ridge_team_run(call->team, add_terms, &pass[i]);
    return RIDGE_OK;
}

/* y = (silu(x g^T) (x u^T)) w2^T in fp32, g, u and w2 2:4 sparse. Baseline: an element at a time, from the elements that codes
 * name. Optimized: weights with their zeros, then cpu/ffn_dense.h: vectors cannot follow codes. */
#include "cpu/ffn_dense.h"
#include "sparse/rows.h"
#include "structured_sparsity_ffn.h"

typedef struct ffn_call {
    const ridge_call *call;
    sparse_matrix w1, w2;
    int64_t m, d, f;
} ffn_call;

static ffn_call ffn_call_of(const ridge_call *call) {
    const DLTensor *in = call->in;
    const int64_t *dim = call->dim;
    return (ffn_call){call,
                      sparse_matrix_of(&in[SPARSE_FFN_W1], &in[SPARSE_FFN_W1_CODES], dim[SPARSE_FFN_D]),
                      sparse_matrix_of(&in[SPARSE_FFN_W2], &in[SPARSE_FFN_W2_CODES], dim[SPARSE_FFN_F]),
                      dim[SPARSE_FFN_M],
                      dim[SPARSE_FFN_D],
                      dim[SPARSE_FFN_F]};
}
static const float *x_row(const ridge_call *call, int64_t i) {
    return (const float *)ridge_data(&call->in[SPARSE_FFN_X]) + i * ridge_row_stride(&call->in[SPARSE_FFN_X]);
}
static float *y_row(const ridge_call *call, int64_t i) {
    return (float *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]);
}

/* ---- baseline ---- */

/* to = w from^T, from: a row. A row whose codes are not of a pattern makes NaN. */
static void multiply(const sparse_matrix *w, int64_t rows, const float *from, float *to) {
    for (int64_t j = 0; j < rows; j++) to[j] = sparse_is_patterned(w, j) ? sparse_dot(w, j, from) : __builtin_nanf("");
}

/* Gate and up values of all rows are in scratch. */
static void first_all(void *arg, int rank, int size) {
    const ffn_call *o = arg;
    int64_t begin, end;
    ridge_share(o->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        multiply(&o->w1, 2 * o->f, x_row(o->call, i), (float *)o->call->scratch + i * 2 * o->f);
}
static void gate_all(void *arg, int rank, int size) {
    const ffn_call *o = arg;
    int64_t begin, end;
    ridge_share(o->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        float *const both = (float *)o->call->scratch + i * 2 * o->f;
        ffn_gate_row(both, both + o->f, o->f);
    }
}
static void second_all(void *arg, int rank, int size) {
    const ffn_call *o = arg;
    int64_t begin, end;
    ridge_share(o->m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        multiply(&o->w2, o->d, (const float *)o->call->scratch + (2 * i + 1) * o->f, y_row(o->call, i));
}
ridge_status RIDGE_ISA_FN(structured_sparsity_ffn_cpu_baseline)(const ridge_call *call) {
    ffn_call o = ffn_call_of(call);
    ridge_team_run(call->team, first_all, &o);
    ridge_team_run(call->team, gate_all, &o);
    ridge_team_run(call->team, second_all, &o);
    return RIDGE_OK;
}

/* ---- optimized: scratch has w1 and w2 with their zeros, then that of the dense layer ---- */

static float *whole_w1(const ffn_call *o) { return o->call->scratch; }
static float *whole_w2(const ffn_call *o) { return whole_w1(o) + 2 * o->f * o->d; }
static float *rest(const ffn_call *o) { return whole_w2(o) + o->d * o->f; }

static void expand_all(void *arg, int rank, int size) {
    const ffn_call *o = arg;
    int64_t begin, end;
    ridge_share(2 * o->f, 1, rank, size, &begin, &end);
    for (int64_t j = begin; j < end; j++) sparse_expand(&o->w1, j, whole_w1(o) + j * o->d);
    ridge_share(o->d, 1, rank, size, &begin, &end);
    for (int64_t j = begin; j < end; j++) sparse_expand(&o->w2, j, whole_w2(o) + j * o->f);
}
ridge_status RIDGE_ISA_FN(structured_sparsity_ffn_cpu_optimized)(const ridge_call *call) {
    ffn_call o = ffn_call_of(call);
    const ffn_matrices all = {.m = o.m,
                              .d = o.d,
                              .f = o.f,
                              .x = x_row(call, 0),
                              .w1 = whole_w1(&o),
                              .w2 = whole_w2(&o),
                              .x_line = ridge_row_stride(&call->in[SPARSE_FFN_X]),
                              .w1_line = o.d,
                              .w2_line = o.f,
                              .y = y_row(call, 0),
                              .y_line = ridge_row_stride(&call->out[0])};
    if (o.m == 0) return RIDGE_OK;
    ridge_team_run(call->team, expand_all, &o);
    ffn_dense(&all, rest(&o), call->team);
    return RIDGE_OK;
}

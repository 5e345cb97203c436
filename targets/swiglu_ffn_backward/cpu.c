/* The gradients of swiglu_ffn in fp32: see README.md. Both variants make four products by the ways of cpu/gemm_product.h, on
 * all threads. Baseline: of all rows, with a pass over memory for each of dgate, dup and h. Optimized: a chunk of rows after
 * the other, one pass for all three; they stay in L3 until the products have read them, which add to dw1 and dw2. */
#include "cpu/gemm_product.h"
#include "cpu/row.h"
#include "cpu/vec_activation.h"
#include "swiglu_ffn_backward.h"

/* Some rows of a call: dh, in whose place h is, and dgate beside dup. */
typedef struct chunk {
    const ridge_call *call;
    int64_t first, rows, d, f, hidden_line, both_line;
    float *hidden, *both;
    void *room; /* of the products */
} chunk;

static chunk chunk_of(const ridge_call *call, int64_t most) {
    const int64_t d = call->dim[BACK_D], f = call->dim[BACK_F];
    chunk c = {.call = call, .rows = most, .d = d, .f = f, .hidden_line = back_line(f), .both_line = back_line(2 * f)};
    c.hidden = call->scratch;
    c.both = c.hidden + (most * c.hidden_line + 15) / 16 * 16;
    c.room = c.both + (most * c.both_line + 15) / 16 * 16;
    return c;
}

static float *row_of(const DLTensor *t, int64_t row) { return (float *)ridge_data(t) + row * ridge_row_stride(t); }

/* ---- products ---- */

static void multiply(const chunk *c, const gemm_product *p) { gemm_product_best(p, c->room, c->call->team); }

static void make_dh(const chunk *c) {
    const DLTensor *dy = &c->call->in[BACK_DY], *w2 = &c->call->in[BACK_W2];
    const gemm_product p = {.m = c->rows,
                            .n = c->f,
                            .k = c->d,
                            .a = row_of(dy, c->first),
                            .a_row = ridge_row_stride(dy),
                            .a_depth = 1,
                            .b = ridge_data(w2),
                            .b_depth = ridge_row_stride(w2),
                            .b_column = 1,
                            .c = c->hidden,
                            .c_row = c->hidden_line};
    multiply(c, &p);
}
static void make_dx(const chunk *c) {
    const DLTensor *w1 = &c->call->in[BACK_W1], *dx = &c->call->out[BACK_DX];
    const gemm_product p = {.m = c->rows,
                            .n = c->d,
                            .k = 2 * c->f,
                            .a = c->both,
                            .a_row = c->both_line,
                            .a_depth = 1,
                            .b = ridge_data(w1),
                            .b_depth = ridge_row_stride(w1),
                            .b_column = 1,
                            .c = row_of(dx, c->first),
                            .c_row = ridge_row_stride(dx)};
    multiply(c, &p);
}
/* dw = a^T b, of a and b of the chunk's rows, added to what earlier chunks gave. */
static void make_dw(const chunk *c, const DLTensor *dw, const float *a, int64_t a_line, const float *b,
                    int64_t b_line) {
    const gemm_product p = {.m = dw->shape[0],
                            .n = dw->shape[1],
                            .k = c->rows,
                            .a = a,
                            .a_row = 1,
                            .a_depth = a_line,
                            .b = b,
                            .b_depth = b_line,
                            .b_column = 1,
                            .c = ridge_data(dw),
                            .c_row = ridge_row_stride(dw),
                            .add = c->first > 0};
    multiply(c, &p);
}
/* The three that follow dh and the passes. */
static void make_gradients(const chunk *c) {
    const DLTensor *x = &c->call->in[BACK_X], *dy = &c->call->in[BACK_DY];
    make_dx(c);
    make_dw(c, &c->call->out[BACK_DW1], c->both, c->both_line, row_of(x, c->first), ridge_row_stride(x));
    make_dw(c, &c->call->out[BACK_DW2], row_of(dy, c->first), ridge_row_stride(dy), c->hidden, c->hidden_line);
}
static ridge_status clear_weights(const ridge_call *call) {
    for (int t = BACK_DW1; t <= BACK_DW2; t++)
        for (int64_t i = 0; i < call->out[t].shape[0]; i++)
            memset(row_of(&call->out[t], i), 0, sizeof(float) * (size_t)call->out[t].shape[1]);
    return RIDGE_OK;
}

/* ---- what is elementwise ---- */

typedef struct hidden_row {
    const float *gate, *up;
    float *dgate, *dup, *hidden;
} hidden_row;

static hidden_row hidden_row_of(const chunk *c, int64_t i) {
    const float *gate = row_of(&c->call->in[BACK_GATES], c->first + i);
    float *dgate = c->both + i * c->both_line;
    return (hidden_row){gate, gate + c->f, dgate, dgate + c->f, c->hidden + i * c->hidden_line};
}

VF_INLINE vf2 dgate_of(const void *state, int64_t j, int64_t count) {
    const hidden_row *r = state;
    const vf2 gate = row_load(r->gate, j, count, VF_F32), up = row_load(r->up, j, count, VF_F32),
              dh = row_load(r->hidden, j, count, VF_F32);
    vf2 slope;
    (void)vf_silu_slope(gate.a, &slope.a), (void)vf_silu_slope(gate.b, &slope.b);
    return (vf2){vf_mul(vf_mul(dh.a, up.a), slope.a), vf_mul(vf_mul(dh.b, up.b), slope.b)};
}
VF_INLINE vf2 opened(const hidden_row *r, const float *by, int64_t j, int64_t count) {
    const vf2 gate = row_load(r->gate, j, count, VF_F32), times = row_load(by, j, count, VF_F32);
    return (vf2){vf_mul(vf_silu(gate.a), times.a), vf_mul(vf_silu(gate.b), times.b)};
}
VF_INLINE vf2 dup_of(const void *state, int64_t j, int64_t count) {
    const hidden_row *r = state;
    return opened(r, r->hidden, j, count);
}
VF_INLINE vf2 hidden_of(const void *state, int64_t j, int64_t count) {
    const hidden_row *r = state;
    return opened(r, r->up, j, count);
}

static void three_passes(void *arg, int rank, int size) {
    const chunk *c = arg;
    int64_t begin, end;
    ridge_share(c->rows, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const hidden_row r = hidden_row_of(c, i);
        row_map(r.dgate, c->f, VF_F32, false, dgate_of, &r, NULL);
    }
    for (int64_t i = begin; i < end; i++) {
        const hidden_row r = hidden_row_of(c, i);
        row_map(r.dup, c->f, VF_F32, false, dup_of, &r, NULL);
    }
    for (int64_t i = begin; i < end; i++) {
        const hidden_row r = hidden_row_of(c, i);
        row_map(r.hidden, c->f, VF_F32, false, hidden_of, &r, NULL);
    }
}

VF_INLINE void all_of(const hidden_row *r, int64_t j, int64_t count) {
    const vf2 gate = row_load(r->gate, j, count, VF_F32), up = row_load(r->up, j, count, VF_F32),
              dh = row_load(r->hidden, j, count, VF_F32);
    vf2 slope;
    const vf2 silu = {vf_silu_slope(gate.a, &slope.a), vf_silu_slope(gate.b, &slope.b)};
    const vf2 dgate = {vf_mul(vf_mul(dh.a, up.a), slope.a), vf_mul(vf_mul(dh.b, up.b), slope.b)};
    const vf2 dup = {vf_mul(dh.a, silu.a), vf_mul(dh.b, silu.b)};
    const vf2 hidden = {vf_mul(up.a, silu.a), vf_mul(up.b, silu.b)};
    if (count == VF2_LANES) {
        vf2_store(r->dgate + j, dgate, VF_F32), vf2_store(r->dup + j, dup, VF_F32);
        vf2_store(r->hidden + j, hidden, VF_F32);
    } else {
        vf2_store_n(r->dgate + j, count, dgate, VF_F32), vf2_store_n(r->dup + j, count, dup, VF_F32);
        vf2_store_n(r->hidden + j, count, hidden, VF_F32);
    }
}
static void one_pass(void *arg, int rank, int size) {
    const chunk *c = arg;
    int64_t begin, end;
    ridge_share(c->rows, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const hidden_row r = hidden_row_of(c, i);
        int64_t j = 0;
        for (; j + VF2_LANES <= c->f; j += VF2_LANES) all_of(&r, j, VF2_LANES);
        if (j < c->f) all_of(&r, j, c->f - j);
    }
}

/* ---- variants ---- */

ridge_status RIDGE_ISA_FN(swiglu_ffn_backward_cpu_baseline)(const ridge_call *call) {
    chunk all = chunk_of(call, call->dim[BACK_M]);
    if (all.rows == 0) return clear_weights(call);
    make_dh(&all);
    ridge_team_run(call->team, three_passes, &all);
    make_gradients(&all);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(swiglu_ffn_backward_cpu_optimized)(const ridge_call *call) {
    const int64_t m = call->dim[BACK_M], most = back_rows(call->dim);
    chunk c = chunk_of(call, most);
    if (m == 0) return clear_weights(call);
    for (; c.first < m; c.first += c.rows) {
        c.rows = m - c.first < most ? m - c.first : most;
        make_dh(&c);
        ridge_team_run(call->team, one_pass, &c);
        make_gradients(&c);
    }
    return RIDGE_OK;
}

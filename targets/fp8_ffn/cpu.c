/* y = q(silu(x g^T) (x u^T)) w2^T of e4m3 operands on a CPU, by fp32 products of decoded values: see README.md. Both variants
 * decode the weights to memory. Baseline: x, gate and up values, hidden values, their codes and y, each for all rows. Optimized:
 * weights are packed as they are decoded, by vectors; a block of a thread's rows after the other goes from codes of x to y in
 * cache, 128 hidden values of a row at a time. */
#include "cpu/ffn.h"
#include "cpu/gemm_panels.h"
#include "fp8_ffn.h"
#include "fp8_ffn_cpu.h"
#include "quantize/fp8_block.h"

RIDGE_CPU_DECLARE(fp8_ffn_cpu_baseline);
RIDGE_CPU_DECLARE(fp8_ffn_cpu_optimized);

VF_INLINE const unsigned char *codes_row(const DLTensor *t, int64_t i) {
    return (const unsigned char *)ridge_data(t) + i * ridge_row_stride(t);
}
VF_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Rows `begin` to below `end` of codes times their scales, to lines of `columns` values from to on. */
static void decode(const DLTensor *codes, const fp8_scales *scales, int64_t begin, int64_t end, int64_t columns,
                   float *to) {
    for (int64_t i = begin; i < end; i++, to += columns) {
        const unsigned char *from = codes_row(codes, i);
        const float *scale = scales->data + i / scales->rows * scales->line;
        for (int64_t j = 0; j < columns; j += FP8_BLOCK)
            fp8_values(from + j, least(FP8_BLOCK, columns - j), scale[j / FP8_BLOCK * scales->step], to + j);
    }
}

/* Hidden values that share a scale become what their codes stand for. */
static void quantize_chunk(float *hidden, int64_t n) {
    unsigned char codes[FP8_BLOCK];
    const float max = fp8_largest(hidden, n, VF_F32);
    if (rule_is_odd(max)) {
        for (int64_t e = 0; e < n; e++) hidden[e] = max;
        return;
    }
    fp8_codes(hidden, n, rule_fp8_factor(max), codes, VF_F32);
    fp8_values(codes, n, rule_fp8_scale(max), hidden);
}

static void store_row(const ridge_call *call, int64_t i, const float *y) {
    const int64_t d = call->dim[FP8_FFN_D], at = i * ridge_row_stride(&call->out[0]);
    if (call->dtype == RIDGE_F32)
        memcpy((float *)ridge_data(&call->out[0]) + at, y, (size_t)d * sizeof *y);
    else
        for (int64_t j = 0; j < d; j++) ((uint16_t *)ridge_data(&call->out[0]))[at + j] = rule_bf16(y[j]);
}

typedef struct job {
    const ridge_call *call;
    fp8_scales of_x, of_w1, of_w2;
    ffn_matrices all; /* x and y: of all rows in the baseline, of a thread's block else */
    float *both;
    char *rest; /* of scratch, behind the weights */
} job;

static job job_of(const ridge_call *call) {
    const int64_t m = call->dim[FP8_FFN_M], d = call->dim[FP8_FFN_D], f = call->dim[FP8_FFN_F];
    float *const w1 = call->scratch, *const w2 = w1 + 2 * f * d;
    return (job){
        .call = call,
        .of_x = fp8_scales_of(&call->in[FP8_FFN_X_SCALE], m),
        .of_w1 = fp8_scales_of(&call->in[FP8_FFN_W1_SCALE], 2 * f),
        .of_w2 = fp8_scales_of(&call->in[FP8_FFN_W2_SCALE], d),
        .all = {.m = m, .d = d, .f = f, .w1 = w1, .w2 = w2, .x_line = d, .w1_line = d, .w2_line = f, .y_line = d},
        .rest = (char *)call->scratch + fp8_ffn_weight_bytes(d, f)};
}

static void decode_weights(void *arg, int rank, int size) {
    const job *t = arg;
    const int64_t d = t->all.d, f = t->all.f;
    const ridge_call *call = t->call;
    int64_t begin, end;
    ridge_share(2 * f, 1, rank, size, &begin, &end);
    decode(&call->in[FP8_FFN_W1], &t->of_w1, begin, end, d, (float *)t->all.w1 + begin * d);
    ridge_share(d, 1, rank, size, &begin, &end);
    decode(&call->in[FP8_FFN_W2], &t->of_w2, begin, end, f, (float *)t->all.w2 + begin * f);
}

/* ---- baseline ---- */

static void decode_x(void *arg, int rank, int size) {
    const job *t = arg;
    int64_t begin, end;
    ridge_share(t->all.m, 1, rank, size, &begin, &end);
    decode(&t->call->in[FP8_FFN_X], &t->of_x, begin, end, t->all.d, (float *)t->all.x + begin * t->all.d);
}
static void gate_all(void *arg, int rank, int size) {
    const job *t = arg;
    const int64_t f = t->all.f;
    int64_t begin, end;
    ridge_share(t->all.m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) ffn_gate_row(t->both + i * 2 * f, t->both + i * 2 * f + f, f);
}
static void quantize_all(void *arg, int rank, int size) {
    const job *t = arg;
    const int64_t f = t->all.f;
    int64_t begin, end;
    ridge_share(t->all.m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < f; j += FP8_BLOCK) quantize_chunk(t->both + i * 2 * f + f + j, least(FP8_BLOCK, f - j));
}
static void store_all(void *arg, int rank, int size) {
    const job *t = arg;
    int64_t begin, end;
    ridge_share(t->all.m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) store_row(t->call, i, t->all.y + i * t->all.d);
}

ridge_status RIDGE_ISA_FN(fp8_ffn_cpu_baseline)(const ridge_call *call) {
    job t = job_of(call);
    const int64_t m = t.all.m, d = t.all.d, f = t.all.f;
    float *const x = (float *)(void *)t.rest, *const y = x + fp8_ffn_floats(m * d);
    if (m == 0) return RIDGE_OK;
    t.all.x = x, t.all.y = y, t.both = y + fp8_ffn_floats(m * d);
    float *const room = t.both + ffn_both_floats(m, f);
    ridge_team_run(call->team, decode_weights, &t);
    ridge_team_run(call->team, decode_x, &t);
    const gemm_product first = ffn_first(&t.all, 0, m, 0, 2 * f, t.both, 2 * f);
    gemm_product_best(&first, room, call->team);
    ridge_team_run(call->team, gate_all, &t);
    ridge_team_run(call->team, quantize_all, &t);
    const gemm_product second = ffn_second(&t.all, 0, m, t.both + f, 2 * f);
    gemm_product_best(&second, room, call->team);
    ridge_team_run(call->team, store_all, &t);
    return RIDGE_OK;
}

/* ---- optimized ---- */

/* Weights as panels: of gates, of ups, both d deep, and of w2, f deep. */
typedef struct panels {
    const ridge_call *call;
    fp8_scales of_x, of_w1, of_w2;
    int64_t m, d, f;
    float *gate, *up, *down, *threads;
} panels;
static panels panels_of(const ridge_call *call) {
    const int64_t m = call->dim[FP8_FFN_M], d = call->dim[FP8_FFN_D], f = call->dim[FP8_FFN_F];
    panels p = {.call = call,
                .of_x = fp8_scales_of(&call->in[FP8_FFN_X_SCALE], m),
                .of_w1 = fp8_scales_of(&call->in[FP8_FFN_W1_SCALE], 2 * f),
                .of_w2 = fp8_scales_of(&call->in[FP8_FFN_W2_SCALE], d),
                .m = m,
                .d = d,
                .f = f,
                .gate = call->scratch};
    p.up = p.gate + fp8_ffn_panels(f, d), p.down = p.up + fp8_ffn_panels(f, d);
    p.threads = p.down + fp8_ffn_panels(d, f);
    return p;
}

/* Rows from `first` on by vectors, to lines some floats apart. */
static void rows_of(const DLTensor *codes, const fp8_scales *scales, int64_t first, int64_t count, int64_t columns,
                    float *to, int64_t line) {
    for (int64_t i = first; i < first + count; i++, to += line) {
        const float *scale = scales->data + i / scales->rows * scales->line;
        for (int64_t j = 0; j < columns; j += FP8_BLOCK)
            fp8_values(codes_row(codes, i) + j, least(FP8_BLOCK, columns - j), scale[j / FP8_BLOCK * scales->step],
                       to + j);
    }
}

/* Rows [begin, end) of `from` + themselves are columns of panels, k deep. begin: a panel's first. */
static void pack_rows(const DLTensor *codes, const fp8_scales *scales, int64_t from, int64_t begin, int64_t end,
                      int64_t k, float *to, float *rows) {
    for (int64_t j = begin; j < end; j += GEMM_NR) {
        const int64_t n = least(GEMM_NR, end - j);
        rows_of(codes, scales, from + j, n, k, rows, fp8_ffn_line(k));
        gemm_panels_pack(rows, fp8_ffn_line(k), n, k, to + j * k);
    }
}
static void pack_weights(void *arg, int rank, int size) {
    const panels *p = arg;
    const DLTensor *w1 = &p->call->in[FP8_FFN_W1], *w2 = &p->call->in[FP8_FFN_W2];
    float *const rows = p->threads + rank * fp8_ffn_thread_floats(p->d, p->f);
    int64_t begin, end;
    ridge_share(p->f, GEMM_NR, rank, size, &begin, &end);
    pack_rows(w1, &p->of_w1, 0, begin, end, p->d, p->gate, rows);
    pack_rows(w1, &p->of_w1, p->f, begin, end, p->d, p->up, rows);
    ridge_share(p->d, GEMM_NR, rank, size, &begin, &end);
    pack_rows(w2, &p->of_w2, 0, begin, end, p->f, p->down, rows);
}

/* C (+)= a times n columns of packed weights, k deep of `deep`. */
static gemm_panels product_of(int64_t rows, const float *a, int64_t line, const float *b, int64_t n, int64_t k,
                              int64_t deep, float *c, int64_t c_line, bool add) {
    return (gemm_panels){.m = rows,
                         .n = n,
                         .k = k,
                         .a = a,
                         .a_row = line,
                         .a_depth = 1,
                         .b = b,
                         .b_panel = GEMM_NR * deep,
                         .b_step = GEMM_NR,
                         .c = c,
                         .c_row = c_line,
                         .add = add,
                         .ahead = true};
}

/* Rows from `first` on: 128 hidden values of each at a time are made and added to y. */
static void one_block(const panels *p, int64_t first, int64_t rows, float *x) {
    const int64_t d = p->d, line = fp8_ffn_line(d);
    float *const both = x + FP8_FFN_ROWS * line, *const y = both + FP8_FFN_ROWS * FP8_FFN_BOTH_LINE;
    rows_of(&p->call->in[FP8_FFN_X], &p->of_x, first, rows, d, x, line);
    for (int64_t j = 0; j < p->f; j += FP8_FFN_CHUNK) {
        const int64_t n = least(FP8_FFN_CHUNK, p->f - j);
        float *const ups = both + FP8_FFN_CHUNK;
        const gemm_panels gate = product_of(rows, x, line, p->gate + j * d, n, d, d, both, FP8_FFN_BOTH_LINE, false),
                          up = product_of(rows, x, line, p->up + j * d, n, d, d, ups, FP8_FFN_BOTH_LINE, false),
                          down =
                              product_of(rows, ups, FP8_FFN_BOTH_LINE, p->down + j * GEMM_NR, d, n, p->f, y, d, j > 0);
        RIDGE_ISA_FN(gemm_panels)(&gate);
        RIDGE_ISA_FN(gemm_panels)(&up);
        for (int64_t i = 0; i < rows; i++) {
            ffn_gate_row(both + i * FP8_FFN_BOTH_LINE, ups + i * FP8_FFN_BOTH_LINE, n);
            quantize_chunk(ups + i * FP8_FFN_BOTH_LINE, n);
        }
        RIDGE_ISA_FN(gemm_panels)(&down);
    }
    for (int64_t i = 0; i < rows; i++) store_row(p->call, first + i, y + i * d);
}

static void blocks(void *arg, int rank, int size) {
    const panels *p = arg;
    int64_t begin, end;
    ridge_share(p->m, 1, rank, size, &begin, &end);
    const int64_t count = (end - begin + FP8_FFN_ROWS - 1) / FP8_FFN_ROWS;
    for (int64_t b = 0; b < count; b++) {
        const int64_t first = begin + gemm_cut(end - begin, count, b);
        one_block(p, first, begin + gemm_cut(end - begin, count, b + 1) - first,
                  p->threads + rank * fp8_ffn_thread_floats(p->d, p->f));
    }
}

ridge_status RIDGE_ISA_FN(fp8_ffn_cpu_optimized)(const ridge_call *call) {
    panels p = panels_of(call);
    if (p.m == 0) return RIDGE_OK;
    ridge_team_run(call->team, pack_weights, &p);
    ridge_team_run(call->team, blocks, &p);
    return RIDGE_OK;
}

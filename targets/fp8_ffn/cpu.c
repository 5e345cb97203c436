/* y = q(silu(x g^T) (x u^T)) w2^T of e4m3 operands on a CPU, by fp32 products of decoded values: see README.md. Baseline:
 * weights, x, gate and up values, hidden values, their codes and y, each for all rows. Optimized:
 * by cpu/ffn_panels.h, which packs weights as they are decoded and takes a block of a thread's rows after the other from codes of x
 * to y in cache. */
#include "cpu/ffn_panels.h"
#include "fp8_ffn.h"
#include "fp8_ffn_cpu.h"
#include "quantize/fp8_block.h"

RIDGE_CPU_DECLARE(fp8_ffn_cpu_baseline);
RIDGE_CPU_DECLARE(fp8_ffn_cpu_optimized);

VF_INLINE const unsigned char *codes_row(const DLTensor *t, int64_t i) {
    return (const unsigned char *)ridge_data(t) + i * ridge_row_stride(t);
}
VF_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A matrix of codes. */
typedef struct coded {
    const DLTensor *codes;
    fp8_scales scales;
} coded;

/* A piece of codes times their scales, to lines some floats apart. */
static void decode(const coded *of, const ffn_piece *piece, float *to, int64_t line) {
    const int64_t end = piece->from + piece->columns;
    for (int64_t i = piece->first; i < piece->first + piece->count; i++, to += line) {
        const float *scale = of->scales.data + i / of->scales.rows * of->scales.line;
        for (int64_t j = piece->from; j < end; j += FP8_BLOCK)
            fp8_values(codes_row(of->codes, i) + j, least(FP8_BLOCK, end - j), scale[j / FP8_BLOCK * of->scales.step],
                       to + j - piece->from);
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

/* x, w1 and w2. */
typedef struct operands {
    coded of[3];
} operands;
static operands operands_of(const ridge_call *call) {
    const DLTensor *in = call->in;
    const int64_t m = call->dim[FP8_FFN_M], d = call->dim[FP8_FFN_D], f = call->dim[FP8_FFN_F];
    return (operands){{[FFN_ROWS_OF_X] = {&in[FP8_FFN_X], fp8_scales_of(&in[FP8_FFN_X_SCALE], m)},
                       [FFN_ROWS_OF_W1] = {&in[FP8_FFN_W1], fp8_scales_of(&in[FP8_FFN_W1_SCALE], 2 * f)},
                       [FFN_ROWS_OF_W2] = {&in[FP8_FFN_W2], fp8_scales_of(&in[FP8_FFN_W2_SCALE], d)}}};
}

/* Rows of y in fp32, for each thread its own. */
typedef struct results {
    const ridge_call *call;
    const float *y;
} results;
static void store_all(void *arg, int rank, int size) {
    const results *r = arg;
    int64_t begin, end;
    ridge_share(r->call->dim[FP8_FFN_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) store_row(r->call, i, r->y + i * r->call->dim[FP8_FFN_D]);
}

/* ---- baseline ---- */

typedef struct job {
    operands from;
    ffn_matrices all;
    float *both;
} job;

/* All rows of an operand, to lines of `columns` values. */
static void decode_rows(const job *t, ffn_operand of, int64_t rows, int64_t columns, const float *to, int rank,
                        int size) {
    int64_t begin, end;
    ridge_share(rows, 1, rank, size, &begin, &end);
    const ffn_piece piece = {of, begin, end - begin, 0, columns};
    decode(&t->from.of[of], &piece, (float *)to + begin * columns, columns);
}
static void decode_all(void *arg, int rank, int size) {
    const job *t = arg;
    const ffn_matrices *all = &t->all;
    decode_rows(t, FFN_ROWS_OF_X, all->m, all->d, all->x, rank, size);
    decode_rows(t, FFN_ROWS_OF_W1, 2 * all->f, all->d, all->w1, rank, size);
    decode_rows(t, FFN_ROWS_OF_W2, all->d, all->f, all->w2, rank, size);
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
ridge_status RIDGE_ISA_FN(fp8_ffn_cpu_baseline)(const ridge_call *call) {
    const int64_t m = call->dim[FP8_FFN_M], d = call->dim[FP8_FFN_D], f = call->dim[FP8_FFN_F];
    float *const w1 = call->scratch, *const w2 = w1 + 2 * f * d, *const x = w1 + fp8_ffn_floats(3 * d * f),
                 *const y = x + fp8_ffn_floats(m * d), *const both = y + fp8_ffn_floats(m * d),
                 *const room = both + ffn_both_floats(m, f);
    job t = {.from = operands_of(call),
             .all = {.m = m,
                     .d = d,
                     .f = f,
                     .x = x,
                     .w1 = w1,
                     .w2 = w2,
                     .x_line = d,
                     .w1_line = d,
                     .w2_line = f,
                     .y = y,
                     .y_line = d},
             .both = both};
    if (m == 0) return RIDGE_OK;
    ridge_team_run(call->team, decode_all, &t);
    const gemm_product first = ffn_first(&t.all, 0, m, 0, 2 * f, both, 2 * f);
    gemm_product_best(&first, room, call->team);
    ridge_team_run(call->team, gate_all, &t);
    ridge_team_run(call->team, quantize_all, &t);
    const gemm_product second = ffn_second(&t.all, 0, m, both + f, 2 * f);
    gemm_product_best(&second, room, call->team);
    ridge_team_run(call->team, store_all, &(results){call, y});
    return RIDGE_OK;
}

/* ---- optimized ---- */

static ffn_lines lines(const void *from, const ffn_piece *piece, float *to, int64_t line) {
    decode(&((const operands *)from)->of[piece->of], piece, to, line);
    return (ffn_lines){to, line};
}

/* y in fp32 is where sums are added. */
ridge_status RIDGE_ISA_FN(fp8_ffn_cpu_optimized)(const ridge_call *call) {
    const int64_t m = call->dim[FP8_FFN_M], d = call->dim[FP8_FFN_D], f = call->dim[FP8_FFN_F];
    const bool wide = call->dtype == RIDGE_F32;
    const operands from = operands_of(call);
    float *const sums = (float *)call->scratch + ffn_panels_floats(m, d, f, FFN_COLUMNS, ridge_team_size(call->team));
    const ffn_layer layer = {.m = m,
                             .d = d,
                             .f = f,
                             .operands = &from,
                             .lines = lines,
                             .group = FFN_COLUMNS,
                             .settle = quantize_chunk,
                             .y = wide ? ridge_data(&call->out[0]) : sums,
                             .y_line = wide ? ridge_row_stride(&call->out[0]) : d,
                             .scratch = call->scratch};
    ffn_by_panels(&layer, call->team);
    if (!wide) ridge_team_run(call->team, store_all, &(results){call, sums});
    return RIDGE_OK;
}

/* y = q(silu(x g^T) (x u^T)) w2^T of e4m3 operands on a CPU, by fp32 products of decoded values: see README.md. Both variants
 * decode the weights to memory. Baseline: x, gate and up values, hidden values, their codes and y, each for all rows. Optimized: a
 * block of a thread's rows after the other, in cache from codes of x to y. */
#include "cpu/ffn.h"
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
        for (int64_t j = 0; j < columns; j++) to[j] = rule_value_e4m3(from[j]) * scale[j / FP8_BLOCK * scales->step];
    }
}

/* A row of hidden values becomes what their codes and scales stand for; codes: room for a block's. */
static void quantize_row(float *hidden, int64_t f, unsigned char codes[FP8_BLOCK]) {
    for (int64_t j = 0; j < f; j += FP8_BLOCK) {
        const int64_t n = least(FP8_BLOCK, f - j);
        const float max = fp8_largest(hidden + j, n, VF_F32), scale = rule_is_odd(max) ? max : rule_fp8_scale(max);
        if (!rule_is_odd(max)) fp8_codes(hidden + j, n, rule_fp8_factor(max), codes, VF_F32);
        for (int64_t e = 0; e < n; e++) hidden[j + e] = rule_is_odd(max) ? max : rule_value_e4m3(codes[e]) * scale;
    }
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
    unsigned char codes[FP8_BLOCK];
    int64_t begin, end;
    ridge_share(t->all.m, 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) quantize_row(t->both + i * 2 * f + f, f, codes);
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

static void blocks(void *arg, int rank, int size) {
    const job *t = arg;
    const int64_t d = t->all.d, f = t->all.f, rows = ffn_rows(f);
    float *const x = (float *)(void *)(t->rest + (size_t)rank * fp8_ffn_thread_bytes(d, f));
    float *const y = x + fp8_ffn_floats(rows * d), *const both = y + fp8_ffn_floats(rows * d);
    float *const room = both + ffn_both_floats(rows, f);
    ffn_matrices block = t->all;
    unsigned char codes[FP8_BLOCK];
    int64_t first, end;
    block.x = x, block.y = y;
    ridge_share(t->all.m, 1, rank, size, &first, &end);
    for (int64_t count; first < end; first += count) {
        count = least(rows, end - first);
        decode(&t->call->in[FP8_FFN_X], &t->of_x, first, first + count, d, x);
        const gemm_product gates_and_ups = ffn_first(&block, 0, count, 0, 2 * f, both, 2 * f);
        gemm_product_best(&gates_and_ups, room, NULL);
        for (int64_t i = 0; i < count; i++) {
            float *const hidden = both + i * 2 * f + f;
            ffn_gate_row(hidden - f, hidden, f);
            quantize_row(hidden, f, codes);
        }
        const gemm_product second = ffn_second(&block, 0, count, both + f, 2 * f);
        gemm_product_best(&second, room, NULL);
        for (int64_t i = 0; i < count; i++) store_row(t->call, first + i, y + i * d);
    }
}

ridge_status RIDGE_ISA_FN(fp8_ffn_cpu_optimized)(const ridge_call *call) {
    job t = job_of(call);
    if (t.all.m == 0) return RIDGE_OK;
    ridge_team_run(call->team, decode_weights, &t);
    ridge_team_run(call->team, blocks, &t);
    return RIDGE_OK;
}

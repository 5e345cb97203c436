/* y = q(h) w2^T, h = silu(x g^T) (x u^T), w1 = [g; u]; q(h): e4m3 with a scale for each 128 of a row
 * x: [m, d], w1: [2 f, d], w2: [d, f], e4m3, of scales for each 1 x 128 of x and each 128 x 128 of w1 and w2, or of one scale each;
 * y: [m, d], f32 or bf16, and what is before quantization likewise. 6 m d f FLOP and 8 m f; least traffic: all of these once. See
 * README.md. */
#include <math.h>
#include <stdlib.h>

#include "fp8_ffn.h"
#include "gemm/gemm8.h"
#include "fp8_ffn_cpu.h"
#include "gemm/fp8_lost.h"

RIDGE_CPU_DECLARE(fp8_ffn_cpu_baseline);
RIDGE_CPU_DECLARE(fp8_ffn_cpu_optimized);
RIDGE_CUDA_DECLARE(fp8_ffn_cuda_elements);
RIDGE_CUDA_DECLARE(fp8_ffn_cuda_steps);
RIDGE_CUDA_DECLARE(fp8_ffn_cuda_tiles);
RIDGE_CUDA_DECLARE(fp8_ffn_cuda_whole);

#define UP(n) (((n) + FP8_BLOCK - 1) / FP8_BLOCK)
#define FFN(m, d, f) .dim = {m, d, f, 2 * (f), UP(d), UP(f), UP(2 * (f)), m}
#define WHOLE(m, d, f) .dim = {m, d, f, 2 * (f), 1, 1, 1, 1} /* tensors of one scale */
#define WIDE .dtype = RIDGE_F32
#define NARROW .dtype = RIDGE_BF16
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
#define CPU .only = RIDGE_ONLY_CPU
static const ridge_case cases[] = {
    {FFN(65536, 6144, 24576), NARROW, GPU}, /* the chapter's */
    {WHOLE(65536, 6144, 24576), NARROW, GPU},
    {FFN(8192, 4096, 14336), NARROW, GPU},
    {WHOLE(8192, 4096, 14336), NARROW, GPU},
    {FFN(4096, 2048, 8192), NARROW, GPU},
    {FFN(256, 512, 2048), WIDE, CPU},
    {FFN(1024, 512, 1408), WIDE, CPU},
    {FFN(0, 16, 64), WIDE, EDGE},
    {FFN(1, 1, 1), WIDE, EDGE},
    {FFN(67, 45, 91), WIDE, EDGE},
    {FFN(131, 136, 192), WIDE, EDGE},
    {FFN(40, 300, 520), WIDE, EDGE, CPU},
    {WHOLE(35, 260, 200), WIDE, EDGE},
    {FFN(29, 1100, 140), WIDE, EDGE, CPU}, /* two slices of the first product's depth */
    {FFN(0, 16, 128), NARROW, EDGE, GPU},
    {FFN(1, 16, 128), NARROW, EDGE, GPU},
    {FFN(67, 45, 91), NARROW, EDGE, GPU},
    {FFN(131, 144, 192), NARROW, EDGE, GPU}, /* scales of g and u in one square */
    {FFN(257, 272, 384), NARROW, EDGE, GPU},
    {FFN(65, 1040, 256), NARROW, EDGE, GPU}, /* more slices than stages */
    {FFN(300, 136, 260), NARROW, EDGE, GPU},
    {WHOLE(2, 16, 128), NARROW, EDGE, GPU},
    {WHOLE(67, 45, 91), NARROW, EDGE, GPU},
    {WHOLE(131, 144, 192), NARROW, EDGE, GPU},
    {WHOLE(257, 784, 384), NARROW, EDGE, GPU}, /* more slices than stages */
    {FFN(9, 136, 1152), NARROW, EDGE, GPU},    /* y in shares of f */
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) {
    dim[FP8_FFN_BOTH] = 2 * dim[FP8_FFN_F];
    dim[FP8_FFN_D_BLOCKS] = fp8_blocks(dim[FP8_FFN_D]), dim[FP8_FFN_F_BLOCKS] = fp8_blocks(dim[FP8_FFN_F]);
    dim[FP8_FFN_BOTH_BLOCKS] = fp8_blocks(dim[FP8_FFN_BOTH]), dim[FP8_FFN_X_DOWN] = dim[FP8_FFN_M];
}

/* Whether tensors have one scale each. Small ones may have one block of them besides, which is the same. */
static bool is_whole(const int64_t *dim) {
    for (int i = FP8_FFN_D_BLOCKS; i <= FP8_FFN_X_DOWN; i++)
        if (dim[i] != 1) return false;
    return true;
}

static const char *reject(const ridge_case *c) {
    int64_t whole[RIDGE_MAX_RANK];
    if (c->dim[FP8_FFN_D] < 1 || c->dim[FP8_FFN_F] < 1) return "d and f must be at least 1";
    memcpy(whole, c->dim, sizeof whole);
    derive(whole);
    if (whole[FP8_FFN_BOTH] == c->dim[FP8_FFN_BOTH] && is_whole(c->dim)) return NULL;
    return memcmp(whole, c->dim, sizeof whole) == 0 ? NULL
                                                    : "w1 must have twice as many rows as w2 has columns, x a scale "
                                                      "for each 128 columns, weights one for each "
                                                      "128 rows and columns, or all tensors one scale each";
}

/* w1 is plain, since a NaN in it is one in all of y. Scales of x and w1 are such that gate and up values are of order one. */
static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {FP8_FFN_M, FP8_FFN_D}, .dtype = RIDGE_E4M3, .by_row = true},
    {.name = "x_scale", .rank = 2, .dim = {FP8_FFN_X_DOWN, FP8_FFN_D_BLOCKS}, .dtype = RIDGE_F32, .plain = true},
    {.name = "w1", .rank = 2, .dim = {FP8_FFN_BOTH, FP8_FFN_D}, .dtype = RIDGE_E4M3, .plain = true},
    {.name = "w1_scale",
     .rank = 2,
     .dim = {FP8_FFN_BOTH_BLOCKS, FP8_FFN_D_BLOCKS},
     .dtype = RIDGE_F32,
     .fill = RIDGE_FILL_WEIGHT,
     .index_dim = FP8_FFN_D,
     .plain = true},
    {.name = "w2", .rank = 2, .dim = {FP8_FFN_D, FP8_FFN_F}, .dtype = RIDGE_E4M3},
    {.name = "w2_scale",
     .rank = 2,
     .dim = {FP8_FFN_D_BLOCKS, FP8_FFN_F_BLOCKS},
     .dtype = RIDGE_F32,
     .fill = RIDGE_FILL_SCALE,
     .plain = true},
};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {FP8_FFN_M, FP8_FFN_D}}};

static double area(const ridge_case *c, int down, int across) { return (double)c->dim[down] * (double)c->dim[across]; }
static double hidden(const ridge_case *c) { return area(c, FP8_FFN_M, FP8_FFN_F); }
static double y_bytes(const ridge_case *c) {
    return (double)ridge_dtype_size(c->dtype) * area(c, FP8_FFN_M, FP8_FFN_D);
}
/* Codes of hidden values and their scales. */
static double codes_bytes(const ridge_case *c) {
    return hidden(c) + 4 * (double)c->dim[FP8_FFN_M] * (double)fp8_blocks(c->dim[FP8_FFN_F]);
}
static double bytes_in(const ridge_case *c) {
    return area(c, FP8_FFN_M, FP8_FFN_D) + 3 * area(c, FP8_FFN_D, FP8_FFN_F) +
           4 * (area(c, FP8_FFN_X_DOWN, FP8_FFN_D_BLOCKS) + area(c, FP8_FFN_BOTH_BLOCKS, FP8_FFN_D_BLOCKS) +
                area(c, FP8_FFN_D_BLOCKS, FP8_FFN_F_BLOCKS));
}
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = hidden(c) * (6 * (double)c->dim[FP8_FFN_D] + 8),
                      .bytes_read = bytes_in(c),
                      .bytes_written = y_bytes(c)};
}

/* ---- oracle: derived in README.md ---- */

/* A value as the definition has it, and the variance of what a kernel may have instead. */
typedef struct sized {
    double value, variance;
} sized;

/* A row of hidden values: what their codes stand for, the variance of the error, and a step of e4m3 where one may be taken. */
typedef struct hidden_row {
    double *value, *variance, *step;
} hidden_row;

static const double u = 0x1p-24;

static double square(double x) { return x * x; }
/* The variance of what a sum of k terms in fp32 loses, for terms and scales that are rounded, too. */
static double wide_loss(double k, double squares, double sum) {
    return square(3 * u) * (k + 1) * squares + square(4 * u * sum);
}

/* Scales of lines, one for each slice or one for all slices. */
typedef struct line_scales {
    const double *data;
    int64_t step;
} line_scales;
static line_scales scales_of_line(const double *data, int64_t down, int64_t across, int64_t line) {
    return (line_scales){data + (down > 1 ? line : 0) * across, across > 1};
}

/* Row i of x times a row of w1. lost: of each slice, by tensor cores and for scales of 1; NULL: sums are in fp32. */
static sized dot(const double *a, line_scales of_a, const double *b, line_scales of_b, int64_t k, const double *lost) {
    double value = 0, squares = 0, variance = 0;
    for (int64_t first = 0, t = 0; first < k; first += FP8_BLOCK, t++) {
        const double scale = of_a.data[t * of_a.step] * of_b.data[t * of_b.step];
        double sum = 0, of_slice = 0;
        for (int64_t d = first; d < k && d < first + FP8_BLOCK; d++)
            sum += a[d] * b[d], of_slice += square(a[d] * b[d]);
        value += sum * scale, squares += of_slice * square(scale);
        if (lost) variance += square(scale * lost[t]);
    }
    return (sized){value, variance + wide_loss((double)k, squares, value)};
}

/* Errors of both products; of narrow values three roundings to bf16, each uniform within 2^-8; SiLU's. */
static sized gated(sized gate, sized up, bool narrow) {
    const double s = 1 / (1 + exp(-gate.value)), silu = gate.value * s, slope = s * (1 + gate.value * (1 - s));
    const double h = silu * up.value, third = narrow ? 0x1p-16 / 3 : 0;
    return (sized){h, third * (2 * square(h) + square(slope * gate.value * up.value)) +
                          square(slope * up.value) * gate.variance + square(silu) * up.variance + square(8 * u * h)};
}

/* By the definition, in the steps of quantize_fp8_blocks. */
static double rounded(float v) { return ridge_rounded(RIDGE_E4M3, (double)v); }

/* Of a value h and the variance of its error: which a kernel may round to the other side, with what probability. */
static sized step_of(double h, double error, double r, double s) {
    const double scaled = fmin(fabs(h) * r, 448), unit = exp2(floor(log2(fmax(scaled, 0x1p-6))) - 3);
    const double places = scaled / unit, apart = fabs(places - floor(places) - 0.5) * unit * s;
    const double likely = error > 0 ? exp(-square(apart) / error / 2) / 2 : 0;
    return (sized){apart < 6 * sqrt(error) ? unit * s : 0, likely * square(unit * s) + error};
}
static void quantize(hidden_row h, int64_t n) {
    double max = 0, of_max = 0;
    for (int64_t j = 0; j < n; j++) {
        if (!isfinite(h.value[j]) || !isfinite(max))
            max = (double)INFINITY;
        else if (fabs(h.value[j]) >= max)
            max = fabs(h.value[j]), of_max = h.variance[j];
    }
    const bool odd = !isfinite(max);
    const float a = (float)fmax(max, 0x1p-100), r = 448.0F / a, s = a / 448.0F;
    const double moved = odd ? 0 : of_max / square((double)a) + square(2 * u); /* of the scale, relative */
    for (int64_t j = 0; j < n; j++) {
        const sized step = step_of(h.value[j], h.variance[j] + moved * square(h.value[j]), (double)r, (double)s);
        h.step[j] = odd ? 0 : step.value;
        h.variance[j] = odd ? 0 : step.variance;
        h.value[j] = odd ? (double)NAN : rounded((float)h.value[j] * r) * (double)s;
    }
}

/* y of one row, and its size: six deviations and two steps of the output that has the most of both. lost: NULL, or of each slice of
 * f for scales of 1. */
static double down(const ridge_oracle_call *call, hidden_row h, const double *lost, double *y) {
    const int64_t d = call->dim[FP8_FFN_D], f = call->dim[FP8_FFN_F], blocks = call->dim[FP8_FFN_F_BLOCKS];
    double size = 0;
    for (int64_t k = 0; k < d; k++) {
        const double *w = call->in[FP8_FFN_W2] + k * f;
        const line_scales of_w =
            scales_of_line(call->in[FP8_FFN_W2_SCALE], call->dim[FP8_FFN_D_BLOCKS], blocks, k / FP8_BLOCK);
        double sum = 0, variance = 0, step = 0, squares = 0;
        for (int64_t t = 0; lost && t < fp8_blocks(f); t++) variance += square(lost[t] * of_w.data[t * of_w.step]);
        for (int64_t j = 0; j < f; j++) {
            const double weight = w[j] * of_w.data[j / FP8_BLOCK * of_w.step], term = h.value[j] * weight;
            sum += term;
            if (!isfinite(term)) continue;
            squares += square(term), variance += h.variance[j] * square(weight);
            step = fmax(step, h.step[j] * fabs(weight));
        }
        y[k] = sum;
        if (isfinite(sum)) size = fmax(size, 6 * sqrt(variance + wide_loss((double)f, squares, sum)) + 2 * step);
    }
    return size;
}

static double largest(const double *v, int64_t n) {
    double max = 0;
    for (int64_t j = 0; j < n; j++) max = isfinite(v[j]) && fabs(v[j]) > max ? fabs(v[j]) : max;
    return max;
}
/* The deviation of what tensor cores lose of each slice of a row of `of`, for the largest `other` and scales of 1. Of sums that stay in
 * them to the end, the first slice's is that of all. */
static const double *lost_of(const double *of, int64_t n, double other, bool stays, double *lost) {
    const int64_t slice = stays ? n : FP8_BLOCK;
    for (int64_t t = 0; t < fp8_blocks(n); t++) {
        const int64_t first = t * slice, terms = first >= n ? 0 : n - first < slice ? n - first : slice;
        lost[t] = terms > 0 ? largest(of + first, terms) * other * fp8_lost((double)terms) / 2 : 0;
    }
    return lost;
}

static const double SIZED = 0.125; /* of a row's size, that the bound is: sizes are then of the order of y */

/* lost: room for those of d and of f. */
static void oracle_row(const ridge_oracle_call *call, int64_t i, hidden_row h, double *lost) {
    const int64_t d = call->dim[FP8_FFN_D], f = call->dim[FP8_FFN_F], across = call->dim[FP8_FFN_D_BLOCKS];
    const int64_t down_w1 = call->dim[FP8_FFN_BOTH_BLOCKS];
    const double *x = call->in[FP8_FFN_X] + i * d, *w1 = call->in[FP8_FFN_W1], *scale = call->in[FP8_FFN_W1_SCALE];
    const line_scales of_row =
        scales_of_line(call->in[FP8_FFN_X_SCALE], call->whole[FP8_FFN_X_DOWN], across, call->row[i]);
    const bool narrow = call->dtype != RIDGE_F32;
    const double *of_x = narrow ? lost_of(x, d, call->in_max[FP8_FFN_W1], is_whole(call->whole), lost) : NULL;
    for (int64_t j = 0; j < f; j++) {
        const line_scales of_gate = scales_of_line(scale, down_w1, across, j / FP8_BLOCK);
        const line_scales of_up = scales_of_line(scale, down_w1, across, (f + j) / FP8_BLOCK);
        const sized gate = dot(x, of_row, w1 + j * d, of_gate, d, of_x);
        const sized up = dot(x, of_row, w1 + (f + j) * d, of_up, d, of_x);
        const sized of = gated(gate, up, narrow);
        h.value[j] = of.value, h.variance[j] = of.variance;
    }
    for (int64_t j = 0; j < f; j += FP8_BLOCK)
        quantize((hidden_row){h.value + j, h.variance + j, h.step + j}, f - j < FP8_BLOCK ? f - j : FP8_BLOCK);
    const double *of_hidden =
        narrow ? lost_of(h.value, f, call->in_max[FP8_FFN_W2], false, lost + fp8_blocks(d)) : NULL;
    call->size[0][i] = down(call, h, of_hidden, call->out[0] + i * d) / SIZED;
}

static void oracle(const ridge_oracle_call *call) {
    const int64_t d = call->dim[FP8_FFN_D], f = call->dim[FP8_FFN_F];
    const int64_t blocks = fp8_blocks(d) + fp8_blocks(f);
    double *const room = malloc(sizeof(double) * (size_t)(3 * f + blocks));
    for (int64_t i = 0; i < call->dim[FP8_FFN_M]; i++) {
        if (room)
            oracle_row(call, i, (hidden_row){room, room + f, room + 2 * f}, room + 3 * f);
        else
            for (int64_t j = 0; j < d; j++) call->out[0][i * d + j] = (double)NAN;
    }
    free(room);
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    const double rounding = call->dtype == RIDGE_F32 ? u : ridge_dtype_roundoff(call->dtype);
    (void)kind, (void)output;
    *b = (ridge_bound){.relative = rounding + 4 * u, .sized = SIZED};
}

/* ---- variants ---- */

static size_t cpu_baseline_scratch(const ridge_case *c, int threads) {
    const int64_t m = c->dim[FP8_FFN_M], d = c->dim[FP8_FFN_D], f = c->dim[FP8_FFN_F];
    return fp8_ffn_weight_bytes(d, f) + fp8_ffn_rows_bytes(m, d, f, threads);
}
static size_t cpu_optimized_scratch(const ridge_case *c, int threads) {
    return fp8_ffn_panels_bytes(c->dim, c->dtype == RIDGE_F32, threads);
}
static void cpu_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    const double weights = 12 * area(c, FP8_FFN_D, FP8_FFN_F), x = 4 * area(c, FP8_FFN_M, FP8_FFN_D), h = 4 * hidden(c);
    *t =
        (ridge_traffic){.read = bytes_in(c) + weights + 2 * x + 4 * h, .written = weights + 2 * x + 4 * h + y_bytes(c)};
}
/* Panels of all chunks of hidden values are at the same place. */
static void cpu_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    const double panels =
        4 * (double)ffn_weights_floats(c->dim[FP8_FFN_D], ffn_plan_of(0, c->dim[FP8_FFN_F], FFN_COLUMNS, 1).chunk);
    *t = (ridge_traffic){.read = bytes_in(c), .written = panels + y_bytes(c)};
}

static size_t steps_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return fp8_ffn_scratch_of(c->dim, ridge_dtype_size(c->dtype)).bytes;
}
/* Gate and up values, hidden ones and their codes are written and read. */
static void steps_traffic(const ridge_case *c, ridge_traffic *t) {
    const double between = 3 * (double)ridge_dtype_size(c->dtype) * hidden(c) + codes_bytes(c);
    *t = (ridge_traffic){.read = bytes_in(c) + between, .written = between + y_bytes(c)};
}

static const char *tiles_refuse(const ridge_problem *p) {
    const int64_t most = INT32_MAX / 2 - 4096;
    if (p->c.dtype == RIDGE_F32) return "for y in bf16: tensor cores keep 13 bits of a sum";
    if (p->c.dim[FP8_FFN_M] < 1) return "for one row and more";
    for (int i = FP8_FFN_M; i <= FP8_FFN_F; i++)
        if (p->c.dim[i] > most) return "for extents of 30 bits";
    if (!gemm8_in_pieces(&p->tensor[FP8_FFN_X], 1) || !gemm8_in_pieces(&p->tensor[FP8_FFN_W1], 1) ||
        !gemm8_in_pieces(&p->tensor[FP8_FFN_W2], 1))
        return "for operands in lines of 16-byte pieces";
    if (!fp8_scales_are_near(&p->tensor[FP8_FFN_X_SCALE], p->c.dim[FP8_FFN_X_DOWN]) ||
        !fp8_scales_are_near(&p->tensor[FP8_FFN_W1_SCALE], p->c.dim[FP8_FFN_BOTH_BLOCKS]) ||
        !fp8_scales_are_near(&p->tensor[FP8_FFN_W2_SCALE], p->c.dim[FP8_FFN_D_BLOCKS]))
        return "for scales within 2^31 numbers";
    return gemm8_in_pieces(&p->tensor[6], 2) && p->c.dim[FP8_FFN_D] % 8 == 0
               ? NULL
               : "for a y in lines of whole 16-byte pieces";
}

/* Estimates, which nobody has measured: FLOP a microsecond of an SM. */
static const double TILES_RATE = 8e6, WHOLE_RATE = 9.5e6, ANY_RATE = 0.1e6;

static fp8_choice down_of(const ridge_problem *p) {
    return fp8_ffn_down(p->c.dim, p->here.sm_count, ridge_dtype_size(p->c.dtype));
}
/* Gate and up values in tiles of so many rows and columns. */
static double first_cost(const ridge_problem *p, double rate, double rows, double columns) {
    const double d = (double)p->c.dim[FP8_FFN_D], both = (double)p->c.dim[FP8_FFN_BOTH];
    return GEMM8_LAUNCH + gemm8_tiles_us(p, (double)p->c.dim[FP8_FFN_M], both, 2 * d, rate, rows, columns);
}
/* Hidden values stay in the SM that makes them. */
static ridge_plan fused_plan(const ridge_problem *p, bool whole, const char *scales, double rate, double columns) {
    const char *refusal = tiles_refuse(p);
    if (!refusal && p->c.dim[FP8_FFN_F] % FP8_BLOCK != 0) refusal = "for f in multiples of 128";
    if (!refusal && is_whole(p->c.dim) != whole) refusal = scales;
    return (ridge_plan){
        .refusal = refusal,
        .us = first_cost(p, rate, 128, columns) + down_of(p).us,
        .scratch = fp8_ffn_scratch_of(p->c.dim, 0).bytes + down_of(p).scratch,
        .traffic = {.read = bytes_in(&p->c) + codes_bytes(&p->c), .written = codes_bytes(&p->c) + y_bytes(&p->c)},
        .arithmetic = {RIDGE_E4M3, 1}};
}
static ridge_plan tiles_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return fused_plan(p, false, "for scales of rows and squares", TILES_RATE, 128);
}
static ridge_plan whole_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    return fused_plan(p, true, "for one scale a tensor", WHOLE_RATE, 256);
}
static ridge_plan steps_in(const ridge_problem *p, const char *refusal, double us) {
    const double passes = 2 * GEMM8_LAUNCH + 11 * hidden(&p->c) / GEMM8_DRAM;
    ridge_plan plan = {.refusal = refusal, .us = us + passes, .scratch = steps_scratch(&p->c, 1)};
    steps_traffic(&p->c, &plan.traffic);
    return plan;
}
/* TMA stores gate and up values, and reads codes in lines of whole pieces. */
static ridge_plan steps_plan(const ridge_way *way, const ridge_problem *p) {
    const char *refusal = tiles_refuse(p);
    (void)way;
    if (!refusal && p->c.dim[FP8_FFN_F] % 4 != 0) refusal = "for f in multiples of 4: TMA stores whole pieces";
    ridge_plan plan = steps_in(p, refusal, first_cost(p, TILES_RATE, 128, 128) + down_of(p).us);
    plan.scratch += down_of(p).scratch;
    plan.arithmetic = (ridge_arithmetic){RIDGE_E4M3, 1};
    return plan;
}
static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    (void)way;
    const double down = gemm8_tiles_us(p, (double)p->c.dim[FP8_FFN_M], (double)p->c.dim[FP8_FFN_D],
                                       2 * (double)p->c.dim[FP8_FFN_F], ANY_RATE, 16, 16);
    return steps_in(p, NULL, GEMM8_LAUNCH + first_cost(p, ANY_RATE, 16, 16) + down);
}

#define STEPS                                                                                                    \
    {                                                                                                            \
        .name = "steps", .idea = "products by tiles; SwiGLU and codes by a pass each", .needs = 90, .below = 91, \
        .plan = steps_plan, .run = RIDGE_CUDA(fp8_ffn_cuda_steps)                                                \
    }
#define ANY                                                                                                  \
    {                                                                                                        \
        .name = "any", .idea = "the same with a thread for each element of a product, operands as they lie", \
        .needs = 89, .plan = any_plan, .run = RIDGE_CUDA(fp8_ffn_cuda_elements)                              \
    }
static const ridge_way baseline_ways[] = {STEPS, ANY};
static const ridge_way optimized_ways[] = {
    {.name = "tiles",
     .idea = "64 gate and 64 up columns a tile; two blocks exchange maxima, so that only codes and scales leave",
     .needs = 90,
     .below = 91,
     .plan = tiles_plan,
     .run = RIDGE_CUDA(fp8_ffn_cuda_tiles)},
    {.name = "whole",
     .idea = "128 gate and 128 up columns a tile, summed in the tensor cores: of one scale a tensor",
     .needs = 90,
     .below = 91,
     .plan = whole_plan,
     .run = RIDGE_CUDA(fp8_ffn_cuda_whole)},
    STEPS,
    ANY,
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "operands decoded, two products, SwiGLU and codes: each through memory",
     .run = RIDGE_CPU(fp8_ffn_cpu_baseline),
     .traffic = cpu_baseline_traffic,
     .scratch = cpu_baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "weights decoded to panels once, then blocks of rows in cache, a chunk of hidden values at a time",
     .run = RIDGE_CPU(fp8_ffn_cpu_optimized),
     .traffic = cpu_optimized_traffic,
     .scratch = cpu_optimized_scratch},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "gate and up values, hidden values and their codes through memory",
     .ways = RIDGE_LIST(baseline_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "SwiGLU, maxima of 128 and codes on the sums of gate and up values",
     .ways = RIDGE_LIST(optimized_ways)},
};

const ridge_target ridge_target_fp8_ffn = {
    .name = "fp8_ffn",
    .chapter = "ch09",
    .summary = "feed-forward layer with a SwiGLU gate in e4m3, hidden values too",
    .dims = {"m", "d", "f", "both", "d_blocks", "f_blocks", "both_blocks", "x_down"},
    .n_sizes = 3,
    .derive = derive,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .products = true,
    .reject = reject,
};

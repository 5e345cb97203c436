/* 2:4 pruning: of each four columns of a row the two of the largest magnitudes, and codes of which they are
 * x: [rows, cols], f32, bf16, e4m3 or (GPU) f16, cols a multiple of 32      values: [rows, cols/2], of x's type
 * codes: [rows, cols/32], i32, eight codes a word (kernels/sparse/pattern.h)
 * Least traffic: size(x) + size(values) + size(codes) bytes. See README.md. */
#include <math.h>

#include "ridge/target.h"
#include "sparse/pattern.h"

RIDGE_CPU_DECLARE(prune_2_4_cpu_baseline);
RIDGE_CPU_DECLARE(prune_2_4_cpu_optimized);
RIDGE_CUDA_DECLARE(prune_2_4_cuda_baseline);
RIDGE_CUDA_DECLARE(prune_2_4_cuda_optimized);

enum { ROWS, COLS, HALF, WORDS };

#define CASE(rows, cols) .dim = {rows, cols, (cols) / 2, (cols) / PATTERN_COLUMNS}
#define EDGE .edge = true
#define GPU .only = RIDGE_ONLY_CUDA
static const ridge_case cases[] = {
    {CASE(8192, 8192), .dtype = RIDGE_BF16},        {CASE(4096, 4096), .dtype = RIDGE_F32},
    {CASE(65536, 4096), .dtype = RIDGE_BF16, GPU},  {CASE(0, 64), .dtype = RIDGE_F32, EDGE},
    {CASE(1, 32), .dtype = RIDGE_F32, EDGE},        {CASE(3, 96), .dtype = RIDGE_F32, EDGE},
    {CASE(131, 224), .dtype = RIDGE_F32, EDGE},     {CASE(17, 4128), .dtype = RIDGE_F32, EDGE},
    {CASE(1, 32), .dtype = RIDGE_BF16, EDGE},       {CASE(7, 288), .dtype = RIDGE_BF16, EDGE},
    {CASE(257, 1056), .dtype = RIDGE_BF16, EDGE},   {CASE(19, 1056), .dtype = RIDGE_F16, EDGE, GPU},
    {CASE(66, 320), .dtype = RIDGE_F16, EDGE, GPU}, {CASE(8192, 8192), .dtype = RIDGE_E4M3},
    {CASE(1, 32), .dtype = RIDGE_E4M3, EDGE},       {CASE(7, 288), .dtype = RIDGE_E4M3, EDGE},
    {CASE(131, 1056), .dtype = RIDGE_E4M3, EDGE},
};

static void derive(int64_t dim[RIDGE_MAX_RANK]) { dim[HALF] = dim[COLS] / 2, dim[WORDS] = dim[COLS] / PATTERN_COLUMNS; }

static const char *reject(const ridge_case *c) {
    const int64_t cols = c->dim[COLS];
    if (cols < 1 || cols % PATTERN_COLUMNS != 0) return "cols must be a multiple of 32, and not 0";
    if (c->dim[HALF] != cols / 2) return "values must have cols / 2 columns";
    return c->dim[WORDS] == cols / PATTERN_COLUMNS ? NULL : "codes must have cols / 32 columns";
}

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {ROWS, COLS}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "values", .rank = 2, .dim = {ROWS, HALF}},
                                        {.name = "codes", .rank = 2, .dim = {ROWS, WORDS}, .dtype = RIDGE_I32}};

static double elements(const ridge_case *c) { return (double)c->dim[ROWS] * (double)c->dim[COLS]; }
static double x_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }

/* Six comparisons of each four. */
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){
        .flops = 1.5 * elements(c), .bytes_read = x_bytes(c), .bytes_written = x_bytes(c) / 2 + elements(c) / 8};
}

/* x with its zeros is written, and read for the values and for the codes. */
static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 3 * x_bytes(c), .written = 1.5 * x_bytes(c) + elements(c) / 8};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c), .written = x_bytes(c) / 2 + elements(c) / 8};
}
/* A GPU has no write-allocation. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    baseline_traffic(c, t);
    t->streamed = t->written, t->written = 0;
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    optimized_traffic(c, t);
    t->streamed = t->written, t->written = 0;
}
static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)c->dim[ROWS] * (size_t)c->dim[COLS] * ridge_dtype_size(c->dtype);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "x with zeros, then values, then codes: three passes through memory",
     .run = RIDGE_CPU(prune_2_4_cpu_baseline),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "a word of codes and its values at a time: one pass",
     .run = RIDGE_CPU(prune_2_4_cpu_optimized),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a kernel of x with zeros, one of values, one of codes",
     .run = RIDGE_CUDA(prune_2_4_cuda_baseline),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "one pass: eight columns a lane, four lanes' codes to a word by shuffles",
     .run = RIDGE_CUDA(prune_2_4_cuda_optimized),
     .traffic = cuda_optimized_traffic},
};

/* By the definition: an element stays if fewer than two of its four are ahead of it. NaN is ahead of infinity. */
static bool is_ahead(double a, int i, double b, int j) {
    const double x = fabs(a), y = fabs(b);
    if (isnan(x) != isnan(y)) return isnan(x);
    return x > y || ((x == y || isnan(x)) && i < j);
}
static void prune_four(const double *x, double *values, unsigned *code) {
    int kept = 0;
    for (int i = 0; i < 4; i++) {
        int ahead = 0;
        for (int j = 0; j < 4; j++) ahead += j != i && is_ahead(x[j], j, x[i], i);
        if (ahead >= 2) continue;
        values[kept] = x[i];
        *code |= (unsigned)i << 2 * kept++;
    }
}
static void oracle(const ridge_oracle_call *call) {
    const int64_t words = call->dim[ROWS] * call->dim[WORDS];
    for (int64_t w = 0; w < words; w++) {
        uint32_t word = 0;
        for (int four = 0; four < 8; four++) {
            double values[2] = {0, 0};
            unsigned code = 0;
            prune_four(call->in[0] + w * 32 + four * 4, values, &code);
            word |= code << 4 * four;
            for (int e = 0; e < 2 && call->out[0]; e++) call->out[0][w * 16 + four * 2 + e] = values[e];
        }
        if (call->out[1]) call->out[1][w] = (double)(int32_t)word;
    }
}

/* Nothing is computed. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    *b = (ridge_bound){0};
}

const ridge_target ridge_target_prune_2_4 = {
    .name = "prune_2_4",
    .chapter = "ch09",
    .summary = "2:4 pruning: the two largest of each four, and their places",
    .dims = {"rows", "cols", "half", "words"},
    .n_sizes = 2,
    .derive = derive,
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .large = 0x1p127,
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};

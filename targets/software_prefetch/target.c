/* y[i,:] = sum over k < bag of exp(table[index[i,k],:])
 * table: [table, cols] f32 or bf16, larger than the last cache; index: [rows, bag] i32, random; y: [rows, cols]
 * Least traffic: each table row that is looked up, once; the indices; y. 2 rows bag cols FLOP. Latency-bound until
 * enough rows are prefetched, then bound by the rate of random line accesses. */
#include "ridge/target.h"

#include <math.h>

RIDGE_CPU_DECLARE(software_prefetch_cpu_baseline);
RIDGE_CPU_DECLARE(software_prefetch_cpu_optimized);

enum { ROWS, BAG, COLS, TABLE };

static const ridge_case cases[] = {
    {.dim = {4096, 16, 64, 163840}, .dtype = RIDGE_F32},
    {.dim = {4096, 16, 64, 327680}, .dtype = RIDGE_BF16},
    {.dim = {1, 1, 1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {0, 4, 16, 8}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 1, 17, 5}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {31, 7, 131, 97}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {2, 300, 64, 1000}, .dtype = RIDGE_F32, .edge = true}, /* a bag longer than the prefetch distance */
    {.dim = {700, 3, 1, 10}, .dtype = RIDGE_F32, .edge = true},    /* a prefetch distance of many rows */
    {.dim = {1, 1, 1, 1}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {31, 7, 131, 97}, .dtype = RIDGE_BF16, .edge = true},
    {.dim = {13, 5, 2049, 11}, .dtype = RIDGE_BF16, .edge = true},
};

static const ridge_tensor_spec in[] = {
    {.name = "table", .rank = 2, .dim = {TABLE, COLS}},
    {.name = "index",
     .rank = 2,
     .dim = {ROWS, BAG},
     .dtype = RIDGE_I32,
     .fill = RIDGE_FILL_INDEX,
     .index_dim = TABLE,
     .in_range = true,
     .by_row = true},
};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {ROWS, COLS}}};

static double lookups(const ridge_case *c) { return (double)c->dim[ROWS] * (double)c->dim[BAG]; }
static double row_of_table(const ridge_case *c) { return (double)c->dim[COLS] * (double)ridge_dtype_size(c->dtype); }
static double bytes_of_y(const ridge_case *c) { return (double)c->dim[ROWS] * row_of_table(c); }

/* Both variants: every lookup counts as a memory access, though a few hit a cached row. */
static void traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = lookups(c) * (row_of_table(c) + 4), .written = bytes_of_y(c)};
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "rows of the table are asked for when they are needed",
     .run = RIDGE_CPU(software_prefetch_cpu_baseline),
     .traffic = traffic},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "the same loop, with rows prefetched 4 KiB of lookups ahead",
     .run = RIDGE_CPU(software_prefetch_cpu_optimized),
     .traffic = traffic},
};

/* Distinct table rows that are looked up: with L uniform lookups in T rows, T (1 - exp(-L/T)) on average. */
static void work(const ridge_case *c, ridge_work *w) {
    double table = (double)c->dim[TABLE], named = -table * expm1(-lookups(c) / table);
    *w = (ridge_work){.flops = 2 * lookups(c) * (double)c->dim[COLS],
                      .bytes_read = named * row_of_table(c) + 4 * lookups(c),
                      .bytes_written = bytes_of_y(c)};
}

static void oracle(const ridge_oracle_call *call) {
    int64_t rows = call->dim[ROWS], bag = call->dim[BAG], cols = call->dim[COLS];
    for (int64_t i = 0; i < rows; i++) {
        double *y = call->out[0] + i * cols;
        for (int64_t j = 0; j < cols; j++) y[j] = 0;
        for (int64_t k = 0; k < bag; k++) {
            const double *row = call->in[0] + (int64_t)call->in[1][i * bag + k] * cols;
            for (int64_t j = 0; j < cols; j++) y[j] += exp(row[j]);
        }
    }
}

/* All terms are positive, so errors are relative: 3 units per exponential and a random walk of `bag` roundings.
 * README.md bounds its length. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    double storage = call->dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(call->dtype);
    *b = (ridge_bound){.relative = storage + 0x1p-24 * (4 + 2 * sqrt((double)call->dim[BAG]))};
}

static const char *reject(const ridge_case *c) {
    if (c->dim[BAG] < 1 || c->dim[COLS] < 1) return "bag and cols must be at least 1";
    if (c->dim[TABLE] < 1 || c->dim[TABLE] > INT32_MAX) return "table must be 1 to 2147483647 rows: indices are i32";
    return NULL;
}

const ridge_target ridge_target_software_prefetch = {
    .name = "software_prefetch",
    .chapter = "ch09",
    .summary = "sums of exponentials of random rows of a table larger than cache",
    .dims = {"rows", "bag", "cols", "table"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
    .reject = reject,
};

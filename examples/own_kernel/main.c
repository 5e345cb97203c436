/* A kernel of one's own beside ridge's: verified against the target's oracle, timed in the same rounds, placed on the
 * roofline of this machine.
 *
 *     cc main.c -o own_kernel $(pkg-config --cflags --libs ridge) && ./own_kernel [ROWS COLUMNS]
 *
 * The kernel normalizes the rows of x as fused_l2norm does: y = x / max(||x||, 1e-12). Exits with 0 if both kernels are
 * right. The first run on a machine measures its ceilings, which takes 10 s. */
#include <math.h>
#include <ridge/bench.h>
#include <stdio.h>
#include <stdlib.h>

/* Rows may be strided. The harness owns all memory; a kernel neither allocates nor prints. */
static ridge_status normalize(const ridge_call *call) {
    const int64_t rows = call->dim[0], columns = call->dim[1];
    const int64_t x_stride = ridge_row_stride(&call->in[0]), y_stride = ridge_row_stride(&call->out[0]);
    for (int64_t i = 0; i < rows; i++) {
        const float *x = (const float *)ridge_data(&call->in[0]) + i * x_stride;
        float *y = (float *)ridge_data(&call->out[0]) + i * y_stride;
        double squares = 0; /* of floats beyond 1e19, too */
        for (int64_t j = 0; j < columns; j++) squares += (double)x[j] * (double)x[j];
        const double norm = sqrt(squares);
        const float scale = (float)(1 / (norm < 1e-12 ? 1e-12 : norm)); /* a NaN stays one */
        for (int64_t j = 0; j < columns; j++) y[j] = x[j] * scale;
    }
    return RIDGE_OK;
}

/* The target with other variants: the own kernel in the place of the baseline. */
static ridge_target with_own(const ridge_target *target, ridge_variant variants[2]) {
    ridge_target mine = *target;
    variants[0] = (ridge_variant){
        .name = "cpu/own", .role = RIDGE_BASELINE, .idea = "two loops over a row", .run = RIDGE_ANY_ISA(normalize)};
    for (int v = 0; v < target->n_variants; v++)
        if (ridge_variant_backend(&target->variants[v]) == RIDGE_BACKEND_cpu &&
            target->variants[v].role == RIDGE_OPTIMIZED)
            variants[1] = target->variants[v];
    mine.variants = variants;
    mine.n_variants = 2;
    return mine;
}

static bool show(const ridge_bench *bench) {
    int n, n_pairs;
    bool right = true;
    const ridge_bench_result *results = ridge_bench_results(bench, &n);
    const ridge_bench_pair *pairs = ridge_bench_pairs(bench, &n_pairs);
    for (int i = 0; i < n; i++) {
        const ridge_bench_result *r = &results[i];
        printf("%-14s %-12s", r->variant, ridge_verdict_name(r->verdict));
        if (ridge_verdict_timed(r->verdict))
            printf(" %.4g us (%.4g to %.4g), %.0f %% of the roofline", r->time_us.median, r->time_us.low,
                   r->time_us.high, r->place.pct_measured);
        printf("  %s\n", r->reason);
        right = right && r->verdict != RIDGE_VERDICT_WRONG && r->verdict != RIDGE_VERDICT_FAILED;
    }
    for (int p = 0; p < n_pairs && pairs[p].speedup.n > 0; p++)
        printf("%s is %.2f times as fast (%.2f to %.2f), outputs %s\n", results[pairs[p].optimized].variant,
               pairs[p].speedup.median, pairs[p].speedup.low, pairs[p].speedup.high,
               pairs[p].agree ? "agree" : "do not agree");
    return right && n == 2;
}

static void say(void *arg, const char *line) {
    (void)arg;
    fprintf(stderr, "%s\n", line);
}

int main(int argc, char **argv) {
    const ridge_target *target = ridge_target_find("fused_l2norm");
    const ridge_bench_settings settings = {.threads = 1, .max_time = 1, .note = say};
    ridge_case c = {.dim = {4096, 1024}, .dtype = RIDGE_F32};
    ridge_variant variants[2];
    ridge_bench *bench = NULL;
    ridge_error error;
    if (argc == 3) c.dim[0] = atoll(argv[1]), c.dim[1] = atoll(argv[2]);
    const ridge_target mine = with_own(target, variants);
    ridge_status status = ridge_bench_open(RIDGE_BACKEND_cpu, &settings, &bench, &error);
    if (status == RIDGE_OK) status = ridge_bench_run(bench, &mine, &c, NULL, 0, &error);
    if (status != RIDGE_OK) fprintf(stderr, "%s\n", error.text);
    const bool right = status == RIDGE_OK && show(bench);
    ridge_bench_close(bench);
    return right ? 0 : 1;
}

/* Row means in fp64. Baseline: means of all rows, then differences. Optimized: both while the row is in cache. */
#include "ridge/target.h"

RIDGE_CPU_DECLARE(center_rows_cpu_baseline);
RIDGE_CPU_DECLARE(center_rows_cpu_optimized);

static const float *input_row(const ridge_call *call, int64_t i) {
    return (const float *)ridge_data(&call->in[0]) + i * ridge_row_stride(&call->in[0]);
}

/* Four sums, so that an addition need not wait for the one before it. */
static double mean(const float *x, int64_t n) {
    double sum[4] = {0};
    int64_t j = 0;
    for (; j + 4 <= n; j += 4)
        for (int k = 0; k < 4; k++) sum[k] += (double)x[j + k];
    for (; j < n; j++) sum[0] += (double)x[j];
    return (sum[0] + sum[1] + sum[2] + sum[3]) / (double)n;
}

static void subtract(const ridge_call *call, int64_t i, double value) {
    const float *x = input_row(call, i);
    float *y = (float *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]);
    for (int64_t j = 0; j < call->dim[1]; j++) y[j] = (float)((double)x[j] - value);
}

static void means(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    double *found = call->scratch;
    int64_t begin, end;
    ridge_share(call->dim[0], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) found[i] = mean(input_row(call, i), call->dim[1]);
}

static void differences(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const double *found = call->scratch;
    int64_t begin, end;
    ridge_share(call->dim[0], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) subtract(call, i, found[i]);
}

static void rows(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    int64_t begin, end;
    ridge_share(call->dim[0], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) subtract(call, i, mean(input_row(call, i), call->dim[1]));
}

ridge_status RIDGE_ISA_FN(center_rows_cpu_baseline)(const ridge_call *call) {
    ridge_team_run(call->team, means, (void *)call);
    ridge_team_run(call->team, differences, (void *)call);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(center_rows_cpu_optimized)(const ridge_call *call) {
    ridge_team_run(call->team, rows, (void *)call);
    return RIDGE_OK;
}

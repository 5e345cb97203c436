#include <math.h>

#include "ridge/target.h"

RIDGE_CPU_DECLARE(l2norm_cpu_baseline);
RIDGE_CPU_DECLARE(l2norm_cpu_optimized);

static void rows_fn(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    const DLTensor *x = &call->in[0], *y = &call->out[0];
    int64_t begin, end, cols = call->dim[1];
    ridge_share(call->dim[0], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        double sum = 0;
        for (int64_t j = 0; j < cols; j++) {
            double v = ridge_load(ridge_data(x), call->dtype, i * ridge_row_stride(x) + j);
            sum += v * v;
        }
        double norm = fmax(sqrt(sum), 1e-12);
        for (int64_t j = 0; j < cols; j++)
            ridge_store(ridge_data(y), call->dtype, i * ridge_row_stride(y) + j,
                        ridge_load(ridge_data(x), call->dtype, i * ridge_row_stride(x) + j) / norm);
    }
}

ridge_status RIDGE_ISA_FN(l2norm_cpu_baseline)(const ridge_call *call) {
    ridge_team_run(call->team, rows_fn, (void *)(uintptr_t)call);
    return RIDGE_OK;
}

ridge_status RIDGE_ISA_FN(l2norm_cpu_optimized)(const ridge_call *call) {
    return RIDGE_ISA_FN(l2norm_cpu_baseline)(call);
}

/* Measures the ceilings of the GPU in a child process, because CUDA does not survive a fork. */
#include <string.h>
#include <time.h>

#include "machine/ceilings/ladder.h"
#include "machine/gpu/meter.h"
#include "machine/survey/survey.h"
#include "measure/isolate.h"

static const double limit_s = 120; /* the driver may have to compile the kernels first */

typedef struct answer {
    ridge_status status;
    ridge_error error;
    ridge_ceilings ceilings;
} answer;

static void measure(const void *arg, void *out) {
    (void)arg;
    answer *a = out;
    ridge_gpu gpu;
    a->status = ridge_cuda_open(&gpu, &a->error);
    if (a->status == RIDGE_OK) a->status = ridge_gpu_meter(&gpu, &a->ceilings, &a->error);
}

static void stamp(const ridge_gpu *gpu, ridge_ceilings *c) {
    ridge_gpu_key(gpu, c->key, (int)sizeof c->key);
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) (void)strftime(c->date, sizeof c->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

ridge_status ridge_gpu_ceilings_measure(const ridge_gpu *gpu, ridge_progress_fn progress, void *arg, ridge_ceilings *c,
                                        ridge_error *error) {
    static answer a; /* 10 KB: not for a stack that kernels' callers share */
    const ridge_child_limits limits = {.threads = 1};
    ridge_error why = {0};
    memset(c, 0, sizeof *c);
    memset(&a, 0, sizeof a);
    a.status = RIDGE_FAILED;
    if (gpu->sm == 0) return ridge_fail(error, RIDGE_UNSUPPORTED, "there is no GPU to measure");
    if (progress) (void)progress(arg, 0, 1, "GPU");
    stamp(gpu, &a.ceilings);
    if (ridge_isolate(measure, NULL, &a, sizeof a, &limits, limit_s, &why) != RIDGE_OK)
        return ridge_fail(error, RIDGE_FAILED, "the GPU's ceilings cannot be measured: %.200s", why.text);
    if (a.status != RIDGE_OK) return ridge_fail(error, a.status, "%s", a.error.text);
    *c = a.ceilings;
    ridge_ceilings_check(c);
    if (progress) (void)progress(arg, 1, 1, "done");
    return RIDGE_OK;
}

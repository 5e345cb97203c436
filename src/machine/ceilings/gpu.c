/* Ceilings of the GPU. A child process measures them, because CUDA does not survive a fork. They are kept like the
 * CPU's. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "machine/ceilings/gpu.h"
#include "machine/gpu/meter.h"
#include "machine/ceilings/ladder.h"
#include "measure/isolate.h"

static const double limit_s = 120; /* the driver may have to compile the kernels first */

/* Lower-case words of letters and digits: "NVIDIA H200" becomes "nvidia-h200". */
void ridge_gpu_key(const ridge_gpu *gpu, char *key, int size) {
    char name[48];
    size_t at = 0;
    for (const char *p = gpu->name; *p && at + 2 < sizeof name; p++)
        if (isalnum((unsigned char)*p))
            name[at++] = (char)tolower((unsigned char)*p);
        else if (at && name[at - 1] != '-')
            name[at++] = '-';
    while (at && name[at - 1] == '-') at--;
    name[at] = '\0';
    (void)snprintf(key, (size_t)size, "%s%ssm%d-%dsm", name, at ? "-" : "", gpu->sm, gpu->sm_count);
}

static double product(const ridge_rung *rung) { return rung->read_gbps * rung->copy_gbps; }

/* The last rung of the plateau: nearer to the best rung than to memory (mean of the last three rungs), and, where
 * memory is far slower, within 10 % of the best in both rates. */
double ridge_gpu_plateau(const ridge_rung *rungs, int n) {
    int best = 0;
    double memory = 0;
    if (n < 6) return 0;
    for (int i = 0; i < n; i++)
        if (product(&rungs[i]) > product(&rungs[best])) best = i;
    for (int i = n - 3; i < n; i++) memory += product(&rungs[i]) / 3;
    double top = product(&rungs[best]), edge = fmax(0.81 * top, (top + memory) / 2);
    if (memory > 0.9 * top) return 0;
    int last = best;
    while (last + 1 < n && product(&rungs[last + 1]) >= edge) last++;
    return rungs[last].bytes;
}

ridge_status ridge_gpu_ceilings_load(const ridge_gpu *gpu, ridge_ceilings *c, ridge_error *error) {
    char key[sizeof c->key];
    ridge_gpu_key(gpu, key, (int)sizeof key);
    return ridge_ceilings_load_key(key, 0, c, error);
}

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

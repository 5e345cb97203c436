/* Ceilings of the GPU, which are kept like the CPU's. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "machine/ceilings/gpu.h"

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

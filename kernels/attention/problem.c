#include "attention/problem.h"

#include <math.h>

static double whole(const ridge_case *c, int dim) { return (double)c->dim[dim]; }

double attention_scores(const ridge_case *c) {
    const attention_mask mask = attention_mask_of(c->dim, c->option);
    const int m = (int)c->dim[ATTENTION_M], n = (int)c->dim[ATTENTION_N];
    double scores = 0;
    for (int i = 0; i < m; i++) {
        const attention_keys keys = attention_keys_of(mask, i, i, n);
        if (keys.end > keys.begin) scores += keys.end - keys.begin;
    }
    return scores;
}

double attention_flops(const ridge_case *c) {
    const double heads = whole(c, ATTENTION_BATCH) * whole(c, ATTENTION_HEADS);
    return 2 * heads * attention_scores(c) * (whole(c, ATTENTION_D) + whole(c, ATTENTION_V));
}

double attention_bytes_read(const ridge_case *c) {
    const double batch = whole(c, ATTENTION_BATCH), size = (double)ridge_dtype_size(c->dtype);
    const double q = whole(c, ATTENTION_M) * whole(c, ATTENTION_HEADS) * whole(c, ATTENTION_D);
    const double kv =
        whole(c, ATTENTION_N) * whole(c, ATTENTION_KV_HEADS) * (whole(c, ATTENTION_D) + whole(c, ATTENTION_V));
    return size * batch * (q + kv);
}
double attention_bytes_written(const ridge_case *c) {
    const double rows = whole(c, ATTENTION_BATCH) * whole(c, ATTENTION_M) * whole(c, ATTENTION_HEADS);
    return rows * ((double)ridge_dtype_size(c->dtype) * whole(c, ATTENTION_V) + 4);
}

float attention_scale(const int64_t *dim, const double *option) {
    const double scale = option[ATTENTION_SCALE];
    return (float)(scale > 0 || scale < 0 ? scale : 1 / sqrt((double)dim[ATTENTION_D]));
}

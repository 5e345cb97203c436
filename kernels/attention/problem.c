#include "attention/problem.h"

#include <math.h>

static double whole(const ridge_case *c, int dim) { return (double)c->dim[dim]; }

int64_t attention_sequences(const ridge_case *c) {
    return c->dim[ATTENTION_SEQUENCES] > 0 ? c->dim[ATTENTION_SEQUENCES] : 1;
}

ridge_case attention_one_sequence(const ridge_case *c) {
    const int64_t sequences = attention_sequences(c);
    ridge_case one = *c;
    one.dim[ATTENTION_M] = (c->dim[ATTENTION_M] + sequences - 1) / sequences;
    one.dim[ATTENTION_N] = (c->dim[ATTENTION_N] + sequences - 1) / sequences;
    one.dim[ATTENTION_SEQUENCES] = 0;
    return one;
}

double attention_scores(const ridge_case *all) {
    const ridge_case one = attention_one_sequence(all), *c = &one;
    const attention_mask mask = attention_mask_of(c->dim, c->option);
    const int m = (int)c->dim[ATTENTION_M], n = (int)c->dim[ATTENTION_N];
    double scores = 0;
    for (int i = 0; i < m; i++) {
        const attention_keys keys = attention_keys_of(mask, i, i, n);
        if (keys.end > keys.begin) scores += keys.end - keys.begin;
    }
    return (double)attention_sequences(all) * scores;
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

void attention_work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){.flops = attention_flops(c),
                      .bytes_read = attention_bytes_read(c),
                      .bytes_written = attention_bytes_written(c)};
}

double attention_scale(const int64_t *dim, const double *option) {
    const double scale = option[ATTENTION_SCALE];
    return scale > 0 || scale < 0 ? scale : 1 / sqrt((double)dim[ATTENTION_D]);
}

const char *attention_reject(const ridge_case *c) {
    const int64_t *d = c->dim;
    if (d[ATTENTION_HEADS] < 1 || d[ATTENTION_KV_HEADS] < 1) return "heads and kv_heads must be at least 1";
    if (d[ATTENTION_HEADS] % d[ATTENTION_KV_HEADS] != 0) return "heads must be a multiple of kv_heads";
    if (d[ATTENTION_D] < 1 || d[ATTENTION_V] < 1) return "d and v must be at least 1";
    if (d[ATTENTION_M] >= ATTENTION_ALL || d[ATTENTION_N] >= ATTENTION_ALL) return "m and n must be below 2^30";
    if (!(fabs(c->option[ATTENTION_SCALE]) <= 0x1p20)) return "scale must be from -2^20 to 2^20";
    if (!(c->option[ATTENTION_SOFTCAP] >= 0 && c->option[ATTENTION_SOFTCAP] <= 0x1p20))
        return "softcap must be from 0 (none) to 2^20";
    return NULL;
}

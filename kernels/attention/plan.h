/* What plans of attention and of its gradients have in common. */
#ifndef RIDGE_ATTENTION_PLAN_H
#define RIDGE_ATTENTION_PLAN_H

#include "attention/problem.h"

static inline double attention_extent(const ridge_problem *p, int dim) { return (double)p->c.dim[dim]; }
static inline double attention_heads_of(const ridge_problem *p) {
    return attention_extent(p, ATTENTION_BATCH) * attention_extent(p, ATTENTION_HEADS);
}
static inline int attention_sms(const ridge_problem *p) { return p->here.sm_count > 0 ? p->here.sm_count : 1; }

static inline int64_t attention_whole(int64_t n, int64_t of) { return (n + of - 1) / of; }
/* Of heads that share keys. */
static inline int64_t attention_packed_rows(const int64_t *dim) {
    return dim[ATTENTION_M] * (dim[ATTENTION_HEADS] / dim[ATTENTION_KV_HEADS]);
}
/* Keys that some query sees. */
static inline int64_t attention_keys_seen(const int64_t *dim, const double *option) {
    const int64_t m = dim[ATTENTION_M], n = dim[ATTENTION_N];
    if (m < 1) return 0;
    const attention_keys keys = attention_keys_of(attention_mask_of(dim, option), 0, (int)m - 1, (int)n);
    return keys.end > keys.begin ? keys.end - keys.begin : 0;
}

/* All but the last dimension of what has queries, and of what has keys. */
static const int ATTENTION_OF_QUERIES[3] = {ATTENTION_M, ATTENTION_BATCH, ATTENTION_HEADS};
static const int ATTENTION_OF_KEYS[3] = {ATTENTION_N, ATTENTION_BATCH, ATTENTION_KV_HEADS};

/* Whether TMA can load the tensor of elements of `size` bytes, all but whose last dimension are these: whole pieces of 16
 * bytes. */
static inline bool attention_is_in_pieces(const ridge_problem *p, int tensor, const int dims[3], int size) {
    const ridge_operand *t = &p->tensor[tensor];
    bool all = t->offset % 16 == 0;
    for (int d = 0; d < 3; d++) all = all && (p->c.dim[dims[d]] <= 1 || t->stride[d] * size % 16 == 0);
    return all;
}

/* Steps of `step` rows of the other side that all tiles of `rows` own rows of a head take, and those of the longest. */
static inline double attention_steps_of(attention_mask mask, int own, int others, int rows, int step, double *longest) {
    double all = 0;
    *longest = 0;
    for (int first = 0; first < own; first += rows) {
        const int last = (first + rows < own ? first + rows : own) - 1;
        const attention_keys seen = attention_keys_of(mask, first, last, others);
        const double steps = seen.begin < seen.end ? (seen.end - 1) / step - seen.begin / step + 1 : 0;
        all += steps;
        if (steps > *longest) *longest = steps;
    }
    return all;
}

#endif

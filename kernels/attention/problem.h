/* Attention as its kernels choose and take it. For each batch and each head h, whose keys and values are those of head
 * h / (heads / kv_heads), query i of m and key j of n, d = i + n - m - j keys apart:
 *
 *     s_ij  = cap(scale q_i . k_j) - slope_h |d|        where -right <= d <= left; other keys are masked
 *     lse_i = log(sum_j exp(s_ij) + exp(sink_h)),  out_i = sum_j exp(s_ij - lse_i) v_j
 *
 * cap(x) = softcap tanh(x / softcap). A row without keys has out = 0 and lse = -inf (or its sink). Of C and CUDA. */
#ifndef RIDGE_ATTENTION_PROBLEM_H
#define RIDGE_ATTENTION_PROBLEM_H

#include "ridge/target.h"

/* Places in dim[], option[], in[] and out[] of targets of attention. */
enum { ATTENTION_M, ATTENTION_BATCH, ATTENTION_HEADS, ATTENTION_N, ATTENTION_KV_HEADS, ATTENTION_D, ATTENTION_V };
enum {
    ATTENTION_SCALE, /* 0: 1 / sqrt(d) */
    ATTENTION_CAUSAL,
    ATTENTION_LEFT, /* keys before a query's own that it sees; below 0: all */
    ATTENTION_RIGHT,
    ATTENTION_SOFTCAP, /* 0: none */
    ATTENTION_SINKS,
    ATTENTION_SLOPES
};
enum { ATTENTION_IN_Q, ATTENTION_IN_K, ATTENTION_IN_V, ATTENTION_IN_SINK, ATTENTION_IN_SLOPE, ATTENTION_INPUTS };
enum { ATTENTION_OUT, ATTENTION_LSE };

/* Most of d and of v. */
enum { ATTENTION_DEPTH = 256 };
/* Keys on one side of a query: as good as all. */
enum { ATTENTION_ALL = 1 << 30 };

/* Query i sees the keys [i + shift - left, i + shift + right] that exist. */
typedef struct attention_mask {
    int shift, left, right;
} attention_mask;

static inline int attention_side(double keys) {
    return keys < 0 || keys > (double)ATTENTION_ALL ? ATTENTION_ALL : (int)keys;
}
static inline attention_mask attention_mask_of(const int64_t *dim, const double *option) {
    attention_mask mask = {(int)(dim[ATTENTION_N] - dim[ATTENTION_M]), attention_side(option[ATTENTION_LEFT]),
                           attention_side(option[ATTENTION_RIGHT])};
    if (option[ATTENTION_CAUSAL] > 0) mask.right = 0;
    return mask;
}

#ifdef __CUDACC__
#define ATTENTION_INLINE __host__ __device__ static inline
#else
#define ATTENTION_INLINE static inline
#endif

/* The keys [begin, end) that some of the queries [first, last] see; begin >= end: none. */
typedef struct attention_keys {
    int begin, end;
} attention_keys;
ATTENTION_INLINE attention_keys attention_keys_of(attention_mask mask, int first, int last, int n) {
    const int64_t begin = (int64_t)first + mask.shift - mask.left, end = (int64_t)last + mask.shift + mask.right + 1;
    attention_keys keys;
    keys.begin = begin > 0 ? (begin < n ? (int)begin : n) : 0;
    keys.end = end < n ? (end > 0 ? (int)end : 0) : n;
    return keys;
}
/* Whether each of the queries [first, last] sees all keys of [begin, end). */
ATTENTION_INLINE bool attention_sees_all(attention_mask mask, int first, int last, int begin, int end, int n) {
    const attention_keys of_first = attention_keys_of(mask, first, first, n),
                         of_last = attention_keys_of(mask, last, last, n);
    return begin >= of_last.begin && end <= of_first.end;
}

#ifdef __cplusplus
extern "C" {
#endif

/* The option, or 1 / sqrt(d). */
double attention_scale(const int64_t *dim, const double *option);
/* Whether scores are more than products times a positive scale. */
static inline bool attention_is_shaped(const int64_t *dim, const double *option) {
    return !(attention_scale(dim, option) > 0) || option[ATTENTION_SOFTCAP] > 0 || option[ATTENTION_SINKS] > 0 ||
           option[ATTENTION_SLOPES] > 0;
}

/* Why dims or options are none of attention; NULL: they are. */
const char *attention_reject(const ridge_case *c);

/* Scores s_ij of a head that are not masked. */
double attention_scores(const ridge_case *c);
/* 4 FLOP a score and dimension, half of them of each product. */
double attention_flops(const ridge_case *c);
double attention_bytes_read(const ridge_case *c);
double attention_bytes_written(const ridge_case *c);

#ifdef __cplusplus
}
#endif

#endif

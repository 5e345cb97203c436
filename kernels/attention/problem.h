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

/* Places in dim[], option[], in[] and out[] of targets of attention. SEQUENCES, Q_ENDS and K_ENDS are of attention_varlen alone:
 * the dimension is 0 elsewhere. attention_paged has its own (paged.h). */
enum {
    ATTENTION_M,
    ATTENTION_BATCH,
    ATTENTION_HEADS,
    ATTENTION_N,
    ATTENTION_KV_HEADS,
    ATTENTION_D,
    ATTENTION_V,
    ATTENTION_SEQUENCES
};
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
enum { ATTENTION_IN_Q_ENDS = ATTENTION_INPUTS, ATTENTION_IN_K_ENDS, ATTENTION_VARLEN_INPUTS };
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
/* Of the keys [all.begin, all.end). */
ATTENTION_INLINE attention_keys attention_keys_among(attention_mask mask, int first, int last, attention_keys all) {
    const int64_t begin = (int64_t)first + mask.shift - mask.left, end = (int64_t)last + mask.shift + mask.right + 1;
    attention_keys keys;
    keys.begin = begin > all.begin ? (begin < all.end ? (int)begin : all.end) : all.begin;
    keys.end = end < all.end ? (end > all.begin ? (int)end : all.begin) : all.end;
    return keys;
}
ATTENTION_INLINE attention_keys attention_keys_of(attention_mask mask, int first, int last, int n) {
    attention_keys all;
    all.begin = 0, all.end = n;
    return attention_keys_among(mask, first, last, all);
}
/* Whether each of the queries [first, last] sees all keys of [begin, end). */
ATTENTION_INLINE bool attention_sees_all(attention_mask mask, int first, int last, int begin, int end,
                                         attention_keys all) {
    const attention_keys of_first = attention_keys_among(mask, first, first, all),
                         of_last = attention_keys_among(mask, last, last, all);
    return begin >= of_last.begin && end <= of_first.end;
}

/* One sequence among several that lie one behind the other: its queries, and its keys. */
typedef struct attention_span {
    int query, query_end;
    attention_keys keys;
} attention_span;
/* Where sequence s begins; ends may be anything, and what is asked about stays within `all`. */
ATTENTION_INLINE int attention_begin(const int *ends, int s, int all) {
    const int begin = s > 0 ? ends[s - 1] : 0;
    return begin < 0 ? 0 : begin < all ? begin : all;
}
/* Sequence s of `count`; s = count: the queries behind all of them, which see no key. */
ATTENTION_INLINE attention_span attention_sequence(const int *q_ends, const int *k_ends, int count, int s, int m,
                                                   int n) {
    attention_span span;
    span.query = attention_begin(q_ends, s, m);
    span.query_end = s < count ? attention_begin(q_ends, s + 1, m) : m;
    span.keys.begin = s < count ? attention_begin(k_ends, s, n) : n;
    span.keys.end = s < count ? attention_begin(k_ends, s + 1, n) : n;
    if (span.query_end < span.query) span.query_end = span.query;
    if (span.keys.end < span.keys.begin) span.keys.end = span.keys.begin;
    return span;
}
/* The sequence, of count and the one behind them, that has tile `tile` of `rows` queries. Tiles begin at a sequence's first query
 * b, and it has the numbers from b / rows + s on. They suffice, because (b + length) / rows - b / rows + 1 is not below the number
 * of its tiles; those that are left over are empty. */
ATTENTION_INLINE int attention_sequence_of_tile(const int *q_ends, int count, int tile, int rows, int m) {
    int low = 0, high = count;
    while (low < high) {
        const int s = (low + high + 1) / 2;
        if (attention_begin(q_ends, s, m) / rows + s <= tile)
            low = s;
        else
            high = s - 1;
    }
    return low;
}
/* The first query of that tile of sequence s: at its end, where the tile is empty. */
ATTENTION_INLINE int attention_first_of_tile(attention_span span, int s, int tile, int rows) {
    const int64_t first = span.query + ((int64_t)tile - s - span.query / rows) * rows;
    return first < span.query_end ? (int)first : span.query_end;
}
/* Tiles of all sequences, empty ones among them. */
ATTENTION_INLINE int attention_tiles_of(int sequences, int rows, int m) { return m / rows + sequences + 1; }
/* A sequence whose m queries are the last of its `length` keys, bounded to n. */
ATTENTION_INLINE attention_span attention_ending(int64_t length, int m, int n) {
    attention_span span;
    span.query = 0, span.query_end = m, span.keys.begin = 0;
    span.keys.end = length < 0 ? 0 : length < n ? (int)length : n;
    return span;
}
/* How keys are seen within the sequence, whose last query and last key belong together. */
ATTENTION_INLINE attention_mask attention_mask_within(attention_mask mask, attention_span span) {
    mask.shift = span.keys.end - span.query_end;
    return mask;
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

/* Sequences of a head, and a case of one of them, all taken to be of one length: what is known without their ends. */
int64_t attention_sequences(const ridge_case *c);
ridge_case attention_one_sequence(const ridge_case *c);

/* Scores s_ij of a head that are not masked. */
double attention_scores(const ridge_case *c);
/* 4 FLOP a score and dimension, half of them of each product. */
double attention_flops(const ridge_case *c);
double attention_bytes_read(const ridge_case *c);
double attention_bytes_written(const ridge_case *c);
void attention_work(const ridge_case *c, ridge_work *w);

#ifdef __cplusplus
}
#endif

#endif

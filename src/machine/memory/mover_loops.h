/* The loops of the movers. Each inclusion compiles them for one vector width. The including file defines
 *
 *   MOVER(name)       the name of a function for this width
 *   MOVER_TARGET      the attribute that lets the compiler use this width, or nothing
 *   MOVER_BYTES       bytes of a vector
 *   MOVER_CLASS       inline-assembly class of a vector register, "v"
 *   MOVER_STREAM(p, v, w)  non-temporal stores of two vectors, v first (not defined: no streaming loops)
 *   MOVER_FENCE()     the fence that orders such stores
 *
 * The empty assembly statements take the loaded vectors as operands, so that the loads happen and a copy does not
 * become a call of memcpy. A step has at least four vectors in flight; out-of-order execution adds many more. */

typedef float MOVER(vector) __attribute__((vector_size(MOVER_BYTES), may_alias));

#define MOVER_INLINE static inline __attribute__((always_inline)) MOVER_TARGET void
#define MOVER_KEEP(a, b, c, d) \
    __asm__ volatile("" : "+" MOVER_CLASS(a), "+" MOVER_CLASS(b), "+" MOVER_CLASS(c), "+" MOVER_CLASS(d))

enum { MOVER(step) = 4 * MOVER_BYTES };

/* One chunk of 256 bytes, prefetching the chunk `ahead` bytes further on when ahead is not 0. */
MOVER_INLINE MOVER(read_chunk)(const char *s, size_t ahead) {
    for (size_t line = 0; ahead && line < 256; line += 64) __builtin_prefetch(s + ahead + line, 0, 3);
    for (size_t i = 0; i < 256; i += MOVER(step)) {
        const MOVER(vector) *p = (const MOVER(vector) *)(const void *)(s + i);
        MOVER(vector) a = p[0], b = p[1], c = p[2], d = p[3];
        MOVER_KEEP(a, b, c, d);
    }
}

MOVER_INLINE MOVER(copy_chunk)(char *t, const char *s, size_t ahead, int streaming) {
    for (size_t line = 0; ahead && line < 256; line += 64) __builtin_prefetch(s + ahead + line, 0, 3);
    for (size_t i = 0; i < 256; i += MOVER(step)) {
        const MOVER(vector) *p = (const MOVER(vector) *)(const void *)(s + i);
        MOVER(vector) *q = (MOVER(vector) *)(void *)(t + i);
        MOVER(vector) a = p[0], b = p[1], c = p[2], d = p[3];
        MOVER_KEEP(a, b, c, d);
#ifdef MOVER_STREAM
        if (streaming) {
            MOVER_STREAM(q, a, b);
            MOVER_STREAM(q + 2, c, d);
            continue;
        }
#else
        (void)streaming;
#endif
        q[0] = a, q[1] = b, q[2] = c, q[3] = d;
    }
}

/* Moves `streams` rows of `row` bytes side by side, then the next ones. The remainder is moved in one stream. */
MOVER_INLINE MOVER(read_rows)(const char *s, size_t n, size_t row, size_t streams, size_t ahead) {
    size_t at = 0;
    for (; at + row * streams <= n; at += row * streams)
        for (size_t i = 0; i < row; i += 256)
            for (size_t k = 0; k < streams; k++) MOVER(read_chunk)(s + at + k * row + i, ahead);
    for (; at < n; at += 256) MOVER(read_chunk)(s + at, ahead);
}

MOVER_INLINE MOVER(copy_rows)(char *t, const char *s, size_t n, size_t row, size_t streams, size_t ahead,
                              int streaming) {
    size_t at = 0;
    for (; at + row * streams <= n; at += row * streams)
        for (size_t i = 0; i < row; i += 256)
            for (size_t k = 0; k < streams; k++)
                MOVER(copy_chunk)(t + at + k * row + i, s + at + k * row + i, ahead, streaming);
    for (; at < n; at += 256) MOVER(copy_chunk)(t + at, s + at, ahead, streaming);
}

/* Prefetches a row into L1, then copies it from there, so that memory sees long runs of reads and of writes. */
MOVER_INLINE MOVER(copy_staged)(char *t, const char *s, size_t n, size_t row, int streaming) {
    for (size_t at = 0; at < n; at += row) {
        size_t part = n - at < row ? n - at : row;
        for (size_t i = 0; i < part; i += 256) MOVER(read_chunk)(s + at + i, 0);
        for (size_t i = 0; i < part; i += 256) MOVER(copy_chunk)(t + at + i, s + at + i, 0, streaming);
    }
}

MOVER_TARGET static void MOVER(read_straight)(char *t, const char *s, size_t n) {
    (void)t;
    for (size_t i = 0; i < n; i += 256) MOVER(read_chunk)(s + i, 0);
}
MOVER_TARGET static void MOVER(read_ahead)(char *t, const char *s, size_t n) {
    (void)t;
    for (size_t i = 0; i < n; i += 256) MOVER(read_chunk)(s + i, 2048);
}
MOVER_TARGET static void MOVER(read_rows4)(char *t, const char *s, size_t n) {
    (void)t;
    MOVER(read_rows)(s, n, 4096, 4, 0);
}

MOVER_TARGET static void MOVER(copy_straight)(char *t, const char *s, size_t n) {
    MOVER(copy_rows)(t, s, n, 256, 1, 0, 0);
}
MOVER_TARGET static void MOVER(copy_ahead)(char *t, const char *s, size_t n) {
    MOVER(copy_rows)(t, s, n, 256, 1, 2048, 0);
}
MOVER_TARGET static void MOVER(copy_stage)(char *t, const char *s, size_t n) { MOVER(copy_staged)(t, s, n, 8192, 0); }

#ifdef MOVER_STREAM
MOVER_TARGET static void MOVER(stream_straight)(char *t, const char *s, size_t n) {
    MOVER(copy_rows)(t, s, n, 256, 1, 0, 1);
    MOVER_FENCE();
}
MOVER_TARGET static void MOVER(stream_ahead)(char *t, const char *s, size_t n) {
    MOVER(copy_rows)(t, s, n, 256, 1, 2048, 1);
    MOVER_FENCE();
}
MOVER_TARGET static void MOVER(stream_rows4)(char *t, const char *s, size_t n) {
    MOVER(copy_rows)(t, s, n, 4096, 4, 0, 1);
    MOVER_FENCE();
}
MOVER_TARGET static void MOVER(stream_stage)(char *t, const char *s, size_t n) {
    MOVER(copy_staged)(t, s, n, 8192, 1);
    MOVER_FENCE();
}

MOVER_INLINE MOVER(write_chunk)(char *t, MOVER(vector) v) {
    for (size_t i = 0; i < 256; i += MOVER(step)) {
        MOVER(vector) *q = (MOVER(vector) *)(void *)(t + i);
        MOVER_STREAM(q, v, v);
        MOVER_STREAM(q + 2, v, v);
    }
}
MOVER_TARGET static void MOVER(write_straight)(char *t, const char *s, size_t n) {
    MOVER(vector) v = {0};
    (void)s;
    for (size_t i = 0; i < n; i += 256) MOVER(write_chunk)(t + i, v);
    MOVER_FENCE();
}
MOVER_TARGET static void MOVER(write_rows2)(char *t, const char *s, size_t n) {
    MOVER(vector) v = {0};
    size_t at = 0;
    (void)s;
    for (; at + 8192 <= n; at += 8192)
        for (size_t i = 0; i < 4096; i += 256) {
            MOVER(write_chunk)(t + at + i, v);
            MOVER(write_chunk)(t + at + 4096 + i, v);
        }
    for (; at < n; at += 256) MOVER(write_chunk)(t + at, v);
    MOVER_FENCE();
}
#endif

#undef MOVER
#undef MOVER_TARGET
#undef MOVER_BYTES
#undef MOVER_CLASS
#undef MOVER_STREAM
#undef MOVER_FENCE
#undef MOVER_INLINE
#undef MOVER_KEEP

/* The table of movers: mover_loops.h compiled for each vector width of the architecture. */
#include "machine/memory/movers.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define MOVER(name) zmm_##name
#define MOVER_TARGET __attribute__((target("avx512f")))
#define MOVER_BYTES 64
#define MOVER_CLASS "v"
#define MOVER_STREAM(p, v, w) \
    (_mm512_stream_ps((float *)(p), (__m512)(v)), _mm512_stream_ps((float *)((p) + 1), (__m512)(w)))
#define MOVER_FENCE() _mm_sfence()
#include "machine/memory/mover_loops.h"

#define MOVER(name) ymm_##name
#define MOVER_TARGET __attribute__((target("avx2")))
#define MOVER_BYTES 32
#define MOVER_CLASS "x"
#define MOVER_STREAM(p, v, w) \
    (_mm256_stream_ps((float *)(p), (__m256)(v)), _mm256_stream_ps((float *)((p) + 1), (__m256)(w)))
#define MOVER_FENCE() _mm_sfence()
#include "machine/memory/mover_loops.h"

#define MOVER(name) xmm_##name
#define MOVER_TARGET
#define MOVER_BYTES 16
#define MOVER_CLASS "x"
#define MOVER_STREAM(p, v, w) (_mm_stream_ps((float *)(p), (__m128)(v)), _mm_stream_ps((float *)((p) + 1), (__m128)(w)))
#define MOVER_FENCE() _mm_sfence()
#include "machine/memory/mover_loops.h"

#elif defined(__aarch64__)

#define MOVER(name) neon_##name
#define MOVER_TARGET
#define MOVER_BYTES 16
#define MOVER_CLASS "w"
#define MOVER_STREAM(p, v, w) __asm__ volatile("stnp %q0, %q1, [%2]" : : "w"(v), "w"(w), "r"(p) : "memory")
#define MOVER_FENCE() __asm__ volatile("dmb ishst" : : : "memory")
#include "machine/memory/mover_loops.h"

#else

#define MOVER(name) plain_##name
#define MOVER_TARGET
#define MOVER_BYTES 16
#define MOVER_CLASS "m"
#include "machine/memory/mover_loops.h"

#endif

#define PLAIN_MOVERS(width, feature)                                                        \
    {RIDGE_MOVE_READ, #width ", straight", feature, width##_read_straight},                 \
        {RIDGE_MOVE_READ, #width ", prefetch 2 KiB ahead", feature, width##_read_ahead},    \
        {RIDGE_MOVE_READ, #width ", 4 rows of 4 KiB", feature, width##_read_rows4},         \
        {RIDGE_MOVE_COPY, #width ", straight", feature, width##_copy_straight},             \
        {RIDGE_MOVE_COPY, #width ", prefetch 2 KiB ahead", feature, width##_copy_ahead}, {  \
        RIDGE_MOVE_COPY, #width ", 8 KiB fetched, then copied", feature, width##_copy_stage \
    }

#define STREAMING_MOVERS(width, feature)                                                           \
    {RIDGE_MOVE_STREAM, #width ", straight", feature, width##_stream_straight},                    \
        {RIDGE_MOVE_STREAM, #width ", prefetch 2 KiB ahead", feature, width##_stream_ahead},       \
        {RIDGE_MOVE_STREAM, #width ", 4 rows of 4 KiB", feature, width##_stream_rows4},            \
        {RIDGE_MOVE_STREAM, #width ", 8 KiB fetched, then copied", feature, width##_stream_stage}, \
        {RIDGE_MOVE_WRITE, #width ", straight", feature, width##_write_straight}, {                \
        RIDGE_MOVE_WRITE, #width ", 2 rows of 4 KiB", feature, width##_write_rows2                 \
    }

static const ridge_mover movers[] = {
#if defined(__x86_64__)
    PLAIN_MOVERS(zmm, "avx512f"), STREAMING_MOVERS(zmm, "avx512f"),
    PLAIN_MOVERS(ymm, "avx2"),    STREAMING_MOVERS(ymm, "avx2"),
    PLAIN_MOVERS(xmm, ""),        STREAMING_MOVERS(xmm, ""),
#elif defined(__aarch64__)
    PLAIN_MOVERS(neon, ""),
    STREAMING_MOVERS(neon, ""),
#else
    PLAIN_MOVERS(plain, ""),
#endif
};

const ridge_mover *ridge_movers(int *count) {
    *count = (int)(sizeof movers / sizeof movers[0]);
    return movers;
}

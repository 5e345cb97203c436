/* Walks over one row of f32 or bf16 elements, for kernels whose rows are independent.
 *
 * A walk calls a function on pairs of vectors (vf2, see vec.h). It is always inlined with a constant function and a
 * constant `type`, so that a plain loop remains. `count` is the number of valid elements of the pair: the constant
 * VF2_LANES, except at edges.
 *
 * Writing: with `stream`, whole aligned lines use streaming stores; elements before the first line boundary and after
 * the last use ordinary stores. Streaming pays when the result does not fit in cache (row_streams). */
#ifndef RIDGE_KERNELS_CPU_ROW_H
#define RIDGE_KERNELS_CPU_ROW_H

#include "cpu/vec.h"
#include "model/row_temporary.h"
#include "ridge/target.h"

enum {
    ROW_LINE = 64,
    ROW_FAR = 2048, /* prefetch distance in bytes: covers the memory latency where each line costs arithmetic */
};

/* Operands with a larger total size are assumed to be in memory, not in cache. Half of a common last-level cache: below
 * it, a consumer may find the result in cache, and ordinary stores are faster. */
static const double row_stream_bytes = 16.0 * 1024 * 1024;

VF_INLINE size_t row_bytes(int64_t n, vf_type type) {
    return (size_t)n * (is_bf16(type) ? sizeof(uint16_t) : sizeof(float));
}
VF_INLINE const void *row_at(const void *row, int64_t j, vf_type type) {
    return (const char *)row + row_bytes(j, type);
}
VF_INLINE void *row_to(void *row, int64_t j, vf_type type) { return (char *)row + row_bytes(j, type); }

/* Row i of a rank-2 tensor. */
VF_INLINE const void *row_in(const DLTensor *t, int64_t i, vf_type type) {
    return row_at(ridge_data(t), i * ridge_row_stride(t), type);
}
VF_INLINE void *row_out(const DLTensor *t, int64_t i, vf_type type) {
    return row_to(ridge_data(t), i * ridge_row_stride(t), type);
}

/* An elementwise map treats rows that are contiguous in every tensor as one long row. */
VF_INLINE void row_merge(const ridge_call *call, int n_in, int n_out, int64_t *rows, int64_t *n) {
    bool dense = true;
    for (int i = 0; i < n_in; i++) dense &= ridge_row_stride(&call->in[i]) == *n;
    for (int i = 0; i < n_out; i++) dense &= ridge_row_stride(&call->out[i]) == *n;
    if (dense && *rows > 0) *n *= *rows, *rows = 1;
}

VF_INLINE bool row_streams(double operand_bytes) { return operand_bytes > row_stream_bytes; }

VF_INLINE vf2 row_load(const void *row, int64_t j, int64_t count, vf_type type) {
    return count == VF2_LANES ? vf2_load(row_at(row, j, type), type) : vf2_load_n(row_at(row, j, type), count, type);
}

/* As row_load, but missing elements are -infinity, the neutral element of a maximum and of a sum of exponentials. */
VF_INLINE vf2 row_load_low(const void *row, int64_t j, int64_t count, vf_type type) {
    if (count == VF2_LANES) return vf2_load(row_at(row, j, type), type);
    if (is_bf16(type)) {
        uint16_t part[VF2_LANES];
        for (int k = 0; k < VF2_LANES; k++) part[k] = 0xff80;
        memcpy(part, row_at(row, j, VF_BF16), row_bytes(count, VF_BF16));
        return vf2_load_bf16(part);
    }
    float part[VF2_LANES];
    for (int k = 0; k < VF2_LANES; k++) part[k] = -__builtin_inff();
    memcpy(part, row_at(row, j, VF_F32), row_bytes(count, VF_F32));
    return vf2_load_f32(part);
}

/* 1 in the lanes of the first `count` elements, else 0. */
VF_INLINE vf2 row_present(int64_t count, vf_type type) {
    if (is_bf16(type)) {
        uint16_t part[VF2_LANES];
        for (int k = 0; k < VF2_LANES; k++) part[k] = k < count ? 0x3f80 : 0;
        return vf2_load_bf16(part);
    }
    float part[VF2_LANES];
    for (int k = 0; k < VF2_LANES; k++) part[k] = k < count ? 1.0f : 0.0f;
    return vf2_load_f32(part);
}

/* Prefetches the lines of one pair of a row to be read soon. Prefetches past the row's end are harmless: they never
 * fault. */
VF_INLINE void row_prefetch(const void *row, int64_t j, vf_type type) {
    const char *p = row_at(row, j, type);
    for (size_t offset = 0; offset < row_bytes(VF2_LANES, type); offset += ROW_LINE) vf_prefetch(p + offset);
}

/* ---- reading ---- */

enum { ROW_CHAINS = 4 }; /* independent accumulators per reduction; f gets the accumulator's number as a constant */

/* Elements summed in fp32 before fp64 takes over: 32 additions to a partial sum at the most, or 2048 elements. Elements of
 * few distinct values are all rounded the same way, so the error grows with the additions, not with their root. */
enum {
    ROW_PIECE_TURNS = 32 * 2 * ROW_CHAINS * VF_LANES,
    ROW_PIECE = ROW_PIECE_TURNS < ROW_REDUCE_PIECE ? ROW_PIECE_TURNS : ROW_REDUCE_PIECE
};

typedef void (*row_visit_fn)(void *state, int chain, int64_t j, int64_t count);

/* Calls f over elements [0, n), ROW_CHAINS pairs per iteration. */
VF_INLINE void row_visit(int64_t n, row_visit_fn f, void *state) {
    int64_t j = 0;
    for (; j + ROW_CHAINS * VF2_LANES <= n; j += ROW_CHAINS * VF2_LANES) {
        f(state, 0, j, VF2_LANES);
        f(state, 1, j + VF2_LANES, VF2_LANES);
        f(state, 2, j + 2 * VF2_LANES, VF2_LANES);
        f(state, 3, j + 3 * VF2_LANES, VF2_LANES);
    }
    for (; j + VF2_LANES <= n; j += VF2_LANES) f(state, 0, j, VF2_LANES);
    if (j < n) f(state, 1, j, n - j);
}

/* Accumulators of a reduction: initialized before, folded into one number after. */
typedef struct row_sums {
    vf2 chain[ROW_CHAINS];
} row_sums;

VF_INLINE void row_sums_set(row_sums *s, float value) {
    for (int c = 0; c < ROW_CHAINS; c++) s->chain[c] = (vf2){vf_set1(value), vf_set1(value)};
}
VF_INLINE float row_sums_total(const row_sums *s) {
    vf sum = vf_zero();
    for (int c = 0; c < ROW_CHAINS; c++) sum = vf_add(sum, vf_add(s->chain[c].a, s->chain[c].b));
    return vf_sum(sum);
}
VF_INLINE float row_sums_max(const row_sums *s) {
    vf max = s->chain[0].a;
    for (int c = 0; c < ROW_CHAINS; c++) max = vf_max(max, vf_max(s->chain[c].a, s->chain[c].b));
    return vf_hmax(max);
}

/* ---- writing ---- */

typedef vf2 (*row_map_fn)(const void *state, int64_t j, int64_t count);

/* Elements before the first line boundary of p; -1 when no element lies on one. */
VF_INLINE int64_t row_head(const void *p, vf_type type) {
    size_t bytes = (size_t)(-(uintptr_t)p & (ROW_LINE - 1)), size = row_bytes(1, type);
    return bytes % size ? -1 : (int64_t)(bytes / size);
}

/* y[j] = f(j) for j in [0, n). Also prefetches the row `ahead` line by line, unless it is NULL. */
VF_INLINE void row_map(void *y, int64_t n, vf_type type, bool stream, row_map_fn f, const void *state,
                       const void *ahead) {
    int64_t j = 0, head = stream ? row_head(y, type) : 0;
    if (head < 0) head = 0, stream = false;
    if (head > n) head = n;
    for (int64_t count; j < head; j += count) {
        count = head - j < VF2_LANES ? head - j : VF2_LANES;
        if (ahead) row_prefetch(ahead, j, type);
        vf2_store_n(row_to(y, j, type), count, f(state, j, count), type);
    }
    if (stream) {
        for (; j + VF2_LANES <= n; j += VF2_LANES) {
            if (ahead) row_prefetch(ahead, j, type);
            vf2_stream(row_to(y, j, type), f(state, j, VF2_LANES), type);
        }
    } else {
        for (; j + VF2_LANES <= n; j += VF2_LANES) {
            if (ahead) row_prefetch(ahead, j, type);
            vf2_store(row_to(y, j, type), f(state, j, VF2_LANES), type);
        }
    }
    if (j < n) {
        if (ahead) row_prefetch(ahead, j, type);
        vf2_store_n(row_to(y, j, type), n - j, f(state, j, n - j), type);
    }
}

/* f writes and g visits one pair; f reads before g may write. */
VF_INLINE void row_both(void *y, int64_t j, vf_type type, row_map_fn f, const void *state, row_visit_fn g, void *next,
                        int chain, const void *far) {
    row_prefetch(far, j, type);
    vf2 v = f(state, j, VF2_LANES);
    g(next, chain, j, VF2_LANES);
    vf2_stream(row_to(y, j, type), v, type);
}

/* Pairs per iteration: fewer than ROW_CHAINS if eight partial sums remain, to save registers. */
enum { ROW_TURN = VF_LANES < 4 ? ROW_CHAINS : 2 };

/* Two rows at once: streams y[j] = f(j) for j in [begin, end) while g visits the same elements of the next row. So
 * reads, arithmetic and writes overlap; one row at a time they would alternate. `y` and `begin` lie on line boundaries.
 * At each place f reads before g writes, so that both can share one temporary. */
VF_INLINE void row_stream_and_visit(void *y, int64_t begin, int64_t end, vf_type type, row_map_fn f, const void *state,
                                    row_visit_fn g, void *next, const void *ahead) {
    const char *far = (const char *)ahead + ROW_FAR;
    int64_t j = begin;
    for (; j + ROW_TURN * VF2_LANES <= end; j += ROW_TURN * VF2_LANES) {
        row_both(y, j, type, f, state, g, next, 0, far);
        row_both(y, j + VF2_LANES, type, f, state, g, next, 1, far);
        if (ROW_TURN == 2) continue;
        row_both(y, j + 2 * VF2_LANES, type, f, state, g, next, 2, far);
        row_both(y, j + 3 * VF2_LANES, type, f, state, g, next, 3, far);
    }
    for (; j + VF2_LANES <= end; j += VF2_LANES) row_both(y, j, type, f, state, g, next, 2, far);
    if (j < end) {
        vf2 v = f(state, j, end - j);
        g(next, 3, j, end - j);
        vf2_store_n(row_to(y, j, type), end - j, v, type);
    }
}

/* Whether rows of n elements can be processed two at a time: each starts on a line boundary, and both fit in cache. */
VF_INLINE bool row_pairs_up(const DLTensor *y, int64_t n, vf_type type) {
    const size_t most = 1 << 17;
    return row_bytes(n, type) <= most && (uintptr_t)ridge_data(y) % ROW_LINE == 0 &&
           row_bytes(ridge_row_stride(y), type) % ROW_LINE == 0;
}

/* ---- temporaries ----
 *
 * A row of intermediate fp32 values has the layout of the pairs, padded to whole pairs: even and odd places of bf16
 * stay separate. */

VF_INLINE int64_t row_whole_pairs(int64_t n) { return (n + VF2_LANES - 1) / VF2_LANES * VF2_LANES; }

/* t[j] = f(j), also for the padding. */
VF_INLINE void row_map_temporary(float *t, int64_t n, row_map_fn f, const void *state) {
    int64_t j = 0;
    for (; j + VF2_LANES <= n; j += VF2_LANES) vf2_store_f32(t + j, f(state, j, VF2_LANES));
    if (j < n) vf2_store_f32(t + j, f(state, j, n - j));
}

/* ---- running ---- */

/* Rows [begin, end) of a call, by member `rank` of the team. */
typedef void (*row_part_fn)(const ridge_call *call, int64_t begin, int64_t end, int rank);

typedef struct row_job {
    const ridge_call *call;
    row_part_fn part;
} row_job;

static inline void row_job_part(void *arg, int rank, int size) {
    const row_job *job = arg;
    int64_t begin, end;
    ridge_share(job->call->dim[0], 1, rank, size, &begin, &end);
    job->part(job->call, begin, end, rank);
}

/* Bytes of an operation's matrices, which have one storage type. */
static inline double row_call_bytes(const ridge_call *call, int matrices) {
    return (double)matrices * (double)call->dim[0] * (double)call->dim[1] * (double)ridge_dtype_size(call->dtype);
}

/* Distributes the rows (`bytes` in total) over the call's team and calls the function for the storage type. A single
 * row is not distributed. */
static inline ridge_status row_run_sized(const ridge_call *call, double bytes, row_part_fn f32, row_part_fn bf16,
                                         row_part_fn bf16_native) {
    row_job job = {call, f32};
    if (call->dtype == RIDGE_BF16)
        job.part = vf_has_bf16() ? bf16_native : bf16;
    else if (call->dtype != RIDGE_F32)
        return RIDGE_UNSUPPORTED;
    ridge_team_run_sized(call->dim[0] < 2 ? NULL : call->team, bytes, row_job_part, &job);
    return RIDGE_OK;
}

/* The row_part_fn of each storage type, which##_f32 and so on, from which##_rows(call, begin, end, type). */
#define ROW_PARTS(which)                                                                            \
    static void which##_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {         \
        (void)rank;                                                                                 \
        which##_rows(call, begin, end, VF_F32);                                                     \
    }                                                                                               \
    static void which##_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {        \
        (void)rank;                                                                                 \
        which##_rows(call, begin, end, VF_BF16);                                                    \
    }                                                                                               \
    static void which##_bf16_native(const ridge_call *call, int64_t begin, int64_t end, int rank) { \
        (void)rank;                                                                                 \
        which##_rows(call, begin, end, VF_BF16_NATIVE);                                             \
    }

/* For operations that read and write one matrix at about the rate of a copy. */
static inline ridge_status row_run(const ridge_call *call, row_part_fn f32, row_part_fn bf16, row_part_fn bf16_native) {
    return row_run_sized(call, row_call_bytes(call, 2), f32, bf16, bf16_native);
}

#endif

/* y[i,:] = sum over k of exp(table[index[i,k],:]): see README.md. Both variants are one loop; the optimized one also
 * prefetches the row of a later lookup. */
#include "cpu/row.h"
#include "cpu/vec_math.h"

RIDGE_CPU_DECLARE(software_prefetch_cpu_baseline);
RIDGE_CPU_DECLARE(software_prefetch_cpu_optimized);

/* Columns summed in registers at once, and the prefetch distance. 4 KiB of table (64 lines) is more than a core's
 * outstanding misses and less than a tenth of L1. README.md describes the tuning. */
enum { BLOCK = 2 * VF2_LANES, AHEAD_BYTES = 4096, AHEAD_MOST = 64 };

typedef struct gather {
    const DLTensor *table, *index;
    int64_t bag, end; /* end of this thread's rows */
    int64_t ahead;    /* lookups */
    bool wide;        /* 64-bit indices */
    vf_type type;
} gather;

VF_INLINE int64_t index_at(const gather *g, int64_t i, int64_t k) {
    const int64_t at = i * ridge_row_stride(g->index) + k;
    return g->wide ? ((const int64_t *)ridge_data(g->index))[at] : ((const int32_t *)ridge_data(g->index))[at];
}

/* Prefetches every line of `bytes` bytes from p. */
VF_INLINE void fetch(const char *p, size_t bytes) {
    for (size_t at = 0; at < bytes; at += ROW_LINE) vf_prefetch(p + at);
    vf_prefetch(p + bytes - 1);
}

/* Sums columns [j, j + first + second) of row i: full pairs of vectors, except at the table's right edge. The prefetch
 * runs `ahead` lookups in front, into the next rows where the bag ends. */
VF_INLINE void sum_block(const gather *g, int64_t i, int64_t j, int64_t first, int64_t second, void *y, bool prefetch) {
    vf2 a = {vf_zero(), vf_zero()}, b = a;
    int64_t later_row = i + g->ahead / g->bag, later = g->ahead % g->bag;
    for (int64_t k = 0; k < g->bag; k++) {
        if (prefetch) {
            if (later_row < g->end)
                fetch(row_at(row_in(g->table, index_at(g, later_row, later), g->type), j, g->type),
                      row_bytes(first + second, g->type));
            if (++later == g->bag) later = 0, later_row++;
        }
        const void *row = row_in(g->table, index_at(g, i, k), g->type);
        vf2 v = row_load(row, j, first, g->type);
        a = (vf2){vf_add(a.a, vf_exp(v.a)), vf_add(a.b, vf_exp(v.b))};
        if (second) {
            v = row_load(row, j + first, second, g->type);
            b = (vf2){vf_add(b.a, vf_exp(v.a)), vf_add(b.b, vf_exp(v.b))};
        }
    }
    vf2_store_n(row_to(y, j, g->type), first, a, g->type);
    if (second) vf2_store_n(row_to(y, j + first, g->type), second, b, g->type);
}

VF_INLINE void gather_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type, bool prefetch) {
    const int64_t cols = call->dim[2];
    gather g = {.table = &call->in[0], .index = &call->in[1], .bag = call->dim[1], .end = end, .type = type};
    g.wide = call->in[1].dtype.bits == 64;
    int64_t lookups = AHEAD_BYTES / (int64_t)row_bytes(cols, type);
    g.ahead = lookups < 1 ? 1 : lookups > AHEAD_MOST ? AHEAD_MOST : lookups;
    for (int64_t i = begin; i < end; i++) {
        void *y = row_out(&call->out[0], i, type);
        int64_t j = 0;
        for (; j + BLOCK <= cols; j += BLOCK) sum_block(&g, i, j, VF2_LANES, VF2_LANES, y, prefetch);
        if (cols - j > VF2_LANES)
            sum_block(&g, i, j, VF2_LANES, cols - j - VF2_LANES, y, prefetch);
        else if (cols > j)
            sum_block(&g, i, j, cols - j, 0, y, prefetch);
    }
}

/* Bytes of the table rows that are looked up. */
static double looked_up(const ridge_call *call) { return row_call_bytes(call, 1) * (double)call->dim[2]; }

static void baseline_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    gather_rows(call, begin, end, VF_F32, false);
}
static void baseline_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    gather_rows(call, begin, end, VF_BF16, false);
}
ridge_status RIDGE_ISA_FN(software_prefetch_cpu_baseline)(const ridge_call *call) {
    return row_run_sized(call, looked_up(call), baseline_f32, baseline_bf16, baseline_bf16);
}

static void optimized_f32(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    gather_rows(call, begin, end, VF_F32, true);
}
static void optimized_bf16(const ridge_call *call, int64_t begin, int64_t end, int rank) {
    (void)rank;
    gather_rows(call, begin, end, VF_BF16, true);
}
ridge_status RIDGE_ISA_FN(software_prefetch_cpu_optimized)(const ridge_call *call) {
    return row_run_sized(call, looked_up(call), optimized_f32, optimized_bf16, optimized_bf16);
}

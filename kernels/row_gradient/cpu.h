/* Gradients of rows on a CPU (row_gradient.h). Baseline: the sums of all rows, then dx of all rows. Optimized: row by row. Included
 * once by a target's cpu.c, which defines before
 *
 *   ROW_GRADIENT_NAME   as its target.c does
 *   ROW_GRADIENT_SUMS   how many sums of a row its statistics are made of: 1 or 2
 *
 * and behind it the three functions below. */
#include <math.h>

#include "cpu/row.h"
#include "cpu/vec_math.h"
#include "model/token.h"
#include "row_gradient/row_gradient.h"

#define ROW_GRADIENT_FN(what) TOKEN_JOIN(ROW_GRADIENT_NAME, what)
TOKEN_DECLARE_CPU(ROW_GRADIENT_FN(cpu_baseline));
TOKEN_DECLARE_CPU(ROW_GRADIENT_FN(cpu_optimized));
enum { SUMS = ROW_GRADIENT_SUMS, STATISTICS = 2 };

typedef struct row {
    const void *a, *dy;
    int64_t from; /* of what is visited */
    vf_type type;
    const double *option;
    float statistic[STATISTICS];
    row_sums sums[SUMS];
} row;

VF_INLINE vf2 a_at(const row *r, int64_t j, int64_t count) { return row_load(r->a, j, count, r->type); }
VF_INLINE vf2 dy_at(const row *r, int64_t j, int64_t count) { return row_load(r->dy, j, count, r->type); }

/* What a target defines: adds elements to a chain of each of its sums; makes the row's statistics of the sums; dx. */
VF_INLINE void add_parts(row *r, int chain, int64_t j, int64_t count);
VF_INLINE void set_statistics(row *r, const double *sum);
VF_INLINE vf dx_of(const row *r, vf a, vf dy);

VF_INLINE void add_visited(void *state, int chain, int64_t j, int64_t count) {
    row *r = state;
    add_parts(r, chain, r->from + j, count);
}
/* Pieces are summed in fp32, their sums in fp64. */
VF_INLINE void read_row(row *r, int64_t n) {
    double total[SUMS] = {0};
    for (r->from = 0; r->from < n; r->from += ROW_PIECE) {
        for (int s = 0; s < SUMS; s++) row_sums_set(&r->sums[s], 0.0f);
        row_visit(n - r->from < ROW_PIECE ? n - r->from : ROW_PIECE, add_visited, r);
        for (int s = 0; s < SUMS; s++) total[s] += (double)row_sums_total(&r->sums[s]);
    }
    set_statistics(r, total);
}
VF_INLINE vf2 dx_at(const void *state, int64_t j, int64_t count) {
    const row *r = state;
    const vf2 a = a_at(r, j, count), dy = dy_at(r, j, count);
    return (vf2){dx_of(r, a.a, dy.a), dx_of(r, a.b, dy.b)};
}

VF_INLINE row row_of(const ridge_call *call, int64_t i, vf_type type) {
    return (row){.a = row_in(&call->in[ROW_GRADIENT_A], i, type),
                 .dy = row_in(&call->in[ROW_GRADIENT_DY], i, type),
                 .type = type,
                 .option = call->option};
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[ROW_GRADIENT_COLS];
    const bool stream = row_streams(row_call_bytes(call, 3));
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        read_row(&r, n);
        row_map(row_out(&call->out[0], i, type), n, type, stream, dx_at, &r, NULL);
    }
    vf_fence();
}
VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[ROW_GRADIENT_COLS];
    float *const statistics = call->scratch;
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        read_row(&r, n);
        memcpy(statistics + STATISTICS * i, r.statistic, sizeof r.statistic);
    }
    for (int64_t i = begin; i < end; i++) {
        row r = row_of(call, i, type);
        memcpy(r.statistic, statistics + STATISTICS * i, sizeof r.statistic);
        row_map(row_out(&call->out[0], i, type), n, type, false, dx_at, &r, NULL);
    }
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(ROW_GRADIENT_FN(cpu_optimized))(const ridge_call *call) {
    return row_run_sized(call, row_call_bytes(call, 3), optimized_f32, optimized_bf16, optimized_bf16_native);
}
ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(ROW_GRADIENT_FN(cpu_baseline))(const ridge_call *call) {
    return row_run_sized(call, row_call_bytes(call, 3), baseline_f32, baseline_bf16, baseline_bf16_native);
}

/* softmax(x w + b), unfused: logits in the output, then a pass over its rows. For shapes whose logits would not stay in
 * cache between a fused kernel's product and its softmax, and for few rows. */
#include "cpu/gemm.h"
#include "cpu/gemm_product.h"
#include "cpu/linear_softmax.h"
#include "cpu/softmax_row.h"

enum { CHUNK = 32768 }; /* logits that stay in L2 between product and softmax */

typedef struct work {
    gemm_product p;
    gemm_way way;
    const float *b;
    float *scratch;
    int64_t thread_floats;
} work;

static void softmax_rows(const work *w, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        float *y = w->p.c + i * w->p.c_row;
        softmax_row(y, w->b, w->p.n, y);
    }
}

/* A thread's rows, chunk by chunk. */
static void chunks_fn(void *arg, int rank, int size) {
    const work *w = arg;
    const int64_t fit = CHUNK / w->p.n / GEMM_MR * GEMM_MR, rows = fit > GEMM_MR ? fit : GEMM_MR;
    int64_t begin, end;
    ridge_share(w->p.m, GEMM_MR, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i += rows) {
        gemm_product p = w->p;
        p.m = end - i < rows ? end - i : rows;
        p.a += i * p.a_row;
        p.c += i * p.c_row;
        RIDGE_ISA_FN(gemm_product)(&p, w->way, w->scratch + rank * w->thread_floats, NULL);
        softmax_rows(w, i, i + p.m);
    }
}

static void rows_fn(void *arg, int rank, int size) {
    const work *w = arg;
    int64_t begin, end;
    ridge_share(w->p.m, 1, rank, size, &begin, &end);
    softmax_rows(w, begin, end);
}

static gemm_product product_of(const ridge_call *call) {
    const DLTensor *x = &call->in[LINEAR_X], *w = &call->in[LINEAR_W], *y = &call->out[0];
    const linear_order order = linear_order_of(w);
    return (gemm_product){.m = call->dim[LINEAR_BATCH],
                          .n = call->dim[LINEAR_CLASSES],
                          .k = call->dim[LINEAR_DEPTH],
                          .a = ridge_data(x),
                          .a_row = ridge_row_stride(x),
                          .a_depth = 1,
                          .b = ridge_data(w),
                          .b_depth = order.columns ? 1 : order.stride,
                          .b_column = order.columns ? order.stride : 1,
                          .c = ridge_data(y),
                          .c_row = ridge_row_stride(y)};
}

ridge_status RIDGE_ISA_FN(linear_softmax_cpu_product)(const ridge_call *call) {
    work w = {.p = product_of(call), .b = ridge_data(&call->in[LINEAR_B]), .scratch = call->scratch};
    const gemm_facts facts = gemm_facts_of(&w.p, GEMM_ISA_OF(RIDGE_ISA), ridge_team_size(call->team));
    const gemm_split split = gemm_split_of(&facts);
    w.way = gemm_way_of(&facts);
    w.thread_floats = gemm_product_thread_floats(w.p.m, w.p.n, w.p.k);
    /* Ways that pack no block of w lose nothing when they come back to it. */
    if (w.way != GEMM_WAY_BLOCKED && (split == GEMM_SPLIT_NONE || split == GEMM_SPLIT_ROWS)) {
        ridge_team_run(split == GEMM_SPLIT_NONE ? NULL : call->team, chunks_fn, &w);
        return RIDGE_OK;
    }
    RIDGE_ISA_FN(gemm_product)(&w.p, w.way, call->scratch, call->team);
    ridge_team_run(w.p.m * w.p.n < LINEAR_PRODUCT_ALONE ? NULL : call->team, rows_fn, &w);
    return RIDGE_OK;
}

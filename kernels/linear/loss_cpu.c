/* The CPU variants' side of the cross-entropy family: jobs from calls, scratch, traffic, and the choice of a library.
 */
#include <math.h>
#include <stddef.h>

#include "cpu/cost.h"
#include "cpu/gemm_product.h"
#include "cpu/linear_ce_library.h"
#include "model/cross_entropy.h"
#include "peer/onednn.h"
#include "peer/openblas.h"

static void *at_place(const DLTensor *tensors, int place) { return place >= 0 ? ridge_data(&tensors[place]) : NULL; }

/* The row stride of a matrix with one row is arbitrary. */
static void strides_of(const DLTensor *t, int64_t *row, int64_t *column) {
    *row = t->strides ? t->strides[0] : t->shape[1];
    *column = t->strides ? t->strides[1] : 1;
    if (*column == 1 && *row < t->shape[1]) *row = t->shape[1];
}

linear_ce linear_ce_of(const ridge_call *call, const ce_places *at) {
    linear_ce job = {.rows = call->dim[CE_BATCH],
                     .depth = call->dim[CE_DEPTH],
                     .classes = call->dim[CE_CLASSES],
                     .x = ridge_data(&call->in[CE_X]),
                     .w = ridge_data(&call->in[CE_W]),
                     .b = ridge_data(&call->in[CE_B]),
                     .x_row = ridge_row_stride(&call->in[CE_X]),
                     .labels = {ridge_data(&call->in[CE_LABELS]), call->in[CE_LABELS].dtype.bits == 64},
                     .lse_in = at_place(call->in, at->lse_in),
                     .dloss = at_place(call->in, at->dloss),
                     .loss = at_place(call->out, at->loss),
                     .lse = at_place(call->out, at->lse),
                     .dx = at_place(call->out, at->dx),
                     .dw = at_place(call->out, at->dw),
                     .db = at_place(call->out, at->db),
                     .ignore = call->option[CE_IGNORE],
                     .smoothing = (float)call->option[CE_SMOOTHING],
                     .z_loss = (float)call->option[CE_Z_LOSS],
                     .scratch = call->scratch,
                     .team = call->team};
    strides_of(&call->in[CE_W], &job.w_class, &job.w_depth);
    if (at->dx >= 0) job.dx_row = ridge_row_stride(&call->out[at->dx]);
    if (at->dw >= 0) strides_of(&call->out[at->dw], &job.dw_class, &job.dw_depth);
    return job;
}

static size_t fused_scratch(const ridge_case *c, bool gradients, int threads) {
    const int64_t classes = c->dim[CE_CLASSES], depth = c->dim[CE_DEPTH], block = linear_ce_block_classes(classes);
    const int64_t rows = linear_ce_block_rows(classes), pad = LINEAR_CE_PAD, most = rows * threads;
    int64_t w = block * depth + (block / 2 + 2) * pad + 2 * pad;
    if (gradients) w += block * (depth + LINEAR_CE_NR) + 2 * pad;
    int64_t floats = w * (linear_ce_own_w(classes, depth) ? threads : 1) + 4 * c->dim[CE_BATCH] + 2 * pad;
    if (gradients) floats += most * block + pad;
    if (gradients && linear_ce_apart(classes, depth, threads)) floats += threads * (block * (depth + 1) + pad);
    floats += threads * (rows * (LINEAR_CE_KC + block) + most * LINEAR_CE_NR + 3 * pad);
    return sizeof(float) * (size_t)floats;
}

static size_t chunks_scratch(const ridge_case *c, bool gradients, int threads) {
    const int64_t classes = c->dim[CE_CLASSES], depth = c->dim[CE_DEPTH];
    const int64_t rows = linear_ce_chunk_rows(c->dim[CE_BATCH], classes);
    size_t most = gemm_product_scratch(rows, classes, depth, threads);
    const size_t dx = gemm_product_scratch(rows, depth, classes, threads);
    const size_t dw = gemm_product_scratch(classes, depth, rows, threads);
    const size_t turned = gemm_product_scratch(depth, classes, rows, threads);
    if (gradients && dx > most) most = dx;
    if (gradients && dw > most) most = dw;
    if (gradients && turned > most) most = turned;
    return sizeof(float) * (size_t)(rows * classes + 2 * LINEAR_CE_PAD) + most;
}

size_t ce_unfused_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return sizeof(float) * (size_t)(c->dim[CE_BATCH] * c->dim[CE_CLASSES] + LINEAR_CE_PAD);
}

/* Every product reads its operands. The first product writes the logits, softmax reads and writes them, the sum of
 * columns and two products read them. */
void ce_unfused_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic) {
    ridge_work work;
    ce_work(at, c, &work);
    const double z = 4.0 * (double)c->dim[CE_BATCH] * (double)c->dim[CE_CLASSES];
    const double again =
        at->dx >= 0 ? 4.0 * (double)c->dim[CE_DEPTH] * (double)(c->dim[CE_BATCH] + c->dim[CE_CLASSES]) : 0;
    *traffic = (ridge_traffic){.read = work.bytes_read + again + z * (at->dx >= 0 ? 4 : 1),
                               .written = work.bytes_written + z * (at->dx >= 0 ? 2 : 1)};
}

/* ---- ways ------------------------------------------------------------------------------------------------------- */

/* w is packed, and read once per block of rows; gradients read x twice. */
static void fused_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic) {
    ridge_work work;
    ce_work(at, c, &work);
    const double w = 4.0 * (double)c->dim[CE_CLASSES] * (double)c->dim[CE_DEPTH];
    const double x = 4.0 * (double)c->dim[CE_BATCH] * (double)c->dim[CE_DEPTH];
    const double blocks = (double)c->dim[CE_BATCH] / (double)linear_ce_block_rows(c->dim[CE_CLASSES]);
    const int gradients = at->dx >= 0;
    *traffic = (ridge_traffic){.read = work.bytes_read + gradients * x + w * blocks * (1 + gradients),
                               .written = work.bytes_written + w * (1 + gradients)};
}

/* A chunk reads w for its logits, and with gradients again for dx; it adds to dw. Its logits stay in cache. */
static void chunks_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic) {
    ridge_work work;
    ce_work(at, c, &work);
    const double w = 4.0 * (double)c->dim[CE_CLASSES] * (double)c->dim[CE_DEPTH];
    const double x = 4.0 * (double)c->dim[CE_BATCH] * (double)c->dim[CE_DEPTH];
    const int64_t rows = linear_ce_chunk_rows(c->dim[CE_BATCH], c->dim[CE_CLASSES]);
    const double chunks = rows > 0 ? ceil((double)c->dim[CE_BATCH] / (double)rows) : 1;
    const int gradients = at->dx >= 0;
    *traffic = (ridge_traffic){.read = work.bytes_read + w * (chunks - 1) + gradients * (x + w * (2 * chunks - 1)),
                               .written = work.bytes_written + gradients * w * (chunks - 1)};
}

/* Beats (cpu/cost.h), measured on a Zen 3 core with AVX2 (AMD EPYC), operands from memory. */
static const struct {
    double exponential; /* an element of softmax and loss, a vector at a time: of all lanes */
    double gradient;    /* of G, likewise */
    double row;         /* a row of the pass over logits in memory */
    double start;       /* all of the fused kernel, beside what follows */
    double many;        /* factor of its products with more classes than one strip at a time is for */
    double tile;        /* a tile, beside its arithmetic */
    double pack;        /* an element of w */
} share = {20, 8, 80, 600, 1.1, 50, 1.0};

/* Of the fused kernel: factors of the multiply-adds of its products, and an element of x, which is transposed. AVX-512
 * (a Zen 4 core): tiles load less for each multiply-add, and hide more of the transposition. */
typedef struct fused_shares {
    double logits, dx, dw, turn;
} fused_shares;
static const fused_shares fused_avx2 = {1.15, 1.4, 1.5, 1.2}, fused_avx512 = {1.05, 1.05, 1.1, 0.2};

/* A thread's work: beats, and elements that it reads and writes in memory. */
typedef struct ce_cost {
    double beats, elements;
} ce_cost;

static ce_cost product_cost(const ridge_problem *p, gemm_facts f) {
    f.threads = p->here.threads > 1 ? p->here.threads : 1;
    f.isa = p->here.isa;
    return (ce_cost){gemm_way_beats(gemm_way_of(&f), &f), gemm_operands(&f)};
}

/* The products of a chunk, as linear_ce_chunks.c calls them. */
static ce_cost logits_cost(const ridge_problem *p, int64_t rows) {
    const ridge_operand *x = &p->tensor[CE_X], *w = &p->tensor[CE_W];
    const bool by_row = w->stride[1] != 1;
    return product_cost(p, (gemm_facts){.m = rows,
                                        .n = p->c.dim[CE_CLASSES],
                                        .k = p->c.dim[CE_DEPTH],
                                        .a_by_depth = true,
                                        .b_by_row = by_row,
                                        .a_stride = x->stride[0],
                                        .b_stride = w->stride[by_row]});
}
static ce_cost dx_cost(const ridge_problem *p, int64_t rows) {
    const ridge_operand *w = &p->tensor[CE_W];
    const bool by_row = w->stride[1] == 1;
    return product_cost(p, (gemm_facts){.m = rows,
                                        .n = p->c.dim[CE_DEPTH],
                                        .k = p->c.dim[CE_CLASSES],
                                        .a_by_depth = true,
                                        .b_by_row = by_row,
                                        .a_stride = p->c.dim[CE_CLASSES],
                                        .b_stride = w->stride[!by_row]});
}
static ce_cost dw_cost(const ridge_problem *p, int64_t rows) {
    return product_cost(p, (gemm_facts){.m = p->c.dim[CE_CLASSES],
                                        .n = p->c.dim[CE_DEPTH],
                                        .k = rows,
                                        .b_by_row = true,
                                        .a_stride = p->c.dim[CE_CLASSES],
                                        .b_stride = p->tensor[CE_X].stride[0]});
}

static ce_cost chunks_cost(const ce_places *at, const ridge_problem *p) {
    const int64_t classes = p->c.dim[CE_CLASSES], rows = linear_ce_chunk_rows(p->c.dim[CE_BATCH], classes);
    const bool gradients = at->dx >= 0;
    const double per_element = (share.exponential + gradients * share.gradient) / cpu_tile_of(p->here.isa).lanes;
    const double z = (double)rows * (double)classes, team = z < LINEAR_CE_ALONE ? 1 : fmax(p->here.threads, 1);
    const ce_cost none = {0, 0}, logits = logits_cost(p, rows), dx = gradients ? dx_cost(p, rows) : none,
                  dw = gradients ? dw_cost(p, rows) : none;
    const double pass = (z * per_element + (double)rows * share.row) / team;
    const double chunks = rows > 0 ? ceil((double)p->c.dim[CE_BATCH] / (double)rows) : 0;
    return (ce_cost){chunks * (logits.beats + pass + dx.beats + dw.beats),
                     chunks * (logits.elements + dx.elements + dw.elements)};
}

static ce_cost fused_cost(const ce_places *at, const ridge_problem *p) {
    const double rows = (double)p->c.dim[CE_BATCH], depth = (double)p->c.dim[CE_DEPTH];
    const double classes = (double)p->c.dim[CE_CLASSES], block = (double)linear_ce_block_classes(p->c.dim[CE_CLASSES]);
    const int lanes = cpu_tile_of(p->here.isa).lanes, most = cpu_tile_of(p->here.isa).rows;
    const bool gradients = at->dx >= 0, both = gradients && at->loss >= 0, few = classes <= 256;
    const double team = rows * depth * classes < 1e6 ? 1 : fmax(p->here.threads, 1);
    const double nr = 2 * lanes, strips = ceil(ceil(rows / nr) / team), padded = strips * nr;
    const double groups = ceil(classes / (few ? most - 1 : most)), many = few ? 1 : share.many;
    const fused_shares fused = lanes < 16 ? fused_avx2 : fused_avx512;
    /* gradients of several blocks of classes compute the logits again */
    const double passes = both && block < classes ? 2 : 1;
    double beats = share.start + passes * strips * groups *
                                     (fused.logits * many * depth * fmax(classes / groups, 4) +
                                      ceil(depth / LINEAR_CE_KC) * share.tile);
    beats += padded * classes * (share.exponential + gradients * share.gradient) / lanes;
    if (gradients) {
        const double panels = ceil(depth / nr), block_rows = (double)linear_ce_block_rows(p->c.dim[CE_CLASSES]);
        const double blocks = ceil(padded / block_rows);
        beats += panels * (fused.dx * many * padded * classes + ceil(padded / most) * share.tile);
        beats += panels * groups * (fused.dw * many * padded * fmax(classes / groups, 4) + blocks * share.tile);
        beats += padded * classes + padded * depth * fused.turn;
    }
    beats += padded * depth * passes * fused.turn + classes * depth * share.pack * (1 + gradients);
    return (ce_cost){beats, (padded + classes) * depth * (1 + gradients)};
}

/* Both ways write dx and dw, and have two vectors of classes and four of rows. */
ridge_plan ce_cpu_plan(const ridge_way *way, const ridge_problem *p) {
    const ce_places *at = way->own;
    const bool fused = way->number == CE_CPU_FUSED;
    const ce_cost cost = (fused ? fused_cost : chunks_cost)(at, p);
    const int threads = p->here.threads > 1 ? p->here.threads : 1;
    const double rows = (double)p->c.dim[CE_BATCH] / fmax(p->here.threads, 1), classes = (double)p->c.dim[CE_CLASSES];
    const double vectors = 2 * classes + 4 * rows;
    const double written = at->dx >= 0 ? (rows + classes) * (double)p->c.dim[CE_DEPTH] : 0;
    ridge_plan plan = {.us = cpu_cost_of(&p->here, cost.beats, cost.elements + vectors + written),
                       .scratch = (fused ? fused_scratch : chunks_scratch)(&p->c, at->dx >= 0, threads)};
    (fused ? fused_traffic : chunks_traffic)(at, &p->c, &plan.traffic);
    return plan;
}

/* ---- libraries -------------------------------------------------------------------------------------------------- */

static const linear_ce_library by_onednn = {onednn_product, onednn_parallel}, by_openblas = {openblas_product, NULL};

const char *ce_library_unavailable(const ridge_case *c) {
    const char *why = ce_cpu_unavailable(c);
    return why ? why : onednn_unavailable(c) ? openblas_unavailable(c) : NULL;
}
const char *ce_openblas_unavailable(const ridge_case *c) {
    const char *why = ce_cpu_unavailable(c);
    return why ? why : openblas_unavailable(c);
}

ridge_status ce_library_prepare(const ridge_case *c, int threads, void **plan) {
    return onednn_unavailable(c) ? openblas_prepare(c, threads, plan) : onednn_prepare(c, threads, plan);
}

const linear_ce_library *ce_library(void) { return onednn_unavailable(NULL) ? &by_openblas : &by_onednn; }
const linear_ce_library *ce_openblas(void) { return &by_openblas; }

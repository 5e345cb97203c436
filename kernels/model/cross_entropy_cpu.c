/* The CPU variants' side of the cross-entropy family: jobs from calls, scratch, traffic, and the choice of a library.
 */
#include <stddef.h>

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

size_t linear_ce_fused_scratch(const ridge_case *c, bool gradients, int threads) {
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

/* w is packed, and read once per block of rows; gradients read x twice. */
void ce_fused_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic) {
    ridge_work work;
    ce_work(at, c, &work);
    const double w = 4.0 * (double)c->dim[CE_CLASSES] * (double)c->dim[CE_DEPTH];
    const double x = 4.0 * (double)c->dim[CE_BATCH] * (double)c->dim[CE_DEPTH];
    const double blocks = (double)c->dim[CE_BATCH] / (double)linear_ce_block_rows(c->dim[CE_CLASSES]);
    const int gradients = at->dx >= 0;
    *traffic = (ridge_traffic){.read = work.bytes_read + gradients * x + w * blocks * (1 + gradients),
                               .written = work.bytes_written + w * (1 + gradients)};
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

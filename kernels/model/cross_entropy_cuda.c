/* The CUDA variants' side of the cross-entropy family: scratch and traffic. */
#include "cuda/linear_loss.h"
#include "model/cross_entropy.h"

static double logits(const ridge_case *c) { return (double)c->dim[CE_BATCH] * (double)c->dim[CE_CLASSES]; }

/* Operands that the products with gradients read again. */
static double again(const ridge_case *c) {
    return (double)ridge_dtype_size(c->dtype) * (double)c->dim[CE_DEPTH] *
           (double)(c->dim[CE_BATCH] + c->dim[CE_CLASSES]);
}

/* Logits in fp32: written once, read for the losses and, with gradients, once more. Gradients in storage: written, and
 * read for their sums and by two products. */
void ce_cuda_unfused_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic) {
    ridge_work work;
    ce_work(at, c, &work);
    const double z = 4 * logits(c), g = (double)ridge_dtype_size(linear_gradient_dtype(c->dtype)) * logits(c);
    *traffic = (ridge_traffic){.read = work.bytes_read + z, .streamed = work.bytes_written + z};
    if (at->dx < 0) return;
    traffic->read += again(c) + 3 * g + (at->lse_in < 0 ? z : 0);
    traffic->streamed += g;
}

/* Forward: parts instead of logits. Gradients: written and read for their sums and by two products; with the forward,
 * they are exponentials first, which are read and written once more. */
void ce_cuda_fused_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic) {
    ridge_work work;
    ce_work(at, c, &work);
    const double parts = 8 * logits(c) / 256;
    const double g = (double)ridge_dtype_size(linear_gradient_dtype(c->dtype)) * logits(c);
    *traffic = (ridge_traffic){.read = work.bytes_read, .streamed = work.bytes_written};
    if (at->lse_in < 0) traffic->read += parts, traffic->streamed += parts;
    if (at->dx < 0) return;
    traffic->read += again(c) + 3 * g;
    traffic->streamed += at->lse_in < 0 ? 2 * g : g;
}

size_t ce_cuda_unfused_scratch(const ridge_case *c, int threads) {
    (void)threads;
    const double stride = (double)((c->dim[CE_CLASSES] + 15) / 16 * 16), rows = (double)c->dim[CE_BATCH];
    const double sums = (rows / 256 + 1) * (double)c->dim[CE_CLASSES] * 4;
    return (size_t)(rows * stride * (4 + (double)ridge_dtype_size(linear_gradient_dtype(c->dtype))) + sums) + 3 * 1024;
}

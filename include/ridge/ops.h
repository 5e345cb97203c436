/* ridge's operations, for programs: DLPack tensors in, DLPack tensors out, on the CPU or on a GPU.
 *
 * Every operation is a target (see target.h, and targets/<name>/README.md for its mathematics, shapes and error bound).
 * The tensors' device decides where it runs, their shapes what it runs on; the variant is the optimized one, unless
 * another is asked for. On a GPU the work is enqueued on the context's stream, and the call returns without waiting.
 *
 * A context serves one thread at a time. A forked child may go on with the CPU operations of its parent's contexts,
 * those that no thread was using at the fork; of GPUs CUDA forbids it, and a call there is RIDGE_UNSUPPORTED. */
#ifndef RIDGE_OPS_H
#define RIDGE_OPS_H

#include "ridge/target.h"
#include "ridge/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ridge_context ridge_context;

/* threads: of the CPU, up to 4096; 0 takes all that this process may use. Destroying NULL does nothing. */
RIDGE_API ridge_status ridge_context_create(int threads, ridge_context **context, ridge_error *error);
RIDGE_API void ridge_context_destroy(ridge_context *context);

/* The cudaStream_t that GPU work goes to, of the tensors' device; NULL is CUDA's default stream. One context serves
 * several devices: each has its own scratch memory and plans, and the caller's current device stays current. Work on
 * the stream before goes on as it is: scratch memory is ordered by the stream, so wait for the old one before changing
 * to another. */
RIDGE_API void ridge_context_set_stream(ridge_context *context, void *stream);

/* Whether float32 tensors may be computed with on tf32 tensor cores, where the operation has cases of type tf32: each
 * factor of a product is then rounded to 11 bits. Off at first. */
RIDGE_API void ridge_context_allow_tf32(ridge_context *context, bool allow);

/* Runs a target on tensors given in the order of its descriptor. variant NULL: the optimized one of the tensors'
 * device. options: in the order of the target's, RIDGE_MAX_OPTIONS finite numbers; NULL: the defaults.
 *
 * Every call is checked before anything is read or written, whatever the target and the device: pointers, shapes,
 * strides, types, devices, alignment to the element, overlap, options. RIDGE_INVALID: they are wrong in themselves or
 * do not fit together. RIDGE_UNSUPPORTED: no variant can run here, or takes the type here. RIDGE_NOT_FOUND: unknown
 * target or variant. `error` (may be NULL) says what is wrong and with which tensor. What ridge cannot check is that
 * the memory is there: `data` must hold the elements that shape and strides name.
 *
 * Shapes. Rows: where the first dimension of a row-wise input or of an output is the target's first dimension, any
 * number of leading dimensions may stand for it, the same ones in each such tensor: x [2, 3, cols] is six rows, x
 * [cols] is one. Tensors have at most RIDGE_MAX_TENSOR_RANK dimensions. Extents of 0 in the rows are allowed; a tensor
 * without elements may have NULL data and any strides. Strides. Row-major: the last dimension contiguous, each other
 * stride at least the span of the dimensions below it; leading dimensions must fold into rows of one stride. Strides of
 * dimensions of extent 1 are ignored. Matrices may be column-major (strides {1, at least the rows}) where the target's
 * tensor says takes_column_major. Types. Those of the target's cases on that device. Labels and indices may be i32 or
 * i64.
 *
 * Aliasing. Inputs may overlap each other. An output may share no element with another output or with an input, with
 * one exception: it may be one input itself (same address, shape, strides and type) where the target works in place;
 * results are then bit-identical to those of an output that lies elsewhere with the same alignment. These do:
 *     ridge_l2norm, ridge_softmax, ridge_layer_norm_gelu, ridge_rms_norm_silu   y may be x
 *     targets vertical_fusion, compute_bound: y may be x; memory_bound: y may be x or z
 * Views that interleave without sharing an element, such as columns 0 to 3 and 4 to 7 of one matrix, are accepted where
 * their row strides are equal; with unequal row strides, address ranges must not meet.
 *
 * Scratch memory and plans are made at the first call of a shape and kept. While the stream is being captured into a
 * graph nothing can be made: call once before. */
RIDGE_API ridge_status ridge_apply(ridge_context *context, const char *target, const char *variant, const DLTensor *in,
                                   int n_in, const DLTensor *out, int n_out, const double *options, ridge_error *error);

/* y[i,:] = x[i,:] / max(||x[i,:]||2, 1e-12)       x, y: [rows, cols], f32, bf16 (GPU: f16 as well) */
RIDGE_API ridge_status ridge_l2norm(ridge_context *context, const DLTensor *x, const DLTensor *y, ridge_error *error);
/* y[i,:] = softmax(x[i,:])                         as above */
RIDGE_API ridge_status ridge_softmax(ridge_context *context, const DLTensor *x, const DLTensor *y, ridge_error *error);
/* y = gelu(layer_norm(x) gamma + beta)             gamma, beta: [cols] */
RIDGE_API ridge_status ridge_layer_norm_gelu(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                             const DLTensor *beta, const DLTensor *y, ridge_error *error);
/* y = silu(rms_norm(x) gamma) */
RIDGE_API ridge_status ridge_rms_norm_silu(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                           const DLTensor *y, ridge_error *error);
/* probs = softmax(x w + b)         x: [batch, depth], w: [depth, classes] by rows or by columns, b: [classes] */
RIDGE_API ridge_status ridge_linear_softmax(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                            const DLTensor *b, const DLTensor *probs, ridge_error *error);
/* probs[i,h,:] = softmax(x[i,:] w[h] + b[h])       w: [heads, depth, classes], b: [heads, classes],
 *                                                 probs: [batch, heads, classes] */
RIDGE_API ridge_status ridge_multihead_linear_softmax(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                      const DLTensor *b, const DLTensor *probs, ridge_error *error);

/* Cross-entropy of softmax(x w^T + b), whose logits never lie in memory.
 *
 *     loss_i = (1 - s) (lse_i - z_i,label) + s (lse_i - mean of z_i) + z_loss lse_i^2
 *     lse_i  = log(sum of exp(z_i)), z = x w^T + b, s = label_smoothing
 *
 * x: [batch, depth], w: [classes, depth] (w, and dw, by rows or by columns), both f32, on a GPU also bf16 or f16;
 * b: f32 [classes], labels: i32 or i64 [batch], loss and lse: f32 [batch]. A row whose label is ignore_index, or no
 * class, has loss 0. The mean of the rows that count is the caller's to take: dloss, the gradient of what became of the
 * losses with respect to each of them, is 1 / (rows that count) for that. No memory that grows with batch x classes is
 * used.
 */
typedef struct ridge_cross_entropy_options {
    double ignore_index, label_smoothing, z_loss;
} ridge_cross_entropy_options;
#define RIDGE_CROSS_ENTROPY_DEFAULTS \
    { -100, 0, 0 } /* what NULL stands for */

RIDGE_API ridge_status ridge_linear_cross_entropy(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                  const DLTensor *b, const DLTensor *labels,
                                                  const ridge_cross_entropy_options *options, const DLTensor *loss,
                                                  const DLTensor *lse, ridge_error *error);
/* From the forward's lse: dx and dw as x and w, db: f32 [classes]. Ignored rows contribute nothing. */
RIDGE_API ridge_status ridge_linear_cross_entropy_backward(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                           const DLTensor *b, const DLTensor *labels,
                                                           const DLTensor *lse, const DLTensor *dloss,
                                                           const ridge_cross_entropy_options *options,
                                                           const DLTensor *dx, const DLTensor *dw, const DLTensor *db,
                                                           ridge_error *error);
/* Both in one call, for whoever knows dloss before the losses: training does. */
RIDGE_API ridge_status ridge_linear_cross_entropy_grad(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                       const DLTensor *b, const DLTensor *labels, const DLTensor *dloss,
                                                       const ridge_cross_entropy_options *options, const DLTensor *loss,
                                                       const DLTensor *lse, const DLTensor *dx, const DLTensor *dw,
                                                       const DLTensor *db, ridge_error *error);

#ifdef __cplusplus
}
#endif
#endif

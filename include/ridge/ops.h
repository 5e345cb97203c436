/* The C API of ridge's operations: DLPack tensors in, DLPack tensors out, on the CPU or on a GPU.
 *
 * Every operation is a target (see target.h). targets/<name>/README.md gives its mathematics, shapes and error bound.
 * The device of the tensors selects the backend. The optimized variant runs unless the caller names another. On a GPU
 * the call enqueues work on the context's stream and returns without waiting.
 *
 * One thread at a time may use a context. After fork(), the child may run CPU operations on a context of the parent
 * that no thread was using at the fork. GPU operations in the child return RIDGE_UNSUPPORTED, because CUDA does not
 * survive fork(). */
#ifndef RIDGE_OPS_H
#define RIDGE_OPS_H

#include "ridge/target.h"
#include "ridge/version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ridge_context ridge_context;

/* threads: CPU threads, 1 to 4096; 0 means all processors that this process may use. RIDGE_INVALID: the count is out of
 * range. Destroying NULL does nothing. */
RIDGE_API ridge_status ridge_context_create(int threads, ridge_context **context, ridge_error *error);
RIDGE_API void ridge_context_destroy(ridge_context *context);

/* Sets the cudaStream_t that GPU work is enqueued on; NULL is CUDA's default stream. The stream must belong to the
 * device of the tensors. One context serves several devices: each has its own scratch memory and plans. Calls leave the
 * current device unchanged. Scratch memory is reused in stream order, so synchronize the old stream before you set
 * another. */
RIDGE_API void ridge_context_set_stream(ridge_context *context, void *stream);

/* Allows tf32 tensor cores for float32 tensors, for operations that have tf32 cases. Each factor of a product is then
 * rounded to 11 significant bits. Default: off. */
RIDGE_API void ridge_context_allow_tf32(ridge_context *context, bool allow);

/* Reads measured ways from a file of `ridge tune`; calls on this context then take them where their shapes are in it.
 * path NULL: the file that `ridge tune` writes, $XDG_CONFIG_HOME/ridge/tuned or ~/.config/ridge/tuned; it is no error
 * if that does not exist. RIDGE_NOT_FOUND, RIDGE_CORRUPT: the context keeps what it had. */
RIDGE_API ridge_status ridge_context_use_tuned(ridge_context *context, const char *path, ridge_error *error);

/* The way by which the last call on this context ran, as `ridge list` names it: "rows_warp". NULL: the variant has no
 * ways, or the call failed or had nothing to do. */
RIDGE_API const char *ridge_context_last_way(const ridge_context *context);

/* Runs a target. Tensors come in the order of the target's descriptor. variant NULL: the optimized variant for the
 * tensors' device. A name with a way, "cuda/optimized:rows_warp", runs that way alone. options: RIDGE_MAX_OPTIONS
 * finite numbers in the order of target->options; NULL: the defaults.
 *
 * Errors. Every call validates its arguments before it reads or writes tensor data: pointers, shapes, strides, types,
 * devices, element alignment, overlap, options. RIDGE_INVALID: an argument is malformed, or two arguments do not match.
 * RIDGE_UNSUPPORTED: no variant runs on this device or accepts this type, or the named way refuses these tensors.
 * RIDGE_NOT_FOUND: unknown target, variant or way.
 * RIDGE_NO_MEMORY: no memory for scratch or plan. RIDGE_FAILED: CUDA rejected an operation. `error` (may be NULL) names
 * the tensor and the fault. ridge cannot check that the memory exists: `data` must hold all elements that shape and
 * strides describe.
 *
 * Shapes. Row-wise inputs and outputs begin with the target's first dimension, the rows. Any number of leading
 * dimensions may take its place; they must be the same in each such tensor. x [2, 3, cols] has six rows, x [cols] has
 * one. A tensor has at most RIDGE_MAX_TENSOR_RANK dimensions. The number of rows may be 0. An empty tensor may have
 * NULL data and any strides.
 *
 * Strides. Row-major: the last dimension is contiguous, and each other stride is at least the span of the dimensions
 * below it. Leading dimensions must fold into rows with one stride. Strides of dimensions with extent 1 are ignored. A
 * matrix may be column-major (strides {1, >= rows}) if its tensor spec sets takes_column_major.
 *
 * Types. The types of the target's cases on that device. Labels and indices may be i32 or i64.
 *
 * Aliasing. Inputs may overlap each other. An output must not share an element with another output or with an input.
 * Exception: where the target works in place, an output may be an input itself (same address, shape, strides and type).
 * The results are then bit-identical to those of an out-of-place call with the same alignment. In-place operations:
 *     ridge_l2norm, ridge_softmax, ridge_layer_norm_gelu, ridge_rms_norm_silu   y may be x
 *     ridge_layer_norm, ridge_rms_norm, ridge_l2_norm                          y may be x
 *     ridge_scaled_softmax; ridge_masked_softmax                               y may be x; and mask
 *     ridge_add_layer_norm, ridge_add_rms_norm                                 y and sum may be x and residual
 *     targets vertical_fusion, compute_bound: y may be x; memory_bound: y may be x or z
 * Interleaved views that share no element, such as columns 0 to 3 and 4 to 7 of one matrix, are accepted if their row
 * strides are equal. If the row strides differ, the address ranges must not overlap.
 *
 * Special values. What NaN, infinities and overflow in the inputs give is the same on every backend. It is PyTorch's
 * result, except where this table says otherwise. Arithmetic is fp32; a result beyond the stored type is an infinity,
 * and one below 2^-125 may be 0.
 *     ReLU, clamp              NaN stays.
 *     GELU, its tanh, SiLU     inf gives inf, -inf gives NaN (-inf times 0).
 *     l2norm, l2_norm,         NaN in a row: the row is NaN. Infinity in a row: its own place is NaN, finite elements
 *     rms_norm, rms_norm_silu  give 0.
 *     layer_norm (all)         NaN or infinity in a row: the row is NaN.
 *     norms: overflow          A finite row whose sum or squares overflow is scaled first: the result is that of exact
 *                              arithmetic. (PyTorch: 0 or NaN.) Equal elements give beta.
 *     norms: gamma, beta       An infinite gamma makes of a normalized value an infinity of its sign, and NaN of 0.
 *                              Where rounding decides on sign or 0 (within the bound of 0, or subnormal) it is NaN or
 *                              either infinity; after ReLU 0, too. NaN in gamma or beta stays in its column.
 *     add_layer_norm,          x + residual that overflows its type is an infinity in sum, and the norm's row has it.
 *     add_rms_norm
 *     softmax (all)            NaN or inf in a row, or nothing but -inf: the row is NaN. Another -inf gives 0, its
 *                              logarithm -inf. Columns that a causal row does not see are 0 (-inf) in a NaN row, too.
 *     linear_softmax,          Softmax of the logits; a logit with NaN, inf - inf or 0 inf among its terms is NaN.
 *     multihead_linear_softmax
 *     linear_cross_entropy     A row with a NaN logit, or whose largest logit is infinite, has lse and loss NaN. (In
 *     (all)                    PyTorch logsumexp may be infinite.) Another logit of -inf counts nothing. Ignored rows
 *                              have loss 0 and slope 0 whatever their logits are; in dw and dx 0 times an infinity of
 *                              x or w is NaN.
 *
 * Graph capture. The first call with a shape allocates scratch memory and creates the plan; the context keeps both.
 * Neither is possible during stream capture, so call once with the same shape before capture begins. Scratch memory that a
 * captured call uses stays until the context is destroyed, whatever later calls need. */
RIDGE_API ridge_status ridge_apply(ridge_context *context, const char *target, const char *variant, const DLTensor *in,
                                   int n_in, const DLTensor *out, int n_out, const double *options, ridge_error *error);

/* The arguments of ridge_apply in a structure. Bindings keep it for calls that differ in addresses, and pass one pointer:
 * Python's ctypes pays for each argument of each call. */
typedef struct ridge_packed_call {
    ridge_context *context;
    const char *target, *variant;
    const DLTensor *in, *out;
    const double *options;
    ridge_error *error;
    int n_in, n_out;
} ridge_packed_call;
RIDGE_API ridge_status ridge_apply_packed(const ridge_packed_call *call);

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
/* ---- quantizers: NaN, infinities and scales of tensors as targets/quantize_…/README.md say -------------------------- */

/* q = e4m3(x 448 / a), s = a / 448, a the largest magnitude of each 128 columns
 *     x: [rows, cols], f32, bf16 (GPU: f16 as well)      q: [rows, cols], e4m3      s: [rows, ceil(cols / 128)], f32 */
RIDGE_API ridge_status ridge_quantize_fp8_blocks(ridge_context *context, const DLTensor *x, const DLTensor *q,
                                                 const DLTensor *s, ridge_error *error);
/* NVFP4: x is about tensor_scale s q, with a scale for each 16 columns. cols is a multiple of 16.
 *     x: [rows, cols], as above      tensor_scale: [1], f32, amax / 2688      q: [rows, cols], e2m1, or bytes of pairs
 *     s: [ceil(rows / 128), 512 ceil(cols / 64)], ue4m3 (e4m3 or bytes), in tiles of 128 rows and 4 blocks */
RIDGE_API ridge_status ridge_quantize_nvfp4(ridge_context *context, const DLTensor *x, const DLTensor *tensor_scale,
                                            const DLTensor *q, const DLTensor *s, ridge_error *error);

/* MXFP8: x is about s q, with a power of two for each 32 columns. cols is a multiple of 32.
 *     x: [rows, cols], as above      q: [rows, cols], e4m3 (or bytes) or e5m2, which its type chooses
 *     s: [ceil(rows / 128), 512 ceil(cols / 128)], ue8m0 (or bytes), in tiles of 128 rows and 4 blocks */
RIDGE_API ridge_status ridge_quantize_mxfp8(ridge_context *context, const DLTensor *x, const DLTensor *q,
                                            const DLTensor *s, ridge_error *error);
/* MXFP4, likewise.      q: [rows, cols], e2m1, or bytes of pairs */
RIDGE_API ridge_status ridge_quantize_mxfp4(ridge_context *context, const DLTensor *x, const DLTensor *q,
                                            const DLTensor *s, ridge_error *error);

/* C = (a_scale a) (b_scale b)^T: sums of 128 of K, times their scales, added in fp32
 *     a: [m, k], b: [n, k], e4m3      c: [m, n], f32 or bf16      scales: f32, [1, 1] each, or [m or ceil(m / 128),
 *     ceil(k / 128)] and [n or ceil(n / 128), ceil(k / 128)] */
RIDGE_API ridge_status ridge_fp8_gemm(ridge_context *context, const DLTensor *a, const DLTensor *a_scale,
                                      const DLTensor *b, const DLTensor *b_scale, const DLTensor *c,
                                      ridge_error *error);

/* C = (a_scale A) (b_scale B)^T: sums of integers, exact, then times a row's and a column's scale in fp32
 *     a: [m, k], b: [n, k], i8, k at most 131071      a_scale: [m], b_scale: [n], f32      c: [m, n], f32 or bf16 */
RIDGE_API ridge_status ridge_int8_gemm(ridge_context *context, const DLTensor *a, const DLTensor *a_scale,
                                       const DLTensor *b, const DLTensor *b_scale, const DLTensor *c,
                                       ridge_error *error);

/* c = tensor_scale x w^T of w in NVFP4, as quantize_nvfp4 makes q and s: x and c f32, on a GPU bf16 and f16
 *     x: [m, k], k a multiple of 16      q: [n, k], e2m1      s: [ceil(n / 128), 512 ceil(k / 64)], e4m3      c: [m, n]
 *     tensor_scale: [1], f32 */
RIDGE_API ridge_status ridge_nvfp4_gemm(ridge_context *context, const DLTensor *x, const DLTensor *q, const DLTensor *s,
                                        const DLTensor *tensor_scale, const DLTensor *c, ridge_error *error);

/* c = a_tensor_scale b_tensor_scale a b^T of a and b in NVFP4, as quantize_nvfp4 makes them: c f32, on a GPU bf16 and f16
 *     a: [m, k], b: [n, k], e2m1, k a multiple of 16      c: [m, n]      tensor scales: [1], f32
 *     a_scale: [ceil(m / 128), 512 ceil(k / 64)], e4m3, and b_scale likewise of n */
RIDGE_API ridge_status ridge_nvfp4_scaled_gemm(ridge_context *context, const DLTensor *a, const DLTensor *a_scale,
                                               const DLTensor *a_tensor_scale, const DLTensor *b,
                                               const DLTensor *b_scale, const DLTensor *b_tensor_scale,
                                               const DLTensor *c, ridge_error *error);

/* c = a b^T of a 2:4 sparse a, of which two of each four columns are kept, as prune_2_4 keeps them: f32, on a GPU bf16 and f16
 *     a: [m, k / 2]      codes: [m, k / 32], i32      b: [n, k]      c: [m, n]      k: a multiple of 32
 * A row whose codes are not of a pattern is NaN. */
RIDGE_API ridge_status ridge_structured_sparsity(ridge_context *context, const DLTensor *a, const DLTensor *codes,
                                                 const DLTensor *b, const DLTensor *c, ridge_error *error);

/* c = a_scale b_scale a b^T of the same in e4m3: f32 or bf16
 *     a: [m, k / 2], e4m3      codes: [m, k / 32], i32      b: [n, k], e4m3      c: [m, n]      scales: [1], f32
 * On Hopper sums stay in the tensor cores, which keep 13 bits of the largest so far. */
RIDGE_API ridge_status ridge_fp8_structured_sparsity(ridge_context *context, const DLTensor *a, const DLTensor *codes,
                                                     const DLTensor *a_scale, const DLTensor *b,
                                                     const DLTensor *b_scale, const DLTensor *c, ridge_error *error);

/* Of each four columns of x the two of the largest magnitudes, and which these are: f32, bf16, e4m3, on a GPU f16
 *     x: [rows, cols], cols a multiple of 32      values: [rows, cols / 2]      codes: [rows, cols / 32], i32
 * A code is 4 bits, the place of the first that is kept and above it that of the second; the first four's is the lowest. */
RIDGE_API ridge_status ridge_prune_2_4(ridge_context *context, const DLTensor *x, const DLTensor *values,
                                       const DLTensor *codes, ridge_error *error);

/* y = (silu(x g^T) (x u^T)) w2^T, w1 = [g; u]: f32, on a GPU bf16 and f16
 *     x: [m, d], w1: [2 f, d], gates before ups      w2: [d, f]      y: [m, d] */
RIDGE_API ridge_status ridge_swiglu_ffn(ridge_context *context, const DLTensor *x, const DLTensor *w1,
                                        const DLTensor *w2, const DLTensor *y, ridge_error *error);
/* The same of 2:4 sparse weights, as prune_2_4 makes them: f32 on a CPU, bf16 and f16 on a GPU; d and f multiples of 32
 *     x, y: [m, d]      w1: [2 f, d / 2], w1_codes: [2 f, d / 32], i32      w2: [d, f / 2], w2_codes: [d, f / 32], i32 */
RIDGE_API ridge_status ridge_structured_sparsity_ffn(ridge_context *context, const DLTensor *x, const DLTensor *w1,
                                                     const DLTensor *w1_codes, const DLTensor *w2,
                                                     const DLTensor *w2_codes, const DLTensor *y, ridge_error *error);
/* The same in e4m3, hidden values too, which get a scale for each 128 of a row: y f32, or on a GPU bf16
 *     x: [m, d], w1: [2 f, d], w2: [d, f]      x_scale: [m, ceil(d / 128)], w1_scale: [ceil(2 f / 128), ceil(d / 128)],
 *     w2_scale: [ceil(d / 128), ceil(f / 128)], f32; or all three [1, 1]: for y in bf16 sums of d may then be the tensor cores' */
RIDGE_API ridge_status ridge_fp8_ffn(ridge_context *context, const DLTensor *x, const DLTensor *x_scale,
                                     const DLTensor *w1, const DLTensor *w1_scale, const DLTensor *w2,
                                     const DLTensor *w2_scale, const DLTensor *y, ridge_error *error);
/* The gradients dx, dw1 and dw2 of swiglu_ffn, as x, w1 and w2, from dy and gates = x w1^T: f32, on a GPU bf16 and f16
 *     dx = [dgate dup] w1      dw1 = [dgate dup]^T x      dw2 = dy^T (silu(gate) up)      gates, [gate up]: [m, 2 f]
 *     dgate = dy w2 up silu'(gate)      dup = dy w2 silu(gate)      dy: [m, d] */
RIDGE_API ridge_status ridge_swiglu_ffn_backward(ridge_context *context, const DLTensor *x, const DLTensor *w1,
                                                 const DLTensor *w2, const DLTensor *gates, const DLTensor *dy,
                                                 const DLTensor *dx, const DLTensor *dw1, const DLTensor *dw2,
                                                 ridge_error *error);

/* ---- norms with an activation: x, residual, sum, y: [rows, cols]; gamma, beta: [cols], of x's type or f32 -------- */

/* Values of the option `activation`. */
typedef enum ridge_activation {
    RIDGE_ACTIVATION_NONE,
    RIDGE_ACTIVATION_GELU,
    RIDGE_ACTIVATION_GELU_TANH,
    RIDGE_ACTIVATION_SILU,
    RIDGE_ACTIVATION_RELU
} ridge_activation;
/* eps: from 2^-126 to 2^20. options NULL: 1e-5, none. */
typedef struct ridge_norm_options {
    double eps;
    ridge_activation activation;
} ridge_norm_options;

/* y = activation((x - mean) / sqrt(var + eps) gamma + beta), mean and variance of each row */
RIDGE_API ridge_status ridge_layer_norm(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                        const DLTensor *beta, const ridge_norm_options *options, const DLTensor *y,
                                        ridge_error *error);
/* y = activation(x / max(||x||, eps)); options NULL: 1e-12, none */
RIDGE_API ridge_status ridge_l2_norm(ridge_context *context, const DLTensor *x, const ridge_norm_options *options,
                                     const DLTensor *y, ridge_error *error);
/* y = activation(x / sqrt(mean of x^2 + eps) gamma) */
RIDGE_API ridge_status ridge_rms_norm(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                      const ridge_norm_options *options, const DLTensor *y, ridge_error *error);
/* sum = x + residual, y = the norm of the sum as stored. sum may be x or residual, y the other one. */
RIDGE_API ridge_status ridge_add_layer_norm(ridge_context *context, const DLTensor *x, const DLTensor *residual,
                                            const DLTensor *gamma, const DLTensor *beta,
                                            const ridge_norm_options *options, const DLTensor *y, const DLTensor *sum,
                                            ridge_error *error);
RIDGE_API ridge_status ridge_add_rms_norm(ridge_context *context, const DLTensor *x, const DLTensor *residual,
                                          const DLTensor *gamma, const ridge_norm_options *options, const DLTensor *y,
                                          const DLTensor *sum, ridge_error *error);

/* Gradients of layer norm and RMS norm without an activation, eps as there; n is x normalized, g = dy gamma, means are of each row
 *     dx = (g - mean(g) - n mean(g n)) / sqrt(var + eps) + dsum      of an RMS norm without mean(g)
 *     dgamma = sum over rows of dy n      dbeta = sum over rows of dy      f32
 * dsum: NULL, or what reaches x beside the norm; of add_layer_norm and add_rms_norm, x is their sum. */
RIDGE_API ridge_status ridge_layer_norm_backward(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                                 const DLTensor *dy, const DLTensor *dsum, double eps,
                                                 const DLTensor *dx, const DLTensor *dgamma, const DLTensor *dbeta,
                                                 ridge_error *error);
RIDGE_API ridge_status ridge_rms_norm_backward(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                               const DLTensor *dy, const DLTensor *dsum, double eps, const DLTensor *dx,
                                               const DLTensor *dgamma, ridge_error *error);
/* Gradient of an l2 norm without an activation, eps as there; z = x / max(||x||, eps); all of one type
 *     dx = (dy - z sum(z dy)) / ||x||, or dy / eps where ||x|| <= eps */
RIDGE_API ridge_status ridge_l2_norm_backward(ridge_context *context, const DLTensor *x, const DLTensor *dy, double eps,
                                              const DLTensor *dx, ridge_error *error);

/* ---- forms of softmax: x, mask, y: [rows, cols] of one type -------------------------------------------------- */

/* causal: rows come in groups of so many, the last of which sees all columns, each one before it one less; 0: all do.
 * options NULL: 1, false, 0. */
typedef struct ridge_softmax_options {
    double scale; /* from 2^-20 to 2^20 */
    bool log;     /* the softmax's logarithm */
    int64_t causal;
} ridge_softmax_options;

/* y[i,:] = softmax(scale x[i,:]) */
RIDGE_API ridge_status ridge_scaled_softmax(ridge_context *context, const DLTensor *x,
                                            const ridge_softmax_options *options, const DLTensor *y,
                                            ridge_error *error);
/* y[i,:] = softmax(scale x[i,:] + mask[i,:]); y may be x or mask. causal must be 0. */
RIDGE_API ridge_status ridge_masked_softmax(ridge_context *context, const DLTensor *x, const DLTensor *mask,
                                            const ridge_softmax_options *options, const DLTensor *y,
                                            ridge_error *error);

/* Gradient of these from their result: y = softmax(scale x + …), or log softmax
 *     dx = scale y (dy - sum(y dy))      log: dx = scale (dy - exp(y) sum(dy))      sums of each row; all of one type */
RIDGE_API ridge_status ridge_softmax_backward(ridge_context *context, const DLTensor *y, const DLTensor *dy,
                                              double scale, bool log, const DLTensor *dx, ridge_error *error);

/* ---- matrix products --------------------------------------------------------------------------------------------- */

/* options NULL: 1. */
typedef struct ridge_gemm_options {
    double alpha; /* from -2^20 to 2^20 */
} ridge_gemm_options;

/* c = alpha a b        a: [m, k], b: [k, n], c: [m, n], each row- or column-major; f32, bf16 (GPU: f16 as well), in 16
 *                      bits c may be f32. Sums are in fp32; those of 16-bit operands on a GPU by tensor cores, those of bf16
 *                      on a CPU by vdpbf16ps where it is exact enough and the processor has it. */
RIDGE_API ridge_status ridge_gemm(ridge_context *context, const DLTensor *a, const DLTensor *b,
                                  const ridge_gemm_options *options, const DLTensor *c, ridge_error *error);

/* c[i] = alpha a[i] b[i]          a: [batch, m, k], b: [batch, k, n], c: [batch, m, n], row-major, of one type: f32, on a
 *                                 GPU also bf16 and f16 */
RIDGE_API ridge_status ridge_batched_gemm(ridge_context *context, const DLTensor *a, const DLTensor *b,
                                          const ridge_gemm_options *options, const DLTensor *c, ridge_error *error);

/* c[i,:] = alpha a[i,:] b[g] for the rows i of group g: from ends[g - 1] (0 for the first) to below ends[g].
 *                                 a: [m, k], b: [groups, k, n], ends: i32 [groups], where a is, c: [m, n], row-major, a, b
 *                                 and c of one type: f32, on a GPU also bf16 and f16. An end before that of the group
 *                                 before, or beyond m, counts as the nearest allowed. Rows behind the last end are zero. */
RIDGE_API ridge_status ridge_grouped_gemm(ridge_context *context, const DLTensor *a, const DLTensor *b,
                                          const DLTensor *ends, const ridge_gemm_options *options, const DLTensor *c,
                                          ridge_error *error);

/* Values of the activation of ridge_gemm_epilogue: ridge_activation's, and one more. */
enum { RIDGE_ACTIVATION_RELU_SQUARED = RIDGE_ACTIVATION_RELU + 1 };
/* options NULL: 1, 1, none. beta: as alpha. */
typedef struct ridge_gemm_epilogue_options {
    double alpha, beta;
    int activation;
} ridge_gemm_epilogue_options;

/* d = activation(alpha a b + beta c + bias + row_bias)     a, b, d: as a, b, c of ridge_gemm, bf16 on a GPU;
 *                                                          c: of d's shape and type;
 *                                                          bias: [n], row_bias: [m], of a's type. c, bias and
 *                                                          row_bias may be NULL: not there. */
RIDGE_API ridge_status ridge_gemm_epilogue(ridge_context *context, const DLTensor *a, const DLTensor *b,
                                           const DLTensor *c, const DLTensor *bias, const DLTensor *row_bias,
                                           const ridge_gemm_epilogue_options *options, const DLTensor *d,
                                           ridge_error *error);
/* y = gelu(layer_norm(x w + b) gamma + beta)    x: [m, k] row-major, w: [k, n] row- or column-major, b, gamma, beta: [n],
 *                                               y: [m, n] row-major, of one type: f32, on a GPU also bf16 and f16. eps is
 *                                               1e-5. A row of x w + b with NaN or an infinity is NaN. */
RIDGE_API ridge_status ridge_linear_norm_activation(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                    const DLTensor *b, const DLTensor *gamma, const DLTensor *beta,
                                                    const DLTensor *y, ridge_error *error);
/* ---- attention ------------------------------------------------------------------------------------------------- */

/* scale: of q k^T, from -2^20 to 2^20; 0: 1 / sqrt(d). causal: query i sees keys up to i + n - m, so that the last query
 * sees all. left, right: of keys, how far on either side of i + n - m it sees; -1: all. softcap: scores are softcap
 * tanh(score / softcap); 0: as they are. sink: NULL, or f32 [heads]: a score more in each row's sum, without a value.
 * slope: NULL, or f32 [heads]: a score loses slope times its distance (ALiBi). */
typedef struct ridge_attention_options {
    double scale;
    bool causal;
    int64_t left, right;
    double softcap;
    const DLTensor *sink, *slope;
} ridge_attention_options;
#define RIDGE_ATTENTION_DEFAULTS \
    { .left = -1, .right = -1 } /* used when options is NULL */

/* out = softmax(q k^T) v for each batch and head, and lse, the natural logarithm of each row's sum of exponentials.
 *
 * Shapes: q [batch, heads, m, d], k [batch, kv_heads, n, d], v [batch, kv_heads, n, dv], out [batch, heads, m, dv], lse f32
 * [batch, heads, m]. heads is a multiple of kv_heads: neighbouring heads share keys. The last dimension is contiguous,
 * the others may lie in any order: [batch, rows, heads, …] and q, k and v in one array are only strides.
 * Types: f32 on a CPU; bf16 and f16 on a GPU, d and dv to 256.
 * A query that sees no key has out 0 and lse -inf, or its sink. Infinity and NaN in v reach only rows of the tiles that
 * see them. */
RIDGE_API ridge_status ridge_attention(ridge_context *context, const DLTensor *q, const DLTensor *k, const DLTensor *v,
                                       const ridge_attention_options *options, const DLTensor *out, const DLTensor *lse,
                                       ridge_error *error);

/* The same of sequences of different lengths, one behind the other: query i sees keys of its own sequence alone, whose last query and
 * last key belong together.
 *
 * Shapes: q [m, heads, d], k [n, kv_heads, d], v [n, kv_heads, dv], out [m, heads, dv], lse f32 [heads, m]; q_ends and k_ends, i32
 * [sequences]: sequence s has the queries from q_ends[s - 1] to below q_ends[s], and keys likewise; the first one begins at 0. A
 * length may be 0. Ends do not decrease: else results are of no use, but nothing beside out and lse is written. Queries behind the
 * last end see no key. On a GPU ends are read on the stream. */
RIDGE_API ridge_status ridge_attention_varlen(ridge_context *context, const DLTensor *q, const DLTensor *k,
                                              const DLTensor *v, const DLTensor *q_ends, const DLTensor *k_ends,
                                              const ridge_attention_options *options, const DLTensor *out,
                                              const DLTensor *lse, ridge_error *error);

/* The same over a cache of keys and values in pages: the m queries of a sequence are the last of its keys.
 *
 * Shapes: q [batch, heads, m, d], k and v [pages, page, kv_heads, d], table, i32 or i64 [batch, blocks], lengths, i32 or i64
 * [batch], out [batch, heads, m, d], lse f32 [batch, heads, m]. Sequence b has lengths[b] keys, no more than blocks times page; its
 * key j is row j % page of page table[b, j / page]. Entries of pages behind the last key may be anything, and so may rows of k
 * and v that are no keys. A length may be 0. Other entries that are no page give results of no use, but nothing outside is read or
 * written. Dimensions of q, k, v and out but the last may lie in any order. On a GPU table and lengths are read on the stream. */
RIDGE_API ridge_status ridge_attention_paged(ridge_context *context, const DLTensor *q, const DLTensor *k,
                                             const DLTensor *v, const DLTensor *table, const DLTensor *lengths,
                                             const ridge_attention_options *options, const DLTensor *out,
                                             const DLTensor *lse, ridge_error *error);

/* The same of codes in e4m3, which are multiplied by scales of their heads: out f32 on a CPU, bf16 or f16 on a GPU. Exponentials
 * are rounded to e4m3, too, on compute capability 9.0.
 *
 * Shapes: as of ridge_attention; q_scale, f32 [batch, heads], k_scale and v_scale, f32 [batch, kv_heads]. */
RIDGE_API ridge_status ridge_fp8_attention(ridge_context *context, const DLTensor *q, const DLTensor *q_scale,
                                           const DLTensor *k, const DLTensor *k_scale, const DLTensor *v,
                                           const DLTensor *v_scale, const ridge_attention_options *options,
                                           const DLTensor *out, const DLTensor *lse, ridge_error *error);

/* What a call of ridge_attention took and gave. */
typedef struct ridge_attention_saved {
    const DLTensor *q, *k, *v, *out, *lse;
} ridge_attention_saved;

/* Gradients of what depends on out, from dout, its gradient with respect to out: dq, dk and dv, shaped and typed as q, k and
 * v, and dsink, f32 [heads], which may be NULL without sinks. Options are those of the call that made out and lse. The same
 * bits each time. A query that sees no key has dq 0 and adds nothing. An infinity or NaN reaches rows that share a tile. */
RIDGE_API ridge_status ridge_attention_backward(ridge_context *context, const ridge_attention_saved *saved,
                                                const DLTensor *dout, const ridge_attention_options *options,
                                                const DLTensor *dq, const DLTensor *dk, const DLTensor *dv,
                                                const DLTensor *dsink, ridge_error *error);

/* ---- linear layers ---------------------------------------------------------------------------------------------- */

/* probs = softmax(x w + b)         x: [batch, depth], w: [depth, classes] row- or column-major, b: [classes];
 *                                  all f32, on a GPU also bf16 or f16 */
RIDGE_API ridge_status ridge_linear_softmax(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                            const DLTensor *b, const DLTensor *probs, ridge_error *error);
/* probs[i,h,:] = softmax(x[i,:] w[h] + b[h])       w: [heads, depth, classes], b: [heads, classes],
 *                                                 probs: [batch, heads, classes]; types as above */
RIDGE_API ridge_status ridge_multihead_linear_softmax(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                      const DLTensor *b, const DLTensor *probs, ridge_error *error);

/* Cross-entropy of softmax(x w^T + b). The logits are never stored in memory.
 *
 *     loss_i = (1 - s) (lse_i - z_i,label) + s (lse_i - mean of z_i) + z_loss lse_i^2
 *     lse_i  = log(sum of exp(z_i)), z = x w^T + b, s = label_smoothing
 *
 * Shapes and types: x [batch, depth] and w [classes, depth] are f32, on a GPU also bf16 or f16. w and dw are row-major
 * or column-major. b is f32 [classes], labels i32 or i64 [batch], loss and lse f32 [batch].
 *
 * A row whose label is ignore_index or outside [0, classes) is ignored: its loss is 0. The caller reduces the losses.
 * dloss (f32 [batch]) is the gradient of the reduced loss with respect to each row's loss; for a mean it is 1 / (rows
 * not ignored). Scratch memory does not grow with batch x classes. */
typedef struct ridge_cross_entropy_options {
    double ignore_index, label_smoothing, z_loss;
} ridge_cross_entropy_options;
#define RIDGE_CROSS_ENTROPY_DEFAULTS \
    { -100, 0, 0 } /* used when options is NULL */

RIDGE_API ridge_status ridge_linear_cross_entropy(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                  const DLTensor *b, const DLTensor *labels,
                                                  const ridge_cross_entropy_options *options, const DLTensor *loss,
                                                  const DLTensor *lse, ridge_error *error);
/* Gradients from the lse of the forward call. dx and dw have the shape and type of x and w; db is f32 [classes].
 * Ignored rows contribute nothing. */
RIDGE_API ridge_status ridge_linear_cross_entropy_backward(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                           const DLTensor *b, const DLTensor *labels,
                                                           const DLTensor *lse, const DLTensor *dloss,
                                                           const ridge_cross_entropy_options *options,
                                                           const DLTensor *dx, const DLTensor *dw, const DLTensor *db,
                                                           ridge_error *error);
/* Forward and backward in one call, for callers that know dloss before the losses, as in training. */
RIDGE_API ridge_status ridge_linear_cross_entropy_grad(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                       const DLTensor *b, const DLTensor *labels, const DLTensor *dloss,
                                                       const ridge_cross_entropy_options *options, const DLTensor *loss,
                                                       const DLTensor *lse, const DLTensor *dx, const DLTensor *dw,
                                                       const DLTensor *db, ridge_error *error);

#ifdef __cplusplus
}
#endif
#endif

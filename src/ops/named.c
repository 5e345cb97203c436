/* The named operations: each passes its tensors to ridge_apply in the order of its target. */
#include <string.h>

#include "ridge/ops.h"

static const char *name_of(const char *name, int i, int n_in) {
    const ridge_target *target = ridge_target_find(name);
    if (!target) return "a tensor";
    return i < n_in ? target->in[i].name : target->out[i - n_in].name;
}

/* ridge_apply on tensors given by address. A NULL address is RIDGE_INVALID. */
static ridge_status apply(ridge_context *context, const char *name, const DLTensor *const *in, int n_in,
                          const DLTensor *const *out, int n_out, const double *options, ridge_error *error) {
    DLTensor ins[RIDGE_MAX_INPUTS], outs[RIDGE_MAX_OUTPUTS];
    for (int i = 0; i < n_in + n_out; i++) {
        const DLTensor *t = i < n_in ? in[i] : out[i - n_in];
        if (!t) return ridge_fail(error, RIDGE_INVALID, "%s: %s is NULL", name, name_of(name, i, n_in));
        *(i < n_in ? &ins[i] : &outs[i - n_in]) = *t;
    }
    return ridge_apply(context, name, NULL, ins, n_in, outs, n_out, options, error);
}

ridge_status ridge_l2norm(ridge_context *context, const DLTensor *x, const DLTensor *y, ridge_error *error) {
    return apply(context, "fused_l2norm", &x, 1, &y, 1, NULL, error);
}

ridge_status ridge_softmax(ridge_context *context, const DLTensor *x, const DLTensor *y, ridge_error *error) {
    return apply(context, "online_softmax", &x, 1, &y, 1, NULL, error);
}

ridge_status ridge_layer_norm_gelu(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                   const DLTensor *beta, const DLTensor *y, ridge_error *error) {
    const DLTensor *const in[] = {x, gamma, beta};
    return apply(context, "norm_activation", in, 3, &y, 1, NULL, error);
}

ridge_status ridge_rms_norm_silu(ridge_context *context, const DLTensor *x, const DLTensor *gamma, const DLTensor *y,
                                 ridge_error *error) {
    const DLTensor *const in[] = {x, gamma};
    return apply(context, "norm_activation_rms", in, 2, &y, 1, NULL, error);
}

ridge_status ridge_quantize_fp8_blocks(ridge_context *context, const DLTensor *x, const DLTensor *q, const DLTensor *s,
                                       ridge_error *error) {
    const DLTensor *const out[] = {q, s};
    return apply(context, "quantize_fp8_blocks", &x, 1, out, 2, NULL, error);
}

ridge_status ridge_quantize_nvfp4(ridge_context *context, const DLTensor *x, const DLTensor *tensor_scale,
                                  const DLTensor *q, const DLTensor *s, ridge_error *error) {
    const DLTensor *const in[] = {x, tensor_scale}, *const out[] = {q, s};
    return apply(context, "quantize_nvfp4", in, 2, out, 2, NULL, error);
}

/* The type of q names the target; bytes are e4m3. */
ridge_status ridge_quantize_mxfp8(ridge_context *context, const DLTensor *x, const DLTensor *q, const DLTensor *s,
                                  ridge_error *error) {
    const DLTensor *const out[] = {q, s};
    const bool e5m2 = q && q->dtype.code == ridge_dtype_to_dlpack(RIDGE_E5M2).code;
    return apply(context, e5m2 ? "quantize_mxfp8_e5m2" : "quantize_mxfp8", &x, 1, out, 2, NULL, error);
}

ridge_status ridge_quantize_mxfp4(ridge_context *context, const DLTensor *x, const DLTensor *q, const DLTensor *s,
                                  ridge_error *error) {
    const DLTensor *const out[] = {q, s};
    return apply(context, "quantize_mxfp4", &x, 1, out, 2, NULL, error);
}

ridge_status ridge_fp8_gemm(ridge_context *context, const DLTensor *a, const DLTensor *a_scale, const DLTensor *b,
                            const DLTensor *b_scale, const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {a, a_scale, b, b_scale};
    return apply(context, "fp8_gemm", in, 4, &c, 1, NULL, error);
}

ridge_status ridge_int8_gemm(ridge_context *context, const DLTensor *a, const DLTensor *a_scale, const DLTensor *b,
                             const DLTensor *b_scale, const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {a, a_scale, b, b_scale};
    return apply(context, "int8_gemm", in, 4, &c, 1, NULL, error);
}

ridge_status ridge_nvfp4_gemm(ridge_context *context, const DLTensor *x, const DLTensor *q, const DLTensor *s,
                              const DLTensor *tensor_scale, const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {x, q, s, tensor_scale};
    return apply(context, "nvfp4_gemm", in, 4, &c, 1, NULL, error);
}

ridge_status ridge_nvfp4_scaled_gemm(ridge_context *context, const DLTensor *a, const DLTensor *a_scale,
                                     const DLTensor *a_tensor_scale, const DLTensor *b, const DLTensor *b_scale,
                                     const DLTensor *b_tensor_scale, const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {a, a_scale, a_tensor_scale, b, b_scale, b_tensor_scale};
    return apply(context, "nvfp4_scaled_gemm", in, 6, &c, 1, NULL, error);
}

ridge_status ridge_structured_sparsity(ridge_context *context, const DLTensor *a, const DLTensor *codes,
                                       const DLTensor *b, const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {a, codes, b};
    return apply(context, "structured_sparsity", in, 3, &c, 1, NULL, error);
}

ridge_status ridge_fp8_structured_sparsity(ridge_context *context, const DLTensor *a, const DLTensor *codes,
                                           const DLTensor *a_scale, const DLTensor *b, const DLTensor *b_scale,
                                           const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {a, codes, a_scale, b, b_scale};
    return apply(context, "fp8_structured_sparsity", in, 5, &c, 1, NULL, error);
}

ridge_status ridge_prune_2_4(ridge_context *context, const DLTensor *x, const DLTensor *values, const DLTensor *codes,
                             ridge_error *error) {
    const DLTensor *const out[] = {values, codes};
    return apply(context, "prune_2_4", &x, 1, out, 2, NULL, error);
}

ridge_status ridge_swiglu_ffn(ridge_context *context, const DLTensor *x, const DLTensor *w1, const DLTensor *w2,
                              const DLTensor *y, ridge_error *error) {
    const DLTensor *const in[] = {x, w1, w2};
    return apply(context, "swiglu_ffn", in, 3, &y, 1, NULL, error);
}

ridge_status ridge_structured_sparsity_ffn(ridge_context *context, const DLTensor *x, const DLTensor *w1,
                                           const DLTensor *w1_codes, const DLTensor *w2, const DLTensor *w2_codes,
                                           const DLTensor *y, ridge_error *error) {
    const DLTensor *const in[] = {x, w1, w1_codes, w2, w2_codes};
    return apply(context, "structured_sparsity_ffn", in, 5, &y, 1, NULL, error);
}

ridge_status ridge_fp8_ffn(ridge_context *context, const DLTensor *x, const DLTensor *x_scale, const DLTensor *w1,
                           const DLTensor *w1_scale, const DLTensor *w2, const DLTensor *w2_scale, const DLTensor *y,
                           ridge_error *error) {
    const DLTensor *const in[] = {x, x_scale, w1, w1_scale, w2, w2_scale};
    return apply(context, "fp8_ffn", in, 6, &y, 1, NULL, error);
}

ridge_status ridge_swiglu_ffn_backward(ridge_context *context, const DLTensor *x, const DLTensor *w1,
                                       const DLTensor *w2, const DLTensor *gates, const DLTensor *dy,
                                       const DLTensor *dx, const DLTensor *dw1, const DLTensor *dw2,
                                       ridge_error *error) {
    const DLTensor *const in[] = {x, w1, w2, gates, dy}, *const out[] = {dx, dw1, dw2};
    return apply(context, "swiglu_ffn_backward", in, 5, out, 3, NULL, error);
}

/* In the order of the targets' options. */
typedef struct option_values {
    double value[RIDGE_MAX_OPTIONS];
} option_values;

static option_values norm_values(const ridge_norm_options *options) {
    static const ridge_norm_options defaults = {1e-5, RIDGE_ACTIVATION_NONE};
    const ridge_norm_options *o = options ? options : &defaults;
    return (option_values){{o->eps, o->activation}};
}

ridge_status ridge_layer_norm(ridge_context *context, const DLTensor *x, const DLTensor *gamma, const DLTensor *beta,
                              const ridge_norm_options *options, const DLTensor *y, ridge_error *error) {
    const DLTensor *const in[] = {x, gamma, beta};
    return apply(context, "layer_norm", in, 3, &y, 1, norm_values(options).value, error);
}

ridge_status ridge_rms_norm(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                            const ridge_norm_options *options, const DLTensor *y, ridge_error *error) {
    const DLTensor *const in[] = {x, gamma};
    return apply(context, "rms_norm", in, 2, &y, 1, norm_values(options).value, error);
}

ridge_status ridge_l2_norm(ridge_context *context, const DLTensor *x, const ridge_norm_options *options,
                           const DLTensor *y, ridge_error *error) {
    static const ridge_norm_options defaults = {1e-12, RIDGE_ACTIVATION_NONE};
    return apply(context, "l2_norm", &x, 1, &y, 1, norm_values(options ? options : &defaults).value, error);
}

ridge_status ridge_add_layer_norm(ridge_context *context, const DLTensor *x, const DLTensor *residual,
                                  const DLTensor *gamma, const DLTensor *beta, const ridge_norm_options *options,
                                  const DLTensor *y, const DLTensor *sum, ridge_error *error) {
    const DLTensor *const in[] = {x, residual, gamma, beta}, *const out[] = {y, sum};
    return apply(context, "add_layer_norm", in, 4, out, 2, norm_values(options).value, error);
}

ridge_status ridge_add_rms_norm(ridge_context *context, const DLTensor *x, const DLTensor *residual,
                                const DLTensor *gamma, const ridge_norm_options *options, const DLTensor *y,
                                const DLTensor *sum, ridge_error *error) {
    const DLTensor *const in[] = {x, residual, gamma}, *const out[] = {y, sum};
    return apply(context, "add_rms_norm", in, 3, out, 2, norm_values(options).value, error);
}

/* What an operation has for an input that is not given. */
static const DLTensor nothing;

ridge_status ridge_rms_norm_backward(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                     const DLTensor *dy, const DLTensor *dsum, double eps, const DLTensor *dx,
                                     const DLTensor *dgamma, ridge_error *error) {
    const DLTensor *const in[] = {x, gamma, dy, dsum ? dsum : &nothing}, *const out[] = {dx, dgamma};
    return apply(context, "rms_norm_backward", in, 4, out, 2, (option_values){{eps}}.value, error);
}

ridge_status ridge_layer_norm_backward(ridge_context *context, const DLTensor *x, const DLTensor *gamma,
                                       const DLTensor *dy, const DLTensor *dsum, double eps, const DLTensor *dx,
                                       const DLTensor *dgamma, const DLTensor *dbeta, ridge_error *error) {
    const DLTensor *const in[] = {x, gamma, dy, dsum ? dsum : &nothing}, *const out[] = {dx, dgamma, dbeta};
    return apply(context, "layer_norm_backward", in, 4, out, 3, (option_values){{eps}}.value, error);
}

ridge_status ridge_l2_norm_backward(ridge_context *context, const DLTensor *x, const DLTensor *dy, double eps,
                                    const DLTensor *dx, ridge_error *error) {
    const DLTensor *const in[] = {x, dy};
    return apply(context, "l2_norm_backward", in, 2, &dx, 1, (option_values){{eps}}.value, error);
}

static const ridge_softmax_options plain_softmax = {.scale = 1};

ridge_status ridge_scaled_softmax(ridge_context *context, const DLTensor *x, const ridge_softmax_options *options,
                                  const DLTensor *y, ridge_error *error) {
    const ridge_softmax_options *o = options ? options : &plain_softmax;
    const double values[RIDGE_MAX_OPTIONS] = {o->scale, o->log, (double)o->causal};
    return apply(context, "scaled_softmax", &x, 1, &y, 1, values, error);
}

ridge_status ridge_masked_softmax(ridge_context *context, const DLTensor *x, const DLTensor *mask,
                                  const ridge_softmax_options *options, const DLTensor *y, ridge_error *error) {
    const ridge_softmax_options *o = options ? options : &plain_softmax;
    const double values[RIDGE_MAX_OPTIONS] = {o->scale, o->log};
    const DLTensor *const in[] = {x, mask};
    if (o->causal != 0) return ridge_fail(error, RIDGE_INVALID, "masked_softmax: causal must be 0: the mask says it");
    return apply(context, "masked_softmax", in, 2, &y, 1, values, error);
}

ridge_status ridge_softmax_backward(ridge_context *context, const DLTensor *y, const DLTensor *dy, double scale,
                                    bool log, const DLTensor *dx, ridge_error *error) {
    const DLTensor *const in[] = {y, dy};
    return apply(context, "softmax_backward", in, 2, &dx, 1, (option_values){{scale, log}}.value, error);
}

ridge_status ridge_gemm(ridge_context *context, const DLTensor *a, const DLTensor *b, const ridge_gemm_options *options,
                        const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {a, b};
    const double values[RIDGE_MAX_OPTIONS] = {options ? options->alpha : 1};
    return apply(context, "gemm", in, 2, &c, 1, values, error);
}

ridge_status ridge_batched_gemm(ridge_context *context, const DLTensor *a, const DLTensor *b,
                                const ridge_gemm_options *options, const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {a, b};
    const double values[RIDGE_MAX_OPTIONS] = {options ? options->alpha : 1};
    return apply(context, "batched_gemm", in, 2, &c, 1, values, error);
}

ridge_status ridge_grouped_gemm(ridge_context *context, const DLTensor *a, const DLTensor *b, const DLTensor *ends,
                                const ridge_gemm_options *options, const DLTensor *c, ridge_error *error) {
    const DLTensor *const in[] = {a, b, ends};
    const double values[RIDGE_MAX_OPTIONS] = {options ? options->alpha : 1};
    return apply(context, "grouped_gemm", in, 3, &c, 1, values, error);
}

/* A tensor [batch, heads, rows, …] as the target has it: [rows, batch, heads, …]. Points to its own shape and strides. */
typedef struct rows_first {
    DLTensor t;
    int64_t shape[RIDGE_MAX_TENSOR_RANK], strides[RIDGE_MAX_TENSOR_RANK];
} rows_first;

static ridge_status turn(const char *target, const DLTensor *t, const char *name, rows_first *turned,
                         ridge_error *error) {
    static const int from[] = {2, 0, 1, 3};
    const int rank = strcmp(name, "lse") == 0 ? 3 : 4;
    int64_t dense[RIDGE_MAX_TENSOR_RANK], below = 1;
    if (!t) return ridge_fail(error, RIDGE_INVALID, "%s: %s is NULL", target, name);
    if (t->ndim != rank || !t->shape)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s has %d dimensions, not %d: [batch, heads, rows%s]", target,
                          name, t->ndim, rank, rank > 3 ? ", depth" : "");
    for (int d = rank - 1; d >= 0; d--) {
        dense[d] = below;
        if (__builtin_mul_overflow(below, t->shape[d], &below))
            return ridge_fail(error, RIDGE_INVALID, "%s: %s has more elements than the address space holds", target,
                              name);
    }
    turned->t = *t;
    for (int d = 0; d < rank; d++) {
        turned->shape[d] = t->shape[from[d]];
        turned->strides[d] = t->strides ? t->strides[from[d]] : dense[from[d]];
    }
    turned->t.shape = turned->shape, turned->t.strides = turned->strides;
    return RIDGE_OK;
}

/* Of [rows, heads, depth], or the lse [heads, rows], as of one batch. */
static ridge_status turn_packed(const char *target, const DLTensor *t, const char *name, rows_first *turned,
                                ridge_error *error) {
    static const int to[2][3] = {{2, 1, 3}, {1, 2}}; /* places in [batch, heads, rows, depth] */
    const bool is_lse = strcmp(name, "lse") == 0;
    const int rank = is_lse ? 2 : 3;
    int64_t shape[4] = {1, 0, 0, 0}, strides[4] = {1, 0, 0, 0}, below = 1;
    if (!t) return ridge_fail(error, RIDGE_INVALID, "%s: %s is NULL", target, name);
    if (t->ndim != rank || !t->shape)
        return ridge_fail(error, RIDGE_INVALID, "%s: %s has %d dimensions, not %d: %s", target, name, t->ndim, rank,
                          is_lse ? "[heads, rows]" : "[rows, heads, depth]");
    for (int d = rank - 1; d >= 0; d--) {
        shape[to[is_lse][d]] = t->shape[d], strides[to[is_lse][d]] = t->strides ? t->strides[d] : below;
        (void)__builtin_mul_overflow(below, t->shape[d], &below); /* turn() refuses what overflows */
    }
    DLTensor whole = *t;
    whole.ndim = rank + 1, whole.shape = shape, whole.strides = strides;
    return turn(target, &whole, name, turned, error);
}

/* A call of attention or of its gradients: tensors of heads, in order, and options. */
typedef struct attention_call {
    const char *target;
    const DLTensor *const *tensor;
    const char *const *name;
    int n_in, n_out;      /* of tensors */
    const DLTensor *more; /* an output behind them; NULL: none */
    const ridge_attention_options *options;
    bool packed;                   /* sequences one behind the other: tensors have no batch */
    bool paged;                    /* k and v are pages, as the operation has them */
    const DLTensor *const *behind; /* inputs behind sink and slope: where sequences end, or pages and lengths */
    int n_behind;
} attention_call;

static ridge_status turn_one(const attention_call *c, int i, rows_first *turned, ridge_error *error) {
    if (c->paged && (i == 1 || i == 2)) {
        if (!c->tensor[i]) return ridge_fail(error, RIDGE_INVALID, "%s: %s is NULL", c->target, c->name[i]);
        turned->t = *c->tensor[i];
        return RIDGE_OK;
    }
    return (c->packed ? turn_packed : turn)(c->target, c->tensor[i], c->name[i], turned, error);
}

static ridge_status apply_attention(ridge_context *context, const attention_call *c, ridge_error *error) {
    static const ridge_attention_options defaults = RIDGE_ATTENTION_DEFAULTS;
    static const DLTensor absent = {.data = NULL};
    const ridge_attention_options *o = c->options ? c->options : &defaults;
    const double values[RIDGE_MAX_OPTIONS] = {o->scale, o->causal, (double)o->left, (double)o->right, o->softcap};
    rows_first turned[RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS];
    const DLTensor *in[RIDGE_MAX_INPUTS], *out[RIDGE_MAX_OUTPUTS];
    for (int i = 0; i < c->n_in + c->n_out; i++) {
        RIDGE_TRY(turn_one(c, i, &turned[i], error));
        if (i < c->n_in)
            in[i] = &turned[i].t;
        else
            out[i - c->n_in] = &turned[i].t;
    }
    in[c->n_in] = o->sink ? o->sink : &absent, in[c->n_in + 1] = o->slope ? o->slope : &absent;
    for (int i = 0; i < c->n_behind; i++) in[c->n_in + 2 + i] = c->behind[i];
    if (c->more) out[c->n_out] = c->more;
    return apply(context, c->target, in, c->n_in + 2 + c->n_behind, out, c->n_out + (c->more ? 1 : 0), values, error);
}

ridge_status ridge_attention(ridge_context *context, const DLTensor *q, const DLTensor *k, const DLTensor *v,
                             const ridge_attention_options *options, const DLTensor *out, const DLTensor *lse,
                             ridge_error *error) {
    static const char *const name[] = {"q", "k", "v", "out", "lse"};
    const DLTensor *const tensor[] = {q, k, v, out, lse};
    const attention_call c = {
        .target = "attention", .tensor = tensor, .name = name, .n_in = 3, .n_out = 2, .options = options};
    return apply_attention(context, &c, error);
}

ridge_status ridge_attention_varlen(ridge_context *context, const DLTensor *q, const DLTensor *k, const DLTensor *v,
                                    const DLTensor *q_ends, const DLTensor *k_ends,
                                    const ridge_attention_options *options, const DLTensor *out, const DLTensor *lse,
                                    ridge_error *error) {
    static const char *const name[] = {"q", "k", "v", "out", "lse"};
    const DLTensor *const tensor[] = {q, k, v, out, lse}, *const ends[] = {q_ends, k_ends};
    const attention_call c = {.target = "attention_varlen",
                              .tensor = tensor,
                              .name = name,
                              .n_in = 3,
                              .n_out = 2,
                              .options = options,
                              .packed = true,
                              .behind = ends,
                              .n_behind = 2};
    return apply_attention(context, &c, error);
}

ridge_status ridge_attention_paged(ridge_context *context, const DLTensor *q, const DLTensor *k, const DLTensor *v,
                                   const DLTensor *table, const DLTensor *lengths,
                                   const ridge_attention_options *options, const DLTensor *out, const DLTensor *lse,
                                   ridge_error *error) {
    static const char *const name[] = {"q", "k", "v", "out", "lse"};
    const DLTensor *const tensor[] = {q, k, v, out, lse}, *const behind[] = {table, lengths};
    const attention_call c = {.target = "attention_paged",
                              .tensor = tensor,
                              .name = name,
                              .n_in = 3,
                              .n_out = 2,
                              .options = options,
                              .paged = true,
                              .behind = behind,
                              .n_behind = 2};
    return apply_attention(context, &c, error);
}

ridge_status ridge_fp8_attention(ridge_context *context, const DLTensor *q, const DLTensor *q_scale, const DLTensor *k,
                                 const DLTensor *k_scale, const DLTensor *v, const DLTensor *v_scale,
                                 const ridge_attention_options *options, const DLTensor *out, const DLTensor *lse,
                                 ridge_error *error) {
    static const char *const name[] = {"q", "k", "v", "out", "lse"};
    const DLTensor *const tensor[] = {q, k, v, out, lse}, *const scales[] = {q_scale, k_scale, v_scale};
    const attention_call c = {.target = "fp8_attention",
                              .tensor = tensor,
                              .name = name,
                              .n_in = 3,
                              .n_out = 2,
                              .options = options,
                              .behind = scales,
                              .n_behind = 3};
    return apply_attention(context, &c, error);
}

ridge_status ridge_attention_backward(ridge_context *context, const ridge_attention_saved *saved, const DLTensor *dout,
                                      const ridge_attention_options *options, const DLTensor *dq, const DLTensor *dk,
                                      const DLTensor *dv, const DLTensor *dsink, ridge_error *error) {
    static const char *const name[] = {"q", "k", "v", "out", "lse", "dout", "dq", "dk", "dv"};
    static const DLTensor absent = {.data = NULL};
    if (!saved) return ridge_fail(error, RIDGE_INVALID, "attention_backward: saved is NULL");
    const DLTensor *const tensor[] = {saved->q, saved->k, saved->v, saved->out, saved->lse, dout, dq, dk, dv};
    const attention_call c = {.target = "attention_backward",
                              .tensor = tensor,
                              .name = name,
                              .n_in = 6,
                              .n_out = 3,
                              .more = dsink ? dsink : &absent,
                              .options = options};
    return apply_attention(context, &c, error);
}

ridge_status ridge_gemm_epilogue(ridge_context *context, const DLTensor *a, const DLTensor *b, const DLTensor *c,
                                 const DLTensor *bias, const DLTensor *row_bias,
                                 const ridge_gemm_epilogue_options *options, const DLTensor *d, ridge_error *error) {
    static const DLTensor absent = {.data = NULL};
    static const ridge_gemm_epilogue_options defaults = {1, 1, RIDGE_ACTIVATION_NONE};
    const ridge_gemm_epilogue_options *o = options ? options : &defaults;
    const double values[RIDGE_MAX_OPTIONS] = {o->alpha, 0, o->beta, o->activation};
    const DLTensor *const in[] = {a, b, c ? c : &absent, bias ? bias : &absent, row_bias ? row_bias : &absent};
    return apply(context, "gemm_epilogue", in, 5, &d, 1, values, error);
}

ridge_status ridge_linear_norm_activation(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                          const DLTensor *b, const DLTensor *gamma, const DLTensor *beta,
                                          const DLTensor *y, ridge_error *error) {
    const DLTensor *const in[] = {x, w, b, gamma, beta};
    return apply(context, "linear_norm_activation", in, 5, &y, 1, NULL, error);
}

ridge_status ridge_linear_softmax(ridge_context *context, const DLTensor *x, const DLTensor *w, const DLTensor *b,
                                  const DLTensor *probs, ridge_error *error) {
    const DLTensor *const in[] = {x, w, b};
    return apply(context, "linear_softmax", in, 3, &probs, 1, NULL, error);
}

static option_values values_of(const ridge_cross_entropy_options *options) {
    static const ridge_cross_entropy_options defaults = RIDGE_CROSS_ENTROPY_DEFAULTS;
    const ridge_cross_entropy_options *o = options ? options : &defaults;
    return (option_values){{o->ignore_index, o->label_smoothing, o->z_loss}};
}

ridge_status ridge_linear_cross_entropy(ridge_context *context, const DLTensor *x, const DLTensor *w, const DLTensor *b,
                                        const DLTensor *labels, const ridge_cross_entropy_options *options,
                                        const DLTensor *loss, const DLTensor *lse, ridge_error *error) {
    const DLTensor *const in[] = {x, w, b, labels}, *const out[] = {loss, lse};
    const option_values told = values_of(options);
    return apply(context, "linear_cross_entropy", in, 4, out, 2, told.value, error);
}

ridge_status ridge_linear_cross_entropy_backward(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                                 const DLTensor *b, const DLTensor *labels, const DLTensor *lse,
                                                 const DLTensor *dloss, const ridge_cross_entropy_options *options,
                                                 const DLTensor *dx, const DLTensor *dw, const DLTensor *db,
                                                 ridge_error *error) {
    const DLTensor *const in[] = {x, w, b, labels, lse, dloss}, *const out[] = {dx, dw, db};
    const option_values told = values_of(options);
    return apply(context, "linear_cross_entropy_backward", in, 6, out, 3, told.value, error);
}

ridge_status ridge_linear_cross_entropy_grad(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                             const DLTensor *b, const DLTensor *labels, const DLTensor *dloss,
                                             const ridge_cross_entropy_options *options, const DLTensor *loss,
                                             const DLTensor *lse, const DLTensor *dx, const DLTensor *dw,
                                             const DLTensor *db, ridge_error *error) {
    const DLTensor *const in[] = {x, w, b, labels, dloss}, *const out[] = {loss, lse, dx, dw, db};
    const option_values told = values_of(options);
    return apply(context, "linear_cross_entropy_grad", in, 5, out, 5, told.value, error);
}

ridge_status ridge_multihead_linear_softmax(ridge_context *context, const DLTensor *x, const DLTensor *w,
                                            const DLTensor *b, const DLTensor *probs, ridge_error *error) {
    const DLTensor *const in[] = {x, w, b};
    return apply(context, "multihead_linear_softmax", in, 3, &probs, 1, NULL, error);
}

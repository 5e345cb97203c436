/* NVFP4: e2m1 with a scale of ue4m3 for each 16 columns, in tiles. See README.md. */
#include "cpu/vec_narrow.h"
#include "quantize/line.h"
#include "quantize/tiles.h"

RIDGE_CPU_DECLARE(quantize_nvfp4_cpu_baseline);
RIDGE_CPU_DECLARE(quantize_nvfp4_cpu_optimized);

/* A unit is the least number of whole vectors that are whole blocks; a line is what one line of results holds. */
enum { BLOCK = 16, LINE = 2 * ROW_LINE, UNIT = VF2_LANES > BLOCK ? VF2_LANES : BLOCK, UNIT_VECTORS = UNIT / VF2_LANES };
_Static_assert(UNIT % BLOCK == 0 && LINE % UNIT == 0, "vectors hold whole blocks, or blocks whole vectors");

VF_INLINE double call_bytes(const ridge_call *call) {
    return (double)call->dim[0] * (double)call->dim[1] * ((double)ridge_dtype_size(call->dtype) + 0.5);
}
VF_INLINE rule_nvfp4 rule_of(const ridge_call *call) { return rule_nvfp4_of(*(const float *)ridge_data(&call->in[1])); }
VF_INLINE unsigned char *codes_of(const ridge_call *call, int64_t i) {
    return (unsigned char *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]) / 2;
}
/* The code of a block's scale, one number at a time. */
VF_INLINE unsigned plain_scale(const void *x, int64_t first, rule_nvfp4 rule, vf_type type) {
    float max = 0;
    bool odd = false;
    for (int64_t j = first; j < first + BLOCK; j++) {
        const float v = quantize_element(x, j, type), magnitude = rule_float(rule_bits(v) & 0x7fffffffu);
        odd |= rule_is_odd(v);
        max = magnitude > max ? magnitude : max;
    }
    return rule_nvfp4_scale(rule, max, odd);
}
/* Scaled; zeros where the block has no scale. */
VF_INLINE float plain_scaled(float v, unsigned scale, float factor) {
    return scale == RULE_E4M3_NAN ? 0.0f : v * factor;
}

VF_INLINE void plain_block(const void *x, int64_t first, rule_nvfp4 rule, unsigned char *q, unsigned char *s,
                           vf_type type) {
    const unsigned scale = plain_scale(x, first, rule, type);
    const float factor = rule_nvfp4_factor(rule, scale);
    *s = (unsigned char)scale;
    for (int64_t j = 0; j < BLOCK; j += 2) {
        const float low = plain_scaled(quantize_element(x, first + j, type), scale, factor);
        const float high = plain_scaled(quantize_element(x, first + j + 1, type), scale, factor);
        q[j / 2] = (unsigned char)(rule_e2m1(low) | rule_e2m1(high) << 4);
    }
}

/* ---- optimized: a unit stays in registers, each block's number in all lanes of the block ---- */

/* The largest of each block, in all of its lanes. v: magnitudes. */
#if defined(RIDGE_ISA_IS_avx512)
VF_INLINE vf in_eight(vf v) {
    v = vf_max(v, _mm512_permute_ps(v, 0xb1));
    v = vf_max(v, _mm512_permute_ps(v, 0x4e));
    return vf_max(v, _mm512_shuffle_f32x4(v, v, 0xb1));
}
VF_INLINE vf in_sixteen(vf v) {
    v = in_eight(v);
    return vf_max(v, _mm512_shuffle_f32x4(v, v, 0x4e));
}
VF_INLINE vf2 block_max(const vf2 *v, vf_type type) {
    if (!is_bf16(type)) return (vf2){in_sixteen(vf_abs(v[0].a)), in_sixteen(vf_abs(v[0].b))};
    const vf max = in_eight(vf_max(vf_abs(v[0].a), vf_abs(v[0].b)));
    return (vf2){max, max};
}
#else
VF_INLINE vf2 block_max(const vf2 *v, vf_type type) {
    (void)type;
    vf max = vf_zero();
    for (int k = 0; k < UNIT_VECTORS; k++) max = vf_max(max, vf_max(vf_abs(v[k].a), vf_abs(v[k].b)));
    max = vf_set1(vf_hmax(max));
    return (vf2){max, max};
}
#endif

/* Codes of scales, and what elements are multiplied by, as rule.h has them, where the tensor's scale is usable and all
 * elements are finite. */
VF_INLINE vi scale_codes(vf max, rule_nvfp4 rule) { return vf_e4m3(vf_mul(max, vf_set1(rule.inverse))); }
VF_INLINE vf factors(vi codes, rule_nvfp4 rule) {
    const vf scale = vf_mul(vi_float(vi_shl(codes, 20)), vf_set1(0x1p120f));
    const vf factor = vf_div(vf_set1(1.0f), vf_mul(scale, vf_set1(rule.tensor)));
    return vf_select(vf_eq(scale, vf_zero()), vf_zero(), factor);
}

VF_INLINE unsigned lane(vi v, int n) {
    float lanes[VF_LANES];
    vf_store(lanes, vi_float(v));
    return rule_bits(lanes[n]);
}
/* Blocks of a unit lie in halves of .a, or in .a and in .b. */
VF_INLINE void store_scales(vi a, vi b, unsigned char *s, vf_type type) {
    s[0] = (unsigned char)lane(a, 0);
    if (UNIT == BLOCK) return;
    s[1] = (unsigned char)(is_bf16(type) ? lane(a, VF_LANES / 2) : lane(b, 0));
}

/* Returns false, with nothing written, if an element is not finite. */
VF_INLINE bool unit(const void *x, rule_nvfp4 rule, unsigned char *q, unsigned char *s, vf_type type) {
    vf2 v[UNIT_VECTORS];
    vf odd = vf_zero();
    for (int k = 0; k < UNIT_VECTORS; k++) {
        v[k] = row_load(x, k * VF2_LANES, VF2_LANES, type);
        odd = vf_fma(v[k].a, vf_zero(), vf_fma(v[k].b, vf_zero(), odd));
    }
    if (vm_any(vf_isnan(odd))) return false;
    const vf2 max = block_max(v, type);
    const vi a = scale_codes(max.a, rule);
    const bool same = UNIT == BLOCK || is_bf16(type);
    const vi b = same ? a : scale_codes(max.b, rule);
    const vf of_a = factors(a, rule), of_b = same ? of_a : factors(b, rule);
    store_scales(a, b, s, type);
    for (int k = 0; k < UNIT_VECTORS; k++)
        vf2_store_nibbles(q + k * VF_LANES, vf_e2m1(vf_mul(v[k].a, of_a)), vf_e2m1(vf_mul(v[k].b, of_b)), type);
    return true;
}

/* n columns, whole blocks, at most a line. */
VF_INLINE void line_of(const void *x, int64_t n, rule_nvfp4 rule, quantize_line *q, unsigned char *s, vf_type type) {
    int64_t j = 0;
    for (; rule.usable && j + UNIT <= n; j += UNIT)
        if (!unit(row_at(x, j, type), rule, q->byte + j / 2, s + j / BLOCK, type)) break;
    for (; j < n; j += BLOCK) plain_block(x, j, rule, q->byte + j / 2, s + j / BLOCK, type);
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(call_bytes(call));
    const rule_nvfp4 rule = rule_of(call);
    quantize_line line;
    unsigned char scales[LINE / BLOCK];
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(&call->in[0], i, type);
        for (int64_t j = 0; j < n; j += LINE) {
            const int64_t count = n - j < LINE ? n - j : LINE;
            line_of(row_at(x, j, type), count, rule, &line, scales, type);
            line_write(codes_of(call, i) + j / 2, &line, count / 2, stream);
            for (int64_t k = 0; k < count / BLOCK; k++) *tiles_at(&call->out[1], i, j / BLOCK + k) = scales[k];
        }
    }
    tiles_pad(&call->out[1], call->dim[0], n / BLOCK, begin, end);
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(quantize_nvfp4_cpu_optimized)(const ridge_call *call) {
    return row_run_sized(call, call_bytes(call), optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: scales, then scaled values through memory, then their codes ---- */

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    const rule_nvfp4 rule = rule_of(call);
    float *scaled = call->scratch;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < n / BLOCK; k++)
            *tiles_at(&call->out[1], i, k) =
                (unsigned char)plain_scale(row_in(&call->in[0], i, type), k * BLOCK, rule, type);
    tiles_pad(&call->out[1], call->dim[0], n / BLOCK, begin, end);
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < n / BLOCK; k++) {
            const unsigned scale = *tiles_at(&call->out[1], i, k);
            const float factor = rule_nvfp4_factor(rule, scale);
            for (int64_t j = k * BLOCK; j < (k + 1) * BLOCK; j++)
                scaled[i * n + j] =
                    plain_scaled(quantize_element(row_in(&call->in[0], i, type), j, type), scale, factor);
        }
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < n; j += 2)
            codes_of(call, i)[j / 2] =
                (unsigned char)(rule_e2m1(scaled[i * n + j]) | rule_e2m1(scaled[i * n + j + 1]) << 4);
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(quantize_nvfp4_cpu_baseline)(const ridge_call *call) {
    return row_run_sized(call, call_bytes(call), baseline_f32, baseline_bf16, baseline_bf16_native);
}

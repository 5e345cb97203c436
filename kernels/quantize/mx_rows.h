/* MX formats on a CPU. Included once, by a target's cpu.c, which defines before
 *
 *   MX_NAME      the target's name, as a token
 *   MX_ELEMENT   the element type: RIDGE_E4M3, RIDGE_E5M2 or RIDGE_E2M1
 *
 * Both variants do the same steps: see targets/quantize_mxfp8/README.md. */
#include "model/token.h"
#include "quantize/fp8_block.h"
#include "quantize/mx_rule.h"
#include "quantize/tiles.h"

#define MX_FN(what) TOKEN_JOIN(MX_NAME, what)
TOKEN_DECLARE_CPU(MX_FN(cpu_baseline));
TOKEN_DECLARE_CPU(MX_FN(cpu_optimized));

enum {
    ELEMENT = MX_ELEMENT,
    BITS = ELEMENT == (int)RIDGE_E2M1 ? 4 : 8,
    LINE = LINE_BYTES * 8 / BITS /* columns of a line of codes */
};
_Static_assert(MX_BLOCK % VF2_LANES == 0 && LINE % MX_BLOCK == 0,
               "blocks are whole pairs of vectors, lines whole blocks");

VF_INLINE double call_bytes(const ridge_call *call) {
    return (double)call->dim[0] * (double)call->dim[1] * ((double)ridge_dtype_size(call->dtype) + BITS / 8.0);
}
VF_INLINE unsigned char *codes_of(const ridge_call *call, int64_t i) {
    return (unsigned char *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]) * BITS / 8;
}

/* ---- optimized: a block stays in L1 between its maximum and its codes ---- */

VF_INLINE vi codes(vf v) {
    if (ELEMENT == (int)RIDGE_E2M1) return vf_e2m1(v);
    return ELEMENT == (int)RIDGE_E5M2 ? vf_e5m2(v) : vf_e4m3(v);
}

/* Returns the code of the block's scale. */
VF_INLINE unsigned block(const void *x, unsigned char *q, vf_type type) {
    const unsigned scale = rule_mx_scale(MX_ELEMENT, rule_bits(fp8_largest(x, MX_BLOCK, type)) & 0x7fffffffu);
    if (scale == MX_NAN) {
        memset(q, 0, MX_BLOCK * BITS / 8);
        return scale;
    }
    const vf by = vf_set1(rule_mx_factor(scale));
    for (int64_t j = 0; j < MX_BLOCK; j += VF2_LANES) {
        const vf2 v = row_load(x, j, VF2_LANES, type);
        const vi a = codes(vf_mul(v.a, by)), b = codes(vf_mul(v.b, by));
        if (BITS == 4)
            vf2_store_nibbles(q + j / 2, a, b, type);
        else
            vf2_store_bytes(q + j, a, b, type);
    }
    return scale;
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(call_bytes(call));
    quantize_line line;
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(&call->in[0], i, type);
        for (int64_t first = 0; first < n; first += LINE) {
            const int64_t count = n - first < LINE ? n - first : LINE;
            for (int64_t j = 0; j < count; j += MX_BLOCK)
                *tiles_at(&call->out[1], i, (first + j) / MX_BLOCK) =
                    (unsigned char)block(row_at(x, first + j, type), line.byte + j * BITS / 8, type);
            line_write(codes_of(call, i) + first * BITS / 8, &line, count * BITS / 8, stream);
        }
    }
    tiles_pad(&call->out[1], call->dim[0], n / MX_BLOCK, begin, end);
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(MX_FN(cpu_optimized))(const ridge_call *call) {
    return row_run_sized(call, call_bytes(call), optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: scales, then scaled values through memory, then their codes ---- */

VF_INLINE unsigned char code_byte(const float *scaled) {
    if (BITS == 8) return (unsigned char)rule_mx_code(MX_ELEMENT, scaled[0]);
    return (unsigned char)(rule_mx_code(MX_ELEMENT, scaled[0]) | rule_mx_code(MX_ELEMENT, scaled[1]) << 4);
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    float *scaled = call->scratch;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < n / MX_BLOCK; k++) {
            const void *x = row_at(row_in(&call->in[0], i, type), k * MX_BLOCK, type);
            const uint32_t max = rule_bits(fp8_plain_largest(x, MX_BLOCK, type)) & 0x7fffffffu;
            *tiles_at(&call->out[1], i, k) = (unsigned char)rule_mx_scale(MX_ELEMENT, max);
        }
    tiles_pad(&call->out[1], call->dim[0], n / MX_BLOCK, begin, end);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < n; j++) {
            const unsigned scale = *tiles_at(&call->out[1], i, j / MX_BLOCK);
            const float v = quantize_element(row_in(&call->in[0], i, type), j, type);
            scaled[i * n + j] = scale == MX_NAN ? 0.0f : v * rule_mx_factor(scale);
        }
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < n; j += 8 / BITS) codes_of(call, i)[j * BITS / 8] = code_byte(scaled + i * n + j);
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(MX_FN(cpu_baseline))(const ridge_call *call) {
    return row_run_sized(call, call_bytes(call), baseline_f32, baseline_bf16, baseline_bf16_native);
}

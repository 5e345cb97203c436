/* fp8 with a scale for each 128 columns: see README.md. */
#include "quantize/fp8_block.h"

RIDGE_CPU_DECLARE(quantize_fp8_blocks_cpu_baseline);
RIDGE_CPU_DECLARE(quantize_fp8_blocks_cpu_optimized);

enum { BLOCK = LINE_BYTES };

VF_INLINE double call_bytes(const ridge_call *call) {
    return (double)call->dim[0] * (double)call->dim[1] * (double)(ridge_dtype_size(call->dtype) + 1);
}

VF_INLINE unsigned char *codes_of(const ridge_call *call, int64_t i) {
    return (unsigned char *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]);
}
VF_INLINE float *scales_of(const ridge_call *call, int64_t i) {
    return (float *)ridge_data(&call->out[1]) + i * ridge_row_stride(&call->out[1]);
}

/* ---- optimized: a block stays in L1 between its maximum and its codes ---- */

/* Returns the block's scale. */
VF_INLINE float block(const void *x, int64_t n, quantize_line *line, vf_type type) {
    const float max = fp8_largest(x, n, type);
    if (rule_is_odd(max)) {
        memset(line->byte, 0, sizeof line->byte);
        return __builtin_nanf("");
    }
    fp8_codes(x, n, rule_fp8_factor(max), line->byte, type);
    return rule_fp8_scale(max);
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    const bool stream = row_streams(call_bytes(call));
    quantize_line line;
    for (int64_t i = begin; i < end; i++) {
        const void *x = row_in(&call->in[0], i, type);
        unsigned char *q = codes_of(call, i);
        float *s = scales_of(call, i);
        for (int64_t j = 0; j + BLOCK <= n; j += BLOCK) { /* the block's extent is known: the loops unroll */
            *s++ = block(row_at(x, j, type), BLOCK, &line, type);
            line_write(q + j, &line, BLOCK, stream);
        }
        const int64_t tail = n % BLOCK;
        if (tail == 0) continue;
        *s = block(row_at(x, n - tail, type), tail, &line, type);
        line_write(q + n - tail, &line, tail, false);
    }
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(quantize_fp8_blocks_cpu_optimized)(const ridge_call *call) {
    return row_run_sized(call, call_bytes(call), optimized_f32, optimized_bf16, optimized_bf16_native);
}

/* ---- baseline: maxima, then scaled values through memory, then their codes ---- */

VF_INLINE void scale_block(const void *x, int64_t n, float *t, vf_type type) {
    const float max = fp8_plain_largest(x, n, type), factor = rule_fp8_factor(max);
    for (int64_t j = 0; j < n; j++) t[j] = rule_is_odd(max) ? 0.0f : quantize_element(x, j, type) * factor;
}

/* NaN where the block has no finite scale. */
VF_INLINE float scale_of_block(const void *x, int64_t n, vf_type type) {
    const float max = fp8_plain_largest(x, n, type);
    return rule_is_odd(max) ? max : rule_fp8_scale(max);
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1];
    float *scaled = call->scratch;
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < n; j += BLOCK)
            scales_of(call, i)[j / BLOCK] =
                scale_of_block(row_at(row_in(&call->in[0], i, type), j, type), n - j < BLOCK ? n - j : BLOCK, type);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < n; j += BLOCK)
            scale_block(row_at(row_in(&call->in[0], i, type), j, type), n - j < BLOCK ? n - j : BLOCK,
                        scaled + i * n + j, type);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < n; j++) codes_of(call, i)[j] = (unsigned char)rule_e4m3(scaled[i * n + j]);
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(quantize_fp8_blocks_cpu_baseline)(const ridge_call *call) {
    return row_run_sized(call, call_bytes(call), baseline_f32, baseline_bf16, baseline_bf16_native);
}

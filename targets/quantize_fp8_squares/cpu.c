/* fp8 with a scale for each square of 128 rows and columns: see README.md. */
#include "quantize/fp8_block.h"

RIDGE_CPU_DECLARE(quantize_fp8_squares_cpu_baseline);
RIDGE_CPU_DECLARE(quantize_fp8_squares_cpu_optimized);

enum { SQUARE = LINE_BYTES, PANEL = 8 }; /* squares of a panel: 256 KiB of bf16 */

VF_INLINE double call_bytes(const ridge_call *call) {
    return (double)call->dim[0] * (double)call->dim[1] * (double)(ridge_dtype_size(call->dtype) + 1);
}
VF_INLINE unsigned char *codes_of(const ridge_call *call, int64_t i) {
    return (unsigned char *)ridge_data(&call->out[0]) + i * ridge_row_stride(&call->out[0]);
}
VF_INLINE float *scale_of(const ridge_call *call, int64_t r, int64_t k) {
    return (float *)ridge_data(&call->out[1]) + r * ridge_row_stride(&call->out[1]) + k;
}
VF_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- work is shared by rows of squares ---- */

typedef struct squares_job {
    const ridge_call *call;
    row_part_fn part;
} squares_job;

static void squares_part(void *arg, int rank, int size) {
    const squares_job *job = arg;
    int64_t begin, end;
    ridge_share(job->call->dim[2], 1, rank, size, &begin, &end);
    job->part(job->call, begin, end, rank);
}

static ridge_status squares_run(const ridge_call *call, row_part_fn f32, row_part_fn bf16) {
    if (call->dtype != RIDGE_F32 && call->dtype != RIDGE_BF16) return RIDGE_UNSUPPORTED;
    squares_job job = {call, call->dtype == RIDGE_F32 ? f32 : bf16};
    ridge_team_run_sized(call->dim[2] < 2 ? NULL : call->team, call_bytes(call), squares_part, &job);
    return RIDGE_OK;
}

/* ---- optimized: a panel is read from memory for its maxima, and from L2 for its codes ---- */

/* Scales of the panel's squares, and what their elements are multiplied by. */
VF_INLINE void panel_scales(const ridge_call *call, int64_t r, int64_t first, int64_t count, float factor[PANEL],
                            vf_type type) {
    const int64_t n = call->dim[1], end = least(call->dim[0], (r + 1) * SQUARE);
    float max[PANEL] = {0};
    for (int64_t i = r * SQUARE; i < end; i++)
        for (int64_t k = 0; k < count; k++) {
            const int64_t j = (first + k) * SQUARE;
            const void *x = row_at(row_in(&call->in[0], i, type), j, type);
            const float of_row = n - j >= SQUARE ? fp8_largest(x, SQUARE, type) : fp8_largest(x, n - j, type);
            if (rule_is_odd(of_row) || of_row > max[k]) max[k] = rule_is_odd(max[k]) ? max[k] : of_row;
        }
    for (int64_t k = 0; k < count; k++) {
        factor[k] = rule_is_odd(max[k]) ? 0.0f : rule_fp8_factor(max[k]);
        *scale_of(call, r, first + k) = rule_is_odd(max[k]) ? max[k] : rule_fp8_scale(max[k]);
    }
}

VF_INLINE void panel_codes(const ridge_call *call, int64_t r, int64_t first, int64_t count, const float factor[PANEL],
                           bool stream, vf_type type) {
    const int64_t n = call->dim[1], end = least(call->dim[0], (r + 1) * SQUARE);
    quantize_line line;
    for (int64_t i = r * SQUARE; i < end; i++)
        for (int64_t k = 0; k < count; k++) {
            const int64_t j = (first + k) * SQUARE, columns = least(n - j, SQUARE);
            const void *x = row_at(row_in(&call->in[0], i, type), j, type);
            if (!(factor[k] > 0))
                memset(line.byte, 0, sizeof line.byte);
            else if (columns == SQUARE)
                fp8_codes(x, SQUARE, factor[k], line.byte, type);
            else
                fp8_codes(x, columns, factor[k], line.byte, type);
            line_write(codes_of(call, i) + j, &line, columns, stream);
        }
}

VF_INLINE void optimized_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const bool stream = row_streams(call_bytes(call));
    for (int64_t r = begin; r < end; r++)
        for (int64_t first = 0; first < call->dim[3]; first += PANEL) {
            float factor[PANEL];
            const int64_t count = least(call->dim[3] - first, PANEL);
            panel_scales(call, r, first, count, factor, type);
            panel_codes(call, r, first, count, factor, stream, type);
        }
    vf_fence();
}

ROW_PARTS(optimized)
ridge_status RIDGE_ISA_FN(quantize_fp8_squares_cpu_optimized)(const ridge_call *call) {
    (void)optimized_bf16_native;
    return squares_run(call, optimized_f32, optimized_bf16);
}

/* ---- baseline: maxima, then scaled values through memory, then their codes ---- */

VF_INLINE float square_largest(const ridge_call *call, int64_t r, int64_t k, vf_type type) {
    const int64_t end = least(call->dim[0], (r + 1) * SQUARE), j = k * SQUARE;
    float max = 0;
    for (int64_t i = r * SQUARE; i < end; i++) {
        const void *x = row_at(row_in(&call->in[0], i, type), j, type);
        const float of_row = fp8_plain_largest(x, least(call->dim[1] - j, SQUARE), type);
        if (rule_is_odd(of_row)) return of_row;
        max = of_row > max ? of_row : max;
    }
    return max;
}

VF_INLINE void baseline_rows(const ridge_call *call, int64_t begin, int64_t end, vf_type type) {
    const int64_t n = call->dim[1], first = begin * SQUARE, last = least(call->dim[0], end * SQUARE);
    float *scaled = call->scratch;
    for (int64_t r = begin; r < end; r++)
        for (int64_t k = 0; k < call->dim[3]; k++) *scale_of(call, r, k) = square_largest(call, r, k, type);
    for (int64_t i = first; i < last; i++)
        for (int64_t j = 0; j < n; j++) {
            const float max = *scale_of(call, i / SQUARE, j / SQUARE);
            const float v = quantize_element(row_in(&call->in[0], i, type), j, type);
            scaled[i * n + j] = rule_is_odd(max) ? 0.0f : v * rule_fp8_factor(max);
        }
    for (int64_t i = first; i < last; i++)
        for (int64_t j = 0; j < n; j++) codes_of(call, i)[j] = (unsigned char)rule_e4m3(scaled[i * n + j]);
    for (int64_t r = begin; r < end; r++)
        for (int64_t k = 0; k < call->dim[3]; k++)
            if (!rule_is_odd(*scale_of(call, r, k))) *scale_of(call, r, k) = rule_fp8_scale(*scale_of(call, r, k));
}

ROW_PARTS(baseline)
ridge_status RIDGE_ISA_FN(quantize_fp8_squares_cpu_baseline)(const ridge_call *call) {
    (void)baseline_bf16_native;
    return squares_run(call, baseline_f32, baseline_bf16);
}

/* C = (sa A) (sb B)^T in e4m3 on a CPU: see README.md. */
#include "cpu/vec.h"
#include "fp8_gemm.h"
#include "quantize/rule.h"

RIDGE_CPU_DECLARE(fp8_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(fp8_gemm_cpu_optimized);

/* A tile of C, whose operands are decoded a slice at a time: 32 KiB each. */
enum { TILE = 64, SLICE = FP8_BLOCK };

VF_INLINE float scale_at(const fp8_scales *s, int64_t row, int64_t slice) {
    return s->data[row / s->rows * s->line + slice * s->step];
}
VF_INLINE const unsigned char *line_of(const DLTensor *t, int64_t row) {
    return (const unsigned char *)ridge_data(t) + row * ridge_row_stride(t);
}
VF_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

VF_INLINE void put(const ridge_call *call, int64_t i, int64_t j, float v) {
    const int64_t at = i * ridge_row_stride(&call->out[0]) + j;
    if (call->dtype == RIDGE_F32)
        ((float *)ridge_data(&call->out[0]))[at] = v;
    else
        ((uint16_t *)ridge_data(&call->out[0]))[at] = rule_bf16(v);
}

typedef struct job {
    const ridge_call *call;
    fp8_scales a, b;
} job;

static ridge_status run(const ridge_call *call, void (*part)(void *, int, int)) {
    job j = {call, fp8_scales_of(&call->in[FP8_A_SCALE], call->dim[FP8_M]),
             fp8_scales_of(&call->in[FP8_B_SCALE], call->dim[FP8_N])};
    if (call->dtype != RIDGE_F32 && call->dtype != RIDGE_BF16) return RIDGE_UNSUPPORTED;
    ridge_team_run(call->team, part, &j);
    return RIDGE_OK;
}

/* ---- baseline: an element of C at a time ---- */

static void loops(void *arg, int rank, int size) {
    const job *t = arg;
    const ridge_call *call = t->call;
    const int64_t n = call->dim[FP8_N], k = call->dim[FP8_K];
    int64_t begin, end;
    ridge_share(call->dim[FP8_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < n; j++) {
            const unsigned char *a = line_of(&call->in[FP8_A], i), *b = line_of(&call->in[FP8_B], j);
            float total = 0;
            for (int64_t first = 0; first < k; first += SLICE) {
                float sum = 0;
                for (int64_t d = first; d < least(k, first + SLICE); d++)
                    sum += rule_value_e4m3(a[d]) * rule_value_e4m3(b[d]);
                total += sum * (scale_at(&t->a, i, first / SLICE) * scale_at(&t->b, j, first / SLICE));
            }
            put(call, i, j, total);
        }
}

ridge_status RIDGE_ISA_FN(fp8_gemm_cpu_baseline)(const ridge_call *call) { return run(call, loops); }

/* ---- optimized: slices decoded once for a tile, products in registers ---- */

typedef struct tile {
    _Alignas(64) float a[TILE][SLICE], b[TILE][SLICE], c[TILE][TILE];
} tile;

/* Codes to values, zeros behind them. */
VF_INLINE void decode(const unsigned char *codes, int64_t n, float values[SLICE]) {
    for (int64_t d = 0; d < n; d++) values[d] = rule_value_e4m3(codes[d]);
    for (int64_t d = n; d < SLICE; d++) values[d] = 0;
}

/* The products of 2 rows of A and 4 of B. */
VF_INLINE void dots(const float *a0, const float *a1, const tile *t, int64_t j, float sums[2][4]) {
    vf s[2][4];
    for (int q = 0; q < 4; q++) s[0][q] = s[1][q] = vf_zero();
    for (int64_t d = 0; d < SLICE; d += VF_LANES) {
        const vf x = vf_load(a0 + d), y = vf_load(a1 + d);
        for (int q = 0; q < 4; q++) {
            const vf b = vf_load(t->b[j + q] + d);
            s[0][q] = vf_fma(x, b, s[0][q]);
            s[1][q] = vf_fma(y, b, s[1][q]);
        }
    }
    for (int q = 0; q < 4; q++) sums[0][q] = vf_sum(s[0][q]), sums[1][q] = vf_sum(s[1][q]);
}

/* Adds a slice's products, times its scales. */
VF_INLINE void add_slice(const job *w, tile *t, int64_t i0, int64_t rows, int64_t j0, int64_t columns, int64_t slice) {
    float of_b[TILE] = {0};
    for (int64_t j = 0; j < columns; j++) of_b[j] = scale_at(&w->b, j0 + j, slice);
    for (int64_t i = 0; i < rows; i += 2) {
        const float low = scale_at(&w->a, i0 + i, slice);
        const float high = i + 1 < rows ? scale_at(&w->a, i0 + i + 1, slice) : 0.0f;
        for (int64_t j = 0; j < columns; j += 4) {
            float sums[2][4];
            dots(t->a[i], t->a[i + 1], t, j, sums);
            for (int q = 0; q < 4; q++) {
                t->c[i][j + q] += sums[0][q] * (low * of_b[j + q]);
                t->c[i + 1][j + q] += sums[1][q] * (high * of_b[j + q]);
            }
        }
    }
}

static void make_tile(const job *w, tile *t, int64_t i0, int64_t j0) {
    const ridge_call *call = w->call;
    const int64_t rows = least(call->dim[FP8_M] - i0, TILE), columns = least(call->dim[FP8_N] - j0, TILE);
    const int64_t k = call->dim[FP8_K];
    memset(t->c, 0, sizeof t->c);
    for (int64_t first = 0; first < k; first += SLICE) {
        const int64_t n = least(k - first, SLICE);
        for (int64_t i = 0; i < rows; i++) decode(line_of(&call->in[FP8_A], i0 + i) + first, n, t->a[i]);
        for (int64_t j = 0; j < columns; j++) decode(line_of(&call->in[FP8_B], j0 + j) + first, n, t->b[j]);
        add_slice(w, t, i0, rows, j0, columns, first / SLICE);
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) put(call, i0 + i, j0 + j, t->c[i][j]);
}

static void tiles(void *arg, int rank, int size) {
    const job *w = arg;
    const int64_t down = (w->call->dim[FP8_M] + TILE - 1) / TILE, across = (w->call->dim[FP8_N] + TILE - 1) / TILE;
    int64_t begin, end;
    tile t;
    memset(&t, 0, sizeof t); /* rows beyond the matrix are multiplied, too */
    ridge_share(down * across, 1, rank, size, &begin, &end);
    for (; begin < end; begin++) make_tile(w, &t, begin / across * TILE, begin % across * TILE);
}

ridge_status RIDGE_ISA_FN(fp8_gemm_cpu_optimized)(const ridge_call *call) { return run(call, tiles); }

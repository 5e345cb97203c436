/* C = (a_scale A) (b_scale B)^T in int8 on a CPU: see README.md. */
#include "cpu/vec_int8.h"
#include "int8_gemm.h"
#include "quantize/rule.h"

RIDGE_CPU_DECLARE(int8_gemm_cpu_baseline);
RIDGE_CPU_DECLARE(int8_gemm_cpu_words);

VF_INLINE const int8_t *line_of(const DLTensor *t, int64_t row) {
    return (const int8_t *)ridge_data(t) + row * ridge_row_stride(t);
}
VF_INLINE const float *scales_of(const DLTensor *t) { return (const float *)ridge_data(t); }
VF_INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Columns of a row of C, from their sums. */
VF_INLINE void put(const ridge_call *call, int64_t i, int64_t j, int64_t columns, const int32_t *sums) {
    const float left = scales_of(&call->in[INT8_A_SCALE])[i], *right = scales_of(&call->in[INT8_B_SCALE]) + j;
    const int64_t at = i * ridge_row_stride(&call->out[0]) + j;
    if (call->dtype == RIDGE_F32) {
        float *c = (float *)ridge_data(&call->out[0]) + at;
        for (int64_t e = 0; e < columns; e++) c[e] = left * (float)sums[e] * right[e];
    } else {
        uint16_t *c = (uint16_t *)ridge_data(&call->out[0]) + at;
        for (int64_t e = 0; e < columns; e++) c[e] = rule_bf16(left * (float)sums[e] * right[e]);
    }
}

typedef struct job {
    const ridge_call *call;
} job;

static ridge_status run(const ridge_call *call, void (*part)(void *, int, int)) {
    if (call->dtype != RIDGE_F32 && call->dtype != RIDGE_BF16) return RIDGE_UNSUPPORTED;
    ridge_team_run(call->team, part, &(job){call});
    return RIDGE_OK;
}

/* ---- baseline: an element of C at a time ---- */

static void loops(void *arg, int rank, int size) {
    const ridge_call *call = ((const job *)arg)->call;
    const int64_t n = call->dim[INT8_N], k = call->dim[INT8_K];
    int64_t begin, end;
    ridge_share(call->dim[INT8_M], 1, rank, size, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < n; j++) {
            const int8_t *a = line_of(&call->in[INT8_A], i), *b = line_of(&call->in[INT8_B], j);
            int32_t sum = 0;
            for (int64_t d = 0; d < k; d++) sum += a[d] * b[d];
            put(call, i, j, 1, &sum);
        }
}

ridge_status RIDGE_ISA_FN(int8_gemm_cpu_baseline)(const ridge_call *call) { return run(call, loops); }

/* ---- optimized: groups of K in lanes, columns side by side, rows broadcast ---- */

/* A band of C, whose slices of B are laid out as groups of K by columns: groups are four bytes, or two words. */
enum { ROWS = 6, BAND = 64 * ROWS, COLUMNS = 64, GROUPS = 256 };
enum { VECTORS = VF_LANES == 8 ? 2 : 4, ACROSS = VECTORS * VF_LANES }; /* 24 sums in registers, 12 of 16 of AVX2 */

typedef struct band {
    _Alignas(64) uint32_t b[GROUPS][COLUMNS], a[ROWS][GROUPS];
    int32_t c[BAND][COLUMNS], start[COLUMNS];
} band;

/* A group of which `n` numbers exist, zeros behind them. */
VF_INLINE uint32_t group_of(const int8_t *v, int64_t n, bool bytes) {
    uint32_t group = 0;
    if (bytes)
        memcpy(&group, v, (size_t)n);
    else
        group = (uint16_t)v[0] | (n > 1 ? (uint32_t)(uint16_t)v[1] << 16 : 0);
    return group;
}

/* vpdpbusd takes one factor without a sign: A + 128 for A. What that adds to a column's sums, 128 times its numbers of B, is
 * where they start. Whole groups first, in loops that vectorize. */
VF_INLINE void lay_b(band *t, int64_t j, const int8_t *b, int64_t n, bool bytes) {
    const int64_t each = bytes ? 4 : 2, whole = n / each;
    int32_t sum = 0;
    for (int64_t d = 0; bytes && d < n; d++) sum += b[d];
    for (int64_t g = 0; g < whole; g++) t->b[g][j] = group_of(b + g * each, each, bytes);
    if (whole * each < n) t->b[whole][j] = group_of(b + whole * each, n - whole * each, bytes);
    t->start[j] = -128 * sum;
}
VF_INLINE void lay_a(uint32_t *groups, const int8_t *a, int64_t n, bool bytes) {
    const int64_t each = bytes ? 4 : 2, whole = n / each;
    const uint32_t signs = bytes ? 0x80808080u : 0;
    for (int64_t g = 0; g < whole; g++) groups[g] = group_of(a + g * each, each, bytes) ^ signs;
    if (whole * each < n) groups[whole] = group_of(a + whole * each, n - whole * each, bytes) ^ signs;
}

VF_INLINE vi add_group(vi sum, vi a, vi b, bool bytes) {
#if defined(RIDGE_ISA_IS_avx512)
    if (bytes) return vi_add_bytes(sum, a, b);
#endif
    (void)bytes;
    return vi_add_words(sum, a, b);
}

/* A slice's sums of ROWS rows and all columns, added to those in c. */
VF_INLINE void add_rows(const band *t, int32_t (*c)[COLUMNS], int64_t groups, bool bytes) {
    for (int64_t j = 0; j < COLUMNS; j += ACROSS) {
        vi s[ROWS][VECTORS];
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < VECTORS; v++)
                s[r][v] = vi_add(vi_load((const uint32_t *)c[r] + j + v * VF_LANES),
                                 vi_load((const uint32_t *)t->start + j + v * VF_LANES));
        for (int64_t g = 0; g < groups; g++) {
            vi b[VECTORS];
            for (int v = 0; v < VECTORS; v++) b[v] = vi_load(t->b[g] + j + v * VF_LANES);
            for (int r = 0; r < ROWS; r++) {
                const vi a = vi_set1(t->a[r][g]);
                for (int v = 0; v < VECTORS; v++) s[r][v] = add_group(s[r][v], a, b[v], bytes);
            }
        }
        for (int r = 0; r < ROWS; r++)
            for (int v = 0; v < VECTORS; v++) vi_store(c[r] + j + v * VF_LANES, s[r][v]);
    }
}

/* Rows beyond the matrix are summed, too, from what is in memory, and not stored. */
VF_INLINE void make_band(const ridge_call *call, band *t, int64_t i0, int64_t j0, bool bytes) {
    const int64_t rows = least(call->dim[INT8_M] - i0, BAND), columns = least(call->dim[INT8_N] - j0, COLUMNS);
    const int64_t k = call->dim[INT8_K], each = bytes ? 4 : 2, slice = GROUPS * each;
    memset(t->c, 0, sizeof t->c);
    for (int64_t first = 0; first < k; first += slice) {
        const int64_t n = least(k - first, slice), groups = (n + each - 1) / each;
        for (int64_t j = 0; j < columns; j++) lay_b(t, j, line_of(&call->in[INT8_B], j0 + j) + first, n, bytes);
        for (int64_t i = 0; i < rows; i += ROWS) {
            for (int64_t r = 0; r < least(rows - i, ROWS); r++)
                lay_a(t->a[r], line_of(&call->in[INT8_A], i0 + i + r) + first, n, bytes);
            add_rows(t, t->c + i, groups, bytes);
        }
    }
    for (int64_t i = 0; i < rows; i++) put(call, i0 + i, j0, columns, t->c[i]);
}

VF_INLINE void bands(const job *of, int rank, int size, bool bytes) {
    const ridge_call *call = of->call;
    const int64_t down = (call->dim[INT8_M] + BAND - 1) / BAND, across = (call->dim[INT8_N] + COLUMNS - 1) / COLUMNS;
    int64_t begin, end;
    band t;
    memset(&t, 0, sizeof t);
    ridge_share(down * across, 1, rank, size, &begin, &end);
    for (; begin < end; begin++) make_band(call, &t, begin / across * BAND, begin % across * COLUMNS, bytes);
}
static void bands_of_words(void *arg, int rank, int size) { bands(arg, rank, size, false); }

ridge_status RIDGE_ISA_FN(int8_gemm_cpu_words)(const ridge_call *call) { return run(call, bands_of_words); }

#if defined(RIDGE_ISA_IS_avx512)
ridge_status int8_gemm_cpu_bytes_avx512(const ridge_call *call);
static void bands_of_bytes(void *arg, int rank, int size) { bands(arg, rank, size, true); }
ridge_status int8_gemm_cpu_bytes_avx512(const ridge_call *call) { return run(call, bands_of_bytes); }
#endif

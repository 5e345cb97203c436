/* 2:4 pruning on a CPU: see README.md. Values are moved as they are: elements are words of 4, 2 or 1 bytes. */
#include <string.h>

#include "cpu/vec.h"
#include "ridge/target.h"
#include "sparse/pattern.h"

RIDGE_CPU_DECLARE(prune_2_4_cpu_baseline);
RIDGE_CPU_DECLARE(prune_2_4_cpu_optimized);

/* `type` is known where this is inlined. */
VF_INLINE uint32_t get(const void *x, int64_t j, ridge_dtype type) {
    if (type == RIDGE_F32) return ((const uint32_t *)x)[j];
    return type == RIDGE_E4M3 ? ((const uint8_t *)x)[j] : ((const uint16_t *)x)[j];
}
VF_INLINE void put(void *x, int64_t j, uint32_t bits, ridge_dtype type) {
    if (type == RIDGE_F32)
        ((uint32_t *)x)[j] = bits;
    else if (type == RIDGE_E4M3)
        ((uint8_t *)x)[j] = (uint8_t)bits;
    else
        ((uint16_t *)x)[j] = (uint16_t)bits;
}
/* A magnitude has all bits but the sign; what is above infinity, or above e4m3's largest number, is NaN. */
VF_INLINE uint32_t magnitude_bits(ridge_dtype type) {
    return type == RIDGE_F32 ? 0x7fffffffU : type == RIDGE_E4M3 ? 0x7fU : 0x7fffU;
}
VF_INLINE uint32_t infinity_of(ridge_dtype type) {
    return type == RIDGE_F32 ? 0x7f800000U : type == RIDGE_E4M3 ? 0x7eU : 0x7f80U;
}
/* The code of the four elements from j on. */
VF_INLINE unsigned code_at(const void *x, int64_t j, ridge_dtype type) {
    uint32_t magnitude[4];
    for (int e = 0; e < 4; e++) magnitude[e] = get(x, j + e, type) & magnitude_bits(type);
    return pattern_of(magnitude, infinity_of(type));
}
VF_INLINE uint32_t word_at(const void *x, int64_t j, ridge_dtype type) {
    uint32_t word = 0;
    for (int four = 0; four < 8; four++) word |= code_at(x, j + 4 * four, type) << 4 * four;
    return word;
}
VF_INLINE void put_values(const void *x, int64_t j, unsigned code, void *values, ridge_dtype type) {
    put(values, j / 2, get(x, j + pattern_first(code), type), type);
    put(values, j / 2 + 1, get(x, j + pattern_second(code), type), type);
}

/* What a pass makes of a row of n columns, at `to`. */
VF_INLINE void values_and_codes(const void *x, void *values, uint32_t *codes, int64_t n, ridge_dtype type) {
    for (int64_t j = 0; j < n; j += PATTERN_COLUMNS) {
        const uint32_t word = word_at(x, j, type);
        for (int four = 0; four < 8; four++) put_values(x, j + 4 * four, pattern_code(word, four), values, type);
        codes[j / PATTERN_COLUMNS] = word;
    }
}
VF_INLINE void with_zeros(const void *x, void *to, int64_t n, ridge_dtype type) {
    for (int64_t j = 0; j < n; j += 4) {
        const unsigned code = code_at(x, j, type);
        for (int e = 0; e < 4; e++) put(to, j + e, 0, type);
        put(to, j + pattern_first(code), get(x, j + pattern_first(code), type), type);
        put(to, j + pattern_second(code), get(x, j + pattern_second(code), type), type);
    }
}
VF_INLINE void values_alone(const void *x, void *values, int64_t n, ridge_dtype type) {
    for (int64_t j = 0; j < n; j += 4) put_values(x, j, code_at(x, j, type), values, type);
}
VF_INLINE void codes_alone(const void *x, uint32_t *codes, int64_t n, ridge_dtype type) {
    for (int64_t j = 0; j < n; j += PATTERN_COLUMNS) codes[j / PATTERN_COLUMNS] = word_at(x, j, type);
}

static void *row_of(const DLTensor *t, int64_t i, ridge_dtype type) {
    return (char *)ridge_data(t) + i * ridge_row_stride(t) * (int64_t)ridge_dtype_size(type);
}

VF_INLINE void one_pass(const ridge_call *call, int64_t begin, int64_t end, ridge_dtype type) {
    for (int64_t i = begin; i < end; i++)
        values_and_codes(row_of(&call->in[0], i, type), row_of(&call->out[0], i, type),
                         row_of(&call->out[1], i, RIDGE_I32), call->dim[1], type);
}
VF_INLINE void three_passes(const ridge_call *call, int64_t begin, int64_t end, ridge_dtype type) {
    const int64_t n = call->dim[1], line = n * (int64_t)ridge_dtype_size(type);
    char *const pruned = call->scratch;
    for (int64_t i = begin; i < end; i++) with_zeros(row_of(&call->in[0], i, type), pruned + i * line, n, type);
    for (int64_t i = begin; i < end; i++) values_alone(pruned + i * line, row_of(&call->out[0], i, type), n, type);
    for (int64_t i = begin; i < end; i++) codes_alone(pruned + i * line, row_of(&call->out[1], i, RIDGE_I32), n, type);
}

static void baseline(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    int64_t begin, end;
    ridge_share(call->dim[0], 1, rank, size, &begin, &end);
    if (call->dtype == RIDGE_F32)
        three_passes(call, begin, end, RIDGE_F32);
    else if (call->dtype == RIDGE_E4M3)
        three_passes(call, begin, end, RIDGE_E4M3);
    else
        three_passes(call, begin, end, RIDGE_BF16);
}
static void optimized(void *arg, int rank, int size) {
    const ridge_call *call = arg;
    int64_t begin, end;
    ridge_share(call->dim[0], 1, rank, size, &begin, &end);
    if (call->dtype == RIDGE_F32)
        one_pass(call, begin, end, RIDGE_F32);
    else if (call->dtype == RIDGE_E4M3)
        one_pass(call, begin, end, RIDGE_E4M3);
    else
        one_pass(call, begin, end, RIDGE_BF16);
}
ridge_status RIDGE_ISA_FN(prune_2_4_cpu_baseline)(const ridge_call *call) {
    ridge_team_run(call->team, baseline, (void *)call);
    return RIDGE_OK;
}
ridge_status RIDGE_ISA_FN(prune_2_4_cpu_optimized)(const ridge_call *call) {
    ridge_team_run(call->team, optimized, (void *)call);
    return RIDGE_OK;
}

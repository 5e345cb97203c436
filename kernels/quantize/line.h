/* Elements of a row one at a time; and the codes of a few blocks, gathered in a line of L1. Whole lines are written past the
 * caches where the result does not fit in them. */
#ifndef RIDGE_KERNELS_QUANTIZE_LINE_H
#define RIDGE_KERNELS_QUANTIZE_LINE_H

#include "cpu/row.h"
#include "quantize/rule.h"

enum { LINE_BYTES = 128 };

/* Element j of a row. */
VF_INLINE float quantize_element(const void *x, int64_t j, vf_type type) {
    if (!is_bf16(type)) return ((const float *)x)[j];
    return rule_float((uint32_t)((const uint16_t *)x)[j] << 16);
}

typedef struct quantize_line {
    _Alignas(64) unsigned char byte[LINE_BYTES];
} quantize_line;

/* Writes the first n bytes to p. */
VF_INLINE void line_write(unsigned char *p, const quantize_line *line, int64_t n, bool stream) {
    if (stream && n % ROW_LINE == 0 && (uintptr_t)p % ROW_LINE == 0) {
        for (int64_t i = 0; i < n; i += (int64_t)sizeof(vf)) {
            float values[VF_LANES];
            memcpy(values, line->byte + i, sizeof values);
            vf_stream((float *)(void *)(p + i), vf_load(values));
        }
    } else {
        memcpy(p, line->byte, (size_t)n);
    }
}

#endif

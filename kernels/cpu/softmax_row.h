/* y = softmax(x + b) of one row, with vectors along the row and a masked tail: three passes over a row in cache. The
 * unfused variants call it after their matrix product. b may be NULL; y may be x. */
#ifndef RIDGE_KERNELS_SOFTMAX_ROW_H
#define RIDGE_KERNELS_SOFTMAX_ROW_H

#include "cpu/vec_math.h"

/* Terms per partial sum. Partial sums limit the growth of rounding errors when many terms are alike. */
enum { SOFTMAX_TOGETHER = 64 };

VF_INLINE void softmax_row(const float *x, const float *b, int64_t n, float *y) {
    const int64_t whole = n / VF_LANES * VF_LANES;
    const int rest = (int)(n - whole);
    const vf lowest = vf_set1(-INFINITY);
    vf m = lowest, sum = vf_zero();
    for (int64_t j = 0; j < whole; j += VF_LANES) {
        vf z = b ? vf_add(vf_load(x + j), vf_load(b + j)) : vf_load(x + j);
        m = vf_max(m, z);
        vf_store(y + j, z);
    }
    float max = vf_hmax(m);
    for (int64_t j = whole; j < n; j++) {
        y[j] = b ? x[j] + b[j] : x[j];
        max = y[j] > max ? y[j] : max;
    }
    m = vf_set1(max);
    for (int64_t j = 0; j < whole;) {
        const int64_t end = whole - j < SOFTMAX_TOGETHER * VF_LANES ? whole : j + SOFTMAX_TOGETHER * VF_LANES;
        vf part = vf_zero();
        for (; j < end; j += VF_LANES) {
            vf e = vf_exp_bounded(vf_sub(vf_load(y + j), m));
            part = vf_add(part, e);
            vf_store(y + j, e);
        }
        sum = vf_add(sum, part);
    }
    float total = vf_sum(sum);
    if (rest) {
        float part[VF_LANES];
        vf_store(part, vf_exp_bounded(vf_sub(vf_load_n(y + whole, rest), m)));
        for (int j = 0; j < rest; j++) total += part[j];
        memcpy(y + whole, part, sizeof(float) * (size_t)rest);
    }
    const vf scale = vf_set1(1.0f / total);
    for (int64_t j = 0; j < whole; j += VF_LANES) vf_store(y + j, vf_mul(vf_load(y + j), scale));
    if (rest) vf_store_n(y + whole, rest, vf_mul(vf_load_n(y + whole, rest), scale));
}

#endif

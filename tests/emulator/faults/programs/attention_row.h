/* A row of attention in bf16 beside fp64, scores divided by 8: keys [first, end), of which key j's row begins at key(j) in k and v. */
#ifndef FAULTS_ATTENTION_ROW_H
#define FAULTS_ATTENTION_ROW_H

#include <cmath>
#include <vector>

#include "program.h"

using attention_elements = std::vector<__nv_bfloat16>;

template <typename Key>
inline void compare_attention(comparison &outputs, int row, int depth, int first, int end, const attention_elements &q,
                              const attention_elements &k, const attention_elements &v, const attention_elements &out,
                              const Key &key) {
    std::vector<double> p((size_t)(end > 0 ? end : 0));
    double sum = 0, most = -INFINITY;
    for (int j = first; j < end; j++) {
        for (int d = 0; d < depth; d++)
            p[j] += (double)(__bfloat162float(q[row * depth + d]) * __bfloat162float(k[key(j) + d]));
        most = fmax(most, p[j]);
    }
    for (int j = first; j < end; j++) sum += p[j] = exp((p[j] - most) / 8);
    for (int d = 0; d < depth; d++) {
        double want = 0;
        for (int j = first; j < end; j++) want += p[j] * (double)__bfloat162float(v[key(j) + d]) / sum;
        outputs.compare(__bfloat162float(out[row * depth + d]), (float)want, row, d);
    }
}

#endif

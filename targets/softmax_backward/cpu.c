/* softmax_backward on a CPU: see row_gradient/cpu.h. */
#define ROW_GRADIENT_NAME softmax_backward
#define ROW_GRADIENT_SUMS 1
#include "row_gradient/cpu.h"
#include "softmax_backward.h"

static bool is_log(const row *r) { return r->option[SOFTMAX_BACK_LOG] > 0; }

VF_INLINE void add_parts(row *r, int chain, int64_t j, int64_t count) {
    const vf2 dy = dy_at(r, j, count);
    vf2 *sum = &r->sums[0].chain[chain];
    if (is_log(r)) {
        *sum = (vf2){vf_add(dy.a, sum->a), vf_add(dy.b, sum->b)};
        return;
    }
    const vf2 y = a_at(r, j, count);
    *sum = (vf2){vf_fma(y.a, dy.a, sum->a), vf_fma(y.b, dy.b, sum->b)};
}
VF_INLINE void set_statistics(row *r, const double *sum) { r->statistic[0] = (float)sum[0]; }

VF_INLINE vf dx_of(const row *r, vf y, vf dy) {
    const vf sum = vf_set1(r->statistic[0]), scale = vf_set1((float)r->option[SOFTMAX_BACK_SCALE]);
    return vf_mul(scale, is_log(r) ? vf_fnma(vf_exp(y), sum, dy) : vf_mul(y, vf_sub(dy, sum)));
}

/* l2_norm_backward on a CPU: see row_gradient/cpu.h. */
#define ROW_GRADIENT_NAME l2_norm_backward
#define ROW_GRADIENT_SUMS 2
#include "row_gradient/cpu.h"
#include "l2_norm_backward.h"

enum { INVERSE, PRODUCT }; /* statistics: r, and the sum of z dy */

VF_INLINE void add_parts(row *r, int chain, int64_t j, int64_t count) {
    const vf2 x = a_at(r, j, count), dy = dy_at(r, j, count);
    vf2 *squares = &r->sums[0].chain[chain], *products = &r->sums[1].chain[chain];
    *squares = (vf2){vf_fma(x.a, x.a, squares->a), vf_fma(x.b, x.b, squares->b)};
    *products = (vf2){vf_fma(x.a, dy.a, products->a), vf_fma(x.b, dy.b, products->b)};
}
VF_INLINE void set_statistics(row *r, const double *sum) {
    const float eps = (float)r->option[L2_BACK_EPS], norm = sqrtf((float)sum[0]);
    r->statistic[INVERSE] = 1.0f / (norm < eps ? eps : norm); /* NaN stays */
    r->statistic[PRODUCT] = norm <= eps ? 0.0f : (float)sum[1] * r->statistic[INVERSE];
}

VF_INLINE vf dx_of(const row *r, vf x, vf dy) {
    const vf inverse = vf_set1(r->statistic[INVERSE]), product = vf_set1(r->statistic[PRODUCT]);
    return vf_mul(inverse, vf_fnma(vf_mul(x, inverse), product, dy));
}

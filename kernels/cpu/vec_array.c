/* The vector functions over arrays: see vec_array.h. */
#include "cpu/vec_array.h"

#include "cpu/vec_gelu.h"
#include "cpu/vec_math.h"

VF_INLINE void map(const float *x, float *y, int64_t n, vf (*f)(vf)) {
    int64_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES) vf_store(y + i, f(vf_load(x + i)));
    vf_store_n(y + i, (int)(n - i), f(vf_load_n(x + i, (int)(n - i))));
}

static void map_exp(const float *x, float *y, int64_t n) { map(x, y, n, vf_exp); }
static void map_sin(const float *x, float *y, int64_t n) { map(x, y, n, vf_sin); }
static void map_sin_absolute(const float *x, float *y, int64_t n) { map(x, y, n, vf_sin_absolute); }
static void map_erf(const float *x, float *y, int64_t n) { map(x, y, n, vf_erf); }
static void map_sigmoid(const float *x, float *y, int64_t n) { map(x, y, n, vf_sigmoid); }
static void map_exp2(const float *x, float *y, int64_t n) { map(x, y, n, vf_exp2); }
static void map_gelu(const float *x, float *y, int64_t n) { map(x, y, n, vf_gelu); }
static void map_silu(const float *x, float *y, int64_t n) { map(x, y, n, vf_silu); }
VF_INLINE vf slope_of_silu(vf x) {
    vf slope;
    (void)vf_silu_slope(x, &slope);
    return slope;
}
static void map_silu_slope(const float *x, float *y, int64_t n) { map(x, y, n, slope_of_silu); }
static void map_sqrt(const float *x, float *y, int64_t n) { map(x, y, n, vf_sqrt); }
static void map_round(const float *x, float *y, int64_t n) { map(x, y, n, vf_round); }

static void scale2(const float *x, float n, float *y, int64_t count) {
    int64_t i = 0;
    for (; i + VF_LANES <= count; i += VF_LANES) vf_store(y + i, vf_scale2(vf_load(x + i), vf_set1(n)));
    vf_store_n(y + i, (int)(count - i), vf_scale2(vf_load_n(x + i, (int)(count - i)), vf_set1(n)));
}

/* Vectors of bf16 hold even places in .a and odd places in .b. */
VF_INLINE vf2 gather_pair(const float *x, int64_t n) {
    float even[VF_LANES] = {0}, odd[VF_LANES] = {0};
    for (int64_t i = 0; i < n; i++) (i % 2 ? odd : even)[i / 2] = x[i];
    return (vf2){vf_load(even), vf_load(odd)};
}

VF_INLINE void narrow_as(const float *x, uint16_t *y, int64_t n, int stream, vf_type type) {
    int64_t i = 0;
    for (; i + VF2_LANES <= n; i += VF2_LANES) {
        if (stream)
            vf2_stream(y + i, gather_pair(x + i, VF2_LANES), type);
        else
            vf2_store(y + i, gather_pair(x + i, VF2_LANES), type);
    }
    vf2_store_n(y + i, n - i, gather_pair(x + i, n - i), type);
    vf_fence();
}
static void narrow(const float *x, uint16_t *y, int64_t n, int stream) { narrow_as(x, y, n, stream, VF_BF16); }
static void narrow_native(const float *x, uint16_t *y, int64_t n, int stream) {
    if (vf_has_bf16())
        narrow_as(x, y, n, stream, VF_BF16_NATIVE);
    else
        narrow_as(x, y, n, stream, VF_BF16);
}

static void widen(const uint16_t *x, float *y, int64_t n) {
    for (int64_t i = 0; i < n; i += VF2_LANES) {
        int64_t left = n - i < VF2_LANES ? n - i : VF2_LANES;
        vf2 v = left == VF2_LANES ? vf2_load(x + i, VF_BF16) : vf2_load_n(x + i, left, VF_BF16);
        float even[VF_LANES], odd[VF_LANES];
        vf_store(even, v.a);
        vf_store(odd, v.b);
        for (int64_t k = 0; k < left; k++) y[i + k] = (k % 2 ? odd : even)[k / 2];
    }
}

static float sum(const float *x, int64_t n) {
    vf s = vf_zero();
    int64_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES) s = vf_add(s, vf_load(x + i));
    return vf_sum(vf_add(s, vf_load_n(x + i, (int)(n - i))));
}

static float max(const float *x, int64_t n) {
    vf m = vf_set1(-INFINITY);
    int64_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES) m = vf_max(m, vf_load(x + i));
    float best = vf_hmax(m);
    for (; i < n; i++) best = x[i] > best ? x[i] : best;
    return best;
}

const ridge_vec_array RIDGE_ISA_FN(ridge_vec_array) = {
    .lanes = VF_LANES,
    .exp = map_exp,
    .sin = map_sin,
    .sin_absolute = map_sin_absolute,
    .erf = map_erf,
    .sigmoid = map_sigmoid,
    .exp2 = map_exp2,
    .gelu = map_gelu,
    .silu = map_silu,
    .silu_slope = map_silu_slope,
    .sqrt = map_sqrt,
    .round = map_round,
    .scale2 = scale2,
    .narrow = narrow,
    .narrow_native = narrow_native,
    .widen = widen,
    .sum = sum,
    .max = max,
};

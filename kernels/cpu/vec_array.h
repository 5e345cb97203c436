/* The vector functions over arrays, one table per instruction set. Tests compare every set with libm.
 */
#ifndef RIDGE_KERNELS_CPU_VEC_ARRAY_H
#define RIDGE_KERNELS_CPU_VEC_ARRAY_H

#include <stdint.h>

#include "ridge/target.h"

/* y[0 … n) = f(x[0 … n)); whole vectors and a masked tail. */
typedef void (*ridge_vec_map_fn)(const float *x, float *y, int64_t n);

typedef struct ridge_vec_array {
    int lanes;
    ridge_vec_map_fn exp, exp2, sin, sin_absolute, erf, sigmoid, gelu, silu, silu_slope, sqrt, round;
    /* x * 2^n[0], for one n */
    void (*scale2)(const float *x, float n, float *y, int64_t count);
    /* f32 to bf16 by store (stream = 0) or streaming store (y 64-byte aligned), and back; whole vectors and a tail */
    void (*narrow)(const float *x, uint16_t *y, int64_t n, int stream);
    /* the same with the CPU's own narrowing instruction: may flush values below 2^-126 */
    void (*narrow_native)(const float *x, uint16_t *y, int64_t n, int stream);
    void (*widen)(const uint16_t *x, float *y, int64_t n);
    float (*sum)(const float *x, int64_t n);
    float (*max)(const float *x, int64_t n); /* -inf for n == 0; x holds no NaN */
} ridge_vec_array;

extern const ridge_vec_array ridge_vec_array_scalar;
#if defined(__x86_64__)
extern const ridge_vec_array ridge_vec_array_avx2, ridge_vec_array_avx512;
#elif defined(__aarch64__)
extern const ridge_vec_array ridge_vec_array_neon;
#endif

#endif

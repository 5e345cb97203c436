/* y = clamp(a x + b, -1, 1) + z      x, z, y: [rows, cols], f32, bf16 or (GPU) f16, rows possibly strided; a = 1.5, b =
 * 0.25 Least traffic: size(x) + size(z) + size(y) bytes. 5 rows cols FLOP. Bandwidth-bound on every known machine. */
#include "memory_bound.h"

#include "ridge/target.h"

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true},
    {.name = "z", .rank = 2, .dim = {0, 1}, .by_row = true},
};
static const ridge_tensor_spec out[] = {
    {.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0) | RIDGE_IN_PLACE_OF(1)}};

/* Unit roundoff of the storage type, where it is not fp32. */
static double narrowing(ridge_dtype dtype) { return dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(dtype); }

static void oracle(const ridge_oracle_call *call) {
    const double *x = call->in[0], *z = call->in[1];
    double *y = call->out[0];
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++) {
        double t = (double)MEMORY_BOUND_A * x[k] + (double)MEMORY_BOUND_B;
        t = t > 1.0 ? 1.0 : t < -1.0 ? -1.0 : t; /* NaN stays */
        y[k] = t + z[k];
    }
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    const double u = 0x1p-24;
    b->absolute = 2.25 * u * (1.0 + narrowing(call->dtype)); /* |a x| <= 1.25 and |t| <= 1 where the clamp passes t */
    b->relative = u + narrowing(call->dtype);
}

#define MAP_NAME memory_bound
#define MAP_SUMMARY "scale, clamp and add: elementwise passes"
#define MAP_TIMED                                                                                      \
    MAP_CASE(8192, 2048, F32, CPU), MAP_CASE(8192, 2048, BF16, CPU), MAP_CASE(32768, 4096, F32, CUDA), \
        MAP_CASE(32768, 4096, BF16, CUDA), MAP_CASE(32768, 4096, F16, CUDA)
#define MAP_FLOPS 5.0
#define MAP_READS 2
#define MAP_TEMPORARIES 2
#define MAP_CPU_BASELINE "scale, clamp, add: three passes, two temporaries in memory"
#define MAP_CPU_OPTIMIZED "one pass; streaming stores once the operands exceed 16 MiB"
#define MAP_CUDA_BASELINE "scale, clamp, add: three kernels, two temporaries in memory"
#define MAP_CUDA_OPTIMIZED "one pass: 16-byte loads, four in flight a thread, streaming stores"
#include "rows/map_target.h"

/* square = x^2, relu = max(x, 0), affine = 1.5 x + 0.25      all [rows, cols], f32, bf16 or (GPU) f16, rows possibly
 * strided Least traffic: size(x) + 3 size(y) bytes. 4 rows cols FLOP. Bandwidth-bound on every known machine. */
#include "ridge/target.h"

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {
    {.name = "square", .rank = 2, .dim = {0, 1}},
    {.name = "relu", .rank = 2, .dim = {0, 1}},
    {.name = "affine", .rank = 2, .dim = {0, 1}},
};
enum { SQUARE, RELU, AFFINE };

/* Unit roundoff of the storage type, where it is not fp32. */
static double narrowing(ridge_dtype dtype) { return dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(dtype); }

static void oracle(const ridge_oracle_call *call) {
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++) {
        double x = call->in[0][k];
        call->out[SQUARE][k] = x * x;
        call->out[RELU][k] = x < 0.0 ? 0.0 : x; /* NaN stays */
        call->out[AFFINE][k] = 1.5 * x + 0.25;
    }
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind;
    const double u = 0x1p-24;
    static const double roundings[] = {[SQUARE] = 1.0, [RELU] = 0.0, [AFFINE] = 2.0};
    /* 1.5 x rounds by u |1.5 x| <= u (|y| + 0.25) before the sum. */
    static const double absolute[] = {[SQUARE] = 0.0, [RELU] = 0.0, [AFFINE] = 0.25 * 0x1p-24};
    b->relative = roundings[output] * u + narrowing(call->dtype);
    b->absolute = absolute[output] * (1.0 + narrowing(call->dtype));
}

#define MAP_NAME horizontal_fusion
#define MAP_SUMMARY "three independent maps over one input"
#define MAP_TIMED                                                                                      \
    MAP_CASE(8192, 1024, F32, CPU), MAP_CASE(8192, 1024, BF16, CPU), MAP_CASE(16384, 4096, F32, CUDA), \
        MAP_CASE(32768, 4096, BF16, CUDA)
#define MAP_FLOPS 4.0
#define MAP_READS 3
#define MAP_TEMPORARIES 0
#define MAP_CPU_BASELINE "a loop for each map: the input is read three times"
#define MAP_CPU_OPTIMIZED "one loop: the input is read once; streaming stores once the operands exceed 16 MiB"
#define MAP_CUDA_BASELINE "a kernel for each map: the input is read three times"
#define MAP_CUDA_OPTIMIZED \
    "one kernel: the input is read once, by 16-byte loads, four in flight a thread; streaming stores"
#include "rows/map_target.h"

/* y = sqrt(2 + sin x)      x, y: [rows, cols], f32, bf16 or (GPU) f16, rows possibly strided
 * Least traffic: size(x) + size(y) bytes. 3 rows cols FLOP (sine, addition, root). */
#include <math.h>

#include "ridge/target.h"

static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}, .in_place = RIDGE_IN_PLACE_OF(0)}};

/* Unit roundoff of the storage type, where it is not fp32. */
static double narrowing(ridge_dtype dtype) { return dtype == RIDGE_F32 ? 0.0 : ridge_dtype_roundoff(dtype); }

static void oracle(const ridge_oracle_call *call) {
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++) call->out[0][k] = sqrt(2.0 + sin(call->in[0][k]));
}

static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)kind, (void)output;
    b->absolute = 0.0; /* no result is below 1 */
    b->relative = 3.0 * 0x1p-24 + narrowing(call->dtype);
}

#define MAP_NAME vertical_fusion
#define MAP_SUMMARY "sine, then square root: two operations that follow each other"
#define MAP_TIMED                                                                                      \
    MAP_CASE(8192, 2048, F32, CPU), MAP_CASE(8192, 2048, BF16, CPU), MAP_CASE(65536, 4096, F32, CUDA), \
        MAP_CASE(65536, 4096, BF16, CUDA)
#define MAP_FLOPS 3.0
#define MAP_READS 1
#define MAP_TEMPORARIES 1
#define MAP_CPU_BASELINE "sine to memory, then the root"
#define MAP_CPU_OPTIMIZED "one loop, the sine stays in a register; streaming stores once the operands exceed 16 MiB"
#define MAP_CUDA_BASELINE "a kernel of sines to memory, then one of roots"
#define MAP_CUDA_OPTIMIZED \
    "one kernel, the sine stays in a register; 16-byte loads, four in flight a thread, streaming stores"
#include "rows/map_target.h"

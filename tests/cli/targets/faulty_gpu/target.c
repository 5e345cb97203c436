/* y = 2 x on a GPU, done right by a baseline and two optimized variants, and done wrong in every other: what a kernel
 * in development does to the GPU that it runs on. Linked into the tests' own ridge-faulty only; tests/gpu/run says what
 * must become of each.
 *
 * x, y: [rows, cols], f32. Least traffic: size(x) + size(y). One FLOP an element. Multiplying by two is exact. */
#include "ridge/target.h"

RIDGE_CUDA_DECLARE(faulty_gpu_right);
RIDGE_CUDA_DECLARE(faulty_gpu_loaded);
RIDGE_CUDA_DECLARE(faulty_gpu_wild);
RIDGE_CUDA_DECLARE(faulty_gpu_late);
RIDGE_CUDA_DECLARE(faulty_gpu_spin);
RIDGE_CUDA_DECLARE(faulty_gpu_refused);
RIDGE_CUDA_DECLARE(faulty_gpu_unwritten);
RIDGE_CUDA_DECLARE(faulty_gpu_beyond);
RIDGE_CUDA_DECLARE(faulty_gpu_nan);

static const ridge_case cases[] = {{.dim = {512, 1000}, .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA}};
static const ridge_tensor_spec in[] = {{.name = "x", .rank = 2, .dim = {0, 1}, .by_row = true}};
static const ridge_tensor_spec out[] = {{.name = "y", .rank = 2, .dim = {0, 1}}};

#define VARIANT(text, part, fn) \
    { .name = "cuda/" text, .role = part, .idea = text, .run = RIDGE_CUDA(fn) }
static const ridge_variant variants[] = {
    VARIANT("baseline", RIDGE_BASELINE, faulty_gpu_right),
    VARIANT("optimized", RIDGE_OPTIMIZED, faulty_gpu_right),
    VARIANT("loaded", RIDGE_OPTIMIZED, faulty_gpu_loaded),       /* right; its first launch takes long */
    VARIANT("wild", RIDGE_OPTIMIZED, faulty_gpu_wild),           /* an address that is nobody's */
    VARIANT("late", RIDGE_OPTIMIZED, faulty_gpu_late),           /* the same, but not in its first launches */
    VARIANT("spin", RIDGE_OPTIMIZED, faulty_gpu_spin),           /* never ends */
    VARIANT("refused", RIDGE_OPTIMIZED, faulty_gpu_refused),     /* a block too large for any GPU */
    VARIANT("unwritten", RIDGE_OPTIMIZED, faulty_gpu_unwritten), /* leaves the last element out */
    VARIANT("beyond", RIDGE_OPTIMIZED, faulty_gpu_beyond),       /* writes one element more */
    VARIANT("nan", RIDGE_OPTIMIZED, faulty_gpu_nan),
};

static void work(const ridge_case *c, ridge_work *w) {
    const double bytes = 4.0 * (double)c->dim[0] * (double)c->dim[1];
    *w = (ridge_work){.flops = bytes / 4, .bytes_read = bytes, .bytes_written = bytes};
}
static void oracle(const ridge_oracle_call *call) {
    for (int64_t k = 0; k < call->dim[0] * call->dim[1]; k++) call->out[0][k] = 2 * call->in[0][k];
}
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    *b = (ridge_bound){0};
}

const ridge_target ridge_target_faulty_gpu = {
    .name = "faulty_gpu",
    .chapter = "test",
    .summary = "kernels that go wrong on a GPU",
    .dims = {"rows", "cols"},
    .cases = RIDGE_LIST(cases),
    .in = RIDGE_LIST(in),
    .out = RIDGE_LIST(out),
    .variants = RIDGE_LIST(variants),
    .work = work,
    .oracle = oracle,
    .bound = bound,
};

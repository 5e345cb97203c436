/* What the descriptors of quantizers have in common: work, traffic, scratch, variants. Included once, by a target.c or by the
 * header of a family of them, which defines before
 *
 *   QUANTIZE_NAME           the target's name, as a token
 *   QUANTIZE_CODE           the type of q
 *   QUANTIZE_FIRST          the first pass of the baselines: "maxima" or "scales"
 *   QUANTIZE_SCALES_READ    1: a later pass of cpu/baseline reads s; 0: it finds the maxima again
 *   QUANTIZE_CPU_IDEA, QUANTIZE_CUDA_IDEA
 *                           a line each, of the optimized variants
 *   QUANTIZE_CUDA_NEEDS     compute capability times ten of cuda/optimized; 0: any
 *   QUANTIZE_BYTES          bytes that are read beside x
 *
 * and, behind it, s_bytes. A case's dimensions begin with rows and cols. */
#include <math.h>

#include "model/token.h"
#include "quantize/blocks.h"
#include "ridge/target.h"

#define QUANTIZE_FN(what) TOKEN_JOIN(QUANTIZE_NAME, what)
TOKEN_DECLARE_CPU(QUANTIZE_FN(cpu_baseline));
TOKEN_DECLARE_CPU(QUANTIZE_FN(cpu_optimized));
TOKEN_DECLARE_CUDA(QUANTIZE_FN(cuda_baseline));
TOKEN_DECLARE_CUDA(QUANTIZE_FN(cuda_optimized));

/* The bytes of s. */
static double s_bytes(const ridge_case *c);

static double elements(const ridge_case *c) { return (double)c->dim[0] * (double)c->dim[1]; }
static double x_bytes(const ridge_case *c) { return elements(c) * (double)ridge_dtype_size(c->dtype); }
static double q_bytes(const ridge_case *c) { return elements(c) * ridge_dtype_bits(QUANTIZE_CODE) / 8; }

/* A comparison, a multiplication and a rounding each. */
static void work(const ridge_case *c, ridge_work *w) {
    *w = (ridge_work){
        .flops = 3 * elements(c), .bytes_read = x_bytes(c) + QUANTIZE_BYTES, .bytes_written = q_bytes(c) + s_bytes(c)};
}

static void baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2 * x_bytes(c) + QUANTIZE_SCALES_READ * s_bytes(c) + 4 * elements(c),
                         .written = s_bytes(c) + 4 * elements(c) + q_bytes(c)};
}
static void optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c), .written = s_bytes(c), .streamed = q_bytes(c)};
}
/* A GPU has no write-allocation. */
static void cuda_baseline_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = 2 * x_bytes(c) + s_bytes(c) + 4 * elements(c),
                         .streamed = s_bytes(c) + 4 * elements(c) + q_bytes(c)};
}
static void cuda_optimized_traffic(const ridge_case *c, ridge_traffic *t) {
    *t = (ridge_traffic){.read = x_bytes(c), .streamed = s_bytes(c) + q_bytes(c)};
}
static size_t baseline_scratch(const ridge_case *c, int threads) {
    (void)threads;
    return (size_t)c->dim[0] * (size_t)c->dim[1] * sizeof(float);
}

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = QUANTIZE_FIRST ", then scaled values in fp32, then their codes: three passes through memory",
     .run = TOKEN_ON_CPU(QUANTIZE_FN(cpu_baseline)),
     .traffic = baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = QUANTIZE_CPU_IDEA,
     .run = TOKEN_ON_CPU(QUANTIZE_FN(cpu_optimized)),
     .traffic = optimized_traffic},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "a kernel of " QUANTIZE_FIRST ", one of scaled values in fp32, one of codes",
     .run = TOKEN_ON_CUDA(QUANTIZE_FN(cuda_baseline)),
     .traffic = cuda_baseline_traffic,
     .scratch = baseline_scratch},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = QUANTIZE_CUDA_IDEA,
     .run = TOKEN_ON_CUDA(QUANTIZE_FN(cuda_optimized)),
     .needs = QUANTIZE_CUDA_NEEDS,
     .traffic = cuda_optimized_traffic},
};

/* Every step is defined, roundings included. */
static void bound(const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *b) {
    (void)call, (void)kind, (void)output;
    *b = (ridge_bound){0};
}

/* What the descriptors of quantizers have in common: work, traffic, scratch, variants. A target.c, or the header of a family of
 * them, defines before
 *
 *   QUANTIZE_NAME         the target's name, as a token
 *   QUANTIZE_CODE         the type of q
 *   QUANTIZE_IDEA         two lines: of cpu/optimized and cuda/optimized
 *   QUANTIZE_FIRST_PASS   what the baseline makes in its first pass: "maxima" or "scales"
 *   QUANTIZE_NEEDS        compute capability that cuda/optimized needs, 0: any
 *   QUANTIZE_BYTES        bytes that are read beside x
 *
 * and, behind it, s_bytes: the bytes of s. x is [rows, cols] in dim[0] and dim[1]. Included once. */
#include <math.h>

#include "model/token.h"
#include "quantize/blocks.h"
#include "ridge/target.h"

#define QUANTIZE_FN(what) TOKEN_JOIN(QUANTIZE_NAME, what)
TOKEN_DECLARE_CPU(QUANTIZE_FN(cpu_baseline));
TOKEN_DECLARE_CPU(QUANTIZE_FN(cpu_optimized));
TOKEN_DECLARE_CUDA(QUANTIZE_FN(cuda_baseline));
TOKEN_DECLARE_CUDA(QUANTIZE_FN(cuda_optimized));

/* Timed on a CPU and on a GPU; CASE(rows, cols) makes a case's dimensions. */
#define QUANTIZE_TIMED                                                       \
    {CASE(8192, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CPU},         \
        {CASE(8192, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CPU},      \
        {CASE(65536, 4096), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},   \
        {CASE(8192, 28672), .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA}, { \
        CASE(32768, 4096), .dtype = RIDGE_F32, .only = RIDGE_ONLY_CUDA       \
    }

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
    *t = (ridge_traffic){.read = 2 * x_bytes(c) + QUANTIZE_SCALES_AGAIN * s_bytes(c) + 4 * elements(c),
                         .written = s_bytes(c) + 4 * elements(c) + q_bytes(c)};
}

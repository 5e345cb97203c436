/* What the tables of ways of linear_softmax and multihead_linear_softmax have in common. Included once, by target.c,
 * which defines before: DIMS, the linear_softmax_dims of its extents. */
#include "linear/cpu_ways.h"
#include "linear/logits.h"

/* ---- CPU ---- */

#define OF_WAY(number, name)                                                            \
    static inline void cpu_##name##_traffic(const ridge_problem *p, ridge_traffic *t) { \
        linear_cpu_traffic(number, &DIMS, p, t);                                        \
    }                                                                                   \
    static inline size_t cpu_##name##_scratch(const ridge_case *c, int threads) {       \
        return linear_cpu_scratch(number, &DIMS, c, threads);                           \
    }
#if defined(__x86_64__)
OF_WAY(LINEAR_WAY_WIDE, wide)
#endif
OF_WAY(LINEAR_WAY_FUSED, fused)
OF_WAY(LINEAR_WAY_PRODUCT, product)
#undef OF_WAY

#define LINEAR_CPU_WAY(number_, what, idea_, run_, dims_)                                                              \
    {                                                                                                                  \
        .name = #what, .idea = idea_, .refuses = linear_cpu_refuses, .cost = linear_cpu_cost,                          \
        .traffic = cpu_##what##_traffic, .scratch = cpu_##what##_scratch, .run = run_, .number = number_, .own = dims_ \
    }
#define LINEAR_CPU_WIDE(fn, dims) \
    LINEAR_CPU_WAY(LINEAR_WAY_WIDE, wide, "vectors along the classes, nothing is packed", RIDGE_CPU_AVX512(fn), dims)
#define LINEAR_CPU_FUSED(fn, dims)          \
    LINEAR_CPU_WAY(LINEAR_WAY_FUSED, fused, \
                   "vectors along the batch, classes in registers, logits never leave the cache", RIDGE_CPU(fn), dims)
#define LINEAR_CPU_PRODUCT(fn, dims)                                                                      \
    LINEAR_CPU_WAY(LINEAR_WAY_PRODUCT, product, "a product of any shape to the output, softmax in place", \
                   RIDGE_CPU(fn), dims)

/* ---- CUDA ---- */

static inline ridge_arithmetic linear_of_copied(const ridge_problem *p) { return linear_copied_arithmetic(&DIMS, p); }
static inline ridge_arithmetic linear_of_few_rows(const ridge_problem *p) {
    return linear_few_rows_arithmetic(p, p->c.dim[DIMS.batch]);
}
#define OF_WAY(number, name)                                                      \
    static inline void name##_traffic(const ridge_problem *p, ridge_traffic *t) { \
        linear_softmax_traffic(number, &DIMS, p, t);                              \
    }                                                                             \
    static inline size_t name##_scratch(const ridge_case *c, int threads) {       \
        (void)threads;                                                            \
        return linear_softmax_scratch_bytes(number, &DIMS, c);                    \
    }
OF_WAY(SKINNY_SINGLE, fused)
OF_WAY(LINEAR_TILES_SPLIT, tiles_split)
OF_WAY(LINEAR_TILES_16, tiles_16)
OF_WAY(LINEAR_TILES_HEADS, tiles_heads)
OF_WAY(LINEAR_FEW_ROWS, few_rows)
OF_WAY(LINEAR_COPIED, copied)
OF_WAY(LINEAR_THIN, thin)
#undef OF_WAY

/* fn: its extern "C" function, which reads call->way->number. */
#define LINEAR_WAY(number_, name_, idea_, fn, needs_, what, arithmetic_, dims_)                                        \
    {                                                                                                                  \
        .name = name_, .idea = idea_, .needs = needs_, .refuses = linear_softmax_refuses, .cost = linear_softmax_cost, \
        .traffic = what##_traffic, .scratch = what##_scratch, .arithmetic = arithmetic_, .run = RIDGE_CUDA(fn),        \
        .number = number_, .own = dims_                                                                                \
    }
#define LINEAR_WAYS_SKINNY(fn, dims)                                                                                   \
    LINEAR_WAY(SKINNY_SINGLE, "skinny_single", "16 rows a block, operands by single loads: any alignment", fn, 80,     \
               fused, linear_three_of_tf32, dims),                                                                     \
        LINEAR_WAY(SKINNY_NARROW, "skinny_narrow", "16 rows a block, up to 16 classes", fn, 90, fused,                 \
                   linear_three_of_tf32, dims),                                                                        \
        LINEAR_WAY(SKINNY_SHARED, "skinny_shared", "the same, four blocks share the depth", fn, 90, fused,             \
                   linear_three_of_tf32, dims),                                                                        \
        LINEAR_WAY(SKINNY_CLUSTER, "skinny_cluster", "16 rows a cluster, eight blocks share the depth", fn, 90, fused, \
                   linear_three_of_tf32, dims),                                                                        \
        LINEAR_WAY(SKINNY_WGMMA, "skinny_wgmma", "64 rows a cluster, wgmma, blocks share the depth", fn, 90, fused,    \
                   linear_three_of_fp16, dims)
#define LINEAR_WAYS_STREAM(fn, dims)                                                                                   \
    LINEAR_WAY(SKINNY_STREAM, "skinny_stream", "72 rows a cluster of eight that has all of the depth at once", fn, 90, \
               fused, linear_three_of_fp16, dims)
#define LINEAR_WAYS_SPLIT(fn, dims)                                                                                   \
    LINEAR_WAY(LINEAR_TILES_SPLIT, "tiles_split", "operands split once; tiles of 128 rows exchange their rows' sums", \
               fn, 90, tiles_split, linear_three_of_fp16, dims)
#define LINEAR_WAYS_TILES(fn, dims) \
    LINEAR_WAY(LINEAR_TILES_16, "tiles_16", "tiles of 128 rows exchange their rows' sums", fn, 90, tiles_16, NULL, dims)
#define LINEAR_WAYS_HEADS(fn, dims)                                                                                 \
    LINEAR_WAY(LINEAR_TILES_HEADS, "tiles_heads", "w copied, each head's classes in whole tiles; then as tiles_16", \
               fn, 90, tiles_heads, NULL, dims)
#define LINEAR_WAYS_COPIED(fn, dims)                                                                                 \
    LINEAR_WAY(LINEAR_COPIED, "copied", "operands copied to aligned memory, then the way that suits the copies", fn, \
               90, copied, linear_of_copied, dims)
#define LINEAR_WAYS_THIN(fn, dims)                                                                                    \
    LINEAR_WAY(LINEAR_THIN, "thin", "all columns of 32 rows a warp, by mma.sync; x is read once, as it lies", fn, 80, \
               thin, linear_thin_arithmetic, dims)
#define LINEAR_WAYS_FEW_ROWS(fn, dims)                                                                             \
    LINEAR_WAY(LINEAR_FEW_ROWS, "few_rows", "w read once at memory's rate, by tensor cores from 9 rows on", fn, 0, \
               few_rows, linear_of_few_rows, dims)

/* p[i,:] = softmax(x[i,:] w + b)      x: [batch, depth], w: [depth, classes], b: [classes], rows possibly strided;
 * f32, and on a GPU tf32, bf16 and f16, sums in fp32
 * 2 batch depth classes FLOP for the product, 5 batch classes for bias, max, exp, sum and scale.
 * Least traffic: every operand once, batch depth + depth classes + classes + batch classes elements. */
#include "linear/cpu_ways.h"
#include "linear_softmax.h"
#include "peer/onednn.h"
#include "peer/openblas.h"
#include "triton.h"

static const linear_softmax_dims dims = {
    .batch = LINEAR_BATCH, .heads = -1, .depth = LINEAR_DEPTH, .classes = LINEAR_CLASSES};
#define DIMS dims
#include "linear/softmax_target.h"

static const ridge_case cases[] = {
    {.dim = {64, 128, 10}, .dtype = RIDGE_F32},
    {.dim = {256, 512, 50}, .dtype = RIDGE_F32},
    {.dim = {1024, 1024, 100}, .dtype = RIDGE_F32},
    {.dim = {8192, 4096, 1000}, .dtype = RIDGE_F32},
    {.dim = {8192, 4096, 1000}, .dtype = RIDGE_TF32, .only = RIDGE_ONLY_CUDA},
    {.dim = {8192, 4096, 1000}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {.dim = {0, 3, 4}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {37, 5, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 257, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {33, 129, 29}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {131, 113, 127}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {29, 61, 35}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {21, 19, 68}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {13, 130, 80}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 1, 5}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CPU},
    {.dim = {35, 131, 10}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CPU},
    {.dim = {67, 769, 100}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CPU},
    {.dim = {701, 7, 60}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CPU}, /* product: two chunks of rows */
    {.dim = {5, 33, 3001}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CPU},
    {.dim = {7, 261, 1033}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CPU},
    {.dim = {9, 1031, 113}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {67, 769, 521}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {130, 256, 100}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {130, 272, 57}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {65, 1040, 128}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {300, 528, 56}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {70, 208, 50}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {333, 2064, 77}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* several slabs */
    {.dim = {333, 2064, 120},
     .dtype = RIDGE_F32,
     .edge = true,
     .column_major = 1u << LINEAR_W,
     .only = RIDGE_ONLY_CUDA},
    {.dim = {73, 16, 58}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* skinny/stream.cuh */
    {.dim = {970, 624, 99}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {1025, 1024, 120},
     .dtype = RIDGE_F32,
     .edge = true,
     .column_major = 1u << LINEAR_W,
     .only = RIDGE_ONLY_CUDA},
    {.dim = {1000, 848, 33}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {1025, 1152, 120},
     .dtype = RIDGE_F32,
     .edge = true,
     .column_major = 1u << LINEAR_W,
     .only = RIDGE_ONLY_CUDA},
    {.dim = {130, 784, 10}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* clusters of four */
    {.dim = {37, 144, 10}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {5, 33, 3001}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {2100, 1028, 1000}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {2100, 1028, 1001},
     .dtype = RIDGE_F32,
     .edge = true,
     .column_major = 1u << LINEAR_W,
     .only = RIDGE_ONLY_CUDA},
    {.dim = {41, 333, 100}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* copied operands */
    {.dim = {37, 150, 77}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {70, 203, 33}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {3, 48, 9001}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* tiles of classes */
    {.dim = {3, 48, 9001}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {131, 77, 259}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* split, of odd lines */
    {.dim = {130, 67, 259}, .dtype = RIDGE_F32, .edge = true, .column_major = 1u << LINEAR_W, .only = RIDGE_ONLY_CUDA},
    {.dim = {35, 131, 259}, EDGE_CUDA(TF32)},
    {.dim = {35, 131, 260}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},
    {.dim = {300, 1024, 104}, EDGE_CUDA(BF16)}, /* a depth in shares */
    {.dim = {160, 288, 112}, EDGE_CUDA(BF16)},  /* multiples of 16 */
    {.dim = {160, 288, 112}, EDGE_CUDA(F32)},
    {.dim = {40, 777, 33}, EDGE_CUDA(BF16)},
    {.dim = {40, 1030, 24}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {9, 57, 8300}, EDGE_CUDA(BF16)},
    {.dim = {300, 72, 40}, EDGE_CUDA(BF16)}, /* narrow tiles */
    {.dim = {131, 200, 21}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {67, 35, 257}, EDGE_CUDA(TF32)},
    {.dim = {601, 76, 50}, EDGE_CUDA(TF32)}, /* narrow tiles */
    {.dim = {300, 132, 33}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},
    {.dim = {300, 204, 1000}, EDGE_CUDA(TF32)},
    {.dim = {129, 512, 1009}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},
    {.dim = {40, 64, 9000}, EDGE_CUDA(TF32)},
    {.dim = {1, 130, 301}, EDGE_CUDA(F32)}, /* few rows */
    {.dim = {3, 259, 1003}, EDGE_CUDA(TF32)},
    {.dim = {7, 70, 1026}, EDGE_CUDA(F32), .column_major = 1u << LINEAR_W},
    {.dim = {19, 900, 131}, EDGE_CUDA(F32), .column_major = 1u << LINEAR_W},
    {.dim = {1, 1000, 257}, EDGE_CUDA(BF16)},
    {.dim = {4, 33, 2503}, EDGE_CUDA(F16)},
    {.dim = {5, 261, 515}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {16, 1030, 520}, EDGE_CUDA(BF16)},
    {.dim = {33, 72, 600}, EDGE_CUDA(BF16), .column_major = 1u << LINEAR_W},
    {.dim = {20, 130, 301}, EDGE_CUDA(BF16)},
    {.dim = {12, 99, 203}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {7, 300, 67}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W}, /* likewise, by tensor cores */
    {.dim = {8, 130, 69}, EDGE_CUDA(BF16)},
    {.dim = {40, 300, 72}, EDGE_CUDA(F16)},
    {.dim = {12, 301, 70}, EDGE_CUDA(F32)},
    {.dim = {14, 270, 68}, EDGE_CUDA(F32), .column_major = 1u << LINEAR_W},
    {.dim = {23, 261, 77}, EDGE_CUDA(F32), .column_major = 1u << LINEAR_W},
    {.dim = {39, 650, 40}, EDGE_CUDA(F32)},
    {.dim = {10, 259, 35}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},
    {.dim = {15, 264, 36}, EDGE_CUDA(TF32)},
    {.dim = {50, 261, 31}, EDGE_CUDA(TF32)},
    {.dim = {33, 140, 69}, EDGE_CUDA(TF32), .column_major = 1u << LINEAR_W},

    {.dim = {0, 8, 8}, EDGE_CUDA(BF16)},
    {.dim = {1, 1, 1}, EDGE_CUDA(BF16)},
    {.dim = {1, 8, 8}, EDGE_CUDA(BF16)},
    {.dim = {67, 129, 131}, EDGE_CUDA(BF16)},
    {.dim = {300, 520, 1000}, EDGE_CUDA(BF16)},
    {.dim = {257, 200, 1009}, EDGE_CUDA(BF16), .column_major = 1u << LINEAR_W},
    {.dim = {40, 64, 9000}, EDGE_CUDA(BF16)},
    {.dim = {131, 257, 521}, EDGE_CUDA(F16)},
    {.dim = {256, 512, 1024}, EDGE_CUDA(F16)},
    {.dim = {66, 136, 1009}, EDGE_CUDA(F16), .column_major = 1u << LINEAR_W},
    {.dim = {17, 6000, 12},
     .dtype = RIDGE_F32,
     .edge = true}, /* logits of several hundred in the special fill: exp overflows unless the maximum is subtracted */
};

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {LINEAR_BATCH, LINEAR_DEPTH}, .by_row = true},
    {.name = "w",
     .rank = 2,
     .dim = {LINEAR_DEPTH, LINEAR_CLASSES},
     .fill = RIDGE_FILL_WEIGHT,
     .index_dim = LINEAR_DEPTH,
     .takes_column_major = true},
    {.name = "b", .rank = 1, .dim = {LINEAR_CLASSES}},
};
static const ridge_tensor_spec out[] = {{.name = "p", .rank = 2, .dim = {LINEAR_BATCH, LINEAR_CLASSES}}};

static const ridge_way cpu_ways[] = {
    LINEAR_CPU_WAYS(linear_softmax_cpu_wide, linear_softmax_cpu_fused, linear_softmax_cpu_product)};

static const char *onednn_unavailable_for(const ridge_case *c) {
    return fp32_only(c) ? fp32_only(c) : onednn_unavailable(c);
}
static const char *openblas_unavailable_for(const ridge_case *c) {
    return fp32_only(c) ? fp32_only(c) : openblas_unavailable(c);
}
static const ridge_way optimized_ways[] = {
    LINEAR_WAYS_SKINNY(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_STREAM(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_SPLIT(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_TILES(linear_softmax_cuda_optimized, &dims),
    LINEAR_LOGITS_WAY(&dims),
    LINEAR_WAY_FEW_ROWS(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_COPIED(linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_THIN(linear_softmax_cuda_optimized, &dims),
};
static const ridge_way unfused_ways[] = {LINEAR_LOGITS_WAY(&dims)};
static const ridge_way triton_ways[] = {TRITON_WAY(linear_softmax_triton, "tiles of rows, all classes in registers")};
static const ridge_way triton_unfused_ways[] = {
    TRITON_WAY(linear_softmax_triton_unfused, "a product, then its softmax")};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "plain product, logits to memory, then softmax",
     .run = RIDGE_CPU(linear_softmax_cpu_baseline),
     LINEAR_CPU_BASELINE},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits never leave the cache, or a product that suits the shape",
     .ways = RIDGE_LIST(cpu_ways),
     .unavailable = fp32_only},
    {.name = "cpu/onednn",
     .role = RIDGE_PEER,
     .idea = "dnnl_sgemm, then bias and softmax in place",
     .run = RIDGE_CPU(linear_softmax_cpu_onednn),
     .unavailable = onednn_unavailable_for,
     .prepare = onednn_prepare,
     .own_threads = true},
    {.name = "cpu/openblas",
     .role = RIDGE_PEER,
     .idea = "cblas_sgemm, then bias and softmax in place",
     .run = RIDGE_CPU(linear_softmax_cpu_openblas),
     .unavailable = openblas_unavailable_for,
     .prepare = openblas_prepare,
     .own_threads = true},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt's product with bias, logits to memory, softmax in place",
     .run = RIDGE_CUDA(linear_softmax_cuda_baseline),
     LINEAR_CUDA_BASELINE},
    {.name = "cuda/unfused",
     .role = RIDGE_PEER,
     .idea = "ridge's own product, logits to memory, softmax in place",
     .ways = RIDGE_LIST(unfused_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "logits stay on the chip: depth split over a cluster, or tiles whose rows' sums meet",
     .ways = RIDGE_LIST(optimized_ways)},
    {TRITON_VARIANT("cuda/triton_aot_unfused", "Triton's product, logits to memory, Triton's softmax",
                    linear_softmax_triton_unfused, triton_unfused_ways),
     .traffic = unfused_traffic, .scratch = linear_softmax_triton_scratch},
    {TRITON_VARIANT("cuda/triton_aot", "Triton's fused kernel", linear_softmax_triton, triton_ways)},
};

const ridge_target ridge_target_linear_softmax = {
    .name = "linear_softmax",
    .summary = "softmax regression: softmax(x w + b)",
    .dims = {"batch", "depth", "classes"},
    .large = 8,
    LINEAR_TARGET,
};

/* p[i,h,:] = softmax(x[i,:] w[h] + b[h])    x: [batch, depth], w: [heads, depth, classes], b: [heads, classes];
 * f32, and on a GPU tf32, bf16 and f16, sums in fp32
 * 2 batch heads depth classes FLOP for the products, 6 batch heads classes for bias, maximum, difference, exp, sum,
 * scale. Least traffic: every operand once, batch depth + heads depth classes + heads classes + batch heads classes
 * elements. */
#include "linear/cpu_ways.h"
#include "multihead_linear_softmax.h"

static const linear_softmax_dims dims = {
    .batch = HEADS_BATCH, .heads = HEADS_HEADS, .depth = HEADS_DEPTH, .classes = HEADS_CLASSES};
/* Of a launch a head. */
static const linear_softmax_dims dims_apart = {
    .batch = HEADS_BATCH, .heads = HEADS_HEADS, .depth = HEADS_DEPTH, .classes = HEADS_CLASSES, .apart = true};
#define DIMS dims
#include "linear/softmax_target.h"

static const ridge_case cases[] = {
    {.dim = {1024, 16, 1024, 100}, .dtype = RIDGE_F32},
    {.dim = {1024, 16, 1024, 100}, .dtype = RIDGE_BF16, .only = RIDGE_ONLY_CUDA},
    {.dim = {256, 8, 512, 50}, .dtype = RIDGE_F32},
    {.dim = {0, 2, 3, 4}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {1, 1, 1, 1}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {3, 5, 257, 15}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {33, 3, 129, 29}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {70, 3, 208, 50}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {130, 2, 272, 100}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {17, 4, 64, 10}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {9, 2, 61, 131}, .dtype = RIDGE_F32, .edge = true},
    {.dim = {70, 3, 203, 100}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA}, /* copied operands */
    {.dim = {3, 96, 256, 10}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {130, 48, 260, 101}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {257, 32, 300, 131}, .dtype = RIDGE_F32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {35, 3, 131, 21}, .dtype = RIDGE_TF32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {131, 5, 68, 131}, .dtype = RIDGE_TF32, .edge = true, .only = RIDGE_ONLY_CUDA},
    {.dim = {0, 3, 8, 8}, EDGE_CUDA(BF16)},
    {.dim = {1, 1, 1, 1}, EDGE_CUDA(F16)},
    {.dim = {70, 4, 33, 1}, EDGE_CUDA(BF16)},
    {.dim = {131, 3, 72, 21}, EDGE_CUDA(F16)},
    {.dim = {130, 6, 520, 5}, EDGE_CUDA(BF16)}, /* a depth in shares */
    {.dim = {201, 7, 1031, 2}, EDGE_CUDA(F16)},
    {.dim = {300, 3, 72, 40}, EDGE_CUDA(BF16)},
    {.dim = {300, 2, 61, 64}, EDGE_CUDA(BF16)},
    {.dim = {130, 3, 203, 100}, EDGE_CUDA(BF16)},
    {.dim = {257, 2, 200, 104}, EDGE_CUDA(F16)},
    {.dim = {67, 1, 129, 131}, EDGE_CUDA(F16)}, /* one head, copied */
    {.dim = {129, 3, 72, 131}, EDGE_CUDA(BF16)},
    {.dim = {66, 2, 136, 520}, EDGE_CUDA(F16)},  /* tiles that wait for each other */
    {.dim = {70, 2, 40, 8200}, EDGE_CUDA(BF16)}, /* more classes than tiles wait for */
    {.dim = {65, 2, 35, 8209}, EDGE_CUDA(F16)},
    {.dim = {4, 5, 131, 259}, EDGE_CUDA(BF16)}, /* few rows */
    {.dim = {12, 3, 99, 203}, EDGE_CUDA(F16)},
    {.dim = {9, 300, 3, 2}, EDGE_CUDA(F32)}, /* likewise, a block's tiles of several heads */
    {.dim = {9, 300, 3, 2}, EDGE_CUDA(BF16)},
    {.dim = {18, 3, 130, 70}, EDGE_CUDA(F32)},
    {.dim = {34, 2, 70, 133}, EDGE_CUDA(TF32)},
};

static const ridge_tensor_spec in[] = {
    {.name = "x", .rank = 2, .dim = {HEADS_BATCH, HEADS_DEPTH}, .by_row = true},
    {.name = "w",
     .rank = 3,
     .dim = {HEADS_HEADS, HEADS_DEPTH, HEADS_CLASSES},
     .fill = RIDGE_FILL_WEIGHT,
     .index_dim = HEADS_DEPTH},
    {.name = "b", .rank = 2, .dim = {HEADS_HEADS, HEADS_CLASSES}},
};
static const ridge_tensor_spec out[] = {{.name = "p", .rank = 3, .dim = {HEADS_BATCH, HEADS_HEADS, HEADS_CLASSES}}};

static const ridge_way cpu_ways[] = {LINEAR_CPU_WAYS(multihead_linear_softmax_cpu_optimized,
                                                     multihead_linear_softmax_cpu_optimized,
                                                     multihead_linear_softmax_cpu_optimized)};

static const ridge_way optimized_ways[] = {
    LINEAR_WAYS_SKINNY(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_SPLIT(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_HEADS(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_LOGITS_WAY(&dims),
    LINEAR_WAY_FEW_ROWS(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_COPIED(multihead_linear_softmax_cuda_optimized, &dims),
    LINEAR_WAY_THIN(multihead_linear_softmax_cuda_optimized, &dims),
};
static const ridge_way launches_ways[] = {
    LINEAR_WAYS_SKINNY(multihead_linear_softmax_cuda_launches, &dims_apart),
    LINEAR_WAY_STREAM(multihead_linear_softmax_cuda_launches, &dims_apart),
    LINEAR_WAY_TILES(multihead_linear_softmax_cuda_launches, &dims_apart),
    LINEAR_LOGITS_WAY(&dims_apart),
};

static const ridge_variant variants[] = {
    {.name = "cpu/baseline",
     .role = RIDGE_BASELINE,
     .idea = "plain products head by head, logits to memory, then softmax",
     .run = RIDGE_CPU(multihead_linear_softmax_cpu_baseline),
     LINEAR_CPU_BASELINE},
    {.name = "cpu/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "linear_softmax's ways head by head",
     .ways = RIDGE_LIST(cpu_ways),
     .unavailable = fp32_only},
    {.name = "cuda/baseline",
     .role = RIDGE_BASELINE,
     .idea = "cuBLASLt's products of all heads in one call, logits to memory, then bias and softmax in place",
     .run = RIDGE_CUDA(multihead_linear_softmax_cuda_baseline),
     LINEAR_CUDA_BASELINE},
    {.name = "cuda/launches",
     .role = RIDGE_PEER,
     .idea = "linear_softmax's fused kernel, a launch a head",
     .ways = RIDGE_LIST(launches_ways)},
    {.name = "cuda/optimized",
     .role = RIDGE_OPTIMIZED,
     .idea = "few tiles: one launch, heads are a dimension of the grid; many: fp16 parts or 16 bits, a tile per head",
     .ways = RIDGE_LIST(optimized_ways)},
};

const ridge_target ridge_target_multihead_linear_softmax = {
    .name = "multihead_linear_softmax",
    .summary = "many softmax classifiers over one x: softmax(x w[h] + b[h])",
    .dims = {"batch", "heads", "depth", "classes"},
    LINEAR_TARGET,
};

/* Shared by linear_cross_entropy, linear_cross_entropy_backward and linear_cross_entropy_grad: dimensions, options,
 * work, fp64 oracle and error bound. targets/linear_cross_entropy*\/README.md derive them.
 *
 *     z = x w^T + b                                    x [batch, depth], w [classes, depth], b [classes]
 *     lse_i  = log sum_j exp z_ij
 *     loss_i = (1 - s) (lse_i - z_i,label) + s (lse_i - mean_j z_ij) + zl lse_i^2
 *     G_ij   = dloss_i ((1 + 2 zl lse_i) exp(z_ij - lse_i) - (1 - s) [j = label_i] - s / classes)
 *     dx = G w     dw = G^T x     db_j = sum_i G_ij
 *
 * Rows whose label is ignore_index or not a class are ignored: loss and G are 0, lse is unaffected. If a row's largest
 * logit is not finite, lse is NaN. A term whose factor (s, 1 - s aside) is 0 is absent. */
#ifndef RIDGE_MODEL_CROSS_ENTROPY_H
#define RIDGE_MODEL_CROSS_ENTROPY_H

#include "ridge/target.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CE_BATCH, CE_DEPTH, CE_CLASSES };     /* places in dim[] */
enum { CE_IGNORE, CE_SMOOTHING, CE_Z_LOSS }; /* places in option[] */
#define CE_IGNORE_DEFAULT (-100.0)
#define CE_OPTIONS                                                                                                 \
    {                                                                                                              \
        {.name = "ignore_index", .fallback = CE_IGNORE_DEFAULT}, {.name = "label_smoothing"}, { .name = "z_loss" } \
    }

/* Places of a target's tensors in in[] and out[]; -1: absent. x, w, b and labels are the first four inputs. */
enum { CE_X, CE_W, CE_B, CE_LABELS };
typedef struct ce_places {
    int lse_in, dloss;         /* inputs */
    int loss, lse, dx, dw, db; /* outputs */
    int products;              /* matrix products: 1 for z alone, 3 with gradients */
} ce_places;

/* ---- shared by the three descriptors ---- */

#define CE_TIMED(type) .dtype = RIDGE_##type, .option = {CE_IGNORE_DEFAULT}
#define CE_EDGE(type) .edge = true, .dtype = RIDGE_##type, .option = {CE_IGNORE_DEFAULT}
/* with label_smoothing, z_loss and some ignored rows */
#define CE_EDGE_TOLD(type, ignore, smoothing, z_loss) \
    .edge = true, .dtype = RIDGE_##type, .option = {(ignore), (smoothing), (z_loss)}
#define CE_ONLY_CUDA .only = RIDGE_ONLY_CUDA

/* Timed on every backend. */
#define CE_CASES                                                                         \
    {.dim = {256, 512, 50}, CE_TIMED(F32)}, {.dim = {1024, 1024, 100}, CE_TIMED(F32)}, { \
        .dim = {2048, 1024, 1000}, CE_TIMED(F32)                                         \
    }

/* 4903: more classes than one block of the CPU's has. The two are bit masks for ridge_case.column_major. */
#define CE_EDGES(w_by_columns, all_by_columns)                                                                       \
    {.dim = {0, 3, 4}, CE_EDGE(F32)}, {.dim = {1, 1, 1}, CE_EDGE(F32)}, {.dim = {37, 5, 1}, CE_EDGE(F32)},           \
        {.dim = {3, 1, 7}, CE_EDGE(F32), .column_major = (all_by_columns)},                                          \
        {.dim = {1, 131, 10}, CE_EDGE_TOLD(F32, 3, 0.1, 0)}, {.dim = {33, 129, 29}, CE_EDGE_TOLD(F32, 7, 0, 1e-4)},  \
        {.dim = {131, 113, 127}, CE_EDGE(F32), .column_major = (all_by_columns)},                                    \
        {.dim = {67, 521, 50}, CE_EDGE_TOLD(F32, 4, 0.25, 0.01), .column_major = (w_by_columns)},                    \
        {.dim = {300, 65, 101}, CE_EDGE_TOLD(F32, 4, 1, 0)},                                                         \
        {.dim = {41, 33, 1009}, CE_EDGE_TOLD(F32, -100, 0.1, 1e-4)}, {.dim = {9, 1031, 113}, CE_EDGE(F32)},          \
        {.dim = {35, 7, 4903}, CE_EDGE_TOLD(F32, -100, 0.1, 1e-4)},                                                  \
        {.dim = {1301, 5, 101}, CE_EDGE_TOLD(F32, 4, 0.1, 1e-4), .only = RIDGE_ONLY_CPU}, /* chunks in L2, in L3 */  \
        {.dim = {67, 3, 32771}, CE_EDGE(F32), .column_major = (w_by_columns), .only = RIDGE_ONLY_CPU},               \
        {.dim = {73, 16, 58}, CE_EDGE(F32), CE_ONLY_CUDA}, /* linear_loss_rows.cu: its five kernels */               \
        {.dim = {257, 64, 10}, CE_EDGE_TOLD(F32, 3, 0.1, 1e-4), CE_ONLY_CUDA},                                       \
        {.dim = {35, 784, 10}, CE_EDGE(F32), .column_major = (w_by_columns), CE_ONLY_CUDA},                          \
        {.dim = {200, 528, 50}, CE_EDGE(F32), .column_major = (w_by_columns), CE_ONLY_CUDA},                         \
        {.dim = {149, 176, 100}, CE_EDGE_TOLD(F32, 5, 0.1, 1e-4), CE_ONLY_CUDA}, /* skinny_stream on few SMs */      \
        {.dim = {970, 624, 99}, CE_EDGE_TOLD(F32, 5, 0.1, 1e-4), CE_ONLY_CUDA},                                      \
        {.dim = {1300, 1152, 120}, CE_EDGE_TOLD(F32, 5, 0, 0), .column_major = (w_by_columns), CE_ONLY_CUDA},        \
        {.dim = {261, 1036, 1300}, CE_EDGE_TOLD(F32, 5, 0.1, 1e-4), CE_ONLY_CUDA}, /* linear_split.cuh */            \
        {.dim = {520, 516, 1340}, CE_EDGE(F32), .column_major = (w_by_columns), CE_ONLY_CUDA},                       \
        {.dim = {48, 1028, 7800}, CE_EDGE_TOLD(F32, -100, 0.1, 1e-4), CE_ONLY_CUDA},                                 \
        {.dim = {48, 1028, 7800}, CE_EDGE(F32), .column_major = (w_by_columns), CE_ONLY_CUDA},                       \
        {.dim = {67, 131, 521}, CE_EDGE_TOLD(F32, 5, 0.1, 1e-4), CE_ONLY_CUDA}, /* split, of odd lines */            \
        {.dim = {66, 133, 522}, CE_EDGE(F32), .column_major = (all_by_columns), CE_ONLY_CUDA},                       \
        {.dim = {40, 1021, 8300},                                                                                    \
         CE_EDGE_TOLD(BF16, 5, 0.1, 1e-4),                                                                           \
         CE_ONLY_CUDA}, /* copied, some classes at a time */                                                         \
        {.dim = {131, 1032, 136}, CE_EDGE_TOLD(BF16, 5, 0.1, 1e-4), CE_ONLY_CUDA}, /* a depth in shares */           \
        {.dim = {300, 72, 40}, CE_EDGE_TOLD(F16, 5, 0.1, 1e-4), CE_ONLY_CUDA},     /* narrow tiles */                \
        {.dim = {131, 200, 64}, CE_EDGE(BF16), .column_major = (w_by_columns), CE_ONLY_CUDA},                        \
        {.dim = {40, 523, 35}, CE_EDGE(F16), .column_major = (w_by_columns), CE_ONLY_CUDA},                          \
        {.dim = {35, 333, 100}, CE_EDGE(F32), .column_major = (w_by_columns), CE_ONLY_CUDA},                         \
        {.dim = {67, 35, 257}, CE_EDGE(TF32), CE_ONLY_CUDA},                                                         \
        {.dim = {129, 512, 1000}, CE_EDGE_TOLD(TF32, 5, 0.1, 1e-4), .column_major = (all_by_columns), CE_ONLY_CUDA}, \
        {.dim = {1, 130, 1003}, CE_EDGE_TOLD(F32, 3, 0.1, 1e-4), CE_ONLY_CUDA}, /* few rows */                       \
        {.dim = {4, 517, 1300}, CE_EDGE_TOLD(TF32, -100, 0.1, 0), .column_major = (w_by_columns), CE_ONLY_CUDA},     \
        {.dim = {7, 64, 900}, CE_EDGE(F32), CE_ONLY_CUDA}, {.dim = {14, 263, 777}, CE_EDGE(F32), CE_ONLY_CUDA},      \
        {.dim = {3, 301, 1030}, CE_EDGE_TOLD(BF16, 3, 0, 1e-4), CE_ONLY_CUDA},                                       \
        {.dim = {12, 136, 1024}, CE_EDGE(BF16), CE_ONLY_CUDA},                                                       \
        {.dim = {16, 75, 1203}, CE_EDGE_TOLD(F16, 5, 0.1, 1e-4), CE_ONLY_CUDA},                                      \
        {.dim = {24, 301, 515}, CE_EDGE_TOLD(F16, 5, 0.1, 1e-4), CE_ONLY_CUDA},                                      \
        {.dim = {11, 77, 402}, CE_EDGE(BF16), .column_major = (w_by_columns), CE_ONLY_CUDA},                         \
        {.dim = {6, 72, 1001}, CE_EDGE(F16), .column_major = (all_by_columns), CE_ONLY_CUDA},                        \
        {.dim = {1, 1400, 300}, CE_EDGE(F16), .column_major = (w_by_columns), CE_ONLY_CUDA},                         \
        {.dim = {20, 35, 21}, CE_EDGE_TOLD(F32, 5, 0.1, 1e-4), CE_ONLY_CUDA}, /* likewise, by tensor cores */        \
        {.dim = {33, 19, 23}, CE_EDGE(F32), .column_major = (all_by_columns), CE_ONLY_CUDA},                         \
        {.dim = {18, 37, 23}, CE_EDGE(TF32), .column_major = (w_by_columns), CE_ONLY_CUDA},                          \
        {.dim = {34, 21, 19}, CE_EDGE_TOLD(TF32, 5, 0.1, 1e-4), CE_ONLY_CUDA},                                       \
        {.dim = {40, 17, 23}, CE_EDGE(BF16), CE_ONLY_CUDA},                                                          \
        {.dim = {21, 32, 24}, CE_EDGE_TOLD(F16, 5, 0, 0), CE_ONLY_CUDA},                                             \
        {.dim = {19, 41, 20}, CE_EDGE(F16), .column_major = (all_by_columns), CE_ONLY_CUDA},                         \
        {.dim = {17, 259, 777}, CE_EDGE(BF16), .column_major = (w_by_columns), CE_ONLY_CUDA},                        \
        {.dim = {37, 517, 1031}, CE_EDGE(F32), CE_ONLY_CUDA},                                                        \
        {.dim = {67, 131, 521}, CE_EDGE_TOLD(TF32, 5, 0.1, 1e-4), CE_ONLY_CUDA}, /* half, of odd lines */            \
        {.dim = {66, 133, 522}, CE_EDGE(TF32), .column_major = (all_by_columns), CE_ONLY_CUDA},                      \
        {.dim = {2309, 37, 19}, CE_EDGE_TOLD(TF32, 5, 0.1, 1e-4), CE_ONLY_CUDA}, /* the same, few classes */         \
        {.dim = {2309, 131, 70}, CE_EDGE(F32), CE_ONLY_CUDA}, /* dw by multiply-adds in shares of the rows */        \
        {.dim = {2500, 41, 20}, CE_EDGE_TOLD(F32, 5, 0.1, 1e-4), .column_major = (all_by_columns), CE_ONLY_CUDA},    \
        {.dim = {2100, 24, 9}, CE_EDGE_TOLD(F16, 5, 0.1, 1e-4), CE_ONLY_CUDA},                                       \
        {.dim = {2065, 33, 17}, CE_EDGE(BF16), .column_major = (all_by_columns), CE_ONLY_CUDA},                      \
        {.dim = {35, 7, 4903}, CE_EDGE_TOLD(TF32, -100, 0.1, 1e-4), CE_ONLY_CUDA}, /* few deep columns, shares */    \
        {.dim = {0, 64, 128}, CE_EDGE(BF16), CE_ONLY_CUDA}, {.dim = {1, 1, 1}, CE_EDGE(BF16), CE_ONLY_CUDA},         \
        {.dim = {1, 64, 10}, CE_EDGE_TOLD(BF16, 3, 0.1, 0), CE_ONLY_CUDA},                                           \
        {.dim = {1, 256, 4104}, CE_EDGE(BF16), CE_ONLY_CUDA}, /* products of a depth of one */                       \
        {.dim = {67, 129, 131}, CE_EDGE(BF16), CE_ONLY_CUDA}, {.dim = {128, 64, 128}, CE_EDGE(BF16), CE_ONLY_CUDA},  \
        {.dim = {256, 512, 1024}, CE_EDGE(BF16), CE_ONLY_CUDA},                                                      \
        {.dim = {257, 520, 1009}, CE_EDGE_TOLD(BF16, 5, 0.1, 1e-4), CE_ONLY_CUDA},                                   \
        {.dim = {257, 520, 1000}, CE_EDGE_TOLD(BF16, 5, 0, 1e-4), .column_major = (all_by_columns), CE_ONLY_CUDA},   \
        {.dim = {130, 72, 4999}, CE_EDGE_TOLD(BF16, -100, 0.1, 0), CE_ONLY_CUDA},                                    \
        {.dim = {1, 1, 10}, CE_EDGE(F16), CE_ONLY_CUDA}, {.dim = {256, 512, 1024}, CE_EDGE(F16), CE_ONLY_CUDA},      \
        {.dim = {131, 257, 521}, CE_EDGE_TOLD(F16, 5, 0.1, 1e-4), CE_ONLY_CUDA}, {                                   \
        .dim = {66, 136, 1009}, CE_EDGE(F16), .column_major = (all_by_columns), CE_ONLY_CUDA                         \
    }

/* CE_X … CE_LABELS. Callers may pass labels of 64 bits: kernels read the tensor's type. */
#define CE_INPUTS                                                                                     \
    {.name = "x", .rank = 2, .dim = {CE_BATCH, CE_DEPTH}, .by_row = true},                            \
        {.name = "w",                                                                                 \
         .rank = 2,                                                                                   \
         .dim = {CE_CLASSES, CE_DEPTH},                                                               \
         .fill = RIDGE_FILL_WEIGHT,                                                                   \
         .index_dim = CE_DEPTH,                                                                       \
         .by_row = true,                                                                              \
         .takes_column_major = true},                                                                 \
        {.name = "b", .rank = 1, .dim = {CE_CLASSES}, .dtype = RIDGE_F32, .by_row = true}, {          \
        .name = "labels", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_I32, .fill = RIDGE_FILL_INDEX, \
        .index_dim = CE_CLASSES, .by_row = true                                                       \
    }
/* Behind them. */
#define CE_LSE_INPUT                                                                             \
    {                                                                                            \
        .name = "lse", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32, .fill = RIDGE_FILL_LOG, \
        .index_dim = CE_CLASSES, .by_row = true                                                  \
    }
/* Plain: for denormal ones the precision decides whether G is 0, and 0 times an infinity of w is NaN. */
#define CE_DLOSS_INPUT \
    { .name = "dloss", .rank = 1, .dim = {CE_BATCH}, .dtype = RIDGE_F32, .by_row = true, .plain = true }
/* Outputs. */
#define CE_GRADIENT_OUTPUTS                                                                     \
    {.name = "dx", .rank = 2, .dim = {CE_BATCH, CE_DEPTH}},                                     \
        {.name = "dw", .rank = 2, .dim = {CE_CLASSES, CE_DEPTH}, .takes_column_major = true}, { \
        .name = "db", .rank = 1, .dim = {CE_CLASSES}, .dtype = RIDGE_F32                        \
    }

void ce_work(const ce_places *at, const ridge_case *c, ridge_work *work);
void ce_oracle(const ce_places *at, const ridge_oracle_call *call);
void ce_bound(const ce_places *at, const ridge_oracle_call *call, ridge_fill_kind kind, int output, ridge_bound *bound);
const char *ce_reject(const ridge_case *c);

/* CPU variants. */
void ce_unfused_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic);
size_t ce_unfused_scratch(const ridge_case *c, int threads);

/* Ways of the optimized CPU variant; way->own: the ce_places. */
typedef enum ce_cpu_way { CE_CPU_FUSED, CE_CPU_CHUNKS } ce_cpu_way;
ridge_plan ce_cpu_plan(const ridge_way *way, const ridge_problem *p);

/* A library's product: oneDNN's where there is one, else OpenBLAS's. */
const char *ce_library_unavailable(const ridge_case *c);
const char *ce_openblas_unavailable(const ridge_case *c);
ridge_status ce_library_prepare(const ridge_case *c, int threads, void **plan);
struct linear_ce_library;
const struct linear_ce_library *ce_library(void);
const struct linear_ce_library *ce_openblas(void);

/* NULL, or why the CPU kernels, which are fp32 only, cannot run the case. */
const char *ce_cpu_unavailable(const ridge_case *c);

/* GPU variants. */
void ce_cuda_unfused_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic);

/* The ways of the optimized one (cuda/linear/loss_ways.h); way->own: the ce_places. */
ridge_plan linear_loss_way_plan(const ridge_way *way, const ridge_problem *problem);

/* With cuBLASLt: one plan per product. Its workspace follows the scratch of the unfused variants. */
enum { CE_LOGITS, CE_TO_DX, CE_TO_DW, CE_PRODUCTS };
typedef struct ce_cuda_plans {
    struct cublaslt_plan *product[CE_PRODUCTS];
} ce_cuda_plans;
const char *ce_cuda_library_unavailable(const ridge_case *c); /* of logits alone */
const char *ce_cuda_library_gradient_unavailable(const ridge_case *c);
size_t ce_cuda_library_scratch(const ridge_case *c, int threads);
ridge_status ce_cuda_library_prepare(const ridge_case *c, int threads, void **plan); /* of logits alone */
ridge_status ce_cuda_library_gradient_prepare(const ridge_case *c, int threads, void **plan);
void ce_cuda_library_release(void *plan);

#ifdef __cplusplus
}
#endif
#endif

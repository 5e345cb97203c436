/* Ways: the choice among kernels is computed without a device. */
#include "cuda/rows/ways.h"
#include "model/activation.h"
#include "ridge/target.h"
#include "verify/combination.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const ridge_abilities h200 = {.sm = 90, .sm_count = 132}, a100 = {.sm = 80, .sm_count = 108};

static bool takes(const ridge_variant *variant, const ridge_way *way, const ridge_problem *p) {
    (void)variant;
    const char *refusal = way->plan ? way->plan(way, p).refusal : NULL;
    return p->here.sm >= way->needs && (!way->below || p->here.sm < way->below) && !refusal;
}

/* ---- every table ------------------------------------------------------------------------------------------------- */

static const ridge_target *any_target(void) {
    const ridge_target *target = ridge_target_find("online_softmax");
    assert_non_null(target);
    return target;
}

static ridge_status never_run(const ridge_call *call) {
    (void)call;
    return RIDGE_FAILED;
}

/* A build without CUDA has no code for the ways of a GPU: the choice is made as if it had. */
static ridge_way with_code(const ridge_variant *variant, const ridge_way *way) {
    ridge_way copy = *way;
    for (int isa = 0; isa < RIDGE_ISA_COUNT && ridge_variant_backend(variant) == RIDGE_BACKEND_cuda; isa++)
        copy.run[isa] = never_run;
    return copy;
}

/* Edge cases of which `ridge verify` runs a combination by this way. */
static int cases_run(const ridge_target *target, const ridge_variant *variant, const ridge_way *way, int sm_count) {
    int cases = 0;
    const ridge_way copy = with_code(variant, way);
    const ridge_variant one = ridge_variant_of_way(variant, &copy, "cuda/optimized:one");
    for (int i = 0; i < target->n_cases; i++) {
        const ridge_case *c = &target->cases[i];
        if (!c->edge || !ridge_case_is_for(c, ridge_variant_backend(variant))) continue;
        bool any = false;
        for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
            const int sm = way->needs > 90 ? way->needs : 90;
            const ridge_abilities here = {.isa = (ridge_isa)isa, .threads = 2, .sm = sm, .sm_count = sm_count};
            any = any || ridge_combinations_taken(target, &one, c, &here) > 0;
        }
        cases += any;
    }
    return cases;
}

/* Skips a test of ways of every instruction set in a build that leaves some out. */
static void want_all_sets(void) {
#if defined(RIDGE_WITHOUT_avx2) || defined(RIDGE_WITHOUT_avx512)
    skip();
#endif
}

/* `ridge verify --edges` runs every way, on an H200 and on the emulated device of few SMs, or on such of compute capability
 * 10.0: else nobody would verify it. */
static void every_way_has_a_case(void **state) {
    (void)state;
    want_all_sets();
    int seen = 0, missing = 0;
    for (int t = 0; t < ridge_target_count; t++) {
        const ridge_target *target = ridge_targets[t];
        for (int v = 0; v < target->n_variants; v++) {
            const ridge_variant *variant = &target->variants[v];
            for (int w = 0; w < variant->n_ways; w++, seen++) {
                static const int sms[] = {132, 32};
                for (int i = 0; i < 2; i++) {
                    if (cases_run(target, variant, &variant->ways[w], sms[i]) > 0) continue;
                    missing++;
                    print_error("%s %s: no edge case for way %s on %d SMs\n", target->name, variant->name,
                                variant->ways[w].name, sms[i]);
                }
            }
        }
    }
    assert_int_equal(missing, 0);
    assert_true(seen >= 28);
}

static bool has_way_here(const ridge_variant *variant) {
    for (int w = 0; w < variant->n_ways; w++)
        if (variant->ways[w].needs <= h200.sm) return true;
    return false;
}

/* Every case can be run by some way, dense as it is, unless all ways are for another device. */
static void every_case_has_a_way(void **state) {
    (void)state;
    for (int t = 0; t < ridge_target_count; t++) {
        const ridge_target *target = ridge_targets[t];
        for (int v = 0; v < target->n_variants; v++) {
            const ridge_variant *variant = &target->variants[v];
            for (int i = 0; i < target->n_cases && has_way_here(variant); i++) {
                ridge_problem p;
                bool any = false;
                if (!ridge_case_is_for(&target->cases[i], ridge_variant_backend(variant))) continue;
                ridge_problem_dense(target, &target->cases[i], &h200, &p);
                for (int w = 0; w < variant->n_ways; w++) any = any || takes(variant, &variant->ways[w], &p);
                if (!any) fail_msg("%s %s: no way takes case %d", target->name, variant->name, i);
            }
        }
    }
}

/* Code for 9.0a and 10.0a runs on these alone: a way of either refuses other devices with one sentence. */
static void ways_of_one_generation_refuse_others(void **state) {
    (void)state;
    static const struct {
        const char *target;
        int sm;
        const char *refusal;
    } expected[] = {
        {"tma_pipeline", 80, "needs compute capability 9.0"},
        {"tma_pipeline", 90, NULL},
        {"tma_pipeline", 100, "for compute capability 9.0 alone"},
        {"tcgen05_basic", 90, "needs compute capability 10.0"},
        {"tcgen05_basic", 100, NULL},
        {"tcgen05_basic", 103, "for compute capability 10.0 alone"},
        {"tcgen05_pipelined", 90, "needs compute capability 10.0"},
        {"tcgen05_pipelined", 100, NULL},
        {"tcgen05_tma_pipeline", 90, "needs compute capability 10.0"},
        {"tcgen05_tma_pipeline", 100, NULL},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const ridge_target *target = ridge_target_find(expected[i].target);
        assert_non_null(target);
        const ridge_variant *variant = &target->variants[0];
        const ridge_way way = with_code(variant, &variant->ways[0]);
        const ridge_case c = {.dim = {256, 256, 256}, .dtype = RIDGE_BF16};
        const ridge_abilities here = {.sm = expected[i].sm, .sm_count = 132};
        ridge_problem p;
        ridge_problem_dense(target, &c, &here, &p);
        const char *refusal = ridge_way_obstacle(variant, &way, &p);
        if (expected[i].refusal)
            assert_string_equal(refusal, expected[i].refusal);
        else
            assert_null(refusal);
    }
}

/* Each draw begins elsewhere, and has every combination once. */
static void combinations_are_drawn(void **state) {
    (void)state;
    const ridge_target *target = any_target();
    const ridge_case c = {.dim = {3, 15}, .dtype = RIDGE_F32, .edge = true};
    int first = -1, other = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        int order[RIDGE_COMBINATIONS];
        bool met[RIDGE_COMBINATIONS] = {false};
        const int n = ridge_combinations_draw(target, &c, seed, order);
        assert_int_equal(n, RIDGE_COMBINATIONS);
        for (int i = 0; i < n; i++) {
            assert_false(met[order[i]]);
            met[order[i]] = true;
        }
        other += first >= 0 && order[0] != first;
        first = order[0];
    }
    assert_true(other > 5);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const char *chosen_way_of(const char *name, const ridge_case *c, unsigned offset, const ridge_abilities *here) {
    const ridge_target *target = ridge_target_find(name);
    assert_non_null(target);
    ridge_problem p;
    ridge_problem_dense(target, c, here, &p);
    p.tensor[0].offset = offset;
    /* not ridge_way_choose: the tests may be built without the kernels */
    const ridge_way *best = NULL;
    double least = 0;
    for (int v = 0; v < target->n_variants; v++)
        for (int w = 0; target->variants[v].role == RIDGE_OPTIMIZED && w < target->variants[v].n_ways; w++) {
            const ridge_way *way = &target->variants[v].ways[w];
            const double cost = way->plan ? way->plan(way, &p).us : 0;
            if (!takes(&target->variants[v], way, &p) || (best && !(cost < least))) continue;
            best = way, least = cost;
        }
    return best ? best->name : NULL;
}
static const char *chosen_way(const char *name, int64_t rows, int64_t columns, ridge_dtype dtype, unsigned offset,
                              const ridge_abilities *here) {
    const ridge_case c = {.dim = {rows, columns}, .dtype = dtype};
    return chosen_way_of(name, &c, offset, here);
}

/* A target with options goes the way of the target without that computes the same: no kernel is the latter's alone. */
static void options_cost_no_way(void **state) {
    (void)state;
    static const struct {
        const char *without, *with;
        int activation;
    } pairs[] = {{"fused_l2norm", "l2_norm", ACTIVATION_NONE},
                 {"norm_activation", "layer_norm", ACTIVATION_GELU},
                 {"norm_activation", "layer_norm", ACTIVATION_NONE},
                 {"norm_activation_rms", "rms_norm", ACTIVATION_SILU},
                 {"norm_activation_rms", "rms_norm", ACTIVATION_NONE}};
    static const ridge_dtype types[] = {RIDGE_F32, RIDGE_BF16, RIDGE_F16};
    static const int64_t rows[] = {1, 3, 128, 4096, 300000},
                         columns[] = {1, 7, 64, 100, 1024, 4096, 5003, 16384, 30001, 32768, 131072, 262144};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (size_t n = 0; n < sizeof rows / sizeof rows[0]; n++)
            for (size_t m = 0; m < 2 * sizeof columns / sizeof columns[0]; m++)
                for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
                    const ridge_case c = {
                        .dim = {rows[n], columns[m / 2]}, .dtype = types[t], .option = {1e-5, pairs[i].activation}};
                    const unsigned offset = m % 2 * 4;
                    assert_string_equal(chosen_way_of(pairs[i].with, &c, offset, &h200),
                                        chosen_way_of(pairs[i].without, &c, offset, &h200));
                }
}

static void rows_go_where_they_belong(void **state) {
    (void)state;
    static const struct {
        const char *target;
        int64_t rows, columns;
        ridge_dtype dtype;
        unsigned offset;
        const ridge_abilities *here;
        const char *way;
    } expected[] = {
        {"online_softmax", 1000000, 8, RIDGE_F32, 0, &h200, "rows_thread"},
        {"online_softmax", 1000000, 7, RIDGE_F32, 0, &h200, "rows_staged"},
        {"online_softmax", 1000000, 7, RIDGE_F32, 0, &a100, "rows_lanes"},
        {"fused_l2norm", 100000, 300, RIDGE_F32, 0, &h200, "rows_warp"},
        {"fused_l2norm", 100000, 4096, RIDGE_F32, 0, &h200, "rows_filled"},
        {"fused_l2norm", 32768, 4096, RIDGE_BF16, 0, &h200, "rows_block"},
        {"add_rms_norm", 503881, 11, RIDGE_BF16, 0, &h200, "rows_staged"},
        {"add_rms_norm", 503881, 11, RIDGE_BF16, 0, &a100, "rows_lanes"},
        {"add_rms_norm", 509912, 32, RIDGE_BF16, 0, &h200, "rows_lanes"},
        {"add_rms_norm", 4333, 297, RIDGE_BF16, 0, &h200, "rows_warp"},
        {"add_rms_norm", 12784, 2248, RIDGE_BF16, 0, &h200, "rows_block"},
        {"norm_activation_rms", 45102, 277, RIDGE_F32, 0, &h200, "rows_warp"},
        {"norm_activation_rms", 61016, 72, RIDGE_BF16, 0, &h200, "rows_lanes"},
        {"masked_softmax", 322264, 2, RIDGE_BF16, 0, &h200, "rows_staged"},
        {"norm_activation", 126852, 2, RIDGE_F32, 0, &h200, "rows_staged"},
        {"online_softmax", 131072, 8, RIDGE_F16, 0, &h200, "rows_thread"},
        {"norm_activation_rms", 380119, 15, RIDGE_F16, 2, &h200, "rows_single"},
        {"fused_l2norm", 734888, 8, RIDGE_F32, 0, &h200, "rows_thread"},
        {"norm_activation_rms", 9, 16, RIDGE_F32, 0, &h200, "rows_warp"},
        {"norm_activation", 32768, 4096, RIDGE_BF16, 0, &h200, "rows_filled"},
        {"norm_activation", 64, 2000, RIDGE_BF16, 0, &h200, "rows_spread"},
        {"norm_activation", 64, 2001, RIDGE_BF16, 0, &h200, "rows_spread"},
        {"norm_activation_rms", 100000, 128, RIDGE_BF16, 0, &h200, "rows_lanes"},
        {"online_softmax", 4096, 64, RIDGE_F32, 0, &h200, "rows_lanes"},
        {"online_softmax", 9, 64, RIDGE_F32, 0, &h200, "rows_warp"},
        {"online_softmax", 9, 65, RIDGE_F32, 0, &h200, "rows_warp"},
        {"online_softmax", 9, 257, RIDGE_F32, 0, &h200, "rows_warp"},
        {"online_softmax", 9, 4096, RIDGE_F32, 0, &h200, "rows_block"}, /* softmax has no kernel for filled threads */
        {"fused_l2norm", 9, 4096, RIDGE_F32, 0, &h200, "rows_filled"},
        {"fused_l2norm", 9, 4096, RIDGE_BF16, 0, &h200, "rows_spread"},
        {"fused_l2norm", 9, 4097, RIDGE_F32, 0, &h200, "rows_block"},
        {"norm_activation", 9, 2048, RIDGE_BF16, 0, &h200, "rows_spread"},
        {"norm_activation", 9, 12288, RIDGE_BF16, 0, &h200, "rows_block"},
        {"norm_activation", 9, 4096, RIDGE_BF16, 0, &h200, "rows_spread"},
        {"norm_activation", 128, 4096, RIDGE_F32, 0, &h200, "rows_filled"},
        {"fused_l2norm", 9, 16385, RIDGE_F32, 0, &h200, "rows_cluster"},
        {"fused_l2norm", 9, 16385, RIDGE_F32, 0, &a100, "rows_reread"},
        {"fused_l2norm", 9, 262145, RIDGE_F32, 0, &h200, "rows_reread"},
        {"norm_activation_rms", 2, 65536, RIDGE_BF16, 0, &h200, "rows_fetch"},
        {"norm_activation_rms", 2, 65537, RIDGE_BF16, 0, &h200, "rows_shifted"},
        {"norm_activation", 1936, 16, RIDGE_F16, 2, &h200, "rows_single"},
        {"masked_softmax", 8192, 16384, RIDGE_BF16, 0, &h200, "rows_reread"},
        {"norm_activation_rms", 50637, 3028, RIDGE_F16, 2, &h200, "rows_shifted"},
        {"add_rms_norm", 16155, 5883, RIDGE_F16, 2, &h200, "rows_shifted"},
        {"masked_softmax", 9704, 9722, RIDGE_F16, 2, &h200, "rows_shifted"},
        {"norm_activation_rms", 2, 65536, RIDGE_F32, 0, &h200, "rows_cluster"},
        {"norm_activation", 4096, 131072, RIDGE_F32, 0, &h200, "rows_persistent"},
        {"norm_activation", 63, 131072, RIDGE_F32, 0, &h200, "rows_cluster"},
        {"fused_l2norm", 9, 4096, RIDGE_F32, 4, &h200, "rows_shifted"},
        {"fused_l2norm", 9, 131072, RIDGE_F32, 4, &h200, "rows_shifted"},
        {"fused_l2norm", 9, 131073, RIDGE_F32, 4, &h200, "rows_shifted"},
        {"norm_activation_rms", 3, 230257, RIDGE_F32, 4, &h200, "rows_shifted"},
        {"fused_l2norm", 9, 262145, RIDGE_F32, 4, &h200, "rows_reread"},
        {"fused_l2norm", 9, 131073, RIDGE_F32, 4, &a100, "rows_reread"},
        {"fused_l2norm", 9, 8193, RIDGE_F32, 4, &a100, "rows_reread"},
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const char *way = chosen_way(expected[i].target, expected[i].rows, expected[i].columns, expected[i].dtype,
                                     expected[i].offset, expected[i].here);
        if (strcmp(way, expected[i].way) == 0) continue;
        wrong++;
        print_error("%s %lldx%lld: %s, want %s\n", expected[i].target, (long long)expected[i].rows,
                    (long long)expected[i].columns, way, expected[i].way);
    }
    assert_int_equal(wrong, 0);
}

/* ---- products by multiply-adds on a GPU -------------------------------------------------------------------------- */

static const char *chosen_tiles(const int64_t dim[3], ridge_dtype dtype) {
    const ridge_target *target = ridge_target_find("micro_tiling_matmul");
    assert_non_null(target);
    const ridge_case c = {.dim = {dim[0], dim[1], dim[2]}, .dtype = dtype};
    ridge_problem p;
    ridge_problem_dense(target, &c, &h200, &p);
    const ridge_way *best = NULL;
    double least = 0;
    for (int v = 0; v < target->n_variants; v++)
        for (int w = 0; target->variants[v].role == RIDGE_OPTIMIZED && w < target->variants[v].n_ways; w++) {
            const ridge_way *way = &target->variants[v].ways[w];
            if (!way->plan) continue; /* of a CPU */
            const ridge_plan plan = way->plan(way, &p);
            if (!plan.refusal && (!best || plan.us < least)) best = way, least = plan.us;
        }
    return best ? best->name : "none";
}

/* Large tiles where they fill the SMs, small ones where large ones would be too few, copies of an element where no piece
 * of 16 bytes lies on its boundary. */
static void tiles_fill_the_sms(void **state) {
    (void)state;
    static const struct {
        int64_t dim[3];
        ridge_dtype dtype;
        const char *way;
    } expected[] = {
        {{1024, 1024, 1024}, RIDGE_F32, "tiles_4x8"}, {{4096, 4096, 4096}, RIDGE_F32, "tiles_8x16"},
        {{1408, 1536, 1536}, RIDGE_F32, "tiles_8x8"}, {{1023, 1025, 1031}, RIDGE_F32, "tiles_scalar"},
        {{1024, 1024, 1024}, RIDGE_F16, "any"},       {{4096, 4096, 4096}, RIDGE_F16, "tiles_8x16"},
        {{1023, 1025, 1031}, RIDGE_F16, "any"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_string_equal(chosen_tiles(expected[i].dim, expected[i].dtype), expected[i].way);
}

/* ---- products on a CPU ------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static const char *chosen_by(const ridge_abilities *here, const char *name, const int64_t dim[3],
                             unsigned column_major) {
    const ridge_target *target = ridge_target_find(name);
    assert_non_null(target);
    const ridge_case c = {.dim = {dim[0], dim[1], dim[2]}, .dtype = RIDGE_F32, .column_major = column_major};
    for (int v = 0; v < target->n_variants; v++)
        if (strcmp(target->variants[v].name, "cpu/optimized") == 0)
            return ridge_variant_dense_way(target, &target->variants[v], &c, here)->name;
    return NULL;
}

static const char *chosen(const char *name, const int64_t dim[3], int threads, unsigned column_major) {
    const ridge_abilities zen3 = {.isa = RIDGE_ISA_avx2, .threads = threads, .rates = {104e3, 17e3}};
    return chosen_by(&zen3, name, dim, column_major);
}
#endif

/* On a Zen 4 core the fused kernel runs at three quarters of the ceiling and more; products of few classes do not. */
static void few_classes_stay_fused_on_avx512(void **state) {
    (void)state;
    want_all_sets();
#if defined(__x86_64__)
    static const char *const targets[] = {"linear_cross_entropy", "linear_cross_entropy_backward",
                                          "linear_cross_entropy_grad"};
    static const int64_t dims[][3] = {{1024, 1024, 100}, {1024, 1024, 128}, {1024, 1000, 100}, {1024, 512, 100}};
    for (int t = 0; t < 3; t++)
        for (int d = 0; d < 4; d++)
            for (int threads = 1; threads <= 2; threads++) {
                const ridge_abilities zen4 = {.isa = RIDGE_ISA_avx512, .threads = threads, .rates = {118e3, 20e3}};
                assert_string_equal(chosen_by(&zen4, targets[t], dims[d], 0), "fused");
            }
#endif
}

/* Shapes on which the ways of a Zen 3 core with AVX2 were more than a fifth apart. */
static void products_go_where_they_are_fast(void **state) {
    (void)state;
    want_all_sets();
#if defined(__x86_64__)
    static const struct {
        const char *target;
        int64_t dim[3];
        int threads;
        unsigned column_major;
        const char *way;
    } expected[] = {
        {"micro_tiling_matmul", {1, 3359, 1415}, 1, 0, "stream"},
        {"micro_tiling_matmul", {8, 3000, 500}, 2, 0, "stream"},
        {"micro_tiling_matmul", {1000, 1000, 8}, 1, 0, "stream"},
        {"micro_tiling_matmul", {3000, 16, 500}, 1, 0, "stream"},
        {"micro_tiling_matmul", {6209, 1, 1091}, 1, 0, "dots"},
        {"micro_tiling_matmul", {1024, 1024, 1024}, 1, 0, "blocked"},
        {"micro_tiling_matmul", {1536, 1536, 1536}, 2, 0, "blocked"},
        {"micro_tiling_matmul", {32, 16384, 512}, 1, 0, "blocked"}, /* rows of B share sets of the caches */
        {"micro_tiling_matmul", {100, 1024, 512}, 1, 0, "blocked"},
        {"micro_tiling_matmul", {100, 1024, 512}, 2, 0, "blocked"}, /* and do so in each thread's half of the columns */
        {"micro_tiling_matmul", {64, 3000, 2000}, 1, 0, "blocked"},
        {"micro_tiling_matmul", {4000, 4000, 16}, 1, 0, "stream"},
        {"linear_softmax", {409673, 9, 5}, 1, 0, "fused"},
        {"linear_softmax", {3, 493, 29663}, 1, 0, "product"},
        {"linear_softmax", {505, 924, 544}, 2, 0, "product"},
        {"linear_cross_entropy", {262144, 8, 8}, 1, 0, "fused"},
        {"linear_cross_entropy", {24, 656, 13864}, 1, 0, "chunks"},
        {"linear_cross_entropy", {24, 656, 13864}, 1, 1u << 1, "chunks"},
        {"linear_cross_entropy_backward", {262144, 16, 2}, 1, 0, "fused"},
        {"linear_cross_entropy_backward", {2048, 1024, 1000}, 2, 0, "chunks"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const char *way = chosen(expected[i].target, expected[i].dim, expected[i].threads, expected[i].column_major);
        if (strcmp(way, expected[i].way) != 0)
            fail_msg("%s %lldx%lldx%lld: %s, want %s", expected[i].target, (long long)expected[i].dim[0],
                     (long long)expected[i].dim[1], (long long)expected[i].dim[2], way, expected[i].way);
    }
#endif
}

/* ---- predictions and ceilings ------------------------------------------------------------------------------------ */

typedef struct cpu_of_test {
    const char *isa;
    ridge_rates rates;
} cpu_of_test;

static ridge_isa isa_named(const char *name) {
    for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++)
        if (strcmp(ridge_isa_name((ridge_isa)isa), name) == 0) return (ridge_isa)isa;
    return RIDGE_ISA_COUNT;
}

/* The core's ceiling is of fp32; a lane of it takes four numbers of 8 bits. */
static double factors_of_a_lane(ridge_dtype type) { return type == RIDGE_I8 ? 4 : 1; }

/* A prediction is a share of the ceilings: whatever they are, it exceeds neither. */
static void check_predictions(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                              const ridge_abilities *here) {
    ridge_problem p;
    ridge_work work;
    target->work(c, &work);
    ridge_problem_dense(target, c, here, &p);
    const double core = work.flops / here->rates.flops / here->threads;
    const double memory = (work.bytes_read + work.bytes_written) / here->rates.bytes / here->threads;
    for (int w = 0; w < variant->n_ways; w++) {
        const ridge_way *way = &variant->ways[w];
        if (ridge_way_obstacle(variant, way, &p)) continue;
        const ridge_plan plan = ridge_way_plan(variant, way, &p);
        const double cost = plan.us, least = core / factors_of_a_lane(plan.arithmetic.type);
        if (!(cost >= 0.999 * least && cost >= 0.999 * memory))
            fail_msg(
                "%s %lldx%lldx%lldx%lld, %d threads of %s: %s is predicted to take %g us, the ceilings need %g and %g",
                target->name, (long long)c->dim[0], (long long)c->dim[1], (long long)c->dim[2], (long long)c->dim[3],
                here->threads, ridge_isa_name(here->isa), way->name, cost, least, memory);
    }
}

static void no_prediction_beats_a_ceiling(void **state) {
    (void)state;
    static const cpu_of_test cpus[] = {
        {"avx2", {104e3, 14e3}},   {"avx2", {59e3, 60e3}},     {"avx512", {118e3, 20e3}}, /* Zen 4: one of 512 bits a
                                                                                             cycle */
        {"avx512", {179e3, 12e3}}, {"avx512", {236e3, 300e3}}, {"scalar", {12e3, 10e3}},  {"neon", {90e3, 25e3}},
    };
    static const int64_t extents[] = {1, 3, 16, 33, 100, 128, 1000, 1024, 4097};
    enum { EXTENTS = sizeof extents / sizeof extents[0] };
    for (int t = 0; t < ridge_target_count; t++)
        for (int v = 0; v < ridge_targets[t]->n_variants; v++) {
            const ridge_target *target = ridge_targets[t];
            const ridge_variant *variant = &target->variants[v];
            if (ridge_variant_backend(variant) != RIDGE_BACKEND_cpu || variant->n_ways == 0) continue;
            for (size_t m = 0; m < sizeof cpus / sizeof cpus[0]; m++) {
                ridge_abilities here = {.isa = isa_named(cpus[m].isa), .rates = cpus[m].rates};
                if (here.isa == RIDGE_ISA_COUNT) continue;
                for (here.threads = 1; here.threads <= 2; here.threads++)
                    for (int i = 0; i < EXTENTS * EXTENTS * EXTENTS; i++) {
                        ridge_case c = {.dim = {extents[i % EXTENTS], extents[i / EXTENTS % EXTENTS],
                                                extents[i / EXTENTS / EXTENTS], 3},
                                        .dtype = RIDGE_F32};
                        check_predictions(target, variant, &c, &here);
                        c.column_major = 1u << 1; /* w */
                        if (target->in[1].takes_column_major) check_predictions(target, variant, &c, &here);
                    }
            }
        }
}

static void rates_are_estimated_once(void **state) {
    (void)state;
    for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
        const ridge_rates rates = ridge_rates_estimate((ridge_isa)isa), again = ridge_rates_estimate((ridge_isa)isa);
        assert_true(rates.flops > 0 && rates.bytes > 100); /* 0.1 GB/s */
        assert_memory_equal(&rates, &again, sizeof rates);
    }
    assert_true(ridge_rates_estimate(isa_named("scalar")).flops > 100); /* 0.1 GFLOP/s */
}

/* ---- the choice, on ways of no kernel ---------------------------------------------------------------------------- */

static const char *ran;
static ridge_status run_it(const ridge_call *call) {
    ran = call->way->name;
    return call->way->number == 0 ? RIDGE_OK : RIDGE_UNSUPPORTED; /* a device that has no room */
}
static int costed;
static ridge_plan any_plan(const ridge_way *way, const ridge_problem *p) {
    (void)p;
    costed++;
    return (ridge_plan){.us = *(const double *)way->own};
}
static ridge_plan even_plan(const ridge_way *way, const ridge_problem *p) {
    if (p->c.dim[0] % 2) return (ridge_plan){.refusal = "for even rows"};
    ridge_plan plan = any_plan(way, p);
    plan.scratch = (size_t)p->c.dim[0] * (size_t)p->here.threads;
    return plan;
}

static const double cheap = 1, dear = 2;
#define WAY(name_, plan_, ...) \
    { .name = name_, .run = RIDGE_ANY_ISA(run_it), .plan = plan_, __VA_ARGS__ }
static const ridge_way three[] = {
    WAY("dear", any_plan, .own = &dear),
    WAY("cheap_even", even_plan, .own = &cheap),
    WAY("as_cheap", any_plan, .own = &cheap),
};
static const ridge_way full[] = {
    WAY("no_room", any_plan, .own = &cheap, .number = 1),
    WAY("room", any_plan, .own = &dear),
};
static const char *lacks_it(void) { return "needs what is not there"; }
static const char *has_it(void) { return NULL; }
static const ridge_way lacking[] = {
    WAY("lacking", any_plan, .own = &cheap, .lacks = lacks_it),
    WAY("having", any_plan, .own = &dear, .lacks = has_it),
};
static const ridge_way none[] = {WAY("even", even_plan, .own = &cheap)};

static ridge_status run_variant(const ridge_variant *variant, int64_t rows) {
    const int64_t dim[RIDGE_MAX_RANK] = {rows, 8};
    int64_t shape[2] = {rows, 8}, strides[2] = {8, 1};
    static float data[64]; /* where it lies is a part of the problem */
    const DLTensor x = {.data = data, .ndim = 2, .shape = shape, .strides = strides, .dtype = {kDLFloat, 32, 1}};
    const ridge_call call = {.dim = dim, .dtype = RIDGE_F32, .in = &x, .out = &x};
    const ridge_abilities here = {.isa = (ridge_isa)0};
    ran = NULL;
    return ridge_variant_run(any_target(), variant, &here, &call);
}

static void the_cheapest_that_takes_it_runs(void **state) {
    (void)state;
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(three)};
    assert_int_equal(run_variant(&variant, 2), RIDGE_OK);
    assert_string_equal(ran, "cheap_even"); /* the first of two that cost alike */
    assert_int_equal(run_variant(&variant, 3), RIDGE_OK);
    assert_string_equal(ran, "as_cheap");
    assert_int_equal(ridge_variant_scratch(&variant, &(ridge_problem){.c.dim = {6}, .here.threads = 4}), 24);
}

/* Costs take as long as a small kernel: a call that comes again is not weighed again. */
static void a_choice_is_remembered(void **state) {
    (void)state;
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(three)},
                        other = {.name = "cpu/none", .ways = RIDGE_LIST(none)};
    assert_int_equal(run_variant(&variant, 4), RIDGE_OK);
    costed = 0;
    assert_int_equal(run_variant(&variant, 4), RIDGE_OK);
    assert_int_equal(costed, 0);
    assert_string_equal(ran, "cheap_even");
    assert_int_equal(run_variant(&variant, 5), RIDGE_OK); /* another problem */
    assert_true(costed > 0);
    assert_string_equal(ran, "as_cheap");
    assert_int_equal(run_variant(&other, 5), RIDGE_UNSUPPORTED); /* another variant */
}

static void the_next_runs_where_a_device_has_no_room(void **state) {
    (void)state;
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(full)};
    assert_int_equal(run_variant(&variant, 2), RIDGE_OK);
    assert_string_equal(ran, "room");
}

/* Not every processor of an instruction set has what a way needs. */
static void a_way_that_the_processor_lacks_does_not_run(void **state) {
    (void)state;
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(lacking)};
    const ridge_abilities here = {.isa = (ridge_isa)0};
    assert_int_equal(run_variant(&variant, 2), RIDGE_OK);
    assert_string_equal(ran, "having");
    assert_string_equal(ridge_way_obstacle_here(&variant, &lacking[0], &here), "needs what is not there");
    assert_null(ridge_way_obstacle_here(&variant, &lacking[1], &here));
}

static void no_way_is_said_with_the_reason(void **state) {
    (void)state;
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(none)};
    const ridge_case odd = {.dim = {3, 8}, .dtype = RIDGE_F32}, even = {.dim = {4, 8}, .dtype = RIDGE_F32};
    const ridge_abilities here = {.isa = (ridge_isa)0};
    assert_int_equal(run_variant(&variant, 3), RIDGE_UNSUPPORTED);
    assert_null(ran);
    assert_string_equal(ridge_variant_dense_obstacle(any_target(), &variant, &odd, &here), "for even rows");
    assert_null(ridge_variant_dense_obstacle(any_target(), &variant, &even, &here));
}

/* Every call asks for the variant's obstacle: the ways are weighed once, by the choice. */
static void an_obstacle_of_the_variant_weighs_no_way(void **state) {
    (void)state;
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(three)};
    const ridge_case c = {.dim = {6, 8}, .dtype = RIDGE_F32};
    const ridge_abilities here = {.isa = (ridge_isa)0};
    costed = 0;
    assert_null(ridge_variant_obstacle(&variant, &c, &here));
    assert_int_equal(costed, 0);
}

static void a_forced_way_runs_alone(void **state) {
    (void)state;
    const ridge_variant variant = {.name = "cpu/test", .ways = RIDGE_LIST(three)};
    const ridge_way *dear_way = ridge_way_find(&variant, "dear");
    assert_non_null(dear_way);
    assert_null(ridge_way_find(&variant, "absent"));
    const ridge_variant one = ridge_variant_of_way(&variant, dear_way, "cpu/test:dear");
    assert_true(ridge_variant_forced(&one));
    assert_false(ridge_variant_forced(&variant));
    assert_int_equal(run_variant(&one, 2), RIDGE_OK);
    assert_string_equal(ran, "dear");
}

/* A problem says how the tensors of a call lie. */
static void problems_have_strides_and_offsets(void **state) {
    (void)state;
    const int64_t dim[RIDGE_MAX_RANK] = {3, 8};
    int64_t shape[2] = {3, 8}, strides[2] = {11, 1}, one[2] = {1, 8}, odd[2] = {999, 1};
    float data[64] = {0};
    const DLTensor x = {.data = data, .byte_offset = 12, .ndim = 2, .shape = shape, .strides = strides};
    const DLTensor y = {.data = data, .ndim = 2, .shape = one, .strides = odd};
    const ridge_call call = {.dim = dim, .dtype = RIDGE_F32, .in = &x, .out = &y};
    ridge_problem p;
    ridge_problem_of(any_target(), &call, &h200, &p);
    assert_int_equal(p.tensor[0].stride[0], 11);
    assert_int_equal(p.tensor[0].stride[1], 1);
    assert_int_equal(p.tensor[0].offset, ((uintptr_t)data + 12) % RIDGE_OFFSETS);
    assert_int_equal(p.tensor[1].stride[0], 8); /* an extent of 1 has the stride of a dense tensor */
    assert_int_equal(p.here.sm_count, 132);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_has_a_case),
        cmocka_unit_test(every_case_has_a_way),
        cmocka_unit_test(ways_of_one_generation_refuse_others),
        cmocka_unit_test(combinations_are_drawn),
        cmocka_unit_test(options_cost_no_way),
        cmocka_unit_test(rows_go_where_they_belong),
        cmocka_unit_test(tiles_fill_the_sms),
        cmocka_unit_test(products_go_where_they_are_fast),
        cmocka_unit_test(few_classes_stay_fused_on_avx512),
        cmocka_unit_test(no_prediction_beats_a_ceiling),
        cmocka_unit_test(rates_are_estimated_once),
        cmocka_unit_test(the_cheapest_that_takes_it_runs),
        cmocka_unit_test(a_choice_is_remembered),
        cmocka_unit_test(the_next_runs_where_a_device_has_no_room),
        cmocka_unit_test(a_way_that_the_processor_lacks_does_not_run),
        cmocka_unit_test(no_way_is_said_with_the_reason),
        cmocka_unit_test(an_obstacle_of_the_variant_weighs_no_way),
        cmocka_unit_test(a_forced_way_runs_alone),
        cmocka_unit_test(problems_have_strides_and_offsets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

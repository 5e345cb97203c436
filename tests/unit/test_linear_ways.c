/* The ways of the linear layers on a GPU: which one runs what, computed without a device. */
#include "ridge/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const ridge_abilities h200 = {.sm = 90, .sm_count = 132}, a100 = {.sm = 80, .sm_count = 108};

static ridge_problem problem_of(const ridge_target *target, const int64_t *dim, ridge_dtype dtype,
                                unsigned column_major, const ridge_abilities *here) {
    ridge_case c = {.dtype = dtype, .column_major = column_major};
    ridge_problem p;
    memcpy(c.dim, dim, 4 * sizeof *dim);
    ridge_problem_dense(target, &c, here, &p);
    return p;
}

/* As ridge_way_plan, in builds without CUDA too. */
static ridge_plan plan_of(const ridge_way *way, const ridge_problem *p) {
    if (p->here.sm < way->needs) return (ridge_plan){.refusal = "needs more"};
    return way->plan(way, p);
}

/* The target's variant by name. */
static const ridge_variant *variant_of(const ridge_target *target, const char *name) {
    int v = 0;
    while (v < target->n_variants && strcmp(target->variants[v].name, name) != 0) v++;
    assert_true(v < target->n_variants);
    return &target->variants[v];
}

/* As ridge_way_choose, likewise. */
static const ridge_way *chosen(const char *name, const ridge_problem *p) {
    const ridge_target *target = ridge_target_find(name);
    const ridge_variant *optimized = variant_of(target, "cuda/optimized");
    const ridge_way *best = NULL;
    double least = 0;
    for (int w = 0; w < optimized->n_ways; w++) {
        const ridge_plan plan = plan_of(&optimized->ways[w], p);
        if (plan.refusal) continue;
        assert_true(plan.us > 0);
        if (!best || plan.us < least) best = &optimized->ways[w], least = plan.us;
    }
    assert_non_null(best);
    return best;
}

static const char *refusal_of(const ridge_variant *variant, const char *name, const ridge_problem *p) {
    for (int w = 0; w < variant->n_ways; w++)
        if (strcmp(variant->ways[w].name, name) == 0) return plan_of(&variant->ways[w], p).refusal;
    fail_msg("%s has no way %s", variant->name, name);
    return NULL;
}

typedef struct shape {
    const char *target;
    int64_t dim[4];
    ridge_dtype dtype;
    const char *way;
} shape;

static void all_run_by(const shape *shapes, size_t n, const ridge_abilities *here) {
    int others = 0;
    for (size_t i = 0; i < n; i++) {
        const ridge_problem p =
            problem_of(ridge_target_find(shapes[i].target), shapes[i].dim, shapes[i].dtype, 0, here);
        const ridge_way *way = chosen(shapes[i].target, &p);
        if (strcmp(way->name, shapes[i].way) == 0) continue;
        others++;
        print_error("%s %dx%dx%dx%d, %s: %s, not %s\n", shapes[i].target, (int)shapes[i].dim[0], (int)shapes[i].dim[1],
                    (int)shapes[i].dim[2], (int)shapes[i].dim[3], ridge_dtype_name(shapes[i].dtype), way->name,
                    shapes[i].way);
    }
    assert_int_equal(others, 0);
}
#define ALL_RUN_BY(shapes, here) all_run_by(shapes, sizeof(shapes) / sizeof(shapes)[0], here)

/* The shapes of expectations/h200.json: what was measured there. */
static void listed_shapes_keep_their_ways(void **state) {
    (void)state;
    static const shape shapes[] = {
        {"linear_softmax", {64, 128, 10}, RIDGE_F32, "skinny_narrow"},
        {"linear_softmax", {256, 512, 50}, RIDGE_F32, "skinny_cluster"},
        {"linear_softmax", {1024, 1024, 100}, RIDGE_F32, "skinny_stream"},
        {"linear_softmax", {8192, 4096, 1000}, RIDGE_F32, "tiles_split"},
        {"linear_softmax", {8192, 4096, 1000}, RIDGE_TF32, "logits"},
        {"linear_softmax", {8192, 4096, 1000}, RIDGE_BF16, "logits"},
        {"multihead_linear_softmax", {1024, 16, 1024, 100}, RIDGE_F32, "tiles_split"},
        {"multihead_linear_softmax", {256, 8, 512, 50}, RIDGE_F32, "skinny_cluster"},
        {"linear_cross_entropy", {256, 512, 50}, RIDGE_F32, "skinny_cluster"},
        {"linear_cross_entropy", {1024, 1024, 100}, RIDGE_F32, "skinny_stream"},
        {"linear_cross_entropy", {2048, 1024, 1000}, RIDGE_F32, "split"},
        {"linear_cross_entropy", {8192, 4096, 32768}, RIDGE_BF16, "tiles"},
        {"linear_cross_entropy_backward", {256, 512, 50}, RIDGE_F32, "skinny_cluster"},
        {"linear_cross_entropy_backward", {1024, 1024, 100}, RIDGE_F32, "skinny_stream"},
        {"linear_cross_entropy_backward", {2048, 1024, 1000}, RIDGE_F32, "split"},
        {"linear_cross_entropy_backward", {4096, 2048, 16384}, RIDGE_BF16, "tiles"},
        {"linear_cross_entropy_grad", {256, 512, 50}, RIDGE_F32, "skinny_cluster"},
        {"linear_cross_entropy_grad", {1024, 1024, 100}, RIDGE_F32, "skinny_stream"},
        {"linear_cross_entropy_grad", {2048, 1024, 1000}, RIDGE_F32, "split"},
        {"linear_cross_entropy_grad", {4096, 2048, 16384}, RIDGE_BF16, "tiles"},
    };
    ALL_RUN_BY(shapes, &h200);
}

/* Operands that tensor copies refuse, few classes of a deep product, few rows of many classes: none by multiply-adds
 * alone where there is much to do. */
static void odd_and_skinny_shapes_have_tensor_cores(void **state) {
    (void)state;
    static const shape shapes[] = {
        {"linear_softmax", {1024, 1000, 100}, RIDGE_F32, "copied"},
        {"linear_softmax", {8192, 1023, 100}, RIDGE_F32, "logits"},
        {"linear_softmax", {8192, 4095, 1000}, RIDGE_F32, "logits"},
        {"linear_softmax", {8192, 4095, 1000}, RIDGE_TF32, "logits"},
        {"linear_softmax", {5388, 826, 25599}, RIDGE_TF32, "logits"},
        {"linear_softmax", {4096, 512, 32768}, RIDGE_TF32, "logits"},
        {"linear_softmax", {8192, 4095, 1000}, RIDGE_BF16, "logits"},
        {"linear_softmax", {8192, 4096, 1001}, RIDGE_F16, "logits"},
        {"linear_softmax", {8192, 4096, 9000}, RIDGE_F32, "logits"},
        {"linear_softmax", {8192, 4096, 9000}, RIDGE_BF16, "logits"},
        {"linear_softmax", {4096, 512, 32768}, RIDGE_TF32, "logits"},
        {"linear_softmax", {1896, 2961, 27601}, RIDGE_F16, "logits"},
        {"linear_softmax", {65536, 8, 4}, RIDGE_BF16, "thin"},
        {"linear_softmax", {57800, 368, 32}, RIDGE_BF16, "thin"},
        {"linear_cross_entropy", {96900, 27, 5}, RIDGE_F16, "thin"},
        {"linear_softmax", {1024, 4096, 104}, RIDGE_BF16, "logits"},
        {"linear_softmax", {64, 1024, 32000}, RIDGE_F32, "logits"},
        {"linear_softmax", {64, 1024, 32000}, RIDGE_BF16, "logits"},
        {"linear_softmax", {1, 2000, 20001}, RIDGE_BF16, "logits"},
        {"linear_softmax", {2048, 1024, 1000}, RIDGE_F32, "tiles_split"},
        {"linear_cross_entropy", {1024, 1000, 100}, RIDGE_F32, "copied"},
        {"linear_cross_entropy", {2048, 1023, 1001}, RIDGE_F32, "split"},
        {"linear_cross_entropy", {8192, 4095, 32000}, RIDGE_BF16, "copied"},
        {"linear_cross_entropy", {1024, 4096, 100}, RIDGE_BF16, "logits"},
        {"linear_cross_entropy", {64, 1024, 32000}, RIDGE_BF16, "tiles"},
        {"linear_cross_entropy_grad", {2048, 1023, 1001}, RIDGE_F32, "split"},
        {"linear_cross_entropy_grad", {4096, 2047, 16383}, RIDGE_BF16, "copied"},
        {"linear_cross_entropy_grad", {1024, 4096, 100}, RIDGE_BF16, "logits"},
        {"linear_cross_entropy_backward", {2048, 1024, 1001}, RIDGE_F32, "split"},
        {"linear_cross_entropy_backward", {2048, 1024, 1000}, RIDGE_F16, "tiles"},
        {"linear_cross_entropy_backward", {2048, 1023, 1001}, RIDGE_F16, "copied"},
        {"linear_cross_entropy_grad", {1024, 4096, 96}, RIDGE_F16, "thin"},
        {"linear_cross_entropy_grad", {3081, 3590, 9966}, RIDGE_F16, "copied"},
        {"linear_cross_entropy", {281, 605, 11643}, RIDGE_TF32, "half"},
        {"linear_cross_entropy", {510721, 81, 18}, RIDGE_TF32, "thin"},
        {"linear_cross_entropy_backward", {4117, 2377, 7925}, RIDGE_TF32, "half"},
        {"linear_cross_entropy_backward", {258104, 312, 208}, RIDGE_TF32, "half"},
        {"linear_cross_entropy_grad", {785, 1017, 383}, RIDGE_TF32, "logits"},
        {"linear_cross_entropy_grad", {4987, 647, 30515}, RIDGE_TF32, "half"}, /* hi and lo parts would not fit */
        {"multihead_linear_softmax", {1024, 16, 1000, 100}, RIDGE_F32, "tiles_split"},
        {"multihead_linear_softmax", {1024, 16, 1024, 100}, RIDGE_BF16, "logits"},
        {"multihead_linear_softmax", {1023, 7, 1001, 33}, RIDGE_F16, "logits"},
        {"multihead_linear_softmax", {4096, 3, 999, 1001}, RIDGE_BF16, "logits"},
        {"multihead_linear_softmax", {4096, 4, 1024, 9000}, RIDGE_BF16, "logits"}, /* more than tiles wait for */
        {"multihead_linear_softmax", {4096, 4, 1001, 9001}, RIDGE_F16, "logits"},
        {"multihead_linear_softmax", {16384, 32, 4096, 4}, RIDGE_BF16, "logits"}, /* few classes: no tile each */
        {"multihead_linear_softmax", {200, 17, 20001, 5}, RIDGE_F16, "logits"},
        {"multihead_linear_softmax", {200000, 9, 63, 7}, RIDGE_F16, "thin"},
        {"multihead_linear_softmax", {3655, 59, 11207, 5}, RIDGE_F32, "logits"}, /* heads share tiles */
        {"multihead_linear_softmax", {1520, 3, 1039, 14811}, RIDGE_TF32, "logits"},
        {"linear_softmax", {256, 8192, 2048}, RIDGE_F16, "logits"},
        {"linear_softmax", {906235, 57, 135}, RIDGE_TF32, "logits"},
        {"linear_softmax", {4223, 11083, 9}, RIDGE_F16, "logits"},
        {"multihead_linear_softmax", {4096, 1, 1024, 1000}, RIDGE_F16, "logits"},
    };
    ALL_RUN_BY(shapes, &h200);
}

/* Few rows of many classes: one read of w, whatever the type and alignment. */
static void few_rows_read_w_once(void **state) {
    (void)state;
    static const shape shapes[] = {
        {"linear_softmax", {4, 254, 91204}, RIDGE_F16, "few_rows"},
        {"linear_softmax", {17, 2210, 10828}, RIDGE_F32, "few_rows"},
        {"linear_cross_entropy", {8, 192, 32744}, RIDGE_F32, "few_rows"},
        {"linear_cross_entropy", {20, 1990, 9627}, RIDGE_F16, "few_rows"},
        {"linear_cross_entropy_grad", {8, 256, 16384}, RIDGE_F16, "few_rows"},
        {"linear_cross_entropy_grad", {3, 710, 15654}, RIDGE_TF32, "few_rows"},
        {"linear_cross_entropy_backward", {2, 3592, 10328}, RIDGE_F16, "few_rows"},
        {"multihead_linear_softmax", {8, 32, 168, 9544}, RIDGE_F32, "few_rows"},
        {"multihead_linear_softmax", {8, 32, 168, 9543}, RIDGE_BF16, "few_rows"},
        {"linear_cross_entropy", {56, 1336, 43168}, RIDGE_F32, "few_rows"}, /* by tensor cores */
        {"linear_cross_entropy", {15, 2083, 14475}, RIDGE_TF32, "few_rows"},
        {"linear_cross_entropy_backward", {2, 2794, 9000}, RIDGE_BF16, "few_rows"},
        {"linear_cross_entropy_backward", {15, 725, 20669}, RIDGE_BF16, "logits"},
        {"linear_cross_entropy_backward", {32, 173, 174535}, RIDGE_F16, "few_rows"},
        {"linear_cross_entropy_grad", {15, 1499, 10324}, RIDGE_F16, "few_rows"},
        {"multihead_linear_softmax", {49, 3, 4992, 17554}, RIDGE_F32, "logits"},
        {"multihead_linear_softmax", {8, 24, 160, 18800}, RIDGE_F16, "few_rows"},
        {"linear_softmax", {1024, 1024, 104}, RIDGE_BF16, "logits"}, /* many rows */
    };
    ALL_RUN_BY(shapes, &h200);
}

/* A row stride or a base that is no multiple of 16 bytes. */
static void misaligned_operands_have_tensor_cores(void **state) {
    (void)state;
    static const int64_t dim[4] = {8192, 4096, 1000};
    const ridge_target *target = ridge_target_find("linear_softmax");
    ridge_problem p = problem_of(target, dim, RIDGE_BF16, 0, &h200);
    p.tensor[0].stride[0] = 4097;
    assert_string_equal(chosen("linear_softmax", &p)->name, "logits");
    static const int64_t less[4] = {4096, 4096, 1000};
    p = problem_of(target, less, RIDGE_BF16, 0, &h200);
    p.tensor[1].offset = 2;
    assert_string_equal(chosen("linear_softmax", &p)->name, "logits");
    static const int64_t many[4] = {1896, 2960, 27600}; /* more classes than tiles wait for */
    p = problem_of(target, many, RIDGE_F16, 0, &h200);
    p.tensor[0].offset = 2;
    assert_string_equal(chosen("linear_softmax", &p)->name, "logits");
    p = problem_of(target, less, RIDGE_F32, 0, &h200);
    p.tensor[0].offset = 4, p.tensor[1].stride[0] = 1003;
    assert_int_equal(plan_of(chosen("linear_softmax", &p), &p).arithmetic.products, 3);
}

/* Some way takes any extents, odd ones and none at all, and its scratch and traffic can be said. */
static void any_extents_have_a_way(void **state) {
    (void)state;
    static const int64_t extents[] = {0, 1, 7, 16, 129, 1000, 4097, 100001};
    static const ridge_dtype types[] = {RIDGE_F32, RIDGE_TF32, RIDGE_BF16, RIDGE_F16};
    static const char *const targets[] = {"linear_softmax", "linear_cross_entropy", "linear_cross_entropy_backward",
                                          "linear_cross_entropy_grad", "multihead_linear_softmax"};
    for (int t = 0; t < 5; t++) {
        const ridge_target *target = ridge_target_find(targets[t]);
        const ridge_variant *optimized = variant_of(target, "cuda/optimized");
        for (int i = 0; i < 8 * 7 * 7 * 4; i++) {
            const int64_t rows = extents[i % 8], depth = extents[1 + i / 8 % 7], classes = extents[1 + i / 56 % 7];
            const int64_t one[4] = {rows, depth, classes}, several[4] = {rows, 5, depth, classes};
            const bool heads = strcmp(targets[t], "multihead_linear_softmax") == 0;
            const ridge_problem p = problem_of(target, heads ? several : one, types[i / 392], 0, &h200);
            const ridge_way *way = chosen(targets[t], &p);
            const ridge_plan plan = plan_of(way, &p);
            assert_true(plan.traffic.read >= 0 && plan.traffic.written + plan.traffic.streamed >= 0);
            if (!ridge_way_obstacle(optimized, way, &p)) /* the tests may be built without the kernels */
                assert_true(ridge_variant_scratch(optimized, &p) >= plan.scratch);
        }
    }
}

/* A way of one head takes no other one for it; a launch a head wants each head aligned, but for a product that copies. */
static void heads_are_not_one(void **state) {
    (void)state;
    static const int64_t even[4] = {300, 3, 64, 72}, odd[4] = {300, 3, 64, 71}, large[4] = {1 << 16, 64, 16384, 16};
    const ridge_target *target = ridge_target_find("multihead_linear_softmax");
    const ridge_variant *optimized = variant_of(target, "cuda/optimized");
    const ridge_variant *launches = variant_of(target, "cuda/launches");
    ridge_problem p = problem_of(target, even, RIDGE_BF16, 0, &h200);
    assert_null(refusal_of(launches, "tiles_16", &p));
    assert_null(refusal_of(optimized, "logits", &p));
    p.tensor[1].stride[0] += 1;
    assert_non_null(refusal_of(launches, "tiles_16", &p));
    assert_null(refusal_of(optimized, "logits", &p));
    assert_null(refusal_of(optimized, "tiles_heads", &p));
    p = problem_of(target, odd, RIDGE_F16, 0, &h200);
    assert_null(refusal_of(optimized, "logits", &p));
    assert_null(refusal_of(optimized, "tiles_heads", &p));
    p = problem_of(target, large, RIDGE_F16, 0, &h200);
    assert_string_equal(refusal_of(optimized, "tiles_heads", &p), "copies take too much memory");
    p = problem_of(target, even, RIDGE_TF32, 0, &h200);
    assert_non_null(refusal_of(optimized, "tiles_heads", &p));
}

/* Without wgmma and clusters. */
static void ampere_has_its_own(void **state) {
    (void)state;
    static const shape shapes[] = {
        {"linear_softmax", {64, 128, 10}, RIDGE_F32, "skinny_single"},
        {"linear_softmax", {8192, 4096, 1000}, RIDGE_F32, "logits"},
        {"linear_softmax", {8192, 4096, 1000}, RIDGE_BF16, "logits"},
        {"multihead_linear_softmax", {1024, 16, 1024, 100}, RIDGE_BF16, "logits"},
        {"linear_cross_entropy", {1024, 1024, 100}, RIDGE_F32, "logits"},
        {"linear_cross_entropy_grad", {4096, 2048, 16384}, RIDGE_BF16, "ffma"},
    };
    ALL_RUN_BY(shapes, &a100);
}

/* ---- what follows from the way ---- */

static void arithmetic_is_the_ways(void **state) {
    (void)state;
    static const struct {
        const char *target;
        int64_t dim[4];
        ridge_dtype dtype, type;
    } cases[] = {
        {"linear_softmax", {8192, 4096, 1000}, RIDGE_F32, RIDGE_F16},
        {"linear_softmax", {8192, 4096, 1000}, RIDGE_BF16, RIDGE_DTYPE_NONE},
        {"linear_softmax", {1024, 1024, 100}, RIDGE_F32, RIDGE_F16},
        {"linear_softmax", {256, 512, 50}, RIDGE_F32, RIDGE_TF32},
        {"linear_softmax", {257, 512, 50}, RIDGE_F32, RIDGE_F16},
        {"linear_softmax", {64, 128, 10}, RIDGE_F32, RIDGE_TF32},
        {"linear_softmax", {17, 2210, 10828}, RIDGE_F32, RIDGE_TF32}, /* few_rows */
        {"linear_softmax", {8, 2210, 10828}, RIDGE_F32, RIDGE_DTYPE_NONE},
        {"linear_softmax", {256, 256, 200}, RIDGE_F32, RIDGE_DTYPE_NONE},
        {"multihead_linear_softmax", {1024, 16, 1024, 100}, RIDGE_F32, RIDGE_F16},
        {"multihead_linear_softmax", {256, 8, 512, 50}, RIDGE_F32, RIDGE_TF32},
        {"linear_cross_entropy", {2048, 1024, 1000}, RIDGE_F32, RIDGE_F16},
        {"linear_cross_entropy", {1024, 1024, 100}, RIDGE_F32, RIDGE_F16},
        {"linear_cross_entropy", {256, 512, 50}, RIDGE_F32, RIDGE_TF32},
        {"linear_cross_entropy_grad", {2048, 1024, 1000}, RIDGE_F32, RIDGE_F16},
        {"linear_cross_entropy_grad", {1024, 1024, 100}, RIDGE_F32, RIDGE_DTYPE_NONE}, /* a mixture */
        {"linear_cross_entropy_backward", {2048, 1024, 1000}, RIDGE_F32, RIDGE_F16},
        {"linear_cross_entropy_backward", {2048, 1024, 1000}, RIDGE_TF32, RIDGE_F16},
        {"linear_softmax", {8192, 4095, 1000}, RIDGE_TF32, RIDGE_F16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const ridge_problem p = problem_of(ridge_target_find(cases[i].target), cases[i].dim, cases[i].dtype, 0, &h200);
        const ridge_way *way = chosen(cases[i].target, &p);
        const ridge_arithmetic a = plan_of(way, &p).arithmetic;
        const int products = a.type == RIDGE_DTYPE_NONE ? 0 : cases[i].dtype == RIDGE_TF32 ? 1 : 3;
        if (a.type != cases[i].type || a.products != products)
            fail_msg("case %zu, %s: %d products of %s", i, way->name, a.products, ridge_dtype_name(a.type));
    }
}

/* A way that needs all of its clusters at once says so: it was refused by the launch, and a measurement failed. */
static void rows_of_a_stream_run_together(void **state) {
    (void)state;
    static const int64_t many[4] = {262144, 64, 64}, few[4] = {1080, 64, 64};
    const ridge_target *target = ridge_target_find("linear_softmax");
    const ridge_variant *optimized = variant_of(target, "cuda/optimized");
    ridge_problem p = problem_of(target, many, RIDGE_F32, 0, &h200);
    assert_non_null(refusal_of(optimized, "skinny_stream", &p));
    p = problem_of(target, few, RIDGE_F32, 0, &h200);
    assert_null(refusal_of(optimized, "skinny_stream", &p));
}

/* The traffic of logits in memory is that of the way, not of a rule beside it. */
static void traffic_is_the_ways(void **state) {
    (void)state;
    const ridge_target *target = ridge_target_find("linear_softmax");
    static const int64_t many[4] = {8192, 4096, 9000}, few[4] = {1024, 1024, 100};
    ridge_problem p = problem_of(target, many, RIDGE_F32, 0, &h200);
    const ridge_way *way = chosen("linear_softmax", &p);
    assert_string_equal(way->name, "logits"); /* more classes than tiles can wait for */
    ridge_traffic t = plan_of(way, &p).traffic;
    const double logits = 4.0 * 8192 * 9000, x = 4.0 * 8192 * 4096, w = 4.0 * 4096 * 9000;
    assert_true(t.written == 2 * logits + x + w);
    assert_true(t.read == 2 * (x + w) + w + 4 * 9000 + logits); /* w is read twice: its columns are long */
    p = problem_of(target, few, RIDGE_F32, 0, &h200);
    t = plan_of(chosen("linear_softmax", &p), &p).traffic;
    assert_true(t.written == 4.0 * 1024 * 100 && t.read == 4.0 * (1024 * 1024 + 1024 * 100 + 100));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_extents_have_a_way),
        cmocka_unit_test(listed_shapes_keep_their_ways),
        cmocka_unit_test(odd_and_skinny_shapes_have_tensor_cores),
        cmocka_unit_test(few_rows_read_w_once),
        cmocka_unit_test(misaligned_operands_have_tensor_cores),
        cmocka_unit_test(heads_are_not_one),
        cmocka_unit_test(rows_of_a_stream_run_together),
        cmocka_unit_test(ampere_has_its_own),
        cmocka_unit_test(arithmetic_is_the_ways),
        cmocka_unit_test(traffic_is_the_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Operands: where tensors lie, what is written into them, and that nothing else is. */
#include "verify_fixture.h"

#include <math.h>
#include <stdio.h>

#include "verify/view.h"

static const ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_BF16, RIDGE_F16, RIDGE_F64};

/* A tensor of rank 3 and one of rank 4: strides of more than one dimension. */
static const ridge_tensor_spec deep_in[] = {
    {.name = "a", .rank = 3, .dim = {0, 1, 2}, .by_row = true},
    {.name = "b", .rank = 4, .dim = {3, 2, 1, 2}},
};
static const ridge_tensor_spec deep_out[] = {{.name = "y", .rank = 3, .dim = {0, 2, 1}}};
static const ridge_target deep_target = {
    .name = "deep",
    .dims = {"p", "q", "r", "s"},
    .in = RIDGE_LIST(deep_in),
    .out = RIDGE_LIST(deep_out),
    .exact = 7,
};

static int64_t draw(uint64_t seed, uint64_t i, int64_t n) { return (int64_t)(ridge_random(seed, i) % (uint64_t)n); }

static ridge_operands *random_operands(uint64_t seed, int64_t least) {
    ridge_case c = {.dim = {least + draw(seed, 1, 9), least + draw(seed, 2, 40), least + draw(seed, 3, 6),
                            least + draw(seed, 4, 3)},
                    .dtype = dtypes[draw(seed, 5, 4)]};
    ridge_layout layout = {draw(seed, 6, 2) * draw(seed, 7, 20), draw(seed, 8, 2) * draw(seed, 9, 20),
                           draw(seed, 10, 2) * draw(seed, 11, 5)};
    return operands_new(seed & 1 ? &deep_target : &fixture_target, c, layout);
}

static const DLTensor *tensor_of(const ridge_operands *ops, int t) {
    return t < ops->target->n_in ? &ops->in[t] : &ops->out[t - ops->target->n_in];
}

/* The address of element e by the definition of strides, without the code under test. */
static char *address_of(const DLTensor *t, int64_t e) {
    int64_t offset = 0, dense = 1;
    for (int d = t->ndim - 1; d >= 0; d--) {
        offset += e % t->shape[d] * (t->strides ? t->strides[d] : dense);
        dense *= t->shape[d];
        e /= t->shape[d];
    }
    return (char *)ridge_data(t) + offset * (t->dtype.bits / 8);
}

static int64_t count_of(const DLTensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= t->shape[d];
    return n;
}

/* Marks the bytes of all elements with their tensor's number + 1; fails when two elements share a byte. */
static unsigned char *map_of(const ridge_operands *ops) {
    unsigned char *map = calloc(ops->bytes + 1, 1);
    assert_non_null(map);
    for (int t = 0; t < ridge_operands_count(ops); t++) {
        const DLTensor *tensor = tensor_of(ops, t);
        for (int64_t e = 0, n = count_of(tensor); e < n; e++)
            for (int b = 0; b < tensor->dtype.bits / 8; b++) {
                ptrdiff_t at = address_of(tensor, e) + b - ops->memory;
                if (at < 0 || (size_t)at >= ops->bytes) {
                    fail_msg("element outside the set");
                    return map;
                }
                assert_int_equal(map[at], 0);
                map[at] = (unsigned char)(t + 1);
            }
    }
    return map;
}

static void elements_are_disjoint_and_guarded(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        ridge_operands *ops = random_operands(seed, seed % 3 == 0 ? 0 : 1);
        unsigned char *map = map_of(ops);
        assert_int_equal(ops->bytes % 64, 0);
        size_t free_bytes = 0; /* unmarked bytes since the last marked one */
        int last = 0;
        for (size_t i = 0; i < ops->bytes; i++) {
            if (map[i] && map[i] != last) assert_true(free_bytes >= 64);
            if (map[i])
                free_bytes = 0, last = map[i];
            else
                free_bytes++;
        }
        assert_true(free_bytes >= 64);
        for (int t = 0; t < ridge_operands_count(ops); t++) {
            const DLTensor *tensor = tensor_of(ops, t);
            const uintptr_t begin = (uintptr_t)(ops->layout.misalign + ops->layout.apart * t);
            uintptr_t want = begin * (uintptr_t)tensor->dtype.bits / 8 % 64;
            assert_int_equal((uintptr_t)ridge_data(tensor) % 64, want);
            assert_true((tensor->strides == NULL) == (ops->layout.row_pad == 0));
        }
        free(map);
        operands_delete(ops);
    }
}

/* The fast loops against the definition of each value, written out once more. */
static double defined(const ridge_operands *ops, int t, int64_t e) {
    const ridge_tensor_spec *spec = &ops->target->in[t];
    uint64_t key = ridge_random32_key(ridge_random(ops->seed, (uint64_t)t), (uint64_t)e / RIDGE_RANDOM_BLOCK);
    uint32_t hash = ridge_random32(key, (uint32_t)e % RIDGE_RANDOM_BLOCK);
    ridge_dtype dtype = ridge_spec_dtype(spec, &ops->c);
    int64_t exact = ops->target->exact ? ops->target->exact : 4;
    double value = (2 * ((double)(hash >> 8) - 0x1p23) + 1) * 0x1p-24;
    if (spec->fill == RIDGE_FILL_INDEX)
        value = floor(hash * 0x1p-32 * (double)ops->c.dim[spec->index_dim]);
    else if (ops->kind == RIDGE_EXACT)
        value = floor(hash * 0x1p-32 * (double)(2 * exact + 1)) - (double)exact;
    char stored[8];
    ridge_store(stored, dtype, 0, value);
    return ridge_load(stored, dtype, 0);
}

static void values_are_as_defined_in_any_layout_and_team(void **state) {
    (void)state;
    for (int size = 1; size <= 4; size++) {
        ridge_team *team = NULL;
        ridge_error error;
        assert_int_equal(ridge_team_create(size, NULL, &team, &error), RIDGE_OK);
        for (uint64_t seed = 0; seed < 60; seed++) {
            ridge_operands *ops = random_operands(seed, 1);
            ridge_operands_fill(ops, seed & 2 ? RIDGE_EXACT : RIDGE_RANDOM, ridge_random(seed, 77), team);
            for (int t = 0; t < ops->target->n_in; t++)
                for (int64_t e = 0, n = count_of(&ops->in[t]); e < n; e++)
                    assert_true(ridge_load(address_of(&ops->in[t], e), ridge_dtype_of(&ops->in[t]), 0) ==
                                defined(ops, t, e));
            operands_delete(ops);
        }
        ridge_team_destroy(team);
    }
}

/* Blocks of the generator meet within long tensors, and runs may begin in the middle of one. */
static void long_tensors_are_seamless(void **state) {
    (void)state;
    ridge_team *team = NULL;
    ridge_error error;
    assert_int_equal(ridge_team_create(3, NULL, &team, &error), RIDGE_OK);
    for (int d = 0; d < 4; d++)
        for (int pad = 0; pad < 2; pad++) {
            ridge_operands *ops = operands_new(&fixture_target, (ridge_case){.dim = {7, 5003, 3}, .dtype = dtypes[d]},
                                               (ridge_layout){.row_pad = pad * 9});
            ridge_operands_fill(ops, RIDGE_RANDOM, 5, team);
            for (int64_t e = 0; e < 7 * 5003; e++)
                assert_true(ridge_load(address_of(&ops->in[0], e), dtypes[d], 0) == defined(ops, 0, e));
            operands_delete(ops);
        }
    ridge_team_destroy(team);
}

static void outputs_are_poisoned(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        ridge_operands *ops = random_operands(seed, 1);
        ridge_operands_fill(ops, RIDGE_RANDOM, seed, NULL);
        for (int o = 0; o < ops->target->n_out; o++) {
            ridge_dtype dtype = ridge_dtype_of(&ops->out[o]);
            uint64_t poison = ridge_poison_bits(dtype);
            for (int64_t e = 0, n = count_of(&ops->out[o]); e < n; e++)
                assert_memory_equal(address_of(&ops->out[o], e), &poison, ridge_dtype_size(dtype));
        }
        operands_delete(ops);
    }
}

/* Poison is NaN, and neither reading it as a number nor rounding a NaN ever yields it again. */
static void poison_comes_from_no_arithmetic(void **state) {
    (void)state;
    for (int d = 0; d < 4; d++) {
        uint64_t poison = ridge_poison_bits(dtypes[d]), back = 0;
        double value = ridge_load(&poison, dtypes[d], 0);
        assert_true(isnan(value));
        ridge_store(&back, dtypes[d], 0, value);
        if (dtypes[d] != RIDGE_F64) assert_true(back != poison); /* fp64 to fp64 is a copy */
        ridge_store(&back, dtypes[d], 0, value + 1);
        assert_true(back != poison);
    }
    uint32_t bits = (uint32_t)ridge_poison_bits(RIDGE_F32);
    volatile float f;
    memcpy((void *)(uintptr_t)&f, &bits, sizeof bits);
    volatile float results[] = {f + 1, f * 0, f - f, f / f};
    for (int i = 0; i < 4; i++) assert_true(memcmp((const void *)(uintptr_t)&results[i], &bits, sizeof bits) != 0);
}

/* Filling writes every byte of the set and none beside it: twice over different backgrounds gives the same bytes. */
static void fill_writes_all_and_only_its_memory(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        ridge_operands *ops = random_operands(seed, seed % 4 == 0 ? 0 : 1);
        char *wide = aligned_alloc(64, ops->bytes + 128), *first = malloc(ops->bytes + 1);
        assert_non_null(wide);
        assert_non_null(first);
        ridge_operands inner;
        for (int pass = 0; pass < 2; pass++) {
            memset(wide, pass ? 0xee : 0x11, ops->bytes + 128);
            ridge_operands_place(&inner, ops->target, &ops->c, &ops->layout, wide + 64);
            ridge_operands_fill(&inner, RIDGE_SPECIAL, seed, NULL);
            for (int i = 0; i < 64; i++) {
                assert_int_equal((unsigned char)wide[i], pass ? 0xee : 0x11);
                assert_int_equal((unsigned char)wide[64 + ops->bytes + (size_t)i], pass ? 0xee : 0x11);
            }
            if (pass == 0) memcpy(first, wide + 64, ops->bytes);
        }
        assert_memory_equal(first, wide + 64, ops->bytes);
        free(first);
        free(wide);
        operands_delete(ops);
    }
}

static void exact_is_small_integers(void **state) {
    (void)state;
    ridge_operands *ops =
        operands_new(&fixture_target, (ridge_case){.dim = {200, 200, 50}, .dtype = RIDGE_BF16}, (ridge_layout){0});
    ridge_operands_fill(ops, RIDGE_EXACT, 9, NULL);
    int64_t seen[9] = {0}, index[50] = {0};
    for (int64_t e = 0; e < 40000; e++) {
        double v = ridge_load(ridge_data(&ops->in[0]), RIDGE_BF16, e);
        assert_true(v == floor(v) && v >= -4 && v <= 4);
        seen[(int)v + 4]++;
    }
    for (int i = 0; i < 9; i++) assert_true(llabs(seen[i] - 4444) < 400); /* six standard deviations */
    for (int64_t e = 0; e < 200; e++) {
        double k = ridge_load(ridge_data(&ops->in[3]), RIDGE_I32, e);
        assert_true(k >= 0 && k < 50 && k == floor(k));
        index[(int)k]++;
    }
    int used = 0;
    for (int i = 0; i < 50; i++) used += index[i] > 0;
    assert_true(used > 40);
    operands_delete(ops);
}

/* Chi square of n hashes over 256 classes of 8 bits taken at `shift`. */
static double chi_square(uint64_t seed, int shift, int64_t n) {
    static int64_t count[256];
    memset(count, 0, sizeof count);
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = ridge_random32_key(seed, (uint64_t)i / RIDGE_RANDOM_BLOCK);
        count[ridge_random32(key, (uint32_t)(i % RIDGE_RANDOM_BLOCK)) >> shift & 255]++;
    }
    double chi = 0, want = (double)n / 256;
    for (int i = 0; i < 256; i++) chi += ((double)count[i] - want) * ((double)count[i] - want) / want;
    return chi;
}

static double unit(uint64_t seed, int64_t i) {
    uint64_t key = ridge_random32_key(seed, (uint64_t)i / RIDGE_RANDOM_BLOCK);
    return (double)ridge_random32(key, (uint32_t)(i % RIDGE_RANDOM_BLOCK)) * 0x1p-31 - 1;
}

static void generator_is_uniform_and_uncorrelated(void **state) {
    (void)state;
    enum { N = 1 << 18 };
    /* 255 degrees of freedom: mean 255, standard deviation 22.6; both tails, since too even is wrong too. */
    for (uint64_t seed = 0; seed < 8; seed++)
        for (int shift = 0; shift <= 24; shift += 8) {
            double chi = chi_square(seed, shift, N);
            if (chi < 140 || chi > 400) fail_msg("seed %d, bits from %d: chi square %.1f", (int)seed, shift, chi);
        }
    /* Neighbours, the same place in the next block, the next seed, the next tensor: correlation within 6 / sqrt(N). */
    const int64_t lag[] = {1, 2, 3, 16, 1024, RIDGE_RANDOM_BLOCK, RIDGE_RANDOM_BLOCK + 1};
    for (int k = 0; k < 9; k++) {
        double sum = 0;
        uint64_t other = k == 7 ? 43 : k == 8 ? ridge_random(42, 0) : 42;
        for (int64_t i = 0; i < N; i++) sum += unit(42, i) * unit(other, i + (k < 7 ? lag[k] : 0));
        double correlation = 3 * sum / N;
        if (fabs(correlation) > 6 / sqrt(N)) fail_msg("relation %d: correlation %.5f", k, correlation);
    }
}

static void seeds_and_tensors_differ(void **state) {
    (void)state;
    ridge_operands *ops =
        operands_new(&deep_target, (ridge_case){.dim = {8, 8, 8, 1}, .dtype = RIDGE_F32}, (ridge_layout){0});
    float first[512];
    ridge_operands_fill(ops, RIDGE_RANDOM, 1, NULL);
    memcpy(first, ridge_data(&ops->in[0]), sizeof first);
    assert_memory_not_equal(first, ridge_data(&ops->in[1]), sizeof first);
    ridge_operands_fill(ops, RIDGE_RANDOM, 2, NULL);
    int equal = 0;
    for (int i = 0; i < 512; i++) equal += first[i] == ((const float *)ridge_data(&ops->in[0]))[i];
    assert_true(equal < 3);
    ridge_operands_fill(ops, RIDGE_RANDOM, 1, NULL);
    assert_memory_equal(first, ridge_data(&ops->in[0]), sizeof first);
    operands_delete(ops);
}

static void special_has_all_kinds_and_leaves_rows_finite(void **state) {
    (void)state;
    ridge_target target = fixture_target;
    target.large = 0x1p40;
    ridge_operands *ops =
        operands_new(&target, (ridge_case){.dim = {400, 100, 3}, .dtype = RIDGE_F32}, (ridge_layout){3, 1, 0});
    ridge_operands_fill(ops, RIDGE_SPECIAL, 3, NULL);
    int nans = 0, plus = 0, minus = 0, zeros = 0, negative_zeros = 0, denormals = 0, large = 0, finite_rows = 0;
    for (int64_t i = 0; i < 400; i++) {
        int hard = 0;
        for (int64_t j = 0; j < 100; j++) {
            double v = ridge_load(ridge_data(&ops->in[0]), RIDGE_F32, i * ridge_row_stride(&ops->in[0]) + j);
            nans += isnan(v) != 0, plus += v == (double)INFINITY, minus += v == -(double)INFINITY;
            zeros += v == 0 && !signbit(v), negative_zeros += v == 0 && signbit(v);
            denormals += v != 0 && fabs(v) < 0x1p-126, large += fabs(v) == 0x1p40;
            hard += !isfinite(v);
            assert_true(!isfinite(v) || fabs(v) <= 0x1p40);
        }
        assert_true(hard <= 1);
        finite_rows += hard == 0;
    }
    assert_true(nans && plus && minus && zeros && negative_zeros && denormals && large);
    assert_true(finite_rows > 200 && finite_rows < 390);
    operands_delete(ops);
}

/* What rounding to tf32 loses would turn an infinity's product into no number, and neither result would be wrong. */
static void special_values_of_tf32_survive_its_rounding(void **state) {
    (void)state;
    int denormals = 0;
    ridge_operands *ops =
        operands_new(&fixture_target, (ridge_case){.dim = {400, 100, 3}, .dtype = RIDGE_TF32}, (ridge_layout){0});
    ridge_operands_fill(ops, RIDGE_SPECIAL, 3, NULL);
    for (int64_t i = 0; i < 400 * 100; i++) {
        const double v = ridge_load(ridge_data(&ops->in[0]), RIDGE_TF32, i);
        denormals += v != 0 && fabs(v) < 0x1p-126;
        assert_true(!isfinite(v) || v == 0 || fabs(v) >= 0x1p-136);
    }
    assert_true(denormals > 0);
    operands_delete(ops);
}

static void users_inputs_are_taken(void **state) {
    (void)state;
    float mine[12];
    for (int i = 0; i < 12; i++) mine[i] = (float)i * 1.5F;
    ridge_user_input user[4] = {{mine}, {NULL}, {NULL}, {NULL}};
    ridge_operands *ops =
        operands_new(&fixture_target, (ridge_case){.dim = {3, 4, 2}, .dtype = RIDGE_F32}, (ridge_layout){5, 2, 0});
    ops->user = user;
    ridge_operands_fill(ops, RIDGE_SPECIAL, 3, NULL);
    for (int64_t e = 0; e < 12; e++) assert_memory_equal(address_of(&ops->in[0], e), &mine[e], sizeof(float));
    operands_delete(ops);
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    const int64_t big = INT64_C(1) << 40;
    const struct {
        ridge_case c;
        ridge_layout layout;
    } bad[] = {
        {{.dim = {big, big, 1, 1}, .dtype = RIDGE_F32}, {0, 0, 0}},
        {{.dim = {big, 1 << 20, 1, 1}, .dtype = RIDGE_F64}, {0, 0, 0}},
        {{.dim = {INT64_MAX, 1, 1, 1}, .dtype = RIDGE_BF16}, {0, 0, 0}},
        {{.dim = {1, 1, INT64_MAX, 1}, .dtype = RIDGE_BF16}, {0, 0, 0}},
        {{.dim = {1 << 20, 4, 1, 1}, .dtype = RIDGE_F32}, {INT64_MAX / 2, 0, 0}},
        {{.dim = {4, 4, 1, 1}, .dtype = RIDGE_F32}, {0, INT64_MAX, 0}},
        {{.dim = {4, 4, 1, 1}, .dtype = RIDGE_F32}, {-1, 0, 0}},
        {{.dim = {4, 4, 1, 1}, .dtype = RIDGE_F32}, {0, -1, 0}},
        {{.dim = {-1, 4, 1, 1}, .dtype = RIDGE_F32}, {0, 0, 0}},
        {{.dim = {4, -4, 1, 1}, .dtype = RIDGE_F32}, {0, 0, 0}},
        {{.dim = {0, -4, 1, 1}, .dtype = RIDGE_F32}, {0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        size_t bytes;
        ridge_error error;
        assert_int_equal(ridge_operands_bytes(&fixture_target, &bad[i].c, &bad[i].layout, &bytes, &error),
                         RIDGE_INVALID);
        assert_true(strlen(error.text) > 10 && !strchr(error.text, '\n'));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_disjoint_and_guarded),
        cmocka_unit_test(values_are_as_defined_in_any_layout_and_team),
        cmocka_unit_test(long_tensors_are_seamless),
        cmocka_unit_test(outputs_are_poisoned),
        cmocka_unit_test(poison_comes_from_no_arithmetic),
        cmocka_unit_test(fill_writes_all_and_only_its_memory),
        cmocka_unit_test(exact_is_small_integers),
        cmocka_unit_test(generator_is_uniform_and_uncorrelated),
        cmocka_unit_test(seeds_and_tensors_differ),
        cmocka_unit_test(special_has_all_kinds_and_leaves_rows_finite),
        cmocka_unit_test(special_values_of_tf32_survive_its_rounding),
        cmocka_unit_test(users_inputs_are_taken),
        cmocka_unit_test(sizes_that_overflow_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

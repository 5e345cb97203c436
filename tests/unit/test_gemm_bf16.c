/* gemm in bf16 on a CPU, where vdpbf16ps alone would be wrong: subnormal operands, sums below 2^-126, infinities and NaN.
 * All values are powers of two or small multiples of one, so that every sum is exact. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine/identity/machine.h"
#include "ridge/ops.h"
#include "ridge/target.h"

/* Several strips and panels of every instruction set, more than a slice of K. It is odd, or one less: then rows of A are read
 * where they lie. */
enum { M = 45, N = 70, K = 1091 };
static int64_t k_of;

static uint16_t a[M * K], b[K * N];
static float c[M * N];

static uint16_t bf16_of(double v) {
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    assert_true((double)f == v && (bits & 0xffff) == 0); /* needs no rounding */
    return (uint16_t)(bits >> 16);
}
static double value_of(uint16_t v) {
    const uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* Small integers times a power of two each. */
static void fill(double of_a, double of_b) {
    for (int e = 0; e < M * K; e++) a[e] = bf16_of(of_a * (e * 7 % 5 - 1));
    for (int e = 0; e < K * N; e++) b[e] = bf16_of(of_b * (e * 11 % 7 - 2));
}

static DLTensor tensor(void *data, int64_t *shape, int64_t *strides, ridge_dtype dtype) {
    return (DLTensor){.data = data,
                      .ndim = 2,
                      .shape = shape,
                      .strides = strides,
                      .dtype = ridge_dtype_to_dlpack(dtype),
                      .device = {kDLCPU, 0}};
}

static void run(const ridge_variant *v, ridge_isa isa, double alpha) {
    const ridge_target *target = ridge_target_find("gemm");
    int64_t dim[RIDGE_MAX_RANK] = {M, N, k_of}, of_a[] = {M, k_of}, of_b[] = {k_of, N}, of_c[] = {M, N};
    int64_t rows_of_a[] = {K, 1};
    const DLTensor in[] = {tensor(a, of_a, rows_of_a, RIDGE_BF16), tensor(b, of_b, NULL, RIDGE_BF16)};
    const DLTensor out = tensor(c, of_c, NULL, RIDGE_F32);
    const double option[RIDGE_MAX_OPTIONS] = {alpha, 1};
    const ridge_case of = {.dim = {M, N, k_of}, .dtype = RIDGE_BF16, .option = {alpha, 1}};
    const ridge_abilities here = {.isa = isa};
    const size_t size = ridge_variant_dense_scratch(target, v, &of, &here, 1);
    void *scratch = aligned_alloc(64, (size + 63) / 64 * 64 + 64);
    assert_non_null(scratch);
    memset(scratch, 0xff, size);
    memset(c, 0xff, sizeof c);
    const ridge_call call = {
        .dim = dim, .dtype = RIDGE_BF16, .option = option, .in = in, .out = &out, .scratch = scratch};
    assert_int_equal(ridge_variant_run(target, v, &here, &call), RIDGE_OK);
    free(scratch);
}

/* NaN of either sign is one value. */
static void compare(const char *name, ridge_isa isa, double alpha) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double want = 0;
            for (int k = 0; k < k_of; k++) want += value_of(a[i * K + k]) * value_of(b[k * N + j]);
            want *= alpha;
            const double got = (double)c[i * N + j];
            if (!(got == want || (isnan(got) && isnan(want))))
                fail_msg("%s %s, k %d: c[%d,%d] = %g, want %g", name, ridge_isa_name(isa), (int)k_of, i, j, got, want);
        }
}

/* Every variant and way in every instruction set that this machine has. */
static void all_of_a_depth_are_exact(double alpha) {
    const ridge_target *target = ridge_target_find("gemm");
    for (int v = 0; v < target->n_variants; v++)
        for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
            const ridge_variant *variant = &target->variants[v];
            if (ridge_variant_backend(variant) != RIDGE_BACKEND_cpu || variant->role == RIDGE_PEER) continue;
            if (!ridge_isa_supported((ridge_isa)isa)) continue;
            if (variant->n_ways == 0) {
                run(variant, (ridge_isa)isa, alpha);
                compare(variant->name, (ridge_isa)isa, alpha);
            }
            for (int w = 0; w < variant->n_ways; w++) {
                const ridge_variant one = ridge_variant_of_way(variant, &variant->ways[w], variant->ways[w].name);
                const ridge_case of = {.dim = {M, N, k_of}, .dtype = RIDGE_BF16, .option = {alpha, 1}};
                const ridge_abilities here = {.isa = (ridge_isa)isa};
                if (ridge_variant_dense_obstacle(target, &one, &of, &here)) continue;
                run(&one, (ridge_isa)isa, alpha);
                compare(one.name, (ridge_isa)isa, alpha);
            }
        }
}
static void all_are_exact(double alpha) {
    for (k_of = K; k_of >= K - 1; k_of--) all_of_a_depth_are_exact(alpha);
}

static void ordinary_products_are_exact(void **state) {
    (void)state;
    fill(1, 1), all_are_exact(1);
    fill(0x1p-40, 0x1p60), all_are_exact(-0.5);
}

static void subnormal_operands_count(void **state) {
    (void)state;
    fill(0x1p-131, 0x1p100), all_are_exact(1);
    fill(0x1p100, 0x1p-131), all_are_exact(1);
    fill(1, 1);
    for (int k = 0; k < K; k++) a[17 * K + k] = 0; /* a single one, in one row */
    a[17 * K + K - 1] = bf16_of(0x1p-133);
    b[(K - 1) * N + 69] = bf16_of(0x1p120);
    all_are_exact(1);
}

static void tiny_products_count(void **state) {
    (void)state;
    fill(0x1p-70, 0x1p-70), all_are_exact(0x1p20); /* sums below 2^-126 */
    fill(0x1p-56, 0x1p-56), all_are_exact(1);      /* the last exponents at which none can be */
    fill(0x1p-60, 0x1p-66), all_are_exact(1);
}

/* Behind it are zeros alone, in other rows ordinary numbers. */
static void subnormal_sums_stay(void **state) {
    (void)state;
    fill(1, 1);
    for (int i = 0; i < M; i += 2)
        for (int k = 0; k < K; k++) a[i * K + k] = k == 3 ? bf16_of(0x1p-70) : 0;
    for (int i = 1; i < M; i += 2) a[i * K + 3] = 0;
    for (int j = 0; j < N; j++) b[3 * N + j] = bf16_of(0x1p-70);
    all_are_exact(1);
    for (int i = 1; i < M; i += 2) memset(a + i * K, 0, K * sizeof *a);
    all_are_exact(1);
}

/* (1 + 2^-7)^2 - (1 + 2^-6) = 2^-14, times 2^-112, the last exponents at which that is not subnormal, and the next. */
static void sums_that_cancel_count(void **state) {
    (void)state;
    for (int below = 0; below < 2; below++) {
        const double of_a = 0x1p-56, of_b = below ? 0x1p-57 : 0x1p-56;
        memset(a, 0, sizeof a), memset(b, 0, sizeof b);
        for (int i = 0; i < M; i++) a[i * K + 6] = bf16_of(of_a * (1 + 0x1p-7)), a[i * K + 900] = bf16_of(-of_a);
        for (int j = 0; j < N; j++) {
            b[6 * N + j] = bf16_of(of_b * (1 + 0x1p-7)), b[900 * N + j] = bf16_of(of_b * (1 + 0x1p-6));
        }
        all_are_exact(1);
    }
}

static void infinities_and_nan_pass(void **state) {
    (void)state;
    fill(1, 1);
    a[3 * K + 5] = 0x7f80, a[20 * K + K - 1] = 0xff80, a[31 * K] = 0x7fc0; /* infinities, NaN */
    b[7 * N + 40] = 0x7f80, b[(K - 1) * N + 66] = 0xffc1;
    all_are_exact(1);
    fill(0x1p-131, 1); /* an infinity times a subnormal number is one */
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) b[k * N + j] = 0x3f80;
    for (int i = 0; i < M; i++) a[i * K + 4] = 1;
    b[4 * N + 9] = 0x7f80, b[4 * N + 68] = 0xff80;
    all_are_exact(1);
}

/* ridge_gemm, with C in bf16 and in fp32. */
static void the_operation_takes_both_results(void **state) {
    static uint16_t narrow[M * N];
    (void)state;
    k_of = 4;
    fill(1, 0.5);
    int64_t of_a[] = {M, 4}, of_b[] = {4, N}, of_c[] = {M, N}, rows_of_a[] = {K, 1};
    const DLTensor ta = tensor(a, of_a, rows_of_a, RIDGE_BF16), tb = tensor(b, of_b, NULL, RIDGE_BF16);
    const DLTensor wide = tensor(c, of_c, NULL, RIDGE_F32), tc = tensor(narrow, of_c, NULL, RIDGE_BF16);
    ridge_context *context = NULL;
    assert_int_equal(ridge_context_create(2, &context, NULL), RIDGE_OK);
    assert_int_equal(ridge_gemm(context, &ta, &tb, NULL, &wide, NULL), RIDGE_OK);
    compare("wide", RIDGE_ISA_scalar, 1);
    assert_int_equal(ridge_gemm(context, &ta, &tb, &(ridge_gemm_options){2}, &tc, NULL), RIDGE_OK);
    for (int e = 0; e < M * N; e++) assert_true(value_of(narrow[e]) == 2 * (double)c[e]);
    ridge_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_products_are_exact),
        cmocka_unit_test(subnormal_operands_count),
        cmocka_unit_test(tiny_products_count),
        cmocka_unit_test(sums_that_cancel_count),
        cmocka_unit_test(infinities_and_nan_pass),
        cmocka_unit_test(subnormal_sums_stay),
        cmocka_unit_test(the_operation_takes_both_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

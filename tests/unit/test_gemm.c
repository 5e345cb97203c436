/* The matrix targets over random shapes, strides and thread counts, in every instruction set of this machine, against
 * plain loops in fp64. Outputs, their padding and the end of scratch are watched: nothing may be left out, nothing else
 * written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/random.h"
#include "machine/identity/machine.h"
#include "ridge/target.h"
#include "sanitized.h"
#include "verify/judge.h"

enum { GUARD = 256, SHAPES = 60 };

static uint64_t seed;

static int64_t draw(int64_t low, int64_t high) {
    return low + (int64_t)(ridge_random(42, seed++) % (uint64_t)(high - low + 1));
}

static float draw_float(void) { return (float)(2 * ridge_random_unit(43, seed++) - 1); }

/* A tensor with padded rows and an odd base; what lies between and after its rows holds `pad`. */
typedef struct box {
    DLTensor t;
    int64_t shape[2], strides[2], floats;
    float *memory;
} box;

static const float pad = 12345.0f;

static void box_make(box *b, int rank, int64_t rows, int64_t cols, bool fill) {
    const int64_t stride = rank == 2 ? cols + draw(0, 5) : cols, odd = draw(0, 3);
    *b = (box){.shape = {rank == 2 ? rows : cols, cols}, .strides = {rank == 2 ? stride : 1, 1}};
    b->floats = odd + (rank == 2 ? rows : 1) * stride + GUARD;
    b->memory = malloc((size_t)b->floats * sizeof(float));
    assert_non_null(b->memory);
    for (int64_t i = 0; i < b->floats; i++) b->memory[i] = pad;
    for (int64_t r = 0; r < (rank == 2 ? rows : 1); r++)
        for (int64_t c = 0; c < cols; c++) b->memory[odd + r * stride + c] = fill ? draw_float() : NAN;
    b->t = (DLTensor){.data = b->memory + odd,
                      .ndim = rank,
                      .shape = b->shape,
                      .strides = b->strides,
                      .dtype = ridge_dtype_to_dlpack(RIDGE_F32),
                      .device = {kDLCPU, 0}};
}

static float at(const box *b, int64_t r, int64_t c) { return ((const float *)b->t.data)[r * b->strides[0] + c]; }

/* All that is not an element still holds what it held. */
static void box_check_padding(const box *b) {
    const int64_t odd = (const float *)b->t.data - b->memory;
    for (int64_t i = 0; i < b->floats; i++) {
        const int64_t r = (i - odd) / b->strides[0], c = (i - odd) % b->strides[0];
        if (i >= odd && r < b->shape[0] && c < b->shape[1]) continue;
        assert_true(b->memory[i] == pad);
    }
}

/* Runs one variant, or one of its ways, on dirty scratch that ends in guard bytes. False: the way does not take it. */
static bool run(const ridge_target *target, const ridge_variant *v, const ridge_way *way, int isa, const int64_t *dim,
                const box *in, const box *out, ridge_team *team) {
    ridge_case c = {.dtype = RIDGE_F32};
    for (int i = 0; i < ridge_target_rank(target); i++) c.dim[i] = dim[i];
    ridge_variant one;
    if (way) {
        one = ridge_variant_of_way(v, way, "cpu/test:way");
        v = &one;
    }
    const ridge_abilities here = {.isa = (ridge_isa)isa};
    const size_t size = ridge_variant_dense_scratch(target, v, &c, &here, ridge_team_size(team));
    unsigned char *scratch = aligned_alloc(64, (size + GUARD + 63) / 64 * 64);
    assert_non_null(scratch);
    memset(scratch, 0xff, size + GUARD); /* as floats: NaN */
    DLTensor tensors[RIDGE_MAX_INPUTS];
    for (int i = 0; i < target->n_in; i++) tensors[i] = in[i].t;
    const ridge_call call = {
        .dim = dim, .dtype = RIDGE_F32, .in = tensors, .out = &out->t, .scratch = scratch, .team = team};
    const ridge_status status = ridge_variant_run(target, v, &(ridge_abilities){.isa = (ridge_isa)isa}, &call);
    if (!way || status != RIDGE_UNSUPPORTED) assert_int_equal(status, RIDGE_OK);
    for (size_t i = size; i < size + GUARD; i++) assert_int_equal(scratch[i], 0xff);
    free(scratch);
    return status == RIDGE_OK;
}

/* The result in fp64, and the bound that `ridge verify` holds it to. */
static void expect(const ridge_target *target, const int64_t *dim, const box *in, double *want, ridge_bound *bound) {
    double *dense[RIDGE_MAX_INPUTS] = {NULL}, max[RIDGE_MAX_INPUTS] = {0};
    for (int i = 0; i < target->n_in; i++) {
        const int64_t rows = in[i].t.ndim == 2 ? in[i].shape[0] : 1, cols = in[i].shape[in[i].t.ndim == 2 ? 1 : 0];
        dense[i] = malloc((size_t)(rows * cols + 1) * sizeof(double));
        assert_non_null(dense[i]);
        for (int64_t k = 0; k < rows * cols; k++) {
            dense[i][k] = (double)at(&in[i], k / cols, 0 + k % cols);
            max[i] = fmax(max[i], fabs(dense[i][k]));
        }
    }
    const ridge_oracle_call call = {
        .dim = dim, .dtype = RIDGE_F32, .in = (const double *const *)dense, .out = &want, .in_max = max};
    target->oracle(&call);
    ridge_judge_bound(target, &call, RIDGE_RANDOM, 0, RIDGE_F32, bound);
    for (int i = 0; i < target->n_in; i++) free(dense[i]);
}

static void check(const ridge_target *target, const int64_t *dim, ridge_team *team) {
    box in[RIDGE_MAX_INPUTS];
    for (int i = 0; i < target->n_in; i++) {
        const ridge_tensor_spec *s = &target->in[i];
        box_make(&in[i], s->rank, dim[s->dim[0]], dim[s->dim[s->rank - 1]], true);
    }
    const int64_t rows = dim[target->out[0].dim[0]], cols = dim[target->out[0].dim[1]];
    double *want = malloc((size_t)(rows * cols + 1) * sizeof(double));
    assert_non_null(want);
    ridge_bound bound;
    expect(target, dim, in, want, &bound);
    for (int v = 0; v < target->n_variants; v++)
        for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
            if (ridge_variant_backend(&target->variants[v]) != RIDGE_BACKEND_cpu) continue;
            if (target->variants[v].role == RIDGE_PEER || !ridge_isa_supported((ridge_isa)isa)) continue;
            const ridge_variant *variant = &target->variants[v];
            for (int way = -1; way < variant->n_ways; way++) {
                const ridge_way *one = way < 0 ? NULL : &variant->ways[way];
                box out;
                box_make(&out, 2, rows, cols, false);
                const bool ran = run(target, variant, one, isa, dim, in, &out, team);
                for (int64_t k = 0; k < rows * cols && ran; k++) {
                    const double got = (double)at(&out, k / cols, k % cols);
                    if (!(fabs(got - want[k]) <= bound.absolute + bound.relative * fabs(want[k])))
                        fail_msg("%s %s%s%s %s %lldx%lldx%lld, %d threads, element %lld: %.9g, want %.9g", target->name,
                                 variant->name, one ? ":" : "", one ? one->name : "", ridge_isa_name((ridge_isa)isa),
                                 (long long)dim[0], (long long)dim[1], (long long)dim[2], ridge_team_size(team),
                                 (long long)k, got, want[k]);
                }
                box_check_padding(&out);
                free(out.memory);
            }
        }
    for (int i = 0; i < target->n_in; i++) free(in[i].memory);
    free(want);
}

/* Random shapes around the tile sizes, and some large enough for the team, several blocks and several slices. */
static void random_shapes(const char *name, const int64_t (*fixed)[3], size_t n_fixed) {
    const ridge_target *target = ridge_target_find(name);
    assert_non_null(target);
    for (int threads = UNDER_SANITIZER ? 3 : 1; threads <= 3; threads++) {
        ridge_team *team = NULL;
        assert_int_equal(ridge_team_create(threads, NULL, &team, NULL), RIDGE_OK);
        for (size_t i = 0; i < n_fixed; i++) check(target, fixed[i], team);
        for (int i = 0; i < SHAPES; i++) {
            const int64_t dim[RIDGE_MAX_RANK] = {draw(1, 70), draw(1, 70), draw(1, 70)};
            check(target, dim, team);
        }
        ridge_team_destroy(team);
    }
}

static void matmul_random_shapes(void **state) {
    (void)state;
    /* m, n, k: every block boundary of gemm_product.c, and the depth split between threads */
    static const int64_t fixed[][3] = {{0, 3, 4},      {1, 1, 1},      {181, 67, 1100}, {97, 200, 129},  {14, 32, 5000},
                                       {1, 1100, 300}, {2, 1030, 600}, {150, 1041, 30}, {290, 400, 257}, {300, 129, 4},
                                       {6, 4, 7000},   {13, 8, 9000},  {700, 1, 700},   {3, 900, 2}};
    random_shapes("micro_tiling_matmul", fixed, sizeof fixed / sizeof fixed[0]);
}

static void linear_softmax_random_shapes(void **state) {
    (void)state;
    /* batch, depth, classes: full strips with one group and with many, two slices, blocks of several strips */
    static const int64_t fixed[][3] = {{0, 3, 4},     {1, 1, 1},       {64, 128, 10},  {100, 64, 13},
                                       {96, 530, 27}, {130, 1100, 40}, {150, 70, 300}, {45, 600, 257}};
    random_shapes("linear_softmax", fixed, 8);
}

/* Infinite and NaN inputs reach exactly the rows they belong to. */
static void not_a_number_stays_in_its_row(void **state) {
    (void)state;
    const ridge_target *target = ridge_target_find("linear_softmax");
    const int64_t dim[RIDGE_MAX_RANK] = {67, 33, 21};
    box in[3], out;
    box_make(&in[0], 2, dim[0], dim[1], true);
    box_make(&in[1], 2, dim[1], dim[2], true);
    box_make(&in[2], 1, 1, dim[2], true);
    ((float *)in[0].t.data)[40 * in[0].strides[0] + 5] = NAN;
    ((float *)in[0].t.data)[13 * in[0].strides[0] + 7] = INFINITY;
    for (int v = 0; v < target->n_variants; v++)
        for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
            if (ridge_variant_backend(&target->variants[v]) != RIDGE_BACKEND_cpu) continue;
            if (target->variants[v].role == RIDGE_PEER || !ridge_isa_supported((ridge_isa)isa)) continue;
            box_make(&out, 2, dim[0], dim[2], false);
            run(target, &target->variants[v], NULL, isa, dim, in, &out, NULL);
            for (int64_t r = 0; r < dim[0]; r++)
                for (int64_t c = 0; c < dim[2]; c++) assert_int_equal(isnan(at(&out, r, c)) != 0, r == 40 || r == 13);
            free(out.memory);
        }
    for (int i = 0; i < 3; i++) free(in[i].memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_random_shapes),
        cmocka_unit_test(linear_softmax_random_shapes),
        cmocka_unit_test(not_a_number_stays_in_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

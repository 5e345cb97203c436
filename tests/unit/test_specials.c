/* NaN, infinities and overflow in the inputs of norms and softmax: the table of ops.h, row by row. Oracle and CPU
 * variants must give the same. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { COLS = 4, INPUTS = 3 };
#define INF ((double)INFINITY)
#define NONE ((double)NAN)
#define BIG 3e38       /* finite in fp32, its square is not */
#define ROOT 1.4142135 /* of 2 */
#define EITHER RIDGE_UNDECIDED
#define ONES \
    { 1, 1, 1, 1 }
#define ZEROS \
    { 0, 0, 0, 0 }
#define NONES \
    { NONE, NONE, NONE, NONE }

typedef struct special {
    const char *target;
    int option;              /* activation of norms, log of softmax; of targets that have the option */
    double in[INPUTS][COLS]; /* as many as the target has */
    double want[COLS];
} special;

#define L2(name)                                                                        \
    {name, 0, {{NONE, 1, 0, 2}}, NONES}, {name, 0, {{INF, 1, 0, -2}}, {NONE, 0, 0, 0}}, \
        {name, 0, {{BIG, -BIG, 0, 0}}, {0.5 * ROOT, -0.5 * ROOT, 0, 0}}, {              \
        name, 0, {ZEROS}, ZEROS                                                         \
    }
#define SOFTMAX(name)                                                                                      \
    {name, 0, {{NONE, 1, 0, 2}}, NONES}, {name, 0, {{INF, 1, 0, 2}}, NONES},                               \
        {name, 0, {{-INF, 1, 1, -INF}}, {0, 0.5, 0.5, 0}}, {name, 0, {{-INF, -INF, -INF, -INF}}, NONES}, { \
        name, 0, {{BIG, -BIG, BIG, 0}}, { 0.5, 0, 0.5, 0 }                                                 \
    }
/* x / root is 1, -1, 0 and 1 of each row: what an infinite weight makes of it. */
#define WEIGHTED                               \
    {                                          \
        {1, -1, 0, 1}, { INF, INF, INF, -INF } \
    }

static const special specials[] = {
    L2("fused_l2norm"),
    L2("l2_norm"),
    {"l2_norm", RIDGE_ACTIVATION_RELU, {{NONE, 1, 0, 2}}, NONES},
    {"rms_norm", 0, {{NONE, 1, 0, 2}, ONES}, NONES},
    {"rms_norm", 0, {{INF, 1, 0, -2}, ONES}, {NONE, 0, 0, 0}},
    {"rms_norm", 0, {{BIG, -BIG, 0, 0}, ONES}, {ROOT, -ROOT, 0, 0}},
    {"rms_norm", 0, WEIGHTED, {INF, -INF, NONE, -INF}},
    {"rms_norm", RIDGE_ACTIVATION_GELU, WEIGHTED, {INF, NONE, NONE, NONE}},
    {"rms_norm", RIDGE_ACTIVATION_GELU_TANH, WEIGHTED, {INF, NONE, NONE, NONE}},
    {"rms_norm", RIDGE_ACTIVATION_SILU, WEIGHTED, {INF, NONE, NONE, NONE}},
    {"rms_norm", RIDGE_ACTIVATION_RELU, WEIGHTED, {INF, 0, NONE, 0}},
    {"rms_norm", 0, {{1e-40, -1e-40, 1, 1}, {INF, INF, 1, 1}}, {EITHER, EITHER, ROOT, ROOT}}, /* may be flushed */
    {"norm_activation_rms", 0, {{NONE, 1, 0, 2}, ONES}, NONES},
    {"norm_activation_rms", 0, {{INF, 1, 0, -2}, ONES}, {NONE, 0, 0, 0}},
    {"norm_activation_rms", 0, WEIGHTED, {INF, NONE, NONE, NONE}},
    {"norm_activation_rms", 0, {{BIG, -BIG, 0, 0}, {INF, INF, 1, 1}}, {INF, NONE, 0, 0}},
    {"layer_norm", 0, {{NONE, 1, 0, 2}, ONES, ZEROS}, NONES},
    {"layer_norm", 0, {{INF, 1, 0, 2}, ONES, ZEROS}, NONES},
    {"layer_norm", 0, {{BIG, -BIG, 0, 0}, ONES, ZEROS}, {ROOT, -ROOT, 0, 0}},
    {"layer_norm", 0, {{BIG, BIG, BIG, BIG}, ONES, {1, 2, -INF, NONE}}, {1, 2, -INF, NONE}},
    {"layer_norm", 0, {{BIG, BIG, -BIG, -BIG}, {INF, 1, INF, 1}, {1, 0, 1, 0}}, {INF, 1, -INF, -1}},
    {"layer_norm", 0, {{1, -1, 0, 0}, {INF, INF, INF, INF}, {0, INF, 0, NONE}}, {INF, NONE, EITHER, NONE}},
    {"layer_norm", RIDGE_ACTIVATION_RELU, {{1, -1, 0, 0}, {INF, INF, INF, 1}, ZEROS}, {INF, 0, EITHER, 0}},
    {"norm_activation", 0, {{NONE, 1, 0, 2}, ONES, ZEROS}, NONES},
    {"norm_activation", 0, {{INF, 1, 0, 2}, ONES, ZEROS}, NONES},
    {"norm_activation", 0, {{BIG, BIG, BIG, BIG}, ONES, {0, INF, -INF, NONE}}, {0, INF, NONE, NONE}},
    {"norm_activation", 0, {{1, -1, 0, 0}, {INF, INF, INF, 1}, ZEROS}, {INF, NONE, EITHER, 0}},
    {"add_rms_norm", 0, {{BIG, 1, 0, -2}, {BIG, 0, 0, 0}, ONES}, {NONE, 0, 0, 0}}, /* the sum overflows */
    SOFTMAX("online_softmax"),
    SOFTMAX("scaled_softmax"),
    {"scaled_softmax", 1, {{-INF, 1, -INF, -INF}}, {-INF, 0, -INF, -INF}},
    {"scaled_softmax", 1, {{-INF, -INF, -INF, -INF}}, NONES},
    {"scaled_softmax", 1, {{INF, 1, 0, 2}}, NONES},
    {"scaled_softmax", 1, {{BIG, 0, 0, 0}}, {0, -BIG, -BIG, -BIG}},
    {"masked_softmax", 0, {{1, 2, 1, 3}, {0, -INF, 0, -INF}}, {0.5, 0, 0.5, 0}},
    {"masked_softmax", 0, {{1, 2, 1, 3}, {-INF, -INF, -INF, -INF}}, NONES},
    {"masked_softmax", 0, {{INF, 2, 1, 3}, {-INF, 0, 0, 0}}, NONES},
};

/* ---- comparison ------------------------------------------------------------------------------------------------- */

static bool meets(double got, double want) {
    if (ridge_is_undecided(want)) return !isfinite(got) || got == 0;
    if (isnan(want)) return isnan(got);
    if (isinf(want)) return got == want;
    return fabs(got - want) <= 1e-4 * fmax(1, fabs(want));
}

static void expect(const special *s, const char *who, const double *got) {
    for (int j = 0; j < COLS; j++)
        if (!meets(got[j], s->want[j]))
            fail_msg("%s, option %d, row %d: %s has y[%d] = %g, want %g", s->target, s->option, (int)(s - specials),
                     who, j, got[j], s->want[j]);
}

static void set_options(const ridge_target *target, const special *s, double option[RIDGE_MAX_OPTIONS]) {
    const int activation = ridge_target_option(target, "activation"), log_of = ridge_target_option(target, "log");
    ridge_target_options(target, option);
    if (activation >= 0) option[activation] = s->option;
    if (log_of >= 0) option[log_of] = s->option;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

/* The inputs are what fp32 makes of the table's numbers. */
static void oracles_follow_the_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        const special *s = &specials[i];
        const ridge_target *target = ridge_target_find(s->target);
        assert_non_null(target);
        double in[INPUTS][COLS], y[COLS], sum[COLS], option[RIDGE_MAX_OPTIONS];
        const double *const ins[INPUTS] = {in[0], in[1], in[2]}, in_max[INPUTS] = {1, 1, 1};
        for (int t = 0; t < INPUTS; t++)
            for (int j = 0; j < COLS; j++) in[t][j] = (double)(float)s->in[t][j];
        set_options(target, s, option);
        const int64_t dim[RIDGE_MAX_RANK] = {1, COLS}, row = 0;
        double *const out[] = {y, sum};
        const ridge_oracle_call call = {.dim = dim,
                                        .whole = dim,
                                        .dtype = RIDGE_F32,
                                        .row = &row,
                                        .option = option,
                                        .in = ins,
                                        .out = out,
                                        .in_max = in_max};
        target->oracle(&call);
        expect(s, "the oracle", y);
        for (int j = 0; j < COLS; j++) assert_true(ridge_is_undecided(y[j]) == ridge_is_undecided(s->want[j]));
    }
}

static DLTensor tensor_of(float *data, int64_t shape[2], int rank) {
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = rank,
                      .dtype = ridge_dtype_to_dlpack(RIDGE_F32),
                      .shape = shape + 2 - rank};
}

static void apply(ridge_context *context, const special *s, const char *variant) {
    const ridge_target *target = ridge_target_find(s->target);
    int64_t shape[2] = {1, COLS};
    float in[INPUTS][COLS], out[2][COLS];
    double y[COLS], option[RIDGE_MAX_OPTIONS];
    DLTensor ins[INPUTS], outs[2];
    ridge_error why;
    for (int t = 0; t < INPUTS; t++)
        for (int j = 0; j < COLS; j++) in[t][j] = (float)s->in[t][j];
    for (int t = 0; t < target->n_in; t++) ins[t] = tensor_of(in[t], shape, target->in[t].rank);
    for (int t = 0; t < target->n_out; t++) outs[t] = tensor_of(out[t], shape, 2);
    set_options(target, s, option);
    if (ridge_apply(context, s->target, variant, ins, target->n_in, outs, target->n_out, option, &why) != RIDGE_OK)
        fail_msg("%s %s: %s", s->target, variant, why.text);
    for (int j = 0; j < COLS; j++) y[j] = (double)out[0][j];
    expect(s, variant, y);
}

static void kernels_follow_the_table(void **state) {
    (void)state;
    ridge_context *context = NULL;
    assert_int_equal(ridge_context_create(1, &context, NULL), RIDGE_OK);
    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        apply(context, &specials[i], "cpu/baseline");
        apply(context, &specials[i], "cpu/optimized");
    }
    ridge_context_destroy(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracles_follow_the_table),
        cmocka_unit_test(kernels_follow_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

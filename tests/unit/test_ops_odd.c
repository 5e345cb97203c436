/* Odd calls: what a caller may get wrong, and what ridge_apply says to it. Each is a right call with a few edits.
 *
 *     RIDGE_ODD_CALLS=markdown build/tests/test_ops_odd        prints the table as a document has it */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/ops.h"

enum { TENSORS = 10, PLACE = 64, RANK = 10 }; /* PLACE: floats from one tensor to the next */

/* ---- right calls ------------------------------------------------------------------------------------------------ */

typedef struct tensor {
    int ndim;
    int64_t shape[RANK];
    bool integer;
} tensor;

typedef struct base {
    const char *target;
    int n_in, n_out;
    tensor tensor[TENSORS]; /* inputs, then outputs */
} base;

static const base rows = {"fused_l2norm", 1, 1, {{2, {3, 4}, false}, {2, {3, 4}, false}}};
static const base cube = {"fused_l2norm", 1, 1, {{3, {2, 3, 4}, false}, {3, {2, 3, 4}, false}}};
static const base sum = {"memory_bound", 2, 1, {{2, {3, 4}, false}, {2, {3, 4}, false}, {2, {3, 4}, false}}};
static const base maps = {
    "horizontal_fusion", 1, 3, {{2, {3, 4}, false}, {2, {3, 4}, false}, {2, {3, 4}, false}, {2, {3, 4}, false}}};
static const base norm = {
    "norm_activation", 3, 1, {{2, {3, 4}, false}, {1, {4}, false}, {1, {4}, false}, {2, {3, 4}, false}}};
static const base linear = {
    "linear_softmax", 3, 1, {{2, {3, 4}, false}, {2, {4, 5}, false}, {1, {5}, false}, {2, {3, 5}, false}}};
static const base loss = {
    "linear_cross_entropy",
    4,
    2,
    {{2, {3, 4}, false}, {2, {5, 4}, false}, {1, {5}, false}, {1, {3}, true}, {1, {3}, false}, {1, {3}, false}}};
static const base empty_gradients = {"linear_cross_entropy_grad",
                                     5,
                                     5,
                                     {{2, {0, 4}, false},
                                      {2, {5, 4}, false},
                                      {1, {5}, false},
                                      {1, {0}, true},
                                      {1, {0}, false},
                                      {1, {0}, false},
                                      {1, {0}, false},
                                      {2, {0, 4}, false},
                                      {2, {5, 4}, false},
                                      {1, {5}, false}}};
static const base gather = {"software_prefetch", 2, 1, {{2, {6, 4}, false}, {2, {3, 2}, true}, {2, {3, 4}, false}}};

/* ---- edits ------------------------------------------------------------------------------------------------------ */

enum field {
    END,
    CONTEXT, /* pointers: 0 is NULL */
    TARGET,
    INPUTS,
    OUTPUTS,
    NO_TARGET, /* a name that no target has */
    VARIANT,   /* one of variants */
    N_IN,      /* counts */
    N_OUT,
    DATA, /* of a tensor: 0 is NULL, else bytes to add to the address */
    OFFSET,
    AT, /* a tensor's address becomes that of tensor `value` */
    SHAPE,
    NDIM,
    EXTENT, /* EXTENT + d */
    STRIDE = EXTENT + RANK,
    CODE = STRIDE + RANK,
    BITS,
    LANES,
    DEVICE,
    DEVICE_ID,
    FIRST,  /* the first element of an integer tensor */
    OPTION, /* OPTION + i */
};

typedef struct edit {
    int field, tensor;
    double value;
} edit;

static const char *const variants[] = {"cpu/none", "cuda/optimized"};

typedef struct odd {
    const char *name;
    const base *base;
    edit edit[6];
    int status;       /* a ridge_status, or ANY */
    const char *word; /* which the text has */
} odd;

#define TYPE(tensor, code, bits) \
    {CODE, (tensor), (code)}, { BITS, (tensor), (bits) }
#define STRIDES(tensor, first, second) \
    {STRIDE, (tensor), (first)}, { STRIDE + 1, (tensor), (second) }
#define SHAPES(first, second) \
    {EXTENT, 0, (first)}, {EXTENT + 1, 0, (second)}, {EXTENT, 1, (first)}, { EXTENT + 1, 1, (second) }

enum { ANY = RIDGE_STATUS_COUNT }; /* any status but RIDGE_OK: builds with and without CUDA have reasons of their own */

static const odd odds[] = {
    /* pointers and counts */
    {"context NULL", &rows, {{CONTEXT, 0, 0}}, RIDGE_INVALID, "context is NULL"},
    {"target NULL", &rows, {{TARGET, 0, 0}}, RIDGE_INVALID, "target is NULL"},
    {"unknown target", &rows, {{NO_TARGET, 0, 0}}, RIDGE_NOT_FOUND, "no target"},
    {"unknown variant", &rows, {{VARIANT, 0, 0}}, RIDGE_NOT_FOUND, "no variant"},
    {"a variant of another device", &rows, {{VARIANT, 0, 1}}, RIDGE_UNSUPPORTED, "not for the device"},
    {"inputs NULL", &rows, {{INPUTS, 0, 0}}, RIDGE_INVALID, "inputs is NULL"},
    {"outputs NULL", &rows, {{OUTPUTS, 0, 0}}, RIDGE_INVALID, "outputs is NULL"},
    {"no inputs", &rows, {{N_IN, 0, 0}}, RIDGE_INVALID, "1 inputs"},
    {"-1 inputs", &rows, {{N_IN, 0, -1}}, RIDGE_INVALID, "not -1"},
    {"-1 outputs", &rows, {{N_OUT, 0, -1}}, RIDGE_INVALID, "and -1"},
    {"data of an input NULL", &rows, {{DATA, 0, 0}}, RIDGE_INVALID, "data of x is NULL"},
    {"data of an output NULL", &rows, {{DATA, 1, 0}}, RIDGE_INVALID, "data of y is NULL"},
    {"data NULL with an offset", &rows, {{DATA, 0, 0}, {OFFSET, 0, 64}}, RIDGE_INVALID, "data of x is NULL"},
    {"shape NULL", &rows, {{SHAPE, 0, 0}}, RIDGE_INVALID, "shape of x is NULL"},
    /* shapes */
    {"a negative extent", &rows, {{EXTENT, 0, -3}}, RIDGE_INVALID, "negative extent -3"},
    {"negative extents in both", &rows, {SHAPES(-3, 4)}, RIDGE_INVALID, "negative extent -3"},
    {"-1 dimensions", &rows, {{NDIM, 0, -1}}, RIDGE_INVALID, "-1 dimensions"},
    {"9 dimensions", &rows, {{NDIM, 0, 9}}, RIDGE_INVALID, "9 dimensions"},
    {"gamma of 2 dimensions", &norm, {{NDIM, 1, 2}}, RIDGE_INVALID, "gamma has 2 dimensions, not 1"},
    {"no dimension", &rows, {{NDIM, 0, 0}}, RIDGE_INVALID, "at least 1"},
    {"2^80 elements", &rows, {SHAPES(0x1p40, 0x1p40)}, RIDGE_INVALID, "more elements"},
    {"2^62 elements of 4 bytes", &rows, {SHAPES(0x1p31, 0x1p31)}, RIDGE_INVALID, "address space"},
    {"an offset that wraps", &rows, {{OFFSET, 0, 0x1.fffffffffffffp63}}, RIDGE_INVALID, "address space"},
    {"a stride of 2^62", &rows, {STRIDES(0, 0x1p62, 1)}, RIDGE_INVALID, "x"},
    {"rows that differ", &rows, {{EXTENT, 1, 2}}, RIDGE_INVALID, "rows is 2 in y and 3 elsewhere"},
    {"gamma too short", &norm, {{EXTENT, 1, 3}}, RIDGE_INVALID, "cols is 3 in gamma"},
    {"leading dimensions that differ", &cube, {{EXTENT, 1, 3}, {EXTENT + 1, 1, 2}}, RIDGE_INVALID, "[3, 2] in y"},
    {"leading dimensions folded in one tensor only",
     &cube,
     {{NDIM, 1, 2}, {EXTENT, 1, 6}, {EXTENT + 1, 1, 4}},
     RIDGE_INVALID,
     "[6] in y and [2, 3] in x"},
    {"no columns", &rows, {SHAPES(3, 0)}, RIDGE_INVALID, "cols must be at least 1"},
    {"no rows", &rows, {SHAPES(0, 4)}, RIDGE_OK, ""},
    {"no rows, data NULL", &rows, {SHAPES(0, 4), {DATA, 0, 0}, {DATA, 1, 0}}, RIDGE_OK, ""},
    {"no rows, strides 0", &rows, {{EXTENT, 0, 0}, {EXTENT, 1, 0}, STRIDES(0, 0, 0), STRIDES(1, 0, 0)}, RIDGE_OK, ""},
    {"no rows of 2^62 columns", &rows, {SHAPES(0, 0x1p62)}, RIDGE_OK, ""},
    {"gradients of no rows, data NULL",
     &empty_gradients,
     {{DATA, 0, 0}, {DATA, 3, 0}, {DATA, 4, 0}, {DATA, 5, 0}, {DATA, 6, 0}, {DATA, 7, 0}},
     RIDGE_OK,
     ""},
    {"one row, of rank 1", &rows, {{NDIM, 0, 1}, {NDIM, 1, 1}}, RIDGE_OK, ""},
    {"rank 3", &cube, {{END, 0, 0}}, RIDGE_OK, ""},
    /* strides and alignment */
    {"a row stride of 0", &rows, {STRIDES(0, 0, 1)}, RIDGE_INVALID, "stride 0 in dimension 0"},
    {"a negative row stride", &rows, {STRIDES(0, -4, 1)}, RIDGE_INVALID, "strides must be positive"},
    {"rows that overlap", &rows, {STRIDES(1, 3, 1)}, RIDGE_INVALID, "y overlaps itself"},
    {"a last dimension of stride 2", &rows, {STRIDES(0, 8, 2)}, RIDGE_INVALID, "stride 2, not 1"},
    {"a transposed input", &rows, {STRIDES(0, 1, 3)}, RIDGE_INVALID, "make it contiguous"},
    {"leading dimensions that do not fold",
     &cube,
     {STRIDES(0, 16, 4), {STRIDE + 2, 0, 1}},
     RIDGE_INVALID,
     "do not fold"},
    {"leading dimensions of one stride", &cube, {STRIDES(0, 15, 5), {STRIDE + 2, 0, 1}}, RIDGE_OK, ""},
    {"w by rows and by columns", &linear, {STRIDES(1, 7, 3)}, RIDGE_INVALID, "neither row-major nor column-major"},
    {"w by columns", &linear, {STRIDES(1, 1, 4)}, RIDGE_OK, ""},
    {"a pointer off by one byte", &rows, {{DATA, 0, 1}}, RIDGE_INVALID, "x is misaligned"},
    {"an offset of one byte", &rows, {{OFFSET, 1, 1}}, RIDGE_INVALID, "y is misaligned"},
    /* types */
    {"f64", &rows, {TYPE(0, kDLFloat, 64)}, RIDGE_INVALID, "x is of type f64; on the CPU it takes f32 or bf16"},
    {"f64, y f32", &linear, {TYPE(0, kDLFloat, 64)}, RIDGE_INVALID, "x is of type f64; on the CPU it takes f32"},
    {"f16, for GPUs only", &rows, {TYPE(0, kDLFloat, 16)}, RIDGE_UNSUPPORTED, "x is of type f16; on the CPU"},
    {"y of another type", &rows, {TYPE(1, kDLBfloat, 16)}, RIDGE_INVALID, "y is of type bf16, but"},
    {"complex64", &rows, {TYPE(0, kDLComplex, 64)}, RIDGE_INVALID, "complex64"},
    {"bool", &rows, {TYPE(0, 6, 8)}, RIDGE_INVALID, "type bool"},
    {"u8", &rows, {TYPE(0, kDLUInt, 8)}, RIDGE_INVALID, "type u8"},
    {"a type that DLPack does not know", &rows, {TYPE(0, 77, 32)}, RIDGE_INVALID, "code 77"},
    {"four lanes", &rows, {{LANES, 0, 4}}, RIDGE_INVALID, "4 lanes"},
    {"labels of floats", &loss, {TYPE(3, kDLFloat, 32)}, RIDGE_INVALID, "labels is of type f32; it takes i32 or i64"},
    {"labels of i16", &loss, {TYPE(3, kDLInt, 16)}, RIDGE_INVALID, "type i16; it takes"},
    {"labels of i64", &loss, {TYPE(3, kDLInt, 64)}, RIDGE_OK, ""},
    {"a label that is no class", &loss, {{FIRST, 3, 1e9}}, RIDGE_OK, ""},
    {"an index beyond the table", &gather, {{FIRST, 1, 6}}, RIDGE_INVALID, "value 6, outside [0, 6)"},
    {"a negative index", &gather, {{FIRST, 1, -1}}, RIDGE_INVALID, "value -1"},
    /* devices */
    {"a Metal tensor", &rows, {{DEVICE, 0, kDLMetal}}, RIDGE_UNSUPPORTED, "Metal device 0"},
    {"an unknown device", &rows, {{DEVICE, 0, 99}}, RIDGE_UNSUPPORTED, "unknown type 99"},
    {"x on the CPU, y on a GPU", &rows, {{DEVICE, 1, kDLCUDA}}, RIDGE_INVALID, "another device"},
    {"a GPU that is not there",
     &rows,
     {{DEVICE, 0, kDLCUDA}, {DEVICE, 1, kDLCUDA}, {DEVICE_ID, 0, 1000}, {DEVICE_ID, 1, 1000}},
     ANY,
     "CUDA device 1000"},
    {"GPU -1", &rows, {{DEVICE, 0, kDLCUDA}, {DEVICE_ID, 0, -1}}, RIDGE_INVALID, "CUDA device -1"},
    {"CPU memory of any id", &rows, {{DEVICE_ID, 0, 7}}, RIDGE_OK, ""},
    /* options */
    {"NaN as an option", &loss, {{OPTION + 1, 0, (double)NAN}}, RIDGE_INVALID, "label_smoothing is nan"},
    {"infinity as an option", &loss, {{OPTION, 0, (double)INFINITY}}, RIDGE_INVALID, "ignore_index is inf"},
    {"label_smoothing of 1.5", &loss, {{OPTION + 1, 0, 1.5}}, RIDGE_INVALID, "label_smoothing must be"},
    {"a negative z_loss", &loss, {{OPTION + 2, 0, -1}}, RIDGE_INVALID, "z_loss must not"},
    /* aliasing */
    {"in place", &rows, {{AT, 1, 0}}, RIDGE_OK, ""},
    {"in place of the second input", &sum, {{AT, 2, 1}}, RIDGE_OK, ""},
    {"in place where it does not work", &maps, {{AT, 1, 0}}, RIDGE_INVALID, "does not work in place"},
    {"y one row behind x", &rows, {{AT, 1, 0}, {DATA, 1, 16}}, RIDGE_INVALID, "y overlaps x"},
    {"y on gamma", &norm, {{AT, 3, 1}}, RIDGE_INVALID, "y overlaps gamma"},
    {"two outputs in one place", &maps, {{AT, 2, 1}}, RIDGE_INVALID, "relu overlaps square"},
    {"x and z in one place", &sum, {{AT, 1, 0}}, RIDGE_OK, ""},
    {"columns of one matrix", &rows, {STRIDES(0, 8, 1), STRIDES(1, 8, 1), {AT, 1, 0}, {DATA, 1, 16}}, RIDGE_OK, ""},
    {"columns that overlap",
     &rows,
     {STRIDES(0, 8, 1), STRIDES(1, 8, 1), {AT, 1, 0}, {DATA, 1, 12}},
     RIDGE_INVALID,
     "y overlaps x"},
    {"in place with another stride",
     &rows,
     {STRIDES(0, 8, 1), STRIDES(1, 9, 1), {AT, 1, 0}},
     RIDGE_INVALID,
     "address range of x"},
};
enum { ODDS = sizeof odds / sizeof odds[0] };

/* ---- a call that is edited -------------------------------------------------------------------------------------- */

typedef struct call {
    ridge_context *context;
    const char *target, *variant;
    DLTensor tensor[TENSORS];
    const DLTensor *in, *out;
    int n_in, n_out;
    int64_t shape[TENSORS][RANK], strides[TENSORS][RANK];
    double option[RIDGE_MAX_OPTIONS];
    _Alignas(64) float pool[TENSORS * PLACE];
} call;

static void set_right(call *c, const base *b, ridge_context *context) {
    static const double options[RIDGE_MAX_OPTIONS] = {-100, 0, 0, 0};
    *c = (call){.context = context, .target = b->target, .n_in = b->n_in, .n_out = b->n_out};
    for (int i = 0; i < TENSORS * PLACE; i++) c->pool[i] = 1 + (float)(i % 7);
    for (int k = 0; k < b->n_in + b->n_out; k++) {
        const tensor *t = &b->tensor[k];
        int64_t stride = 1;
        for (int d = 0; d < RANK; d++) c->shape[k][d] = d < t->ndim ? t->shape[d] : 1, c->strides[k][d] = 1;
        for (int d = t->ndim - 1; d >= 0; d--) c->strides[k][d] = stride, stride *= t->shape[d];
        if (t->integer) memset(c->pool + k * PLACE, 0, PLACE * sizeof *c->pool);
        c->tensor[k] = (DLTensor){.data = c->pool + k * PLACE,
                                  .device = {kDLCPU, 0},
                                  .ndim = t->ndim,
                                  .dtype = ridge_dtype_to_dlpack(t->integer ? RIDGE_I32 : RIDGE_F32),
                                  .shape = c->shape[k]};
    }
    memcpy(c->option, options, sizeof options);
    c->in = c->tensor, c->out = c->tensor + b->n_in;
}

static void edit_tensor(call *c, const edit *e) {
    DLTensor *t = &c->tensor[e->tensor];
    const int64_t value = e->value < 0x1p63 ? (int64_t)e->value : 0;
    switch (e->field) {
        case DATA: t->data = value ? (char *)t->data + value : NULL; return;
        case OFFSET: t->byte_offset = (uint64_t)e->value; return;
        case AT: t->data = c->tensor[value].data; return;
        case SHAPE: t->shape = NULL; return;
        case NDIM: t->ndim = (int)value; return;
        case CODE: t->dtype.code = (uint8_t)value; return;
        case BITS: t->dtype.bits = (uint8_t)value; return;
        case LANES: t->dtype.lanes = (uint16_t)value; return;
        case DEVICE: t->device.device_type = (DLDeviceType)value; return;
        case DEVICE_ID: t->device.device_id = (int)value; return;
        case FIRST: *(int32_t *)t->data = (int32_t)value; return;
        default: break;
    }
    if (e->field >= EXTENT && e->field < STRIDE) c->shape[e->tensor][e->field - EXTENT] = value;
    if (e->field >= STRIDE && e->field < CODE) {
        t->strides = c->strides[e->tensor];
        t->strides[e->field - STRIDE] = value;
    }
}

static void edit_call(call *c, const edit *e) {
    switch (e->field) {
        case CONTEXT: c->context = NULL; return;
        case TARGET: c->target = NULL; return;
        case NO_TARGET: c->target = "no_such_target"; return;
        case VARIANT: c->variant = variants[(int)e->value]; return;
        case INPUTS: c->in = NULL; return;
        case OUTPUTS: c->out = NULL; return;
        case N_IN: c->n_in = (int)e->value; return;
        case N_OUT: c->n_out = (int)e->value; return;
        default: break;
    }
    if (e->field >= OPTION)
        c->option[e->field - OPTION] = e->value;
    else
        edit_tensor(c, e);
}

static void tell(const char *name, ridge_status status, const char *text) {
    const char *how = getenv("RIDGE_ODD_CALLS");
    if (!how || strcmp(how, "markdown") != 0) return;
    printf("| %s | %s | %s |\n", name, ridge_status_string(status), text);
}

/* What is refused writes nothing, and says the same to who wants no words. */
static void odd_calls_are_told(void **state) {
    static call c, before;
    int wrong = 0;
    tell("call", RIDGE_OK, "what ridge_apply says");
    for (int i = 0; i < ODDS; i++) {
        ridge_error error = {0};
        set_right(&c, odds[i].base, *state);
        for (int e = 0; e < 6 && odds[i].edit[e].field != END; e++) edit_call(&c, &odds[i].edit[e]);
        before = c;
        const ridge_status status =
            ridge_apply(c.context, c.target, c.variant, c.in, c.n_in, c.out, c.n_out, c.option, &error);
        tell(odds[i].name, status, error.text);
        bool right = odds[i].status == ANY ? status != RIDGE_OK : (int)status == odds[i].status;
        right = right && strstr(error.text, odds[i].word) && error.status == status;
        if (status != RIDGE_OK) {
            right = right && memcmp(c.pool, before.pool, sizeof c.pool) == 0;
            right = right &&
                    ridge_apply(c.context, c.target, c.variant, c.in, c.n_in, c.out, c.n_out, c.option, NULL) == status;
        }
        if (!right) print_error("%s: %s, \"%s\"\n", odds[i].name, ridge_status_string(status), error.text);
        wrong += !right;
    }
    assert_int_equal(wrong, 0);
}

/* Every tensor of every named function may be NULL by mistake. */
static void named_functions_take_no_null(void **state) {
    static call c;
    set_right(&c, &rows, *state);
    const DLTensor *t = c.tensor;
    for (int missing = 0; missing < 11; missing++) {
        const DLTensor *p[11];
        for (int k = 0; k < 11; k++) p[k] = k == missing ? NULL : t;
        ridge_error e[14] = {{0}};
        const ridge_status got[14] = {
            ridge_l2norm(*state, p[0], p[1], &e[0]),
            ridge_softmax(*state, p[0], p[1], &e[1]),
            ridge_layer_norm_gelu(*state, p[0], p[1], p[2], p[3], &e[2]),
            ridge_rms_norm_silu(*state, p[0], p[1], p[2], &e[3]),
            ridge_linear_softmax(*state, p[0], p[1], p[2], p[3], &e[4]),
            ridge_multihead_linear_softmax(*state, p[0], p[1], p[2], p[3], &e[5]),
            ridge_linear_cross_entropy(*state, p[0], p[1], p[2], p[3], NULL, p[4], p[5], &e[6]),
            ridge_linear_cross_entropy_backward(*state, p[0], p[1], p[2], p[3], p[4], p[5], NULL, p[6], p[7], p[8],
                                                &e[7]),
            ridge_layer_norm(*state, p[0], p[1], p[2], NULL, p[3], &e[8]),
            ridge_rms_norm(*state, p[0], p[1], NULL, p[2], &e[9]),
            ridge_add_layer_norm(*state, p[0], p[1], p[2], p[3], NULL, p[4], p[5], &e[10]),
            ridge_add_rms_norm(*state, p[0], p[1], p[2], NULL, p[3], p[4], &e[11]),
            ridge_scaled_softmax(*state, p[0], NULL, p[1], &e[12]),
            ridge_masked_softmax(*state, p[0], p[1], NULL, p[2], &e[13]),
        };
        static const int tensors[14] = {2, 2, 4, 3, 4, 4, 6, 9, 4, 3, 6, 5, 2, 3};
        for (int f = 0; f < 14; f++)
            if (missing < tensors[f]) assert_true(got[f] == RIDGE_INVALID && strstr(e[f].text, "is NULL"));
        ridge_error error = {0};
        const ridge_status grad = ridge_linear_cross_entropy_grad(*state, p[0], p[1], p[2], p[3], p[4], NULL, p[5],
                                                                  p[6], p[7], p[8], p[9], &error);
        if (missing < 10) assert_true(grad == RIDGE_INVALID && strstr(error.text, "is NULL"));
        if (missing == 0) tell("ridge_softmax with x NULL", got[1], e[1].text);
        if (missing == 3) tell("ridge_linear_cross_entropy with labels NULL", got[6], e[6].text);
    }
}

static void contexts_take_no_nonsense(void **state) {
    (void)state;
    static const int threads[] = {-1, 1 << 20};
    ridge_context *context = NULL;
    ridge_error error = {0};
    assert_int_equal(ridge_context_create(1, NULL, &error), RIDGE_INVALID);
    assert_int_equal(ridge_context_create(1, NULL, NULL), RIDGE_INVALID);
    tell("a context to NULL", error.status, error.text);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ridge_context_create(threads[i], &context, &error), RIDGE_INVALID);
        assert_non_null(strstr(error.text, "threads"));
        assert_null(context);
        tell(i ? "a context of 2^20 threads" : "a context of -1 threads", error.status, error.text);
    }
    ridge_context_set_stream(NULL, NULL);
    ridge_context_allow_tf32(NULL, true);
    ridge_context_destroy(NULL);
}

static int set_up(void **state) { return ridge_context_create(2, (ridge_context **)state, NULL) == RIDGE_OK ? 0 : -1; }
static int tear_down(void **state) {
    ridge_context_destroy(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_calls_are_told),
        cmocka_unit_test(named_functions_take_no_null),
        cmocka_unit_test(contexts_take_no_nonsense),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

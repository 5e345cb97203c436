/* Where tensors may lie: outputs in place of inputs, leading dimensions, interleaved views. Whatever the layout, the
 * results are bit-identical to those of dense tensors apart from each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "ops/context.h"

enum { TENSORS = RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS, ALIGN = 4096 };

typedef struct problem {
    const ridge_target *target;
    ridge_case c;
    DLTensor tensor[TENSORS]; /* inputs, then outputs */
    int64_t shape[TENSORS][RIDGE_MAX_TENSOR_RANK], strides[TENSORS][RIDGE_MAX_TENSOR_RANK];
    size_t bytes[TENSORS];
} problem;

static const ridge_tensor_spec *spec_of(const problem *p, int k) {
    return k < p->target->n_in ? &p->target->in[k] : &p->target->out[k - p->target->n_in];
}
static int count(const problem *p) { return p->target->n_in + p->target->n_out; }

static void *memory(size_t bytes) {
    void *m = aligned_alloc(ALIGN, (bytes + ALIGN) / ALIGN * ALIGN);
    assert_non_null(m);
    return m;
}

/* Indices in range, codes of 2:4, else multiples of 2^-15 in [-1, 1), written as fp32 or its upper half. */
static void fill(const problem *p, int k) {
    const ridge_tensor_spec *spec = spec_of(p, k);
    const size_t size = p->tensor[k].dtype.bits / 8;
    const uint32_t limit = spec->fill == RIDGE_FILL_INDEX ? (uint32_t)p->c.dim[spec->index_dim] : 0;
    char *at = p->tensor[k].data;
    for (size_t i = 0; i < p->bytes[k]; i += size) {
        const uint32_t bits = (uint32_t)ridge_random((uint64_t)k, i), index = limit ? bits % limit : 0;
        const float value = (float)(int32_t)(bits >> 16) * 0x1p-15f - 1;
        const uint32_t codes = 0xed9c84edu; /* each of the six */
        memcpy(at + i,
               spec->fill == RIDGE_FILL_PATTERN ? (const char *)&codes
               : limit                          ? (const char *)&index
                                                : (const char *)&value + (4 - size),
               size);
    }
}

/* Dense tensors of their own, outputs poisoned. */
static void create(problem *p, const ridge_target *target, const ridge_case *c) {
    *p = (problem){.target = target, .c = *c};
    ridge_target_options(target, p->c.option);
    for (int k = 0; k < count(p); k++) {
        const ridge_tensor_spec *spec = spec_of(p, k);
        const ridge_dtype dtype = ridge_spec_dtype(spec, c);
        p->bytes[k] = (size_t)ridge_spec_elements(spec, c) * ridge_dtype_size(dtype);
        p->tensor[k] = (DLTensor){.data = memory(p->bytes[k]),
                                  .device = {kDLCPU, 0},
                                  .ndim = ridge_spec_shape(spec, c, p->shape[k]),
                                  .dtype = ridge_dtype_to_dlpack(dtype),
                                  .shape = p->shape[k]};
        if (k < target->n_in)
            fill(p, k);
        else
            memset(p->tensor[k].data, 0xff, p->bytes[k]);
    }
}

static void destroy(problem *p) {
    for (int k = 0; k < count(p); k++) free(p->tensor[k].data);
}

static ridge_status run(ridge_context *context, const problem *p, const char *variant) {
    ridge_error error = {0};
    const ridge_status status = ridge_apply(context, p->target->name, variant, p->tensor, p->target->n_in,
                                            p->tensor + p->target->n_in, p->target->n_out, p->c.option, &error);
    if (status != RIDGE_OK && status != RIDGE_UNSUPPORTED) fail_msg("%s", error.text);
    return status;
}

/* ---- in place --------------------------------------------------------------------------------------------------- */

/* An output in place of an input. */
typedef struct overlay {
    int output, input;
} overlay;

/* y = f(x), then x = f(x): the same bits. x is as before afterwards. */
static void check_variant(ridge_context *context, problem *p, const char *variant, overlay at, const void *x) {
    DLTensor *out = &p->tensor[p->target->n_in + at.output];
    const int input = at.input;
    const ridge_case *c = &p->c;
    void *apart = out->data;
    if (run(context, p, variant) != RIDGE_OK) return;
    out->data = p->tensor[input].data;
    assert_int_equal(run(context, p, variant), RIDGE_OK);
    if (memcmp(apart, out->data, p->bytes[input]) != 0)
        fail_msg("%s %s %lldx%lld %s, isa %d: other bits in place of input %d", p->target->name, variant,
                 (long long)c->dim[0], (long long)c->dim[1], ridge_dtype_name(c->dtype), (int)context->isa, input);
    memcpy(out->data, x, p->bytes[input]);
    out->data = apart;
}

static void check_case(ridge_context *context, const ridge_target *target, const ridge_case *c, overlay at) {
    const int input = at.input;
    const ridge_isa best = context->isa;
    problem p;
    create(&p, target, c);
    void *x = memory(p.bytes[input]);
    memcpy(x, p.tensor[input].data, p.bytes[input]);
    const bool large = p.bytes[input] > 1 << 20; /* of one instruction set only: that takes a second */
    for (int isa = large ? (int)best : 0; isa <= (int)best; isa++) {
        context->isa = (ridge_isa)isa;
        for (int v = 0; v < target->n_variants; v++)
            if (ridge_variant_backend(&target->variants[v]) == RIDGE_BACKEND_cpu)
                check_variant(context, &p, target->variants[v].name, at, x);
    }
    context->isa = best;
    free(x);
    destroy(&p);
}

/* The edge cases are on both sides of every switch of the kernels. */
static void in_place_gives_the_same_bits(void **state) {
    int checked = 0;
    for (int t = 0; t < ridge_target_count; t++) {
        const ridge_target *target = ridge_targets[t];
        for (int k = 0; k < target->n_out * target->n_in; k++) {
            const overlay at = {k / target->n_in, k % target->n_in};
            if (!(target->out[at.output].in_place & RIDGE_IN_PLACE_OF(at.input)) ||
                !ridge_target_has(target, RIDGE_BACKEND_cpu))
                continue;
            for (int i = 0; i < target->n_cases; i++)
                if (target->cases[i].edge && ridge_case_is_for(&target->cases[i], RIDGE_BACKEND_cpu))
                    check_case(*state, target, &target->cases[i], at);
            checked++;
        }
    }
    assert_int_equal(checked, 22);
}

/* ---- leading dimensions ----------------------------------------------------------------------------------------- */

static bool folds(const problem *p, int k) {
    return spec_of(p, k)->dim[0] == 0 && (k >= p->target->n_in || spec_of(p, k)->by_row);
}

/* Gives tensor k the leading dimensions `lead` in place of its first, and rows `pad` elements apart. */
static void unfold(problem *p, int k, const int64_t *lead, int n, int64_t pad) {
    const int rank = spec_of(p, k)->rank, ndim = rank - 1 + n;
    int64_t inner[RIDGE_MAX_RANK], below = 1;
    for (int d = 1; d < rank; d++) inner[d] = p->shape[k][d];
    for (int d = 0; d < ndim; d++) p->shape[k][d] = d < n ? lead[d] : inner[d - n + 1];
    for (int d = ndim - 1; d >= 0; d--) {
        if (rank > 1 && d == n - 1) below += pad;
        p->strides[k][d] = below;
        below *= p->shape[k][d];
    }
    p->tensor[k].ndim = ndim;
    if (pad > 0) p->tensor[k].strides = p->strides[k];
}

/* The first `width` bytes of rows `stride` bytes apart. */
static void spread(void *to, size_t to_stride, const void *from, size_t from_stride, size_t width, int64_t rows) {
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)to + (size_t)i * to_stride, (const char *)from + (size_t)i * from_stride, width);
}

static void check_leading(ridge_context *context, const ridge_target *target, const int64_t *lead, int n, int64_t pad) {
    problem plain, led;
    ridge_case c = {.dim = {1, 5, 7, 9, 7, 3, 4, 2}, .dtype = RIDGE_F32};
    for (int d = 0; d < n; d++) c.dim[0] *= lead[d];
    if (target->derive) target->derive(c.dim);
    if (target->reject && target->reject(&c)) { /* extents that have to be multiples are those of 32 */
        for (int d = 1; d < RIDGE_MAX_RANK; d++) c.dim[d] *= 32;
        if (target->derive) target->derive(c.dim);
    }
    create(&plain, target, &c);
    create(&led, target, &c);
    for (int k = 0; k < count(&led); k++) {
        if (!folds(&led, k)) continue;
        const size_t width = led.bytes[k] / (size_t)c.dim[0], size = led.tensor[k].dtype.bits / 8;
        const size_t stride = width + (spec_of(&led, k)->rank > 1 ? (size_t)pad * size : 0);
        free(led.tensor[k].data);
        led.tensor[k].data = memory(stride * (size_t)c.dim[0]);
        memset(led.tensor[k].data, 0xff, stride * (size_t)c.dim[0]);
        spread(led.tensor[k].data, stride, plain.tensor[k].data, width, width, c.dim[0]);
        unfold(&led, k, lead, n, pad);
    }
    assert_int_equal(run(context, &plain, NULL), RIDGE_OK);
    assert_int_equal(run(context, &led, NULL), RIDGE_OK);
    for (int k = target->n_in; k < count(&led); k++) {
        const bool by_row = folds(&led, k);
        const int64_t rows = by_row ? c.dim[0] : 1;
        const size_t width = led.bytes[k] / (size_t)rows;
        const size_t gap = by_row && spec_of(&led, k)->rank > 1 ? (size_t)pad * (led.tensor[k].dtype.bits / 8) : 0;
        for (int64_t i = 0; i < rows; i++)
            if (memcmp((char *)led.tensor[k].data + (size_t)i * (width + gap),
                       (char *)plain.tensor[k].data + (size_t)i * width, width) != 0)
                fail_msg("%s: row %lld of %s has other bits with %d leading dimensions", target->name, (long long)i,
                         spec_of(&led, k)->name, n);
    }
    destroy(&plain);
    destroy(&led);
}

/* Rows here are of whole bytes, and of any extent. */
static bool has_pairs(const ridge_target *target) {
    for (int k = 0; k < target->n_in + target->n_out; k++)
        if ((k < target->n_in ? target->in[k] : target->out[k - target->n_in]).dtype == RIDGE_E2M1) return true;
    return false;
}

static void leading_dimensions_are_rows(void **state) {
    static const int64_t lead[][5] = {{1}, {6}, {2, 3}, {3, 1, 4}, {2, 1, 1, 2, 3}};
    static const int ranks[] = {0, 1, 2, 3, 5};
    for (int t = 0; t < ridge_target_count; t++)
        for (int i = 0; i < 5 && ridge_target_has(ridge_targets[t], RIDGE_BACKEND_cpu) && !has_pairs(ridge_targets[t]);
             i++)
            for (int64_t pad = 0; pad < 4; pad += 3) check_leading(*state, ridge_targets[t], lead[i], ranks[i], pad);
}

/* ---- interleaved views ------------------------------------------------------------------------------------------ */

/* For every distance between x and y within one matrix: what shares an element, found element by element, is refused;
 * what does not gives the bits of y apart. */
static void interleaved_views_are_told_from_overlap(void **state) {
    enum { ROWS = 3, COLS = 4, STRIDE = 9, ALL = 3 * ROWS * STRIDE, MIDDLE = ROWS * STRIDE };
    static float pool[ALL];
    int64_t shape[2] = {ROWS, COLS}, strides[2] = {STRIDE, 1};
    float want[ROWS * COLS];
    const DLTensor x = {.data = pool + MIDDLE,
                        .device = {kDLCPU, 0},
                        .ndim = 2,
                        .dtype = ridge_dtype_to_dlpack(RIDGE_F32),
                        .shape = shape,
                        .strides = strides};
    DLTensor y = x;
    for (int i = 0; i < ALL; i++) pool[i] = (float)(i % 11 - 5);
    y.data = want, y.strides = NULL;
    assert_int_equal(ridge_l2norm(*state, &x, &y, NULL), RIDGE_OK);
    y.strides = strides;
    int accepted = 0;
    for (int at = -MIDDLE; at < MIDDLE; at++) {
        bool shared = false;
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLS; j++) {
                const int place = i * STRIDE + j - at, row = place / STRIDE;
                shared = shared || (place >= 0 && row < ROWS && place % STRIDE < COLS);
            }
        for (int i = 0; i < ALL; i++) pool[i] = (float)(i % 11 - 5);
        y.data = pool + MIDDLE + at;
        const ridge_status status = ridge_l2norm(*state, &x, &y, NULL);
        assert_int_equal(status, shared && at != 0 ? RIDGE_INVALID : RIDGE_OK);
        accepted += status == RIDGE_OK;
        for (int i = 0; i < ROWS && status == RIDGE_OK; i++)
            assert_memory_equal((float *)y.data + i * STRIDE, want + i * COLS, COLS * sizeof *want);
    }
    assert_true(accepted > 10);
}

static int set_up(void **state) { return ridge_context_create(2, (ridge_context **)state, NULL) == RIDGE_OK ? 0 : -1; }
static int tear_down(void **state) {
    ridge_context_destroy(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_place_gives_the_same_bits),
        cmocka_unit_test(leading_dimensions_are_rows),
        cmocka_unit_test(interleaved_views_are_told_from_overlap),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

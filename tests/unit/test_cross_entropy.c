/* The check of the cross-entropy family against answers that are wrong in the ways kernels are: a term dropped, a tile
 * of classes or rows left out, an option forgotten. Answers come from a plain fp64 computation, rounded as storage
 * rounds: what is right must pass in every type, and each fault must not. */
#include <math.h>

#include "core/random.h"
#include "ridge/ops.h"
#include "sanitized.h"
#include "verify/check.h"
#include "verify_fixture.h"

/* Places in dim[], in[] and option[], as the targets' README says. */
enum { CE_BATCH, CE_DEPTH, CE_CLASSES };
enum { CE_X, CE_W, CE_B, CE_LABELS };
enum { CE_IGNORE, CE_SMOOTHING, CE_Z_LOSS };

typedef enum fault {
    NONE,
    LABEL_DROPPED,     /* the label's term of loss and gradient */
    SMOOTHING_DROPPED, /* label_smoothing is taken for 0 */
    Z_LOSS_DROPPED,
    BIAS_DROPPED,
    CLASSES_DROPPED, /* the last class of the sums of exponentials, and of dx */
    TILE_DROPPED,    /* a sixteenth of the classes, likewise */
    ROWS_DROPPED,    /* the last row of dw and db */
    NOT_IGNORED,     /* ignore_index is not looked at */
    LABEL_BESIDE,    /* the label is taken for the class before */
    WEIGHT_STALE,    /* one depth step of the logits is left out */
    FAULTS
} fault;
static const char *const fault_names[FAULTS] = {
    "none",         "label dropped", "smoothing dropped", "z-loss dropped", "bias dropped",      "class dropped",
    "tile dropped", "row dropped",   "label not ignored", "label beside",   "depth step dropped"};

/* A set of operands with fp64 copies of what matters. */
typedef struct problem {
    const ridge_operands *ops;
    fault fault;
    int64_t batch, depth, classes, kept; /* classes that sums go over */
    int lse, dloss;                      /* inputs, or -1 */
    int out_loss, out_lse, dx, dw, db;   /* outputs, or -1 */
} problem;

static int find(const ridge_tensor_spec *specs, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(specs[i].name, name) == 0) return i;
    return -1;
}

static int64_t place(const DLTensor *t, int64_t i, int64_t j) {
    return t->ndim == 1 ? i : t->strides ? i * t->strides[0] + j * t->strides[1] : i * t->shape[1] + j;
}
static double in(const problem *p, int tensor, int64_t i, int64_t j) {
    const DLTensor *t = &p->ops->in[tensor];
    return ridge_load(ridge_data(t), ridge_dtype_of(t), place(t, i, j));
}
static void put(const problem *p, int tensor, int64_t i, int64_t j, double v) {
    const DLTensor *t = &p->ops->out[tensor];
    ridge_store(ridge_data(t), ridge_dtype_of(t), place(t, i, j), v);
}

static double logit(const problem *p, int64_t i, int64_t c) {
    double z = p->fault == BIAS_DROPPED ? 0 : in(p, CE_B, c, 0);
    for (int64_t d = p->fault == WEIGHT_STALE ? 1 : 0; d < p->depth; d++) z += in(p, CE_X, i, d) * in(p, CE_W, c, d);
    return z;
}

static void run_row(const problem *p, int64_t i, double *g) {
    const double *option = p->ops->c.option;
    const double s = p->fault == SMOOTHING_DROPPED ? 0 : option[CE_SMOOTHING];
    const double zl = p->fault == Z_LOSS_DROPPED ? 0 : option[CE_Z_LOSS], every = s / (double)p->classes;
    int64_t label = (int64_t)in(p, CE_LABELS, i, 0);
    const bool counts =
        p->fault == NOT_IGNORED || (double)label < option[CE_IGNORE] || (double)label > option[CE_IGNORE];
    double sum = 0, mean = 0;
    if (p->fault == LABEL_BESIDE) label = label > 0 ? label - 1 : p->classes - 1;
    for (int64_t c = 0; c < p->classes; c++) {
        g[c] = logit(p, i, c);
        mean += g[c] / (double)p->classes;
        if (c < p->kept) sum += exp(g[c]);
    }
    const double lse = p->lse >= 0 ? in(p, p->lse, i, 0) : log(sum), up = p->dloss >= 0 ? in(p, p->dloss, i, 0) : 0;
    const double at_label = p->fault == LABEL_DROPPED ? 0 : g[label];
    if (p->out_lse >= 0) put(p, p->out_lse, i, 0, lse);
    if (p->out_loss >= 0)
        put(p, p->out_loss, i, 0, counts ? (1 - s) * (lse - at_label) + s * (lse - mean) + zl * lse * lse : 0);
    for (int64_t c = 0; c < p->classes; c++) {
        const double one = c == label && p->fault != LABEL_DROPPED ? 1 - s : 0;
        g[c] = counts ? up * ((1 + 2 * zl * lse) * exp(g[c] - lse) - one - every) : 0;
    }
}

static void run(const problem *p) {
    const int64_t rows = p->batch - (p->fault == ROWS_DROPPED);
    double *g = calloc((size_t)(p->batch * p->classes), sizeof *g);
    assert_non_null(g);
    for (int64_t i = 0; i < p->batch; i++) run_row(p, i, g + i * p->classes);
    for (int64_t d = 0; d < p->depth && p->dx >= 0; d++) {
        for (int64_t i = 0; i < p->batch; i++) {
            double sum = 0;
            for (int64_t c = 0; c < p->kept; c++) sum += g[i * p->classes + c] * in(p, CE_W, c, d);
            put(p, p->dx, i, d, sum);
        }
        for (int64_t c = 0; c < p->classes; c++) {
            double sum = 0, all = 0;
            for (int64_t i = 0; i < rows; i++) {
                sum += g[i * p->classes + c] * in(p, CE_X, i, d);
                all += g[i * p->classes + c];
            }
            put(p, p->dw, c, d, sum);
            put(p, p->db, c, 0, all);
        }
    }
    free(g);
}

/* A row whose gradient, if the target has any, is not nothing. */
static bool matters(const problem *p, int64_t i) { return p->dloss < 0 || fabs(in(p, p->dloss, i, 0)) > 0; }

static bool some_row_is_ignored(const problem *p) {
    bool any = false;
    for (int64_t i = 0; i < p->batch; i++)
        any |= matters(p, i) && fabs(in(p, CE_LABELS, i, 0) - p->ops->c.option[CE_IGNORE]) < 0.5;
    return any;
}

/* Whether a fault changes anything of this target, with these operands. */
static bool shows(const problem *p, fault f) {
    const double *option = p->ops->c.option;
    const double last = in(p, CE_LABELS, p->batch - 1, 0);
    switch (f) {
        case SMOOTHING_DROPPED: return option[CE_SMOOTHING] > 0;
        case Z_LOSS_DROPPED: return option[CE_Z_LOSS] > 0;
        case NOT_IGNORED: return some_row_is_ignored(p);
        case ROWS_DROPPED: return p->dx >= 0 && matters(p, p->batch - 1) && fabs(last - option[CE_IGNORE]) > 0.5;
        case LABEL_DROPPED: /* with all of the label smoothed away it has no term */
        case LABEL_BESIDE: return option[CE_SMOOTHING] < 1;
        default: return true;
    }
}

static problem problem_of(const ridge_operands *ops) {
    const ridge_target *t = ops->target;
    return (problem){.ops = ops,
                     .batch = ops->c.dim[CE_BATCH],
                     .depth = ops->c.dim[CE_DEPTH],
                     .classes = ops->c.dim[CE_CLASSES],
                     .lse = find(t->in, t->n_in, "lse"),
                     .dloss = find(t->in, t->n_in, "dloss"),
                     .out_loss = find(t->out, t->n_out, "loss"),
                     .out_lse = find(t->out, t->n_out, "lse"),
                     .dx = find(t->out, t->n_out, "dx"),
                     .dw = find(t->out, t->n_out, "dw"),
                     .db = find(t->out, t->n_out, "db")};
}

static int shown[FAULTS]; /* how often each fault could show */

static void faults_are_seen(const ridge_target *target, ridge_case c, ridge_fill_kind kind) {
    ridge_operands *ops = operands_new(target, c, (ridge_layout){0});
    problem p = problem_of(ops);
    for (int f = 0; f < FAULTS; f++) {
        ridge_check check;
        p.fault = (fault)f;
        p.kept = p.classes - (f == CLASSES_DROPPED ? 1 : f == TILE_DROPPED ? (p.classes + 15) / 16 : 0);
        ridge_operands_fill(ops, kind, 11, NULL);
        if (!shows(&p, p.fault)) continue;
        shown[f]++;
        run(&p);
        assert_int_equal(ridge_check_full(ops, NULL, &check, NULL), RIDGE_OK);
        if (check.ok != (f == NONE))
            fail_msg("%s %dx%dx%d/%s, fill %d: '%s' was judged %s (%s, worst %.3g)", target->name, (int)c.dim[0],
                     (int)c.dim[1], (int)c.dim[2], ridge_dtype_name(c.dtype), (int)kind, fault_names[f],
                     check.ok ? "right" : "wrong", check.text, check.worst);
    }
    operands_delete(ops);
}

static void every_fault_is_seen_in_every_type(void **state) {
    (void)state;
    static const char *const names[] = {"linear_cross_entropy", "linear_cross_entropy_backward",
                                        "linear_cross_entropy_grad"};
    static const ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_TF32, RIDGE_BF16, RIDGE_F16};
    static const struct {
        int64_t dim[3];
        double option[3];
    } cases[] = {
        {{40, 24, 33}, {-100, 0, 0}},     {{37, 64, 10}, {3, 0.1, 0.01}}, {{24, 16, 200}, {7, 0.2, 0.05}},
        {{64, 130, 17}, {5, 0.3, 0.002}}, {{33, 7, 96}, {2, 1, 0}},
    };
    for (int t = 0; t < 3; t++)
        for (int d = 0; d < 4; d++)
            /* Under a sanitizer one case of each type but the first: what judges them is one code. */
            for (size_t i = UNDER_SANITIZER && d ? 4 : 0; i < sizeof cases / sizeof cases[0]; i++)
                for (int kind = RIDGE_EXACT; kind <= RIDGE_RANDOM; kind++) {
                    ridge_case c = {.dtype = dtypes[d], .column_major = i % 2 ? 1u << CE_W : 0};
                    memcpy(c.dim, cases[i].dim, sizeof cases[i].dim);
                    memcpy(c.option, cases[i].option, sizeof cases[i].option);
                    faults_are_seen(ridge_target_find(names[t]), c, (ridge_fill_kind)kind);
                }
    for (int f = 0; f < FAULTS; f++) assert_true(shown[f] >= (UNDER_SANITIZER ? 4 : 8));
}

/* ---- labels of 64 bits ---- */

/* Operands of all three targets: a row's loss and gradients may hang on any of its labels. */
enum { WIDE_ROWS = 40, WIDE_DEPTH = 9, WIDE_TENSORS = 6 };
typedef struct layer {
    int64_t classes;
    float *x, *w, *b, *dloss, *lse;
} layer;

static float *noise(int64_t n, uint64_t seed) {
    float *v = malloc(sizeof *v * (size_t)n);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) v[i] = (float)(ridge_random(seed, (uint64_t)i) % 2001) / 1000 - 1;
    return v;
}
static layer layer_of(int64_t classes) {
    return (layer){classes,
                   noise(WIDE_ROWS * WIDE_DEPTH, 1),
                   noise(classes * WIDE_DEPTH, 2),
                   noise(classes, 3),
                   noise(WIDE_ROWS, 4),
                   noise(WIDE_ROWS, 5)};
}
static void layer_free(layer *l) {
    float *const all[] = {l->x, l->w, l->b, l->dloss, l->lse};
    for (int i = 0; i < 5; i++) free(all[i]);
}

static float *data_named(const layer *l, const char *name) {
    const char *const names[] = {"x", "w", "b", "dloss", "lse"};
    float *const data[] = {l->x, l->w, l->b, l->dloss, l->lse};
    for (int i = 0; i < 5; i++)
        if (strcmp(names[i], name) == 0) return data[i];
    return NULL; /* labels */
}

/* dims[] must outlive the tensor. */
static DLTensor tensor_of(const ridge_tensor_spec *spec, void *data, ridge_dtype dtype, const int64_t *extents,
                          int64_t *dims) {
    for (int d = 0; d < spec->rank; d++) dims[d] = extents[spec->dim[d]];
    return (DLTensor){
        .data = data, .device = {kDLCPU, 0}, .ndim = spec->rank, .dtype = ridge_dtype_to_dlpack(dtype), .shape = dims};
}

/* All outputs of a call, one behind the other, poisoned before; false: the variant cannot run here. */
static bool outputs_of(ridge_context *context, const ridge_target *target, const char *variant, const layer *l,
                       ridge_dtype dtype, void *labels, float *to) {
    const int64_t extents[] = {WIDE_ROWS, WIDE_DEPTH, l->classes};
    const double options[RIDGE_MAX_OPTIONS] = {7, 0.1, 1e-3}; /* ignore_index, smoothing, z-loss */
    int64_t dims[2 * WIDE_TENSORS][2];
    DLTensor in[WIDE_TENSORS], out[WIDE_TENSORS];
    ridge_error error;
    for (int i = 0; i < target->n_in; i++) {
        const ridge_tensor_spec *spec = &target->in[i];
        float *data = data_named(l, spec->name);
        in[i] = tensor_of(spec, data ? data : labels, data ? RIDGE_F32 : dtype, extents, dims[i]);
    }
    for (int i = 0; i < target->n_out; i++) {
        const ridge_tensor_spec *spec = &target->out[i];
        int64_t n = 1;
        out[i] = tensor_of(spec, to, RIDGE_F32, extents, dims[WIDE_TENSORS + i]);
        for (int d = 0; d < spec->rank; d++) n *= out[i].shape[d];
        for (int64_t e = 0; e < n; e++) *to++ = NAN;
    }
    const ridge_status status =
        ridge_apply(context, target->name, variant, in, target->n_in, out, target->n_out, options, &error);
    assert_true(status == RIDGE_OK || status == RIDGE_UNSUPPORTED);
    return status == RIDGE_OK;
}

/* Labels of 64 bits, and of 32 bits that mean the same: a class, the ignored one, or none. */
static void fill_labels(int64_t classes, int64_t wide[WIDE_ROWS], int32_t narrow[WIDE_ROWS]) {
    const int64_t odd[] = {7,
                           -1,
                           -100,
                           classes,
                           INT32_MAX,
                           INT32_MIN,
                           ((int64_t)1 << 32) + 3,
                           (int64_t)1 << 32,
                           -((int64_t)1 << 40),
                           -((int64_t)1 << 32) + 5,
                           INT64_MAX,
                           INT64_MIN,
                           0x100000007};
    const int n = (int)(sizeof odd / sizeof *odd);
    for (int i = 0; i < WIDE_ROWS; i++) {
        wide[i] = i < n        ? odd[i]
                  : i == n     ? 0
                  : i == n + 1 ? classes - 1
                               : (int64_t)(ridge_random(6, (uint64_t)i) % (uint64_t)classes);
        narrow[i] = wide[i] >= 0 && wide[i] < classes ? (int32_t)wide[i] : -1;
    }
}

static int wide_labels_on(ridge_context *context, const ridge_target *target, const layer *l) {
    const size_t room = (size_t)(3 * WIDE_ROWS + WIDE_ROWS * WIDE_DEPTH + l->classes * (WIDE_DEPTH + 1));
    float *want = calloc(room, sizeof *want), *got = calloc(room, sizeof *got);
    int64_t wide[WIDE_ROWS];
    int32_t narrow[WIDE_ROWS];
    int compared = 0;
    assert_true(want && got);
    fill_labels(l->classes, wide, narrow);
    for (int v = 0; v < target->n_variants; v++) {
        const char *name = target->variants[v].name;
        if (ridge_variant_backend(&target->variants[v]) != RIDGE_BACKEND_cpu) continue;
        /* How a library's own threads synchronize is unseen: races would be reported where there are none. */
        if (UNDER_TSAN && target->variants[v].role != RIDGE_OPTIMIZED) continue;
        if (!outputs_of(context, target, name, l, RIDGE_I32, narrow, want)) continue;
        assert_true(outputs_of(context, target, name, l, RIDGE_I64, wide, got));
        assert_memory_equal(got, want, room * sizeof *want);
        if (target->out[0].rank == 1) /* losses: of a row without a class 0, of others not */
            for (int i = 0; i < WIDE_ROWS; i++) assert_int_equal(got[i] != 0, narrow[i] >= 0 && narrow[i] != 7);
        compared++;
    }
    free(want);
    free(got);
    return compared;
}

static void labels_of_64_bits_give_the_same_bits(void **state) {
    const char *const names[] = {"linear_cross_entropy", "linear_cross_entropy_backward", "linear_cross_entropy_grad"};
    const int64_t classes[] = {53, 5000}; /* all at once, and in blocks */
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        ridge_context *context = NULL;
        ridge_error error;
        assert_int_equal(ridge_context_create(threads, &context, &error), RIDGE_OK);
        for (int k = 0; k < 2; k++) {
            layer l = layer_of(classes[k]);
            for (int t = 0; t < 3; t++) assert_true(wide_labels_on(context, ridge_target_find(names[t]), &l) >= 1);
            layer_free(&l);
        }
        ridge_context_destroy(context);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_fault_is_seen_in_every_type),
                                       cmocka_unit_test(labels_of_64_bits_give_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

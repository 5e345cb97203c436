/* The part of cuBLASLt's C interface that one product needs, declared here: types are opaque and constants are part of
 * its ABI, so that no header is needed. The library is column-major: it computes z = x w as z^T = w^T x^T. */
#include "peer/cublaslt.h"

#include <pthread.h>
#include <stdlib.h>

#include "peer/library.h"
#include "ridge/cuda.h"

enum {
    R_32F = 0,
    R_16F = 2,
    R_16BF = 14,
    COMPUTE_32F = 68,
    COMPUTE_32F_FAST_TF32 = 77,
    DESC_TRANSA = 3,
    DESC_TRANSB = 4,
    DESC_EPILOGUE = 7,
    DESC_BIAS_POINTER = 8,
    EPILOGUE_BIAS = 4,
    LAYOUT_BATCH_COUNT = 5,
    LAYOUT_STRIDE = 6,
    PREFERENCE_WORKSPACE = 1,
    PREFERENCE_REDUCTION = 3, /* how split-K adds its parts */
    REDUCTION_COMPUTE_TYPE = 2,
    PREFERENCE_ALIGNMENT = 5, /* of A; the next three are of B, C and D */
    OPERATION_T = 1,
};

typedef struct algorithm {
    uint64_t data[8];
} algorithm;
typedef struct guess {
    algorithm algo;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} guess;

static int (*lt_create)(void **handle);
static int (*lt_destroy)(void *handle);
static int (*desc_create)(void **desc, int compute, int scale);
static int (*desc_destroy)(void *desc);
static int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
static int (*layout_create)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t leading);
static int (*layout_destroy)(void *layout);
static int (*layout_set)(void *layout, int attribute, const void *value, size_t bytes);
static int (*preference_create)(void **preference);
static int (*preference_destroy)(void *preference);
static int (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
static int (*heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted,
                        guess *guesses, int *found);
static int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,
                     void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,
                     const algorithm *algo, void *workspace, size_t workspace_bytes, void *stream);
static bool loaded;

static void load(void) {
    static const char *const sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", NULL};
    static const peer_symbol symbols[] = {{"cublasLtCreate", &lt_create, false},
                                          {"cublasLtDestroy", &lt_destroy, false},
                                          {"cublasLtMatmulDescCreate", &desc_create, false},
                                          {"cublasLtMatmulDescDestroy", &desc_destroy, false},
                                          {"cublasLtMatmulDescSetAttribute", &desc_set, false},
                                          {"cublasLtMatrixLayoutCreate", &layout_create, false},
                                          {"cublasLtMatrixLayoutDestroy", &layout_destroy, false},
                                          {"cublasLtMatrixLayoutSetAttribute", &layout_set, false},
                                          {"cublasLtMatmulPreferenceCreate", &preference_create, false},
                                          {"cublasLtMatmulPreferenceDestroy", &preference_destroy, false},
                                          {"cublasLtMatmulPreferenceSetAttribute", &preference_set, false},
                                          {"cublasLtMatmulAlgoGetHeuristic", &heuristic, false},
                                          {"cublasLtMatmul", &matmul, false}};
    loaded = peer_library_open(sonames, symbols, (int)(sizeof symbols / sizeof symbols[0]));
}

const char *cublaslt_unavailable(const ridge_case *c) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)c;
    if (ridge_cuda_emulated()) return "cuBLASLt needs a GPU, and this one is emulated";
    pthread_once(&once, load);
    return loaded ? NULL : "libcublasLt.so not found: install CUDA's cuBLAS";
}

struct cublaslt_plan {
    cublaslt_shape shape;
    cublaslt_operands like; /* only its strides are used */
    void *handle;
    algorithm algo; /* for such operands at addresses that are multiples of 16 */
    guess *candidates;
};

/* Description of one product. Made for each run, since it contains bias pointer and strides; needs no device. */
typedef struct product {
    void *desc, *w, *x, *z;
} product;

static void product_free(product *p) {
    if (p->desc) desc_destroy(p->desc);
    void *const layouts[] = {p->w, p->x, p->z};
    for (int i = 0; i < 3; i++)
        if (layouts[i]) layout_destroy(layouts[i]);
    *p = (product){0};
}

static int type_of(ridge_dtype dtype) { return dtype == RIDGE_BF16 ? R_16BF : dtype == RIDGE_F16 ? R_16F : R_32F; }

static bool make_layout(void **layout, const cublaslt_shape *s, ridge_dtype dtype, int64_t rows, int64_t columns,
                        int64_t leading, int64_t next) {
    const int32_t batch = s->batch;
    if (layout_create(layout, type_of(dtype), (uint64_t)rows, (uint64_t)columns, leading) != 0) return false;
    return batch == 1 || (layout_set(*layout, LAYOUT_BATCH_COUNT, &batch, sizeof batch) == 0 &&
                          layout_set(*layout, LAYOUT_STRIDE, &next, sizeof next) == 0);
}

static ridge_status product_make(const cublaslt_shape *s, const cublaslt_operands *o, product *p) {
    const int32_t transposed = OPERATION_T, bias = EPILOGUE_BIAS;
    *p = (product){0};
    bool ok = desc_create(&p->desc, s->dtype == RIDGE_TF32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F, R_32F) == 0;
    if (s->turned) ok = ok && desc_set(p->desc, DESC_TRANSA, &transposed, sizeof transposed) == 0;
    if (s->x_turned) ok = ok && desc_set(p->desc, DESC_TRANSB, &transposed, sizeof transposed) == 0;
    if (o->b)
        ok = ok && desc_set(p->desc, DESC_EPILOGUE, &bias, sizeof bias) == 0 &&
             desc_set(p->desc, DESC_BIAS_POINTER, &o->b, sizeof o->b) == 0;
    ok = ok && make_layout(&p->w, s, s->dtype, s->turned ? s->depth : s->classes, s->turned ? s->classes : s->depth,
                           o->w_row, o->w_next);
    ok = ok && make_layout(&p->x, s, s->dtype, s->x_turned ? s->rows : s->depth, s->x_turned ? s->depth : s->rows,
                           o->x_row, 0);
    ok = ok && make_layout(&p->z, s, s->to ? s->to : s->dtype, s->classes, s->rows, o->z_row, o->z_next);
    if (!ok) product_free(p);
    return ok ? RIDGE_OK : RIDGE_UNSUPPORTED;
}

/* Alignment of an address: the largest power of two, at most 16, that divides it. */
static uint32_t alignment_of(const void *p) {
    const uintptr_t bits = (uintptr_t)p | 16;
    return (uint32_t)(bits & (~bits + 1));
}

/* By default the library assumes 256-byte alignment and may choose an algorithm that rejects other addresses. */
static bool prefer_alignments(void *preference, const cublaslt_operands *o) {
    const uint32_t bytes[] = {alignment_of(o->w), alignment_of(o->x), alignment_of(o->z), alignment_of(o->z)};
    bool ok = true;
    for (int i = 0; i < 4; i++)
        ok = ok && preference_set(preference, PREFERENCE_ALIGNMENT + i, &bytes[i], sizeof bytes[i]) == 0;
    return ok;
}

/* Up to `most` algorithms, best guess first; how many there are. */
static int guess_algorithms(void *handle, const product *p, const cublaslt_operands *o, guess *guesses, int most) {
    const size_t workspace = CUBLASLT_WORKSPACE;
    const uint32_t reduction = REDUCTION_COMPUTE_TYPE; /* parts in 16 bits would be rounded once each */
    void *preference = NULL;
    int found = 0;
    bool ok = preference_create(&preference) == 0 &&
              preference_set(preference, PREFERENCE_WORKSPACE, &workspace, sizeof workspace) == 0 &&
              preference_set(preference, PREFERENCE_REDUCTION, &reduction, sizeof reduction) == 0 &&
              prefer_alignments(preference, o) &&
              heuristic(handle, p->desc, p->w, p->x, p->z, p->z, preference, most, guesses, &found) == 0;
    if (preference) preference_destroy(preference);
    return ok ? found : 0;
}
static ridge_status guess_algorithm(void *handle, const product *p, const cublaslt_operands *o, algorithm *algo) {
    guess best;
    if (guess_algorithms(handle, p, o, &best, 1) < 1) return RIDGE_UNSUPPORTED;
    *algo = best.algo;
    return RIDGE_OK;
}

static bool is_like(const cublaslt_plan *plan, const cublaslt_shape *s, const cublaslt_operands *o) {
    const uintptr_t all = (uintptr_t)o->x | (uintptr_t)o->w | (uintptr_t)o->z | (uintptr_t)o->b;
    return all % 16 == 0 && s->turned == plan->shape.turned && s->x_turned == plan->shape.x_turned &&
           o->x_row == plan->like.x_row && o->w_row == plan->like.w_row && o->z_row == plan->like.z_row;
}

ridge_status cublaslt_plan_create(const cublaslt_shape *shape, cublaslt_plan **plan) {
    static const char place; /* of the bias: any */
    const cublaslt_operands dense = {.b = shape->batch == 1 ? (const void *)(((uintptr_t)&place + 15) / 16 * 16) : NULL,
                                     .x_row = shape->x_turned ? shape->rows : shape->depth,
                                     .w_row = shape->turned ? shape->depth : shape->classes,
                                     .z_row = shape->classes * shape->batch,
                                     .w_next = shape->depth * shape->classes,
                                     .z_next = shape->classes};
    return cublaslt_plan_create_for(shape, &dense, plan);
}

ridge_status cublaslt_plan_create_for(const cublaslt_shape *shape, const cublaslt_operands *like,
                                      cublaslt_plan **plan) {
    *plan = NULL;
    if (cublaslt_unavailable(NULL)) return RIDGE_UNSUPPORTED;
    cublaslt_plan *made = calloc(1, sizeof *made);
    product p = {0};
    if (!made) return RIDGE_NO_MEMORY;
    made->shape = *shape;
    made->like = *like;
    const bool empty = shape->rows == 0 || shape->depth == 0;
    ridge_status status = lt_create(&made->handle) == 0 ? RIDGE_OK : RIDGE_FAILED;
    if (status == RIDGE_OK && !empty) status = product_make(shape, like, &p);
    if (status == RIDGE_OK && !empty) status = guess_algorithm(made->handle, &p, like, &made->algo);
    product_free(&p);
    if (status == RIDGE_OK)
        *plan = made;
    else
        cublaslt_plan_destroy(made);
    return status;
}

ridge_status cublaslt_run(const cublaslt_plan *plan, const cublaslt_operands *operands, void *workspace, void *stream) {
    return cublaslt_run_as(plan, &plan->shape, operands, workspace, stream);
}

ridge_status cublaslt_run_as(const cublaslt_plan *plan, const cublaslt_shape *s, const cublaslt_operands *operands,
                             void *workspace, void *stream) {
    const float one = 1, zero = 0;
    algorithm algo = plan->algo;
    product p = {0};
    if (s->rows == 0 || s->depth == 0) return RIDGE_OK;
    RIDGE_TRY(product_make(s, operands, &p));
    ridge_status status = RIDGE_OK;
    if (!is_like(plan, s, operands)) status = guess_algorithm(plan->handle, &p, operands, &algo);
    if (status == RIDGE_OK && matmul(plan->handle, p.desc, &one, operands->w, p.w, operands->x, p.x, &zero, operands->z,
                                     p.z, operands->z, p.z, &algo, workspace, CUBLASLT_WORKSPACE, stream) != 0)
        status = RIDGE_FAILED;
    product_free(&p);
    return status;
}

void cublaslt_plan_destroy(void *plan) {
    cublaslt_plan *p = plan;
    if (!p) return;
    if (p->handle) lt_destroy(p->handle);
    free(p->candidates);
    free(p);
}

int cublaslt_plan_candidates(cublaslt_plan *plan) {
    product p = {0};
    if (!plan->candidates) plan->candidates = calloc(CUBLASLT_CANDIDATES, sizeof *plan->candidates);
    if (!plan->candidates || product_make(&plan->shape, &plan->like, &p) != RIDGE_OK) return 0;
    const int found = guess_algorithms(plan->handle, &p, &plan->like, plan->candidates, CUBLASLT_CANDIDATES);
    product_free(&p);
    return found;
}

void cublaslt_plan_take(cublaslt_plan *plan, int candidate) { plan->algo = plan->candidates[candidate].algo; }
const cublaslt_shape *cublaslt_plan_shape(const cublaslt_plan *plan) { return &plan->shape; }

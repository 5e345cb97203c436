/* The CUDA variants' side of the cross-entropy family: scratch and traffic. */
#include <stdlib.h>

#include "cuda/linear/loss_scratch.h"
#include "model/cross_entropy.h"
#include "peer/cublaslt.h"

static double logits(const ridge_case *c) { return (double)c->dim[CE_BATCH] * (double)c->dim[CE_CLASSES]; }

/* Operands that the products with gradients read again. */
static double again(const ridge_case *c) {
    return (double)ridge_dtype_size(c->dtype) * (double)c->dim[CE_DEPTH] *
           (double)(c->dim[CE_BATCH] + c->dim[CE_CLASSES]);
}

/* Logits in fp32 are written once, read for the losses and, with gradients, read again. Gradients in the storage type
 * are written, and read for their sums and by two products. */
void ce_cuda_unfused_traffic(const ce_places *at, const ridge_case *c, ridge_traffic *traffic) {
    ridge_work work;
    ce_work(at, c, &work);
    const double z = 4 * logits(c), g = (double)ridge_dtype_size(linear_gradient_dtype(c->dtype)) * logits(c);
    *traffic = (ridge_traffic){.read = work.bytes_read + z, .streamed = work.bytes_written + z};
    if (at->dx < 0) return;
    traffic->read += again(c) + 3 * g + (at->lse_in < 0 ? z : 0);
    traffic->streamed += g;
}

/* ---- cuBLASLt ---------------------------------------------------------------------------------------------------- */

const char *ce_cuda_library_unavailable(const ridge_case *c) { return cublaslt_unavailable(c); }

const char *ce_cuda_library_gradient_unavailable(const ridge_case *c) {
    if (c->dtype == RIDGE_F16) return "has no product of fp32 gradients with f16 operands";
    return cublaslt_unavailable(c);
}

size_t ce_cuda_library_scratch(const ridge_case *c, int threads) {
    (void)threads;
    const size_t element = ridge_dtype_size(linear_gradient_dtype(c->dtype));
    return linear_unfused_scratch_of(c->dim[CE_BATCH], c->dim[CE_CLASSES], element).bytes + CUBLASLT_WORKSPACE;
}

/* Operands as the harness allocates them: dense, except for the rows of logits and their gradients. Bit t of
 * case.column_major is tensor t, dw the fourth output behind five or six inputs: it has the layout of w in all timed
 * cases; for other layouts the algorithm is chosen again. */
static ridge_status make_plan(const ridge_case *c, int product, cublaslt_plan **plan) {
    const int64_t rows = c->dim[CE_BATCH], depth = c->dim[CE_DEPTH], classes = c->dim[CE_CLASSES];
    const int64_t stride = (classes + 15) / 16 * 16;
    const bool column_major = (c->column_major & 1u << CE_W) != 0;
    const cublaslt_shape shapes[] = {
        [CE_LOGITS] = {rows, depth, classes, 1, !column_major, false, c->dtype, RIDGE_F32},
        [CE_TO_DX] = {rows, classes, depth, 1, column_major, false, c->dtype, c->dtype},
        [CE_TO_DW] = {classes, rows, depth, 1, false, true, c->dtype, c->dtype},
    };
    const cublaslt_operands like[] = {
        [CE_LOGITS] = {.x_row = depth, .w_row = column_major ? classes : depth, .z_row = stride},
        [CE_TO_DX] = {.x_row = stride, .w_row = column_major ? classes : depth, .z_row = depth},
        [CE_TO_DW] = {.x_row = stride, .w_row = depth, .z_row = depth},
    };
    return cublaslt_plan_create_for(&shapes[product], &like[product], plan);
}

static ridge_status make_plans(const ridge_case *c, int products, void **plan) {
    ce_cuda_plans *made = calloc(1, sizeof *made);
    if (!made) return RIDGE_NO_MEMORY;
    for (int i = 0; i < products; i++) {
        const ridge_status status = make_plan(c, i, &made->product[i]);
        if (status != RIDGE_OK) return ce_cuda_library_release(made), status;
    }
    *plan = made;
    return RIDGE_OK;
}

ridge_status ce_cuda_library_prepare(const ridge_case *c, int threads, void **plan) {
    (void)threads;
    return make_plans(c, 1, plan);
}
ridge_status ce_cuda_library_gradient_prepare(const ridge_case *c, int threads, void **plan) {
    (void)threads;
    return make_plans(c, CE_PRODUCTS, plan);
}

void ce_cuda_library_release(void *plan) {
    ce_cuda_plans *plans = plan;
    if (!plans) return;
    for (int i = 0; i < CE_PRODUCTS; i++) cublaslt_plan_destroy(plans->product[i]);
    free(plans);
}

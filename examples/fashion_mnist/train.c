#include "train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

static const float momentum = 0.9f;

static DLTensor tensor(void *data, ridge_dtype dtype, int rank, int64_t *shape, bool gpu) {
    return (DLTensor){.data = data,
                      .device = {gpu ? kDLCUDA : kDLCPU, 0},
                      .ndim = rank,
                      .dtype = ridge_dtype_to_dlpack(dtype),
                      .shape = shape};
}

static ridge_status failed(ridge_error *error, const char *what) {
    if (error) {
        error->status = RIDGE_FAILED;
        (void)snprintf(error->text, sizeof error->text, "%s", what);
    }
    return RIDGE_FAILED;
}

/* ---- training --------------------------------------------------------------------------------------------------- */

ridge_status trainer_create(ridge_context *context, bool gpu, const images *data, trainer *t, ridge_error *error) {
    float each[BATCH];
    *t = (trainer){.context = context, .gpu = gpu, .n = data->n};
    float **const places[] = {&t->x, &t->w, &t->b, &t->dloss, &t->loss, &t->lse, &t->dx, &t->dw, &t->db};
    const int64_t floats[] = {data->n * PIXELS, CLASSES * PIXELS, CLASSES, BATCH, BATCH, BATCH,
                              BATCH * PIXELS,   CLASSES * PIXELS, CLASSES};
    bool ok = true;
    for (int i = 0; i < 9; i++) ok = (*places[i] = memory_new(gpu, sizeof(float) * (size_t)floats[i])) != NULL && ok;
    t->labels = memory_new(gpu, sizeof(int32_t) * (size_t)data->n);
    for (int i = 0; i < BATCH; i++) each[i] = 1.0f / BATCH; /* the gradient of the mean */
    ok = ok && t->labels && memory_put(gpu, t->x, data->pixels, sizeof(float) * (size_t)floats[0]) &&
         memory_put(gpu, t->labels, data->labels, sizeof(int32_t) * (size_t)data->n) &&
         memory_put(gpu, t->dloss, each, sizeof each);
    if (ok) return RIDGE_OK;
    trainer_free(t);
    return failed(error, "no memory for the data");
}

void trainer_free(trainer *t) {
    void *const all[] = {t->x, t->w, t->b, t->dloss, t->loss, t->lse, t->dx, t->dw, t->db, t->labels};
    for (int i = 0; i < 10; i++) memory_free(t->gpu, all[i]);
    *t = (trainer){0};
}

/* Loss and gradients of one batch. */
static ridge_status gradients(trainer *t, int64_t batch, ridge_error *error) {
    int64_t xs[2] = {BATCH, PIXELS}, ws[2] = {CLASSES, PIXELS}, rows[1] = {BATCH}, classes[1] = {CLASSES};
    const bool gpu = t->gpu;
    const DLTensor in[] = {tensor(t->x + batch * BATCH * PIXELS, RIDGE_F32, 2, xs, gpu),
                           tensor(t->w, RIDGE_F32, 2, ws, gpu), tensor(t->b, RIDGE_F32, 1, classes, gpu),
                           tensor(t->labels + batch * BATCH, RIDGE_I32, 1, rows, gpu),
                           tensor(t->dloss, RIDGE_F32, 1, rows, gpu)};
    const DLTensor out[] = {tensor(t->loss, RIDGE_F32, 1, rows, gpu), tensor(t->lse, RIDGE_F32, 1, rows, gpu),
                            tensor(t->dx, RIDGE_F32, 2, xs, gpu), tensor(t->dw, RIDGE_F32, 2, ws, gpu),
                            tensor(t->db, RIDGE_F32, 1, classes, gpu)};
    if (t->variant) return ridge_apply(t->context, "linear_cross_entropy_grad", t->variant, in, 5, out, 5, NULL, error);
    return ridge_linear_cross_entropy_grad(t->context, &in[0], &in[1], &in[2], &in[3], &in[4], NULL, &out[0], &out[1],
                                           &out[2], &out[3], &out[4], error);
}

static void move(float *at, float *moved, const float *slope, int n, float rate) {
    for (int i = 0; i < n; i++) {
        moved[i] = momentum * moved[i] - rate * slope[i];
        at[i] += moved[i];
    }
}

static ridge_status step(trainer *t, model *m, int64_t batch, float rate, double *loss, ridge_error *error) {
    float dw[CLASSES * PIXELS], db[CLASSES], losses[BATCH];
    double sum = 0;
    if (!memory_put(t->gpu, t->w, m->w, sizeof m->w) || !memory_put(t->gpu, t->b, m->b, sizeof m->b))
        return failed(error, "the weights could not be copied");
    RIDGE_TRY(gradients(t, batch, error));
    if (!memory_get(t->gpu, dw, t->dw, sizeof dw) || !memory_get(t->gpu, db, t->db, sizeof db) ||
        !memory_get(t->gpu, losses, t->loss, sizeof losses))
        return failed(error, "the gradients could not be copied");
    move(m->w, m->moved_w, dw, CLASSES * PIXELS, rate);
    move(m->b, m->moved_b, db, CLASSES, rate);
    for (int i = 0; i < BATCH; i++) sum += (double)losses[i];
    *loss += sum / BATCH;
    return RIDGE_OK;
}

ridge_status trainer_epoch(trainer *t, model *m, int epoch, float rate, double *loss, ridge_error *error) {
    const int64_t batches = t->n / BATCH;
    int64_t *order = calloc((size_t)batches + 1, sizeof *order);
    uint64_t state = (uint64_t)epoch + 1;
    ridge_status status = order && batches > 0 ? RIDGE_OK : failed(error, "there is not one whole batch");
    for (int64_t i = 0; i < batches && order; i++) { /* each place takes that of one before it, or its own */
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int64_t k = (int64_t)((state >> 33) % (uint64_t)(i + 1));
        order[i] = order[k];
        order[k] = i;
    }
    *loss = 0;
    for (int64_t i = 0; i < batches && status == RIDGE_OK; i++) status = step(t, m, order[i], rate, loss, error);
    *loss /= batches > 0 ? (double)batches : 1;
    free(order);
    return status;
}

/* ---- what came of it -------------------------------------------------------------------------------------------- */

static int64_t count_right(const float *p, const images *data) {
    int64_t right = 0;
    for (int64_t i = 0; i < data->n; i++) {
        int best = 0;
        for (int c = 1; c < CLASSES; c++)
            if (p[i * CLASSES + c] > p[i * CLASSES + best]) best = c;
        right += best == data->labels[i];
    }
    return right;
}

ridge_status model_accuracy(model *m, ridge_context *context, const images *data, double *share, ridge_error *error) {
    int64_t xs[2] = {data->n, PIXELS}, ws[2] = {PIXELS, CLASSES}, classes[1] = {CLASSES}, ps[2] = {data->n, CLASSES};
    int64_t by_columns[2] = {1, PIXELS}; /* m->w is [classes][pixels] */
    float *p = malloc(sizeof *p * (size_t)(data->n * CLASSES));
    if (!p) return failed(error, "no memory for probabilities");
    const DLTensor x = tensor(data->pixels, RIDGE_F32, 2, xs, false), pt = tensor(p, RIDGE_F32, 2, ps, false);
    const DLTensor bt = tensor(m->b, RIDGE_F32, 1, classes, false);
    DLTensor wt = tensor(m->w, RIDGE_F32, 2, ws, false);
    wt.strides = by_columns;
    ridge_status status = ridge_linear_softmax(context, &x, &wt, &bt, &pt, error);
    if (status == RIDGE_OK) *share = (double)count_right(p, data) / (double)data->n;
    free(p);
    return status;
}

bool model_draw(const model *m, const char *path) {
    enum { ZOOM = 4, WIDE = CLASSES * SIDE * ZOOM, HIGH = SIDE * ZOOM };
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    fprintf(file, "P5\n%d %d\n255\n", WIDE, HIGH);
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++) {
            const float *w = m->w + x / (SIDE * ZOOM) * PIXELS;
            float most = 1e-30f;
            for (int i = 0; i < PIXELS; i++) most = fmaxf(most, fabsf(w[i]));
            const float v = w[y / ZOOM * SIDE + x / ZOOM % SIDE] / most; /* gray is no weight */
            (void)fputc((int)(127.5f + 127.5f * v), file);
        }
    return fclose(file) == 0;
}

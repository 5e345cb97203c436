/* Softmax regression on images, trained by gradient descent with momentum through ridge's public operations. */
#ifndef FASHION_MNIST_TRAIN_H
#define FASHION_MNIST_TRAIN_H

#include <stdbool.h>

#include "data.h"
#include "ridge/ops.h"

enum { BATCH = 256 };

typedef struct model {
    float w[CLASSES * PIXELS], b[CLASSES]; /* [classes][pixels] by rows */
    float moved_w[CLASSES * PIXELS], moved_b[CLASSES];
} model;

/* What a step needs where it runs: the data, and the operation's tensors. */
typedef struct trainer {
    ridge_context *context;
    bool gpu;
    int64_t n;
    float *x, *w, *b, *dloss, *loss, *lse, *dx, *dw, *db;
    int32_t *labels;
    const char *variant; /* NULL: the fused one */
} trainer;

ridge_status trainer_create(ridge_context *context, bool gpu, const images *data, trainer *t, ridge_error *error);
void trainer_free(trainer *t);

/* One pass over all whole batches, in an order that `epoch` shuffles. loss: their mean. */
ridge_status trainer_epoch(trainer *t, model *m, int epoch, float rate, double *loss, ridge_error *error);

/* The share of images whose likeliest class, by ridge_linear_softmax on the processor, is their label. */
ridge_status model_accuracy(model *m, ridge_context *context, const images *data, double *share, ridge_error *error);

/* The classes' weights side by side, four pixels a weight: a PGM picture. */
bool model_draw(const model *m, const char *path);

#endif

/* Softmax regression in one call a step: ridge_linear_cross_entropy_grad gives each row's loss and all gradients.
 *
 *     cc main.c -o quick_start $(pkg-config --cflags --libs ridge_ops) -lm && ./quick_start
 *
 * The rows are random, their labels those of a hidden linear classifier. The first mean loss is compared with a plain
 * computation. Exits with 0 if it agrees and the loss has halved after all steps. */
#include <math.h>
#include <ridge/ops.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 256, DEPTH = 32, CLASSES = 10, STEPS = 50 };
static const float RATE = 4;

static float x[BATCH][DEPTH], w[CLASSES][DEPTH], b[CLASSES];
static int64_t labels[BATCH];
static float share[BATCH]; /* of each row in the mean: the gradient of the mean with respect to the row's loss */
static float loss[BATCH], lse[BATCH], dx[BATCH][DEPTH], dw[CLASSES][DEPTH], db[CLASSES];

static DLTensor tensor(void *data, DLDataTypeCode code, uint8_t bits, int rank, int64_t *shape) {
    return (DLTensor){
        .data = data, .device = {kDLCPU, 0}, .ndim = rank, .dtype = {(uint8_t)code, bits, 1}, .shape = shape};
}

static float uniform(void) { return 2 * (float)rand() / (float)RAND_MAX - 1; }

static float logit(int row, float weights[CLASSES][DEPTH], int j) {
    float z = b[j];
    for (int k = 0; k < DEPTH; k++) z += x[row][k] * weights[j][k];
    return z;
}

/* Labels are the classes with the largest logits of weights that the training does not see. */
static void make_data(void) {
    static float hidden[CLASSES][DEPTH];
    for (int j = 0; j < CLASSES; j++)
        for (int k = 0; k < DEPTH; k++) hidden[j][k] = uniform();
    for (int i = 0; i < BATCH; i++) {
        for (int k = 0; k < DEPTH; k++) x[i][k] = uniform();
        for (int j = 1; j < CLASSES; j++)
            if (logit(i, hidden, j) > logit(i, hidden, (int)labels[i])) labels[i] = j;
        share[i] = 1.0f / BATCH;
    }
    for (int j = 0; j < CLASSES; j++)
        for (int k = 0; k < DEPTH; k++) w[j][k] = 0.1f * uniform();
}

static double plain_mean_loss(void) {
    double mean = 0;
    for (int i = 0; i < BATCH; i++) {
        double sum = 0;
        for (int j = 0; j < CLASSES; j++) sum += exp(logit(i, w, j));
        mean += (log(sum) - logit(i, w, (int)labels[i])) / BATCH;
    }
    return mean;
}

static double mean_loss(void) {
    double mean = 0;
    for (int i = 0; i < BATCH; i++) mean += loss[i] / BATCH;
    return mean;
}

static void descend(void) {
    for (int j = 0; j < CLASSES; j++) {
        b[j] -= RATE * db[j];
        for (int k = 0; k < DEPTH; k++) w[j][k] -= RATE * dw[j][k];
    }
}

/* The mean losses of the first and of the last step; false: an error was said. */
static bool train(ridge_context *context, double *first, double *last) {
    int64_t rows[] = {BATCH, DEPTH}, weights[] = {CLASSES, DEPTH};
    const DLTensor tx = tensor(x, kDLFloat, 32, 2, rows), tw = tensor(w, kDLFloat, 32, 2, weights);
    const DLTensor tb = tensor(b, kDLFloat, 32, 1, weights), tlabels = tensor(labels, kDLInt, 64, 1, rows);
    const DLTensor tshare = tensor(share, kDLFloat, 32, 1, rows), tloss = tensor(loss, kDLFloat, 32, 1, rows);
    const DLTensor tlse = tensor(lse, kDLFloat, 32, 1, rows), tdx = tensor(dx, kDLFloat, 32, 2, rows);
    const DLTensor tdw = tensor(dw, kDLFloat, 32, 2, weights), tdb = tensor(db, kDLFloat, 32, 1, weights);
    for (int step = 0; step < STEPS; step++) {
        ridge_error error;
        if (ridge_linear_cross_entropy_grad(context, &tx, &tw, &tb, &tlabels, &tshare, NULL, &tloss, &tlse, &tdx, &tdw,
                                            &tdb, &error)) {
            fprintf(stderr, "%s\n", error.text);
            return false;
        }
        *last = mean_loss();
        if (step == 0) *first = *last;
        descend();
    }
    return true;
}

int main(void) {
    make_data();
    const double plain = plain_mean_loss();
    double first = 0, last = 0;
    ridge_error error;
    ridge_context *context = NULL;
    if (ridge_context_create(0, &context, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    const bool trained = train(context, &first, &last);
    ridge_context_destroy(context);
    if (!trained) return 1;
    printf("mean loss %.6f (plain C: %.6f), after %d steps %.6f\n", first, plain, STEPS, last);
    return fabs(first - plain) < 1e-5 && last < first / 2 ? 0 : 1;
}

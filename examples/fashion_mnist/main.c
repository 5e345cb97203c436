/* Trains softmax regression on Fashion-MNIST with ridge's fused loss and gradient, and times it against the unfused
 * way.
 *
 *   fashion_mnist [--device cpu|cuda] [--epochs N] [--data DIR] [--images N] [--threads N] [--picture FILE.pgm]
 *                 [--least PERCENT]
 *
 * Exit status: 0; 1 when the accuracy on the test images ends below --least; 2 bad usage; 3 ridge or the device failed;
 * 77 the data is not there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"
#include "train.h"

enum { NO_DATA = 77 };

typedef struct options {
    const char *device, *data, *picture;
    int epochs, images, threads;
    double least;
} options;

/* Every option takes a value. */
static bool parse(int argc, char **argv, options *o) {
    *o = (options){.device = "cpu", .data = "/usr/share/datasets/fashion-mnist", .epochs = 20};
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        const struct {
            const char *name;
            const char **text;
            int *number;
        } known[] = {{"--device", &o->device, NULL}, {"--data", &o->data, NULL},     {"--picture", &o->picture, NULL},
                     {"--epochs", NULL, &o->epochs}, {"--images", NULL, &o->images}, {"--threads", NULL, &o->threads}};
        bool found = strcmp(argv[i], "--least") == 0;
        if (!value) return false;
        if (found) o->least = strtod(value, NULL);
        for (int k = 0; k < 6 && !found; k++) {
            if (strcmp(argv[i], known[k].name) != 0) continue;
            if (known[k].text) *known[k].text = value;
            if (known[k].number) *known[k].number = (int)strtol(value, NULL, 10);
            found = true;
        }
        if (!found) return false;
    }
    return o->epochs > 0 && o->images >= 0 && o->threads >= 0 &&
           (strcmp(o->device, "cpu") == 0 || strcmp(o->device, "cuda") == 0);
}

static double seconds(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ridge_status train(trainer *t, model *m, const images *test, int epochs, double *share, ridge_error *error) {
    for (int e = 0; e < epochs; e++) {
        double loss = 0, began = seconds();
        const float rate = 0.05f * (float)(epochs - e) / (float)epochs;
        RIDGE_TRY(trainer_epoch(t, m, e, rate, &loss, error));
        const double took = seconds() - began;
        RIDGE_TRY(model_accuracy(m, t->context, test, share, error));
        printf("epoch %2d: loss %.4f, test accuracy %.2f %%, %.3f s\n", e + 1, loss, 100 * *share, took);
    }
    return RIDGE_OK;
}

/* The least time of some epochs with a variant, from the same weights. */
static ridge_status time_variant(trainer *t, const model *from, const char *variant, double *best, ridge_error *error) {
    enum { TIMES = 3 };
    model *m = malloc(sizeof *m);
    ridge_status status = m ? RIDGE_OK : RIDGE_NO_MEMORY;
    t->variant = variant;
    *best = 1e30;
    for (int i = 0; i < TIMES && status == RIDGE_OK; i++) {
        double loss, began = seconds();
        *m = *from;
        status = trainer_epoch(t, m, i, 0.001f, &loss, error);
        const double took = seconds() - began;
        if (took < *best) *best = took;
    }
    t->variant = NULL;
    free(m);
    return status;
}

static ridge_status compare(trainer *t, const model *m, ridge_error *error) {
    double fused, unfused;
    RIDGE_TRY(time_variant(t, m, NULL, &fused, error));
    const char *variant = t->gpu ? "cuda/baseline" : "cpu/baseline";
    if (time_variant(t, m, variant, &unfused, error) == RIDGE_OK)
        printf("an epoch: %.1f ms fused, %.1f ms unfused (%s), %.2f times\n", 1e3 * fused, 1e3 * unfused, variant,
               unfused / fused);
    else
        printf("an epoch: %.1f ms fused; no unfused path to compare with: %s\n", 1e3 * fused, error->text);
    return RIDGE_OK;
}

static int run(const options *o, const images *training, const images *test) {
    static model m;
    ridge_error error = {0};
    ridge_context *context = NULL;
    trainer t = {0};
    double share = 0;
    ridge_status status = ridge_context_create(o->threads, &context, &error);
    if (status == RIDGE_OK) status = trainer_create(context, strcmp(o->device, "cuda") == 0, training, &t, &error);
    if (status == RIDGE_OK) status = train(&t, &m, test, o->epochs, &share, &error);
    if (status == RIDGE_OK) status = compare(&t, &m, &error);
    trainer_free(&t);
    ridge_context_destroy(context);
    if (status != RIDGE_OK) return fprintf(stderr, "fashion_mnist: %s\n", error.text), 3;
    if (o->picture && !model_draw(&m, o->picture)) return fprintf(stderr, "cannot write %s\n", o->picture), 3;
    return 100 * share >= o->least ? 0 : 1;
}

int main(int argc, char **argv) {
    options o;
    images training, test;
    static float mean[PIXELS];
    if (!parse(argc, argv, &o))
        return fprintf(stderr,
                       "usage: fashion_mnist [--device cpu|cuda] [--epochs N] [--data DIR] [--images N] [--threads N]\n"
                       "                     [--picture FILE.pgm] [--least PERCENT]\n"),
               2;
    const char *no_gpu = strcmp(o.device, "cuda") == 0 ? memory_gpu_unavailable() : NULL;
    if (no_gpu) return fprintf(stderr, "fashion_mnist: no GPU can be used: %s\n", no_gpu), 3;
    const char *wrong = images_read(o.data, "train", o.images, &training);
    if (wrong) return fprintf(stderr, "fashion_mnist: %s: %s\n", o.data, wrong), NO_DATA;
    wrong = images_read(o.data, "t10k", 0, &test);
    if (wrong) return images_free(&training), fprintf(stderr, "fashion_mnist: %s: %s\n", o.data, wrong), NO_DATA;
    images_center(&training, mean, 1);
    images_center(&test, mean, 0);
    const int status = run(&o, &training, &test);
    images_free(&training);
    images_free(&test);
    return status;
}

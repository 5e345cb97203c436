#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* A big-endian number of 32 bits; -1 at the end of the file. */
static int64_t number(gzFile file) {
    unsigned char b[4];
    if (gzread(file, b, 4) != 4) return -1;
    return (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | b[3];
}

static gzFile open_part(const char *directory, const char *name, const char *part) {
    char path[512];
    if (snprintf(path, sizeof path, "%s/%s-%s.gz", directory, name, part) >= (int)sizeof path) return NULL;
    return gzopen(path, "rb");
}

static const char *read_labels(gzFile file, images *to) {
    unsigned char label;
    if (number(file) != 2049 || number(file) < to->n) return "the labels are no IDX file of bytes, or too few";
    for (int64_t i = 0; i < to->n; i++) {
        if (gzread(file, &label, 1) != 1 || label >= CLASSES) return "a label is missing, or not one of ten";
        to->labels[i] = label;
    }
    return NULL;
}

static const char *read_pixels(gzFile file, images *to) {
    unsigned char image[PIXELS];
    for (int64_t i = 0; i < to->n; i++) {
        if (gzread(file, image, PIXELS) != PIXELS) return "an image is missing";
        for (int p = 0; p < PIXELS; p++) to->pixels[i * PIXELS + p] = (float)image[p] / 255;
    }
    return NULL;
}

static const char *read_both(gzFile pixels, gzFile labels, int64_t most, images *to) {
    if (!pixels || !labels) return "no such files: apt install dataset-fashion-mnist, or say --data DIRECTORY";
    const int64_t magic = number(pixels), all = number(pixels);
    if (magic != 2051 || number(pixels) != SIDE || number(pixels) != SIDE)
        return "the images are no IDX file of 28 x 28";
    to->n = most > 0 && most < all ? most : all;
    to->pixels = malloc((size_t)to->n * PIXELS * sizeof *to->pixels);
    to->labels = malloc((size_t)to->n * sizeof *to->labels);
    if (!to->pixels || !to->labels) return "no memory";
    const char *wrong = read_pixels(pixels, to);
    return wrong ? wrong : read_labels(labels, to);
}

const char *images_read(const char *directory, const char *name, int64_t most, images *to) {
    *to = (images){0};
    gzFile pixels = open_part(directory, name, "images-idx3-ubyte"),
           labels = open_part(directory, name, "labels-idx1-ubyte");
    const char *wrong = read_both(pixels, labels, most, to);
    if (pixels) (void)gzclose(pixels);
    if (labels) (void)gzclose(labels);
    if (wrong) images_free(to);
    return wrong;
}

void images_center(images *of, float mean[PIXELS], int make) {
    for (int p = 0; p < PIXELS; p++) {
        double sum = 0;
        for (int64_t i = 0; i < of->n && make; i++) sum += (double)of->pixels[i * PIXELS + p];
        if (make) mean[p] = (float)(sum / (double)of->n);
    }
    for (int64_t i = 0; i < of->n; i++)
        for (int p = 0; p < PIXELS; p++) of->pixels[i * PIXELS + p] -= mean[p];
}

void images_free(images *of) {
    free(of->pixels);
    free(of->labels);
    *of = (images){0};
}

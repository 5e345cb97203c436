/* Fashion-MNIST as Debian's dataset-fashion-mnist installs it: IDX files, compressed with gzip. */
#ifndef FASHION_MNIST_DATA_H
#define FASHION_MNIST_DATA_H

#include <stdint.h>

enum { PIXELS = 784, SIDE = 28, CLASSES = 10 };

typedef struct images {
    int64_t n;
    float *pixels;   /* [n][PIXELS], 0 … 1 less the mean of the pixel, which `mean` has */
    int32_t *labels; /* [n] */
} images;

/* The first `most` images of DIR/<name>-images-idx3-ubyte.gz and their labels; 0: all. Returns NULL, or what is wrong.
 */
const char *images_read(const char *directory, const char *name, int64_t most, images *to);
/* Takes a mean image off; made of these when `make` is not 0. */
void images_center(images *of, float mean[PIXELS], int make);
void images_free(images *of);

#endif

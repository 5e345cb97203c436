/* Softmax of rows of logits in their own place: teams of four lanes, whose second block has fewer rows than teams, rows of a
 * cluster, and rows that are longer than what a cluster keeps, which a block reads twice. */
#include "linear/softmax_rows.cu"
#include "program.h"

#include <vector>

static long softmax(const char *name, int rows, int classes) {
    const size_t count = (size_t)rows * classes;
    std::vector<float> z(count), p(count), bias(classes);
    for (size_t i = 0; i < count; i++) z[i] = 4.0f * value_of((unsigned)i);
    for (int j = 0; j < classes; j++) bias[j] = value_of((unsigned)(j + 77));
    float *at = device_array<float>(count, z.data()), *of_classes = device_array<float>((size_t)classes, bias.data());
    const ridge::logit_rows r = {at, of_classes, at, rows, classes, 1, classes, 0, 0, classes, 0};
    if (ridge::linear_softmax_rows_of(r, RIDGE_F32, 0) != RIDGE_OK) exit(2);
    to_host(p.data(), at, count);
    comparison c = {name, 1e-5};
    for (int i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int j = 0; j < classes; j++) sum += exp(z[(size_t)i * classes + j] + bias[j]);
        for (int j = 0; j < classes; j++)
            c.compare(p[(size_t)i * classes + j], exp(z[(size_t)i * classes + j] + bias[j]) / sum, i, j);
    }
    return c.wrong;
}

int main(void) {
    return softmax("rows in registers", 70, 13) + softmax("rows of a cluster", 2, 8195) +
               softmax("rows that are read twice", 2, LOGITS_OF_CLUSTER + 3) >
           0;
}

/* Losses of rows of logits, and gradients in the place of the logits: teams of four lanes, whose second block has fewer rows
 * than teams, rows of a cluster, and rows that a block reads twice. Labels lie in all blocks of a cluster. */
#include "linear/loss_rows.cu"
#include "program.h"

#include <vector>

static long losses(const char *name, int rows, int classes) {
    const int line = (classes + 15) / 16 * 16;
    const size_t count = (size_t)rows * (size_t)line;
    std::vector<float> z(count), g(count), bias((size_t)classes), dloss((size_t)rows), loss((size_t)rows);
    std::vector<int> label((size_t)rows);
    for (size_t i = 0; i < count; i++) z[i] = 4.0f * value_of((unsigned)i);
    for (int j = 0; j < classes; j++) bias[(size_t)j] = value_of((unsigned)(j + 77));
    for (int i = 0; i < rows; i++)
        dloss[(size_t)i] = value_of((unsigned)(i + 5)), label[(size_t)i] = (i + 1) * 5003 % classes;
    ridge::loss_of_logits r = {};
    float *const at = device_array<float>(count, z.data()), *const to = device_array<float>((size_t)rows, loss.data());
    r.z = at, r.gradient = at, r.line = line, r.rows = rows, r.classes = classes, r.loss = to;
    r.bias = device_array<float>((size_t)classes, bias.data());
    r.labels = {device_array<int>((size_t)rows, label.data()), false};
    r.dloss = device_array<float>((size_t)rows, dloss.data());
    r.options = {-100.0, 0.1f, 0.0f};
    if (ridge::linear_loss_rows(r, RIDGE_F32, 0) != RIDGE_OK) exit(2);
    to_host(g.data(), at, count);
    to_host(loss.data(), to, (size_t)rows);
    comparison c = {name, 1e-4};
    for (int i = 0; i < rows; i++) {
        const float *const of = &z[(size_t)i * (size_t)line];
        double sum = 0.0, total = 0.0;
        for (int j = 0; j < classes; j++) sum += exp(of[j] + bias[(size_t)j]), total += of[j] + bias[(size_t)j];
        const int l = label[(size_t)i];
        const double lse = log(sum);
        c.compare(loss[(size_t)i], 0.9 * (lse - of[l] - bias[(size_t)l]) + 0.1 * (lse - total / classes), i, -1);
        for (int j = 0; j < classes; j++) {
            const double p = exp(of[j] + bias[(size_t)j]) / sum;
            c.compare(g[(size_t)i * (size_t)line + (size_t)j],
                      dloss[(size_t)i] * (p - 0.1f / classes - (j == l ? 0.9f : 0)), i, j);
        }
    }
    return c.wrong;
}

int main(void) {
    return losses("rows in registers", 70, 13) + losses("rows of a cluster", 3, 12301) +
               losses("rows that are read twice", 2, LOGITS_OF_CLUSTER + 3) >
           0;
}

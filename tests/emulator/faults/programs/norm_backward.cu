/* Gradients of a layer norm by norm_backward/held.cuh: groups of 16 threads that have several rows, a last row that not all groups
 * have, columns that end within a thread's second piece; and of a cluster of two blocks. */
#include "norm_backward/held.cuh"
#include "program.h"

#include <vector>

using namespace ridge;

struct gradients {
    std::vector<float> dx, dgamma, dbeta;
};

static std::vector<float> numbers(int count, unsigned first) {
    std::vector<float> v(count);
    for (int i = 0; i < count; i++) v[i] = value_of(first + (unsigned)i);
    return v;
}

static gradients wanted(const std::vector<float> &x, const std::vector<float> &gamma, const std::vector<float> &dy,
                        int rows, int cols) {
    gradients want = {std::vector<float>(rows * cols), std::vector<float>(cols), std::vector<float>(cols)};
    for (int i = 0; i < rows; i++) {
        double mean = 0, squares = 0, of_g = 0, of_gn = 0;
        for (int j = 0; j < cols; j++) mean += x[i * cols + j] / (double)cols;
        for (int j = 0; j < cols; j++) squares += (x[i * cols + j] - mean) * (x[i * cols + j] - mean) / cols;
        const double inverse = 1 / sqrt(squares + 1e-5);
        for (int j = 0; j < cols; j++) {
            const double g = (double)dy[i * cols + j] * gamma[j], n = (x[i * cols + j] - mean) * inverse;
            of_g += g / cols, of_gn += g * n / cols;
        }
        for (int j = 0; j < cols; j++) {
            const double g = (double)dy[i * cols + j] * gamma[j], n = (x[i * cols + j] - mean) * inverse;
            want.dx[i * cols + j] = (float)(inverse * (g - of_g - n * of_gn));
            want.dgamma[j] += (float)(dy[i * cols + j] * n), want.dbeta[j] += dy[i * cols + j];
        }
    }
    return want;
}

template <int Threads, int Blocks>
static int try_rows(int rows, int cols, int units) {
    using held = norm_back_held<float, true, Threads, 2, Blocks>;
    const std::vector<float> x = numbers(rows * cols, 0), gamma = numbers(cols, 500000),
                             dy = numbers(rows * cols, 1000000);
    const int64_t line = norm_back_line(cols);
    float *const dx = device_array<float>(x.size(), NULL),
                 *const sums = device_array<float>(2 * line * units * held::groups, NULL),
                 *const dgamma = device_array<float>(cols, NULL), *const dbeta = device_array<float>(cols, NULL);
    const row_matrix<const float> of_x = {device_array(x.size(), x.data()), cols},
                                  of_dy = {device_array(dy.size(), dy.data()), cols};
    const norm_back_problem<float> p(of_x, of_dy, {dx, cols}, device_array(gamma.size(), gamma.data()), rows, cols,
                                     1e-5f, sums);
    const norm_back_results to = {{dgamma, dbeta}};
    const auto kernel = norm_back_kernel<float, true, Threads, 2, Blocks, 512>;
    if (ridge::launch(kernel, {dim3(units * Blocks), held::block, 0, Blocks}, 0, p) != RIDGE_OK) return 2;
    const ridge::launch_shape add = {dim3((cols + NORM_BACK_ADD_COLUMNS - 1) / NORM_BACK_ADD_COLUMNS, 2),
                                     NORM_BACK_ADD};
    if (ridge::launch_overlapping(norm_back_add_kernel, add, 0, true, (const float *)sums, line,
                                  (int64_t)units * held::groups, to, (int64_t)cols) != RIDGE_OK)
        return 2;

    gradients got = {std::vector<float>(x.size()), std::vector<float>(cols), std::vector<float>(cols)};
    const gradients want = wanted(x, gamma, dy, rows, cols);
    to_host(got.dx.data(), dx, got.dx.size());
    to_host(got.dgamma.data(), dgamma, got.dgamma.size());
    to_host(got.dbeta.data(), dbeta, got.dbeta.size());
    comparison of_rows = {"dx", 1e-4}, of_columns = {"sums", 1e-4};
    for (int i = 0; i < rows * cols; i++) of_rows.compare(got.dx[i], want.dx[i], i / cols, i % cols);
    for (int j = 0; j < cols; j++) {
        of_columns.compare(got.dgamma[j], want.dgamma[j], 0, j);
        of_columns.compare(got.dbeta[j], want.dbeta[j], 1, j);
    }
    return of_rows.wrong + of_columns.wrong > 0;
}

int main(void) { return try_rows<16, 1>(27, 116, 2) + try_rows<128, 2>(5, 1900, 2); }

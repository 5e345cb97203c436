/* Gradients of rows by row_gradient/held.cuh with a rule of two sums: rows side by side in a block, the last ones of which are not
 * there, columns that end within a thread's pieces; and rows of any length. */
#include "program.h"
#include "row_gradient/held.cuh"

#include <vector>

using namespace ridge;

/* dx = dy sum(a^2) - a sum(a dy) */
struct rule {
    using sums = float2;
    explicit rule(const ridge_call *) {}
    __device__ float2 part(float a, float dy) const { return make_float2(a * a, a * dy); }
    __device__ float2 finish(float2 sums_of_row) const { return sums_of_row; }
    __device__ float gradient(float a, float dy, float2 row) const { return dy * row.x - a * row.y; }
};

static std::vector<float> numbers(int count, unsigned first) {
    std::vector<float> v(count);
    for (int i = 0; i < count; i++) v[i] = value_of(first + (unsigned)i);
    return v;
}

static int differences(const std::vector<float> &a, const std::vector<float> &dy, const float *dx, int rows, int cols) {
    std::vector<float> got(a.size());
    comparison of_rows = {"dx", 1e-4 * cols};
    to_host(got.data(), dx, got.size());
    for (int i = 0; i < rows; i++) {
        double squares = 0, products = 0;
        for (int j = i * cols; j < (i + 1) * cols; j++) squares += a[j] * a[j], products += a[j] * dy[j];
        for (int j = 0; j < cols; j++) {
            const int at = i * cols + j;
            of_rows.compare(got[at], (float)(dy[at] * squares - a[at] * products), i, j);
        }
    }
    return of_rows.wrong;
}

/* side: rows of a block. */
static int try_rows(void (*kernel)(row_gradient_problem<rule, float>), int threads, int side, int rows, int cols) {
    const std::vector<float> a = numbers(rows * cols, 0), dy = numbers(rows * cols, 1000000);
    float *const dx = device_array<float>(a.size(), NULL);
    int64_t dim[] = {rows, cols};
    const auto matrix = [&](const float *data) {
        return DLTensor{
            .data = (void *)data, .device = {kDLCUDA, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = dim};
    };
    const DLTensor in[] = {matrix(device_array(a.size(), a.data())), matrix(device_array(dy.size(), dy.data()))};
    const DLTensor out = matrix(dx);
    const ridge_call call = {.dim = dim, .dtype = RIDGE_F32, .in = in, .out = &out};
    const row_gradient_problem<rule, float> p(&call);
    const ridge::launch_shape shape = {dim3((rows + side - 1) / side), threads * side};
    return ridge::launch(kernel, shape, 0, p) == RIDGE_OK ? differences(a, dy, dx, rows, cols) : 2;
}

int main(void) {
    return try_rows(row_gradient_held<rule, float, 16, 2>, 16, 8, 11, 116) +
               try_rows(row_gradient_held<rule, float, 128, 2>, 128, 1, 3, 900) +
               try_rows(row_gradient_any<rule, float>, ROW_GRADIENT_ANY, 1, 3, 301) >
           0;
}

/* A polynomial at every element: compute_bound's coefficients in shared memory, tiles with heads and tails. */
#include "targets/compute_bound/cuda.cu"
#include "program.h"

#include <vector>

int main(void) {
    constexpr int rows = 3, columns = 4 * 512 + 37, stride = columns + 4, terms = 37;
    std::vector<float> x((rows - 1) * stride + columns), y(x.size()), c(terms);
    for (size_t i = 0; i < x.size(); i++) x[i] = value_of((unsigned)i);
    for (size_t i = 0; i < c.size(); i++) c[i] = value_of((unsigned)i + 4000000);
    float *from = device_array<float>(x.size() + 1, NULL) + 1, *to = device_array<float>(y.size() + 1, NULL) + 1;
    require(cudaMemcpy(from, x.data(), x.size() * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
    map_rows<polynomial> t = {};
    t.in[0] = from, t.out[0] = to, t.in_stride[0] = t.out_stride[0] = stride, t.rows = rows, t.cols = columns;
    const map_problem<polynomial> p = problem_of_rows<polynomial::unroll>(t);
    if (launch(polynomial_kernel, {dim3(2), polynomial_threads}, 0, p, (const float *)device_array(c.size(), c.data()),
               (int64_t)terms) != RIDGE_OK)
        return 2;
    require(cudaDeviceSynchronize(), "the kernel");
    for (int i = 0; i < rows; i++)
        require(cudaMemcpy(&y[i * stride], to + i * stride, columns * 4, cudaMemcpyDeviceToHost), "cudaMemcpy");
    comparison values = {"polynomial", 1e-4};
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double v = 0.0;
            for (int k = terms - 1; k >= 0; k--) v = v * x[i * stride + j] + c[k];
            values.compare(y[i * stride + j], v, i, j);
        }
    return values.wrong > 0;
}

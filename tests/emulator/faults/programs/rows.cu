/* Softmax of rows: row_kernel_cluster, whose blocks exchange maxima and sums by st.async and mbarriers, and row_kernel,
 * whose rows begin anywhere and have edges. */
#include "cuda/rows/softmax.cuh"
#include "program.h"

#include <vector>

using ridge::row_softmax;
using ridge::row_tensors;

/* `lead` elements lie before the first row, so that rows are not aligned. */
template <typename Kernel>
static long softmax(Kernel kernel, const char *name, ridge::launch_shape shape, int rows, int n, int stride, int lead) {
    const size_t count = (size_t)(rows - 1) * stride + n;
    std::vector<float> x(count), y(count);
    for (size_t i = 0; i < count; i++) x[i] = 4.0f * value_of((unsigned)i);
    float *from = device_array<float>(lead + count, NULL) + lead, *to = device_array<float>(lead + count, NULL) + lead;
    require(cudaMemcpy(from, x.data(), count * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
    require(cudaMemset(to, 0, count * 4), "cudaMemset");
    const row_tensors<float, float> io = {from, to, rows, n, stride, stride};
    if (ridge::launch_overlapping(kernel, shape, 0, false, io, row_softmax()) != RIDGE_OK) exit(2);
    to_host(y.data(), to, count);
    comparison c = {name, 1e-5};
    for (int i = 0; i < rows; i++) {
        const float *row = &x[(size_t)i * stride];
        double sum = 0.0;
        for (int j = 0; j < n; j++) sum += exp(row[j]);
        for (int j = 0; j < n; j++) c.compare(y[(size_t)i * stride + j], exp(row[j]) / sum, i, j);
    }
    return c.wrong;
}

int main(void) {
    const auto cluster = ridge::row_kernel_cluster<row_softmax, float, float, 4, 128, 8, false>;
    const auto block = ridge::row_kernel<row_softmax, float, float, 4, 128, 8>;
    long wrong = softmax(cluster, "rows of clusters", {dim3(3 * 4), 128, 0, 4}, 3, 4 * 1024, 4 * 1024, 0);
    wrong += softmax(block, "rows of blocks", {dim3(5), 128}, 5, 997, 1001, 1);
    return wrong > 0;
}

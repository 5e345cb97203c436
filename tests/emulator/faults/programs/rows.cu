/* Softmax of rows: row_kernel_cluster, whose blocks exchange maxima and sums by st.async and mbarriers; row_kernel,
 * whose rows begin anywhere and have edges, or are shifted from where x lies to where y does;
 * and row_kernel_staged, whose rows come and go by bulk copies. */
#include "cuda/rows/softmax.cuh"
#include "program.h"

#include <vector>

using ridge::row_shifted;
using ridge::row_softmax;
using ridge::row_tensors;

/* `lead` elements lie before the first row, so that rows are not aligned; of x none, where Io shifts. */
template <class Io = row_tensors<float, float>, typename Kernel, typename... More>
static long softmax(Kernel kernel, const char *name, ridge::launch_shape shape, int rows, int n, int stride, int lead,
                    More... more) {
    const size_t count = (size_t)(rows - 1) * stride + n;
    std::vector<float> x(count), y(count);
    for (size_t i = 0; i < count; i++) x[i] = 4.0f * value_of((unsigned)i);
    const int before = Io::shifted ? 0 : lead;
    float *from = device_array<float>(before + count, NULL) + before,
          *to = device_array<float>(lead + count, NULL) + lead;
    require(cudaMemcpy(from, x.data(), count * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
    require(cudaMemset(to, 0, count * 4), "cudaMemset");
    const Io io = {row_tensors<float, float>{from, to, rows, n, stride, stride}};
    if (ridge::launch_overlapping(kernel, shape, 0, false, io, row_softmax(), more...) != RIDGE_OK) exit(2);
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
    const auto cluster = ridge::row_kernel_cluster<row_softmax, row_tensors<float, float>, 4, 128, 8, false>;
    const auto block = ridge::row_kernel<row_softmax, row_tensors<float, float>, 4, 128, 8>;
    long wrong = softmax(cluster, "rows of clusters", {dim3(3 * 4), 128, 0, 4}, 3, 4 * 1024, 4 * 1024, 0);
    wrong += softmax(block, "rows of blocks", {dim3(5), 128}, 5, 997, 1001, 1);
    const auto shifted = ridge::row_kernel<row_softmax, row_shifted<row_tensors<float, float>>, 4, 32, 16>;
    wrong += softmax<row_shifted<row_tensors<float, float>>>(shifted, "shifted rows", {dim3(2), 128}, 5, 303, 303, 2);
    /* 70 rows of 37, 4 lanes each, in blocks of 32 rows */
    const auto staged = ridge::row_kernel_staged<row_softmax, row_tensors<float, float>, 4>;
    wrong += softmax(staged, "rows in shared memory", {dim3(3), 128, ridge::row_staged_room<float>(32 * 37) * 16}, 70,
                     37, 37, 0);
    return wrong > 0;
}

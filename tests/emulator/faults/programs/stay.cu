/* RMS norm and SiLU of rows by persistent clusters: rows/persistent.cuh's TMA copies into a buffer for each group of
 * threads, parameters by cp.async, exchanges by st.async; every group takes several rows. */
#include "cuda/rows/norm_fixed.cuh"
#include "program.h"

#include <vector>

using rms = ridge::row_norm_fixed<float, ROW_NORM_RMS>;

int main(void) {
    constexpr int rows = 10, blocks = 2, n = blocks * ROW_PERSISTENT_SLICE / 4;
    std::vector<float> x((size_t)rows * n), y(x.size()), gamma(n);
    for (size_t i = 0; i < x.size(); i++) x[i] = value_of((unsigned)i);
    for (int j = 0; j < n; j++) gamma[j] = value_of(j + 7000000);
    float *from = device_array(x.size(), x.data()), *to = device_array(y.size(), y.data());
    const rms op = {device_array(n, gamma.data()), nullptr, 1.0f / n, NORM_EPS, 1};
    const ridge::row_tensors<float, float> io = {from, to, rows, n, n, n};
    const auto kernel = ridge::row_kernel_persistent<rms, float, float>;
    constexpr int bytes = ridge::row_persistent_bytes<rms, float>;
    require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
    const ridge::launch_shape shape = {dim3(blocks), ridge::ROW_PERSISTENT_THREADS * ROW_PERSISTENT_GROUPS, bytes,
                                       blocks};
    if (ridge::launch_overlapping(kernel, shape, 0, false, io, op) != RIDGE_OK) return 2;

    to_host(y.data(), to, y.size());
    comparison c = {"norm", 1e-4};
    for (int i = 0; i < rows; i++) {
        const float *row = &x[(size_t)i * n];
        double squares = 0.0;
        for (int j = 0; j < n; j++) squares += (double)row[j] * row[j];
        const double inverse = 1.0 / sqrt(squares / n + NORM_EPS);
        for (int j = 0; j < n; j++) {
            const double h = row[j] * inverse * gamma[j];
            c.compare(y[(size_t)i * n + j], h / (1.0 + exp(-h)), i, j);
        }
    }
    return c.wrong > 0;
}

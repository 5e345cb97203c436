// A cooperative launch whose blocks meet at a grid-wide barrier; a launch that is too large is refused.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

namespace cg = cooperative_groups;

// Jacobi steps on a line: each step needs the neighbours' values of the step before.
__global__ void relax(float *a, float *b, int n, int steps) {
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; step++) {
        for (int i = (int)grid.thread_rank(); i < n; i += (int)grid.size()) {
            float left = i > 0 ? a[i - 1] : 0, right = i + 1 < n ? a[i + 1] : 0;
            b[i] = 0.5f * (left + right);
        }
        grid.sync();
        float *t = a;
        a = b;
        b = t;
    }
}

int main() {
    int n = 3000, steps = 7, per_sm = 0;
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, relax, 128, 0);
    if (per_sm < 1) return 1;
    std::vector<float> x(n), y(n), out(n);
    for (int i = 0; i < n; i++) x[i] = (float)((i * 31) % 17);
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemcpy(a, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    void *arguments[] = {&a, &b, &n, &steps};
    if (cudaLaunchCooperativeKernel((void *)relax, dim3(12), dim3(128), arguments) != cudaSuccess) return 2;
    if (cudaMemcpy(out.data(), steps % 2 ? b : a, n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < n; i++) y[i] = 0.5f * ((i > 0 ? x[i - 1] : 0) + (i + 1 < n ? x[i + 1] : 0));
        x.swap(y);
    }
    for (int i = 0; i < n; i++)
        if (out[i] != x[i]) return printf("element %d: %g, not %g\n", i, out[i], x[i]), 4;
    int too_many = per_sm * device.multiProcessorCount + 1;
    if (cudaLaunchCooperativeKernel((void *)relax, dim3(too_many), dim3(128), arguments) !=
        cudaErrorCooperativeLaunchTooLarge)
        return 5;
    printf("%d steps on 12 blocks are right\n", steps);
    return 0;
}

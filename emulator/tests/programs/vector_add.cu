// c = a + b, one thread an element, in plain CUDA.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main() {
    const int n = 50000;
    std::vector<float> a(n), b(n), c(n);
    for (int i = 0; i < n; i++) a[i] = i * 0.5f, b[i] = 1.0f / (i + 1);
    float *da, *db, *dc;
    cudaMalloc(&da, n * sizeof(float));
    cudaMalloc(&db, n * sizeof(float));
    cudaMalloc(&dc, n * sizeof(float));
    cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice);
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    if (cudaGetLastError() != cudaSuccess) return 1;
    if (cudaMemcpy(c.data(), dc, n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    for (int i = 0; i < n; i++)
        if (c[i] != a[i] + b[i]) return printf("element %d: %g, not %g\n", i, c[i], a[i] + b[i]), 3;
    cudaFree(da);
    cudaFree(db);
    cudaFree(dc);
    printf("%d elements are right\n", n);
    return 0;
}

// Transposition through a padded tile of shared memory; sizes that are no multiple of the tile.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

constexpr int TILE = 32, ROWS = 8;

__global__ void transpose(float *out, const float *in, int width, int height) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
    const int width = 203, height = 131;
    std::vector<float> in(width * height), out(width * height);
    for (int i = 0; i < width * height; i++) in[i] = (float)i;
    float *din, *dout;
    size_t bytes = in.size() * sizeof(float);
    cudaMalloc(&din, bytes);
    cudaMalloc(&dout, bytes);
    cudaMemcpy(din, in.data(), bytes, cudaMemcpyHostToDevice);
    dim3 blocks((width + TILE - 1) / TILE, (height + TILE - 1) / TILE), threads(TILE, ROWS);
    transpose<<<blocks, threads>>>(dout, din, width, height);
    if (cudaMemcpy(out.data(), dout, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (out[x * height + y] != in[y * width + x]) return printf("(%d, %d) is wrong\n", x, y), 2;
    cudaFree(din);
    cudaFree(dout);
    printf("%d x %d is right\n", width, height);
    return 0;
}

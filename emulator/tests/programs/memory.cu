// Managed memory, __managed__, __constant__ and __device__ variables, mapped host memory, pitched copies,
// stream-ordered allocation.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        cudaError_t error = call;                                                                      \
        if (error != cudaSuccess) {                                                                    \
            printf("line %d: %s: %s\n", __LINE__, cudaGetErrorName(error), cudaGetErrorString(error)); \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)
#define EXPECT(condition)                                      \
    do {                                                       \
        if (!(condition)) {                                    \
            printf("line %d: not %s\n", __LINE__, #condition); \
            exit(2);                                           \
        }                                                      \
    } while (0)

__constant__ float weights[4] = {1, 2, 3, 4};
__device__ int counter = 41;
__device__ int *pointer_to_counter = &counter;
__managed__ int shared_with_host = 5;

__global__ void use(float *out) {
    int i = threadIdx.x;
    out[i] = weights[i % 4] * i;
    if (i == 0) {
        *pointer_to_counter += 1;
        shared_with_host *= 2;
    }
}

__global__ void increment(int *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i]++;
}

static void variables() {
    float *out;
    CHECK(cudaMallocManaged(&out, 32 * sizeof(float)));
    shared_with_host = 21;
    use<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) EXPECT(out[i] == (float)(i % 4 + 1) * i);
    EXPECT(shared_with_host == 42);
    int value = 0;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof value));
    EXPECT(value == 42);
    float changed[2] = {10, 20};
    CHECK(cudaMemcpyToSymbol(weights, changed, sizeof changed, 2 * sizeof(float)));
    use<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++) EXPECT(out[i] == (i % 4 < 2 ? i % 4 + 1 : i % 4 * 10 - 10) * (float)i);
    size_t bytes = 0;
    void *address = nullptr;
    CHECK(cudaGetSymbolSize(&bytes, weights));
    CHECK(cudaGetSymbolAddress(&address, counter));
    EXPECT(bytes == 16);
    CHECK(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDefault));
    EXPECT(value == 43);
    CHECK(cudaFree(out));
}

static void mapped() {
    int *host, *device;
    CHECK(cudaHostAlloc(&host, 100 * sizeof(int), cudaHostAllocMapped));
    for (int i = 0; i < 100; i++) host[i] = i;
    CHECK(cudaHostGetDevicePointer(&device, host, 0));
    increment<<<1, 64>>>(device, 100);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 100; i++) EXPECT(host[i] == i + 1);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, host));
    EXPECT(attributes.type == cudaMemoryTypeHost);
    CHECK(cudaFreeHost(host));
}

static void pitched() {
    const int width = 37, height = 11;
    size_t pitch;
    char *device;
    std::vector<char> in(width * height), out(width * height);
    for (int i = 0; i < width * height; i++) in[i] = (char)i;
    CHECK(cudaMallocPitch(&device, &pitch, width, height));
    EXPECT(pitch >= width);
    CHECK(cudaMemcpy2D(device, pitch, in.data(), width, width, height, cudaMemcpyHostToDevice));
    CHECK(cudaMemset2D(device + 2 * pitch + 3, pitch, 99, 5, 2));
    CHECK(cudaMemcpy2D(out.data(), width, device, pitch, width, height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            EXPECT(out[y * width + x] == (y >= 2 && y < 4 && x >= 3 && x < 8 ? 99 : in[y * width + x]));
    CHECK(cudaFree(device));
}

static void in_stream_order() {
    cudaStream_t stream;
    int *memory;
    std::vector<int> out(1000, -1);
    CHECK(cudaStreamCreate(&stream));
    for (int round = 0; round < 3; round++) {
        CHECK(cudaMallocAsync(&memory, 1000 * sizeof(int), stream));
        CHECK(cudaMemsetAsync(memory, 0, 1000 * sizeof(int), stream));
        increment<<<1, 128, 0, stream>>>(memory, 1000);
        CHECK(cudaMemcpyAsync(out.data(), memory, 1000 * sizeof(int), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(memory, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int value : out) EXPECT(value == 1);
    }
    CHECK(cudaStreamDestroy(stream));
}

static void errors() {
    int *memory, host = 0;
    EXPECT(cudaMalloc(&memory, (size_t)1 << 60) == cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError() == cudaSuccess);
    CHECK(cudaMalloc(&memory, 16));
    EXPECT(cudaMemcpy(memory + 3, &host, 8, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    EXPECT(cudaFree((char *)memory + 4) == cudaErrorInvalidValue);
    increment<<<1, 2048>>>(memory, 4);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    increment<<<1, 32, 50000>>>(memory, 4);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFree(memory));
}

int main() {
    variables();
    mapped();
    pitched();
    in_stream_order();
    errors();
    printf("memory is right\n");
    return 0;
}

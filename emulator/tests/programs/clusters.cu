// Histogram over the distributed shared memory of a cluster; cluster sizes given at launch and at compile time;
// launches that the driver refuses; a programmatic dependent launch.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

namespace cg = cooperative_groups;
constexpr int BINS = 256;

__global__ void histogram(int *bins, const unsigned char *in, int n, int bins_per_block) {
    extern __shared__ int own[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x) own[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int *theirs = cluster.map_shared_rank(own, in[i] / bins_per_block);
        atomicAdd(&theirs[in[i] % bins_per_block], 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * bins_per_block + i], own[i]);
}

__global__ void __cluster_dims__(2, 1, 1) ranks(int *out) {
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) out[blockIdx.x] = (int)(cluster.block_rank() * 100 + cluster.num_blocks());
}

__global__ void producer(int *x, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 3 * i;
    cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void consumer(const int *x, int *y, int n) {
    cudaGridDependencySynchronize();
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] + 1;
}

static cudaError_t launch_histogram(int size, int *bins, const unsigned char *in, int n) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(16);
    config.blockDim = dim3(128);
    config.dynamicSmemBytes = BINS / size * sizeof(int);
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, histogram, bins, in, n, BINS / size);
}

static int check_histogram() {
    const int n = 5000;
    std::vector<unsigned char> in(n);
    std::vector<int> expected(BINS), out(BINS);
    for (int i = 0; i < n; i++) expected[in[i] = (unsigned char)(i * i + 7 * i)]++;
    unsigned char *device;
    int *bins;
    cudaMalloc(&device, n);
    cudaMalloc(&bins, BINS * sizeof(int));
    cudaMemcpy(device, in.data(), n, cudaMemcpyHostToDevice);
    for (int size : {1, 2, 4, 8}) {
        cudaMemset(bins, 0, BINS * sizeof(int));
        if (launch_histogram(size, bins, device, n) != cudaSuccess) return 1;
        if (cudaMemcpy(out.data(), bins, BINS * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
        if (out != expected) return printf("clusters of %d: wrong\n", size), 3;
    }
    if (launch_histogram(16, bins, device, n) == cudaSuccess) return 4;
    if (cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess) return 5;
    (void)cudaGetLastError();
    cudaMemset(bins, 0, BINS * sizeof(int));
    if (launch_histogram(16, bins, device, n) != cudaSuccess) return 6;
    if (cudaMemcpy(out.data(), bins, BINS * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess || out != expected)
        return 7;
    return 0;
}

static int check_fixed() {
    int *out, host[6];
    cudaMalloc(&out, sizeof host);
    ranks<<<6, 32>>>(out);
    if (cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 11;
    for (int i = 0; i < 6; i++)
        if (host[i] != i % 2 * 100 + 2) return 12;
    ranks<<<5, 32>>>(out);
    return cudaGetLastError() == cudaSuccess ? 13 : 0;
}

static int check_dependent() {
    const int n = 1000;
    int *x, *y, rounds = 5;
    std::vector<int> host(n);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMalloc(&x, n * sizeof(int));
    cudaMalloc(&y, n * sizeof(int));
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(256);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    while (rounds--) {
        producer<<<1, 256, 0, stream>>>(x, n);
        if (cudaLaunchKernelEx(&config, consumer, (const int *)x, y, n) != cudaSuccess) return 21;
    }
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 22;
    cudaMemcpy(host.data(), y, n * sizeof(int), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        if (host[i] != 3 * i + 1) return 23;
    return 0;
}

int main() {
    int failed = check_histogram();
    if (!failed) failed = check_fixed();
    if (!failed) failed = check_dependent();
    if (failed)
        printf("check %d failed: %s\n", failed, cudaGetErrorString(cudaGetLastError()));
    else
        printf("clusters are right\n");
    return failed;
}

// Two streams, events between them, host functions, a captured graph that is launched again and updated, a graph made
// by hand.
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

constexpr int N = 4096;

__global__ void fill(int *x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void add(int *x, const int *y) {
    x[blockIdx.x * blockDim.x + threadIdx.x] += y[blockIdx.x * blockDim.x + threadIdx.x];
}

static void add_one(void *value) { ++*(int *)value; }

static void expect_all(const int *device, int value) {
    std::vector<int> host(N);
    CHECK(cudaMemcpy(host.data(), device, N * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) EXPECT(host[i] == value);
}

static void two_streams(int *x, int *y) {
    cudaStream_t a, b;
    cudaEvent_t filled, done;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&filled));
    CHECK(cudaEventCreate(&done));
    int calls = 0;
    for (int round = 1; round < 5; round++) {
        fill<<<N / 256, 256, 0, a>>>(x, round);
        CHECK(cudaEventRecord(filled, a));
        fill<<<N / 256, 256, 0, b>>>(y, 10 * round);
        CHECK(cudaStreamWaitEvent(b, filled));
        add<<<N / 256, 256, 0, b>>>(x, y);
        CHECK(cudaLaunchHostFunc(b, add_one, &calls));
        CHECK(cudaEventRecord(done, b));
        CHECK(cudaStreamWaitEvent(a, done));
    }
    CHECK(cudaStreamSynchronize(a));
    EXPECT(calls == 4);
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, filled, done));
    EXPECT(ms >= 0);
    expect_all(x, 44);
    CHECK(cudaEventDestroy(filled));
    CHECK(cudaEventDestroy(done));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
}

static void captured(int *x, int *y) {
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreate(&b));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    for (int value = 1; value < 3; value++) {
        CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
        CHECK(cudaMemsetAsync(x, 0, N * sizeof(int), a));
        CHECK(cudaEventRecord(fork, a));
        CHECK(cudaStreamWaitEvent(b, fork));
        fill<<<N / 256, 256, 0, b>>>(y, value);
        CHECK(cudaEventRecord(join, b));
        fill<<<N / 256, 256, 0, a>>>(x, 5);
        CHECK(cudaStreamWaitEvent(a, join));
        add<<<N / 256, 256, 0, a>>>(x, y);
        add<<<N / 256, 256, 0, a>>>(x, y);
        CHECK(cudaStreamEndCapture(a, &graph));
        size_t nodes = 0;
        CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
        EXPECT(nodes == 5);
        if (value == 1) {
            CHECK(cudaGraphInstantiate(&exec, graph, 0));
        } else {
            cudaGraphExecUpdateResultInfo info;
            CHECK(cudaGraphExecUpdate(exec, graph, &info));
        }
        CHECK(cudaGraphUpload(exec, a));
        CHECK(cudaGraphLaunch(exec, a));
        CHECK(cudaGraphLaunch(exec, a));
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaStreamSynchronize(a));
        expect_all(x, 5 + 2 * value);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
}

static void made_by_hand(int *x) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t clear, write;
    int value = 7;
    void *arguments[] = {&x, &value};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void *)fill;
    kernel.gridDim = dim3(N / 256);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = arguments;
    cudaMemsetParams memset = {};
    memset.dst = x;
    memset.elementSize = 4;
    memset.width = N;
    memset.height = 1;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &memset));
    CHECK(cudaGraphAddKernelNode(&write, graph, &clear, 1, &kernel));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    expect_all(x, 7);
    value = 9;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, write, &kernel));
    CHECK(cudaGraphLaunch(exec, 0));
    expect_all(x, 9);
    CHECK(cudaGraphNodeSetEnabled(exec, write, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    expect_all(x, 0);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main() {
    int *x, *y;
    CHECK(cudaMalloc(&x, N * sizeof(int)));
    CHECK(cudaMalloc(&y, N * sizeof(int)));
    two_streams(x, y);
    captured(x, y);
    made_by_hand(x);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    printf("streams, events and graphs are right\n");
    return 0;
}

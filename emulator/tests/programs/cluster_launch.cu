// clusterlaunchcontrol: clusters of two take over the tiles of those that have not begun; each tile is done once.
// cluster_launch <case>: what breaks the rules.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"

enum { THREADS = 64, WIDTH = 20, HEIGHT = 3 };
enum Misuse { NONE, AGAIN, NOT_ASKED, NO_RESPONSE, NO_FENCE };

__device__ static void cluster_sync() {
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

__device__ static bool cancelled(const uint64_t *response, uint32_t *x, uint32_t *y, bool asks) {
    uint32_t yes;
    asm volatile(
        "{.reg .b128 r; .reg .pred p; mov.b128 r, {%1, %2}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, "
        "r; "
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(yes)
        : "l"(response[0]), "l"(response[1]));
    if (asks && !yes) return false;
    asm volatile(
        "{.reg .b128 r; .reg .b32 z, w; mov.b128 r, {%2, %3}; "
        "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%0, %1, z, w}, r; }"
        : "=r"(*x), "=r"(*y)
        : "l"(response[0]), "l"(response[1]));
    asm volatile(
        "{.reg .b128 r; mov.b128 r, {%1, %2}; clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %0, r; }"
        : "=r"(*y)
        : "l"(response[0]), "l"(response[1]));
    return true;
}

__global__ void __cluster_dims__(2, 1, 1) tiles(int *done, int *taken, Misuse misuse) {
    __shared__ __align__(16) uint64_t response[2];
    __shared__ uint64_t full;
    const uint32_t rank = blockIdx.x % 2;
    uint32_t x = blockIdx.x - rank, y = blockIdx.y;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (threadIdx.x < 2) response[threadIdx.x] = 7;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    for (uint32_t parity = 0;; parity ^= 1) {
        cluster_sync();
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(shared_address(&full))
                         : "memory");
            if (rank == 0 && misuse != NO_RESPONSE)
                asm volatile(
                    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster:"
                    ":"
                    "all.b128 [%0], [%1];" ::"r"(shared_address(response)),
                    "r"(shared_address(&full))
                    : "memory");
            atomicAdd(&done[(y * WIDTH + x + rank)], 1);
        }
        if (misuse != NO_RESPONSE) mbarrier_wait(&full, parity);
        const bool more = cancelled(response, &x, &y, misuse != NOT_ASKED);
        // Not asked for again before all have read this response, which the next one overwrites through another proxy.
        if (misuse != NO_FENCE) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        if (!more && !(misuse == AGAIN && parity == 0)) break;
        if (threadIdx.x == 0 && rank == 0) atomicAdd(taken, 1);
    }
    cluster_sync();
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "none";
    const Misuse misuse = strcmp(name, "again") == 0         ? AGAIN
                          : strcmp(name, "not_asked") == 0   ? NOT_ASKED
                          : strcmp(name, "no_response") == 0 ? NO_RESPONSE
                          : strcmp(name, "no_fence") == 0    ? NO_FENCE
                                                             : NONE;
    int *device, counts[WIDTH * HEIGHT + 1];
    cudaMalloc(&device, sizeof counts);
    cudaMemset(device, 0, sizeof counts);
    tiles<<<dim3(WIDTH, HEIGHT), THREADS>>>(device, device + WIDTH * HEIGHT, misuse);
    const cudaError_t error = cudaMemcpy(counts, device, sizeof counts, cudaMemcpyDeviceToHost);
    printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    if (error != cudaSuccess) return 1;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        if (counts[i] != 1) return printf("tile %d was done %d times\n", i, counts[i]), 2;
    const int taken = counts[WIDTH * HEIGHT];
    if (taken < 5) return printf("%d clusters were cancelled\n", taken), 3;
    printf("each tile was done once\n");
    return 0;
}

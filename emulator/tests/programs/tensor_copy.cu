// tcgen05.cp: rows of shared memory into tensor memory, in all shapes, as bytes and unpacked. tensor_copy <case>.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"

enum { THREADS = 128, BYTES = 4096, COLUMNS = 8, COPIES = 7 };

#define CP(shape, column) \
    asm volatile("tcgen05.cp.cta_group::1." shape " [%0], %1;" ::"r"(address + (column)), "l"(from) : "memory")

// Copy i goes to columns 8 i and up.
__global__ void copies(const uint32_t *image, uint32_t *out, bool waits, bool reads_beyond) {
    __shared__ __align__(128) uint32_t rows[BYTES / 4];
    __shared__ uint64_t done;
    __shared__ uint32_t address;
    if (threadIdx.x < 32) tcgen05_alloc(&address, 64);
    if (threadIdx.x == 0) mbarrier_init(&done, 1);
    for (uint32_t i = threadIdx.x; i < BYTES / 4; i += THREADS) rows[i] = image[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        // eight rows of 16 bytes, the other 16 bytes of them 128 bytes further, the next rows 256
        uint64_t from = (uint64_t)shared_address(rows) >> 4 | 8ull << 16 | 16ull << 32 | 1ull << 46;
        if (reads_beyond) from += 0x2000;
        CP("128x256b", 0);
        CP("128x128b", 8);
        CP("64x128b.warpx2::02_13", 16);
        CP("64x128b.warpx2::01_23", 24);
        CP("32x128b.warpx4", 32);
        CP("128x128b.b8x16.b4x16_p64", 40);
        CP("128x128b.b8x16.b6x16_p32", 48);
        tcgen05_commit(&done);
    }
    if (waits) mbarrier_wait(&done, 0);
    tcgen05_fence_after();
    for (uint32_t i = 0; i < COPIES * 8; i++) {
        if (i >= 8 && i % 8 >= 4) continue;
        const uint32_t x = tcgen05_ld(address + (threadIdx.x / 32 * 32 << 16) + i);
        tcgen05_wait_ld();
        out[i * THREADS + threadIdx.x] = x;
    }
    if (!waits) mbarrier_wait(&done, 0);
    __syncthreads();
    if (threadIdx.x < 32) tcgen05_dealloc(address, 64);
}

static uint8_t image[BYTES];

static uint8_t byte_at(int row, int at) { return image[row / 8 * 256 + at / 16 * 128 + row % 8 * 16 + at % 16]; }

static uint8_t due(int copy, int lane, int at) {
    const int warp = lane / 32, in = lane % 32;
    switch (copy) {
        case 2: return byte_at(warp / 2 * 32 + in, at);
        case 3: return byte_at(warp % 2 * 32 + in, at);
        case 4: return byte_at(in, at);
        case 5: return (uint8_t)((byte_at(lane, at / 2) >> at % 2 * 4 & 15) << 2);
        case 6: {
            const int bit = 6 * at;
            return (uint8_t)((byte_at(lane, bit / 8) | byte_at(lane, bit / 8 + 1) << 8) >> bit % 8 & 63);
        }
        default: return byte_at(lane, at);
    }
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "none";
    static uint32_t out[COPIES * 8 * THREADS];
    uint32_t *device_image, *device_out;
    for (int i = 0; i < BYTES; i++) image[i] = (uint8_t)(i * 37 + i / 251);
    cudaMalloc(&device_image, BYTES);
    cudaMalloc(&device_out, sizeof out);
    cudaMemcpy(device_image, image, BYTES, cudaMemcpyHostToDevice);
    cudaMemset(device_out, 0, sizeof out);
    copies<<<1, THREADS>>>(device_image, device_out, strcmp(name, "no_wait") != 0, strcmp(name, "beyond") == 0);
    const cudaError_t error = cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost);
    printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    if (error != cudaSuccess) return 1;
    for (int copy = 0; copy < COPIES; copy++)
        for (int lane = 0; lane < THREADS; lane++)
            for (int at = 0; at < (copy ? 16 : 32); at++) {
                const uint8_t found = (uint8_t)(out[(copy * 8 + at / 4) * THREADS + lane] >> at % 4 * 8);
                if (found != due(copy, lane, at))
                    return printf("copy %d, lane %d, byte %d: %d\n", copy, lane, at, found), 2;
            }
    printf("all copies are right\n");
    return 0;
}

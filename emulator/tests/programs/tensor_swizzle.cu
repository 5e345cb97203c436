// Tensor copies with every swizzle that cuda.h has, on an sm_100a: where bytes lie in shared memory, against the host, and stores
// that bring them back. tensor_swizzle refused: types with gaps take no swizzle that flips 8 bytes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"

enum { ROWS = 40, MOST = ROWS * 128, THREADS = 64 };

__global__ void copies(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to, uint8_t *out,
                       uint32_t bytes, uint32_t offset) {
    __shared__ __align__(1024) uint8_t image[MOST + 1024];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 1);
        asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)), "r"(bytes)
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %3}], [%2];" ::
                "r"(shared_address(image) + offset),
            "l"(&from), "r"(shared_address(&full)), "r"(0)
            : "memory");
    }
    __syncthreads();
    mbarrier_wait(&full, 0);
    for (uint32_t i = threadIdx.x; i < bytes; i += THREADS) out[i] = image[offset + i];
    if (threadIdx.x == 0)
        asm volatile(
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %2}], [%1]; cp.async.bulk.commit_group; "
            "cp.async.bulk.wait_group 0;" ::"l"(&to),
            "r"(shared_address(image) + offset), "r"(0)
            : "memory");
}

// ---- the host ---------------------------------------------------------------------------------------------------
static uint8_t rows[MOST], out[MOST], back[MOST], *device_rows, *device_out, *device_back;

static CUresult map_of(CUtensorMap *map, CUtensorMapDataType type, uint8_t *memory, int span,
                       CUtensorMapSwizzle swizzle) {
    const cuuint64_t sizes[] = {(cuuint64_t)span, ROWS}, strides[] = {(cuuint64_t)span};
    const cuuint32_t box[] = {(cuuint32_t)span, ROWS}, ones[] = {1, 1};
    return cuTensorMapEncodeTiled(map, type, 2, memory, sizes, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

struct Pattern {
    CUtensorMapSwizzle swizzle;
    int span, atom;
    bool flips;
};
static const Pattern patterns[] = {
    {CU_TENSOR_MAP_SWIZZLE_NONE, 128, 128, false},
    {CU_TENSOR_MAP_SWIZZLE_32B, 32, 16, false},
    {CU_TENSOR_MAP_SWIZZLE_64B, 64, 16, false},
    {CU_TENSOR_MAP_SWIZZLE_128B, 128, 16, false},
    {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B, 128, 32, false},
    {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B, 128, 32, true},
    {CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B, 128, 64, false},
};

// PTX's tables: in line l of 128 bytes, atom a of its span is where atom a ^ l was; then halves of 16 bytes change places.
static int place_of(const Pattern &p, int at, int first) {
    const int line = (at + first) / 128, in = at % p.span, atoms = p.span / p.atom;
    int place = at - in + (in / p.atom ^ line % atoms) * p.atom + in % p.atom;
    if (p.flips && line % 2) place ^= 8;
    return place;
}

static bool right(const Pattern &p, uint32_t offset) {
    const int bytes = ROWS * p.span;
    CUtensorMap from, to;
    for (uint8_t &byte : rows) byte = (uint8_t)rand();
    cudaMemcpy(device_rows, rows, MOST, cudaMemcpyHostToDevice);
    cudaMemset(device_back, 0, MOST);
    if (map_of(&from, CU_TENSOR_MAP_DATA_TYPE_UINT8, device_rows, p.span, p.swizzle) != CUDA_SUCCESS ||
        map_of(&to, CU_TENSOR_MAP_DATA_TYPE_UINT8, device_back, p.span, p.swizzle) != CUDA_SUCCESS)
        return printf("swizzle %d is refused\n", p.swizzle), false;
    copies<<<1, THREADS>>>(from, to, device_out, bytes, offset);
    cudaMemcpy(out, device_out, bytes, cudaMemcpyDeviceToHost);
    const cudaError_t error = cudaMemcpy(back, device_back, bytes, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) return printf("%s\n", cudaGetErrorString(error)), false;
    for (int at = 0; at < bytes; at++)
        if (out[place_of(p, at, (int)offset)] != rows[at] || back[at] != rows[at])
            return printf("swizzle %d, from %u on: byte %d\n", p.swizzle, offset, at), false;
    return true;
}

int main(int argc, char **argv) {
    cudaMalloc(&device_rows, MOST);
    cudaMalloc(&device_out, MOST);
    cudaMalloc(&device_back, MOST);
    if (argc > 1 && strcmp(argv[1], "refused") == 0) {
        CUtensorMap map;
        const CUresult plain =
            map_of(&map, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, device_rows, 128, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B);
        const CUresult flips = map_of(&map, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B, device_rows, 128,
                                      CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B);
        return printf("%d and %d\n", plain, flips), 1;
    }
    for (const Pattern &p : patterns)
        for (uint32_t offset = 0; offset < 1024; offset += 128)
            if (!right(p, offset)) return 1;
    printf("all swizzles are right\n");
    return 0;
}

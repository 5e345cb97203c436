// tcgen05.shift and cp.4x256b, which replaces the rows that a shift leaves, against the host, of one block and of a pair: which
// rows move, in which order with products, and what breaks the rules: tensor_shift <case>.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"

enum { THREADS = 128, COLUMNS = 32, SHIFTED = 8, SHIFTS = 6, COPIES = 6, ROWS = 4, IMAGE = COPIES * 1024 };
enum Misuse {
    NONE,
    LANE,
    BEYOND,
    UNALLOCATED,
    NO_WAIT,
    NO_FENCE,
    NO_COMMIT,
    UNWRITTEN,
    UNFENCED_STORE,
    COPY_LANE,
    COPY_BEYOND,
    COPY_UNWRITTEN,
    COPY_NO_WAIT,
    COPY_NO_FENCE,
};
static const char *const misuses[] = {"none",        "lane",           "beyond",       "unallocated",    "no_wait",
                                      "no_fence",    "no_commit",      "unwritten",    "unfenced_store", "copy_lane",
                                      "copy_beyond", "copy_unwritten", "copy_no_wait", "copy_no_fence"};
// Copy i: from 1024 i. Its rows of 16 bytes lie side by side and so do their other 16 bytes, or in lines of 128 bytes, swizzled.
enum Form { PLAIN, SWIZZLED, BITS_4, BITS_6 };

struct Job {
    int shifts;
    uint32_t to[SHIFTS];  // addresses less that of the allocation
    int copies;
    uint32_t copy_to[COPIES];
    Form form[COPIES];
    Misuse misuse;
};

template <int group>
__device__ static void shift(uint32_t address) {
    asm volatile("tcgen05.shift.cta_group::%1.down [%0];" ::"r"(address), "n"(group) : "memory");
}

template <int group>
__device__ static void copy(Form form, uint32_t address, uint32_t from) {
    const uint64_t plain = from >> 4 | 4ull << 16 | 1ull << 46, swizzled = from >> 4 | 1ull << 46 | 2ull << 61;
    if (form == PLAIN) asm volatile("tcgen05.cp.cta_group::%2.4x256b [%0], %1;" ::"r"(address), "l"(plain), "n"(group));
    if (form == SWIZZLED)
        asm volatile("tcgen05.cp.cta_group::%2.4x256b [%0], %1;" ::"r"(address), "l"(swizzled), "n"(group));
    if (form == BITS_4)
        asm volatile("tcgen05.cp.cta_group::%2.4x256b.b8x16.b4x16_p64 [%0], %1;" ::"r"(address), "l"(plain),
                     "n"(group));
    if (form == BITS_6)
        asm volatile("tcgen05.cp.cta_group::%2.4x256b.b8x16.b6x16_p32 [%0], %1;" ::"r"(address), "l"(plain),
                     "n"(group));
}

template <int group>
__global__ void shifts(const uint32_t *from, const uint32_t *image, uint32_t *out, Job job) {
    __shared__ __align__(1024) uint32_t rows[IMAGE / 4];
    __shared__ uint64_t done;
    __shared__ uint32_t address;
    const uint32_t rank = blockIdx.x, quarter = threadIdx.x / 32 * 32 << 16;
    if (threadIdx.x < 32)
        asm volatile(
            "tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&address)),
            "r"(COLUMNS), "n"(group)
            : "memory");
    if (threadIdx.x == 0) {
        mbarrier_init(&done, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    // Of a copy's group of eight rows that lie side by side, nobody wrote the last four: they are not read.
    for (uint32_t i = threadIdx.x; i < IMAGE / 4 && job.misuse != COPY_UNWRITTEN; i += THREADS)
        if (job.form[i / 256] == SWIZZLED ? i % 256 < 128 : i % 256 < 32) rows[i] = image[rank * IMAGE / 4 + i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    for (uint32_t i = 0; i < COLUMNS && job.misuse != UNWRITTEN; i++)
        tcgen05_st(address + quarter + i, from[(rank * COLUMNS + i) * THREADS + threadIdx.x]);
    tcgen05_wait_st();
    if (job.misuse != UNFENCED_STORE) tcgen05_fence_before();
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0 && rank == 0) {
        tcgen05_fence_after();
        for (int i = 0; i < job.shifts; i++) shift<group>(address + job.to[i]);
        for (int i = 0; i < job.copies; i++)
            copy<group>(job.form[i], address + job.copy_to[i], shared_address(rows) + 1024 * i);
        if (job.misuse != NO_COMMIT)
            asm volatile(
                "tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], "
                "%1;" ::"r"(shared_address(&done)),
                "h"((uint16_t)(group == 2 ? 3 : 1)), "n"(group)
                : "memory");
    }
    if (job.misuse != NO_WAIT && job.misuse != COPY_NO_WAIT && job.misuse != NO_COMMIT) mbarrier_wait(&done, 0);
    if (job.misuse != NO_FENCE && job.misuse != COPY_NO_FENCE) tcgen05_fence_after();
    for (uint32_t i = 0; i < COLUMNS && job.misuse != NO_COMMIT; i++) {
        const uint32_t x = tcgen05_ld(address + quarter + i);
        tcgen05_wait_ld();
        out[(rank * COLUMNS + i) * THREADS + threadIdx.x] = x;
    }
    if (job.misuse == NO_WAIT || job.misuse == COPY_NO_WAIT) mbarrier_wait(&done, 0);
    __syncthreads();
    if (threadIdx.x < 32 && job.misuse != NO_COMMIT)
        asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(COLUMNS), "n"(group)
                     : "memory");
}

// A product, its accumulators shifted, and the product once more: each is done when the one before is.
__global__ void between_products(float *out) {
    enum { N = 16 };
    __shared__ __align__(128) uint16_t a[128 * 16], b[N * 16];
    __shared__ uint64_t done;
    __shared__ uint32_t address;
    if (threadIdx.x < 32) tcgen05_alloc(&address, 32);
    if (threadIdx.x == 0) mbarrier_init(&done, 1);
    // The first column of A is 1 + (row % 8) / 64, and B is 1. Eight rows of 8 elements, their next 8 behind them.
    const int row = threadIdx.x;
    for (int i = 0; i < 16; i++) a[row / 8 * 128 + i / 8 * 64 + row % 8 * 8 + i % 8] = i ? 0 : 0x3c00 + (row % 8 << 4);
    for (int i = 0; i < 2; i++) b[row * 2 + i] = 0x3c00;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64_t rest = 8ull << 16 | 16ull << 32 | 1ull << 46;
        const uint32_t instruction = 1 << 4 | N / 8 << 17 | 128 / 16 << 24;
        for (uint32_t i = 0; i < 2; i++) {
            asm volatile(
                "{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" ::"r"(
                    address),
                "l"(shared_address(a) >> 4 | rest), "l"(shared_address(b) >> 4 | rest), "r"(instruction), "r"(i)
                : "memory");
            for (uint32_t quarter = 0; quarter < 4 && i == 0; quarter++) shift<1>(address + (quarter * 32 << 16));
        }
        tcgen05_commit(&done);
    }
    mbarrier_wait(&done, 0);
    tcgen05_fence_after();
    const uint32_t x = tcgen05_ld(address + (threadIdx.x / 32 * 32 << 16) + SHIFTED - 1);
    tcgen05_wait_ld();
    out[threadIdx.x] = __uint_as_float(x);
    __syncthreads();
    if (threadIdx.x < 32) tcgen05_dealloc(address, 32);
}

// ---- the host ---------------------------------------------------------------------------------------------------
static uint32_t cells[2][COLUMNS][THREADS], out[2][COLUMNS][THREADS], *device_from, *device_out;
static uint8_t image[2][IMAGE], *device_image;

template <int group>
static cudaError_t run(const Job &job) {
    for (auto &block : cells)
        for (auto &column : block)
            for (uint32_t &cell : column) cell = (uint32_t)rand();
    for (auto &bytes : image)
        for (uint8_t &byte : bytes) byte = (uint8_t)rand();
    cudaMemcpy(device_image, image, sizeof image, cudaMemcpyHostToDevice);
    cudaMemcpy(device_from, cells, sizeof cells, cudaMemcpyHostToDevice);
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {group, 1, 1};
    config.gridDim = group, config.blockDim = THREADS, config.attrs = &attribute, config.numAttrs = 1;
    cudaLaunchKernelEx(&config, shifts<group>, (const uint32_t *)device_from, (const uint32_t *)device_image,
                       device_out, job);
    return cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost);
}

// Byte `at` of 32 of a row of a copy.
static uint8_t byte_at(const uint8_t *from, Form form, int row, int at) {
    const uint8_t *piece = from + (form == SWIZZLED ? 128 * row + (at / 16 ^ row) * 16 : at / 16 * 64 + row * 16);
    const int i = at % 16, bit = 6 * i;
    if (form == BITS_4) return (uint8_t)((piece[i / 2] >> i % 2 * 4 & 15) << 2);
    if (form == BITS_6) return (uint8_t)((piece[bit / 8] | piece[bit / 8 + 1] << 8) >> bit % 8 & 63);
    return piece[i];
}

template <int group>
static bool right() {
    Job job = {};
    job.shifts = SHIFTS, job.copies = COPIES;
    for (int i = 0; i < COPIES; i++) {
        job.form[i] = (Form)(i % 4);
        job.copy_to[i] = (uint32_t)(i % 2 ? 31 : rand() % 32) << 16 | rand() % (COLUMNS - SHIFTED + 1);
    }
    for (uint32_t &to : job.to) to = (uint32_t)(rand() % 4 * 32) << 16 | rand() % (COLUMNS - SHIFTED + 1);
    const cudaError_t error = run<group>(job);
    if (error != cudaSuccess) return printf("%s\n", cudaGetErrorString(error)), false;
    for (int block = 0; block < group; block++)
        for (uint32_t to : job.to)
            for (uint32_t column = to & 0xffff; column < (to & 0xffff) + SHIFTED; column++)
                for (uint32_t lane = to >> 16; lane < (to >> 16) + 31; lane++)
                    cells[block][column][lane] = cells[block][column][lane + 1];
    for (int block = 0; block < group; block++)
        for (int i = 0; i < COPIES; i++)
            for (int row = 0; row < ROWS; row++)
                for (int at = 0; at < 32; at++)
                    ((uint8_t *)&cells[block][(job.copy_to[i] & 0xffff) + at / 4]
                                      [(job.copy_to[i] >> 16) + 32 * row])[at % 4] =
                        byte_at(image[block] + 1024 * i, job.form[i], row, at);
    if (memcmp(cells, out, group * sizeof cells[0]) == 0) return true;
    return printf("cells of a group of %d differ\n", group), false;
}

static bool right_between_products() {
    static float found[THREADS];
    float *device;
    cudaMalloc(&device, sizeof found);
    between_products<<<1, THREADS>>>(device);
    const cudaError_t error = cudaMemcpy(found, device, sizeof found, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) return printf("%s\n", cudaGetErrorString(error)), false;
    for (int lane = 0; lane < THREADS; lane++) {
        const int from = lane % 32 == 31 ? lane : lane + 1;
        const float due = 2 + (float)(lane % 8 + from % 8) / 64;
        if (found[lane] != due) return printf("lane %d is %g, not %g\n", lane, found[lane], due), false;
    }
    return true;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "none";
    int misuse = NONE;
    for (int i = 0; i < (int)(sizeof misuses / sizeof misuses[0]); i++)
        if (strcmp(name, misuses[i]) == 0) misuse = i;
    cudaMalloc(&device_from, sizeof cells);
    cudaMalloc(&device_out, sizeof out);
    cudaMalloc(&device_image, sizeof image);
    if (misuse == NONE) {
        bool ok = right_between_products();
        for (int i = 0; i < 4 && ok; i++) ok = right<1>() && right<2>();
        if (ok) printf("all shifts are right\n");
        return !ok;
    }
    Job job = {};
    job.shifts = 1, job.misuse = (Misuse)misuse;
    job.to[0] = misuse == LANE ? 16 << 16 : misuse == BEYOND ? 508 : misuse == UNALLOCATED ? 28 : 32 << 16 | 4;
    if (misuse >= COPY_LANE) {
        job.shifts = 0, job.copies = 1;
        job.copy_to[0] = misuse == COPY_LANE ? 32 << 16 : misuse == COPY_BEYOND ? 28 : 31 << 16 | 4;
    }
    const cudaError_t error = run<1>(job);
    printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    return error != cudaSuccess;
}

// Block-scaled tcgen05.mma against the host: mxf8f6f4, mxf4 and mxf4nvf4, with scales that tcgen05.cp brings to tensor memory,
// and what breaks the rules: tensor_scaled <case>.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"
#include "tensor_product.cuh"

enum {
    THREADS = 128,
    M = 128,
    MOST_N = 256,
    A_BYTES = 4096,
    B_BYTES = 8192,
    TILE = 512,
    SCALES_A = 256,
    SCALES_B = 264
};
enum Kind { MXF8F6F4, MXF4, NVF4_2X, NVF4_4X };
enum Misuse { NONE, BYTE, QUARTERS, NOT_COPIED, TYPE };
static const char *const misuses[] = {"none", "byte", "quarters", "not_copied", "type"};

struct Image {
    uint8_t a[A_BYTES], b[B_BYTES], scales[3][TILE];  // of a, and of each 128 columns of b
};
struct Job {
    uint32_t instruction;
    int n;
    bool add;
    float start;
    Misuse misuse;
};

#define MMA(kind)                                                                                                  \
    asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" kind                       \
                 " [%0], %1, %2, %3, [%5], [%6], p; }" ::"r"(address),                                             \
                 "l"(descriptor(image.a)), "l"(descriptor(image.b)), "r"(job.instruction), "r"((uint32_t)job.add), \
                 "r"(address + SCALES_A), "r"(address + SCALES_B)                                                  \
                 : "memory")
#define CP(shape, column, from) \
    asm volatile("tcgen05.cp.cta_group::1." shape " [%0], %1;" ::"r"(address + (column)), "l"(from) : "memory")

// Rows of 32 bytes: eight of 16 bytes, then their other 16 bytes, then the next eight.
__device__ static uint64_t descriptor(const void *p) {
    return (uint64_t)shared_address(p) >> 4 | 8ull << 16 | 16ull << 32 | 1ull << 46;
}
__device__ static uint64_t of_scales(const void *p) {
    return (uint64_t)shared_address(p) >> 4 | 8ull << 32 | 1ull << 46;
}

template <Kind kind>
__global__ void product(const Image *from, float *out, Job job) {
    __shared__ __align__(1024) Image image;
    __shared__ uint64_t done;
    __shared__ uint32_t address;
    if (threadIdx.x < 32) tcgen05_alloc(&address, 512);
    if (threadIdx.x == 0) mbarrier_init(&done, 1);
    for (uint32_t i = threadIdx.x; i < sizeof image / 4; i += THREADS)
        ((uint32_t *)&image)[i] = ((const uint32_t *)from)[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint32_t mine = address + (threadIdx.x / 32 * 32 << 16);
    for (int i = 0; job.add && i < job.n; i++) tcgen05_st(mine + i, __float_as_uint(job.start));
    tcgen05_wait_st();
    tcgen05_fence_before();
    __syncthreads();
    if (threadIdx.x == 0) {
        tcgen05_fence_after();
        if (job.misuse == QUARTERS)
            CP("128x128b", SCALES_A, of_scales(image.a));
        else
            CP("32x128b.warpx4", SCALES_A, of_scales(image.scales[0]));
        for (int i = 0; i < (job.n + 127) / 128 && job.misuse != NOT_COPIED; i++)
            CP("32x128b.warpx4", SCALES_B + 4 * i, of_scales(image.scales[1 + i]));
        if (kind == MXF8F6F4) MMA("mxf8f6f4.block_scale");
        if (kind == MXF4) MMA("mxf4.block_scale.scale_vec::2X");
        if (kind == NVF4_2X) MMA("mxf4nvf4.block_scale.scale_vec::2X");
        if (kind == NVF4_4X) MMA("mxf4nvf4.block_scale.scale_vec::4X");
        tcgen05_commit(&done);
    }
    mbarrier_wait(&done, 0);
    tcgen05_fence_after();
    for (int i = 0; i < job.n; i++) {
        const uint32_t x = tcgen05_ld(mine + i);
        tcgen05_wait_ld();
        out[i * THREADS + threadIdx.x] = __uint_as_float(x);
    }
    __syncthreads();
    if (threadIdx.x < 32) tcgen05_dealloc(address, 512);
}

// ---- the host ---------------------------------------------------------------------------------------------------
static Image image, *device_image;
static float out[MOST_N * THREADS], *device_out;
static float x[M][64], y[MOST_N][64], x_scale[M][4], y_scale[MOST_N][4];

struct Test {
    Kind kind;
    Type a, b;
    int n, byte_a, byte_b;  // the first scale's
    bool ue4m3, add;
};
static bool packed(const Test &t) { return t.kind != MXF8F6F4; }
static int k_of(const Test &t) { return packed(t) ? 64 : 32; }
static int scales_of(const Test &t) { return t.kind == MXF8F6F4 ? 1 : t.kind == NVF4_4X ? 4 : 2; }

static void put(const Test &t, Type type, uint8_t *rows, int row, int k, int value) {
    if (packed(t))
        rows[row / 8 * 256 + k / 32 * 128 + row % 8 * 16 + k / 2 % 16] |= (uint8_t)(code_of(E2M1, value) << k % 2 * 4);
    else
        Matrix{type, false, 16}.put(rows, row, k, code_of(type, value));
}

static uint8_t *scale_at(uint8_t *tile, int row, int byte) { return &tile[row % 32 * 16 + row / 32 * 4 + byte]; }

// A power of two, or 1.5 times one.
static uint8_t draw_scale(const Test &t, float *value) {
    const int exponent = rand() % 5 - 2, half = t.ue4m3 ? rand() % 2 : 0;
    *value = ldexpf(half ? 1.5f : 1, exponent);
    return (uint8_t)(t.ue4m3 ? (exponent + 7) << 3 | half << 2 : exponent + 127);
}

static void fill(const Test &t) {
    memset(&image, 0, sizeof image);
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < k_of(t); k++) put(t, t.a, image.a, i, k, (int)(x[i][k] = (float)(rand() % 7 - 3)));
        for (int s = 0; s < scales_of(t); s++)
            *scale_at(image.scales[0], i, t.byte_a + s) = draw_scale(t, &x_scale[i][s]);
    }
    for (int i = 0; i < t.n; i++) {
        for (int k = 0; k < k_of(t); k++) put(t, t.b, image.b, i, k, (int)(y[i][k] = (float)(rand() % 7 - 3)));
        for (int s = 0; s < scales_of(t); s++)
            *scale_at(image.scales[1 + i / 128], i % 128, t.byte_b + s) = draw_scale(t, &y_scale[i][s]);
    }
}

static cudaError_t run(const Test &t, const Job &job) {
    cudaMemcpy(device_image, &image, sizeof image, cudaMemcpyHostToDevice);
    const auto kernel = t.kind == MXF8F6F4  ? product<MXF8F6F4>
                        : t.kind == MXF4    ? product<MXF4>
                        : t.kind == NVF4_2X ? product<NVF4_2X>
                                            : product<NVF4_4X>;
    kernel<<<1, THREADS>>>(device_image, device_out, job);
    return cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost);
}

static Job job_of(const Test &t, Misuse misuse) {
    Job job = {};
    const uint32_t a = packed(t) ? 1 : formats[t.a].number, b = packed(t) ? 1 : formats[t.b].number;
    job.instruction = (uint32_t)t.byte_b << 4 | a << 7 | b << 10 | (uint32_t)(t.n / 8) << 17 |
                      (uint32_t)!t.ue4m3 << 23 | 1u << 27 | (uint32_t)t.byte_a << 29;
    job.n = t.n, job.add = t.add, job.start = 40, job.misuse = misuse;
    return job;
}

static bool right(const Test &t) {
    fill(t);
    const cudaError_t error = run(t, job_of(t, NONE));
    if (error != cudaSuccess) return printf("%s\n", cudaGetErrorString(error)), false;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < t.n; j++) {
            double sum = t.add ? 40 : 0;
            for (int k = 0; k < k_of(t); k++) {
                const int s = k / (k_of(t) / scales_of(t));
                sum += (double)x[i][k] * y[j][k] * x_scale[i][s] * y_scale[j][s];
            }
            if (out[j * THREADS + i] != (float)sum)
                return printf("kind %d, types %d and %d: row %d, column %d is %g, not %g\n", t.kind, t.a, t.b, i, j,
                              out[j * THREADS + i], sum),
                       false;
        }
    return true;
}

// 2^12 - 2^12 + 2^-20: of the last, 32 bits below the first, all is kept.
static bool rounded() {
    const Test t = {NVF4_4X, E2M1, E2M1, 8, 0, 0, true, true};
    memset(&image, 0, sizeof image);
    for (int row = 0; row < M; row++) {
        image.a[row / 8 * 256 + row % 8 * 16] = code_of(E2M1, 1);
        image.a[row / 8 * 256 + row % 8 * 16 + 8] = 1;  // 0.5
        *scale_at(image.scales[0], row, 0) = *scale_at(image.scales[1], row, 0) = (6 + 7) << 3;
        *scale_at(image.scales[0], row, 1) = *scale_at(image.scales[1], row, 1) = 1;  // 2^-9, a subnormal
    }
    for (int row = 0; row < t.n; row++) {
        image.b[row % 8 * 16] = code_of(E2M1, -1);
        image.b[row % 8 * 16 + 8] = 1;
    }
    Job job = job_of(t, NONE);
    job.start = 4096;
    if (run(t, job) != cudaSuccess) return printf("%s\n", cudaGetErrorString(cudaGetLastError())), false;
    if (out[0] != 0x1p-20f) printf("%a, not 2^-20\n", out[0]);
    return out[0] == 0x1p-20f;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "none";
    int misuse = NONE;
    for (int i = 0; i < (int)(sizeof misuses / sizeof misuses[0]); i++)
        if (strcmp(name, misuses[i]) == 0) misuse = i;
    cudaMalloc(&device_image, sizeof image);
    cudaMalloc(&device_out, sizeof out);
    cudaMemset(device_out, 0, sizeof out);
    const Test mxf4 = {MXF4, E2M1, E2M1, 64, 2, 0, false, true};
    if (misuse == NONE) {
        bool ok = right(mxf4) && right({NVF4_2X, E2M1, E2M1, 256, 0, 2, false, true}) &&
                  right({NVF4_4X, E2M1, E2M1, 256, 0, 0, true, false}) &&
                  right({NVF4_4X, E2M1, E2M1, 16, 0, 0, true, true});
        for (Type a = E4M3; a <= E2M1; a = (Type)(a + 1))
            ok = ok && right({MXF8F6F4, a, (Type)(E4M3 + E2M1 - a), 40, a % 4, 3 - a % 4, false, true});
        if (ok && rounded()) return printf("all scaled products are right\n"), 0;
        return 1;
    }
    fill(mxf4);
    Job job = job_of(mxf4, (Misuse)misuse);
    if (misuse == BYTE) job.instruction |= 1u << 4;
    if (misuse == TYPE) job.instruction &= ~(1u << 23);
    const cudaError_t error = run(mxf4, job);
    printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    return error != cudaSuccess;
}

// tcgen05.mma: products of all kinds, types and layouts against the host, roundings, and what breaks the rules:
// tensor_product <case>.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"
#include "tensor_product.cuh"

enum { THREADS = 128, A_BYTES = 16384, B_BYTES = 32768, COLUMNS = 512, A_COLUMN = 256, SCALE = 3 };
enum Kind { KIND_F16, KIND_TF32, KIND_F8F6F4, KIND_I8 };
enum Misuse {
    NONE,
    NO_WAIT,
    NO_FENCE,
    NO_COMMIT,
    NO_PROXY_FENCE,
    RESERVED,
    VERSION,
    UNALLOCATED,
    UNWRITTEN,
    ALL_ISSUE,
    OVERWRITTEN,
    LANE,
    UNFENCED_STORE
};
static const char *const misuses[] = {"none",        "no_wait", "no_fence",      "no_commit", "no_proxy_fence",
                                      "reserved",    "version", "unallocated",   "unwritten", "all_issue",
                                      "overwritten", "lane",    "unfenced_store"};

struct Job {
    uint64_t a, b;  // descriptors without their addresses
    uint32_t instruction;
    int n, repeats;
    bool a_in_tensor, add, scaled, ws;
    uint32_t start;        // of all accumulators
    uint32_t disabled[4];  // lanes
    Misuse misuse;
};

#define MMA(kind, a_form, a_type, after)                                                                      \
    asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" kind " [%0], " a_form \
                 ", %2, %3, {%5, %6, %7, %8}, p" after "; }" ::"r"(d),                                        \
                 a_type(a), "l"(b), "r"(job.instruction), "r"((uint32_t)add), "r"(job.disabled[0]),           \
                 "r"(job.disabled[1]), "r"(job.disabled[2]), "r"(job.disabled[3])                             \
                 : "memory")
template <Kind kind>
__device__ void mma(const Job &job, uint32_t d, uint64_t a, uint64_t b, bool add) {
    if (kind == KIND_F16) MMA("f16", "%1", "l", "");
    if (kind == KIND_TF32) MMA("tf32", "%1", "l", "");
    if (kind == KIND_F8F6F4) MMA("f8f6f4", "%1", "l", "");
    if (kind == KIND_I8) MMA("i8", "%1", "l", "");
}
__device__ static void mma_of_tensor(const Job &job, uint32_t d, uint32_t a, uint64_t b, bool add) {
    MMA("f16", "[%1]", "r", "");
}
__device__ static void mma_scaled(const Job &job, uint32_t d, uint64_t a, uint64_t b, bool add) {
    MMA("f16", "%1", "l", ", 3");
}

__device__ static void mma_ws(const Job &job, uint32_t d, uint64_t a, uint64_t b, bool add) {
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [%0], %1, %2, "
        "%3, p; }" ::"r"(d),
        "l"(a), "l"(b), "r"(job.instruction), "r"((uint32_t)add)
        : "memory");
}

// Rows of A are K-major without swizzle in shared memory: into tensor memory, 32 bytes in eight columns.
__device__ static void a_to_tensor(const uint8_t *a, uint32_t to) {
    const uint32_t row = threadIdx.x;
    for (uint32_t i = 0; i < 8; i++)
        tcgen05_st(to + i, *(const uint32_t *)(a + row / 8 * 256 + row % 8 * 16 + i / 4 * 128 + i % 4 * 4));
}

template <Kind kind>
__global__ void product(const uint8_t *image, uint32_t *out, Job job) {
    extern __shared__ __align__(1024) uint8_t operands[];
    __shared__ uint64_t done;
    __shared__ uint32_t address;
    const uint32_t quarter = threadIdx.x / 32 * 32 << 16;
    if (threadIdx.x < 32) tcgen05_alloc(&address, job.misuse == UNALLOCATED ? 32 : COLUMNS);
    if (threadIdx.x == 0) mbarrier_init(&done, 1);
    for (uint32_t i = threadIdx.x; i < (A_BYTES + B_BYTES) / 4; i += THREADS)
        ((uint32_t *)operands)[i] = ((const uint32_t *)image)[i];
    if (job.misuse != NO_PROXY_FENCE) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    for (int i = 0; (job.add || job.misuse == UNFENCED_STORE) && i < job.n; i++)
        tcgen05_st(address + quarter + i, job.start);
    if (job.a_in_tensor) a_to_tensor(operands, address + quarter + A_COLUMN);
    tcgen05_wait_st();
    if (job.misuse != UNFENCED_STORE) tcgen05_fence_before();
    __syncthreads();
    const uint32_t d = address + (job.misuse == LANE ? 4 << 16 : 0);
    const uint64_t a = job.a | shared_address(operands) >> 4, b = job.b | shared_address(operands + A_BYTES) >> 4;
    if (threadIdx.x == 0 || (job.misuse == ALL_ISSUE && threadIdx.x < 32)) {
        tcgen05_fence_after();
        for (int i = 0; i < job.repeats; i++) {
            const bool add = job.add || i > 0 || job.misuse == UNWRITTEN;
            if (job.a_in_tensor)
                mma_of_tensor(job, d, address + A_COLUMN, b + 2 * i, add);
            else if (job.ws)
                mma_ws(job, d, a + 2 * i, b + 2 * i, add);
            else if (job.scaled)
                mma_scaled(job, d, a + 2 * i, b + 2 * i, add);
            else
                mma<kind>(job, d, a + 2 * i, b + 2 * i, add);
        }
        if (job.misuse != NO_COMMIT && threadIdx.x == 0) tcgen05_commit(&done);
    }
    if (job.misuse == OVERWRITTEN) operands[threadIdx.x] = 1;
    if (job.misuse != NO_WAIT && job.misuse != NO_COMMIT) mbarrier_wait(&done, 0);
    if (job.misuse != NO_FENCE) tcgen05_fence_after();
    for (int i = 0; i < job.n && job.misuse != NO_COMMIT; i++) {
        const uint32_t x = tcgen05_ld(address + quarter + i);
        tcgen05_wait_ld();
        out[i * THREADS + threadIdx.x] = x;
    }
    if (job.misuse == NO_WAIT) mbarrier_wait(&done, 0);
    __syncthreads();
    if (threadIdx.x < 32 && job.misuse != NO_COMMIT) tcgen05_dealloc(address, job.misuse == UNALLOCATED ? 32 : COLUMNS);
}

// ---- the host ---------------------------------------------------------------------------------------------------
struct Test {
    Kind kind;
    Matrix a, b;
    int m, n;
    bool d_half, negate, a_in_tensor, add, scaled, masked;
    int repeats;
    bool ws = false;
};
static uint8_t image[A_BYTES + B_BYTES], *device_image;
static uint32_t out[256 * THREADS], *device_out;
static int x[128][128], y[256][128];

static uint32_t instruction_of(const Test &t) {
    const bool integer = t.kind == KIND_I8;
    return (integer ? 2u : !t.d_half) << 4 | (uint32_t)formats[t.a.type].number << 7 |
           (uint32_t)formats[t.b.type].number << 10 | (uint32_t)t.negate << 13 | (uint32_t)t.a.trans << 15 |
           (uint32_t)t.b.trans << 16 | (uint32_t)(t.n / 8) << 17 | (uint32_t)(t.m / 16) << 24;
}

static void fill(const Test &t) {
    memset(image, 0, sizeof image);
    const int k = t.a.k() * t.repeats;
    for (int row = 0; row < t.m; row++)
        for (int i = 0; i < k; i++) {
            x[row][i] = rand() % 7 - 3;
            if (t.a.type == U8) x[row][i] = abs(x[row][i]);
            t.a.put(image, row, i, code_of(t.a.type, x[row][i]));
        }
    for (int row = 0; row < t.n; row++)
        for (int i = 0; i < k; i++) {
            y[row][i] = rand() % 7 - 3;
            if (t.b.type == U8) y[row][i] = abs(y[row][i]);
            t.b.put(image + A_BYTES, row, i, code_of(t.b.type, y[row][i]));
        }
}

static cudaError_t run(Kind kind, const Job &job) {
    cudaMemcpy(device_image, image, sizeof image, cudaMemcpyHostToDevice);
    const auto kernel = kind == KIND_F16      ? product<KIND_F16>
                        : kind == KIND_TF32   ? product<KIND_TF32>
                        : kind == KIND_F8F6F4 ? product<KIND_F8F6F4>
                                              : product<KIND_I8>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, A_BYTES + B_BYTES);
    kernel<<<1, THREADS, A_BYTES + B_BYTES>>>(device_image, device_out, job);
    return cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost);
}

static float float_of_half(uint32_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const float magnitude = exponent ? ldexpf((float)(mantissa | 1024), exponent - 25) : ldexpf((float)mantissa, -24);
    return bits >> 15 & 1 ? -magnitude : magnitude;
}

static float value(const Test &t, uint32_t bits) {
    float single;
    memcpy(&single, &bits, 4);
    return t.kind == KIND_I8 ? (float)(int32_t)bits : t.d_half ? float_of_half(bits) : single;
}

static Job job_of(const Test &t, Misuse misuse) {
    Job job = {};
    job.a = t.a.descriptor(), job.b = t.b.descriptor(), job.instruction = instruction_of(t);
    job.n = t.n, job.repeats = t.repeats;
    job.a_in_tensor = t.a_in_tensor, job.add = t.add, job.scaled = t.scaled, job.ws = t.ws;
    job.start = t.kind == KIND_I8 ? 40 : t.d_half ? 0x5100 : 0x42200000;  // 40
    for (int i = 0; i < 4 && t.masked; i++) job.disabled[i] = 0x11111111u << i;
    job.misuse = misuse;
    return job;
}

static bool right(const Test &t) {
    fill(t);
    const Job job = job_of(t, NONE);
    const cudaError_t error = run(t.kind, job);
    if (error != cudaSuccess) return printf("%s\n", cudaGetErrorString(error)), false;
    for (int row = 0; row < t.m; row++)
        for (int column = 0; column < t.n; column++) {
            const int columns = t.ws ? t.n * t.m / 128 : t.n;  // .ws: parts of the columns lie one below the other
            const int lane = t.ws ? row + column / columns * t.m : t.m == 128 ? row : row % 16 + 32 * (row / 16);
            float sum = 0;
            for (int i = 0; i < t.a.k() * t.repeats; i++) sum += (float)(x[row][i] * y[column][i]);
            if (t.negate) sum = -sum;
            if (t.add) sum += t.scaled ? 40.f / (1 << SCALE) : 40;
            if (job.disabled[lane / 32] >> lane % 32 & 1) sum = 40;
            const float found = value(t, out[column % columns * THREADS + lane]);
            if (found != sum)
                return printf("kind %d, types %d and %d, %dx%d, lines %d and %d: row %d, column %d is %g, not %g\n",
                              t.kind, t.a.type, t.b.type, t.m, t.n, t.a.line, t.b.line, row, column, found, sum),
                       false;
        }
    return true;
}

static Matrix matrix(Type type, bool trans, int line) { return {type, trans, line}; }

static bool all_products() {
    static const int lines[] = {16, 32, 64, 128};
    bool ok = true;
    for (int line : lines)
        for (int trans = 0; trans < 4; trans++) {
            const Matrix a = matrix(F16, trans & 1, line), b = matrix(F16, trans & 2, line);
            ok = ok && right({KIND_F16, a, b, 128, 256, false, false, false, false, false, false, 1});
            const Matrix c = matrix(E4M3, trans & 1, line), d = matrix(E5M2, trans & 2, line);
            ok = ok && right({KIND_F8F6F4, c, d, 64, 48, false, false, false, true, false, false, 1});
        }
    const Matrix plain = matrix(F16, false, 16);
    for (int m = 32; m <= 128; m *= 2)
        ok = ok && right({KIND_F16, plain, plain, m, 64, false, false, false, true, false, false, 1, true});
    const Matrix half = matrix(F16, false, 16), wide = matrix(BF16, false, 128), single = matrix(TF32, false, 64);
    ok = ok && right({KIND_F16, wide, wide, 128, 64, false, false, false, false, false, false, 4});
    ok = ok && right({KIND_F16, half, half, 64, 8, true, true, false, true, false, false, 1});
    ok = ok && right({KIND_F16, half, half, 128, 16, false, false, true, true, false, false, 1});
    ok = ok && right({KIND_F16, half, half, 128, 16, false, false, false, true, true, false, 1});
    ok = ok && right({KIND_F16, half, half, 128, 16, true, false, false, true, true, false, 1});
    ok = ok && right({KIND_F16, half, half, 128, 32, false, false, false, true, false, true, 1});
    ok = ok && right({KIND_F16, half, half, 64, 32, false, true, false, true, false, true, 1});
    ok = ok && right({KIND_TF32, single, single, 128, 80, false, true, false, true, false, false, 1});
    const Matrix across = matrix(TF32, true, 128);
    ok = ok && right({KIND_TF32, across, across, 128, 96, false, false, false, true, false, false, 1});
    ok = ok && right({KIND_TF32, across, single, 64, 32, false, true, false, true, false, false, 1});
    for (Type a = E4M3; a <= E2M1; a = (Type)(a + 1))
        for (Type b = E4M3; b <= E2M1; b = (Type)(b + 1))
            ok = ok && right({KIND_F8F6F4, matrix(a, false, 32), matrix(b, false, 16), 128, 16, a == b, false, false,
                              true, false, false, 1});
    for (int signs = 0; signs < 4; signs++)
        ok = ok && right({KIND_I8, matrix(signs & 1 ? S8 : U8, false, 128), matrix(signs & 2 ? S8 : U8, false, 64), 128,
                          32, false, false, false, true, false, false, 1});
    return ok;
}

// 1 plus k products of 2^exponent each, all of one sum: what is below 2^-25 of the largest is cut off.
static bool rounded(Kind kind, Type type, uint32_t code, float sum) {
    const Test t = {
        kind, matrix(type, false, 16), matrix(type, false, 16), 128, 16, false, false, false, true, false, false, 1};
    memset(image, 0, sizeof image);
    for (int row = 0; row < t.m; row++)
        for (int i = 0; i < t.a.k(); i++) {
            t.a.put(image, row, i, code);
            if (row < t.n) t.b.put(image + A_BYTES, row, i, code);
        }
    Job job = job_of(t, NONE);
    job.start = 0x3f800000;
    if (run(kind, job) != cudaSuccess) return false;
    const float found = value(t, out[0]);
    if (found != sum) printf("type %d: %a, not %a\n", type, found, sum);
    return found == sum;
}

static bool all_roundings() {
    return rounded(KIND_F16, F16, 0x0c00, 1 + 0x1p-20f) &&    // 2^-12: 16 products of 2^-24
           rounded(KIND_F16, F16, 0x0800, 1) &&               // 2^-13: of 16 times 2^-26 nothing is left
           rounded(KIND_F16, BF16, 0x3980, 1 + 0x1p-20f) &&   // 2^-12
           rounded(KIND_F8F6F4, E4M3, 0x01, 1 + 0x1p-13f) &&  // 2^-9: 32 products of 2^-18
           rounded(KIND_TF32, TF32, 0x39000000, 1);           // 2^-13
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "none";
    int misuse = NONE;
    for (int i = 0; i < (int)(sizeof misuses / sizeof misuses[0]); i++)
        if (strcmp(name, misuses[i]) == 0) misuse = i;
    cudaMalloc(&device_image, sizeof image);
    cudaMalloc(&device_out, sizeof out);
    cudaMemset(device_out, 0, sizeof out);
    if (misuse == NONE) {
        if (all_products() && all_roundings()) return printf("all products are right\n"), 0;
        return 1;
    }
    const Test t = {
        KIND_F16, matrix(F16, false, 128), matrix(F16, false, 128), 128, 64, false, false, false, false, false, false,
        1};
    fill(t);
    Job job = job_of(t, (Misuse)misuse);
    if (misuse == RESERVED) job.instruction |= 1u << 23;
    if (misuse == VERSION) job.b &= ~(7ull << 46);
    const cudaError_t error = run(t.kind, job);
    printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    return error != cudaSuccess;
}

// tcgen05.mma.sp against the host: kinds, types, shapes and layouts of one block and of a pair, with random metadata and scales
// in tensor memory, and what breaks the rules: tensor_sparse <case>.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "tensor_memory.cuh"
#include "tensor_product.cuh"

enum { THREADS = 128, A_BYTES = 16384, B_BYTES = 32768, MOST_N = 256, A_COLUMN = 256, CELLS_COLUMN = 264 };
enum { METADATA = 0, SCALES_A = 4, SCALES_B = 8, CELLS = 16 };  // columns from CELLS_COLUMN on
enum Kind { KIND_F16, KIND_TF32, KIND_F8F6F4, KIND_I8, MXF8F6F4, MXF4, NVF4_2X, NVF4_4X };
enum Misuse {
    NONE,
    DENSE_BIT,
    SELECTOR,
    ODD,
    UNALLOCATED,
    UNWRITTEN,
    CODE,
    UNFENCED,
    OVERWRITTEN,
    HALF,
    LINES,
    ONE_BLOCK_M
};
static const char *const misuses[] = {"none", "dense_bit", "selector",    "odd",  "unallocated", "unwritten",
                                      "code", "unfenced",  "overwritten", "half", "lines",       "one_block_m"};

struct Image {
    uint8_t a[A_BYTES], b[B_BYTES];
    uint32_t cells[CELLS][THREADS];
};
struct Job {
    uint64_t a, b;  // descriptors without their addresses
    uint32_t instruction, metadata;
    int n, lane;
    bool a_in_tensor, add;
    uint32_t start;
    Misuse misuse;
};

#define MMA(kind, a_form, a_type, a_value, scales)                                                                 \
    asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.sp.cta_group::%8.kind::" kind " [%0], " a_form  \
                 ", %2, [%5], %3, " scales "p; }" ::"r"(d),                                                        \
                 a_type(a_value), "l"(b), "r"(job.instruction), "r"((uint32_t)job.add), "r"(cells + job.metadata), \
                 "r"(cells + SCALES_A), "r"(cells + SCALES_B), "n"(group)                                          \
                 : "memory")
#define MMA_PLAIN(kind)                               \
    do {                                              \
        if (job.a_in_tensor)                          \
            MMA(kind, "[%1]", "r", d + A_COLUMN, ""); \
        else                                          \
            MMA(kind, "%1", "l", a, "");              \
    } while (0)
#define MMA_SCALED(kind)                                          \
    do {                                                          \
        if (job.a_in_tensor)                                      \
            MMA(kind, "[%1]", "r", d + A_COLUMN, "[%6], [%7], "); \
        else                                                      \
            MMA(kind, "%1", "l", a, "[%6], [%7], ");              \
    } while (0)

template <Kind kind, int group>
__device__ void mma(const Job &job, uint32_t d, uint64_t a, uint64_t b, uint32_t cells) {
    if constexpr (kind == KIND_F16) MMA_PLAIN("f16");
    if constexpr (kind == KIND_TF32) MMA_PLAIN("tf32");
    if constexpr (kind == KIND_F8F6F4) MMA_PLAIN("f8f6f4");
    if constexpr (kind == KIND_I8) MMA_PLAIN("i8");
    if constexpr (kind == MXF8F6F4) MMA_SCALED("mxf8f6f4.block_scale");
    if constexpr (kind == MXF4) MMA_SCALED("mxf4.block_scale.scale_vec::2X");
    if constexpr (kind == NVF4_2X) MMA_SCALED("mxf4nvf4.block_scale.scale_vec::2X");
    if constexpr (kind == NVF4_4X) MMA_SCALED("mxf4nvf4.block_scale.scale_vec::4X");
}

// A's rows as they lie K-major without swizzle: 32 bytes in eight columns, row m of 64 in lane m % 16 + 32 (m / 16).
__device__ static void a_to_tensor(const Image &image, uint32_t to, bool half) {
    const uint32_t lane = threadIdx.x, row = half ? lane / 32 * 16 + lane % 16 : lane;
    for (uint32_t i = 0; i < 8; i++)
        tcgen05_st(to + i, *(const uint32_t *)(image.a + row / 8 * 256 + row % 8 * 16 + i / 4 * 128 + i % 4 * 4));
}

template <Kind kind, int group>
__global__ void product(const Image *from, uint32_t *out, Job job) {
    extern __shared__ __align__(1024) uint8_t shared[];
    Image &image = *(Image *)shared;
    __shared__ uint64_t done;
    __shared__ uint32_t address;
    const uint32_t rank = blockIdx.x, quarter = threadIdx.x / 32 * 32 << 16;
    const uint32_t columns = job.misuse == UNALLOCATED ? 256 : 512;
    if (threadIdx.x < 32)
        asm volatile(
            "tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared_address(&address)),
            "r"(columns), "n"(group)
            : "memory");
    if (threadIdx.x == 0) {
        mbarrier_init(&done, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    for (uint32_t i = threadIdx.x; i < sizeof image / 4; i += THREADS)
        ((uint32_t *)&image)[i] = ((const uint32_t *)(from + rank))[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint32_t mine = address + quarter, cells = address + CELLS_COLUMN;
    for (int i = 0; job.add && i < job.n; i++) tcgen05_st(mine + i, job.start);
    if (job.a_in_tensor) a_to_tensor(image, mine + A_COLUMN, job.lane < 0);
    for (uint32_t i = 0; i < CELLS && job.misuse != UNALLOCATED; i++)
        if (job.misuse != UNWRITTEN || i >= 4) tcgen05_st(mine + CELLS_COLUMN + i, image.cells[i][threadIdx.x]);
    tcgen05_wait_st();
    if (job.misuse != UNFENCED) tcgen05_fence_before();
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0 && rank == 0) {
        tcgen05_fence_after();
        mma<kind, group>(job, address, job.a | shared_address(image.a) >> 4, job.b | shared_address(image.b) >> 4,
                         cells);
        asm volatile(
            "tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
                shared_address(&done)),
            "h"((uint16_t)(group == 2 ? 3 : 1)), "n"(group)
            : "memory");
    }
    if (job.misuse == OVERWRITTEN) tcgen05_st(mine + CELLS_COLUMN, 0);
    mbarrier_wait(&done, 0);
    tcgen05_fence_after();
    for (int i = 0; i < job.n; i++) {
        const uint32_t x = tcgen05_ld(mine + i);
        tcgen05_wait_ld();
        out[(rank * MOST_N + i) * THREADS + threadIdx.x] = x;
    }
    tcgen05_wait_st();
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns), "n"(group)
                     : "memory");
}

// ---- the host ---------------------------------------------------------------------------------------------------
struct Test {
    Kind kind;
    Type a, b;
    int group, m, n;
    int a_line, b_line;  // of the swizzle; 16: none
    bool trans_a, trans_b, a_in_tensor, add;
    int selector;                // of metadata
    int byte_a = 0, byte_b = 0;  // of the first scale
    bool ue4m3 = false, negate_a = false, negate_b = false;
};
static Image images[2], *device_images;
static uint32_t out[2][MOST_N][THREADS], *device_out;
static int x[256][128], y[MOST_N][128];  // dense
static float x_scale[256][4], y_scale[MOST_N][4];

static bool packed(const Test &t) { return t.kind >= MXF4; }
static bool scaled(const Test &t) { return t.kind >= MXF8F6F4; }
static bool half_lanes(const Test &t) { return t.m / t.group == 64; }
static int scales_of(const Test &t) { return t.kind == MXF8F6F4 ? 1 : t.kind == NVF4_4X ? 4 : 2; }
static Matrix matrix_a(const Test &t) { return {packed(t) ? U8 : t.a, t.trans_a, t.a_line, 1}; }
static Matrix matrix_b(const Test &t) { return {packed(t) ? U8 : t.b, t.trans_b, t.b_line, 2}; }
static int k_of(const Test &t) { return packed(t) ? 128 : matrix_b(t).k(); }

static void put(const Test &t, const Matrix &matrix, Type type, uint8_t *to, int row, int k, int value) {
    int in;
    if (packed(t)) {
        uint8_t *chunk = to + matrix.chunk(row, k / 2, &in);
        chunk[in] |= (uint8_t)(code_of(E2M1, value) << k % 2 * 4);
    } else {
        matrix.put(to, row, k, code_of(type, value));
    }
}

static int draw(Type type) { return type == U8 ? rand() % 4 : rand() % 7 - 3; }

// The four bits of a group of four halves of 16 bits or four bytes of row m of a block.
static void put_code(const Test &t, Image &image, int row, int group, uint32_t code) {
    const bool halves = matrix_a(t).bytes() > 1;
    int lane = row, column = group / 8, bit = group % 8 * 4;
    if (halves) {
        lane = row / 16 * 16 + row % 8 + group / 4 * 8;
        column = t.selector;
        bit = group % 4 * 4 + row / 8 % 2 * 16;
    }
    if (half_lanes(t)) lane = lane / 16 * 32 + lane % 16;
    image.cells[METADATA + column][lane] |= code << bit;
}

// A row's elements: of each group those that a random code keeps, in its order.
static void fill_row(const Test &t, Image &image, int row, int *dense) {
    static const uint32_t codes[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0x6, 0xe}, codes_tf32[] = {0x4, 0xe};
    const bool tf32 = t.kind == KIND_TF32;
    const int each = packed(t) ? 2 : 1, groups = k_of(t) / (tf32 ? 2 : 4 * each);
    int at = 0;
    for (int g = 0; g < groups; g++) {
        const uint32_t code = tf32 ? codes_tf32[rand() % 2] : codes[rand() % 7];
        put_code(t, image, row, g, code);
        const int places[2] = {(int)(code & 3), (int)(code >> 2)};
        for (int p = 0; p < (tf32 ? 1 : 2); p++)
            for (int e = 0; e < each; e++) {
                const int k = tf32 ? 2 * g + (code == 0xe) : (4 * g + places[p]) * each + e;
                put(t, matrix_a(t), t.a, image.a, row, at++, dense[k] = draw(t.a));
            }
    }
}

// Of row m: byte s of column m / 32, in each quarter's lane m % 32. A power of two, or 1.5 times one.
static void put_scale(const Test &t, Image &image, int first, int row, int byte, float *value, bool fresh) {
    static uint8_t code;
    if (fresh) {
        const int exponent = rand() % 5 - 2, half = t.ue4m3 ? rand() % 2 : 0;
        *value = ldexpf(half ? 1.5f : 1, exponent);
        code = (uint8_t)(t.ue4m3 ? (exponent + 7) << 3 | half << 2 : exponent + 127);
    }
    for (int quarter = 0; quarter < 4; quarter++)
        image.cells[first + row / 32][quarter * 32 + row % 32] |= (uint32_t)code << 8 * byte;
}

static void fill(const Test &t) {
    memset(images, 0, sizeof images);
    memset(x, 0, sizeof x);
    const int m = t.m / t.group, n = t.n / t.group;
    for (int row = 0; row < t.m; row++) {
        fill_row(t, images[row / m], row % m, x[row]);
        for (int s = 0; s < scales_of(t) && scaled(t); s++)
            put_scale(t, images[row / m], SCALES_A, row % m, t.byte_a + s, &x_scale[row][s], true);
    }
    for (int row = 0; row < t.n; row++) {
        for (int k = 0; k < k_of(t); k++)
            put(t, matrix_b(t), t.b, images[row / n].b, row % n, k, y[row][k] = draw(t.b));
        for (int s = 0; s < scales_of(t) && scaled(t); s++)  // all columns' scales are in both blocks
            for (int block = 0; block < t.group; block++)
                put_scale(t, images[block], SCALES_B, row, t.byte_b + s, &y_scale[row][s], block == 0);
    }
}

static Job job_of(const Test &t, Misuse misuse) {
    Job job = {};
    const uint32_t a = packed(t) ? 1 : formats[t.a].number, b = packed(t) ? 1 : formats[t.b].number;
    job.instruction =
        1u << 2 | a << 7 | b << 10 | (uint32_t)t.trans_a << 15 | (uint32_t)t.trans_b << 16 | (uint32_t)(t.n / 8) << 17;
    job.instruction |= (uint32_t)t.negate_a << 13 | (uint32_t)t.negate_b << 14;
    if (scaled(t))
        job.instruction |=
            (uint32_t)t.byte_b << 4 | (uint32_t)!t.ue4m3 << 23 | (uint32_t)(t.m / 128) << 27 | (uint32_t)t.byte_a << 29;
    else
        job.instruction |= (uint32_t)t.selector | (t.kind == KIND_I8 ? 2u : 1u) << 4 | (uint32_t)(t.m / 16) << 24;
    job.a = matrix_a(t).descriptor(), job.b = matrix_b(t).descriptor();
    job.n = t.n, job.lane = half_lanes(t) ? -1 : 0, job.a_in_tensor = t.a_in_tensor, job.add = t.add;
    job.start = t.kind == KIND_I8 ? 40 : 0x42200000;  // 40
    job.metadata = METADATA, job.misuse = misuse;
    return job;
}

template <Kind kind, int group>
static cudaError_t launch(const Job &job) {
    const auto kernel = product<kind, group>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Image));
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {group, 1, 1};
    config.gridDim = group, config.blockDim = THREADS, config.dynamicSmemBytes = sizeof(Image);
    config.attrs = &attribute, config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, (const Image *)device_images, device_out, job);
    return cudaMemcpy(out, device_out, sizeof out, cudaMemcpyDeviceToHost);
}

template <int group>
static cudaError_t run(Kind kind, const Job &job) {
    cudaMemcpy(device_images, images, sizeof images, cudaMemcpyHostToDevice);
    switch (kind) {
        case KIND_F16: return launch<KIND_F16, group>(job);
        case KIND_TF32: return launch<KIND_TF32, group>(job);
        case KIND_F8F6F4: return launch<KIND_F8F6F4, group>(job);
        case KIND_I8: return launch<KIND_I8, group>(job);
        case MXF8F6F4: return launch<MXF8F6F4, group>(job);
        case MXF4: return launch<MXF4, group>(job);
        case NVF4_2X: return launch<NVF4_2X, group>(job);
        default: return launch<NVF4_4X, group>(job);
    }
}

static double due(const Test &t, int row, int column) {
    const int sign = t.negate_a == t.negate_b ? 1 : -1;
    double sum = t.add ? 40 : 0;
    for (int k = 0; k < k_of(t); k++) {
        const int s = k / (k_of(t) / scales_of(t));
        sum += (double)sign * x[row][k] * y[column][k] * (scaled(t) ? (double)x_scale[row][s] * y_scale[column][s] : 1);
    }
    return sum;
}

static bool right(const Test &t) {
    fill(t);
    const Job job = job_of(t, NONE);
    const cudaError_t error = t.group == 2 ? run<2>(t.kind, job) : run<1>(t.kind, job);
    if (error != cudaSuccess) return printf("%s\n", cudaGetErrorString(error)), false;
    const int m = t.m / t.group;
    for (int row = 0; row < t.m; row++)
        for (int column = 0; column < t.n; column++) {
            const int in = row % m, lane = half_lanes(t) ? in / 16 * 32 + in % 16 : in;
            const uint32_t bits = out[row / m][column][lane];
            float found;
            memcpy(&found, &bits, 4);
            if (t.kind == KIND_I8) found = (float)(int32_t)bits;
            if (found != (float)due(t, row, column))
                return printf("kind %d, types %d and %d, %d by %d: row %d, column %d is %g, not %g\n", t.kind, t.a, t.b,
                              t.m, t.n, row, column, found, due(t, row, column)),
                       false;
        }
    return true;
}

static bool right_plain() {
    static const Test tests[] = {
        {KIND_F16, F16, F16, 1, 128, 64, 16, 16, false, false, false, false, 0},
        {KIND_F16, BF16, BF16, 1, 128, 256, 128, 128, false, false, false, true, 1},
        {KIND_F16, F16, F16, 1, 64, 24, 32, 64, false, false, false, true, 1},
        {KIND_F16, BF16, BF16, 1, 128, 128, 64, 128, true, true, false, true, 0},
        {KIND_F16, F16, F16, 1, 128, 32, 16, 16, false, true, true, false, 1},
        {KIND_F16, F16, F16, 1, 64, 64, 16, 32, false, true, true, true, 0},
        {KIND_F16, F16, F16, 2, 256, 64, 128, 64, false, false, false, true, 0, 0, 0, false, false, true},
        {KIND_F16, BF16, BF16, 2, 128, 32, 16, 16, false, false, false, true, 1},
        {KIND_TF32, TF32, TF32, 1, 128, 40, 16, 16, false, false, false, true, 0, 0, 0, false, true, false},
        {KIND_TF32, TF32, TF32, 1, 64, 64, 128, 128, true, true, false, false, 1},
        {KIND_TF32, TF32, TF32, 2, 256, 32, 64, 128, false, false, false, true, 1},
        {KIND_I8, S8, S8, 1, 128, 48, 16, 16, false, false, false, true, 0},
        {KIND_I8, U8, S8, 1, 64, 8, 32, 128, false, false, false, false, 0},
        {KIND_I8, S8, U8, 2, 256, 64, 16, 16, false, false, true, true, 0},
        {KIND_F8F6F4, E4M3, E5M2, 2, 128, 64, 16, 16, false, false, true, true, 0},
        {KIND_F8F6F4, E5M2, E4M3, 1, 128, 64, 64, 32, true, true, false, true, 0},
    };
    bool ok = true;
    for (const Test &t : tests) ok = ok && right(t);
    for (Type a = E4M3; a <= E2M1; a = (Type)(a + 1))
        ok = ok && right({KIND_F8F6F4, a, (Type)(E4M3 + E2M1 - a), 1, a % 2 ? 128 : 64, 40, 16, 16, false, false, false,
                          true, 0});
    return ok;
}

static bool right_scaled() {
    static const Test tests[] = {
        {MXF4, E2M1, E2M1, 1, 128, 64, 16, 16, false, false, false, true, 0, 2, 0, false},
        {MXF4, E2M1, E2M1, 2, 256, 256, 128, 64, false, false, false, false, 0, 0, 2, false},
        {NVF4_2X, E2M1, E2M1, 1, 128, 24, 16, 128, false, false, true, true, 0, 0, 2, false},
        {NVF4_4X, E2M1, E2M1, 1, 128, 256, 16, 16, false, false, false, true, 0, 0, 0, true},
        {NVF4_4X, E2M1, E2M1, 2, 256, 32, 32, 64, false, false, false, true, 0, 0, 0, true, false, true},
        {MXF8F6F4, E5M2, E4M3, 2, 256, 64, 64, 128, false, true, false, true, 0, 1, 3, false},
    };
    bool ok = true;
    for (const Test &t : tests) ok = ok && right(t);
    for (Type a = E4M3; a <= E2M1; a = (Type)(a + 1))
        ok = ok && right({MXF8F6F4, a, (Type)(E4M3 + E2M1 - a), 1, 128, 40, 16, 16, false, false, false, true, 0, a % 4,
                          3 - a % 4, false});
    return ok;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "none";
    int misuse = NONE;
    for (int i = 0; i < (int)(sizeof misuses / sizeof misuses[0]); i++)
        if (strcmp(name, misuses[i]) == 0) misuse = i;
    cudaMalloc(&device_images, sizeof images);
    cudaMalloc(&device_out, sizeof out);
    if (misuse == NONE) {
        const bool ok = right_plain() && right_scaled();
        if (ok) printf("all sparse products are right\n");
        return !ok;
    }
    const Test test = {KIND_F16, F16,   F16,   1, misuse == HALF ? 64 : 128, 64, 16, misuse == LINES ? 32 : 16, false,
                       false,    false, false, 0};
    fill(test);
    if (misuse == CODE) images[0].cells[METADATA][9] &= ~15u;
    Job job = job_of(test, (Misuse)misuse);
    if (misuse == DENSE_BIT) job.instruction &= ~4u;
    if (misuse == SELECTOR) job.instruction |= 2;
    if (misuse == ODD) job.metadata = 1;
    if (misuse == HALF) job.metadata = 16 << 16;
    if (misuse == ONE_BLOCK_M) job.instruction |= 16u << 24;
    const cudaError_t error = run<1>(test.kind, job);
    printf("%s (%s)\n", cudaGetErrorName(error), cudaGetErrorString(error));
    return error != cudaSuccess;
}

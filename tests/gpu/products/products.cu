/* Runs the products of emulator/tests/products.h on a GPU (sm_90a), and reads operands by the descriptors of
 * descriptors.h: what the emulator's tensor cores are calibrated against.
 *
 *   nvcc -gencode arch=compute_90a,code=sm_90a -O2 -I emulator/tests -o products tests/gpu/products/products.cu
 *   ./products DIR
 *
 * DIR/hashes.txt        a line per row: its name and 64 hashes, of 16 blocks of 1024 outputs each; such a file is
 *                       emulator/tests/products_h200.txt
 * DIR/sample_mma.bin    the first 65536 outputs of each row of mma, raw bits of the accumulator's type
 * DIR/sample_wgmma.bin  the same of wgmma
 * DIR/descriptors.txt   a line per case: a hash of the indices of the elements that were read, for each (row, k); such
 * a file is emulator/tests/descriptors_h200.txt */
#include "descriptors.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                           \
    do {                                                                                      \
        cudaError_t error_ = (call);                                                          \
        if (error_ != cudaSuccess) {                                                          \
            fprintf(stderr, "products: line %d: %s\n", __LINE__, cudaGetErrorString(error_)); \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

/* ---- mma.sync: a warp a tile ----------------------------------------------------------------------------- */
/* A row of a (a column of b) is `words` words long: 8, or 4 where the instruction's k is 16 bytes. */
struct fragment {
    unsigned a[4], b[2], c[4];
};
template <int Words, bool Half>
__device__ void fragment_load(fragment &f, const unsigned *a, const unsigned *b, const unsigned *c) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    for (int i = 0; i < Words / 2; i++) f.a[i] = a[(g + i % 2 * 8) * Words + t + i / 2 * 4];
    for (int i = 0; i < Words / 4; i++) f.b[i] = b[g * Words + t + i * 4];
    if (Half) {
        for (int i = 0; i < 2; i++) f.c[i] = c[(g + i * 8) * 4 + t];
    } else {
        for (int i = 0; i < 4; i++) f.c[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
    }
}
template <bool Half>
__device__ void fragment_store(const fragment &f, unsigned *d) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    if (Half) {
        for (int i = 0; i < 2; i++) d[(g + i * 8) * 4 + t] = f.c[i];
    } else {
        for (int i = 0; i < 4; i++) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = f.c[i];
    }
}
#define A4(f) "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1])
#define A2(f) "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0])
#define MMA_F32_8(text)                                                        \
    asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])              \
                 : A4(f))
#define MMA_F32_4(text)                                               \
    asm volatile(text " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])     \
                 : A2(f))
#define MMA_S32_8(text)                                                        \
    asm volatile(text " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
                 : "+r"(f.c[0]), "+r"(f.c[1]), "+r"(f.c[2]), "+r"(f.c[3])      \
                 : A4(f))
#define MMA_F16_8(text) \
    asm volatile(text " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};" : "+r"(f.c[0]), "+r"(f.c[1]) : A4(f))
#define MMA_F16_4(text) asm volatile(text " {%0,%1}, {%2,%3}, {%4}, {%0,%1};" : "+r"(f.c[0]), "+r"(f.c[1]) : A2(f))

/* kind: F32 | S32 | F16; words 8 | 4 */
#define MMA_KERNEL(name, kind, words, text)                                                                           \
    __global__ void name##_run(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *d) {                \
        constexpr bool half = sizeof #kind == 4 && #kind[1] == '1';                                                   \
        constexpr int out = half ? 64 : 128;                                                                          \
        fragment f;                                                                                                   \
        fragment_load<words, half>(f, a + blockIdx.x * 16 * words, b + blockIdx.x * 8 * words, c + blockIdx.x * out); \
        float x[4];                                                                                                   \
        for (int i = 0; i < 4 && !half; i++) x[i] = __uint_as_float(f.c[i]);                                          \
        MMA_##kind##_##words("mma.sync.aligned." text);                                                               \
        if (#kind[0] == 'F' && !half)                                                                                 \
            for (int i = 0; i < 4; i++) f.c[i] = __float_as_uint(x[i]);                                               \
        fragment_store<half>(f, d + blockIdx.x * out);                                                                \
    }
MMA_KERNEL(mma_f16_k16, F32, 8, "m16n8k16.row.col.f32.f16.f16.f32")
MMA_KERNEL(mma_f16_k8, F32, 4, "m16n8k8.row.col.f32.f16.f16.f32")
MMA_KERNEL(mma_f16_k16_f16, F16, 8, "m16n8k16.row.col.f16.f16.f16.f16")
MMA_KERNEL(mma_f16_k8_f16, F16, 4, "m16n8k8.row.col.f16.f16.f16.f16")
MMA_KERNEL(mma_bf16_k16, F32, 8, "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_KERNEL(mma_bf16_k8, F32, 4, "m16n8k8.row.col.f32.bf16.bf16.f32")
MMA_KERNEL(mma_tf32_k8, F32, 8, "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_KERNEL(mma_tf32_k4, F32, 4, "m16n8k4.row.col.f32.tf32.tf32.f32")
MMA_KERNEL(mma_e4m3_e4m3, F32, 8, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
MMA_KERNEL(mma_e4m3_e5m2, F32, 8, "m16n8k32.row.col.f32.e4m3.e5m2.f32")
MMA_KERNEL(mma_e5m2_e4m3, F32, 8, "m16n8k32.row.col.f32.e5m2.e4m3.f32")
MMA_KERNEL(mma_e5m2_e5m2, F32, 8, "m16n8k32.row.col.f32.e5m2.e5m2.f32")
MMA_KERNEL(mma_e4m3_k16, F32, 4, "m16n8k16.row.col.f32.e4m3.e4m3.f32")
MMA_KERNEL(mma_e4m3_f16, F16, 8, "m16n8k32.row.col.f16.e4m3.e4m3.f16")
MMA_KERNEL(mma_e5m2_f16, F16, 8, "m16n8k32.row.col.f16.e5m2.e5m2.f16")
MMA_KERNEL(mma_s8_k32, S32, 8, "m16n8k32.row.col.s32.s8.s8.s32")
MMA_KERNEL(mma_s8_u8_k32, S32, 8, "m16n8k32.row.col.s32.s8.u8.s32")
MMA_KERNEL(mma_s8_satfinite, S32, 8, "m16n8k32.row.col.satfinite.s32.s8.s8.s32")

__global__ void mma_f64_m8_run(const unsigned *a_, const unsigned *b_, const unsigned *c_, unsigned *d_) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    double a = ((const double *)a_)[blockIdx.x * 32 + g * 4 + t], b = ((const double *)b_)[blockIdx.x * 32 + g * 4 + t];
    const double *c = (const double *)c_ + blockIdx.x * 64 + g * 8 + 2 * t;
    double x = c[0], y = c[1];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(x), "+d"(y)
                 : "d"(a), "d"(b));
    double *d = (double *)d_ + blockIdx.x * 64 + g * 8 + 2 * t;
    d[0] = x;
    d[1] = y;
}
__global__ void mma_f64_k16_run(const unsigned *a_, const unsigned *b_, const unsigned *c_, unsigned *d_) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    const double *a = (const double *)a_ + blockIdx.x * 256, *b = (const double *)b_ + blockIdx.x * 128;
    const double *c = (const double *)c_ + blockIdx.x * 128;
    double *d = (double *)d_ + blockIdx.x * 128;
    double p[8], q[4], x[4];
    for (int i = 0; i < 8; i++) p[i] = a[(g + i % 2 * 8) * 16 + t + i / 2 * 4];
    for (int i = 0; i < 4; i++) q[i] = b[g * 16 + t + i * 4];
    for (int i = 0; i < 4; i++) x[i] = c[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
        "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
        : "+d"(x[0]), "+d"(x[1]), "+d"(x[2]), "+d"(x[3])
        : "d"(p[0]), "d"(p[1]), "d"(p[2]), "d"(p[3]), "d"(p[4]), "d"(p[5]), "d"(p[6]), "d"(p[7]), "d"(q[0]), "d"(q[1]),
          "d"(q[2]), "d"(q[3]));
    for (int i = 0; i < 4; i++) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = x[i];
}

/* ---- wgmma: a warpgroup a tile of 64 × 8, operands K-major without swizzle ------------------------------- */
__device__ uint64_t core_matrices(const void *shared) { /* the next of k 128 bytes on, the next eight rows 256 */
    return (uint64_t)(__cvta_generic_to_shared(shared) & 0x3ffff) >> 4 | (uint64_t)(128 >> 4) << 16 |
           (uint64_t)(256 >> 4) << 32;
}
__device__ void core_matrices_load(unsigned *shared, const unsigned *rows, int n) {
    for (int i = threadIdx.x; i < n * 8; i += 128) {
        int row = i / 8, word = i % 8;
        shared[row / 8 * 64 + word / 4 * 32 + row % 8 * 4 + word % 4] = rows[i];
    }
}
#define WGMMA_F32(shape_types, more)                                                                  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\nwgmma.mma_async.sync.aligned." shape_types \
                 " {%0,%1,%2,%3}, %4, %5, p" more ";\n}"                                              \
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])                                     \
                 : "l"(core_matrices(shared_a)), "l"(core_matrices(shared_b)), "r"(accumulate)        \
                 : "memory")
#define WGMMA_S32(shape_types, more)                                                                  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\nwgmma.mma_async.sync.aligned." shape_types \
                 " {%0,%1,%2,%3}, %4, %5, p" more ";\n}"                                              \
                 : "+r"(y[0]), "+r"(y[1]), "+r"(y[2]), "+r"(y[3])                                     \
                 : "l"(core_matrices(shared_a)), "l"(core_matrices(shared_b)), "r"(accumulate)        \
                 : "memory")
#define WGMMA_F16(shape_types, more)                                                                  \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %4, 0;\nwgmma.mma_async.sync.aligned." shape_types \
                 " {%0,%1}, %2, %3, p" more ";\n}"                                                    \
                 : "+r"(y[0]), "+r"(y[1])                                                             \
                 : "l"(core_matrices(shared_a)), "l"(core_matrices(shared_b)), "r"(accumulate)        \
                 : "memory")
#define WGMMA_KERNEL(name, kind, scale_d, shape_types, more)                                                     \
    __global__ void name##_run(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *d) {           \
        constexpr bool half = #kind[1] == '1';                                                                   \
        constexpr int columns = half ? 4 : 8, out = 64 * columns;                                                \
        __shared__ __align__(1024) unsigned shared_a[512], shared_b[64];                                         \
        core_matrices_load(shared_a, a + blockIdx.x * 512, 64);                                                  \
        core_matrices_load(shared_b, b + blockIdx.x * 64, 8);                                                    \
        int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, t = threadIdx.x % 4, accumulate = scale_d;       \
        unsigned y[4];                                                                                           \
        float x[4];                                                                                              \
        for (int i = 0; i < (half ? 2 : 4); i++)                                                                 \
            y[i] = c[blockIdx.x * out + (half ? (row + i * 8) * 4 + t : (row + i / 2 * 8) * 8 + 2 * t + i % 2)]; \
        for (int i = 0; i < 4 && !half; i++) x[i] = __uint_as_float(y[i]);                                       \
        asm volatile("fence.proxy.async;" ::: "memory");                                                         \
        __syncthreads();                                                                                         \
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                                  \
        WGMMA_##kind(shape_types, more);                                                                         \
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");         \
        if (#kind[0] == 'F' && !half)                                                                            \
            for (int i = 0; i < 4; i++) y[i] = __float_as_uint(x[i]);                                            \
        for (int i = 0; i < (half ? 2 : 4); i++)                                                                 \
            d[blockIdx.x * out + (half ? (row + i * 8) * 4 + t : (row + i / 2 * 8) * 8 + 2 * t + i % 2)] = y[i]; \
    }
WGMMA_KERNEL(wgmma_f16, F32, 1, "m64n8k16.f32.f16.f16", ", 1, 1, 0, 0")
WGMMA_KERNEL(wgmma_f16_zero, F32, 0, "m64n8k16.f32.f16.f16", ", 1, 1, 0, 0")
WGMMA_KERNEL(wgmma_f16_f16, F16, 1, "m64n8k16.f16.f16.f16", ", 1, 1, 0, 0")
WGMMA_KERNEL(wgmma_bf16, F32, 1, "m64n8k16.f32.bf16.bf16", ", 1, 1, 0, 0")
WGMMA_KERNEL(wgmma_tf32, F32, 1, "m64n8k8.f32.tf32.tf32", ", 1, 1")
WGMMA_KERNEL(wgmma_e4m3_e4m3, F32, 1, "m64n8k32.f32.e4m3.e4m3", ", 1, 1")
WGMMA_KERNEL(wgmma_e4m3_e5m2, F32, 1, "m64n8k32.f32.e4m3.e5m2", ", 1, 1")
WGMMA_KERNEL(wgmma_e5m2_e4m3, F32, 1, "m64n8k32.f32.e5m2.e4m3", ", 1, 1")
WGMMA_KERNEL(wgmma_e5m2_e5m2, F32, 1, "m64n8k32.f32.e5m2.e5m2", ", 1, 1")
WGMMA_KERNEL(wgmma_e4m3_zero, F32, 0, "m64n8k32.f32.e4m3.e4m3", ", 1, 1")
WGMMA_KERNEL(wgmma_e4m3_f16, F16, 1, "m64n8k32.f16.e4m3.e4m3", ", 1, 1")
WGMMA_KERNEL(wgmma_e5m2_f16, F16, 1, "m64n8k32.f16.e5m2.e5m2", ", 1, 1")
WGMMA_KERNEL(wgmma_s8, S32, 1, "m64n8k32.s32.s8.s8", "")
WGMMA_KERNEL(wgmma_u8_s8, S32, 1, "m64n8k32.s32.u8.s8", "")

typedef void product_kernel(const unsigned *, const unsigned *, const unsigned *, unsigned *);
static product_kernel *const kernels[] = {
#define KERNEL(name, unit, m, n, k, a, b, c) name##_run,
    PRODUCT_ROWS(KERNEL)
#undef KERNEL
};

static uint64_t hash_block(const uint8_t *outputs, int size) {
    uint64_t hash = 0;
    for (int i = 0; i < PRODUCT_BLOCK; i++) {
        uint64_t value = 0;
        memcpy(&value, outputs + (size_t)i * size, (size_t)size);
        hash = product_hash(hash, value);
    }
    return hash;
}

static void products(int row, FILE *hashes, FILE *sample) {
    const product_row *r = &product_rows[row];
    int outputs = r->m * r->n, tiles = PRODUCT_OUTPUTS / outputs;
    size_t bytes_a = (size_t)(r->m * r->k * product_formats[r->a].bytes),
           bytes_c = (size_t)(outputs * product_formats[r->c].bytes);
    size_t bytes_b = (size_t)(r->n * r->k * product_formats[r->b].bytes);
    uint8_t *host = (uint8_t *)malloc((bytes_a + bytes_b + bytes_c) * tiles), *device, *result;
    uint8_t *a = host, *b = a + bytes_a * tiles, *c = b + bytes_b * tiles;
    static uint64_t x[PRODUCT_MAX_A], y[PRODUCT_MAX_B], z[PRODUCT_MAX_C];
    for (int tile = 0; tile < tiles; tile++) {
        product_tile(row, (uint32_t)tile, x, y, z);
        product_pack(r->a, x, r->m * r->k, a + tile * bytes_a);
        product_pack(r->b, y, r->n * r->k, b + tile * bytes_b);
        product_pack(r->c, z, outputs, c + tile * bytes_c);
    }
    CHECK(cudaMalloc(&device, (bytes_a + bytes_b + bytes_c) * tiles));
    CHECK(cudaMalloc(&result, bytes_c * tiles));
    CHECK(cudaMemcpy(device, host, (bytes_a + bytes_b + bytes_c) * tiles, cudaMemcpyHostToDevice));
    int threads = r->unit == product_wgmma || r->unit == product_wgmma_zero ? 128 : 32;
    kernels[row]<<<tiles, threads>>>((unsigned *)device, (unsigned *)(device + bytes_a * tiles),
                                     (unsigned *)(device + (bytes_a + bytes_b) * tiles), (unsigned *)result);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c, result, bytes_c * tiles, cudaMemcpyDeviceToHost));
    int size = product_formats[r->c].bytes;
    fprintf(hashes, "%s", r->name);
    for (int i = 0; i < PRODUCT_HASHES; i++) {
        uint64_t hash = 0;
        for (int block = i * PRODUCT_BLOCKS; block < (i + 1) * PRODUCT_BLOCKS; block++)
            hash = product_hash(hash, hash_block(c + (size_t)block * PRODUCT_BLOCK * size, size));
        fprintf(hashes, " %016llx", (unsigned long long)hash);
    }
    fprintf(hashes, "\n");
    fwrite(c, (size_t)size, PRODUCT_SAMPLE, sample);
    CHECK(cudaFree(device));
    CHECK(cudaFree(result));
    free(host);
}

/* ---- descriptors ----------------------------------------------------------------------------------------- */
/* One operand is the identity; the other is read by the descriptor from a region whose elements are their own indices,
 * the low eleven bits at the first pass, the others at the second. */
__device__ unsigned short half_of(int i) { /* 0 … 2047, exact */
    if (i == 0) return 0;
    int log = 31 - __clz(i);
    return (unsigned short)((log + 15) << 10 | ((i << (10 - log)) & 0x3ff));
}
__device__ void region_fill(unsigned short *region, int pass) {
    for (int i = threadIdx.x; i < DESCRIPTOR_REGION / 2; i += 128) region[i] = half_of(pass ? i >> 11 : i & 2047);
}
__device__ unsigned short *region_begin(unsigned char *shared) {
    return (unsigned short *)(shared + ((1024 - (__cvta_generic_to_shared(shared) & 1023)) & 1023));
}
__device__ void operands_ready() {
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
#define FINISH asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory")

template <int Trans>
__global__ void descriptor_a(uint64_t bits, unsigned short *out) {
    extern __shared__ unsigned char shared[];
    __shared__ __align__(1024) unsigned short identity[16 * 16];
    unsigned short *region = region_begin(shared);
    unsigned found[8] = {};
    for (int pass = 0; pass < 2; pass++) {
        __syncthreads();
        region_fill(region, pass);
        for (int i = threadIdx.x; i < 256; i += 128) { /* (row, k) */
            int row = i / 16, k = i % 16;
            identity[row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8] = row == k ? 0x3c00 : 0;
        }
        operands_ready();
        float x[8] = {};
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, 1, 1, 1, %10, 0;"
            : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7])
            : "l"(bits + (__cvta_generic_to_shared(region) >> 4)), "l"(core_matrices(identity)), "n"(Trans)
            : "memory");
        FINISH;
        for (int i = 0; i < 8; i++) found[i] |= (unsigned)x[i] << (pass ? 11 : 0);
    }
    int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int i = 0; i < 8; i++) out[(row + i / 2 % 2 * 8) * 16 + i / 4 * 8 + 2 * t + i % 2] = (unsigned short)found[i];
}

#define R4(i) "+f"(x[i]), "+f"(x[i + 1]), "+f"(x[i + 2]), "+f"(x[i + 3])
#define R16(i) R4(i), R4(i + 4), R4(i + 8), R4(i + 12)
template <int Trans>
__global__ void descriptor_b(uint64_t bits, unsigned short *out) {
    extern __shared__ unsigned char shared[];
    unsigned short *region = region_begin(shared);
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    unsigned a[4]; /* rows 0 … 15 of the identity; those of the other warps are zero */
    for (int i = 0; i < 4; i++) {
        int row = g + i % 2 * 8, k = 2 * t + i / 2 * 8;
        a[i] = threadIdx.x >= 32 ? 0 : (row == k ? 0x3c00 : 0) | (row == k + 1 ? 0x3c000000 : 0);
    }
    for (int pass = 0; pass < 2; pass++) {
        __syncthreads();
        region_fill(region, pass);
        operands_ready();
        float x[128] = {};
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
            "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%"
            "28,"
            "%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%"
            "55,"
            "%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%"
            "82,"
            "%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%"
            "107,"
            "%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127}, "
            "{%128,%129,%130,%131}, %132, 1, 1, 1, %133;"
            : R16(0), R16(16), R16(32), R16(48), R16(64), R16(80), R16(96), R16(112)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(bits + (__cvta_generic_to_shared(region) >> 4)),
              "n"(Trans)
            : "memory");
        FINISH;
        if (threadIdx.x < 32)
#pragma unroll
            for (int i = 0; i < 128; i++) {
                unsigned short *at = &out[(i / 4 * 8 + 2 * t + i % 2) * 16 + g + i / 2 % 2 * 8]; /* (column, k) */
                *at = (unsigned short)((pass ? *at : 0) | (unsigned)x[i] << (pass ? 11 : 0));
            }
    }
}

static void descriptors(FILE *file) {
    static void (*const run[])(uint64_t, unsigned short *) = {descriptor_a<0>, descriptor_a<1>, descriptor_b<0>,
                                                              descriptor_b<1>};
    unsigned short *device, host[DESCRIPTOR_ROWS_B * DESCRIPTOR_K];
    CHECK(cudaMalloc(&device, sizeof host));
    for (int i = 0; i < 4; i++)
        CHECK(cudaFuncSetAttribute(run[i], cudaFuncAttributeMaxDynamicSharedMemorySize, DESCRIPTOR_REGION + 1024));
    for (int i = 0; i < DESCRIPTOR_CASES; i++) {
        descriptor_case c = descriptor_case_of(i);
        CHECK(cudaMemset(device, 0xff, sizeof host));
        run[2 * c.b + c.trans]<<<1, 128, DESCRIPTOR_REGION + 1024>>>(descriptor_bits(&c), device);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
        const int n = (c.b ? DESCRIPTOR_ROWS_B : DESCRIPTOR_ROWS_A) * DESCRIPTOR_K;
        uint64_t hash = 0;
        for (int k = 0; k < n; k++) hash = product_hash(hash, host[k]);
        fprintf(file, "%016llx\n", (unsigned long long)hash);
    }
    CHECK(cudaFree(device));
}

static FILE *output(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: products DIR\n");
        return 2;
    }
    FILE *hashes = output(argv[1], "hashes.txt"), *mma = output(argv[1], "sample_mma.bin");
    FILE *wgmma = output(argv[1], "sample_wgmma.bin"), *read = output(argv[1], "descriptors.txt");
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("%s, sm_%d%d\n", device.name, device.major, device.minor);
    for (int row = 0; row < PRODUCT_N_ROWS; row++) {
        bool group = product_rows[row].unit == product_wgmma || product_rows[row].unit == product_wgmma_zero;
        products(row, hashes, group ? wgmma : mma);
        printf("%s\n", product_rows[row].name);
    }
    fclose(hashes);
    fclose(mma);
    fclose(wgmma);
    descriptors(read);
    fclose(read);
    return 0;
}

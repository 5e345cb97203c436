/* The emulator's geometry of tensor copies beside a GPU's: encodings accepted or refused, images of shared memory after
 * loads, of global memory after stores and reductions, for random tensors, boxes, coordinates and swizzles; bulk
 * reductions of special values. Needs a Hopper GPU. Build and run: gcc -O2 -I emulator -D_GNU_SOURCE -c
 * emulator/async/tensor_map.c emulator/async/reduce.c emulator/memory/update.c emulator/ptx/words.c nvcc -std=c++20
 * -arch=sm_90a -O2 -I emulator emulator/tests/hardware/tensor_copies.cu tensor_map.o reduce.o update.o words.o -o
 * tensor_copies
 *   ./tensor_copies [cases] [seed]
 */
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "async/tensor_map.h"
void emu_reduce(int kind, int type, bool flush, uint8_t *memory, const uint8_t *operand, uint32_t bytes);
}

#define CHECK(call)                                                                           \
    do {                                                                                      \
        cudaError_t error_ = (call);                                                          \
        if (error_ != cudaSuccess) {                                                          \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

static uint64_t state = 1;
static uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

enum { WINDOW = 96 * 1024, GLOBAL = 4 << 20 };
struct job {
    CUtensorMap map;
    int32_t c[5];
    int rank, action; /* 0 load, 1 store, 2 … reductions */
    uint32_t offset, bytes, seed;
};

__device__ __forceinline__ uint32_t shared_of(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

#define LOAD(dim, coordinates, ...)                                                                  \
    asm volatile("cp.async.bulk.tensor." dim                                                         \
                 ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " coordinates \
                 "], [%2];" ::"r"(to),                                                               \
                 "l"(&j.map), "r"(bar), __VA_ARGS__                                                  \
                 : "memory")
#define STORE(op, dim, coordinates, ...)                                           \
    asm volatile("cp." op "async.bulk.tensor." dim ".global.shared::cta" REDUCTION \
                 ".tile.bulk_group [%1, " coordinates "], [%0];" ::"r"(to),        \
                 "l"(&j.map), "r"(bar), __VA_ARGS__                                \
                 : "memory")
#define STORES(op)                                                                                                    \
    switch (j.rank) {                                                                                                 \
        case 1: STORE(op, "1d", "{%3}", "r"(j.c[0])); break;                                                          \
        case 2: STORE(op, "2d", "{%3, %4}", "r"(j.c[0]), "r"(j.c[1])); break;                                         \
        case 3: STORE(op, "3d", "{%3, %4, %5}", "r"(j.c[0]), "r"(j.c[1]), "r"(j.c[2])); break;                        \
        case 4: STORE(op, "4d", "{%3, %4, %5, %6}", "r"(j.c[0]), "r"(j.c[1]), "r"(j.c[2]), "r"(j.c[3])); break;       \
        case 5:                                                                                                       \
            STORE(op, "5d", "{%3, %4, %5, %6, %7}", "r"(j.c[0]), "r"(j.c[1]), "r"(j.c[2]), "r"(j.c[3]), "r"(j.c[4])); \
            break;                                                                                                    \
    }

__device__ __host__ inline uint32_t mix(uint32_t x) {
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
    return x;
}
/* What shared memory holds before a copy. */
__device__ __host__ inline uint32_t before(uint32_t word, uint32_t seed) {
    const uint32_t special[] = {0x1000,     0x3000,     0x7f800000, 0xff800000, 0x7f800001, 0x7fffffff, 0xffc01234,
                                0x7f7fffff, 0x7f7ff000, 1,          0x007fffff, 0x00800000, 0x80000000, 0x7c007c01,
                                0xfc007e00, 0x7f817f80, 0x00010001, 0x80018001, 0x03ff0400};
    uint32_t value = mix(word * 2654435761u + seed);
    return value % 5 ? value : special[mix(value) % 19];
}

__global__ void run(const __grid_constant__ job j, uint32_t *out, int *status) {
    extern __shared__ __align__(1024) uint32_t memory[];
    __shared__ alignas(8) uint64_t barrier;
    for (uint32_t i = threadIdx.x; i < WINDOW / 4; i += blockDim.x) memory[i] = before(i, j.seed);
    asm volatile("fence.proxy.async;" ::: "memory");
    uint32_t bar = shared_of(&barrier), to = shared_of(memory) + j.offset;
    if (threadIdx.x == 0) {
        status[1] = (int)shared_of(memory);
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0 && j.action == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(j.bytes) : "memory");
        switch (j.rank) {
            case 1: LOAD("1d", "{%3}", "r"(j.c[0])); break;
            case 2: LOAD("2d", "{%3, %4}", "r"(j.c[0]), "r"(j.c[1])); break;
            case 3: LOAD("3d", "{%3, %4, %5}", "r"(j.c[0]), "r"(j.c[1]), "r"(j.c[2])); break;
            case 4: LOAD("4d", "{%3, %4, %5, %6}", "r"(j.c[0]), "r"(j.c[1]), "r"(j.c[2]), "r"(j.c[3])); break;
            case 5:
                LOAD("5d", "{%3, %4, %5, %6, %7}", "r"(j.c[0]), "r"(j.c[1]), "r"(j.c[2]), "r"(j.c[3]), "r"(j.c[4]));
                break;
        }
        int done = 0;
        for (int i = 0; i < 200 && !done; i++)
            asm volatile(
                "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, 1000; selp.u32 %0, 1, 0, p;}"
                : "=r"(done)
                : "r"(bar)
                : "memory");
        status[0] = done;
        if (!done) /* whatever it was, let it land */
            for (long long start = clock64(); clock64() - start < 200000;) {
            }
    }
    if (threadIdx.x == 0 && j.action > 0) {
#define REDUCTION
        if (j.action == 1) STORES("");
#undef REDUCTION
#define REDUCTION ".add"
        if (j.action == 2) STORES("reduce.");
#undef REDUCTION
#define REDUCTION ".min"
        if (j.action == 3) STORES("reduce.");
#undef REDUCTION
#define REDUCTION ".max"
        if (j.action == 4) STORES("reduce.");
#undef REDUCTION
#define REDUCTION ".xor"
        if (j.action == 5) STORES("reduce.");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
        status[0] = 1;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < WINDOW / 4; i += blockDim.x) out[i] = memory[i];
}

/* ---- random cases ------------------------------------------------------------------------------------------------ */
struct shape {
    int type, interleave, swizzle, promotion, fill;
    uint32_t rank, box[5], step[5];
    uint64_t size[5], stride[4];
    uint8_t *address;
};

static const int bytes_of[16] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 0, 0, 0};

/* Mostly valid when `wild` is 0. */
static shape draw(uint8_t *base, bool wild) {
    shape s = {};
    s.type = (int)below(13);
    s.rank = 1 + below(5);
    s.swizzle = (int)below(4);
    s.fill = below(3) == 0;
    s.promotion = (int)below(4);
    uint32_t span[] = {256, 32, 64, 128}, e = (uint32_t)bytes_of[s.type];
    s.box[0] = (1 + below(span[s.swizzle] / 16)) * 16 / e;
    if (below(2) && s.swizzle) s.box[0] = span[s.swizzle] / e;
    if (e < 2 && s.box[0] > 256) s.box[0] = 256;
    uint32_t most = WINDOW / 2 / (s.box[0] * e);
    for (uint32_t i = 0; i < 5; i++) {
        s.step[i] = below(3) ? 1 : 1 + below(8);
        if (i) {
            uint32_t n = 1 + below(most < 40 ? most : i == 1 ? 40 : 6);
            most /= n;
            if (most == 0) most = 1;
            s.box[i] = n * s.step[i] - below(s.step[i]);
            if (s.box[i] > 256) s.box[i] = n < 256 ? n : 256;
        }
        s.size[i] = 1 + below(i == 0 ? 2 * s.box[0] : i == 1 ? 60 : 7);
    }
    uint64_t stride = (s.size[0] * e + 15) / 16 * 16;
    for (int i = 0; i < 4; i++) {
        s.stride[i] = stride + 16 * below(3);
        stride = s.stride[i] * s.size[i + 1];
    }
    s.address = base + 16 * below(8);
    if (!wild) return s;
    switch (below(14)) {
        case 0: s.type = (int)below(18) - 1; break;
        case 1: s.rank = below(7); break;
        case 2: s.interleave = (int)below(4); break;
        case 3: s.swizzle = (int)below(9) - 1; break;
        case 4: s.promotion = (int)below(6) - 1; break;
        case 5: s.fill = (int)below(4) - 1; break;
        case 6: s.address += below(16); break;
        case 7: s.size[below(5)] = below(2) ? 0 : (UINT64_C(1) << 32) + below(3) - 1; break;
        case 8: s.stride[below(4)] = (uint64_t)below(64) * (below(2) ? 16 : 1) << (below(2) ? 0 : 30 + below(8)); break;
        case 9: s.box[below(5)] = below(260); break;
        case 10: s.step[below(5)] = below(11); break;
        case 11: s.stride[below(4)] = 0; break;
        case 12:
            s.interleave = (int)below(3), s.rank = 3 + below(3), s.swizzle = s.interleave == 2 ? 1 : s.swizzle;
            break;
        default: break;
    }
    return s;
}

static std::string text(const shape &s) {
    char line[400];
    int n = snprintf(line, sizeof line, "type %d rank %u swizzle %d interleave %d fill %d promotion %d box", s.type,
                     s.rank, s.swizzle, s.interleave, s.fill, s.promotion);
    for (uint32_t i = 0; i < 5; i++) n += snprintf(line + n, sizeof line - (size_t)n, " %u/%u", s.box[i], s.step[i]);
    n += snprintf(line + n, sizeof line - (size_t)n, " size");
    for (uint32_t i = 0; i < 5; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %llu", (unsigned long long)s.size[i]);
    n += snprintf(line + n, sizeof line - (size_t)n, " stride");
    for (uint32_t i = 0; i < 4; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %llu", (unsigned long long)s.stride[i]);
    snprintf(line + n, sizeof line - (size_t)n, " address %% 32 = %d", (int)((uintptr_t)s.address % 32));
    return line;
}

typedef CUresult encode_function(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                 const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                 CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
static encode_function *encode;

static int encode_gpu(const shape &s, CUtensorMap *map) {
    return (int)encode(map, (CUtensorMapDataType)s.type, s.rank, s.address, (const cuuint64_t *)s.size,
                       (const cuuint64_t *)s.stride, s.box, s.step, (CUtensorMapInterleave)s.interleave,
                       (CUtensorMapSwizzle)s.swizzle, (CUtensorMapL2promotion)s.promotion,
                       (CUtensorMapFloatOOBfill)s.fill);
}
static int encode_emulated(const shape &s, emu_tensor_map *map, const char **why) {
    const emu_tensor_request request = {map,    s.address,    s.type,    s.rank,      s.size, s.stride,
                                        s.step, s.interleave, s.swizzle, s.promotion, s.fill};
    return emu_tensor_map_tiled(&request, s.box, why);
}

static int compare_encodings(uint8_t *base, int cases) {
    int different = 0, refused = 0;
    for (int i = 0; i < cases; i++) {
        shape s = draw(base, true);
        CUtensorMap theirs;
        alignas(64) emu_tensor_map ours;
        const char *why;
        int a = encode_gpu(s, &theirs), b = encode_emulated(s, &ours, &why);
        refused += a != 0;
        if (b == 801) continue; /* said to be missing */
        if ((a == 0) == (b == 0)) continue;
        if (different++ < 40)
            printf("encode: driver %d, emulator %d (%s): %s\n", a, b, why ? why : "", text(s).c_str());
    }
    printf("encodings: %d cases, %d refused by the driver, %d differ\n", cases, refused, different);
    return different;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */
/* Bit an action: add 4, min 8, max 16, xor 32. */
static const int reducible[13] = {0, 0, 60, 60, 60, 24, 28, 4, 4, 28, 4, 4, 4};
static const int reduce_kind[] = {0, 0, 1, 2, 3, 8}; /* emu_reduce_kind by action */
/* ptx_type by tensor type. */
extern "C" int ptx_type_of(const char *);
static int ptx_of(int type, int action) {
    static const char *const names[] = {"u8",  "u16", "u32",  "s32", "u64", "s64", "f16",
                                        "f32", "f64", "bf16", "f32", "f32", "f32"};
    return ptx_type_of(action < 5 ? names[type] : bytes_of[type] == 8 ? "b64" : "b32");
}

static int mismatch_report(const shape &s, const job &j, const uint8_t *want, const uint8_t *got, uint32_t n,
                           const char *what, bool chunks) {
    uint32_t bad = 0, first = n;
    for (uint32_t i = 0; i < n; i++)
        if (want[i] != got[i]) {
            if (first == n) first = i;
            bad++;
        }
    if (!bad) return 0;
    static int printed[8];
    if (printed[j.action]++ >= 12) return 1;
    printf("%s: %u bytes differ, first at %u (offset %u, bytes %u, c %d %d %d %d %d): %s\n", what, bad, first, j.offset,
           j.bytes, j.c[0], j.c[1], j.c[2], j.c[3], j.c[4], text(s).c_str());
    uint32_t at = first / 16 * 16;
    for (int k = 0; k < 2; k++, at += 16) {
        printf("  want %u:", at);
        for (int i = 0; i < 16; i++) printf(" %02x", want[at + i]);
        printf("\n  got  %u:", at);
        for (int i = 0; i < 16; i++) printf(" %02x", got[at + i]);
        printf("\n");
    }
    if (!chunks) return 1;
    printf("  where the 16-byte chunks that were wanted at … lie: ");
    for (uint32_t c = j.offset; c < j.offset + j.bytes && c < j.offset + 512; c += 16)
        for (uint32_t g = 0; g + 16 <= n; g += 16)
            if (!memcmp(want + c, got + g, 16)) {
                printf(" %d→%d", (int)(c - j.offset) / 16, (int)(g - j.offset) / 16);
                break;
            }
    printf("\n");
    return 1;
}

/* Bytes of a box up to which the driver encodes. */
static void probe_volume(uint8_t *base) {
    uint64_t most = 0, least = ~UINT64_C(0);
    for (uint32_t a = 16; a <= 256; a += 48)
        for (uint32_t b = 1; b <= 256; b++)
            for (uint32_t c = 1; c <= 64; c++) {
                shape s = {.rank = 3,
                           .box = {a, b, c},
                           .step = {1, 1, 1},
                           .size = {256, 256, 256},
                           .stride = {256, 65536},
                           .address = base};
                CUtensorMap map;
                uint64_t bytes = (uint64_t)a * b * c;
                if (encode_gpu(s, &map) == 0)
                    most = bytes > most ? bytes : most;
                else
                    least = bytes < least ? bytes : least;
            }
    printf("boxes: up to %llu bytes are encoded, %llu and more are not\n", (unsigned long long)most,
           (unsigned long long)least);
    most = 0;
    for (uint32_t c = 1; c <= 256; c++) {
        shape s = {.rank = 3,
                   .box = {256, 128, c},
                   .step = {1, 1, 8},
                   .size = {256, 256, 256},
                   .stride = {256, 65536},
                   .address = base};
        CUtensorMap map;
        if (encode_gpu(s, &map) == 0) most = c;
    }
    printf("boxes of 256 x 128 x c with a step of 8 are encoded up to c = %llu\n", (unsigned long long)most);
}

/* Where an interleaved tensor's elements land. */
static void probe_interleave(uint8_t *memory, uint32_t *image, int *status) {
    std::vector<uint16_t> host(GLOBAL / 2);
    for (size_t i = 0; i < host.size(); i++) host[i] = (uint16_t)i;
    CHECK(cudaMemcpy(memory, host.data(), GLOBAL, cudaMemcpyHostToDevice));
    for (int interleave = 1; interleave <= 2; interleave++)
        for (int swizzle = 0; swizzle <= 3; swizzle++)
            for (uint32_t inner : {8u, 16u, 24u, 32u}) {
                uint32_t span = interleave * 8u;
                shape s = {.type = 1,
                           .interleave = interleave,
                           .swizzle = swizzle,
                           .rank = 4,
                           .box = {inner, 5, 3, 1},
                           .step = {1, 1, 1, 1},
                           .size = {64, 10, 10, 2},
                           .stride = {span * 2, span * 20, span * 200},
                           .address = memory};
                job j = {};
                if (encode_gpu(s, &j.map)) {
                    printf("interleave %d swizzle %d inner %u: refused\n", interleave, swizzle, inner);
                    continue;
                }
                j.rank = 4;
                for (uint32_t bytes : {inner * 2 * 15, 16u * 15, 32u * 15}) {
                    j.bytes = bytes;
                    status[0] = 0;
                    run<<<1, 128, WINDOW>>>(j, image, status);
                    cudaError_t error = cudaDeviceSynchronize();
                    if (error != cudaSuccess) {
                        printf("interleave %d swizzle %d inner %u: %s\n", interleave, swizzle, inner,
                               cudaGetErrorString(error));
                        exit(0);
                    }
                    if (status[0]) break;
                }
                std::vector<uint16_t> got(1024);
                CHECK(cudaMemcpy(got.data(), image, 2048, cudaMemcpyDeviceToHost));
                printf("interleave %d swizzle %d inner %u: %s with %u bytes:", interleave, swizzle, inner,
                       status[0] ? "complete" : "STUCK", j.bytes);
                for (int c = 0; c < 1024; c += 8)
                    if (memcmp(&got[(size_t)c], &host[got[(size_t)c]], 16) == 0)
                        printf(" %d:%d", c / 8, got[(size_t)c] / 8);
                printf("\n");
            }
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    int only_action = argc > 3 ? atoi(argv[3]) : -1, only_type = argc > 4 ? atoi(argv[4]) : -1;
    int cases = argc > 1 ? atoi(argv[1]) : 3000;
    state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    cudaDriverEntryPointQueryResult found;
    CHECK(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &found));
    uint8_t *memory;
    uint32_t *image;
    int *status;
    CHECK(cudaMalloc(&memory, GLOBAL));
    CHECK(cudaMalloc(&image, WINDOW));
    CHECK(cudaMallocManaged(&status, 8));
    CHECK(cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, WINDOW));
    std::vector<uint8_t> host(GLOBAL), after(GLOBAL), got(WINDOW), want(WINDOW), line(1 << 17);
    int failures = 0;
    if (only_action == -2) {
        probe_volume(memory);
        probe_interleave(memory, image, status);
        return 0;
    }
    if (only_action == -3) { /* type rank swizzle offset c0 c1 action aligned */
        int *v = (int *)calloc(16, sizeof(int));
        for (int i = 0; i < 8 && i + 4 < argc; i++) v[i] = atoi(argv[i + 4]);
        shape s = {.type = v[0],
                   .swizzle = v[2],
                   .rank = (uint32_t)v[1],
                   .box = {16, 4, 2, 1, 1},
                   .step = {1, 1, 1, 1, 1},
                   .size = {64, 10, 10, 2, 2},
                   .stride = {512, 5120, 51200, 102400},
                   .address = memory + v[7]};
        job j = {};
        printf("encode %d", encode_gpu(s, &j.map));
        j.rank = v[1], j.offset = (uint32_t)v[3], j.c[0] = v[4], j.c[1] = v[5], j.action = v[6];
        j.bytes = 16 * (uint32_t)bytes_of[v[0]] * (v[1] > 1 ? 4 : 1) * (v[1] > 2 ? 2 : 1);
        CHECK(cudaMemset(memory, 0, GLOBAL));
        run<<<1, 128, WINDOW>>>(j, image, status);
        cudaError_t error = cudaDeviceSynchronize();
        printf(" type %d rank %d swizzle %d offset %d c %d %d action %d address %d: %s, status %d, base %d\n", v[0],
               v[1], v[2], v[3], v[4], v[5], v[6], v[7], cudaGetErrorString(error),
               error == cudaSuccess ? status[0] : -1, error == cudaSuccess ? status[1] : -1);
        return 0;
    }
    if (only_action < 0) failures += compare_encodings(memory, 20000);

    int ran = 0, differ[8] = {}, counts[8] = {}, stuck = 0;
    for (int i = 0; i < cases; i++) {
        shape s = draw(memory, false);
        CUtensorMap theirs;
        alignas(64) emu_tensor_map ours;
        const char *why;
        job j = {};
        j.action = below(2) ? 0 : (int)below(6);
        if (encode_gpu(s, &theirs) || encode_emulated(s, &ours, &why)) continue;
        if (only_action >= 0) j.action = only_action;
        if (only_type >= 0 && s.type != only_type) continue;
        bool integer = s.type <= 5;
        if (j.action > 1 && !(reducible[s.type] >> j.action & 1)) continue; /* an illegal instruction */
        uint64_t extent = 256;
        for (uint32_t k = 0; k < s.rank; k++)
            extent += (s.size[k] - 1) * (k ? s.stride[k - 1] : (uint64_t)bytes_of[s.type]);
        if (extent > GLOBAL) continue;
        j.map = theirs;
        j.rank = (int)s.rank;
        j.offset = 128 * below(below(2) ? 1 : 17);
        j.bytes = emu_tensor_row_bytes(&ours) * emu_tensor_rows(&ours, EMU_TENSOR_TILE);
        if (j.offset + emu_tensor_pitch(&ours) * emu_tensor_rows(&ours, EMU_TENSOR_TILE) + 4096 > WINDOW) continue;
        j.seed = below(1u << 30);
        for (int k = 0; k < 5; k++) j.c[k] = (int)below((uint32_t)s.size[k] + s.box[k] + 2) - (int)s.box[k] - 1;
        int unit =
            16 /
            bytes_of[s.type]; /* boxes begin at 16 bytes, and no store at a negative coordinate: illegal instructions */
        j.c[0] = j.c[0] / unit * unit;
        for (int k = 0; k < 5; k++)
            if (j.action > 0 && j.c[k] < 0) j.c[k] = 0;
        if (below(3) == 0) memset(j.c, 0, sizeof j.c);
        bool any_bits = below(2); /* otherwise floats near one */
        for (uint32_t k = 0; k < GLOBAL / 4; k++) {
            uint32_t word = mix(k * 7 + j.seed);
            if (j.action > 1 && !integer && !any_bits)
                word = s.type == 6 || s.type == 9 ? (word & 0x83ff83ff) | 0x3c003c00 : (word & 0x807fffff) | 0x3f800000;
            static const uint32_t special[] = {0x1000,     0x3000,     0x7f800000, 0xff800000, 0x7f800001,
                                               0x7fffffff, 0xffc01234, 0x7f7fffff, 0x7f7ff000, 1,
                                               0x007fffff, 0x00800000, 0x80000000, 0x7c007c01, 0xfc007e00,
                                               0x7f817f80, 0x00010001, 0x80018001, 0x03ff0400};
            if (mix(k + j.seed) % 4 == 0)
                word = mix(k) % 3 ? (word & 0xffffe000) + 0x1000 : special[mix(k ^ j.seed) % 19];
            memcpy(&host[4 * k], &word, 4);
        }
        CHECK(cudaMemcpy(memory, host.data(), GLOBAL, cudaMemcpyHostToDevice));
        status[0] = status[1] = 0;
        run<<<1, 128, WINDOW>>>(j, image, status);
        if (cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
            printf("action %d, offset %u, bytes %u, c %d %d %d %d %d: %s: %s\n", j.action, j.offset, j.bytes, j.c[0],
                   j.c[1], j.c[2], j.c[3], j.c[4], cudaGetErrorString(error), text(s).c_str());
            return 1;
        }
        CHECK(cudaMemcpy(got.data(), image, WINDOW, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(after.data(), memory, GLOBAL, cudaMemcpyDeviceToHost));
        ran++;
        counts[j.action]++;
        if (!status[0]) {
            if (stuck++ < 10) printf("the phase of %u bytes did not complete: %s\n", j.bytes, text(s).c_str());
        }
        for (uint32_t k = 0; k < WINDOW / 4; k++) {
            uint32_t word = before(k, j.seed);
            memcpy(&want[4 * k], &word, 4);
        }
        const uint32_t base = (uint32_t)status[1] + j.offset, row_bytes = emu_tensor_row_bytes(&ours),
                       pitch = emu_tensor_pitch(&ours);
        for (uint32_t row = 0; row < emu_tensor_rows(&ours, EMU_TENSOR_TILE); row++) {
            uint32_t from, to;
            uint64_t address;
            emu_tensor_place place = {EMU_TENSOR_TILE, {}, {}};
            memcpy(place.coordinate, j.c, sizeof place.coordinate);
            emu_tensor_row(&ours, &place, row, &from, &to, &address);
            uint8_t *there = host.data() + (address - (uint64_t)(uintptr_t)memory);
            if (j.action == 0) {
                emu_tensor_fill(&ours, line.data(), row_bytes);
                if (to > from) {
                    memcpy(&line[from], there, to - from);
                    emu_tensor_convert(&ours, &line[from], to - from);
                }
                for (uint32_t at = 0; at < row_bytes; at += 16)
                    memcpy(&want[emu_swizzle(ours.swizzle, base + row * pitch + at) - (uint32_t)status[1]], &line[at],
                           16);
            } else {
                for (uint32_t at = 0; at < row_bytes; at += 16)
                    memcpy(&line[at], &want[emu_swizzle(ours.swizzle, base + row * pitch + at) - (uint32_t)status[1]],
                           16);
                if (to <= from) continue;
                to = emu_tensor_stored(to);
                if (j.action == 1)
                    memcpy(there, &line[from], to - from);
                else
                    emu_reduce(reduce_kind[j.action], ptx_of(s.type, j.action), s.type == 10 || s.type == 12, there,
                               &line[from], to - from);
            }
        }
        int bad = j.action == 0 ? mismatch_report(s, j, want.data(), got.data(), WINDOW, "load", true)
                                : mismatch_report(s, j, host.data(), after.data(), GLOBAL, "store or reduction", false);
        differ[j.action] += bad;
    }
    static const char *const names[] = {"load", "store", "add", "min", "max", "xor"};
    for (int k = 0; k < 6; k++)
        printf("%s: %d cases, %d differ\n", names[k], counts[k], differ[k]), failures += differ[k];
    printf("%d copies, %d stuck\n", ran, stuck);
    return failures + stuck != 0;
}

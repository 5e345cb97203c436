// Pointers to all state spaces through one function, local arrays with indices of run time, atomics of all types of
// CUDA C++, scoped atomics of <cuda/atomic>, vector loads with cache hints, and what the space predicates say.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda/atomic>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
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

__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int numbers[8] = {2, 7, 1, 8, 2, 8, 1, 8};

// Not inlined: its pointer is generic.
__device__ __noinline__ int sum8(const int *p) {
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += p[i];
    return sum;
}
struct box {
    int first[8];
    double second;
    char third[5];
};
__device__ __noinline__ box turned(box b, int by) {
    box r = b;
    for (int i = 0; i < 8; i++) r.first[(i + by) & 7] = b.first[i];
    r.second = -b.second;
    for (int i = 0; i < 5; i++) r.third[i] = b.third[4 - i];
    return r;
}

__global__ void pointers(const __grid_constant__ box given, const int *global, int *out) {
    __shared__ int shared[8];
    int local[8];
    int t = threadIdx.x;
    if (t < 8) shared[t] = 10 * t;
    for (int i = 0; i < 8; i++) local[(i * 3 + t) & 7] = i + t;
    __syncthreads();
    const int *choice[6] = {global, shared, local, given.first, numbers, table};
    int *mine = out + 16 * t;
    for (int i = 0; i < 6; i++) mine[i] = sum8(choice[(i + t) % 6]);
    mine[6] = __isGlobal(global) | __isShared(shared) << 1 | __isLocal(local) << 2 | __isGlobal(shared) << 3 |
              __isShared(local) << 4 | __isLocal(global) << 5 | __isGridConstant(&given) << 6;
    box b = turned(given, t);
    mine[7] = b.first[t & 7] + 100 * (b.second == -given.second) + 1000 * (b.third[0] == given.third[4]);
}

static void spaces() {
    box given = {{1, 2, 3, 4, 5, 6, 7, 8}, 2.5, {'a', 'b', 'c', 'd', 'e'}};
    int *global, *out, host[8] = {5, 5, 5, 5, 5, 5, 5, 6};
    CHECK(cudaMalloc(&global, sizeof host));
    CHECK(cudaMallocManaged(&out, 64 * 16 * sizeof(int)));
    CHECK(cudaMemcpy(global, host, sizeof host, cudaMemcpyHostToDevice));
    pointers<<<1, 64>>>(given, global, out);
    CHECK(cudaDeviceSynchronize());
    for (int t = 0; t < 64; t++) {
        int sums[6] = {41, 280, 28 + 8 * t, 36, 37, 31};
        for (int i = 0; i < 6; i++) EXPECT(out[16 * t + i] == sums[(i + t) % 6]);
        EXPECT(out[16 * t + 6] == (1 | 2 | 4 | 64));
        EXPECT(out[16 * t + 7] == 1 + 100 + 1000);  // element t went to 2 t, element 0 to t
    }
    CHECK(cudaFree(global));
    CHECK(cudaFree(out));
}

struct results {
    int add, least, most, both, either, exclusive, exchanged;
    unsigned up, down, counted;
    unsigned long long wide, wide_most;
    float real;
    double precise;
    __half half;
    __half2 halves;
    __nv_bfloat162 brains;
    float4 four;
    unsigned short small;
    int locked;
    unsigned scoped;
};

__device__ void all_atomics(results *r, int i) {
    atomicAdd(&r->add, i);
    atomicMin(&r->least, -i);
    atomicMax(&r->most, i);
    atomicAnd(&r->both, ~(1 << (i & 15)));
    atomicOr(&r->either, 1 << (i & 15));
    atomicXor(&r->exclusive, i);
    atomicInc(&r->up, 99);
    atomicDec(&r->down, 99);
    atomicAdd(&r->wide, 1ull << 33);
    atomicMax(&r->wide_most, (unsigned long long)i << 40);
    atomicAdd(&r->real, 0.5f);
    atomicAdd(&r->precise, 0.25);
    atomicAdd(&r->halves, __floats2half2_rn(1, 2));
    atomicAdd(&r->brains, __floats2bfloat162_rn(2, 1));
    atomicAdd(&r->half, __float2half(0.5f));
    unsigned short old = *(volatile unsigned short *)&r->small, seen;
    do {
        seen = old;
        old = atomicCAS(&r->small, seen, (unsigned short)(seen + 1));
    } while (old != seen);
    atomicExch(&r->exchanged, i);
}

__global__ void __launch_bounds__(128) atomics(results *global) {
    __shared__ results shared;
    if (threadIdx.x == 0) {
        shared = results{};
        shared.both = -1;
    }
    __syncthreads();
    all_atomics(&shared, (int)threadIdx.x);
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    all_atomics(global, i);
    atomicAdd(&global->four, make_float4(1, 2, 3, 4));
    atomicAdd_system(&global->counted, 1);
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> scoped(global->scoped);
    scoped.fetch_add(2, cuda::std::memory_order_acq_rel);
    __syncthreads();
    if (threadIdx.x == 0) {
        global[1 + blockIdx.x] = shared;
    }
}

static void check_common(const results &r, int n) {
    int parity = 0;
    for (int i = 0; i < n; i++) parity ^= i;
    EXPECT(r.add == n * (n - 1) / 2 && r.least == -(n - 1) && r.most == n - 1);
    EXPECT(r.both == ~0xffff && r.either == 0xffff && r.exclusive == parity);
    EXPECT(r.up == (unsigned)n % 100 && r.down == (100 - (unsigned)n % 100) % 100);
    EXPECT(r.wide == (unsigned long long)n << 33 && r.wide_most == (unsigned long long)(n - 1) << 40);
    EXPECT(r.real == 0.5f * (float)n && r.precise == 0.25 * n && r.small == n);
    EXPECT(r.exchanged >= 0 && r.exchanged < n);
    EXPECT(__low2float(r.halves) == (float)n && __high2float(r.halves) == (float)(2 * n) &&
           __half2float(r.half) == 0.5f * (float)n);
    float brains = n < 256 ? (float)n : 256;  // 256 + 1 is 256 in bf16
    EXPECT(__high2float(r.brains) == brains && __low2float(r.brains) == 2 * brains);
}

static void atomic_operations() {
    const int blocks = 3, threads = 128, n = blocks * threads;
    results *r;
    CHECK(cudaMallocManaged(&r, (1 + blocks) * sizeof(results)));
    r[0] = results{};
    r[0].both = -1;
    atomics<<<blocks, threads>>>(r);
    CHECK(cudaDeviceSynchronize());
    check_common(r[0], n);
    EXPECT(r[0].four.x == n && r[0].four.y == 2 * n && r[0].four.z == 3 * n && r[0].four.w == 4 * n);
    EXPECT(r[0].counted == n && r[0].scoped == 2 * n);
    for (int b = 0; b < blocks; b++) check_common(r[1 + b], threads);
    CHECK(cudaFree(r));
}

// Message passing: blocks hand a value on by a flag, with the orders that C++ names.
__global__ void chain(int *value, unsigned *flag) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> turn(*flag);
    if (threadIdx.x == 0) {
        while (turn.load(cuda::std::memory_order_acquire) != blockIdx.x) {
        }
        *value = *value * 3 + (int)blockIdx.x;
        turn.store(blockIdx.x + 1, cuda::std::memory_order_release);
    }
}
__global__ void last_block(const int *in, int *sums, unsigned *done, int *total) {
    __shared__ bool last;
    atomicAdd(&sums[blockIdx.x], in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        int sum = 0;
        for (unsigned b = 0; b < gridDim.x; b++) sum += __ldcg(&sums[b]);
        *total = sum;
    }
}

static void orders() {
    int *memory;
    CHECK(cudaMallocManaged(&memory, 4096 * sizeof(int)));
    for (int i = 0; i < 4096; i++) memory[i] = i < 1024 ? 0 : i;
    chain<<<7, 64>>>(memory, (unsigned *)memory + 1);
    CHECK(cudaDeviceSynchronize());
    int want = 0;
    for (int b = 0; b < 7; b++) want = want * 3 + b;
    EXPECT(memory[0] == want);
    last_block<<<8, 128>>>(memory + 1024, memory + 100, (unsigned *)memory + 50, memory + 60);
    CHECK(cudaDeviceSynchronize());
    int sum = 0;
    for (int i = 1024; i < 2048; i++) sum += i;
    EXPECT(memory[60] == sum);
    CHECK(cudaFree(memory));
}

__global__ void hints(const float4 *in, float4 *out, const short4 *small, short4 *small_out) {
    int i = (int)threadIdx.x;
    __stcs(&out[4 * i], __ldcs(&in[4 * i]));
    __stcg(&out[4 * i + 1], __ldcg(&in[4 * i + 1]));
    __stwt(&out[4 * i + 2], __ldlu(&in[4 * i + 2]));
    __stwb(&out[4 * i + 3], __ldg(&in[4 * i + 3]));
    small_out[i] = __ldg(&small[i]);
}

static void cache_hints() {
    float4 *in;
    CHECK(cudaMallocManaged(&in, 4096 * sizeof(float4)));
    for (int i = 0; i < 4096; i++) in[i] = make_float4((float)i, (float)-i, 0.5f * (float)i, 1);
    hints<<<1, 256>>>(in, in + 1024, (short4 *)(in + 3072), (short4 *)(in + 2048));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 1024; i++)
        EXPECT(in[1024 + i].x == (float)i && in[1024 + i].y == (float)-i && in[1024 + i].z == 0.5f * (float)i);
    for (int i = 0; i < 128; i++) EXPECT(in[2048 + i].y == in[3072 + i].y);
    CHECK(cudaFree(in));
}

int main() {
    spaces();
    atomic_operations();
    orders();
    cache_hints();
    printf("spaces are right\n");
    return 0;
}

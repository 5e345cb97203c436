/* Scalar instructions of PTX on a GPU, beside the emulator: each form on thousands of special and random operands.
 *   nvcc -arch=sm_90a -O1 scalars.cu -o scalars && ./scalars write FILE          on a Hopper GPU
 *   (compiled for the emulator and linked to it)   ./scalars compare FILE        tells forms whose results differ
 * Results are 64 bits each; forms in the order of the table, after their number and that of operands. */
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { N = 4096 };
#define CHECK(call)                                                                \
    do {                                                                           \
        cudaError_t error_ = (call);                                               \
        if (error_ != cudaSuccess) {                                               \
            printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
            exit(1);                                                               \
        }                                                                          \
    } while (0)

/* ---- forms: the types of d, a, b, c, as letters, and the instruction; the domain of the operands ---- */
#define REG_q "b64"
#define REG_w "b32"
#define REG_h "b16"
#define REG_p "pred"
#define LOAD_q(r, n) "mov.b64 " r ", %" n ";"
#define LOAD_w(r, n) "cvt.u32.u64 " r ", %" n ";"
#define LOAD_h(r, n) "cvt.u16.u64 " r ", %" n ";"
#define LOAD_p(r, n) "and.b64 t_, %" n ", 1; setp.ne.s64 " r ", t_, 0;"
#define STORE_q "mov.b64 %0, d_;"
#define STORE_w "cvt.u64.u32 %0, d_;"
#define STORE_h "cvt.u64.u16 %0, d_;"
#define STORE_p "selp.u64 %0, 1, 0, d_;"

typedef void kernel(uint64_t *d, const uint64_t *a, const uint64_t *b, const uint64_t *c);
struct form {
    const char *name;
    char domain;
    kernel *run;
};
static form forms[2000];
static int n_forms;
struct add_form {
    add_form(const char *name, char domain, kernel *run) { forms[n_forms++] = {name, domain, run}; }
};

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define FORM_(id, domain, name, td, ta, tb, tc, text)                                                              \
    __global__ void PASTE(run_, id)(uint64_t * d, const uint64_t *a, const uint64_t *b, const uint64_t *c) {       \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                             \
        uint64_t r;                                                                                                \
        asm volatile("{ .reg .b64 t_; .reg ." REG_##td " d_; .reg ." REG_##ta " a_; .reg ." REG_##tb               \
                     " b_; .reg ." REG_##tc " c_; " LOAD_##ta("a_", "1") LOAD_##tb("b_", "2") LOAD_##tc("c_", "3") \
                         text " " STORE_##td " }"                                                                  \
                     : "=l"(r)                                                                                     \
                     : "l"(a[i]), "l"(b[i]), "l"(c[i]));                                                           \
        d[i] = r;                                                                                                  \
    }                                                                                                              \
    static add_form PASTE(form_, id)(name, domain, PASTE(run_, id));
#define FORM(domain, td, ta, tb, tc, op, operands) FORM_(__COUNTER__, domain, op, td, ta, tb, tc, op " " operands ";")
#define F1(domain, td, ta, op) FORM(domain, td, ta, q, q, op, "d_, a_")
#define F2(domain, td, ta, tb, op) FORM(domain, td, ta, tb, q, op, "d_, a_, b_")
#define F3(domain, td, ta, tb, tc, op) FORM(domain, td, ta, tb, tc, op, "d_, a_, b_, c_")
/* Several instructions. */
#define SEQUENCE(domain, td, ta, tb, tc, name, text) FORM_(__COUNTER__, domain, name, td, ta, tb, tc, text)

#include "scalars.inc"

/* ---- operands ---- */
static uint64_t state;
static uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static uint64_t below(uint64_t n) { return next() % n; }
static uint64_t bits_of(double x) {
    uint64_t b;
    memcpy(&b, &x, 8);
    return b;
}
static uint32_t bits_of(float x) {
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}

static uint64_t integer() {
    switch (below(8)) {
        case 0: return below(70);
        case 1: return 0 - below(70);
        case 2: return (uint64_t(1) << below(64)) - below(2);
        case 3: return (uint64_t(1) << below(64)) * 0x100000001u;
        case 4: return next() & next() & next();
        case 5: return (next() >> below(64)) * (below(2) ? 1 : -1);
        default: return next();
    }
}

/* A float of a format: exponent and fraction bits. Ties and their neighbours at 10 and 7 bits of fraction, too. */
static uint64_t floating(int exponent, int fraction) {
    uint64_t top = (uint64_t(1) << exponent) - 1, bias = top >> 1, ones = (uint64_t(1) << fraction) - 1,
             f = next() & ones, e;
    if (below(4) == 0) f &= next() & next();
    if (below(4) == 0) f |= next() | next(), f &= ones;
    if (below(3) == 0)
        for (int kept : {10, 7, 3, 2}) {
            if (fraction <= kept + 1 || below(3)) continue;
            uint64_t half = uint64_t(1) << (fraction - kept - 1);
            f = (f & ~(2 * half - 1)) + half + below(3) - 1;
            break;
        }
    switch (below(10)) {
        case 0: e = 0; break;
        case 1:
            e = top;
            f = below(2) ? 0 : f;
            break;
        case 2: e = bias + below(3) - 1; break;
        case 3: e = below(4); break;
        case 4: e = top - 1 - below(3); break;
        case 5: e = bias + below(fraction < 12 ? 12 : 70) - (fraction < 12 ? 4 : 4); break;
        case 6: e = bias + below(30) - 15; break;
        default: e = below(top); break;
    }
    e = e > top ? top : e;
    if (below(12) == 0) f = 0;
    if (below(24) == 0) e = 0, f = 0;
    return below(2) << (exponent + fraction) | e << fraction | (f & ones);
}

static uint64_t operand(char domain) {
    switch (domain) {
        case 'F': {
            if (below(6) == 0)
                return bits_of((float)(int64_t)(integer() << 32 >> 32) * (below(2) ? .5f : 1.f)) | next() << 32;
            return floating(8, 23) | next() << 32;
        }
        case 'D': return below(6) == 0 ? bits_of((double)(int64_t)integer() * (below(2) ? .5 : 1.)) : floating(11, 52);
        case 'H': return floating(5, 10) | floating(5, 10) << 16 | next() << 32;
        case 'B': return floating(8, 7) | floating(8, 7) << 16 | next() << 32;
        default: return integer();
    }
}

/* Every third time b is near a, or c is: cancellation, equality. */
static void fill(char domain, std::vector<uint64_t> *in) {
    state = domain;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++) in[k][i] = operand(domain);
        if (below(6) == 0) in[1][i] = in[0][i];
        if (below(8) == 0) in[1][i] = in[0][i] + below(5) - 2;
        if (below(8) == 0 && domain == 'F') in[1][i] = in[0][i] ^ 0x80000000u;
        if (below(8) == 0 && domain == 'F') { /* a·b + c nearly cancels */
            float x, y;
            uint32_t a = (uint32_t)in[0][i], b = (uint32_t)in[1][i];
            memcpy(&x, &a, 4), memcpy(&y, &b, 4);
            in[2][i] = bits_of(-(x * y));
        }
        if (below(8) == 0 && domain == 'D') {
            double x, y;
            memcpy(&x, &in[0][i], 8), memcpy(&y, &in[1][i], 8);
            in[2][i] = bits_of(-(x * y));
        }
    }
}

static void run(const form &f, std::vector<uint64_t> *in, std::vector<uint64_t> &out, uint64_t *device) {
    for (int k = 0; k < 3; k++) CHECK(cudaMemcpy(device + (k + 1) * N, in[k].data(), 8 * N, cudaMemcpyHostToDevice));
    f.run<<<N / 128, 128>>>(device, device + N, device + 2 * N, device + 3 * N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(out.data(), device, 8 * N, cudaMemcpyDeviceToHost));
}

static int compare(const form &f, const std::vector<uint64_t> *in, const std::vector<uint64_t> &mine,
                   const std::vector<uint64_t> &gpu) {
    int different = 0;
    for (int i = 0; i < N; i++) {
        if (mine[i] == gpu[i]) continue;
        if (different++ < 4)
            printf("%-34s a %016llx b %016llx c %016llx: %016llx, on the GPU %016llx\n", f.name,
                   (unsigned long long)in[0][i], (unsigned long long)in[1][i], (unsigned long long)in[2][i],
                   (unsigned long long)mine[i], (unsigned long long)gpu[i]);
    }
    if (different) printf("%-34s %d of %d differ\n", f.name, different, N);
    return different;
}

int main(int argc, char **argv) {
    if (argc != 3) return printf("scalars write|compare FILE\n"), 2;
    bool write = !strcmp(argv[1], "write");
    FILE *file = fopen(argv[2], write ? "wb" : "rb");
    if (!file) return perror(argv[2]), 2;
    std::vector<uint64_t> in[3], out(N), gpu(N);
    for (auto &v : in) v.resize(N);
    uint64_t *device, head[2] = {(uint64_t)n_forms, N}, found[2];
    CHECK(cudaMalloc(&device, 4 * 8 * N));
    if (write)
        fwrite(head, 8, 2, file);
    else if (fread(found, 8, 2, file) != 2 || memcmp(head, found, 16))
        return printf("the file is of other forms\n"), 2;
    int different = 0;
    for (int i = 0; i < n_forms; i++) {
        fill(forms[i].domain, in);
        run(forms[i], in, out, device);
        if (write)
            fwrite(out.data(), 8, N, file);
        else if (fread(gpu.data(), 8, N, file) != N)
            return printf("the file ends early\n"), 2;
        else
            different += compare(forms[i], in, out, gpu) != 0;
    }
    fclose(file);
    printf("%d forms, %d operands each%s", n_forms, N, write ? "\n" : ": ");
    if (!write) printf("%d differ\n", different);
    return different != 0;
}

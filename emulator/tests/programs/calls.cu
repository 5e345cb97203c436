// Device functions that the compiler did not inline: recursion, one with an array of its own that it passes down,
// structures by value, pointers to functions, virtual functions, printf and the heap. Lanes take different ways through
// all of them.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

struct values {
    int a[4];
    float f;
    double d;
};

#define BOTH __host__ __device__ __noinline__
BOTH float horner(float x, int n) {
    float r = 0;
    for (int i = 0; i < n; i++) r = fmaf(r, x, (float)i);
    return r;
}
BOTH values changed(values v, int k) {
    v.a[k & 3] += k;
    v.f *= 2;
    v.d -= k;
    return v;
}
BOTH int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
BOTH int deep(int n, const int *up) {
    int mine[4];
    for (int i = 0; i < 4; i++) mine[i] = n + i + (up ? up[(n + i) & 3] : 0);
    if (n == 0) return mine[0] + mine[3];
    return deep(n - 1, mine) + mine[n & 3];
}
BOTH bool is_odd(int n);
BOTH bool is_even(int n) { return n == 0 || is_odd(n - 1); }
BOTH bool is_odd(int n) { return n != 0 && is_even(n - 1); }

__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int (*const table[2])(int) = {twice, square};

struct base {
    __device__ virtual int of(int) const { return 1; }
};
struct derived : base {
    __device__ int of(int x) const override { return x + 7; }
};

__global__ void calls(float *out, int *iout, values *v, const char *format) {
    int t = threadIdx.x;
    out[t] = horner(t * 0.5f, 4 + t % 3);
    iout[t] = fibonacci(t % 10) + deep(t % 7, nullptr) + (is_even(t % 13) ? 1000 : 0);
    v[t] = changed(v[t], t);
    iout[t] += table[t & 1](t);
    base b;
    derived d;
    const base *p = t % 3 ? &b : &d;
    iout[t] += p->of(t);
    if (t == 5) printf("%s %5.2f|%-4d|%lld|%c|%%|%*d\n", format, 1.5, t, 1ll << 40, 'x', 6, 42);
    int *heap = (int *)malloc(4 * sizeof(int));
    heap[3] = t;
    iout[t] += heap[3];
    free(heap);
}

int main() {
    const int n = 77;
    float *out;
    int *iout;
    values *v;
    char *text;
    cudaMalloc(&out, n * sizeof(float));
    cudaMalloc(&iout, n * sizeof(int));
    cudaMalloc(&v, n * sizeof(values));
    cudaMalloc(&text, 8);
    cudaMemcpy(text, "lane 5:", 8, cudaMemcpyHostToDevice);
    std::vector<values> host(n), got(n);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++) host[i].a[k] = i * k;
        host[i].f = (float)i;
        host[i].d = i * .25;
    }
    cudaMemcpy(v, host.data(), n * sizeof(values), cudaMemcpyHostToDevice);
    calls<<<1, n>>>(out, iout, v, text);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    std::vector<float> floats(n);
    std::vector<int> integers(n);
    cudaMemcpy(floats.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(integers.data(), iout, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(got.data(), v, n * sizeof(values), cudaMemcpyDeviceToHost);
    for (int t = 0; t < n; t++) {
        int sum = fibonacci(t % 10) + deep(t % 7, nullptr) + (is_even(t % 13) ? 1000 : 0);
        sum += (t & 1 ? t * t : 2 * t) + (t % 3 ? 1 : t + 7) + t;
        values want = changed(host[t], t);
        if (floats[t] != horner(t * 0.5f, 4 + t % 3)) return printf("horner of lane %d: %g\n", t, floats[t]), 2;
        if (integers[t] != sum) return printf("lane %d: %d, not %d\n", t, integers[t], sum), 3;
        if (memcmp(&want, &got[t], sizeof want)) return printf("structure of lane %d\n", t), 4;
    }
    return 0;
}

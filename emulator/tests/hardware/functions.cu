/* How far a GPU's approximations are from the true value, for every float of an interval: what exec/ models them by.
 *   nvcc -arch=sm_90a -O2 functions.cu -o functions && ./functions DIRECTORY       on a Hopper GPU
 * One file an interval, NAME_LOW_HIGH: for each float of [low, high), in order, the difference of its bits from those
 * of the nearest float to the true value, as a signed byte (clamped to ±127). */
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define APPROXIMATION(name, instruction, truth)                    \
    struct name {                                                  \
        static __device__ float approximate(float x) {             \
            float y;                                               \
            asm(instruction " %0, %1;" : "=f"(y) : "f"(x));        \
            return y;                                              \
        }                                                          \
        static __device__ double exact(double x) { return truth; } \
    };
APPROXIMATION(rcp, "rcp.approx.ftz.f32", 1 / x)
APPROXIMATION(rsqrt_, "rsqrt.approx.ftz.f32", 1 / sqrt(x))
APPROXIMATION(sqrt_, "sqrt.approx.ftz.f32", sqrt(x))
APPROXIMATION(lg2, "lg2.approx.ftz.f32", log2(x))
APPROXIMATION(ex2, "ex2.approx.ftz.f32", exp2(x))
APPROXIMATION(sin_, "sin.approx.ftz.f32", sin(x))
APPROXIMATION(cos_, "cos.approx.ftz.f32", cos(x))
APPROXIMATION(tanh_, "tanh.approx.f32", tanh(x))

template <class F>
__global__ void differences(uint32_t first, uint32_t n, int8_t *out) {
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = __uint_as_float(first + i);
        int difference = __float_as_int(F::approximate(x)) - __float_as_int((float)F::exact(x));
        out[i] = (int8_t)(difference > 127 ? 127 : difference < -127 ? -127 : difference);
    }
}

static uint32_t bits_of(float x) {
    union {
        float x;
        uint32_t bits;
    } u = {x};
    return u.bits;
}

/* low and high of one sign, in order of their bits. */
template <class F>
static void write(const std::string &directory, const char *name, float low, float high) {
    uint32_t first = bits_of(low), n = bits_of(high) - first;
    int8_t *device;
    std::vector<int8_t> out(n);
    cudaMalloc(&device, n);
    differences<F><<<1024, 256>>>(first, n, device);
    if (cudaMemcpy(out.data(), device, n, cudaMemcpyDeviceToHost) != cudaSuccess) exit(1);
    cudaFree(device);
    char path[512];
    snprintf(path, sizeof path, "%s/%s_%g_%g", directory.c_str(), name, low, high);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(out.data(), 1, n, file) != n) exit(2);
    fclose(file);
    long count[256] = {0}, most = 0;
    for (int8_t d : out) count[(uint8_t)d]++;
    for (int d = -127; d < 128; d++) most = count[(uint8_t)d] && labs(d) > most ? labs(d) : most;
    printf("%s of [%g, %g): %.2f %% as the nearest float, at most %ld ulp off\n", name, low, high, 100. * count[0] / n,
           most);
}

int main(int argc, char **argv) {
    std::string d = argc > 1 ? argv[1] : ".";
    write<rcp>(d, "rcp", 1, 2);
    write<rsqrt_>(d, "rsqrt", 1, 4);
    write<sqrt_>(d, "sqrt", 1, 4);
    write<lg2>(d, "lg2", .5f, 2);
    write<ex2>(d, "ex2", .5f, 2);
    write<ex2>(d, "ex2", -.5f, -1);
    write<sin_>(d, "sin", .5f, 2);
    write<cos_>(d, "cos", .5f, 2);
    write<tanh_>(d, "tanh", .25f, 2);
    return 0;
}

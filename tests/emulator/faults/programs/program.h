/* What the programs share: operands on the device, a reference to compare with, the exit status. Each program runs
 * kernels of ridge on small operands: 0 the results are right, 1 they are wrong, 2 CUDA reported an error. */
#ifndef FAULTS_PROGRAM_H
#define FAULTS_PROGRAM_H

#include <cuda_runtime.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

extern "C" void ridge_note_why(const char *format, ...) {
    va_list list;
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    (void)fputc('\n', stderr);
    va_end(list);
}

static void require(cudaError_t answer, const char *what) {
    if (answer == cudaSuccess) return;
    (void)fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(answer));
    exit(2);
}

/* In (-1, 1), the same at every run. */
static float value_of(unsigned i) {
    i = i * 2654435761u + 12345u, i ^= i >> 15, i *= 2246822519u, i ^= i >> 13;
    return (float)(i >> 8) / 8388608.0f - 1.0f;
}

/* `count` elements on the device; values: of the host, or NULL: nobody has written them. */
template <typename T>
static T *device_array(size_t count, const T *values) {
    T *p = NULL;
    require(cudaMalloc((void **)&p, count * sizeof(T)), "cudaMalloc");
    if (values) require(cudaMemcpy(p, values, count * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    return p;
}
template <typename T>
static void to_host(T *values, const T *p, size_t count) {
    require(cudaDeviceSynchronize(), "the kernels");
    require(cudaMemcpy(values, p, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

/* Differences are counted, the first is told. */
struct comparison {
    const char *of;
    double limit;
    long wrong = 0;
    void compare(double found, double expected, long row, long column) {
        if (fabs(found - expected) <= limit) return;
        if (wrong++ == 0)
            (void)fprintf(stderr, "%s: [%ld, %ld] is %g, should be %g\n", of, row, column, found, expected);
    }
};
#endif

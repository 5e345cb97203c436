/* A kernel of your own, for `ridge check`: this header is all it needs. Plain C, no library, no ridge to rebuild.
 *
 *     #include <ridge/kernel.h>
 *
 *     int ridge_kernel(const ridge_kernel_call *call) {
 *         const float *x = call->in[0].data;
 *         float *y = call->out[0].data;
 *         for (int64_t i = 0; i < call->dim[0] * call->dim[1]; i++) y[i] = 2 * x[i];
 *         return RIDGE_KERNEL_DONE;
 *     }
 *
 *     ridge check TARGET mine.c            compiled with cc -O3 -march=native
 *     ridge check TARGET mine.so:my_name
 *     ridge check TARGET mine.cu           compiled with nvcc -O3; extern "C", tensors in device memory
 *
 * `ridge list TARGET` names dimensions, inputs, outputs and options in the order that they have here. Tensors are dense and
 * row-major. A call writes every element of every output and nothing else; inputs are mapped read-only, and memory around
 * each tensor is not mapped. It may allocate memory. It may not start threads or processes, open files, or set timers and
 * signal handlers: `parallel` runs a function on all threads that the measurement has.
 *
 * Version 1. A field that is added goes to the end, and `size` says which fields there are. */
#ifndef RIDGE_KERNEL_H
#define RIDGE_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RIDGE_KERNEL_VERSION 1
#define RIDGE_KERNEL_MAX_RANK 8
#define RIDGE_KERNEL_MAX_TENSORS 14

/* What a kernel returns. Any other value is a failure, too. */
#define RIDGE_KERNEL_DONE 0
#define RIDGE_KERNEL_UNSUPPORTED 1 /* not this shape or type: the case is skipped */
#define RIDGE_KERNEL_FAILED 2

/* Types of elements. */
#define RIDGE_KERNEL_F32 1
#define RIDGE_KERNEL_BF16 2
#define RIDGE_KERNEL_F16 3
#define RIDGE_KERNEL_F64 4
#define RIDGE_KERNEL_I32 5
#define RIDGE_KERNEL_I64 6
#define RIDGE_KERNEL_E4M3 7
#define RIDGE_KERNEL_E5M2 8
#define RIDGE_KERNEL_E2M1 9 /* value 2i is the low half of byte i; extents and strides count values */
#define RIDGE_KERNEL_UE8M0 10
#define RIDGE_KERNEL_UE4M3 11
#define RIDGE_KERNEL_I8 12

typedef struct ridge_kernel_tensor {
    void *data; /* at least 64-byte aligned */
    int32_t type;
    int32_t rank;
    int64_t shape[RIDGE_KERNEL_MAX_RANK];
} ridge_kernel_tensor;

typedef void (*ridge_kernel_body)(void *arg, int rank, int size);

typedef struct ridge_kernel_call {
    uint32_t version; /* RIDGE_KERNEL_VERSION of the ridge that calls */
    uint32_t size;    /* of this struct, there */
    int32_t n_dims, n_options, n_in, n_out;
    const int64_t *dim;   /* extents, in the order of the target's dimensions */
    const double *option; /* values of the target's options */
    const ridge_kernel_tensor *in, *out;
    int32_t threads;
    /* Calls body(arg, rank, size) on `threads` threads, rank 0 … size-1, and returns when all have returned. */
    void (*parallel)(const struct ridge_kernel_call *call, ridge_kernel_body body, void *arg);
    void *stream; /* CUDA: a cudaStream_t, and tensors are in device memory; a launch there need not be waited for */
} ridge_kernel_call;

typedef int (*ridge_kernel_fn)(const ridge_kernel_call *call);

#ifdef __cplusplus
}
#endif
#endif

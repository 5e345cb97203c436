/* Which of cuBLASLt's algorithms is quickest, measured. */
#include <stdlib.h>

#include "cuda/host/launch.cuh"

extern "C" {
#include "peer/cublaslt.h"
}

using namespace ridge;

namespace {

/* Numbers in [-1, 1): zeros would run at another clock. */
template <typename T>
__global__ void fill_random(T *to, int64_t n) {
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        unsigned h = (unsigned)i * 2654435761u + (unsigned)(i >> 32);
        h ^= h >> 16, h *= 0x7feb352du, h ^= h >> 15, h *= 0x846ca68bu, h ^= h >> 16;
        to[i] = (T)((float)(int)h * 0x1p-31f);
    }
}

struct measurement {
    cublaslt_plan *plan;
    cublaslt_operands operands = {};
    void *workspace = NULL, *memory[3] = {};
    cudaEvent_t begin = NULL, end = NULL;
    cudaStream_t stream = NULL;

    explicit measurement(cublaslt_plan *p) : plan(p) {}
    measurement(const measurement &) = delete;
    ~measurement() {
        for (void *m : memory) cudaFree(m);
        cudaFree(workspace);
        if (begin) cudaEventDestroy(begin);
        if (end) cudaEventDestroy(end);
        if (stream) cudaStreamDestroy(stream);
    }
    ridge_status matrix(int which, int64_t elements, ridge_dtype dtype) {
        RIDGE_TRY(cuda_status(cudaMalloc(&memory[which], (size_t)elements * ridge_dtype_size(dtype)), "cudaMalloc"));
        const auto fill = [&]<typename T>() {
            fill_random<T><<<1024, 256, 0, stream>>>((T *)memory[which], elements);
            return cuda_status(cudaGetLastError(), "a launch");
        };
        return dtype == RIDGE_TF32 ? fill.operator()<float>() : with_storage(dtype, fill);
    }
    ridge_status make(void) {
        const cublaslt_shape *s = cublaslt_plan_shape(plan);
        RIDGE_TRY(cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"));
        RIDGE_TRY(cuda_status(cudaEventCreate(&begin), "cudaEventCreate"));
        RIDGE_TRY(cuda_status(cudaEventCreate(&end), "cudaEventCreate"));
        RIDGE_TRY(matrix(0, s->rows * s->depth, s->dtype));
        RIDGE_TRY(matrix(1, s->depth * s->classes, s->dtype));
        RIDGE_TRY(matrix(2, s->rows * s->classes, s->to ? s->to : s->dtype));
        RIDGE_TRY(cuda_status(cudaMalloc(&workspace, CUBLASLT_WORKSPACE), "cudaMalloc"));
        operands.x = memory[0], operands.w = memory[1], operands.z = memory[2];
        operands.x_row = s->x_turned ? s->rows : s->depth;
        operands.w_row = s->turned ? s->depth : s->classes;
        operands.z_row = s->classes;
        return RIDGE_OK;
    }
    /* Microseconds of a run; more than any where the library refuses its own candidate. */
    float time(int candidate, int runs) {
        float ms = 0;
        cublaslt_plan_take(plan, candidate);
        if (cublaslt_run(plan, &operands, workspace, stream) != RIDGE_OK) return 1e30f;
        cudaEventRecord(begin, stream);
        for (int i = 0; i < runs; i++) (void)cublaslt_run(plan, &operands, workspace, stream);
        cudaEventRecord(end, stream);
        if (cudaEventSynchronize(end) != cudaSuccess || cudaEventElapsedTime(&ms, begin, end) != cudaSuccess)
            return 1e30f;
        return ms * 1000 / (float)runs;
    }
};

}  // namespace

extern "C" ridge_status cublaslt_plan_search(cublaslt_plan *plan) {
    const cublaslt_shape *s = cublaslt_plan_shape(plan);
    if (s->rows == 0 || s->classes == 0 || s->depth == 0 || s->batch != 1) return RIDGE_OK;
    const int n = cublaslt_plan_candidates(plan);
    if (n < 2) return RIDGE_OK;
    measurement m(plan);
    RIDGE_TRY(m.make());
    float first[CUBLASLT_CANDIDATES];
    int best = 0;
    for (int i = 0; i < n; i++) {
        first[i] = m.time(i, 3);
        if (first[i] < first[best]) best = i;
    }
    /* Those that came near, longer: 20 ms each. */
    const float limit = first[best] * 1.1f;
    const int runs = first[best] > 0 ? (int)fminf(200.0f, 5 + 20000 / first[best]) : 5;
    float least = 1e30f;
    for (int i = 0; i < n; i++) {
        if (first[i] > limit) continue;
        const float us = m.time(i, runs);
        if (us < least) least = us, best = i;
    }
    cublaslt_plan_take(plan, best);
    return RIDGE_OK;
}

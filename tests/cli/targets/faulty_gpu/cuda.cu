/* y = 2 x, and seven ways to get it wrong. */
#include <math.h>
#include <unistd.h>

#include "cuda/host/launch.cuh"

using namespace ridge;

struct matrices {
    const float *x;
    float *y;
    int64_t cols, x_stride, y_stride;
    int64_t n; /* elements that are done */
};

static __global__ void twice(matrices m) {
    const int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (k < m.n) m.y[k / m.cols * m.y_stride + k % m.cols] = 2 * m.x[k / m.cols * m.x_stride + k % m.cols];
}

static __global__ void write_one(float *at, float value) { *at = value; }

static __global__ void spin_forever(volatile float *at) {
    while (at[0] == at[0] || at[0] != at[0]) {
    }
}

static matrices matrices_of(const ridge_call *call) {
    return {(const float *)ridge_data(&call->in[0]), (float *)ridge_data(&call->out[0]), call->dim[1],
            ridge_row_stride(&call->in[0]),          ridge_row_stride(&call->out[0]),    call->dim[0] * call->dim[1]};
}

static ridge_status run(const ridge_call *call, const matrices &m) {
    return launch(twice, {dim3((unsigned)((m.n + 255) / 256)), 256}, stream_of(call), m);
}

static ridge_status run_and_write(const ridge_call *call, float *at, float value) {
    RIDGE_TRY(run(call, matrices_of(call)));
    return launch(write_one, {dim3(1), 1}, stream_of(call), at, value);
}

static float *const nobodys = (float *)(uintptr_t)0x7000000000000;

extern "C" ridge_status faulty_gpu_right(const ridge_call *call) { return run(call, matrices_of(call)); }

/* As code that has to be loaded does. */
extern "C" ridge_status faulty_gpu_loaded(const ridge_call *call) {
    static int launches;
    if (launches++ == 0) usleep(20000);
    return run(call, matrices_of(call));
}

extern "C" ridge_status faulty_gpu_wild(const ridge_call *call) { return run_and_write(call, nobodys, 1.0f); }

extern "C" ridge_status faulty_gpu_late(const ridge_call *call) {
    static int launches;
    return ++launches > 4 ? run_and_write(call, nobodys, 1.0f) : run(call, matrices_of(call));
}

extern "C" ridge_status faulty_gpu_spin(const ridge_call *call) {
    return launch(spin_forever, {dim3(1), 1}, stream_of(call), (volatile float *)ridge_data(&call->out[0]));
}

extern "C" ridge_status faulty_gpu_refused(const ridge_call *call) {
    return launch(twice, {dim3(1), 4096}, stream_of(call), matrices_of(call));
}

extern "C" ridge_status faulty_gpu_unwritten(const ridge_call *call) {
    matrices m = matrices_of(call);
    m.n--;
    return run(call, m);
}

extern "C" ridge_status faulty_gpu_beyond(const ridge_call *call) {
    const matrices m = matrices_of(call);
    return run_and_write(call, m.y + m.n, 1.0f);
}

extern "C" ridge_status faulty_gpu_nan(const ridge_call *call) {
    const matrices m = matrices_of(call);
    return run_and_write(call, m.y + m.n / 2, NAN);
}

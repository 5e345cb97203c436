/* ridge-judged-cuda and ridge-judged-emulated: run kernels of CUDA C on a GPU, or on the emulator, whose functions have the same
 * names and are found in this program. For a GPU a kernel's library has a runtime of its own in the same context: streams and
 * memory are shared, the last error is not, so that a launch that is refused shows by its outputs. Not for use by hand.
 *
 * Tensors are copied to device memory before a launch and back after it, which is not timed. Device memory is the same for
 * all launches of a shape. On the emulator each launch is attested: what it read, wrote and kept goes to the judge. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "judged/judged.h"

#if RIDGE_JUDGED_EMULATED
#include <emulator/witness.h>
#endif

static struct {
    void *data[RIDGE_KERNEL_MAX_TENSORS];
    size_t bytes[RIDGE_KERNEL_MAX_TENSORS];
    cudaStream_t stream;
    bool own_stream;
} device;

static int told(ridge_judged *j, const char *what, cudaError_t error) {
    char text[RIDGE_CHANNEL_TEXT];
    if (error == cudaSuccess) return 0;
    (void)snprintf(text, sizeof text, "%s: %s", what, cudaGetErrorString(error));
    return ridge_judged_say(j, text);
}

/* The context and its threads are made before threads are forbidden. */
static int start(ridge_judged *j) {
    j->channel->threads = 1; /* of the host */
    const int status = ridge_native_start(j);
    return status ? status : told(j, "no device", cudaFree(NULL));
}

/* A function called by its arguments knows no stream but the default one. */
static int load(ridge_judged *j) {
    const int status = ridge_native_load(j);
    if (status || j->plain) return status;
    device.own_stream = true;
    return told(j, "no stream", cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking));
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static int count_of(const ridge_judged *j) { return j->channel->n_in + j->channel->n_out; }

/* Outputs bring their poison. */
static cudaError_t bring(ridge_judged *j, int t) {
    const size_t bytes = j->channel->tensor[t].bytes;
    if (!device.data[t] || device.bytes[t] != bytes) {
        cudaError_t error = cudaFree(device.data[t]);
        device.data[t] = NULL;
        device.bytes[t] = bytes;
        if (error == cudaSuccess) error = cudaMalloc(&device.data[t], bytes ? bytes : 1);
        if (error != cudaSuccess) return error;
    }
    j->argument[t].data = device.data[t];
    return bytes ? cudaMemcpy(device.data[t], j->tensor[t].data, bytes, cudaMemcpyHostToDevice) : cudaSuccess;
}

#if RIDGE_JUDGED_EMULATED
enum { LOCK = RIDGE_LOCK_REMAP | RIDGE_LOCK_PROTECT };

static void watch(void) { emulator_witness_begin(device.stream); }

/* A witness of each byte, at the place that the byte has in the tensors' pages, behind what was seen of the launch. */
static void attest(ridge_judged *j) {
    emulator_witness seen;
    emulator_witness_end(&seen);
    if (!j->witness) return;
    const ridge_channel_witness told_of = {
        .launches = seen.launches, .elsewhere = seen.elsewhere, .fetched = seen.fetched, .kept = seen.kept};
    memcpy(j->witness, &told_of, sizeof told_of);
    for (int t = 0; t < count_of(j); t++) {
        const ridge_channel_tensor *to = &j->channel->tensor[t];
        emulator_witness_bytes(device.data[t], to->bytes, j->witness + RIDGE_CHANNEL_PAGE + to->pages_at + to->offset);
    }
}

/* What the emulator says goes nowhere: no file may be written to then, and findings reach the judge as errors. */
static void mute(void) { stderr = fopencookie(NULL, "w", (cookie_io_functions_t){.write = NULL}); }
#else
enum { LOCK = RIDGE_LOCK_OPEN };

/* What operands left in the L2 cache is overwritten. */
static void watch(void) {
    enum { FLUSH = 256 << 20 };
    static void *memory;
    if (!memory && cudaMalloc(&memory, FLUSH) != cudaSuccess) memory = NULL;
    if (memory) (void)cudaMemset(memory, 0, FLUSH);
    (void)cudaDeviceSynchronize();
}
static void attest(ridge_judged *j) { (void)j; }
static void mute(void) {}
#endif

static int ready(ridge_judged *j) {
    cudaError_t error = cudaDeviceSynchronize();
    for (int t = 0; t < count_of(j) && error == cudaSuccess; t++) error = bring(j, t);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    j->stream = device.stream;
    watch();
    const int status = ridge_native_ready(j);
    return status ? status : told(j, "operands were not copied", error);
}

static int run(ridge_judged *j) {
    const int status = ridge_native_run(j);
    const cudaError_t launched = cudaGetLastError(), done = cudaStreamSynchronize(device.stream);
    if (status) return status;
    return told(j, "its launch failed", launched != cudaSuccess ? launched : done);
}

static int done(ridge_judged *j) {
    cudaError_t error = cudaSuccess;
    attest(j);
    for (int t = j->channel->n_in; t < count_of(j) && error == cudaSuccess; t++)
        if (device.bytes[t])
            error = cudaMemcpy(j->tensor[t].data, device.data[t], device.bytes[t], cudaMemcpyDeviceToHost);
    return told(j, "outputs were not copied", error);
}

/* As much as a launch: something small is enqueued and waited for. */
static int empty(ridge_judged *j) {
    static void *word;
    cudaError_t error = word ? cudaSuccess : cudaMalloc(&word, 4);
    if (error == cudaSuccess) error = cudaMemsetAsync(word, 0, 4, device.stream);
    if (error == cudaSuccess) error = cudaStreamSynchronize(device.stream);
    return told(j, "an empty launch failed", error);
}

int main(void) {
    static const ridge_judged_host cuda = {
        .start = start, .load = load, .ready = ready, .run = run, .done = done, .empty = empty, .lock = LOCK};
    mute();
    return ridge_judged_serve(&cuda);
}

/* y = a x + b, where x lies in host memory and y is wanted there.
 *
 * Floor: size(x) over the host's link to the GPU, or size(y) back over it, whichever is longer: both directions work at
 * once. One after the other is the sum. The kernel itself takes a hundredth of either. */
#include "cuda/maps/map.cuh"

#include <new>

extern "C" {
#include "unified_memory.h"
}

namespace {

using namespace ridge;

template <typename T>
struct affine : map_of<T, T, 1, 1> {
    static constexpr int group = 1;
    template <int N>
    __device__ void operator()(const float (&x)[1][N], float (&y)[1][N]) const {
#pragma unroll
        for (int i = 0; i < N; i++) y[0][i] = fmaf(UNIFIED_MEMORY_A, x[0][i], UNIFIED_MEMORY_B);
    }
};

/* TOLD(cudaStreamSynchronize, (stream)) */
#define TOLD(call, arguments) cuda_status(call arguments, #call)

/* ---- managed memory: the kernel is given the host's own addresses ---- */

/* Bytes from the first element to the end of the last. */
inline size_t span_bytes(const DLTensor *t, ridge_dtype dtype) {
    if (t->shape[0] == 0 || t->shape[1] == 0) return 0;
    return (size_t)((t->shape[0] - 1) * ridge_row_stride(t) + t->shape[1]) * ridge_dtype_size(dtype);
}

ridge_status map_in_place_of_call(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return launch_map(call, affine<T>{}); });
}

/* Reads a byte of every page, as whoever wants the result does: that brings the pages back. */
void touch(const DLTensor *t, size_t bytes) {
    const volatile char *p = (const volatile char *)ridge_data(t);
    for (size_t i = 0; i < bytes; i += 4096) (void)p[i];
    if (bytes > 0) (void)p[bytes - 1];
}

ridge_status prefetch(const DLTensor *t, size_t bytes, bool to_device, cudaStream_t stream) {
    if (bytes == 0) return RIDGE_OK;
    int device = 0;
    RIDGE_TRY(TOLD(cudaGetDevice, (&device)));
#if CUDART_VERSION >= 13000
    cudaMemLocation place = {};
    place.type = to_device ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
    place.id = to_device ? device : 0;
    return TOLD(cudaMemPrefetchAsync, (ridge_data(t), bytes, place, 0, stream));
#else
    return TOLD(cudaMemPrefetchAsync, (ridge_data(t), bytes, to_device ? device : cudaCpuDeviceId, stream));
#endif
}

/* ---- copies to and from scratch ---- */

/* Part of a call: rows of strided tensors, or elements of dense ones, which count as columns of one row. */
struct part {
    int64_t row, rows, column, columns;
};

/* The whole of it. */
part all_of(const ridge_call *call) {
    const bool dense = is_dense(&call->in[0]) && is_dense(&call->out[0]);
    if (dense) return {0, 1, 0, call->dim[0] * call->dim[1]};
    return {0, call->dim[0], 0, call->dim[1]};
}

/* Copies a part between a tensor in host memory and its dense copy in scratch. */
ridge_status copy_part(const ridge_call *call, const DLTensor *t, char *dense, const part &p, bool to_device,
                       cudaStream_t stream) {
    const size_t size = ridge_dtype_size(call->dtype), width = (size_t)p.columns * size;
    const size_t pitch = (size_t)ridge_row_stride(t) * size; /* of more than one row, else unused */
    char *host = (char *)ridge_data(t) + (size_t)p.row * pitch + (size_t)p.column * size;
    char *scratch = dense + (size_t)(p.row * call->dim[1] + p.column) * size;
    const cudaMemcpyKind way = to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    void *to = to_device ? scratch : host;
    const void *from = to_device ? host : scratch;
    if (p.rows == 1) return TOLD(cudaMemcpyAsync, (to, from, width, way, stream));
    return TOLD(cudaMemcpy2DAsync,
                (to, to_device ? width : pitch, from, to_device ? pitch : width, width, (size_t)p.rows, way, stream));
}

template <typename T>
ridge_status map_part(const ridge_call *call, char *x, char *y, const part &p, cudaStream_t s) {
    map_rows<affine<T>> t;
    const int64_t first = p.row * call->dim[1] + p.column;
    t.in[0] = (const T *)x + first;
    t.out[0] = (T *)y + first;
    t.rows = 1, t.cols = p.rows * p.columns;
    t.in_stride[0] = t.out_stride[0] = t.cols;
    return launch_map_rows(t, affine<T>{}, s);
}

/* There, through the kernel, and back. */
ridge_status round_trip(const ridge_call *call, const part &p, cudaStream_t stream) {
    char *x = (char *)call->scratch, *y = x + unified_memory_area(call->dim, call->dtype);
    RIDGE_TRY(copy_part(call, &call->in[0], x, p, true, stream));
    RIDGE_TRY(with_storage(call->dtype, [&]<typename T>() { return map_part<T>(call, x, y, p, stream); }));
    return copy_part(call, &call->out[0], y, p, false, stream);
}

/* ---- chunks on two streams ---- */

constexpr int chunks_at_most = 16;
constexpr int64_t chunk_bytes = 1 << 20; /* below this a copy's own start is felt */

struct overlap_plan {
    cudaStream_t side;
    cudaEvent_t fork, join;
};

/* Chunk k of n; a dense one begins at a whole number of 16-byte vectors. */
part chunk_of(const part &all, int k, int n) {
    part p = all;
    if (all.rows == 1) {
        int64_t end;
        ridge_share(all.columns, 64, k, n, &p.column, &end);
        p.columns = end - p.column;
    } else {
        int64_t end;
        ridge_share(all.rows, 1, k, n, &p.row, &end);
        p.rows = end - p.row;
    }
    return p;
}

int chunk_count(const ridge_call *call) {
    const int64_t bytes = call->dim[0] * call->dim[1] * (int64_t)ridge_dtype_size(call->dtype);
    const int64_t n = bytes / chunk_bytes;
    return n < 1 ? 1 : n > chunks_at_most ? chunks_at_most : (int)n;
}

ridge_status run_chunks(const ridge_call *call, const overlap_plan *plan) {
    const part all = all_of(call);
    const int n = chunk_count(call);
    for (int k = 0; k < n; k++) {
        const part p = chunk_of(all, k, n);
        if (p.rows > 0 && p.columns > 0) RIDGE_TRY(round_trip(call, p, k % 2 == 0 ? stream_of(call) : plan->side));
    }
    return RIDGE_OK;
}

bool is_empty(const ridge_call *call) { return call->dim[0] == 0 || call->dim[1] == 0; }

}  // namespace

extern "C" ridge_status unified_memory_cuda_managed(const ridge_call *call) {
    if (is_empty(call)) return RIDGE_OK;
    RIDGE_TRY(map_in_place_of_call(call));
    RIDGE_TRY(TOLD(cudaStreamSynchronize, (stream_of(call))));
    touch(&call->out[0], span_bytes(&call->out[0], call->dtype));
    return RIDGE_OK;
}

extern "C" ridge_status unified_memory_cuda_prefetch(const ridge_call *call) {
    if (is_empty(call)) return RIDGE_OK;
    const cudaStream_t stream = stream_of(call);
    const size_t x = span_bytes(&call->in[0], call->dtype), y = span_bytes(&call->out[0], call->dtype);
    RIDGE_TRY(prefetch(&call->in[0], x, true, stream));
    RIDGE_TRY(prefetch(&call->out[0], y, true, stream));
    RIDGE_TRY(map_in_place_of_call(call));
    return prefetch(&call->out[0], y, false, stream);
}

/* Pageable or pinned: the same calls. */
extern "C" ridge_status unified_memory_cuda_copy(const ridge_call *call) {
    return is_empty(call) ? RIDGE_OK : round_trip(call, all_of(call), stream_of(call));
}

/* The side stream starts after what the call's stream holds, and is waited for by what comes after; also when a chunk
 * was refused, because the others are under way. */
extern "C" ridge_status unified_memory_cuda_overlap(const ridge_call *call) {
    const overlap_plan *plan = (const overlap_plan *)call->plan;
    if (is_empty(call)) return RIDGE_OK;
    RIDGE_TRY(TOLD(cudaEventRecord, (plan->fork, stream_of(call))));
    RIDGE_TRY(TOLD(cudaStreamWaitEvent, (plan->side, plan->fork, 0)));
    const ridge_status status = run_chunks(call, plan);
    RIDGE_TRY(TOLD(cudaEventRecord, (plan->join, plan->side)));
    RIDGE_TRY(TOLD(cudaStreamWaitEvent, (stream_of(call), plan->join, 0)));
    return status;
}

/* ---- plans ---- */

extern "C" ridge_status unified_memory_managed_prepare(const ridge_case *c, int threads, void **plan) {
    (void)threads;
    size_t free_bytes = 0, all = 0;
    int device = 0, migrates = 0;
    *plan = NULL;
    RIDGE_TRY(TOLD(cudaGetDevice, (&device)));
    RIDGE_TRY(TOLD(cudaDeviceGetAttribute, (&migrates, cudaDevAttrConcurrentManagedAccess, device)));
    if (!migrates) return RIDGE_UNSUPPORTED;
    RIDGE_TRY(TOLD(cudaMemGetInfo, (&free_bytes, &all)));
    return 2 * unified_memory_area(c->dim, c->dtype) <= free_bytes / 4 ? RIDGE_OK : RIDGE_NO_MEMORY;
}

extern "C" ridge_status unified_memory_overlap_prepare(const ridge_case *c, int threads, void **plan) {
    (void)c, (void)threads;
    overlap_plan *p = new (std::nothrow) overlap_plan{};
    *plan = p;
    if (!p) return RIDGE_NO_MEMORY;
    cudaError_t result = cudaStreamCreateWithFlags(&p->side, cudaStreamNonBlocking);
    if (result == cudaSuccess) result = cudaEventCreateWithFlags(&p->fork, cudaEventDisableTiming);
    if (result == cudaSuccess) result = cudaEventCreateWithFlags(&p->join, cudaEventDisableTiming);
    if (result == cudaSuccess) return RIDGE_OK;
    unified_memory_overlap_release(p);
    *plan = NULL;
    return cuda_status(result, "a stream and its events");
}

extern "C" void unified_memory_overlap_release(void *plan) {
    overlap_plan *p = (overlap_plan *)plan;
    if (!p) return;
    if (p->join) (void)cudaEventDestroy(p->join);
    if (p->fork) (void)cudaEventDestroy(p->fork);
    if (p->side) (void)cudaStreamDestroy(p->side);
    delete p;
}

/* Fills and scans operands in GPU memory. The kernels are bandwidth-bound. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <stdlib.h>

extern "C" {
#include "core/random.h"
#include "verify/on_gpu.h"
#include "verify/view.h"
}

enum { THREADS = 256, MOST_BLOCKS = 132 * 16, PATTERN = RIDGE_GUARD_PERIOD };

template <typename T>
__device__ static T rounded(float x);
template <>
__device__ float rounded<float>(float x) {
    return x;
}
template <>
__device__ __nv_bfloat16 rounded<__nv_bfloat16>(float x) {
    return __float2bfloat16_rn(x);
}
template <>
__device__ __half rounded<__half>(float x) {
    return __float2half_rn(x);
}
template <>
__device__ double rounded<double>(float x) {
    return (double)x;
}

template <>
__device__ __nv_fp8_e4m3 rounded<__nv_fp8_e4m3>(float x) {
    return __nv_fp8_e4m3(x);
}
template <>
__device__ __nv_fp8_e5m2 rounded<__nv_fp8_e5m2>(float x) {
    return __nv_fp8_e5m2(x);
}

__device__ static int32_t integer_of(const ridge_recipe &r, uint32_t hash) {
    return (int32_t)(((uint64_t)hash * r.range) >> 32) + r.low;
}

template <typename T>
__device__ static T element_of(const ridge_recipe &r, uint32_t hash) {
    const int32_t k = (int32_t)(hash >> 8) - (1 << 23);
    const float v = r.integer ? (float)integer_of(r, hash) : (float)(2 * k + 1) * 0x1p-24f;
    return rounded<T>(fmaf(r.scale, v, r.shift)); /* the product is exact */
}
template <>
__device__ int32_t element_of<int32_t>(const ridge_recipe &r, uint32_t hash) {
    return integer_of(r, hash);
}
template <>
__device__ int64_t element_of<int64_t>(const ridge_recipe &r, uint32_t hash) {
    return integer_of(r, hash);
}

template <>
__device__ int8_t element_of<int8_t>(const ridge_recipe &r, uint32_t hash) {
    return (int8_t)integer_of(r, hash);
}

/* One thread block writes one block of the generator at a time. */
template <typename T>
__global__ static void fill_input(T *at, int64_t n, ridge_recipe recipe) {
    for (int64_t block = blockIdx.x; block * RIDGE_RANDOM_BLOCK < n; block += gridDim.x) {
        const uint64_t key = ridge_random32_key(recipe.seed, (uint64_t)block);
        const int64_t first = block * RIDGE_RANDOM_BLOCK;
        const uint32_t count = (uint32_t)(n - first < RIDGE_RANDOM_BLOCK ? n - first : RIDGE_RANDOM_BLOCK);
        for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
            const uint32_t hash = ridge_random32(key, i);
            if (std::is_same<T, int32_t>::value && recipe.ends)
                at[first + i] = (T)ridge_end_of(&recipe, first + i, hash);
            else if (std::is_same<T, int32_t>::value && recipe.pattern)
                at[first + i] = (T)ridge_codes_of(hash);
            else
                at[first + i] = element_of<T>(recipe, hash);
        }
    }
}

template <typename T>
__global__ static void fill_poison(T *at, int64_t n, T bits) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        at[i] = bits;
}

typedef struct pattern {
    unsigned char byte[PATTERN]; /* indexed by address modulo its length */
} pattern;

__global__ static void fill_guard(unsigned char *begin, int64_t n, pattern p) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        begin[i] = p.byte[(uintptr_t)(begin + i) % PATTERN];
}

/* The bytes of packed elements that were not written, as a pattern of addresses. */
static pattern packed_poison() {
    pattern p;
    for (int i = 0; i < PATTERN; i++) p.byte[i] = (unsigned char)(RIDGE_PACKED_POISON >> (i % 8 * 8));
    return p;
}

static unsigned blocks_for(int64_t n, int each) {
    int64_t blocks = (n + each - 1) / each;
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    return blocks < 1 ? 1u : (unsigned)blocks;
}

static ridge_status checked(const char *what, ridge_error *error) {
    cudaError_t e = cudaGetLastError();
    return e == cudaSuccess ? RIDGE_OK : ridge_fail(error, RIDGE_FAILED, "%s: %s", what, cudaGetErrorString(e));
}

template <typename T>
static void make_input(const ridge_view &view, const ridge_recipe &recipe, cudaStream_t stream) {
    fill_input<<<blocks_for(view.elements, RIDGE_RANDOM_BLOCK), THREADS, 0, stream>>>((T *)view.base, view.elements,
                                                                                      recipe);
}

/* Types that a GPU has no conversions to: made on the host, and copied. */
static ridge_status copy_input(const ridge_operands *ops, int tensor, const ridge_view &view, ridge_error *error) {
    const size_t bytes = ridge_view_bytes(&view, view.elements);
    void *made = malloc(bytes);
    if (!made) return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for a fill");
    ridge_operands_make(ops, tensor, 0, view.elements, made);
    const ridge_status status = ridge_cuda_copy(view.base, made, bytes, error);
    free(made);
    return status;
}

static void poison_tensor(const ridge_view &view, cudaStream_t stream) {
    const uint64_t bits = ridge_poison_bits(view.dtype);
    const unsigned blocks = blocks_for(view.elements, 8 * THREADS);
    if (ridge_dtype_is_packed(view.dtype))
        fill_guard<<<blocks, THREADS, 0, stream>>>((unsigned char *)view.base,
                                                   (int64_t)ridge_view_bytes(&view, view.elements), packed_poison());
    else if (view.size == 1)
        fill_poison<<<blocks, THREADS, 0, stream>>>((uint8_t *)view.base, view.elements, (uint8_t)bits);
    else if (view.size == 2)
        fill_poison<<<blocks, THREADS, 0, stream>>>((uint16_t *)view.base, view.elements, (uint16_t)bits);
    else if (view.size == 4)
        fill_poison<<<blocks, THREADS, 0, stream>>>((uint32_t *)view.base, view.elements, (uint32_t)bits);
    else
        fill_poison<<<blocks, THREADS, 0, stream>>>((uint64_t *)view.base, view.elements, bits);
}

/* Outputs, and inputs that are not given, as ridge_operands_make has those. */
static bool is_poisoned(const ridge_operands *ops, int tensor) {
    return tensor >= ops->target->n_in || !ridge_spec_given(&ops->target->in[tensor], &ops->c);
}

static ridge_status fill_tensor(const ridge_operands *ops, int tensor, const ridge_view &view, cudaStream_t stream,
                                ridge_error *error) {
    if (view.elements == 0) return RIDGE_OK;
    if (is_poisoned(ops, tensor)) {
        poison_tensor(view, stream);
        return RIDGE_OK;
    }
    if (ops->user && ops->user[tensor].data)
        return ridge_cuda_copy(view.base, ops->user[tensor].data, ridge_view_bytes(&view, view.elements), error);
    const ridge_recipe recipe = ridge_operands_recipe(ops, tensor);
    switch (view.dtype) {
        case RIDGE_F32: make_input<float>(view, recipe, stream); break;
        case RIDGE_BF16: make_input<__nv_bfloat16>(view, recipe, stream); break;
        case RIDGE_F16: make_input<__half>(view, recipe, stream); break;
        case RIDGE_F64: make_input<double>(view, recipe, stream); break;
        case RIDGE_I32: make_input<int32_t>(view, recipe, stream); break;
        case RIDGE_I64: make_input<int64_t>(view, recipe, stream); break;
        case RIDGE_I8: make_input<int8_t>(view, recipe, stream); break;
        case RIDGE_E4M3: make_input<__nv_fp8_e4m3>(view, recipe, stream); break;
        case RIDGE_E5M2: make_input<__nv_fp8_e5m2>(view, recipe, stream); break;
        default: return copy_input(ops, tensor, view, error);
    }
    return RIDGE_OK;
}

/* The guards before and after a dense tensor. */
typedef struct guards {
    char *front, *rear;
    int64_t front_bytes, rear_bytes;
    pattern p;
} guards;

static guards guards_of(const ridge_operands *ops, int tensor, const ridge_view &view) {
    unsigned char twice[2 * RIDGE_GUARD_PERIOD];
    guards g;
    const char *begin = tensor ? ridge_operands_area_end(ops, tensor - 1) : ops->memory;
    ridge_guard_pattern(ops, tensor, twice);
    memcpy(g.p.byte, twice, PATTERN);
    g.front = ops->memory + (begin - ops->memory);
    g.front_bytes = view.base - g.front;
    g.rear = ridge_view_at(&view, view.span);
    g.rear_bytes = ridge_operands_area_end(ops, tensor) - g.rear;
    return g;
}

extern "C" ridge_status ridge_gpu_fill(ridge_operands *ops, uint64_t seed, ridge_stream *s, ridge_error *error) {
    cudaStream_t stream = (cudaStream_t)ridge_stream_handle(s);
    ops->kind = RIDGE_RANDOM;
    ops->seed = seed;
    for (int t = 0; t < ridge_operands_count(ops); t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        RIDGE_TRY(fill_tensor(ops, t, view, stream, error));
        const guards g = guards_of(ops, t, view);
        fill_guard<<<1, THREADS, 0, stream>>>((unsigned char *)g.front, g.front_bytes, g.p);
        fill_guard<<<1, THREADS, 0, stream>>>((unsigned char *)g.rear, g.rear_bytes, g.p);
    }
    return checked("filling operands", error);
}

/* ---- scanning --------------------------------------------------------------------------------------------------- */

typedef struct found {
    unsigned long long poison[RIDGE_MAX_OUTPUTS]; /* first unwritten element; all ones: none */
    unsigned long long guard[2 * (RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS)];
    int n_odd;
    long long odd[RIDGE_ODD_ROWS];
} found;
static_assert(sizeof(found) <= RIDGE_GPU_SCAN_BYTES, "a finding fits into its space");

/* Maps a memory-order index to its row. */
typedef struct row_of {
    int64_t row, rows;
    bool column_major;
    int lead;
} row_of;

template <typename T>
__global__ static void scan_output(const T *at, int64_t n, row_of rows, T poison, T exponent, int output, found *f) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const T bits = at[i];
        if (bits == poison) atomicMin(&f->poison[output], (unsigned long long)i);
        if ((T)(bits & exponent) != exponent) continue;
        /* A row with many non-finite elements should not fill the list: usually only the first one found is listed. */
        const long long r = (rows.column_major ? i % rows.rows : i / rows.row) * RIDGE_MAX_RANK + rows.lead;
        const int have = *(volatile int *)&f->n_odd;
        bool known = have >= RIDGE_ODD_ROWS;
        for (int k = 0; k < have && k < RIDGE_ODD_ROWS; k++) known = known || ((volatile long long *)f->odd)[k] == r;
        if (known) continue;
        const int place = atomicAdd(&f->n_odd, 1);
        if (place < RIDGE_ODD_ROWS) f->odd[place] = r;
    }
}

/* Eight aligned bytes of poison were not written. */
__global__ static void scan_packed(const char *at, int64_t bytes, int output, found *f) {
    const int64_t head = (int64_t)(-(uintptr_t)at % 8);
    const uint64_t *words = (const uint64_t *)(at + head);
    const int64_t n = bytes > head ? (bytes - head) / 8 : 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        if (words[i] == RIDGE_PACKED_POISON) atomicMin(&f->poison[output], (unsigned long long)(2 * (head + 8 * i)));
}

__global__ static void scan_guard(const unsigned char *begin, int64_t n, pattern p, unsigned long long *where) {
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        if (begin[i] != p.byte[(uintptr_t)(begin + i) % PATTERN]) atomicMin(where, (unsigned long long)i);
}

template <typename T>
static void look_at(const ridge_view &view, int output, found *f, cudaStream_t stream) {
    const row_of rows = {view.row, view.rows, view.column_major, view.spec->dim[0]};
    scan_output<<<blocks_for(view.elements, 8 * THREADS), THREADS, 0, stream>>>(
        (const T *)view.base, view.elements, rows, (T)ridge_poison_bits(view.dtype), (T)ridge_scan_odd_bits(view.dtype),
        output, f);
}

static void enqueue_scan(const ridge_operands *ops, found *f, cudaStream_t stream) {
    for (int t = 0; t < ridge_operands_count(ops); t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        const guards g = guards_of(ops, t, view);
        scan_guard<<<1, THREADS, 0, stream>>>((unsigned char *)g.front, g.front_bytes, g.p, &f->guard[2 * t]);
        scan_guard<<<1, THREADS, 0, stream>>>((unsigned char *)g.rear, g.rear_bytes, g.p, &f->guard[2 * t + 1]);
        const int output = t - ops->target->n_in;
        if (output < 0 || view.elements == 0) continue;
        if (ridge_dtype_is_packed(view.dtype))
            scan_packed<<<blocks_for(view.elements, 128 * THREADS), THREADS, 0, stream>>>(
                view.base, (int64_t)ridge_view_bytes(&view, view.elements), output, f);
        else if (view.size == 1)
            look_at<uint8_t>(view, output, f, stream);
        else if (view.size == 2)
            look_at<uint16_t>(view, output, f, stream);
        else if (view.size == 4)
            look_at<uint32_t>(view, output, f, stream);
        else
            look_at<uint64_t>(view, output, f, stream);
    }
}

/* Converts a finding to the host's form. */
static void tell(const ridge_operands *ops, const found &f, ridge_gpu_finding *finding) {
    const unsigned long long none = ~0ull;
    *finding = ridge_gpu_finding{};
    finding->scan.poison_output = -1;
    for (int o = ops->target->n_out - 1; o >= 0; o--)
        if (f.poison[o] != none) finding->scan.poison_output = o, finding->scan.poison_place = (int64_t)f.poison[o];
    finding->scan.n_odd = f.n_odd < RIDGE_ODD_ROWS ? f.n_odd : RIDGE_ODD_ROWS;
    for (int i = 0; i < finding->scan.n_odd; i++) finding->scan.odd[i] = f.odd[i];
    for (int t = 0; t < ridge_operands_count(ops) && !finding->guard; t++) {
        const ridge_view view = ridge_operands_view(ops, t);
        const guards g = guards_of(ops, t, view);
        if (f.guard[2 * t] != none)
            finding->guard_where = (int64_t)f.guard[2 * t] - g.front_bytes;
        else if (f.guard[2 * t + 1] != none)
            finding->guard_where = g.rear - view.base + (int64_t)f.guard[2 * t + 1];
        else
            continue;
        finding->guard = true;
        finding->guard_tensor = t;
    }
}

extern "C" ridge_status ridge_gpu_scan(const ridge_operands *ops, void *space, ridge_stream *s,
                                       ridge_gpu_finding *finding, ridge_error *error) {
    cudaStream_t stream = (cudaStream_t)ridge_stream_handle(s);
    found f;
    memset(&f, 0xff, sizeof f);
    f.n_odd = 0;
    RIDGE_TRY(ridge_stream_wait(s, error));
    RIDGE_TRY(ridge_cuda_copy(space, &f, sizeof f, error));
    enqueue_scan(ops, (found *)space, stream);
    RIDGE_TRY(checked("scanning operands", error));
    RIDGE_TRY(ridge_stream_wait(s, error));
    RIDGE_TRY(ridge_cuda_copy(&f, space, sizeof f, error));
    tell(ops, f, finding);
    return RIDGE_OK;
}

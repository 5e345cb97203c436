#include "peer/triton.h"

const char *triton_absent(const ridge_case *c) {
    (void)c;
    return triton_kernel_count ? NULL : "not built: Triton was not found (pip install triton, then configure again)";
}

const char *triton_holds(const char *name, const ridge_case *c, int64_t columns) {
    if (!triton_kernel_count) return triton_absent(c);
    const triton_want want = {name, c->dtype, c->dim[0], columns, false};
    if (c->dtype == RIDGE_TF32) return "for f32 and 16 bits: Triton's tf32 cuts operands off";
    return triton_find(want) ? NULL : "for fewer columns, which a program holds";
}

static int64_t tiles(int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; }

int64_t triton_programs(const triton_kernel *k, int64_t rows, int64_t columns) {
    return tiles(rows, k->rows) * (k->whole ? 1 : tiles(columns, k->columns));
}

enum { SMS = 132 }; /* of an H100 or H200, for which these are compiled */

/* Whether a is to be taken before b. */
static bool is_better(const triton_kernel *a, const triton_kernel *b, const triton_want *want) {
    if (a->whole && a->columns != b->columns) return a->columns < b->columns;
    const bool a_fills = triton_programs(a, want->rows, want->columns) >= SMS;
    const bool b_fills = triton_programs(b, want->rows, want->columns) >= SMS;
    const bool a_is_larger = a->rows * a->columns > b->rows * b->columns;
    if (a_fills != b_fills) return a_fills;
    return a_is_larger == a_fills;
}

const triton_kernel *triton_find(triton_want want) {
    const triton_kernel *best = NULL;
    for (int i = 0; i < triton_kernel_count; i++) {
        const triton_kernel *k = &triton_kernels[i];
        if (k->dtype != want.dtype || k->aligned != want.aligned || strcmp(k->name, want.name) != 0) continue;
        if (k->whole && k->columns < want.columns) continue;
        if (!best || is_better(k, best, &want)) best = k;
    }
    return best;
}

#ifdef RIDGE_HAVE_CUDA
#include <cuda_runtime_api.h>
#include <pthread.h>

/* A handle for each instance, of all devices; NULL: not loaded. Libraries stay loaded, as other kernels do. */
enum { MOST = 512 };
static cudaKernel_t handles[MOST];
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static ridge_status refused(cudaError_t answer, const triton_kernel *k, const char *call) {
    if (answer == cudaSuccess) return RIDGE_OK;
    (void)cudaGetLastError();
    ridge_note_why("%s: %s: %s", k->symbol, call, cudaGetErrorString(answer));
    return answer == cudaErrorMemoryAllocation ? RIDGE_NO_MEMORY : RIDGE_FAILED;
}

static ridge_status load_locked(const triton_kernel *k, cudaKernel_t *kernel) {
    cudaLibrary_t library;
    if (*kernel) return RIDGE_OK;
    RIDGE_TRY(refused(cudaLibraryLoadData(&library, k->image, NULL, NULL, 0, NULL, NULL, 0), k, "cudaLibraryLoadData"));
    return refused(cudaLibraryGetKernel(kernel, library, k->symbol), k, "cudaLibraryGetKernel");
}

static ridge_status handle_of(const triton_kernel *k, const void **kernel) {
    const size_t at = (size_t)(k - triton_kernels);
    if (at >= MOST) return RIDGE_FAILED; /* more rows than there is room for: no build has */
    (void)pthread_mutex_lock(&loading);
    const ridge_status status = load_locked(k, &handles[at]);
    *kernel = handles[at];
    (void)pthread_mutex_unlock(&loading);
    return status;
}

ridge_status triton_load(triton_want want) {
    for (int aligned = 0; aligned < 2; aligned++) {
        want.aligned = aligned;
        const triton_kernel *k = triton_find(want);
        const void *kernel;
        if (k) RIDGE_TRY(handle_of(k, &kernel));
    }
    return RIDGE_OK;
}

/* Triton's kernels have two arguments more, for scratch that none of these needs. */
ridge_status triton_launch(const triton_kernel *k, int64_t programs, void **arguments, int n, void *stream) {
    enum { MOST_ARGUMENTS = 16 };
    void *all[MOST_ARGUMENTS + 2], *none = NULL;
    const void *kernel = NULL;
    if (!k || programs > INT32_MAX) return RIDGE_UNSUPPORTED;
    if (n != k->arguments || n > MOST_ARGUMENTS) return RIDGE_FAILED;
    if (programs < 1) return RIDGE_OK;
    RIDGE_TRY(handle_of(k, &kernel));
    if (k->shared > 48 * 1024)
        RIDGE_TRY(refused(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, k->shared), k,
                          "cudaFuncSetAttribute"));
    memcpy(all, arguments, (size_t)n * sizeof *all);
    all[n] = all[n + 1] = &none;
    const dim3 grid = {(unsigned)programs, 1, 1}, threads = {(unsigned)k->threads, 1, 1};
    return refused(cudaLaunchKernel(kernel, grid, threads, all, (size_t)k->shared, stream), k, "cudaLaunchKernel");
}

#else

ridge_status triton_load(triton_want want) {
    (void)want;
    return RIDGE_UNSUPPORTED;
}
ridge_status triton_launch(const triton_kernel *k, int64_t programs, void **arguments, int n, void *stream) {
    (void)k, (void)programs, (void)arguments, (void)n, (void)stream;
    return RIDGE_UNSUPPORTED;
}

#endif

/* OpenBLAS through its CBLAS interface with 32-bit integers. */
#include "peer/openblas.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "peer/library.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* CBLAS enumerators */

static void (*cblas_sgemm)(int order, int transa, int transb, int m, int n, int k, float alpha, const float *a, int lda,
                           const float *b, int ldb, float beta, float *c, int ldc);
static void (*openblas_set_num_threads)(int threads);
static bool loaded;

static void load(void) {
    static const char *const sonames[] = {"libopenblas.so.0", "libopenblas.so", NULL};
    static const peer_symbol symbols[] = {{"cblas_sgemm", &cblas_sgemm, false},
                                          {"openblas_set_num_threads", &openblas_set_num_threads, false}};
    loaded = peer_library_open(sonames, symbols, 2);
}

/* OpenBLAS starts its threads when it is loaded or first used. They inherit the CPU affinity of the calling thread.
 * That thread may be pinned already (OpenMP pins it when oneDNN is loaded first); then all would share one core. */
static void start_threads(void (*start)(void)) {
    cpu_set_t before, all;
    CPU_ZERO(&all);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) CPU_SET(cpu, &all);
    const bool known = pthread_getaffinity_np(pthread_self(), sizeof before, &before) == 0;
    if (known) (void)pthread_setaffinity_np(pthread_self(), sizeof all, &all);
    start();
    if (known) (void)pthread_setaffinity_np(pthread_self(), sizeof before, &before);
}

/* Large enough that every thread gets a part. */
static void first_use(void) {
    enum { N = 256 };
    float *abc = calloc(3 * N * N, sizeof *abc);
    if (abc) (void)openblas_sgemm(N, N, N, abc, N, abc + N * N, N, abc + 2 * N * N, N);
    free(abc);
}

static void load_unpinned(void) { start_threads(load); }

const char *openblas_unavailable(const ridge_case *c) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)c;
    pthread_once(&once, load_unpinned);
    return loaded ? NULL : "libopenblas.so.0 not found: apt install libopenblas0-pthread";
}

ridge_status openblas_prepare(const ridge_case *c, int threads, void **plan) {
    *plan = NULL;
    if (openblas_unavailable(c)) return RIDGE_UNSUPPORTED;
    openblas_set_num_threads(threads);
    start_threads(first_use);
    return RIDGE_OK;
}

ridge_status openblas_sgemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                            float *c, int64_t ldc) {
    return openblas_product(false, false, m, n, k, a, lda, b, ldb, c, ldc);
}

ridge_status openblas_product(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                              const float *b, int64_t ldb, float *c, int64_t ldc) {
    if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX || lda > INT32_MAX || ldb > INT32_MAX || ldc > INT32_MAX)
        return RIDGE_INVALID;
    cblas_sgemm(ROW_MAJOR, turn_a ? TRANSPOSE : NO_TRANSPOSE, turn_b ? TRANSPOSE : NO_TRANSPOSE, (int)m, (int)n, (int)k,
                1.0f, a, (int)lda, b, (int)ldb, 0.0f, c, (int)ldc);
    return RIDGE_OK;
}

/* oneDNN's plain sgemm and the OpenMP runtime underneath it. */
#include "peer/onednn.h"

#include <pthread.h>

#include "peer/library.h"

/* status 0 is dnnl_success; dnnl_dim_t is int64_t. */
static int (*dnnl_sgemm)(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                         int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
/* OpenMP, when oneDNN was built with it; libgomp and libomp both offer GOMP_parallel. */
static void (*omp_set_num_threads)(int threads);
static int (*omp_get_thread_num)(void);
static int (*omp_get_num_threads)(void);
static void (*gomp_parallel)(void (*body)(void *), void *arg, unsigned threads, unsigned flags);
static bool loaded;

static void load(void) {
    static const char *const sonames[] = {"libdnnl.so.2", "libdnnl.so.3", "libdnnl.so", NULL};
    static const peer_symbol symbols[] = {{"dnnl_sgemm", &dnnl_sgemm, false},
                                          {"omp_set_num_threads", &omp_set_num_threads, true},
                                          {"omp_get_thread_num", &omp_get_thread_num, true},
                                          {"omp_get_num_threads", &omp_get_num_threads, true},
                                          {"GOMP_parallel", &gomp_parallel, true}};
    loaded = peer_library_open(sonames, symbols, 5);
}

const char *onednn_unavailable(const ridge_case *c) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)c;
    pthread_once(&once, load);
    return loaded ? NULL : "libdnnl.so not found: apt install libdnnl-dev";
}

ridge_status onednn_prepare(const ridge_case *c, int threads, void **plan) {
    *plan = NULL;
    if (onednn_unavailable(c)) return RIDGE_UNSUPPORTED;
    if (omp_set_num_threads) omp_set_num_threads(threads);
    return RIDGE_OK;
}

ridge_status onednn_sgemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
                          float *c, int64_t ldc) {
    return onednn_product(false, false, m, n, k, a, lda, b, ldb, c, ldc);
}

ridge_status onednn_product(bool turn_a, bool turn_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                            const float *b, int64_t ldb, float *c, int64_t ldc) {
    if (m == 0 || n == 0) return RIDGE_OK;
    int status = dnnl_sgemm(turn_a ? 'T' : 'N', turn_b ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, ldc);
    return status == 0 ? RIDGE_OK : RIDGE_FAILED;
}

typedef struct parallel_work {
    ridge_team_fn body;
    void *arg;
} parallel_work;

static void enter(void *arg) {
    const parallel_work *work = arg;
    work->body(work->arg, omp_get_thread_num(), omp_get_num_threads());
}

void onednn_parallel(ridge_team_fn body, void *arg) {
    if (!gomp_parallel || !omp_get_thread_num || !omp_get_num_threads) {
        body(arg, 0, 1);
        return;
    }
    parallel_work work = {body, arg};
    gomp_parallel(enter, &work, 0, 0); /* 0 threads: as many as omp_set_num_threads said */
}

/* What a kernel has to ask for before its launch: dynamic shared memory beyond 48 KiB, clusters of more than 8 blocks. CUDA
 * keeps a grant by device and by the kernel's handle, of which a template's kernel has another in each file; so are grants kept
 * here. The one launcher (launch.cuh) asks. */
#ifndef RIDGE_KERNELS_CUDA_HOST_GRANTS_CUH
#define RIDGE_KERNELS_CUDA_HOST_GRANTS_CUH

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>

namespace ridge {

class grants {
    static constexpr unsigned MOST = 1 << 14, TRIES = 64; /* what finds no place is asked for at every launch */
    struct grant {
        const void *kernel; /* written last; NULL: free */
        int device, bytes, clusters;
    };
    static inline grant all[MOST];
    static inline pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

    /* The kernel's, or a free place for it; NULL: none. By GCC's atomic builtins, as in per_device.cuh. */
    static grant *find(const void *kernel, int device, bool or_free) {
        const unsigned first = (unsigned)(((uintptr_t)kernel >> 4) * 2654435761u) + 40503u * (unsigned)device;
        for (unsigned i = 0; i < TRIES; i++) {
            grant *const g = &all[(first + i) % MOST];
            const void *const at = __atomic_load_n(&g->kernel, __ATOMIC_ACQUIRE);
            if (!at) return or_free ? g : NULL;
            if (at == kernel && g->device == device) return g;
        }
        return NULL;
    }

   public:
    /* Asks with set() unless the kernel has so much already. Grants only grow: a thread that wants less takes nothing from one
     * that is about to launch with more. A refusal is asked for again. */
    template <typename Set>
    static cudaError_t ask(const void *kernel, int grant::*what, int much, Set set) {
        int device = 0;
        if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) return e;
        const grant *const known = find(kernel, device, false);
        if (known && __atomic_load_n(&(known->*what), __ATOMIC_ACQUIRE) >= much) return cudaSuccess;
        pthread_mutex_lock(&writing);
        grant *const g = find(kernel, device, true);
        const bool granted = g && g->kernel && g->*what >= much; /* by another thread, meanwhile */
        const cudaError_t answer = granted ? cudaSuccess : set();
        if (!granted && g && answer == cudaSuccess) {
            g->device = device;
            __atomic_store_n(&(g->*what), much, __ATOMIC_RELEASE);
            __atomic_store_n(&g->kernel, kernel, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&writing);
        return answer;
    }

    static cudaError_t shared(const void *kernel, int bytes) {
        return ask(kernel, &grant::bytes, bytes,
                   [&] { return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes); });
    }
    static cudaError_t large_clusters(const void *kernel) {
        return ask(kernel, &grant::clusters, 1,
                   [&] { return cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1); });
    }
};

inline cudaError_t allow_shared(const void *kernel, int bytes) { return grants::shared(kernel, bytes); }
inline cudaError_t allow_large_clusters(const void *kernel) { return grants::large_clusters(kernel); }

}  // namespace ridge

#endif

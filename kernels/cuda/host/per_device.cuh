/* Values found once for each device, such as clusters that fit: one device's answer says nothing about the next. */
#ifndef RIDGE_KERNELS_CUDA_HOST_PER_DEVICE_CUH
#define RIDGE_KERNELS_CUDA_HOST_PER_DEVICE_CUH

#include <cuda_runtime.h>

namespace ridge {

/* For static storage: zero-initialized, no destructor. T is small and copied out. */
template <typename T>
class per_device {
    static constexpr int MOST = 64; /* devices beyond are asked at every call */
    enum state : int { UNKNOWN, WRITING, KNOWN };
    struct entry {
        int state; /* by GCC's atomic builtins: <atomic> would add a second to the compilation of every file */
        T value;
    };
    entry entries[MOST];

   public:
    /* find() of the current device. An answer is kept if keep(answer); a refusal that may be temporary, such as for
     * want of memory, is not. Threads may call at the same time: find() then runs in each. */
    template <typename Find, typename Keep>
    T get(Find find, Keep keep) {
        int device = -1;
        if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= MOST) return find();
        entry &e = entries[device];
        if (__atomic_load_n(&e.state, __ATOMIC_ACQUIRE) == KNOWN) return e.value;
        const T found = find();
        int unknown = UNKNOWN;
        if (keep(found) &&
            __atomic_compare_exchange_n(&e.state, &unknown, WRITING, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            e.value = found;
            __atomic_store_n(&e.state, KNOWN, __ATOMIC_RELEASE);
        }
        return found;
    }
    template <typename Find>
    T get(Find find) {
        return get(find, [](const T &) { return true; });
    }
};

}  // namespace ridge

#endif
/* Equal shares of rows or steps. */
#ifndef RIDGE_KERNELS_CUDA_SKINNY_SHARES_CUH
#define RIDGE_KERNELS_CUDA_SKINNY_SHARES_CUH

#include <cuda_runtime.h>
#include <stdint.h>

namespace ridge {

/* `all` things in as many shares as there are, as equal as can be. (Divisions cost a kernel hundreds of cycles.) */
struct linear_shares {
    int each, more; /* the first `more` shares have one more */

    __host__ __device__ int begin(int share) const { return share * each + min(share, more); }
};
inline linear_shares linear_shares_of(int64_t all, int shares) { return {(int)(all / shares), (int)(all % shares)}; }

}  // namespace ridge

#endif

/* Layer norm of fp32 rows, and GELU, as a launch of its own: behind products that leave fp32, and in steps for a baseline. */
#ifndef RIDGE_GEMM_NORM_ROWS_CUH
#define RIDGE_GEMM_NORM_ROWS_CUH

#include "cuda/host/launch.cuh"

namespace ridge {

constexpr float NORM_RESCUE = 0x1p-100f; /* brings the squares of any finite row into range */

/* gamma and beta are of type T; y, of type To, may be h where To is float. */
template <typename T, typename To>
struct norm_rows {
    const float *h;
    int64_t h_line, rows, columns;
    const T *gamma, *beta;
    To *y;
    int64_t y_line;
    bool activates; /* y = gelu(…) */

    ridge_status run(cudaStream_t stream) const;
};

}  // namespace ridge

#endif

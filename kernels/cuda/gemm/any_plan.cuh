/* The tiles of gemm/any_plan.h as types, and the current device's limits. Host code. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_ANY_PLAN_CUH
#define RIDGE_KERNELS_CUDA_GEMM_ANY_PLAN_CUH

#include "cuda/gemm/any_tile.cuh"
#include "cuda/host/launch.cuh"

extern "C" {
#include "cuda/gemm/any_plan.h"
}

namespace ridge {

template <class S>
constexpr bool any_tiling_is(any_tiles tiles) {
    const any_tiling &t = any_tilings[tiles];
    return t.side == S::side && t.span == any_place<S>::span && t.turn == S::groups * S::slice;
}

static_assert(any_tiling_is<any_small>(ANY_SMALL) && any_tiling_is<any_medium>(ANY_MEDIUM) &&
              any_tiling_is<any_large>(ANY_LARGE));

template <typename F>
auto with_any_shape(any_tiles tiles, F f) {
    switch (tiles) {
        case ANY_SMALL: return f.template operator()<any_small>();
        case ANY_MEDIUM: return f.template operator()<any_medium>();
        default: return f.template operator()<any_large>();
    }
}

inline any_limits any_device(void) {
    const int processors = device_limit(cudaDevAttrMultiProcessorCount);
    return {processors > 0 ? processors : 1, device_capability() >= 90,
            device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin)};
}

}  // namespace ridge

#endif

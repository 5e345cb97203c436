/* CUTLASS's block-scaled collectives for tcgen05, made by its builders: the peer of this target. Compiled with its headers where
 * they were found. */
#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"

extern "C" {
#include "nvfp4_scaled_gemm.h"
RIDGE_CUDA_DECLARE(nvfp4_scaled_gemm_cuda_cutlass_blocks);
RIDGE_CUDA_DECLARE(nvfp4_scaled_gemm_cuda_cutlass_pairs);
}

#ifdef RIDGE_HAVE_CUTLASS

/* Warnings within its headers are not this project's. */
#pragma nv_diag_suppress 177, 186, 20012
#include <cutlass/cutlass.h>
#include <cutlass/detail/sm100_blockscaled_layout.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/sm90_visitor_tma_warpspecialized.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "peer/cutlass.cuh"

using namespace ridge;

namespace {

/* A tile of all blocks that share a product, a cluster, and the schedules of main loop and epilogue. */
template <class Tile, class Cluster, class MainLoop, class Epilogue>
struct configuration {
    template <typename T>
    struct of {
        using E = typename cutlass_element<T>::type;
        using codes = cutlass::nv_float4_t<cutlass::float_e2m1_t>;
        using row_major = cutlass::layout::RowMajor;
        using column_major = cutlass::layout::ColumnMajor;
        static constexpr int pieces = 8, code_pieces = 32; /* elements of 16 bytes */
        using scalar = cute::Stride<cute::_0, cute::_0, cute::_0>;
        /* Sums times the product of both tensors' scales, which are in device memory. */
        using scaled = cutlass::epilogue::fusion::Sm90EVT<
            cutlass::epilogue::fusion::Sm90Compute<cutlass::multiplies, E, float,
                                                   cutlass::FloatRoundStyle::round_to_nearest>,
            cutlass::epilogue::fusion::Sm90ScalarBroadcast<float, scalar, 2>, cutlass::epilogue::fusion::Sm90AccFetch>;
        using epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
            cutlass::arch::Sm100, cutlass::arch::OpClassBlockScaledTensorOp, Tile, Cluster,
            cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, row_major, pieces, E, row_major,
            pieces, Epilogue, scaled>::CollectiveOp;
        using stages = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
            sizeof(typename epilogue::SharedStorage))>;
        using main_loop = typename cutlass::gemm::collective::CollectiveBuilder<
            cutlass::arch::Sm100, cutlass::arch::OpClassBlockScaledTensorOp, codes, row_major, code_pieces, codes,
            column_major, code_pieces, float, Tile, Cluster, stages, MainLoop>::CollectiveOp;
        using kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, main_loop, epilogue>;
        using gemm = cutlass::gemm::device::GemmUniversalAdapter<kernel>;
    };
};

template <typename Gemm>
ridge_status run(const ridge_call *call) {
    using main_loop = typename Gemm::GemmKernel::CollectiveMainloop;
    using layouts = typename main_loop::Sm1xxBlkScaledConfig;
    using D = typename Gemm::ElementD;
    const int m = (int)call->dim[SCALED_M], n = (int)call->dim[SCALED_N], k = (int)call->dim[SCALED_K];
    const auto shape = cute::make_shape(m, n, k, 1);
    const auto codes = [&](int i) { return (const typename main_loop::ArrayElementA *)ridge_data(&call->in[i]); };
    const auto scales = [&](int i) { return (const typename main_loop::ElementSF *)ridge_data(&call->in[i]); };
    const auto tensor = [&](int i) { return (const float *)ridge_data(&call->in[i]); };
    const auto line = [&](const DLTensor &t) { return ridge_row_stride(&t); };
    const cute::Stride<int64_t, cute::_1, int64_t> of_c = {line(call->out[0]), {}, 0};
    const typename Gemm::Arguments arguments = {
        cutlass::gemm::GemmUniversalMode::kGemm,
        shape,
        {codes(SCALED_A),
         {line(call->in[SCALED_A]), {}, 0},
         codes(SCALED_B),
         {line(call->in[SCALED_B]), {}, 0},
         scales(SCALED_A_SCALE),
         layouts::tile_atom_to_shape_SFA(shape),
         scales(SCALED_B_SCALE),
         layouts::tile_atom_to_shape_SFB(shape)},
        {{{{}, {tensor(SCALED_A_TENSOR), tensor(SCALED_B_TENSOR)}}, {}, {}},
         nullptr,
         of_c,
         (D *)ridge_data(&call->out[0]),
         of_c},
    };
    return cutlass_launch<Gemm>(arguments, stream_of(call));
}

template <class Configuration>
ridge_status run_as(const ridge_call *call) {
    if (call->dim[SCALED_M] == 0) return RIDGE_OK;
    if (call->dtype == RIDGE_BF16) return run<typename Configuration::template of<__nv_bfloat16>::gemm>(call);
    return call->dtype == RIDGE_F16 ? run<typename Configuration::template of<__half>::gemm>(call) : RIDGE_UNSUPPORTED;
}

using cute::_1;
using cute::_128;
using cute::_2;
using cute::_256;
using blocks =
    configuration<cute::Shape<_128, _128, _256>, cute::Shape<_1, _1, _1>,
                  cutlass::gemm::KernelTmaWarpSpecialized1SmNvf4Sm100, cutlass::epilogue::TmaWarpSpecialized1Sm>;
using pairs =
    configuration<cute::Shape<_256, _256, _256>, cute::Shape<_2, _1, _1>,
                  cutlass::gemm::KernelTmaWarpSpecialized2SmNvf4Sm100, cutlass::epilogue::TmaWarpSpecialized2Sm>;

}  // namespace

extern "C" ridge_status nvfp4_scaled_gemm_cuda_cutlass_blocks(const ridge_call *call) { return run_as<blocks>(call); }
extern "C" ridge_status nvfp4_scaled_gemm_cuda_cutlass_pairs(const ridge_call *call) { return run_as<pairs>(call); }

#else

extern "C" ridge_status nvfp4_scaled_gemm_cuda_cutlass_blocks(const ridge_call *) { return RIDGE_UNSUPPORTED; }
extern "C" ridge_status nvfp4_scaled_gemm_cuda_cutlass_pairs(const ridge_call *) { return RIDGE_UNSUPPORTED; }

#endif

/* CUTLASS's collectives for Hopper, made by its builders: see README.md. Compiled with its headers where they were found. */
#include "cuda/gemm/call.cuh"

extern "C" {
#include "ridge/target.h"
RIDGE_CUDA_DECLARE(cutlass_gemm_cuda_automatic);
RIDGE_CUDA_DECLARE(cutlass_gemm_cuda_pingpong);
RIDGE_CUDA_DECLARE(cutlass_gemm_cuda_cooperative);
}

#ifdef RIDGE_HAVE_CUTLASS

/* Warnings within its headers are not this project's. */
#pragma nv_diag_suppress 177, 186, 20012
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "peer/cutlass.cuh"

using namespace ridge;

namespace {

namespace schedule = cutlass::gemm; /* KernelTmaWarpSpecialized… */

/* A tile, a cluster and the schedules of main loop and epilogue: what CUTLASS calls a configuration. */
template <class Tile, class Cluster, class MainLoop, class Epilogue>
struct configuration {
    template <typename T>
    struct of {
        using E = typename cutlass_element<T>::type;
        using row_major = cutlass::layout::RowMajor;
        static constexpr int pieces = 8; /* elements of 16 bytes */
        using epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
            cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
            cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, row_major, pieces, E, row_major,
            pieces, Epilogue>::CollectiveOp;
        using stages = cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
            sizeof(typename epilogue::SharedStorage))>;
        using main_loop =
            typename cutlass::gemm::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,
                                                                  E, row_major, pieces, E, row_major, pieces, float,
                                                                  Tile, Cluster, stages, MainLoop>::CollectiveOp;
        using kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, main_loop, epilogue>;
        using gemm = cutlass::gemm::device::GemmUniversalAdapter<kernel>;
    };
};

template <typename Gemm>
ridge_status run(const matmul_call &m) {
    using E = typename Gemm::ElementA;
    const int rows = (int)m.c.rows, columns = (int)m.c.columns, depth = (int)m.a.columns;
    const typename Gemm::Arguments arguments = {
        cutlass::gemm::GemmUniversalMode::kGemm,
        {rows, columns, depth, 1},
        {(const E *)m.a.base, {m.a.line, cute::Int<1>{}, 0}, (const E *)m.b.base, {cute::Int<1>{}, m.b.line, 0}},
        {{1.0f, 0.0f}, nullptr, {m.c.line, cute::Int<1>{}, 0}, (E *)m.c.base, {m.c.line, cute::Int<1>{}, 0}},
    };
    return cutlass_launch<Gemm>(arguments, m.stream);
}

template <class Configuration>
ridge_status run_as(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        return run<typename Configuration::template of<decltype(type)>::gemm>(m);
    });
}

using cute::_1;
using cute::_128;
using cute::_2;
using cute::_256;
using cute::_64;
using automatic =
    configuration<cute::Shape<_128, _128, _64>, cute::Shape<_1, _1, _1>, schedule::collective::KernelScheduleAuto,
                  cutlass::epilogue::collective::EpilogueScheduleAuto>;
using pingpong = configuration<cute::Shape<_64, _128, _64>, cute::Shape<_2, _1, _1>,
                               schedule::KernelTmaWarpSpecializedPingpong, cutlass::epilogue::TmaWarpSpecialized>;
using cooperative =
    configuration<cute::Shape<_128, _256, _64>, cute::Shape<_2, _1, _1>, schedule::KernelTmaWarpSpecializedCooperative,
                  cutlass::epilogue::TmaWarpSpecializedCooperative>;

}  // namespace

extern "C" ridge_status cutlass_gemm_cuda_automatic(const ridge_call *call) { return run_as<automatic>(call); }
extern "C" ridge_status cutlass_gemm_cuda_pingpong(const ridge_call *call) { return run_as<pingpong>(call); }
extern "C" ridge_status cutlass_gemm_cuda_cooperative(const ridge_call *call) { return run_as<cooperative>(call); }

#else

extern "C" ridge_status cutlass_gemm_cuda_automatic(const ridge_call *) { return RIDGE_UNSUPPORTED; }
extern "C" ridge_status cutlass_gemm_cuda_pingpong(const ridge_call *) { return RIDGE_UNSUPPORTED; }
extern "C" ridge_status cutlass_gemm_cuda_cooperative(const ridge_call *) { return RIDGE_UNSUPPORTED; }

#endif

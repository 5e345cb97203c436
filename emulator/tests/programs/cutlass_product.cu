// D = 2 A B + C by CUTLASS's warp-specialized kernels for sm_90, unchanged: TMA, multicast in a cluster, mbarrier
// pipelines, wgmma, stmatrix and tensor stores. Small integers, so that sums are exact.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/util/packed_stride.hpp"

using half_type = cutlass::half_t;
using rows = cutlass::layout::RowMajor;
using columns = cutlass::layout::ColumnMajor;
namespace gemm = cutlass::gemm;
namespace epilogue = cutlass::epilogue;

template <class Schedule, class EpilogueSchedule, class Cluster>
struct product {
    using Tile = cute::Shape<cute::_128, cute::_128, cute::_64>;
    using Epilogue = typename epilogue::collective::CollectiveBuilder<
        cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster, epilogue::collective::EpilogueTileAuto,
        float, float, half_type, rows, 8, half_type, rows, 8, EpilogueSchedule>::CollectiveOp;
    using Stages = gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>;
    using Main = typename gemm::collective::CollectiveBuilder<cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp,
                                                              half_type, rows, 8, half_type, columns, 8, float, Tile,
                                                              Cluster, Stages, Schedule>::CollectiveOp;
    using Kernel = gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Main, Epilogue>;
    using Gemm = gemm::device::GemmUniversalAdapter<Kernel>;
};

struct matrix {
    int rows, columns;
    half_type *device;
    std::vector<half_type> host;
    matrix(int m, int n, int factor, int modulus, int shift) : rows(m), columns(n), host((size_t)m * n) {
        for (size_t i = 0; i < host.size(); i++) host[i] = half_type((float)((int)(i * factor % modulus) - shift));
        cudaMalloc(&device, host.size() * sizeof(half_type));
        cudaMemcpy(device, host.data(), host.size() * sizeof(half_type), cudaMemcpyHostToDevice);
    }
    ~matrix() { cudaFree(device); }
    float at(int i, int j) const { return (float)host[(size_t)i * columns + j]; }
};

template <class Gemm>
static int check(const char *name, int m, int n, int k) {
    using Kernel = typename Gemm::GemmKernel;
    matrix a(m, k, 7, 5, 2), b(n, k, 11, 7, 3), c(m, n, 3, 4, 0), d(m, n, 1, 2, 0);
    auto stride = [](auto kind, int x, int y) {
        return cutlass::make_cute_packed_stride(kind, cute::make_shape(x, y, 1));
    };
    cutlass::KernelHardwareInfo info;
    info.sm_count = 132;
    typename Gemm::Arguments arguments{
        gemm::GemmUniversalMode::kGemm,
        {m, n, k, 1},
        {a.device, stride(typename Kernel::StrideA{}, m, k), b.device, stride(typename Kernel::StrideB{}, n, k)},
        {{2.0f, 1.0f},
         c.device,
         stride(typename Kernel::StrideC{}, m, n),
         d.device,
         stride(typename Kernel::StrideD{}, m, n)},
        info};
    Gemm operation;
    void *workspace = nullptr;
    cudaMalloc(&workspace, Gemm::get_workspace_size(arguments) + 1);
    cutlass::Status status = operation.can_implement(arguments);
    if (status == cutlass::Status::kSuccess) status = operation.initialize(arguments, workspace);
    if (status == cutlass::Status::kSuccess) status = operation.run();
    cudaError_t error = cudaDeviceSynchronize();
    if (status != cutlass::Status::kSuccess || error != cudaSuccess) {
        printf("%s: %s, %s\n", name, cutlassGetStatusString(status), cudaGetErrorString(error));
        return 1;
    }
    cudaMemcpy(d.host.data(), d.device, d.host.size() * sizeof(half_type), cudaMemcpyDeviceToHost);
    cudaFree(workspace);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int x = 0; x < k; x++) sum += a.at(i, x) * b.at(j, x);
            float expected = (float)half_type(2 * sum + c.at(i, j));
            if (d.at(i, j) == expected) continue;
            printf("%s: (%d, %d) is %g, not %g\n", name, i, j, d.at(i, j), expected);
            return 1;
        }
    printf("%s: %d x %d x %d is right\n", name, m, n, k);
    return 0;
}

int main() {
    using cute::_1;
    using cute::_2;
    using cute::Shape;
    using cooperative =
        product<gemm::KernelTmaWarpSpecializedCooperative, epilogue::TmaWarpSpecializedCooperative, Shape<_2, _1, _1>>;
    using ping_pong = product<gemm::KernelTmaWarpSpecializedPingpong, epilogue::TmaWarpSpecialized, Shape<_1, _1, _1>>;
    int wrong = check<cooperative::Gemm>("cooperative, clusters of 2", 256, 136, 192);
    return wrong + check<ping_pong::Gemm>("ping-pong", 200, 264, 72);
}

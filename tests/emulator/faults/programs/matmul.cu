/* C = A B^T in bf16: gemm/matmul.cuh's ring of stages, TMA with multicast in clusters of two, wgmma, an epilogue by
 * stmatrix and TMA stores. One cluster takes all tiles, so that the ring turns and tiles follow each other; m and n
 * have tails.
 */
#include "cuda/gemm/matmul_run.cuh"
#include "cuda/epilogue/store.cuh"
#include "program.h"

#include <vector>

using namespace ridge;
using element = __nv_bfloat16;
using shape = matmul_shape<element, matmul_tuning{.columns = 128, .stages = 3, .cluster_m = 2, .cluster_n = 1}>;
using store = store_epilogue<element, 128, false>;

int main(void) {
    constexpr int m = 300, n = 200, k = 320, line = 208;
    std::vector<element> a(m * k), b(n * k), c(m * line);
    for (int i = 0; i < m * k; i++) a[i] = __float2bfloat16(value_of(i));
    for (int i = 0; i < n * k; i++) b[i] = __float2bfloat16(value_of(i + 1000000));
    element *a_device = device_array(a.size(), a.data()), *b_device = device_array(b.size(), b.data());
    element *c_device = device_array(c.size(), c.data());

    CUtensorMap a_map, b_map;
    store epilogue;
    if (!make_map<element>(&a_map, {a_device, k, m, k}, shape::a_box) ||
        !make_map<element>(&b_map, {b_device, k, n, k}, shape::b_box) ||
        !make_map<element>(&epilogue.map, {c_device, n, m, line}, 64))
        return 2;
    matmul_plan plan = matmul_whole(k, shape::K, 8);
    plan.m_tiles = (m + shape::M - 1) / shape::M, plan.n_tiles = (n + shape::N - 1) / shape::N;
    const auto kernel = matmul_kernel<shape, store>;
    constexpr int bytes = matmul_shared_bytes<shape, store>;
    require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "cudaFuncSetAttribute");
    const ridge::launch_shape one = {dim3(shape::cluster), shape::threads, bytes, shape::cluster};
    if (ridge::launch_overlapping(kernel, one, 0, true, a_map, b_map, plan, epilogue) != RIDGE_OK) return 2;

    to_host(c.data(), c_device, c.size());
    comparison products = {"product", 0.1};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int t = 0; t < k; t++) sum += __bfloat162float(a[i * k + t]) * __bfloat162float(b[j * k + t]);
            products.compare(__bfloat162float(c[i * line + j]), sum, i, j);
        }
    return products.wrong > 0;
}

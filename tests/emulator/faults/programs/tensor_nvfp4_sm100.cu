/* C = A B^T in NVFP4 by block-scaled tcgen05: a tile a block, persistent blocks, and pairs of them (gemm/tensor_nvfp4.cuh). Tiles of
 * columns that begin in the middle of a tile of scales, more slices of K than stages, and tails of all extents. */
#include "cuda/gemm/tensor_nvfp4_run.cuh"
#include "operand.h"
#include "quantize/blocks.h"
#include "quantize/rule.h"

using namespace ridge;

/* Drawn codes and scales; what has no row or block is NaN in the last row of tiles, 0 behind the last column. */
struct nvfp4_operand {
    int rows, k, tiles;
    std::vector<unsigned char> codes, scales;
    nvfp4_matrix device;

    nvfp4_operand(int rows_, int k_, unsigned first, const float *tensor)
        : rows(rows_),
          k(k_),
          tiles((k_ + 63) / 64),
          codes((size_t)rows_ * k_ / 2),
          scales((size_t)(rows_ + 127) / 128 * tiles * BLOCKS_TILE, 0x7f) {
        const auto drawn = [&](size_t i) { return (unsigned)(value_of(first + (unsigned)i) * 128.0f + 128.0f); };
        for (size_t i = 0; i < codes.size(); i++) codes[i] = (unsigned char)drawn(i);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < tiles * 4; j++)
                scales[at(i, j)] = j < k / 16 ? (unsigned char)(0x28 + drawn((size_t)i * 7 + j) % 24) : 0;
        device = {device_array(codes.size(), codes.data()),
                  device_array(scales.size(), scales.data()),
                  rows,
                  k,
                  k / 2,
                  (int64_t)tiles * BLOCKS_TILE,
                  device_array(1, tensor)};
    }
    size_t at(int row, int block) const {
        return (size_t)(row / 128 * tiles + block / 4) * BLOCKS_TILE + (size_t)blocks_in_tile(row, block);
    }
    float value(int row, int j) const {
        const unsigned byte = codes[((size_t)row * k + j) / 2];
        return rule_value_e2m1(j % 2 ? byte >> 4 : byte & 15) * rule_value_ue4m3(scales[at(row, j / 16)]);
    }
};

template <typename Run>
static long wrong_in(const char *name, int m, int n, int k, const Run &run) {
    const float of_a = 0.0625f, of_b = 0.03125f;
    const nvfp4_operand a(m, k, 0, &of_a), b(n, k, 1000000, &of_b);
    const size_t count = (size_t)m * n;
    std::vector<__nv_bfloat16> c(count);
    __nv_bfloat16 *const c_device = device_array<__nv_bfloat16>(count, NULL);
    if (run(a.device, b.device, matrix_view{c_device, m, n, n, 1}, __nv_bfloat16(), (cudaStream_t)0) != RIDGE_OK)
        exit(2);
    to_host(c.data(), c_device, count);
    require(cudaFree(c_device), "cudaFree");
    std::vector<float> x((size_t)m * k), y((size_t)n * k);
    for (int d = 0; d < k; d++) {
        for (int i = 0; i < m; i++) x[(size_t)i * k + d] = a.value(i, d);
        for (int j = 0; j < n; j++) y[(size_t)j * k + d] = b.value(j, d);
    }
    comparison elements = {name, 0.05};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int d = 0; d < k; d++) sum += x[(size_t)i * k + d] * y[(size_t)j * k + d];
            sum *= of_a * of_b;
            elements.compare(on_host(c[(size_t)i * n + j]) / (1 + fabsf(sum)), sum / (1 + fabsf(sum)), i, j);
        }
    return elements.wrong;
}

int main(void) {
    const auto tile = [](auto... of) { return tensor_nvfp4_tile_rows(of...); };
    const auto blocks = [](auto... of) { return tensor_nvfp4_rows<NVFP4_BLOCKS>(of...); };
    const auto pairs = [](auto... of) { return tensor_nvfp4_rows<NVFP4_PAIRS>(of...); };
    long wrong = wrong_in("a tile", 130, 136, 576, tile);
    wrong += wrong_in("blocks", 300, 456, 1344, blocks) + wrong_in("one row in blocks", 1, 8, 64, blocks);
    wrong += wrong_in("pairs", 300, 456, 1600, pairs) + wrong_in("one row in pairs", 1, 8, 64, pairs);
    return wrong > 0;
}

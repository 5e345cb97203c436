/* MX quantization by quantize/warps.cuh with scales in tiles (quantize/tiles.cuh): rows of a tile that are not there, blocks that
 * end within a tile, and a warp whose second tile lies behind the row's last one. */
#include "program.h"
#include "quantize/mx.cuh"

#include <vector>

using namespace ridge;

enum { LANES = MX_BLOCK / quantize_width<float, 8> };

/* Expected codes and scales; zeros where a tile has scales of nothing. */
struct quantized {
    std::vector<unsigned char> code, scale;
    quantized(const std::vector<float> &x, int rows, int cols)
        : code(x.size()), scale(blocks_scales(&blocks_mxfp8, rows, cols)) {
        const int across = (int)blocks_across(&blocks_mxfp8, cols);
        for (int i = 0; i < rows; i++)
            for (int k = 0; k < across; k++) {
                float max = 0;
                for (int j = k * MX_BLOCK; j < (k + 1) * MX_BLOCK; j++) max = fmaxf(max, fabsf(x[i * cols + j]));
                const unsigned of = rule_mx_scale(RIDGE_E4M3, rule_bits(max));
                scale[blocks_scale_at(&blocks_mxfp8, across, i, k)] = (unsigned char)of;
                for (int j = k * MX_BLOCK; j < (k + 1) * MX_BLOCK; j++)
                    code[i * cols + j] = (unsigned char)rule_e4m3(x[i * cols + j] * rule_mx_factor(of));
            }
    }
};

static long differences(const char *of, const std::vector<unsigned char> &want, const unsigned char *got, int cols) {
    std::vector<unsigned char> found(want.size());
    comparison bytes = {of, 0};
    to_host(found.data(), got, found.size());
    for (size_t i = 0; i < want.size(); i++) bytes.compare(found[i], want[i], (long)i / cols, (long)i % cols);
    return bytes.wrong;
}

template <int Packs>
static long try_packs(int rows, int cols) {
    std::vector<float> x((size_t)rows * cols);
    for (size_t i = 0; i < x.size(); i++) x[i] = value_of((unsigned)i) * exp2f((float)(i / 100 % 9));
    const quantized want(x, rows, cols);
    unsigned char *const q = device_array<unsigned char>(want.code.size(), NULL);
    unsigned char *const s = device_array<unsigned char>(want.scale.size(), NULL);
    const int64_t across = blocks_tile_bytes(blocks_across(&blocks_mxfp8, cols)), down = blocks_tile_rows(rows);
    const quantize_problem<float> p = {device_array(x.size(), x.data()), cols, q, cols, rows, cols,
                                       down * BLOCKS_TILE_ROWS,          0};
    const mx_rule<RIDGE_E4M3, LANES> rule = {{s, across, across / BLOCKS_TILE * BLOCKS_TILE_COLS}};
    const ridge_call call = {};
    if (quantize_launch_packs<true, Packs>(&call, p, rule) != RIDGE_OK) return 1;
    return differences("q", want.code, q, cols) + differences("s", want.scale, s, BLOCKS_TILE);
}

int main(void) { return try_packs<1>(11, 7 * MX_BLOCK) + try_packs<2>(131, 3 * MX_BLOCK) > 0; }

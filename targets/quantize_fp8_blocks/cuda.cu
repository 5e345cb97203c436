/* fp8 with a scale for each 128 columns, on a GPU: see README.md.
 *
 * Floor: size(x) + rows cols + 4 rows blocks bytes over the copy ceiling: 3.03 bytes an element in 16 bits, 5.03 in f32,
 * which is 21 and 35 instructions an element. The optimized kernel takes about 8. */
#include "quantize/fp8.cuh"
#include "quantize/fp8_plain.cuh"

namespace {

using namespace ridge;

enum { BLOCK = 128 };

/* ---- optimized ---- */

struct fp8_rule {
    static constexpr int block = BLOCK, code_bits = 8;
    template <typename T>
    static constexpr int pack_bytes = pack_width<T>;

    struct scale {
        float max; /* NaN: a value is not finite */
    };
    float *s;
    int64_t stride;

    __device__ void begin(unsigned) {}
    __device__ scale of(unsigned max_bits, bool) const {
        return {__uint_as_float(max_bits >= 0x7f800000u ? 0x7fffffffu : max_bits)};
    }
    __device__ float factor(const scale &of) const { return rule_fp8_factor(of.max); }

    template <int U>
    __device__ void put_scales(const scale (&of)[U], int64_t i, int64_t k, int apart, int lane, int cols) const {
        if (lane % (BLOCK / 8) != 0) return; /* 8: the most columns of a lane */
#pragma unroll
        for (int u = 0; u < U; u++) {
            const bool odd = __float_as_uint(of[u].max) >= 0x7f800000u;
            if (u * apart * BLOCK < cols) s[i * stride + k + u * apart] = odd ? of[u].max : rule_fp8_scale(of[u].max);
        }
    }

    template <bool Whole, int W>
    static __device__ void put(unsigned char *q, int j, int cols, const float (&v)[W]) {
        put_e4m3<Whole>(q, j, cols, v);
    }
};

}  // namespace

extern "C" ridge_status quantize_fp8_blocks_cuda_optimized(const ridge_call *call) {
    const fp8_rule rule = {(float *)ridge_data(&call->out[1]), ridge_row_stride(&call->out[1])};
    return with_storage(call->dtype, [&]<typename T>() {
        return quantize_launch(call, quantize_problem_of<T>(call, ridge_row_stride(&call->out[0]), call->dim[0]), rule);
    });
}

extern "C" ridge_status quantize_fp8_blocks_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return fp8_plain<1, T>(call, call->dim[0], call->dim[2]); });
}

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
    static constexpr int block = BLOCK;
    template <typename T>
    static constexpr int pack_bytes = pack_width<T>;

    struct scale {
        float max; /* NaN: a value is not finite */
    };
    float *s;
    int64_t stride;

    __device__ void begin() {}
    __device__ scale of(unsigned max_bits) const {
        return {__uint_as_float(max_bits >= 0x7f800000u ? 0x7fffffffu : max_bits)};
    }
    __device__ float factor(const scale &of) const { return rule_fp8_factor(of.max); }

    __device__ void put_scale(const scale &of, int64_t i, int64_t k, int lane, bool inside) const {
        const bool odd = __float_as_uint(of.max) >= 0x7f800000u;
        if (inside && lane % (BLOCK / 8) == 0) /* 8: the most columns of a lane */
            s[i * stride + k] = odd ? of.max : rule_fp8_scale(of.max);
    }

    template <bool Whole, int W>
    static __device__ void put(unsigned char *q, int64_t j, int64_t cols, const float (&v)[W]) {
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

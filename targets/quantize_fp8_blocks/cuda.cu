/* fp8 with a scale for each 128 columns, on a GPU: see README.md.
 *
 * Floor: size(x) + rows cols + 4 rows blocks bytes over the copy ceiling: 3.03 bytes an element in 16 bits, 5.03 in f32,
 * which is 21 and 35 instructions an element. The optimized kernel takes about 8. */
#include "cuda/maps/plain.cuh"
#include "quantize/fp8.cuh"

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

/* ---- baseline ---- */

template <typename T>
struct scales {
    matrix<const T> x;
    matrix<float> s;
    int64_t cols;
    __device__ void operator()(int64_t i, int64_t k) const {
        unsigned max = 0;
        for (int64_t j = k * BLOCK; j < cols && j < (k + 1) * BLOCK; j++)
            max = umax(max, __float_as_uint(to_float(x.at(i, j))) & 0x7fffffffu);
        s.at(i, k) = max >= 0x7f800000u ? __uint_as_float(0x7fffffffu) : __uint_as_float(max);
    }
};
/* The maximum becomes the scale behind the last use of it. */
template <typename T>
struct scaled {
    matrix<const T> x;
    matrix<float> s, t;
    __device__ void operator()(int64_t i, int64_t j) const {
        const float max = s.at(i, j / BLOCK);
        t.at(i, j) = max == max ? to_float(x.at(i, j)) * rule_fp8_factor(max) : 0.0f;
    }
};
struct codes {
    matrix<float> t;
    matrix<unsigned char> q;
    __device__ void operator()(int64_t i, int64_t j) const { q.at(i, j) = (unsigned char)rule_e4m3(t.at(i, j)); }
};
struct finished {
    matrix<float> s;
    __device__ void operator()(int64_t i, int64_t k) const {
        const float max = s.at(i, k);
        if (max == max) s.at(i, k) = rule_fp8_scale(max);
    }
};

template <typename F>
ridge_status plain(const ridge_call *call, int64_t cols, const F &f) {
    const int64_t rows = call->dim[0];
    if (rows <= 0 || cols <= 0) return RIDGE_OK;
    const dim3 grid((unsigned)((cols + plain_threads - 1) / plain_threads), (unsigned)(rows < 65535 ? rows : 65535));
    return launch(plain_kernel<F>, {grid, plain_threads}, stream_of(call), rows, cols, f);
}

template <typename T>
ridge_status baseline(const ridge_call *call) {
    const matrix<const T> x = matrix_in<T>(&call->in[0]);
    const matrix<float> s = matrix_out<float>(&call->out[1]), t = {(float *)call->scratch, call->dim[1]};
    RIDGE_TRY(plain(call, call->dim[2], scales<T>{x, s, call->dim[1]}));
    RIDGE_TRY(plain(call, call->dim[1], scaled<T>{x, s, t}));
    RIDGE_TRY(plain(call, call->dim[1], codes{t, matrix_out<unsigned char>(&call->out[0])}));
    return plain(call, call->dim[2], finished{s});
}

}  // namespace

extern "C" ridge_status quantize_fp8_blocks_cuda_optimized(const ridge_call *call) {
    const fp8_rule rule = {(float *)ridge_data(&call->out[1]), ridge_row_stride(&call->out[1])};
    return with_storage(call->dtype, [&]<typename T>() {
        return quantize_launch(call, quantize_problem_of<T>(call, ridge_row_stride(&call->out[0]), call->dim[0]), rule);
    });
}

extern "C" ridge_status quantize_fp8_blocks_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}

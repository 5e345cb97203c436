/* NVFP4 on a GPU: see README.md.
 *
 * Floor: size(x) + rows cols / 2 + size(s) bytes over the copy ceiling: 2.56 bytes an element in 16 bits, 4.56 in f32,
 * which is 18 and 32 instructions an element on an H200. */
#include "cuda/maps/plain.cuh"
#include "quantize/e2m1.cuh"
#include "quantize/fp8.cuh"
#include "quantize/tiles.cuh"

namespace {

using namespace ridge;

enum { BLOCK = 16 };

/* ---- optimized ---- */

template <int Lanes> /* of a block */
struct nvfp4_rule {
    static constexpr int block = BLOCK, code_bits = 4;
    static constexpr bool octets = true;

    struct scale {
        unsigned code;
    };
    scale_tiles to;
    const float *tensor; /* the tensor's scale, in device memory */
    rule_nvfp4 rule;     /* made of it */
    unsigned odd;        /* from these bits of a block's maximum on its scale is NaN */

    __device__ void begin(void) {
        rule = rule_nvfp4_of(*tensor);
        odd = rule.usable ? 0x7f800000u : rule_nvfp4_scale(rule, 0.0f, false) == 0 ? 1 : 0;
    }
    /* rule_nvfp4_scale, by the conversion that Hopper has: it rounds as rule_e4m3 does, and stops at 448. */
    __device__ scale of(unsigned max_bits, bool inside) const {
        if (!inside) return {0};
        const unsigned code =
            __nv_cvt_float_to_fp8(__uint_as_float(max_bits) * rule.inverse, __NV_SATFINITE, __NV_E4M3);
        return {max_bits >= odd ? RULE_E4M3_NAN : code};
    }
    /* rule_nvfp4_factor, by the steps of a division whose result is a normal number, without its branches. */
    __device__ float factor(const scale &of) const {
        const float x = rule_of_e4m3(of.code) * rule.tensor, near = rcp_approx_ftz(x);
        float factor = fmaf(near, -fmaf(x, near, -1.0f), near);
        if (!(rule.tensor <= 0x1p100f)) factor = rule_nvfp4_factor(rule, of.code);
        return of.code == 0 ? 0.0f : factor;
    }
    __device__ bool is_odd(const scale &of) const { return of.code == RULE_E4M3_NAN; }

    /* Blocks outside of the matrix have the code zero. */
    template <int U>
    __device__ void put_scales(const scale (&of)[U], const quantize_place &at, int) const {
        unsigned code[U];
#pragma unroll
        for (int u = 0; u < U; u++) code[u] = of[u].code;
        put_scale_words<Lanes>(to, code, at.octet, at.first);
    }

    template <typename T, int V, int N>
    static __device__ void codes(const uint4 (&x)[V], unsigned max_bits, float factor, unsigned (&code)[N]) {
        if (__uint_as_float(max_bits) * factor >= 7.0f) /* the scale is at its largest, or among the smallest */
            e2m1_codes<T, false>(x, factor, code);
        else
            e2m1_codes<T, true>(x, factor, code);
    }
};

template <typename T>
ridge_status optimized(const ridge_call *call) {
    const nvfp4_rule<BLOCK / quantize_width<T, 4>> rule = {
        scale_tiles_of(&call->out[1]), (const float *)ridge_data(&call->in[1]), {}, {}};
    const int64_t all_rows = scale_tiles_rows(&call->out[1]);
    return quantize_launch(call, quantize_problem_of<T>(call, ridge_row_stride(&call->out[0]) / 2, all_rows), rule);
}

/* ---- baseline ---- */

template <typename T>
struct scales {
    matrix<const T> x;
    scale_tiles to;
    int64_t rows, cols;
    const float *tensor;
    __device__ void operator()(int64_t i, int64_t k) const {
        unsigned max = 0, code = 0;
        if (i < rows && k * BLOCK < cols) {
            for (int64_t j = k * BLOCK; j < (k + 1) * BLOCK; j++)
                max = umax(max, __float_as_uint(to_float(x.at(i, j))) & 0x7fffffffu);
            code = rule_nvfp4_scale(rule_nvfp4_of(*tensor), __uint_as_float(max), max >= 0x7f800000u);
        }
        *to.at(i, k) = (unsigned char)code;
    }
};
template <typename T>
struct scaled {
    matrix<const T> x;
    scale_tiles from;
    matrix<float> t;
    const float *tensor;
    __device__ void operator()(int64_t i, int64_t j) const {
        const unsigned code = *from.at(i, j / BLOCK);
        const float factor = rule_nvfp4_factor(rule_nvfp4_of(*tensor), code);
        t.at(i, j) = code == RULE_E4M3_NAN ? 0.0f : to_float(x.at(i, j)) * factor;
    }
};
struct codes {
    matrix<float> t;
    matrix<unsigned char> q;
    __device__ void operator()(int64_t i, int64_t k) const {
        q.at(i, k) = (unsigned char)(rule_e2m1(t.at(i, 2 * k)) | rule_e2m1(t.at(i, 2 * k + 1)) << 4);
    }
};

template <typename T>
ridge_status baseline(const ridge_call *call) {
    const int64_t rows = call->dim[0], cols = call->dim[1];
    const matrix<const T> x = matrix_in<T>(&call->in[0]);
    const scale_tiles s = scale_tiles_of(&call->out[1]);
    const matrix<float> t = {(float *)call->scratch, cols};
    const matrix<unsigned char> q = {(unsigned char *)ridge_data(&call->out[0]), ridge_row_stride(&call->out[0]) / 2};
    const float *tensor = (const float *)ridge_data(&call->in[1]);
    RIDGE_TRY(launch_plain(call, scale_tiles_rows(&call->out[1]), s.across, scales<T>{x, s, rows, cols, tensor}));
    RIDGE_TRY(launch_plain(call, rows, cols, scaled<T>{x, s, t, tensor}));
    return launch_plain(call, rows, cols / 2, codes{t, q});
}

}  // namespace

extern "C" ridge_status quantize_nvfp4_cuda_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return optimized<T>(call); });
}

extern "C" ridge_status quantize_nvfp4_cuda_baseline(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() { return baseline<T>(call); });
}

/* MX formats on a GPU: the optimized kernel's rule (quantize/warps.cuh), and a baseline of one kernel a step.
 *
 * Floor: size(x) + bytes of codes + 1/32 byte an element for scales, over the copy ceiling: in 16 bits 3.03 bytes an element
 * of fp8 and 2.53 of e2m1. */
#ifndef RIDGE_KERNELS_QUANTIZE_MX_CUH
#define RIDGE_KERNELS_QUANTIZE_MX_CUH

#include "cuda/maps/plain.cuh"
#include "quantize/e2m1.cuh"
#include "quantize/fp8.cuh"
#include "quantize/mx_rule.h"
#include "quantize/tiles.cuh"

namespace ridge {

template <ridge_dtype Element>
constexpr int mx_bits = Element == RIDGE_E2M1 ? 4 : 8;

template <ridge_dtype Element>
int64_t mx_row_bytes(const ridge_call *call) {
    return ridge_row_stride(&call->out[0]) * mx_bits<Element> / 8;
}

/* ---- optimized ---- */

template <ridge_dtype Element, int Lanes> /* of a block */
struct mx_rule {
    static constexpr int block = MX_BLOCK, code_bits = mx_bits<Element>;
    static constexpr bool octets = true;

    struct scale {
        unsigned code;
    };
    scale_tiles to;

    __device__ void begin(void) {}
    /* Blocks outside of the matrix are zeros, whose scale has the code of the padding: zero. */
    __device__ scale of(unsigned max_bits, bool) const { return {rule_mx_scale(Element, max_bits)}; }
    __device__ float factor(const scale &of) const { return rule_mx_factor(of.code); }
    __device__ bool is_odd(const scale &of) const { return of.code == MX_NAN; }

    template <int U>
    __device__ void put_scales(const scale (&of)[U], const quantize_place &at, int) const {
        unsigned code[U];
#pragma unroll
        for (int u = 0; u < U; u++) code[u] = of[u].code;
        put_scale_words<Lanes>(to, code, at.octet, at.first);
    }

    template <typename T, int V, int N>
    static __device__ void codes(const uint4 (&x)[V], unsigned, float factor, unsigned (&code)[N]) {
        if constexpr (Element != RIDGE_E2M1)
            fp8_codes<Element, T>(x, factor, code);
        else if constexpr (std::is_same_v<T, __nv_bfloat16>)
            e2m1_codes_of_pairs(x, factor, code);
        else
            e2m1_codes<T, false>(x, factor, code);
    }
};

template <ridge_dtype Element>
ridge_status mx_optimized(const ridge_call *call) {
    return with_storage(call->dtype, [&]<typename T>() {
        const mx_rule<Element, MX_BLOCK / quantize_width<T, mx_bits<Element>>> rule = {scale_tiles_of(&call->out[1])};
        const int64_t all_rows = scale_tiles_rows(&call->out[1]);
        return quantize_launch(call, quantize_problem_of<T>(call, mx_row_bytes<Element>(call), all_rows), rule);
    });
}

/* ---- baseline ---- */

template <ridge_dtype Element, typename T>
struct mx_scales {
    matrix<const T> x;
    scale_tiles to;
    int64_t rows, cols;
    __device__ void operator()(int64_t i, int64_t k) const {
        unsigned max = 0;
        for (int64_t j = k * MX_BLOCK; i < rows && j < cols && j < (k + 1) * MX_BLOCK; j++)
            max = umax(max, __float_as_uint(to_float(x.at(i, j))) & 0x7fffffffu);
        *to.at(i, k) = (unsigned char)rule_mx_scale(Element, max);
    }
};
template <typename T>
struct mx_scaled {
    matrix<const T> x;
    scale_tiles from;
    matrix<float> t;
    __device__ void operator()(int64_t i, int64_t j) const {
        const unsigned code = *from.at(i, j / MX_BLOCK);
        t.at(i, j) = code == MX_NAN ? 0.0f : to_float(x.at(i, j)) * rule_mx_factor(code);
    }
};
template <ridge_dtype Element>
struct mx_codes {
    matrix<float> t;
    matrix<unsigned char> q;
    __device__ void operator()(int64_t i, int64_t byte) const {
        constexpr int each = 8 / mx_bits<Element>;
        unsigned code = 0;
        for (int e = 0; e < each; e++) code |= rule_mx_code(Element, t.at(i, byte * each + e)) << e * mx_bits<Element>;
        q.at(i, byte) = (unsigned char)code;
    }
};

template <ridge_dtype Element>
ridge_status mx_baseline(const ridge_call *call) {
    const int64_t rows = call->dim[0], cols = call->dim[1];
    const scale_tiles s = scale_tiles_of(&call->out[1]);
    const matrix<float> t = {(float *)call->scratch, cols};
    const matrix<unsigned char> q = {(unsigned char *)ridge_data(&call->out[0]), mx_row_bytes<Element>(call)};
    return with_storage(call->dtype, [&]<typename T>() {
        const matrix<const T> x = matrix_in<T>(&call->in[0]);
        const mx_scales<Element, T> scales = {x, s, rows, cols};
        RIDGE_TRY(launch_plain(call, scale_tiles_rows(&call->out[1]), s.across, scales));
        RIDGE_TRY(launch_plain(call, rows, cols, mx_scaled<T>{x, s, t}));
        return launch_plain(call, rows, cols * mx_bits<Element> / 8, mx_codes<Element>{t, q});
    });
}

}  // namespace ridge

#endif

/* NVFP4 on a GPU: see README.md.
 *
 * Floor: size(x) + rows cols / 2 + size(s) bytes over the copy ceiling: 2.56 bytes an element in 16 bits, 4.56 in f32,
 * which is 18 and 32 instructions an element on an H200. */
#include "cuda/maps/plain.cuh"
#include "quantize/fp8.cuh"

namespace {

using namespace ridge;

enum { BLOCK = 16 };

/* Scales in tiles. */
struct tiles {
    unsigned char *s;
    int64_t stride; /* bytes from one row of tiles to the next */
    __device__ unsigned char *at(int64_t i, int64_t k) const {
        return s + i / BLOCKS_TILE_ROWS * stride + k / BLOCKS_TILE_COLS * BLOCKS_TILE + blocks_in_tile(i, k);
    }
};

/* ---- optimized ---- */

/* Bits whose last three are the code of a magnitude, as rule_e2m1 makes it. Codes are magnitudes 2 a up to 2, a + 2 up to 4, then
 * a / 2 + 4, at most 7: the least of these, of which each is rounded once, to nearest even, where fp32's last place is 1. */
__device__ inline unsigned e2m1_of(float a) {
    constexpr float one = 0x1p23f;
    const unsigned twice = __float_as_uint(fmaf(a, 2.0f, one)), once = __float_as_uint(a + (one + 2.0f)),
                   half = __float_as_uint(fmaf(a, 0.5f, one + 4.0f));
    return umin(umin(twice, once), umin(half, 0x4b000007u));
}
/* Codes of eight numbers, signs of their bytes: odd elements' where they belong, even ones' four places up. */
__device__ inline unsigned e2m1_of_eight(const float *v) {
    unsigned codes = 0, bits[8];
#pragma unroll
    for (int e = 7; e >= 0; e--) {
        bits[e] = __float_as_uint(v[e]);
        codes = codes * 16 + e2m1_of(fabsf(v[e]));
    }
    codes -= 0x4b000000u * 17; /* 2^23, of the first two: that of others leaves the word */
    const unsigned even = __byte_perm(__byte_perm(bits[0], bits[2], 0x0073), __byte_perm(bits[4], bits[6], 0x0073),
                                      0x5410),
                   odd = __byte_perm(__byte_perm(bits[1], bits[3], 0x0073), __byte_perm(bits[5], bits[7], 0x0073),
                                     0x5410);
    return codes | (even >> 4 & 0x08080808u) | (odd & 0x80808080u);
}

template <int Lanes> /* of a block */
struct nvfp4_rule {
    static constexpr int block = BLOCK, code_bits = 4;
    template <typename T>
    static constexpr int pack_bytes = pack_width<T> / 2;

    struct scale {
        unsigned code;
    };
    tiles to;
    int64_t across;      /* scales of a row, with the padding of tiles */
    const float *tensor; /* the tensor's scale, in device memory */
    rule_nvfp4 rule;     /* made of it */
    unsigned char *row;  /* the first scale of the thread's row */
    bool whole;          /* words of scales are aligned */

    __device__ void begin(unsigned i) {
        rule = rule_nvfp4_of(*tensor);
        row = to.s + i / BLOCKS_TILE_ROWS * to.stride + blocks_in_tile(i % BLOCKS_TILE_ROWS, 0);
        whole = ((uintptr_t)to.s | (uintptr_t)to.stride) % 4 == 0;
    }
    /* rule_nvfp4_scale, by the conversion that Hopper has: it rounds as rule_e4m3 does, and stops at 448. */
    __device__ scale of(unsigned max_bits, bool inside) const {
        const bool odd = max_bits >= 0x7f800000u;
        if (odd || !rule.usable) return {inside ? rule_nvfp4_scale(rule, __uint_as_float(max_bits), odd) : 0};
        return {__nv_cvt_float_to_fp8(__uint_as_float(max_bits) * rule.inverse, __NV_SATFINITE, __NV_E4M3)};
    }
    /* rule_nvfp4_factor, by the steps of a division whose result is a normal number, without its branches. */
    __device__ float factor(const scale &of) const {
        if (!(rule.tensor <= 0x1p100f)) return rule_nvfp4_factor(rule, of.code);
        const float x = rule_of_e4m3(of.code) * rule.tensor, near = rcp_approx_ftz(x);
        return of.code == 0 || of.code == RULE_E4M3_NAN ? 0.0f : fmaf(near, -fmaf(x, near, -1.0f), near);
    }

    /* Four neighbouring blocks are a word of a tile. Their lanes have four such words in columns: they exchange bytes, as a
     * transposition of 4 x 4, and each stores one. Blocks outside of the matrix are zero. */
    template <int U>
    __device__ void put_scales(const scale (&of)[U], int64_t, int64_t k, int apart, int lane, int) const {
        static_assert(U == 4);
        const int block = lane / Lanes % 4;
        unsigned word = of[0].code | of[1].code << 8 | of[2].code << 16 | of[3].code << 24;
        const unsigned beside = __shfl_xor_sync(~0u, word, Lanes);
        word = __byte_perm(word, beside, block & 1 ? 0x3715 : 0x6240);
        const unsigned across_two = __shfl_xor_sync(~0u, word, 2 * Lanes);
        word = __byte_perm(word, across_two, block & 2 ? 0x3276 : 0x5410);
        const int64_t mine = k - block + block * apart;
        if (lane % Lanes != 0 || mine >= across) return;
        unsigned char *const p = row + mine / BLOCKS_TILE_COLS * BLOCKS_TILE;
        if (whole)
            *(unsigned *)p = word;
        else
            for (int b = 0; b < BLOCKS_TILE_COLS; b++) p[b] = (unsigned char)(word >> b * 8);
    }

    template <bool Whole, int W>
    static __device__ void put(unsigned char *q, int j, int cols, const float (&v)[W]) {
        unsigned word = 0;
        (void)cols; /* whole blocks */
        if constexpr (W == 8) {
            word = e2m1_of_eight(v);
        } else {
            const float eight[8] = {v[0], v[1], v[2], v[3]};
            word = e2m1_of_eight(eight);
        }
        if constexpr (Whole && W == 8)
            *(unsigned *)(q + j / 2) = word;
        else if constexpr (Whole)
            *(unsigned short *)(q + j / 2) = (unsigned short)word;
        else
#pragma unroll
            for (int b = 0; b < W / 2; b++) q[j / 2 + b] = (unsigned char)(word >> b * 8);
    }
};

template <typename T>
ridge_status optimized(const ridge_call *call) {
    const nvfp4_rule<BLOCK / pack_width<T>> rule = {
        {(unsigned char *)ridge_data(&call->out[1]), ridge_row_stride(&call->out[1])},
        call->dim[3] / BLOCKS_TILE * BLOCKS_TILE_COLS,
        (const float *)ridge_data(&call->in[1]),
        {},
        nullptr,
        false};
    const int64_t all_rows = call->dim[2] * BLOCKS_TILE_ROWS;
    return quantize_launch(call, quantize_problem_of<T>(call, ridge_row_stride(&call->out[0]) / 2, all_rows), rule);
}

/* ---- baseline ---- */

template <typename T>
struct scales {
    matrix<const T> x;
    tiles to;
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
    tiles from;
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
    const tiles s = {(unsigned char *)ridge_data(&call->out[1]), ridge_row_stride(&call->out[1])};
    const matrix<float> t = {(float *)call->scratch, cols};
    const matrix<unsigned char> q = {(unsigned char *)ridge_data(&call->out[0]), ridge_row_stride(&call->out[0]) / 2};
    const float *tensor = (const float *)ridge_data(&call->in[1]);
    RIDGE_TRY(launch_plain(call, call->dim[2] * BLOCKS_TILE_ROWS, call->dim[3] / BLOCKS_TILE * BLOCKS_TILE_COLS,
                           scales<T>{x, s, rows, cols, tensor}));
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

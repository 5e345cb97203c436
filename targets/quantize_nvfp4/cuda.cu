/* NVFP4 on a GPU: see README.md.
 *
 * Floor: size(x) + rows cols / 2 + size(s) bytes over the copy ceiling: 2.56 bytes an element in 16 bits, 4.56 in f32,
 * which is 18 and 32 instructions an element. The optimized kernel takes about 14. */
#include "cuda/maps/plain.cuh"
#include "quantize/warps.cuh"

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

template <int Lanes> /* of a block */
struct nvfp4_rule {
    static constexpr int block = BLOCK;
    template <typename T>
    static constexpr int pack_bytes = pack_width<T> / 2;

    struct scale {
        unsigned code;
    };
    tiles to;
    int64_t across;      /* scales of a row, with the padding of tiles */
    const float *tensor; /* the tensor's scale, in device memory */
    rule_nvfp4 rule;     /* made of it */

    __device__ void begin() { rule = rule_nvfp4_of(*tensor); }
    __device__ scale of(unsigned max_bits) const {
        return {rule_nvfp4_scale(rule, __uint_as_float(max_bits), max_bits >= 0x7f800000u)};
    }
    __device__ float factor(const scale &of) const { return rule_nvfp4_factor(rule, of.code); }

    /* Four blocks are one word of a tile; those outside of the matrix are zero. */
    __device__ void put_scale(const scale &of, int64_t i, int64_t k, int lane, bool inside) const {
        unsigned word = inside ? of.code << k % BLOCKS_TILE_COLS * 8 : 0;
        word |= __shfl_xor_sync(~0u, word, Lanes);
        word |= __shfl_xor_sync(~0u, word, 2 * Lanes);
        if (lane % (BLOCKS_TILE_COLS * Lanes) == 0 && k < across) {
            unsigned char *p = to.at(i, k);
            if (((uintptr_t)to.s | (uintptr_t)to.stride) % 4 == 0) {
                *(unsigned *)p = word;
            } else {
                for (int b = 0; b < BLOCKS_TILE_COLS; b++) p[b] = (unsigned char)(word >> b * 8);
            }
        }
    }

    template <bool Whole, int W>
    static __device__ void put(unsigned char *q, int64_t j, int64_t cols, const float (&v)[W]) {
        unsigned word = 0;
        (void)cols; /* whole blocks */
#pragma unroll
        for (int e = 0; e < W; e++) word |= rule_e2m1(v[e]) << e * 4;
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
        {}};
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

/* C = (sa A) (sb B)^T in e4m3 on a GPU, A 2:4 sparse: see README.md. Tiles are those of gemm/fp8.cuh with the sparse stages of
 * cuda/gemm/sparse.cuh. */
#include "gemm/fp8.cuh"
#include "sparse/operand.cuh"

extern "C" {
#include "fp8_structured_sparsity.h"
}

namespace {

using namespace ridge;

template <class S>
struct sparse_fp8_epilogue : fp8_epilogue<S> {
    sparse_operand kept;
    __device__ sparse_codes codes(const matmul_tile &tile, int group) const {
        const int row = tile.m + fragment_row(group);
        return kept.of_rows(row, row + 8);
    }
};

/* A scale of a whole tensor. */
fp8_scales one_scale(const DLTensor &t) { return {(const float *)ridge_data(&t), INT64_MAX, 0, 0}; }

template <matmul_tuning Tuned>
ridge_status tiles_in(const ridge_call *call) {
    using S = matmul_shape<e4m3, Tuned>;
    sparse_fp8_epilogue<S> e = {};
    e.kept = sparse_operand(call->in[SPARSE_CODES]);
    return fp8_by<S>({view_of(call->in[SPARSE_A]), view_of(call->in[SPARSE_B]), view_of(call->out[0]),
                      one_scale(call->in[SPARSE_A_SCALE]), one_scale(call->in[SPARSE_B_SCALE]), call->dtype},
                     e, stream_of(call));
}

/* ---- any operands: a thread an element, from the elements of B that codes name ---- */

template <typename T>
struct sparse_fp8_element {
    matrix<const unsigned char> a, b;
    matrix<const unsigned> codes;
    matrix<T> c;
    const float *a_scale, *b_scale;
    int64_t words;
    __device__ void operator()(int64_t i, int64_t j) const {
        float sum = 0.0f;
        uint32_t wrong = 0;
        for (int64_t w = 0; w < words; w++) {
            const uint32_t word = codes.at(i, w);
            wrong |= pattern_wrong(word);
            for (int four = 0; four < PATTERN_COLUMNS / 4; four++) {
                const unsigned code = pattern_code(word, four);
                const int64_t column = w * PATTERN_COLUMNS + 4 * four;
                const auto add = [&](int64_t at, int place) {
                    sum = fmaf(rule_value_e4m3(a.at(i, at)), rule_value_e4m3(b.at(j, column + place)), sum);
                };
                add(column / 2, pattern_first(code));
                add(column / 2 + 1, pattern_second(code));
            }
        }
        c.at(i, j) = from_float<T>(wrong ? __int_as_float(0x7fffffff) : sum * (*a_scale * *b_scale));
    }
};

template <typename T>
ridge_status elements(const ridge_call *call) {
    const DLTensor *in = call->in;
    return launch_plain(
        call, call->dim[SPARSE_M], call->dim[SPARSE_N],
        sparse_fp8_element<T>{matrix_in<unsigned char>(&in[SPARSE_A]), matrix_in<unsigned char>(&in[SPARSE_B]),
                              matrix_in<unsigned>(&in[SPARSE_CODES]), matrix_out<T>(&call->out[0]),
                              (const float *)ridge_data(&in[SPARSE_A_SCALE]),
                              (const float *)ridge_data(&in[SPARSE_B_SCALE]), call->dim[SPARSE_WORDS]});
}

}  // namespace

extern "C" ridge_status fp8_structured_sparsity_cuda_tiles(const ridge_call *call) {
    if (sparse_tiles_are_narrow(call->dim[SPARSE_M], call->dim[SPARSE_N])) return tiles_in<sparse_tuning(128, 7)>(call);
    return tiles_in<sparse_tuning(256, 4)>(call);
}

extern "C" ridge_status fp8_structured_sparsity_cuda_any(const ridge_call *call) {
    if (call->dtype == RIDGE_F32) return elements<float>(call);
    return call->dtype == RIDGE_BF16 ? elements<__nv_bfloat16>(call) : RIDGE_UNSUPPORTED;
}

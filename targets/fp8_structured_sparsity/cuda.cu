/* C = (sa A) (sb B)^T in e4m3 on a GPU, A 2:4 sparse, by the tiles of sparse/fp8.cuh: see README.md. */
#include "sparse/fp8.cuh"

extern "C" {
#include "fp8_structured_sparsity.h"
}

namespace {

using namespace ridge;

/* A scale of a whole tensor. */
fp8_scales one_scale(const DLTensor &t) { return {(const float *)ridge_data(&t), 1, 0, 0}; }

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
    const DLTensor *in = call->in;
    const fp8_product p = {view_of(in[SPARSE_A]),         view_of(in[SPARSE_B]),         view_of(call->out[0]),
                           one_scale(in[SPARSE_A_SCALE]), one_scale(in[SPARSE_B_SCALE]), call->dtype};
    return sparse_fp8_by_tiles(p, sparse_operand(in[SPARSE_CODES]), stream_of(call));
}

extern "C" ridge_status fp8_structured_sparsity_cuda_any(const ridge_call *call) {
    if (call->dtype == RIDGE_F32) return elements<float>(call);
    return call->dtype == RIDGE_BF16 ? elements<__nv_bfloat16>(call) : RIDGE_UNSUPPORTED;
}

/* C = A B by tcgen05 in persistent blocks and in pairs of them (gemm/tensor_matmul.cuh): more tiles than run at once, eight slices
 * of K, and tails; fewer slices than stages; a single row. */
#include "cuda/gemm/tensor_matmul_run.cuh"
#include "product.h"

template <ridge::tensor_tuning Tuned>
static long wrong_in(const char *name) {
    const auto run = [](const ridge_call *call) {
        return ridge::tensor_matmul_rows<Tuned>(ridge::matmul_call(call), __nv_bfloat16());
    };
    long wrong = product_case(520, 520, 456).wrong(name, run);
    wrong += product_case(300, 264, 128).wrong("two slices", run);
    return wrong + product_case(1, 8, 8).wrong("one row", run);
}

int main(void) { return wrong_in<ridge::TENSOR_BLOCKS>("blocks") + wrong_in<ridge::TENSOR_PAIRS>("pairs") > 0; }

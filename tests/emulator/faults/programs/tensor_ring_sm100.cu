/* C = A B by tcgen05 through a ring of stages (gemm/tensor_ring.cuh): two tiles in m and n, six slices of K through four stages, a
 * tail of each; fewer slices than stages; a single row. */
#include "cuda/gemm/tensor_ring.cuh"
#include "product.h"

int main(void) {
    const auto run = [](const ridge_call *call) {
        return ridge::tensor_ring_run<4>(ridge::matmul_call(call), __nv_bfloat16());
    };
    long wrong = product_case(136, 200, 328).wrong("tails", run);
    wrong += product_case(128, 128, 128).wrong("two slices", run);
    wrong += product_case(1, 8, 8).wrong("one row", run);
    return wrong > 0;
}

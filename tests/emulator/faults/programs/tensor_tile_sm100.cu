/* C = A B by tcgen05 (gemm/tensor_tile.cuh): two tiles in m and n, six slices of K, a tail of each; one whole tile of one slice;
 * a single row. */
#include "cuda/gemm/tensor_tile.cuh"
#include "product.h"

int main(void) {
    const auto run = [](const ridge_call *call) {
        return ridge::tensor_tile_run(ridge::matmul_call(call), __nv_bfloat16());
    };
    long wrong = product_case(136, 200, 328).wrong("tails", run);
    wrong += product_case(128, 128, 64).wrong("one slice", run);
    wrong += product_case(1, 8, 8).wrong("one row", run);
    return wrong > 0;
}

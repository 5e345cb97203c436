/* C = A B by tcgen05 of what all threads have copied (targets/tcgen05_basic): two tiles in m and n, six slices of K, a tail of each. */
#include "targets/tcgen05_basic/cuda_sm100.cu"
#include "product.h"

int main(void) {
    long wrong = product_case(136, 200, 328).wrong("tails", tcgen05_basic_cuda_baseline);
    wrong += product_case(128, 128, 64).wrong("one slice", tcgen05_basic_cuda_baseline);
    return wrong > 0;
}

/* See linear/copies.cuh. */
#include "cuda/linear/copies.cuh"
#include "cuda/gemm/repack.cuh"

namespace ridge {

template <typename T>
static repack_lines<T> repack_of(const linear_copy &c) {
    return {(const T *)c.from.base, c.from.stride,  (int)c.from.lines,
            (int)c.from.along,      (T *)c.to.base, (int)c.to.lines,
            (int)c.to.stride,       c.count,        c.next};
}

ridge_status linear_copy_both(int bytes, const linear_copy &a, const linear_copy &b, cudaStream_t stream) {
    if (bytes == 2) return repack_both(repack_of<uint16_t>(a), repack_of<uint16_t>(b), stream);
    return repack_both(repack_of<uint32_t>(a), repack_of<uint32_t>(b), stream);
}

ridge_status linear_copy_back(const matrix_view &from, const matrix_view &to, cudaStream_t stream) {
    return unpack_matrix<uint16_t>(from, to, stream);
}

}  // namespace ridge

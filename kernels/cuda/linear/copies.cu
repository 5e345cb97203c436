/* See linear/copies.cuh. */
#include "cuda/linear/copies.cuh"
#include "cuda/gemm/repack.cuh"

namespace ridge {

template <typename T>
static repack_lines<T> repack_of(const linear_copy &c) {
    repack_lines<T> r = {};
    r.from = (const T *)c.from.base, r.stride = c.from.stride;
    r.lines = (int)c.from.lines, r.along = (int)c.from.along;
    r.to = (T *)c.to.base, r.to_lines = (int)c.to.lines, r.to_stride = (int)c.to.stride;
    r.count = c.count, r.next = c.next;
    r.whole = is_aligned16(r.from) && (c.from.stride | c.next | c.to.stride) * (int64_t)sizeof(T) % 16 == 0;
    return r;
}

ridge_status linear_copy_both(int bytes, const linear_copy &a, const linear_copy &b, cudaStream_t stream) {
    if (bytes == 2) return repack_both(repack_of<uint16_t>(a), repack_of<uint16_t>(b), stream);
    return repack_both(repack_of<uint32_t>(a), repack_of<uint32_t>(b), stream);
}

ridge_status linear_copy_back(const matrix_view &from, const matrix_view &to, cudaStream_t stream) {
    return unpack_matrix<uint16_t>(from, to, stream);
}

}  // namespace ridge

/* Copies of operands that tensor copies do not take: lines of any alignment and stride to lines of another stride in
 * aligned memory, and back. Elements are moved as bits: T is an unsigned type of their size. */
#ifndef RIDGE_KERNELS_CUDA_GEMM_REPACK_CUH
#define RIDGE_KERNELS_CUDA_GEMM_REPACK_CUH

#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

/* `to` is to_lines lines of to_stride elements without gaps: what `from` has of it, else zeros. It begins at a multiple
 * of 16 bytes, and there is room up to the next one behind it. `count` such matrices, `next` elements from one of
 * `from` to the next, lie without gaps, too. */
template <typename T>
struct repack_lines {
    const T *from;
    int64_t stride;
    int lines, along;
    T *to;
    int to_lines, to_stride;
    int count;
    int64_t next;
    bool whole; /* lines of both, and matrices, begin at multiples of 16 bytes */

    static constexpr int width = 16 / (int)sizeof(T);
    __host__ __device__ int64_t elements(void) const { return (int64_t)count * to_lines * to_stride; }
    int64_t blocks(void) const { return (elements() + 256 * width - 1) / (256 * width); }
    __device__ void run(int64_t block) const {
        const int64_t first = (block * 256 + (int)threadIdx.x) * width;
        if (first >= elements()) return;
        int64_t all; /* lines before this one */
        int column;
        if (elements() <= INT32_MAX)
            all = (unsigned)first / (unsigned)to_stride, column = (int)((unsigned)first % (unsigned)to_stride);
        else
            all = first / to_stride, column = (int)(first % to_stride);
        int matrix = count > 1 ? (int)(all / to_lines) : 0, line = (int)(all - (int64_t)matrix * to_lines);
        const T *source = from + matrix * next + line * stride;
        if (whole && line < lines && column + width <= along) {
            *(uint4 *)(to + first) = *(const uint4 *)(source + column);
            return;
        }
        union {
            uint4 bits;
            T element[width];
        } u;
#pragma unroll
        for (int e = 0; e < width; e++) {
            u.element[e] = line < lines && column < along ? source[column] : (T)0;
            if (++column < to_stride) continue;
            column = 0, line++, source += stride;
            if (line == to_lines && matrix + 1 < count) line = 0, source = from + ++matrix * next;
        }
        *(uint4 *)(to + first) = u.bits;
    }
};

template <typename T>
__global__ void __launch_bounds__(256) repack_operands(repack_lines<T> a, repack_lines<T> b) {
    before_next_launch();
    const int64_t first = (a.elements() + 256 * a.width - 1) / (256 * a.width);
    if ((int64_t)blockIdx.x < first)
        a.run(blockIdx.x);
    else
        b.run(blockIdx.x - first);
}
/* Both in one launch; one with no lines does not count. */
template <typename T>
ridge_status repack_both(const repack_lines<T> &a, const repack_lines<T> &b, cudaStream_t stream) {
    const int64_t blocks = a.blocks() + b.blocks();
    if (blocks == 0) return RIDGE_OK;
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    return launch_overlapping(repack_operands<T>, {dim3((unsigned)blocks), 256}, stream, device_overlaps(), a, b);
}

/* From aligned memory to lines of any alignment: eight elements a thread, neighbours by neighbours; `of_line`
 * threads, a power of two, have a piece of a line. */
template <typename T>
__global__ void __launch_bounds__(256) unpack_lines(const T *from, int64_t from_stride, T *to, int64_t stride,
                                                    int64_t lines, int along, int pieces, int of_line) {
    before_next_launch();
    const int64_t line = (int64_t)(blockIdx.x / pieces) * (256 / of_line) + (int)threadIdx.x / of_line;
    const int first = (int)(blockIdx.x % pieces) * 8 * of_line + (int)threadIdx.x % of_line;
    const int end = line < lines ? along : 0;
    const T *const source = from + line * from_stride;
    T v[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (first + of_line * i < end) v[i] = source[first + of_line * i];
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (first + of_line * i < end) to[line * stride + first + of_line * i] = v[i];
}
/* The elements of `to` are those of `from`, which lies the same way. */
template <typename T>
ridge_status unpack_matrix(const matrix_view &from, const matrix_view &to, cudaStream_t stream) {
    const matrix_lines f = lines_of(from), t = lines_of(to);
    const int pieces = (int)((t.along + 2047) / 2048);
    int of_line = 1;
    while (of_line < 256 && 8 * of_line < t.along) of_line *= 2;
    const int64_t blocks = (t.lines * of_line + 255) / 256 * pieces;
    if (blocks > INT32_MAX) return RIDGE_UNSUPPORTED;
    return launch_overlapping(unpack_lines<T>, {dim3((unsigned)blocks), 256}, stream, device_overlaps(),
                              (const T *)f.base, f.stride, (T *)t.base, t.stride, t.lines, (int)t.along, pieces,
                              of_line);
}

}  // namespace ridge

#endif

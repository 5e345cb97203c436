/* Tensor maps: a matrix described for TMA. Host code. */
#ifndef RIDGE_KERNELS_CUDA_HOST_TENSOR_MAP_CUH
#define RIDGE_KERNELS_CUDA_HOST_TENSOR_MAP_CUH

#include <cuda.h>
#include <cuda_fp16.h>
#include <type_traits>

#include "cuda/host/view.cuh"

namespace ridge {

/* What TMA requires of a matrix. */
template <typename T>
bool matrix_is_tileable(const matrix_lines &m) {
    return is_aligned16(m.base) && m.stride * (int64_t)sizeof(T) % 16 == 0 && m.along > 0 && m.lines > 0 &&
           m.along <= INT32_MAX && m.lines <= INT32_MAX;
}
template <typename T>
bool is_tileable(const matrix_view &m) {
    return matrix_is_tileable<T>(lines_of(m));
}

using tensor_map_encoder = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                        const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                        CUtensorMapFloatOOBfill);

/* The driver's function, found at run time like all of the driver. */
inline tensor_map_encoder find_encoder(void) {
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result) !=
            cudaSuccess ||
        result != cudaDriverEntryPointSuccess)
        return NULL;
    return (tensor_map_encoder)found;
}

template <typename T>
constexpr CUtensorMapDataType map_type = sizeof(T) == 1              ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                         : sizeof(T) == 4            ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                         : std::is_same_v<T, __half> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                                     : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;

/* Boxes of `bytes` by `lines` lines, swizzled by as many, 128 or 64, or of 32 as they are; elements beyond the matrix read as
 * zero. */
template <typename T>
bool make_map(CUtensorMap *map, const matrix_lines &m, int lines, CUtensorMapDataType type = map_type<T>,
              int bytes = 128) {
    static const tensor_map_encoder encode = find_encoder();
    const cuuint64_t extent[2] = {(cuuint64_t)m.along, (cuuint64_t)m.lines};
    const cuuint64_t stride[1] = {(cuuint64_t)m.stride * sizeof(T)};
    const cuuint32_t box[2] = {(cuuint32_t)(bytes / (int)sizeof(T)), (cuuint32_t)lines}, step[2] = {1, 1};
    const CUtensorMapSwizzle swizzle = bytes == 32   ? CU_TENSOR_MAP_SWIZZLE_NONE
                                       : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                     : CU_TENSOR_MAP_SWIZZLE_128B;
    const CUresult answer =
        !encode ? CUDA_ERROR_NOT_FOUND
                : encode(map, type, 2, (void *)m.base, extent, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                         swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (answer == CUDA_SUCCESS) return true;
    ridge_note_why("cuTensorMapEncodeTiled: %s %d", encode ? "error" : "not in this driver, error", (int)answer);
    return false;
}

/* The same of `count` matrices, `next` elements from one to the next. */
template <typename T>
bool make_map_of_batch(CUtensorMap *map, const matrix_lines &m, int lines, int64_t count, int64_t next) {
    static const tensor_map_encoder encode = find_encoder();
    const cuuint64_t extent[3] = {(cuuint64_t)m.along, (cuuint64_t)m.lines, (cuuint64_t)count};
    const cuuint64_t stride[2] = {(cuuint64_t)m.stride * sizeof(T), (cuuint64_t)next * sizeof(T)};
    const cuuint32_t box[3] = {128 / sizeof(T), (cuuint32_t)lines, 1}, step[3] = {1, 1, 1};
    const CUresult answer = !encode ? CUDA_ERROR_NOT_FOUND
                                    : encode(map, map_type<T>, 3, (void *)m.base, extent, stride, box, step,
                                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (answer == CUDA_SUCCESS) return true;
    ridge_note_why("cuTensorMapEncodeTiled: %s %d", encode ? "error" : "not in this driver, error", (int)answer);
    return false;
}

/* Four dimensions of 16-bit elements, from the contiguous one outwards, strides of the others in bytes: boxes of 128 bytes
 * by `lines` of the next. */
template <typename T>
bool make_map_4d(CUtensorMap *map, const void *base, const cuuint64_t (&extents)[4], const cuuint64_t (&strides)[3],
                 int lines) {
    static const tensor_map_encoder encode = find_encoder();
    const cuuint32_t box[4] = {128 / (int)sizeof(T), (cuuint32_t)lines, 1, 1}, step[4] = {1, 1, 1, 1};
    const CUresult answer = !encode ? CUDA_ERROR_NOT_FOUND
                                    : encode(map, map_type<T>, 4, (void *)base, extents, strides, box, step,
                                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (answer == CUDA_SUCCESS) return true;
    ridge_note_why("cuTensorMapEncodeTiled: %s %d", encode ? "error" : "not in this driver, error", (int)answer);
    return false;
}

/* The lines of two matrices, the second `next` elements behind the first, eight of each in turn: boxes of `bytes` by 16 `eights`
 * lines, swizzled by as many bytes, 128 or 64. The number of lines of a matrix is a multiple of eight. */
template <typename T>
bool make_map_of_eights(CUtensorMap *map, const matrix_lines &m, int64_t next, int eights, int bytes) {
    static const tensor_map_encoder encode = find_encoder();
    const cuuint64_t extent[4] = {(cuuint64_t)m.along, 8, 2, (cuuint64_t)m.lines / 8};
    const cuuint64_t line = (cuuint64_t)m.stride * sizeof(T),
                     stride[3] = {line, (cuuint64_t)next * sizeof(T), 8 * line};
    const cuuint32_t box[4] = {(cuuint32_t)(bytes / (int)sizeof(T)), 8, 2, (cuuint32_t)eights}, step[4] = {1, 1, 1, 1};
    const CUresult answer =
        !encode ? CUDA_ERROR_NOT_FOUND
                : encode(map, map_type<T>, 4, (void *)m.base, extent, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                         bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_128B,
                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (answer == CUDA_SUCCESS) return true;
    ridge_note_why("cuTensorMapEncodeTiled: %s %d", encode ? "error" : "not in this driver, error", (int)answer);
    return false;
}

/* Boxes of 32 columns of 16 rows of one head's part of c; false: TMA does not take it. It writes whole pieces of 16
 * bytes, also where the columns end within one. */
inline bool make_heads_map(CUtensorMap *map, const float *c, int64_t columns, int64_t heads, int64_t rows, int64_t head,
                           int64_t stride) {
    static const tensor_map_encoder encode = find_encoder();
    if (heads == 1) head = stride;
    if (!encode || !is_aligned16(c) || head % 4 != 0 || stride % 4 != 0 || columns % 4 != 0) return false;
    const cuuint64_t extent[3] = {(cuuint64_t)columns, (cuuint64_t)heads, (cuuint64_t)rows};
    const cuuint64_t strides[2] = {(cuuint64_t)head * 4, (cuuint64_t)stride * 4};
    const cuuint32_t box[3] = {32, 1, 16}, step[3] = {1, 1, 1};
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, (void *)c, extent, strides, box, step,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace ridge

#endif

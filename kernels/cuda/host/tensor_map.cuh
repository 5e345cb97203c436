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

/* A tensor and its boxes, from the contiguous dimension outwards; strides, of the others, in bytes. */
template <int Rank>
struct tensor_boxes {
    CUtensorMapDataType type;
    const void *base;
    cuuint64_t extent[Rank], stride[Rank > 1 ? Rank - 1 : 1];
    cuuint32_t box[Rank];
    int swizzle = 128; /* bytes; 0: none */
};
/* Elements beyond the tensor read as zero. L2 fetches 128 bytes from memory at a time. 256, of which boxes of 128 bytes a line need the
 * half, took decoding 5 to 8 % longer and a few products up to 20 %; of 160 drawn shapes none was more than 2 % quicker by them. */
template <int Rank>
bool encode_map(CUtensorMap *map, const tensor_boxes<Rank> &t) {
    static const tensor_map_encoder encode = find_encoder();
    cuuint32_t step[Rank];
    for (cuuint32_t &s : step) s = 1;
    const CUtensorMapSwizzle swizzle = t.swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                       : t.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                         : CU_TENSOR_MAP_SWIZZLE_NONE;
    const CUresult answer = !encode ? CUDA_ERROR_NOT_FOUND
                                    : encode(map, t.type, Rank, (void *)t.base, t.extent, t.stride, t.box, step,
                                             CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (answer == CUDA_SUCCESS) return true;
    ridge_note_why("cuTensorMapEncodeTiled: %s %d", encode ? "error" : "not in this driver, error", (int)answer);
    return false;
}

/* Boxes of `bytes` by `lines` lines, swizzled by as many, 128 or 64, or of 32 as they are. */
template <typename T>
bool make_map(CUtensorMap *map, const matrix_lines &m, int lines, CUtensorMapDataType type = map_type<T>,
              int bytes = 128) {
    return encode_map<2>(map, {type,
                               m.base,
                               {(cuuint64_t)m.along, (cuuint64_t)m.lines},
                               {(cuuint64_t)m.stride * sizeof(T)},
                               {(cuuint32_t)(bytes / (int)sizeof(T)), (cuuint32_t)lines},
                               bytes == 32 ? 0 : bytes});
}

/* The same of `count` matrices, `next` elements from one to the next. */
template <typename T>
bool make_map_of_batch(CUtensorMap *map, const matrix_lines &m, int lines, int64_t count, int64_t next) {
    return encode_map<3>(map, {map_type<T>,
                               m.base,
                               {(cuuint64_t)m.along, (cuuint64_t)m.lines, (cuuint64_t)count},
                               {(cuuint64_t)m.stride * sizeof(T), (cuuint64_t)next * sizeof(T)},
                               {128 / sizeof(T), (cuuint32_t)lines, 1}});
}

/* The lines of two matrices, the second `next` elements behind the first, eight of each in turn: boxes of `bytes` by 16 `eights`
 * lines, swizzled by as many bytes, 128 or 64. The number of lines of a matrix is a multiple of eight. */
template <typename T>
bool make_map_of_eights(CUtensorMap *map, const matrix_lines &m, int64_t next, int eights, int bytes) {
    const cuuint64_t line = (cuuint64_t)m.stride * sizeof(T);
    return encode_map<4>(map, {map_type<T>,
                               m.base,
                               {(cuuint64_t)m.along, 8, 2, (cuuint64_t)m.lines / 8},
                               {line, (cuuint64_t)next * sizeof(T), 8 * line},
                               {(cuuint32_t)(bytes / (int)sizeof(T)), 8, 2, (cuuint32_t)eights},
                               bytes});
}

/* Boxes of 32 columns of 16 rows of one head's part of c; false: TMA does not take it. It writes whole pieces of 16
 * bytes, also where the columns end within one. */
inline bool make_heads_map(CUtensorMap *map, const float *c, int64_t columns, int64_t heads, int64_t rows, int64_t head,
                           int64_t stride) {
    if (heads == 1) head = stride;
    if (!is_aligned16(c) || head % 4 != 0 || stride % 4 != 0 || columns % 4 != 0) return false;
    return encode_map<3>(map, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                               c,
                               {(cuuint64_t)columns, (cuuint64_t)heads, (cuuint64_t)rows},
                               {(cuuint64_t)head * 4, (cuuint64_t)stride * 4},
                               {32, 1, 16}});
}

}  // namespace ridge

#endif

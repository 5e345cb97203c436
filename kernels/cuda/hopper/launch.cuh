/* From operands in memory to a launch of matmul_kernel: tensor maps, grid, cluster. Host code. */
#ifndef RIDGE_KERNELS_CUDA_HOPPER_LAUNCH_CUH
#define RIDGE_KERNELS_CUDA_HOPPER_LAUNCH_CUH

#include "cuda/hopper/matmul.cuh"
#include "cuda/overlap.cuh"

namespace ridge {

/* Whether the current device has the instructions that these kernels are made of. */
inline bool device_is_hopper(void) { return device_capability() / 10 == 9; }

}  // namespace ridge

namespace ridge::hopper {

/* A matrix in memory: lines of `along` elements of T, `stride` elements from one to the next. */
struct matrix {
    const void *base;
    int64_t along, lines, stride;
};

/* What the copy engine asks of a matrix. */
template <typename T>
bool matrix_is_tileable(const matrix &m) {
    return is_aligned16(m.base) && m.stride * (int64_t)sizeof(T) % 16 == 0 && m.along > 0 && m.lines > 0 &&
           m.along <= INT32_MAX && m.lines <= INT32_MAX;
}

using tensor_map_encoder = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                        const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                        CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                        CUtensorMapFloatOOBfill);

/* The driver's function, which is found at run time like all of the driver. */
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
constexpr CUtensorMapDataType map_type = sizeof(T) == 4              ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                         : std::is_same_v<T, __half> ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                                                     : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;

/* Boxes of 128 bytes by `lines` lines; what lies beyond the matrix reads as zero. */
template <typename T>
bool make_map(CUtensorMap *map, const matrix &m, int lines, CUtensorMapDataType type = map_type<T>) {
    static const tensor_map_encoder encode = find_encoder();
    const cuuint64_t extent[2] = {(cuuint64_t)m.along, (cuuint64_t)m.lines};
    const cuuint64_t stride[1] = {(cuuint64_t)m.stride * sizeof(T)};
    const cuuint32_t box[2] = {128 / sizeof(T), (cuuint32_t)lines}, step[2] = {1, 1};
    const CUresult answer = !encode ? CUDA_ERROR_NOT_FOUND
                                    : encode(map, type, 2, (void *)m.base, extent, stride, box, step,
                                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (answer == CUDA_SUCCESS) return true;
    ridge_note_why("cuTensorMapEncodeTiled: %s %d", encode ? "error" : "not in this driver, error", (int)answer);
    return false;
}

/* Boxes of 32 columns of 16 rows of one head's part of c; false: the copy engine does not take it. */
inline bool make_heads_map(CUtensorMap *map, const float *c, int64_t columns, int64_t heads, int64_t rows, int64_t head,
                           int64_t stride) {
    static const tensor_map_encoder encode = find_encoder();
    if (heads == 1) head = stride;
    if (!encode || !is_aligned16(c) || head % 4 != 0 || stride % 4 != 0) return false;
    const cuuint64_t extent[3] = {(cuuint64_t)columns, (cuuint64_t)heads, (cuuint64_t)rows};
    const cuuint64_t strides[2] = {(cuuint64_t)head * 4, (cuuint64_t)stride * 4};
    const cuuint32_t box[3] = {32, 1, 16}, step[3] = {1, 1, 1};
    return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, (void *)c, extent, strides, box, step,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

/* As matmul_resident, of the current device, asked anew. */
template <class S, class Epilogue>
int matmul_room(void) {
    const auto kernel = matmul_kernel<S, Epilogue>;
    constexpr int bytes = matmul_shared_bytes<S, Epilogue>;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {S::cluster, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(S::cluster);
    config.blockDim = dim3(S::threads);
    config.dynamicSmemBytes = bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    cudaError_t answer = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (answer == cudaSuccess && S::cluster > 8)
        answer = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    if (answer == cudaSuccess) answer = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
    return cuda_status(answer, "a cluster of a product") == RIDGE_OK ? clusters * S::cluster : 0;
}

/* Blocks that run at once, in whole clusters; 0: the device has no room for one. */
template <class S, class Epilogue>
int matmul_resident(void) {
    static per_device<int> resident;
    return resident.get(matmul_room<S, Epilogue>, [](int blocks) { return blocks > 0; });
}

/* C = A B with A: [m, k], B: [k, n]; lines run along K where the shape says so, else along M or N. Blocks that wait for
 * each other are launched together or not at all, whatever else has work on the device. All may be set up while the
 * launch before them ends. */
template <class S, class Epilogue>
ridge_status matmul_run(const matrix &a, const matrix &b, int64_t m, int64_t n, matmul_plan plan,
                        const Epilogue &epilogue, cudaStream_t stream) {
    const int resident = matmul_resident<S, Epilogue>();
    if (resident == 0) return RIDGE_UNSUPPORTED;
    CUtensorMap a_map, b_map;
    if (!make_map<typename S::T>(&a_map, a, S::a_box) || !make_map<typename S::T>(&b_map, b, S::b_box))
        return RIDGE_FAILED;
    plan.m_tiles = (int)((m + S::M - 1) / S::M);
    plan.n_tiles = (int)((n + S::N - 1) / S::N);
    const int64_t clusters = (int64_t)((plan.m_tiles + S::CM - 1) / S::CM) * ((plan.n_tiles + S::CN - 1) / S::CN);
    if (clusters > INT32_MAX / 2) return RIDGE_UNSUPPORTED;
    const bool together = plan.progress || epilogue.waits();
    cudaLaunchAttribute attributes[3] = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {S::cluster, 1, 1};
    attributes[1] = overlapping();
    attributes[2].id = cudaLaunchAttributeCooperative;
    attributes[2].val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(clusters * S::cluster < resident ? clusters * S::cluster : resident));
    config.blockDim = dim3(S::threads);
    config.dynamicSmemBytes = matmul_shared_bytes<S, Epilogue>;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = together ? 3 : 2;
    return launch_with(config, matmul_kernel<S, Epilogue>, a_map, b_map, plan, epilogue);
}

/* One product over the whole of K. */
inline matmul_plan matmul_whole(int64_t k, int slice, int band, bool keep_a = false, bool keep_b = false) {
    matmul_plan plan = {};
    plan.slices = (int)((k + slice - 1) / slice);
    plan.run = 1;
    plan.band = band;
    plan.keep_a = keep_a;
    plan.keep_b = keep_b;
    return plan;
}

}  // namespace ridge::hopper

#endif

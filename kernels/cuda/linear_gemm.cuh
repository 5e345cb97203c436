/* z = x w (+ b) in fp32, one fused multiply-add after another: for shapes that linear_narrow.cuh does not take, and for
 * variants whose logits go to memory.
 *
 * A block has 128 rows x 128 classes, a thread 8 x 8 of them: 64 multiply-adds for 4 loads of 16 bytes from shared
 * memory. The next 16 steps of the depth are on their way to registers while these are multiplied. */
#ifndef RIDGE_KERNELS_CUDA_LINEAR_GEMM_CUH
#define RIDGE_KERNELS_CUDA_LINEAR_GEMM_CUH

#include "cuda/launch.cuh"
#include "cuda/linear_args.cuh"

namespace ridge {

enum { GEMM_TILE = 128, GEMM_DEPTH = 16, GEMM_THREADS = 256 };

/* A panel of 16 steps x 128 rows (of x, or of w turned): element (row, step) is from[row * by_row + step * by_step].
 * Which of both runs along the threads depends on which is contiguous. */
struct gemm_panel {
    const float *from;
    int64_t by_row, by_step, rows, steps; /* rows and steps that there are */
    bool step_inside;

    __device__ void fetch(float (&v)[8], int64_t step) const {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int e = i * GEMM_THREADS + (int)threadIdx.x;
            const int r = step_inside ? e / GEMM_DEPTH : e % GEMM_TILE,
                      k = step_inside ? e % GEMM_DEPTH : e / GEMM_TILE;
            v[i] = r < rows && step + k < steps ? from[r * by_row + (step + k) * by_step] : 0.0f;
        }
    }
    __device__ void put(const float (&v)[8], float (*to)[GEMM_TILE + 4]) const {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int e = i * GEMM_THREADS + (int)threadIdx.x;
            if (step_inside)
                to[e % GEMM_DEPTH][e / GEMM_DEPTH] = v[i];
            else
                to[e / GEMM_TILE][e % GEMM_TILE] = v[i];
        }
    }
};

/* The logits of head blockIdx.z to p: blockIdx.x counts tiles of classes within tiles of rows. */
template <bool Bias>
__global__ void __launch_bounds__(GEMM_THREADS, 1) linear_gemm_kernel(linear_args a, int class_tiles) {
    __shared__ __align__(16) float xs[GEMM_DEPTH][GEMM_TILE + 4], ws[GEMM_DEPTH][GEMM_TILE + 4];
    const int64_t row = (int64_t)(blockIdx.x / class_tiles) * GEMM_TILE;
    const int64_t column = (int64_t)(blockIdx.x % class_tiles) * GEMM_TILE;
    const gemm_panel x = {a.x + row * a.x_row, a.x_row, 1, a.batch - row, a.depth, true};
    const gemm_panel w = {a.w + blockIdx.z * a.w_head + column * a.w_class,
                          a.w_class,
                          a.w_depth,
                          a.classes - column,
                          a.depth,
                          a.w_class != 1};
    const int tx = (int)threadIdx.x % 16 * 4, ty = (int)threadIdx.x / 16 * 4;
    float acc[8][8] = {}, x_next[8], w_next[8];
    x.fetch(x_next, 0), w.fetch(w_next, 0);
    for (int64_t k = 0; k < a.depth; k += GEMM_DEPTH) {
        x.put(x_next, xs), w.put(w_next, ws);
        __syncthreads();
        if (k + GEMM_DEPTH < a.depth) x.fetch(x_next, k + GEMM_DEPTH), w.fetch(w_next, k + GEMM_DEPTH);
#pragma unroll
        for (int s = 0; s < GEMM_DEPTH; s++) {
            float xv[8], wv[8];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                *(float4 *)&xv[4 * h] = *(const float4 *)&xs[s][ty + 64 * h];
                *(float4 *)&wv[4 * h] = *(const float4 *)&ws[s][tx + 64 * h];
            }
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++) acc[i][j] = fmaf(xv[i], wv[j], acc[i][j]);
        }
        __syncthreads();
    }
    float *p = a.p + blockIdx.z * a.p_head;
    const float *b = a.b + blockIdx.z * a.b_head;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int64_t r = row + ty + i % 4 + i / 4 * 64;
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const int64_t c = column + tx + j % 4 + j / 4 * 64;
            if (r < a.batch && c < a.classes) p[r * a.p_row + c] = Bias ? acc[i][j] + b[c] : acc[i][j];
        }
    }
}

/* p = x w + b. */
inline ridge_status linear_logits(const linear_args &a, int heads, cudaStream_t stream) {
    const int64_t rows = (a.batch + GEMM_TILE - 1) / GEMM_TILE, classes = (a.classes + GEMM_TILE - 1) / GEMM_TILE;
    if (rows == 0) return RIDGE_OK;
    if (rows * classes > INT32_MAX || heads > 65535) return RIDGE_UNSUPPORTED;
    linear_gemm_kernel<true>
        <<<dim3((unsigned)(rows * classes), 1, (unsigned)heads), GEMM_THREADS, 0, stream>>>(a, (int)classes);
    return launched();
}

}  // namespace ridge

#endif

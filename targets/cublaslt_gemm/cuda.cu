/* The baseline of C = A B: slices of both operands in shared memory, an element of C a thread (README.md). */
#include "cuda/gemm/call.cuh"
#include "cuda/tile/pack.cuh"

namespace {

using namespace ridge;

constexpr int TILE = 32; /* rows and columns of C of a block, and K of a slice */
static_assert(TILE == 32, "a warp has a row of the tile: it reads one element of A, and of B one in each bank");

template <typename T>
struct tiled_args {
    const T *a, *b;
    T *c;
    int64_t a_line, b_line, c_line, m, n, k, columns; /* columns: of tiles */
};

/* The element, or zero beyond the matrix. */
template <typename T>
__device__ inline float element(const T *matrix, int64_t line, int64_t row, int64_t column, int64_t rows,
                                int64_t columns) {
    return row < rows && column < columns ? to_float(matrix[row * line + column]) : 0.0f;
}

template <typename T>
__global__ void __launch_bounds__(TILE *TILE) shared_tiles(const __grid_constant__ tiled_args<T> p) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    const int x = (int)threadIdx.x % TILE, y = (int)threadIdx.x / TILE;
    const int64_t row = (int64_t)blockIdx.x / p.columns * TILE + y, column = (int64_t)blockIdx.x % p.columns * TILE + x;
    float sum = 0.0f;
    for (int64_t first = 0; first < p.k; first += TILE) {
        a[y][x] = element(p.a, p.a_line, row, first + x, p.m, p.k);
        b[y][x] = element(p.b, p.b_line, first + y, column, p.k, p.n);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) sum = fmaf(a[y][k], b[k][x], sum);
        __syncthreads(); /* the slice may be overwritten */
    }
    if (row < p.m && column < p.n) p.c[row * p.c_line + column] = from_float<T>(sum);
}

}  // namespace

extern "C" ridge_status cublaslt_gemm_cuda_baseline(const ridge_call *call) {
    return with_matmul_16(call, [](const matmul_call &m, auto type) {
        using T = decltype(type);
        const int64_t rows = (m.c.rows + TILE - 1) / TILE, columns = (m.c.columns + TILE - 1) / TILE;
        if (rows > INT32_MAX / columns) return RIDGE_UNSUPPORTED;
        const tiled_args<T> p = {
            (const T *)m.a.base, (const T *)m.b.base, (T *)m.c.base, m.a.line, m.b.line, m.c.line, m.c.rows,
            m.c.columns,         m.a.columns,         columns};
        return launch(shared_tiles<T>, {dim3((unsigned)(rows * columns)), TILE * TILE}, m.stream, p);
    });
}

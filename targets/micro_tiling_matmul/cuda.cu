/* C = A B by fp32 multiply-adds: see README.md.
 *
 *   baseline    an element of C a thread, operands from global memory
 *   optimized   slices of K in shared memory by cp.async, one on its way while one is multiplied; a thread has a tile of
 *               sums in registers, so that an element from shared memory serves several multiply-adds */
#include "cuda/gemm/call.cuh"
#include "cuda/pipe/order.h"
#include "cuda/ptx/cp_async.cuh"
#include "cuda/tile/pack.cuh"
#include "tiles.h"

namespace {

using namespace ridge;

template <typename T>
struct micro_args {
    const T *a, *b;
    T *c;
    int64_t a_line, b_line, c_line;
    int m, n, k, rows, columns; /* rows, columns: of tiles */
};

/* ---- baseline ---- */

constexpr int NAIVE_COLUMNS = 32, NAIVE_ROWS = 8; /* of a block */
static_assert(NAIVE_COLUMNS == 32, "a warp reads a line of B");

template <typename T>
__global__ void __launch_bounds__(NAIVE_ROWS *NAIVE_COLUMNS) naive(const __grid_constant__ micro_args<T> p) {
    const int row = (int)blockIdx.x / p.columns * NAIVE_ROWS + (int)threadIdx.x / NAIVE_COLUMNS;
    const int column = (int)blockIdx.x % p.columns * NAIVE_COLUMNS + (int)threadIdx.x % NAIVE_COLUMNS;
    if (row >= p.m || column >= p.n) return;
    const T *a = p.a + row * p.a_line, *b = p.b + column;
    float sum = 0.0f;
    for (int k = 0; k < p.k; k++, b += p.b_line) sum = fmaf(to_float(a[k]), to_float(*b), sum);
    p.c[row * p.c_line + column] = from_float<T>(sum);
}

/* ---- optimized ---- */

/* A block's tile, and a slice of its operands in shared memory: A's rows with a gap behind each, then B's rows. Wide:
 * copies of 16 bytes and stores of four elements; else one element at a time. */
template <typename T_, int Rows, int Columns, int Blocks, bool Wide>
struct micro_shape {
    using T = T_;
    static constexpr int rows = Rows, columns = Columns, blocks = Blocks; /* sums of a thread; blocks of an SM */
    static constexpr bool wide = Wide;
    static constexpr int M = MICRO_SIDE * Rows, N = MICRO_SIDE * Columns, K = 64 / (int)sizeof(T);
    static constexpr int piece = Wide ? MICRO_PIECE / (int)sizeof(T) : 1; /* elements of a copy */
    static constexpr int a_pitch = K + MICRO_PIECE / (int)sizeof(T), a_size = M * a_pitch, stage = a_size + K * N;
    static constexpr int a_across = K / piece, b_across = N / piece; /* pieces of a row */
    static constexpr int a_leap = MICRO_THREADS / a_across,          /* rows from one piece of a thread to the next */
        b_leap = MICRO_THREADS / b_across;
    static constexpr int bytes = 2 * stage * (int)sizeof(T);

    static_assert(Rows % 4 == 0 && Columns % 4 == 0 && K % 4 == 0, "fragments of four elements");
    static_assert(a_leap * a_across == MICRO_THREADS && b_leap * b_across == MICRO_THREADS,
                  "a thread's column is fixed");
    static_assert(M % a_leap == 0 && K % b_leap == 0, "as many pieces for every thread");
    static_assert(a_pitch * sizeof(T) % MICRO_PIECE == 0 && N * sizeof(T) % MICRO_PIECE == 0, "rows start on 16 bytes");
    static_assert(piece * sizeof(T) == 16 || piece * sizeof(T) == 4, "what cp.async copies");
    static_assert(a_pitch * sizeof(T) / 4 % 32 * 4 % 32 != 0, "four neighbouring rows lie in different banks");
};

/* A thread's pieces of slice after slice, zeros beyond the matrices. */
template <class S>
struct micro_copier {
    using T = typename S::T;
    const T *a, *b; /* the thread's first pieces of the next slice */
    int64_t a_step, b_step, b_slice;
    uint32_t a_to, b_to; /* where they go in a stage, in bytes */
    int a_rows, a_left;  /* rows of A from the first piece on; elements of K from the first piece on */
    int b_left;          /* rows of B from the first piece on; none where the piece is beyond B's columns */

    __device__ micro_copier(const micro_args<T> &p, int row, int column) {
        const int thread = (int)threadIdx.x, a_row = thread / S::a_across, a_column = thread % S::a_across * S::piece;
        const int b_row = thread / S::b_across, b_column = thread % S::b_across * S::piece;
        a = p.a + (row + a_row) * p.a_line + a_column, b = p.b + b_row * p.b_line + column + b_column;
        a_step = S::a_leap * p.a_line, b_step = S::b_leap * p.b_line, b_slice = S::K * p.b_line;
        a_to = (uint32_t)((a_row * S::a_pitch + a_column) * (int)sizeof(T));
        b_to = (uint32_t)((S::a_size + b_row * S::N + b_column) * (int)sizeof(T));
        a_rows = p.m - row - a_row, a_left = p.k - a_column, b_left = column + b_column < p.n ? p.k - b_row : 0;
    }
    __device__ static void copy(uint32_t to, const T *from, bool exists) {
        if constexpr (S::wide)
            cp_async_16_if(to, from, exists);
        else
            cp_async_4_if(to, from, exists);
    }
    __device__ void slice(uint32_t stage) {
        constexpr uint32_t a_bytes = S::a_leap * S::a_pitch * sizeof(T), b_bytes = S::b_leap * S::N * sizeof(T);
#pragma unroll
        for (int i = 0; i < S::M / S::a_leap; i++)
            copy(stage + a_to + i * a_bytes, a + i * a_step, i * S::a_leap < a_rows && 0 < a_left);
#pragma unroll
        for (int i = 0; i < S::K / S::b_leap; i++)
            copy(stage + b_to + i * b_bytes, b + i * b_step, i * S::b_leap < b_left);
        a += S::K, b += b_slice, a_left -= S::K, b_left -= S::K;
    }
};

/* A thread's sums. Eight warps are 4 x 2, a warp's lanes 4 x 8. Rows of a thread are 4 apart, its columns come in fours
 * that are 32 apart: so the lanes of a warp read four rows of A in different banks, and of B a whole line. */
template <class S>
struct micro_sums {
    using T = typename S::T;
    float v[S::rows][S::columns];

    __device__ static int row(void) { return (int)threadIdx.x / 64 * (4 * S::rows) + (int)threadIdx.x % 32 / 8; }
    __device__ static int column(void) {
        return (int)threadIdx.x / 32 % 2 * (8 * S::columns) + (int)threadIdx.x % 8 * 4;
    }
    __device__ void clear(void) {
#pragma unroll
        for (int i = 0; i < S::rows * S::columns; i++) v[i / S::columns][i % S::columns] = 0.0f;
    }
    /* The products of one row of B's slice with A's column `k % 4` of the fragment. */
    __device__ void step(const pack<T, 4> (&a)[S::rows], int k, const T *b) {
        float y[S::columns];
#pragma unroll
        for (int j = 0; j < S::columns; j += 4) {
            const pack<T, 4> some = *(const pack<T, 4> *)(b + j * 8);
#pragma unroll
            for (int e = 0; e < 4; e++) y[j + e] = to_float(some.v[e]);
        }
#pragma unroll
        for (int i = 0; i < S::rows; i++) {
            const float x = to_float(a[i].v[k]);
#pragma unroll
            for (int j = 0; j < S::columns; j++) v[i][j] = fmaf(x, y[j], v[i][j]);
        }
    }
    __device__ void add(const T *stage) {
        const T *a = stage + row() * S::a_pitch, *b = stage + S::a_size + column();
#pragma unroll 4
        for (int k = 0; k < S::K; k += 4) {
            pack<T, 4> some[S::rows];
#pragma unroll
            for (int i = 0; i < S::rows; i++) some[i] = *(const pack<T, 4> *)(a + 4 * i * S::a_pitch + k);
#pragma unroll
            for (int e = 0; e < 4; e++) step(some, e, b + (k + e) * S::N);
        }
    }
    __device__ void store(const micro_args<T> &p, int first_row, int first_column) const {
#pragma unroll
        for (int i = 0; i < S::rows; i++) {
            const int64_t r = first_row + row() + 4 * i;
            if (r >= p.m) return;
#pragma unroll
            for (int j = 0; j < S::columns; j += 4) {
                const int c = first_column + column() + j * 8;
                T *const to = p.c + r * p.c_line + c;
                pack<T, 4> some;
#pragma unroll
                for (int e = 0; e < 4; e++) some.v[e] = from_float<T>(v[i][j + e]);
                if (S::wide && c < p.n) *(pack<T, 4> *)to = some;
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (!S::wide && c + e < p.n) to[e] = some.v[e];
            }
        }
    }
};

constexpr int MICRO_BAND = 8; /* rows of tiles that run together, so that neighbours share operands in L2 */

/* One barrier a slice: behind it all threads' pieces of this slice have come, and nobody reads the one before. */
template <class S>
__global__ void __launch_bounds__(MICRO_THREADS, S::blocks)
    micro_tiles(const __grid_constant__ micro_args<typename S::T> p) {
    using T = typename S::T;
    extern __shared__ __align__(16) uint8_t micro_room[];
    T *const room = (T *)micro_room;
    const matmul_place at = matmul_place_of((int)blockIdx.x, p.rows, p.columns, MICRO_BAND, 0);
    const int row = at.row * S::M, column = at.unit * S::N;
    micro_copier<S> copier(p, row, column);
    copier.slice(shared_address(room));
    micro_sums<S> sums;
    sums.clear();
    for (int first = 0, other = S::stage; first < p.k; first += S::K, other = S::stage - other) {
        cp_async_wait_all();
        __syncthreads();
        if (first + S::K < p.k) copier.slice(shared_address(room + other));
        sums.add(room + (S::stage - other));
    }
    sums.store(p, row, column);
}

/* ---- launches ---- */

/* False: extents or the number of tiles do not fit their types. */
template <typename T>
bool micro_args_of(const matmul_call &m, int tile_rows, int tile_columns, micro_args<T> *p) {
    const int64_t most = INT32_MAX - 1024, rows = (m.c.rows + tile_rows - 1) / tile_rows,
                  columns = (m.c.columns + tile_columns - 1) / tile_columns;
    if (m.c.rows > most || m.c.columns > most || m.a.columns > most || rows > INT32_MAX / columns) return false;
    *p = {(const T *)m.a.base, (const T *)m.b.base, (T *)m.c.base,    m.a.line,  m.b.line,    m.c.line,
          (int)m.c.rows,       (int)m.c.columns,    (int)m.a.columns, (int)rows, (int)columns};
    return true;
}

template <class S>
ridge_status run_tiles(const matmul_call &m) {
    micro_args<typename S::T> p;
    if (m.c.rows == 0) return RIDGE_OK;
    if (!micro_args_of(m, S::M, S::N, &p)) return RIDGE_UNSUPPORTED;
    return launch(micro_tiles<S>, {dim3((unsigned)(p.rows * p.columns)), MICRO_THREADS, S::bytes}, m.stream, p);
}

template <typename T>
ridge_status run_naive(const matmul_call &m) {
    micro_args<T> p;
    if (m.c.rows == 0) return RIDGE_OK;
    if (!micro_args_of(m, NAIVE_ROWS, NAIVE_COLUMNS, &p)) return RIDGE_UNSUPPORTED;
    return launch(naive<T>, {dim3((unsigned)(p.rows * p.columns)), NAIVE_ROWS * NAIVE_COLUMNS}, m.stream, p);
}

/* f.template operator()<T>(), T f32 or f16. */
template <typename F>
ridge_status with_type(const ridge_call *call, const F &f) {
    if (call->dtype == RIDGE_F32) return f.template operator()<float>();
    return call->dtype == RIDGE_F16 ? f.template operator()<__half>() : RIDGE_UNSUPPORTED;
}

}  // namespace

extern "C" ridge_status micro_tiling_cuda_baseline(const ridge_call *call) {
    const matmul_call m(call);
    return with_type(call, [&]<typename T>() { return run_naive<T>(m); });
}

#define MICRO_RUN(name, rows, columns, blocks, step)                                                               \
    extern "C" ridge_status micro_tiling_cuda_##name(const ridge_call *call) {                                     \
        const matmul_call m(call);                                                                                 \
        return with_type(call,                                                                                     \
                         [&]<typename T>() { return run_tiles<micro_shape<T, rows, columns, blocks, true>>(m); }); \
    }
MICRO_TILES(MICRO_RUN)

extern "C" ridge_status micro_tiling_cuda_scalar(const ridge_call *call) {
    if (call->dtype != RIDGE_F32) return RIDGE_UNSUPPORTED;
    return run_tiles<micro_shape<float, 8, 8, 2, false>>(matmul_call(call));
}

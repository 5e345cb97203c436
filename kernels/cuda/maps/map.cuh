/* Elementwise maps: NO outputs from NI inputs, element by element, arithmetic in fp32.
 *
 *     struct F : ridge::map_of<In, Out, NI, NO> {           In, Out: storage types
 *         template <int N> __device__ void operator()(const float (&x)[NI][N], float (&y)[NO][N]) const;
 *     };
 *     return ridge::launch_map(call, F{});
 *
 * Who streams once through memory is bound by it when enough bytes are in flight: a warp takes a tile of 32 x unroll
 * vectors of one row, each thread issues its loads, 16 bytes each, before it uses the first. Tensors without gaps are
 * taken as one long row. A row whose outputs reach a vector boundary at the same column has a head, vectors and a tail;
 * inputs that do not reach one there are read element by element, into the same vectors. Rows whose outputs lie apart
 * are taken element by element. Narrow rows with gaps between them would leave most of a warp idle: flat.cuh takes
 * them.
 *
 * Floor: bytes / copy ceiling, as long as an element costs fewer instructions than its bytes cost cycles. On 132
 * SMs at 1.75 GHz and 4.26 TB/s that is 7 issue slots a byte of (read + written): 56 for f32 to f32, 28 for
 * 16 bits to 16 bits. */
#ifndef RIDGE_KERNELS_CUDA_MAPS_MAP_CUH
#define RIDGE_KERNELS_CUDA_MAPS_MAP_CUH

#include "cuda/maps/flat.cuh"
#include "cuda/ptx/griddepcontrol.cuh"

namespace ridge {

constexpr int map_warps = map_threads / 32; /* a tile each */

/* A row's tensors and its parts: `head` single elements up to the first vector of the outputs, `vectors`, and a tail.
 * apart: some input has no vector boundary there. */
template <typename F>
struct map_row {
    const typename F::in_type *in[F::inputs];
    typename F::out_type *out[F::outputs];
    int64_t head, vectors, tail; /* tail: the column where it begins */
    bool apart;
};

/* What a kernel is given. The first row's parts are known from the start: of tensors without gaps it is the only row,
 * and no thread works them out. */
template <typename F>
struct map_problem {
    map_rows<F> t;
    map_row<F> first_row;
    int64_t tiles_a_row;
    bool few_tiles; /* below 2^31, and `row` divides by the tiles of a row */
    fixed_divisor row;
};

/* ---- one row ---- */

template <typename F>
__host__ __device__ inline map_row<F> row_of(const map_rows<F> &t, int64_t i) {
    map_row<F> row;
    bool together = true;
    for (int k = 0; k < F::outputs; k++) row.out[k] = t.out[k] + i * t.out_stride[k];
    const int head = to_boundary<F::width>(row.out[0]);
    for (int k = 1; k < F::outputs; k++) together = together && to_boundary<F::width>(row.out[k]) == head;
    row.apart = false;
    for (int k = 0; k < F::inputs; k++) {
        row.in[k] = t.in[k] + i * t.in_stride[k];
        row.apart = row.apart || to_boundary<F::width>(row.in[k]) != head;
    }
    row.head = 0, row.vectors = 0;
    if (together) {
        row.head = head < t.cols ? head : t.cols;
        row.vectors = (t.cols - row.head) / F::width;
    }
    row.tail = row.head + row.vectors * F::width;
    return row;
}

template <typename F>
__device__ inline void map_one(const F &f, const map_row<F> &row, int64_t j) {
    float x[F::inputs][1], y[F::outputs][1];
#pragma unroll
    for (int k = 0; k < F::inputs; k++) x[k][0] = to_float(row.in[k][j]);
    f.template operator()<1>(x, y);
#pragma unroll
    for (int k = 0; k < F::outputs; k++) row.out[k][j] = from_float<typename F::out_type>(y[k][0]);
}

/* U vectors, 32 apart, the first at column j. */
template <typename F, int U>
struct map_batch {
    pack<typename F::in_type, F::width> in[F::inputs][U];

    __device__ inline void load(const map_row<F> &row, int64_t j) {
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int k = 0; k < F::inputs; k++)
                in[k][u] = load_vector<typename F::in_type, F::width>(row.in[k] + j + u * 32 * F::width);
    }
    /* Those of the first `left` of a warp's vectors, counted from this lane's. Apart: by elements. */
    template <bool Apart>
    __device__ inline void load_some(const map_row<F> &row, int64_t j, int64_t left) {
#pragma unroll
        for (int u = 0; u < U; u++)
#pragma unroll
            for (int k = 0; k < F::inputs; k++) {
                const typename F::in_type *p = row.in[k] + j + u * 32 * F::width;
                if constexpr (!Apart) {
                    in[k][u] = load_unit<typename F::in_type, F::width>(p, u * 32 < left);
                } else {
#pragma unroll
                    for (int e = 0; e < F::width; e++)
                        if (u * 32 < left) in[k][u].v[e] = p[e];
                }
            }
    }
    __device__ inline void map_and_store(const F &f, const map_row<F> &row, int64_t j, int64_t left = 32 * U) const {
        constexpr int vectors = F::group < U ? F::group : U, count = vectors * F::width;
        static_assert(U % vectors == 0, "groups of one size");
#pragma unroll
        for (int first = 0; first < U; first += vectors) {
            float x[F::inputs][count], y[F::outputs][count];
#pragma unroll
            for (int k = 0; k < F::inputs; k++)
#pragma unroll
                for (int u = 0; u < vectors; u++) widen(in[k][first + u], &x[k][u * F::width]);
            f.template operator()<count>(x, y);
#pragma unroll
            for (int u = 0; u < vectors; u++)
#pragma unroll
                for (int k = 0; k < F::outputs; k++)
                    if ((first + u) * 32 < left)
                        store_vector(row.out[k] + j + (first + u) * 32 * F::width,
                                     narrow<typename F::out_type, F::width>(&y[k][u * F::width]));
        }
    }
};

/* ---- tiles ---- */

/* U: vectors a lane. */
template <int U>
constexpr int tile_vectors = 32 * U;
template <typename F, int U>
constexpr int tile_columns = tile_vectors<U> *F::width;

/* Where this lane's vectors of tile c begin. */
template <int U, typename F>
__device__ inline int64_t tile_column(const map_row<F> &row, int64_t c, int lane) {
    return row.head + (c * tile_vectors<U> + lane) * F::width;
}
/* Tile c has all of its vectors, and neither head nor tail. */
template <int U, typename F>
__device__ inline bool tile_is_whole(const map_problem<F> &p, const map_row<F> &row, int64_t c) {
    return (c + 1) * tile_vectors<U> <= row.vectors && !(c == 0 && row.head > 0) &&
           !(c == p.tiles_a_row - 1 && row.tail < p.t.cols);
}

/* N single elements of a lane, 32 apart, all in flight together. */
template <int N, typename F>
__device__ inline void map_some(const F &f, const map_row<F> &row, int64_t j) {
    typename F::in_type in[F::inputs][N];
    float x[F::inputs][N], y[F::outputs][N];
#pragma unroll
    for (int e = 0; e < N; e++)
#pragma unroll
        for (int k = 0; k < F::inputs; k++) in[k][e] = row.in[k][j + 32 * e];
#pragma unroll
    for (int e = 0; e < N; e++)
#pragma unroll
        for (int k = 0; k < F::inputs; k++) x[k][e] = to_float(in[k][e]);
    f.template operator()<N>(x, y);
#pragma unroll
    for (int e = 0; e < N; e++)
#pragma unroll
        for (int k = 0; k < F::outputs; k++) row.out[k][j + 32 * e] = from_float<typename F::out_type>(y[k][e]);
}
/* Single elements all along: one 16-bit element at a time would leave most of the bytes unasked that cover the
 * memory's latency. */
template <typename F>
__device__ inline void map_singles(const F &f, const map_row<F> &row, int64_t j, int64_t end) {
#pragma unroll 1
    for (; j + 32 * 7 < end; j += 32 * 8) map_some<8>(f, row, j);
    if (j + 32 * 3 < end) map_some<4>(f, row, j), j += 32 * 4;
#pragma unroll 1
    for (; j < end; j += 32) map_one(f, row, j);
}

/* One element of a row's head (lanes 0, 1, …) or tail (lanes 16, 17, …), where tile c has such. */
template <typename F>
struct map_edge {
    static_assert(F::width <= 16, "lanes for a head and for a tail");
    int64_t column;
    bool exists;
    pack<typename F::in_type, 1> in[F::inputs];

    __device__ inline map_edge(const map_problem<F> &p, const map_row<F> &row, int64_t c, int lane) {
        const bool of_head = c == 0 && lane < row.head;
        column = of_head ? lane : row.tail + lane - 16;
        exists = of_head || (c == p.tiles_a_row - 1 && lane >= 16 && column < p.t.cols);
#pragma unroll
        for (int k = 0; k < F::inputs; k++) in[k] = load_unit<typename F::in_type, 1>(row.in[k] + column, exists);
    }
    __device__ inline void map_and_store(const F &f, const map_row<F> &row) const {
        float x[F::inputs][1], y[F::outputs][1];
        if (!exists) return;
#pragma unroll
        for (int k = 0; k < F::inputs; k++) x[k][0] = to_float(in[k].v[0]);
        f.template operator()<1>(x, y);
#pragma unroll
        for (int k = 0; k < F::outputs; k++) row.out[k][column] = from_float<typename F::out_type>(y[k][0]);
    }
};

/* Any tile of a row with vectors. A lane has its element of the head or tail in flight with its vectors, but for the
 * later ones of many: these would take registers from whole tiles. Apart: inputs by elements. */
template <int U, bool Apart, typename F>
__device__ inline void map_ragged(const F &f, const map_problem<F> &p, const map_row<F> &row, int64_t c, int lane) {
    constexpr int together = U > 2 ? 1 : U;
    const map_edge<F> edge(p, row, c, lane);
#pragma unroll 1
    for (int u = 0; u < U; u += together) {
        const int64_t left = row.vectors - c * tile_vectors<U> - u * 32 - lane;
        const int64_t j = tile_column<U>(row, c, lane) + u * 32 * F::width;
        map_batch<F, together> batch;
        batch.template load_some<Apart>(row, j, left);
        batch.map_and_store(f, row, j, left);
    }
    edge.map_and_store(f, row);
}

/* A tile that is not whole, or whose inputs lie apart, or a tile's columns of a row without vectors. */
template <int U, typename F>
__device__ inline void map_other(const F &f, const map_problem<F> &p, const map_row<F> &row, int64_t c, int lane) {
    if (row.vectors == 0) {
        const int64_t begin = c * tile_columns<F, U>;
        map_singles(f, row, begin + lane, c == p.tiles_a_row - 1 ? p.t.cols : begin + tile_columns<F, U>);
    } else if (row.apart) {
        map_ragged<U, true>(f, p, row, c, lane);
    } else {
        map_ragged<U, false>(f, p, row, c, lane);
    }
}

/* The row and, in c, the tile of it that tile number `tile` is. */
template <typename F>
__device__ inline map_row<F> locate(const map_problem<F> &p, int64_t tile, int64_t *c) {
    *c = tile;
    if (p.t.rows == 1) return p.first_row;
    const int64_t i = p.few_tiles ? p.row.quotient((uint32_t)tile) : tile / p.tiles_a_row;
    *c = tile - i * p.tiles_a_row;
    return row_of(p.t, i);
}

template <int U, typename F>
__device__ inline void map_tile(const F &f, const map_problem<F> &p, int64_t tile, int lane) {
    int64_t c;
    const map_row<F> row = locate(p, tile, &c);
    if (row.apart || !tile_is_whole<U>(p, row, c)) {
        map_other<U>(f, p, row, c, lane);
        return;
    }
    map_batch<F, U> batch;
    const int64_t j = tile_column<U>(row, c, lane);
    batch.load(row, j);
    batch.map_and_store(f, row, j);
}

template <typename F, int U>
__global__ void __launch_bounds__(map_threads, F::least_blocks)
    map_kernel(const __grid_constant__ map_problem<F> p, const __grid_constant__ F f) {
    const int lane = (int)(threadIdx.x & 31);
    if (gridDim.x <= map_few) after_previous_launch();
    const int64_t tiles = p.t.rows * p.tiles_a_row, first = (int64_t)blockIdx.x * map_warps + threadIdx.x / 32;
    if (first < tiles) map_tile<U>(f, p, first, lane);
}

/* ---- launching ---- */

inline bool is_dense(const DLTensor *t) { return t->shape[0] <= 1 || ridge_row_stride(t) == t->shape[1]; }

/* [rows, cols] tensors, the first F::inputs of call->in and the first F::outputs of call->out. */
template <typename F>
map_rows<F> rows_of_call(const ridge_call *call) {
    map_rows<F> t;
    bool dense = true;
    t.rows = call->dim[0], t.cols = call->dim[1];
    for (int k = 0; k < F::inputs; k++) {
        t.in[k] = (const typename F::in_type *)ridge_data(&call->in[k]);
        t.in_stride[k] = ridge_row_stride(&call->in[k]);
        dense = dense && is_dense(&call->in[k]);
    }
    for (int k = 0; k < F::outputs; k++) {
        t.out[k] = (typename F::out_type *)ridge_data(&call->out[k]);
        t.out_stride[k] = ridge_row_stride(&call->out[k]);
        dense = dense && is_dense(&call->out[k]);
    }
    if (dense && t.rows > 0) t.cols *= t.rows, t.rows = 1;
    return t;
}

inline int sm_count(void) { return device_limit(cudaDevAttrMultiProcessorCount); }

/* Of at least one row and column. */
template <int U, typename F>
map_problem<F> problem_of_rows(const map_rows<F> &t) {
    const int64_t some = (t.cols / F::width + tile_vectors<U> - 1) / tile_vectors<U>, tiles = some > 0 ? some : 1;
    const bool few = tiles <= INT32_MAX / t.rows;
    return {t, row_of(t, 0), tiles, few, divide_by(few ? (uint32_t)tiles : 1)};
}

template <int U, typename F>
ridge_status launch_tiles(const map_rows<F> &t, const F &f, cudaStream_t stream) {
    const map_problem<F> p = problem_of_rows<U>(t);
    const int64_t blocks = (t.rows * p.tiles_a_row + map_warps - 1) / map_warps;
    return launch_map_blocks(map_kernel<F, U>, blocks, stream, p, f);
}

/* Some input of some row lies apart. */
template <typename F>
bool rows_lie_apart(const map_rows<F> &t) {
    bool apart = row_of(t, 0).apart;
    for (int k = 0; k < F::inputs; k++)
        apart = apart || (t.rows > 1 && (t.in_stride[k] - t.out_stride[0]) % F::width != 0);
    return apart;
}

/* Lanes have one vector each where more would leave SMs without a second block, or where a vector's elements are eight
 * loads. */
template <typename F>
ridge_status launch_map_rows(const map_rows<F> &t, const F &f, cudaStream_t stream) {
    if (t.rows <= 0 || t.cols <= 0) return RIDGE_OK;
    if (rows_are_narrow(t)) return launch_flat(t, f, stream);
    const int64_t blocks = t.rows * problem_of_rows<F::unroll>(t).tiles_a_row / map_warps;
    if (blocks < 2 * sm_count() || (F::unroll > 2 && rows_lie_apart(t))) return launch_tiles<1>(t, f, stream);
    return launch_tiles<F::unroll>(t, f, stream);
}

template <typename F>
ridge_status launch_map(const ridge_call *call, const F &f) {
    return launch_map_rows(rows_of_call<F>(call), f, stream_of(call));
}

}  // namespace ridge

#endif

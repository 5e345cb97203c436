/* Elementwise maps of narrow rows with gaps between them: threads are numbered over all rows.
 *
 * A unit is a vector where every row of every tensor is whole vectors, else one element. Units are numbered row after
 * row, without the gaps. A block takes consecutive units; each thread takes several, a block's width apart, so that the
 * lanes of a warp access consecutive units at a time. A thread issues all of its loads before it uses the first.
 *
 * Floor: as in map.cuh. A unit's place and predicate take about 6 instructions and 3 a tensor, beside what the map
 * takes; memory leaves 28 (16 bits) or 56 (f32) for each of its elements. */
#ifndef RIDGE_KERNELS_CUDA_MAPS_FLAT_CUH
#define RIDGE_KERNELS_CUDA_MAPS_FLAT_CUH

#include "cuda/maps/operands.cuh"
#include "cuda/ptx/griddepcontrol.cuh"
#include "cuda/tile/divisor.cuh"

namespace ridge {

/* Rows of at most so many units are narrow. The kernel of tiles gives each row a warp of its own: 114736 rows of 16
 * fp32 elements with gaps take it 34 us on an H200, the time of 1200 bytes a row, read and written. That is 150
 * elements of fp32 or 300 of 16 bits; wider rows gain nothing as single elements. Rows of more vectors fill most of
 * their tiles. */
constexpr int64_t flat_widest = 256;

/* ---- the kernel ---- */

/* A call's tensors; strides of rows in bytes, so that an address takes two instructions. */
template <typename F>
struct flat_problem {
    const typename F::in_type *in[F::inputs];
    typename F::out_type *out[F::outputs];
    uint32_t in_stride[F::inputs], out_stride[F::outputs];
    uint32_t units; /* below 2^31 */
    fixed_divisor row_units;
};

/* Where a unit of W elements lies. */
struct flat_place {
    uint32_t row, column; /* column: in units */
    template <int W, typename T>
    __device__ T *in(T *tensor, uint32_t stride) const {
        return (T *)((const char *)tensor + (uint64_t)row * stride + (uint64_t)column * (W * (uint32_t)sizeof(T)));
    }
};

template <typename F>
__device__ inline flat_place place_of(const flat_problem<F> &p, uint32_t unit) {
    const uint32_t row = p.row_units.quotient(unit);
    return {row, unit - row * p.row_units.d};
}

/* Zeros unless present. */
template <typename T, int W>
__device__ inline pack<T, W> load_unit(const T *p, bool present) {
    if constexpr (W == 1) {
        pack<T, 1> one = {from_float<T>(0.0f)};
        if (present) one.v[0] = *p;
        return one;
    } else if constexpr (sizeof(T) * W == 16) {
        return elements_of<T, W>(ld_global_if(p, createpolicy_evict_last(), present));
    } else {
        union {
            uint2 bits;
            pack<T, W> elements;
        } u = {ld_global_v2_if(p, present)};
        return u.elements;
    }
}

template <typename T, int W>
__device__ inline void widen_unit(const pack<T, W> &unit, float *x) {
    if constexpr (W == 1)
        x[0] = to_float(unit.v[0]);
    else
        widen(unit, x);
}

template <typename T, int W>
__device__ inline void store_unit(T *p, const float *y) {
    if constexpr (W == 1)
        *p = from_float<T>(y[0]);
    else
        store_vector(p, narrow<T, W>(y));
}

/* U units of a thread, of W elements each. */
template <typename F, int W, int U>
struct flat_batch {
    static constexpr int group = F::group * F::width / W; /* units that are mapped together */
    static constexpr int together = group < U ? group : U;
    static_assert(U % together == 0, "groups of one size");

    flat_place place[U];
    pack<typename F::in_type, W> in[F::inputs][U];

    __device__ inline void load(const flat_problem<F> &p, uint32_t first) {
#pragma unroll
        for (int u = 0; u < U; u++) {
            const uint32_t unit = first + u * map_threads;
            place[u] = place_of(p, unit);
#pragma unroll
            for (int k = 0; k < F::inputs; k++)
                in[k][u] =
                    load_unit<typename F::in_type, W>(place[u].template in<W>(p.in[k], p.in_stride[k]), unit < p.units);
        }
    }
    __device__ inline void map_and_store(const F &f, const flat_problem<F> &p, uint32_t first) const {
#pragma unroll
        for (int from = 0; from < U; from += together) {
            float x[F::inputs][together * W], y[F::outputs][together * W];
#pragma unroll
            for (int k = 0; k < F::inputs; k++)
#pragma unroll
                for (int u = 0; u < together; u++) widen_unit<typename F::in_type, W>(in[k][from + u], &x[k][u * W]);
            f.template operator()<together * W>(x, y);
#pragma unroll
            for (int u = 0; u < together; u++) {
                if (first + (from + u) * map_threads >= p.units) continue;
#pragma unroll
                for (int k = 0; k < F::outputs; k++)
                    store_unit<typename F::out_type, W>(place[from + u].template in<W>(p.out[k], p.out_stride[k]),
                                                        &y[k][u * W]);
            }
        }
    }
};

template <typename F, int W, int U>
__global__ void __launch_bounds__(map_threads, F::least_blocks)
    flat_kernel(const __grid_constant__ flat_problem<F> p, const __grid_constant__ F f) {
    if (gridDim.x <= map_few) after_previous_launch();
    const uint32_t first = blockIdx.x * (uint32_t)(map_threads * U) + threadIdx.x;
    flat_batch<F, W, U> batch;
    batch.load(p, first);
    batch.map_and_store(f, p, first);
}

/* ---- launching ---- */

/* All rows of all tensors begin at a vector boundary and are whole vectors. */
template <typename F>
bool rows_are_vectors(const map_rows<F> &t) {
    bool whole = t.cols % F::width == 0;
    for (int k = 0; k < F::inputs; k++)
        whole = whole && to_boundary<F::width>(t.in[k]) == 0 && t.in_stride[k] % F::width == 0;
    for (int k = 0; k < F::outputs; k++)
        whole = whole && to_boundary<F::width>(t.out[k]) == 0 && t.out_stride[k] % F::width == 0;
    return whole;
}

/* Elements of a unit. */
template <typename F>
int64_t unit_width(const map_rows<F> &t) {
    return rows_are_vectors(t) ? F::width : 1;
}

/* A row's stride in bytes fits the kernel's 32 bits. */
template <typename T>
bool stride_fits(const T *, int64_t stride) {
    return stride >= 0 && stride <= (int64_t)(UINT32_MAX / sizeof(T));
}

/* Rows for this kernel: several, narrow, and few enough that units and strides are numbers of 32 bits. */
template <typename F>
bool rows_are_narrow(const map_rows<F> &t) {
    const int64_t row_units = t.cols / unit_width(t);
    if (t.rows == 1 || row_units > flat_widest || t.rows > INT32_MAX / row_units) return false;
    bool fit = true;
    for (int k = 0; k < F::inputs; k++) fit = fit && stride_fits(t.in[k], t.in_stride[k]);
    for (int k = 0; k < F::outputs; k++) fit = fit && stride_fits(t.out[k], t.out_stride[k]);
    return fit;
}

template <typename F>
flat_problem<F> flat_problem_of(const map_rows<F> &t) {
    const int64_t row_units = t.cols / unit_width(t);
    flat_problem<F> p;
    for (int k = 0; k < F::inputs; k++)
        p.in[k] = t.in[k], p.in_stride[k] = (uint32_t)(t.in_stride[k] * (int64_t)sizeof *t.in[k]);
    for (int k = 0; k < F::outputs; k++)
        p.out[k] = t.out[k], p.out_stride[k] = (uint32_t)(t.out_stride[k] * (int64_t)sizeof *t.out[k]);
    p.units = (uint32_t)(t.rows * row_units);
    p.row_units = divide_by((uint32_t)row_units);
    return p;
}

template <int W, int U, typename F>
ridge_status launch_units(const flat_problem<F> &p, const F &f, cudaStream_t stream) {
    constexpr int64_t block_units = map_threads * U;
    return launch_map_blocks(flat_kernel<F, W, U>, (p.units + block_units - 1) / block_units, stream, p, f);
}

/* Of rows that are narrow, at least one, of at least one column. */
template <typename F>
ridge_status launch_flat(const map_rows<F> &t, const F &f, cudaStream_t stream) {
    constexpr int singles = 8 / F::inputs; /* 8 loads in flight a thread */
    const flat_problem<F> p = flat_problem_of(t);
    if (rows_are_vectors(t)) return launch_units<F::width, F::unroll>(p, f, stream);
    return launch_units<1, singles>(p, f, stream);
}

}  // namespace ridge

#endif

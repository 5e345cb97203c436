/* One row of x and of y: a body of 16-byte packs between a head and a tail of single elements. A span says where a row
 * lies and what registers keep of it. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_SPAN_CUH
#define RIDGE_KERNELS_CUDA_ROWS_SPAN_CUH

#include "cuda/ptx/cp_async.cuh"
#include "cuda/tile/pack.cuh"
#include "cuda/tile/shift.cuh"

namespace ridge {

/* One row of x and of y. Packs: elements a pack, 1 where x and y are not aligned alike. Index: int, where columns fit.
 * Ends: whether there may be elements before and behind the packs. */
template <typename T, typename U, int Packs, typename Index, bool Ends = (Packs > 1)>
struct row_span {
    using index = Index;
    using kept = T; /* in registers */
    using out = U;
    static constexpr int Width = Packs;
    static constexpr bool whole = false, ends = Ends;
    static constexpr bool shifted = false; /* see row_shifted_span */
    static constexpr bool joins = false;   /* two operands make the row: see row_joined_span */
    static constexpr bool written = false; /* by this kernel: loads must see that */
    const T *x;
    U *y;
    Index packs;
    int head, edges; /* elements before the body; those, and the ones behind it */

    /* n: 0 where there is no such row. The body starts where x is aligned, and so is y there. */
    __device__ row_span(const T *x_row, U *y_row, Index n) : x(x_row), y(y_row), packs(n), head(0), edges(0) {
        if constexpr (Ends) {
            int before = (int)((0u - (unsigned)(uintptr_t)x_row) % 16 / sizeof(T));
            head = n < before ? (int)n : before;
            packs = (n - head) / Width;
            edges = (int)(n - packs * Width);
        } else {
            packs = n / Width;
        }
    }
    __device__ Index body_column(Index pack) const { return head + pack * Width; }
    __device__ Index edge_column(int edge) const { return edge < head ? edge : edge + packs * Width; }
};

/* Columns of N elements that are moved one by one: first, first + step, …. Of those from `left` behind the first on
 * there are none; what asks for them gets the first. */
template <typename Index>
struct row_apart {
    Index first;
    int step, left;

    __device__ bool exists(int e) const { return e * step < left; }
    __device__ Index at(int e) const { return exists(e) ? first + e * step : first; }
};

/* A row of nothing but packs. */
template <typename T, typename U, int Width>
struct row_packs_span {
    using index = int;
    static constexpr bool whole = false, ends = false, shifted = false, joins = false, written = false;
    static constexpr int head = 0, edges = 0;
    const T *x;
    U *y;
    int packs; /* 0 where there is no such row */

    __device__ int body_column(int pack) const { return pack * Width; }
    __device__ int edge_column(int) const { return 0; }
};

/* A row, or a block's slice of one, of nothing but packs, as many as its threads hold. x and y are the thread's first,
 * and columns count from there, so that all of them are constants. */
template <typename T, typename U, int Width>
struct row_whole_span {
    using index = int;
    static constexpr bool whole = true, ends = false, shifted = false, joins = false, written = false;
    static constexpr int head = 0, edges = 0;
    const T *x;
    U *y;

    __device__ int edge_column(int) const { return 0; }
};

/* A row of y that this kernel has written before it reads it. */
template <typename T, typename U, int Packs, typename Index>
struct row_written_span : row_span<T, U, Packs, Index> {
    static constexpr bool written = true;
    using row_span<T, U, Packs, Index>::row_span;
};

/* A row that x and an operand beside it make. A Join has
 *     using kept                                              what registers keep of an element of type T
 *     struct row;                                             the operand's row, and whatever else is written
 *     const T *row::beside;
 *     void row::put(column, pack<kept, N>)                    what else is written
 *     kept join(float x, float beside)
 * It says `stores` if put writes. */
template <class Join, typename T, typename U, int Packs, typename Index, bool Ends>
struct row_joined_span : row_span<T, U, Packs, Index, Ends> {
    using in = T;
    using kept = typename Join::kept;
    static constexpr bool joins = true;
    typename Join::row other;
    Join join;

    __device__ row_joined_span(const T *x_row, U *y_row, Index n, const Join &of, const typename Join::row &beside)
        : row_span<T, U, Packs, Index, Ends>(x_row, y_row, n), other(beside), join(of) {}

    /* What becomes of N elements; the caller has them put. */
    template <int N>
    __device__ pack<kept, N> joined(const pack<T, N> &a, const pack<T, N> &b) const {
        float x[N], beside[N];
        pack<kept, N> both;
        unpack(a, x), unpack(b, beside);
#pragma unroll
        for (int e = 0; e < N; e++) both.v[e] = join(x[e], beside[e]);
        return both;
    }
};

/* ---- operands that lie differently against 16-byte boundaries ---- */

/* A row whose body is packs of y. An operand's elements for one lie in two of its own packs, which are shifted together
 * (pack_shifter). So that both of them lie within the row, whatever the shift, W - 1 elements and more are before and
 * behind the body. One: the same row by single elements. What else is written lies as y does. */
template <class One, int Packs>
struct row_shifted_span : One {
    using index = typename One::index;
    static constexpr int Width = Packs, least = Packs - 1; /* elements of an end */
    static constexpr bool ends = true, shifted = true;

    __device__ explicit row_shifted_span(const One &row) : One(row) {
        using U = typename One::out;
        constexpr int store = (int)sizeof(U) * Packs < 16 ? (int)sizeof(U) * Packs : 16,
                      period = store / (int)sizeof(U);
        const index n = row.packs;
        const int before = (int)((0u - (unsigned)(uintptr_t)row.y) % store / sizeof(U));
        const int first = before + (least - before + period - 1) / period * period;
        this->head = n < first ? (int)n : first;
        this->packs = n < first + least + Width ? 0 : (n - first - least) / Width;
        this->edges = (int)(n - this->packs * Width);
    }
    __device__ index body_column(index pack) const { return this->head + pack * Width; }
    __device__ index edge_column(int edge) const { return edge < this->head ? edge : edge + this->packs * Width; }
};

/* Columns of a pack on whose either side the row has W - 1 more. */
template <typename Index>
struct row_inside {
    Index first;
};

/* Written: by this kernel. */
template <typename T, int Width, bool Written = false>
__device__ inline auto row_load(const T *p) {
    if constexpr (Width != pack_width<T>)
        return pack<T, Width>{{*p}};
    else if constexpr (Written)
        return *(const uint4 *)p;
    else
        return load_once_words(p);
}

/* 16 bytes to shared memory, asynchronously: this thread's, after cp_async_wait_all(). Zeros unless present. */
template <typename T, int Width>
__device__ inline void row_fetch(pack<T, Width> *shared, const T *p, bool present) {
    static_assert(sizeof(*shared) == 16);
    cp_async_16_kept_if(shared_address(shared), p, present);
}

template <typename U, int Width>
__device__ inline void row_store(U *p, pack<U, Width> v) {
    if constexpr (Width == pack_width<U>) {
        store_once(p, v);
    } else if constexpr (Width % pack_width<U> == 0) { /* a wider type than was loaded: fp32 for bf16 */
#pragma unroll
        for (int k = 0; k < Width; k += pack_width<U>) {
            pack<U, pack_width<U>> part;
#pragma unroll
            for (int e = 0; e < pack_width<U>; e++) part.v[e] = v.v[k + e];
            store_once(p + k, part);
        }
    } else if constexpr (Width > 1 && pack_width<U> % Width == 0) { /* a narrower type than was loaded: bf16 for fp32 */
        *(pack<U, Width> *)p = v;
    } else {
        static_assert(Width == 1);
        *p = v.v[0];
    }
}

}  // namespace ridge

#endif

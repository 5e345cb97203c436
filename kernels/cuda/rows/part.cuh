/* What one thread holds of a row, or of a piece of a row. */
#ifndef RIDGE_KERNELS_CUDA_ROWS_PART_CUH
#define RIDGE_KERNELS_CUDA_ROWS_PART_CUH

#include <type_traits>

#include "cuda/mma/sm80.cuh"
#include "cuda/rows/span.cuh"

namespace ridge {

/* opaque_copy of an element by itself; one of 32 bits is its own conversion. */
template <typename T>
__device__ inline pack<T, 1> opaque_copy(pack<T, 1> kept) {
    if constexpr (sizeof kept == 2) asm volatile("" : "+h"(*(unsigned short *)&kept));
    return kept;
}

/* See row_finish. */
template <typename F>
constexpr bool row_is_grouped = [] {
    if constexpr (requires { F::grouped; })
        return F::grouped;
    else
        return true;
}();

/* Elements: those that a thread holds in packs, at most. */
template <typename Span, typename T, typename U, int Width, int Threads, int Elements>
class row_part {
    using index = typename Span::index;
    static constexpr int packs = Elements / Width;
    static constexpr int most_edges = Span::shifted ? 4 * Width - 4 : 2 * Width - 2;
    static constexpr int edges = Span::ends ? (most_edges + Threads - 1) / Threads : 0;
    static constexpr bool by_mma = sizeof(T) == 2 && Width == pack_width<T> && Threads >= 4; /* lanes of one row */
    static constexpr int together = packs > 1 ? packs / 2 : 1;              /* single elements: see write_apart */
    static constexpr bool again = Span::whole || (Width == 1 && packs > 8); /* conversions: see opaque_copy */
    static_assert(Elements % Width == 0 && packs >= 1, "whole packs");

    const Span &row;
    index first;              /* its first pack */
    int thread, stride, left; /* among those of the row; packs from one to its next; packs from the first on */
    bool with_edges;
    kept_words<T, Width> body[packs];
    T edge[edges ? edges : 1];

    __device__ bool has_pack(int i) const { return Span::whole || i * stride < left; }
    __device__ index column_of(int i) const {
        if constexpr (Span::whole)
            return i * Threads * Width;
        else
            return row.body_column(first + i * stride);
    }
    __device__ bool has_edge(int j) const { return with_edges && thread + j * Threads < row.edges; }
    template <typename F>
    __device__ void each_edge(F f) const {
#pragma unroll
        for (int j = 0; j < edges; j++)
            if (has_edge(j)) f(to_float(edge[j]), j % 4);
    }

    /* f(j, column) for each of its edges. */
    template <typename F>
    __device__ void at_edges(F f) const {
#pragma unroll
        for (int j = 0; j < edges; j++)
            if (has_edge(j)) f(j, row.edge_column(thread + j * Threads));
    }
    __device__ void load_edges(void) {
        at_edges([&](int j, index column) { edge[j] = row.x[column]; });
    }

    /* Loads of both operands, edges too, are all in flight before the first two are joined: a store of what is joined
     * would hold back the loads behind it. */
    __device__ void load_joined(void) {
        using in = typename Span::in;
        kept_words<in, Width> one[packs], two[packs];
        in edge_one[edges ? edges : 1], edge_two[edges ? edges : 1];
        const in *p = row.x + column_of(0), *q = row.other.beside + column_of(0);
#pragma unroll
        for (int i = 0; i < packs; i++) {
            if (!has_pack(i)) continue;
            one[i] = row_load<in, Width>(p + i * stride * Width);
            two[i] = row_load<in, Width>(q + i * stride * Width);
        }
        at_edges([&](int j, index column) { edge_one[j] = row.x[column], edge_two[j] = row.other.beside[column]; });
#pragma unroll
        for (int i = 0; i < packs; i++) join_pack(i, one[i], two[i]);
        join_edges(edge_one, edge_two);
        put_joined();
    }
    template <typename Words>
    __device__ void join_pack(int i, const Words &one, const Words &two) {
        using in = typename Span::in;
        pack<T, Width> both = {};
        if (has_pack(i)) both = row.joined(elements_of<in, Width>(one), elements_of<in, Width>(two));
        body[i] = words_of(both);
    }
    template <typename In, int N>
    __device__ void join_edges(const In (&one)[N], const In (&two)[N]) {
        at_edges([&](int j, index) { edge[j] = row.joined(pack<In, 1>{{one[j]}}, pack<In, 1>{{two[j]}}).v[0]; });
    }
    __device__ void put_joined(void) const {
#pragma unroll
        for (int i = 0; i < packs; i++)
            if (has_pack(i)) row.other.put(column_of(i), elements_of<T, Width>(body[i]));
        at_edges([&](int j, index column) { row.other.put(column, pack<T, 1>{{edge[j]}}); });
    }

    /* Packs that lie differently from y's: two for each, all of them in flight. What is absent is zero. */
    __device__ void load_shifted(void) {
        const pack_shifter<T> x(row.x + column_of(0));
        typename pack_shifter<T>::packs one[packs];
#pragma unroll
        for (int i = 0; i < packs; i++) one[i] = x.load(i * stride, has_pack(i));
        load_edges();
#pragma unroll
        for (int i = 0; i < packs; i++) body[i] = x.of(one[i]);
    }
    /* Of two operands, as many as registers suffice for. */
    __device__ void load_shifted_joined(void) {
        using in = typename Span::in;
        constexpr int flight = Width > 4 ? 2 : 1;
        const pack_shifter<in> x(row.x + column_of(0)), beside(row.other.beside + column_of(0));
        typename pack_shifter<in>::packs one[flight], two[flight];
        in edge_one[edges], edge_two[edges];
#pragma unroll
        for (int i = 0; i < packs; i += flight) {
#pragma unroll
            for (int e = 0; e < flight; e++) {
                one[e] = x.load((i + e) * stride, has_pack(i + e));
                two[e] = beside.load((i + e) * stride, has_pack(i + e));
            }
            if (i == 0)
                at_edges(
                    [&](int j, index column) { edge_one[j] = row.x[column], edge_two[j] = row.other.beside[column]; });
#pragma unroll
            for (int e = 0; e < flight; e++) join_pack(i + e, x.of(one[e]), beside.of(two[e]));
            if (i == 0) join_edges(edge_one, edge_two);
        }
        put_joined();
    }

    template <bool Fetched, bool Apart, typename F>
    __device__ void write_packs(F finish) const {
#pragma unroll
        for (int i = 0; i < packs; i++) {
            if (!has_pack(i)) continue;
            const index column = column_of(i);
            float v[Width];
            pack<U, Width> out;
            unpack(elements_of<T, Width>(body[i]), v);
            if constexpr (Span::shifted)
                finish(v, row_inside<index>{column});
            else
                finish(v, Fetched && !Span::whole ? (i * Threads + (int)threadIdx.x) * Width : column);
#pragma unroll
            for (int e = 0; e < Width; e++) out.v[e] = from_float<U>(v[e]);
            row_store<U, Width>(row.y + column, out);
            if (Apart && i % 2 == 1) __syncwarp();
        }
#pragma unroll
        for (int j = 0; j < edges; j++) {
            if (!has_edge(j)) continue;
            const index column = row.edge_column(thread + j * Threads);
            float v[1] = {to_float(edge[j])};
            finish(v, column);
            row.y[column] = from_float<U>(v[0]);
        }
    }

    /* Single elements, `together` at a time: parameters of all of them are in flight before the first is stored, and
     * what finish asks for each call it asks once for them all. */
    template <typename F>
    __device__ void write_apart(F finish) const {
        static_assert(packs % together == 0, "whole groups");
#pragma unroll
        for (int i = 0; i < packs; i += together) {
            if (!has_pack(i)) continue;
            float v[together];
#pragma unroll
            for (int e = 0; e < together; e++) v[e] = has_pack(i + e) ? to_float(body[i + e].v[0]) : 0.0f;
            finish(v, row_apart<index>{column_of(i), stride, left - i * stride});
#pragma unroll
            for (int e = 0; e < together; e++)
                if (has_pack(i + e)) row.y[column_of(i + e)] = from_float<U>(v[e]);
        }
    }

   public:
    static constexpr int span = Threads * packs; /* packs that a row's threads, or a block's, hold */

    __device__ row_part(const Span &of, int thread_of_row, int threads_of_row)
        : row(of), first(0), thread(thread_of_row), stride(threads_of_row), left(0), with_edges(false) {}

    __device__ int row_body_column() const { return row.head; }

    /* What follows computes the places of single elements again: registers do not suffice to keep all of them. */
    __device__ void forget_places(void) {
        if constexpr (Width == 1 || Span::shifted) asm volatile("" : "+r"(stride));
    }

    /* The piece of the row that begins with pack `begin`; the edges count to the first. */
    __device__ void load(index begin) {
        if constexpr (!Span::whole) {
            first = begin + thread;
            const index behind = row.packs - first;
            left = behind < packs * stride ? (int)behind : packs * stride;
            with_edges = begin == 0;
        }
        if constexpr (Span::shifted) {
            if constexpr (Span::joins)
                load_shifted_joined();
            else
                load_shifted();
        } else if constexpr (Span::joins) {
            load_joined();
        } else {
            const T *p = row.x + column_of(0);
#pragma unroll
            for (int i = 0; i < packs; i++)
                if constexpr (by_mma && !Span::whole && !Span::written)
                    body[i] = load_once_if(p + i * stride * Width, has_pack(i)); /* what is absent adds nothing */
                else if (has_pack(i))
                    body[i] = row_load<T, Width, Span::written>(p + i * stride * Width);
                else if constexpr (by_mma && Span::written)
                    body[i] = make_uint4(0, 0, 0, 0);
            load_edges();
        }
    }

    /* All of its packs, which are in registers; zeros where the row has none. */
    __device__ void hold(const kept_words<T, Width> (&words)[packs]) {
        first = thread, left = row.packs - thread;
#pragma unroll
        for (int i = 0; i < packs; i++) body[i] = words[i];
    }

    /* All of its packs, which lie in shared memory. */
    __device__ void take(const uint4 *shared) {
        static_assert(Span::whole);
#pragma unroll
        for (int i = 0; i < packs; i++) body[i] = shared[i * Threads + thread];
    }

    /* A parameter's elements for `write`, in flight to shared memory; zeros where the row has ended. A block's first
     * packs lie side by side there, then its second. Of a row without edges. */
    __device__ void fetch(pack<T, Width> *shared, const T *parameter) const {
#pragma unroll
        for (int i = 0; i < packs; i++)
            row_fetch(&shared[i * Threads + (int)threadIdx.x],
                      parameter + (has_pack(i) ? row.body_column(first + i * stride) : 0), has_pack(i));
    }

    /* f(x, chain) for every element; chain, 0 … 3, lets sums run in chains of their own. */
    template <typename F>
    __device__ void each(F f) const {
#pragma unroll
        for (int i = 0; i < packs; i++) {
            if (!has_pack(i)) continue;
            float v[Width];
            unpack(elements_of<T, Width>(again ? opaque_copy(body[i]) : body[i]), v);
#pragma unroll
            for (int e = 0; e < Width; e++) f(v[e], (i * Width + e) % 4);
        }
        each_edge(f);
    }

    template <typename F>
    __device__ float sum(F f) const {
        float chain[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        each([&](float x, int c) { chain[c] += f(x); });
        return (chain[0] + chain[1]) + (chain[2] + chain[3]);
    }

    /* The sums of x and of x^2. Of 16-bit packs by the tensor cores (mma/sm80.cuh): products exact, sums in fp32.
     */
    __device__ float2 moments(void) const {
        float x[4] = {0.0f, 0.0f, 0.0f, 0.0f}, squares[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const auto add = [&](float v, int c) { x[c] += v, squares[c] = fmaf(v, v, squares[c]); };
        float2 body_sums = {0.0f, 0.0f};
        if constexpr (by_mma) {
            mma_moments<T> sums;
#pragma unroll
            for (int i = 0; i < packs; i++) sums.add({body[i].x, body[i].y, body[i].z, body[i].w});
            body_sums = sums.of_lane();
            each_edge(add);
        } else {
            each(add);
        }
        return make_float2(body_sums.x + ((x[0] + x[1]) + (x[2] + x[3])),
                           body_sums.y + ((squares[0] + squares[1]) + (squares[2] + squares[3])));
    }

    __device__ float squares(void) const {
        if constexpr (by_mma)
            return moments().y;
        else
            return sum([](float x) { return x * x; });
    }

    /* finish(v, column) turns x[column], … in v into y[column], …; of single elements, column is a row_apart. Fetched:
     * columns as `fetch` has them in shared memory. Apart: by two packs at a time, where the compiler would otherwise
     * mix the arithmetic of all of them and run out of registers. */
    template <bool Fetched, bool Apart = false, typename F>
    __device__ void write(F finish) const {
        if constexpr (Width == 1 && row_is_grouped<F>)
            write_apart(finish);
        else
            write_packs<Fetched, Apart>(finish);
    }
};

}  // namespace ridge

#endif

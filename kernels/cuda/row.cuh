/* Rows in registers: how a row is cut up among threads, loaded, reduced and written. y[i,:] = f(x[i,:]) for any f whose
 * dependence on the whole row goes through a few sums (or maxima): its statistics.
 *
 * A row is a body of 16-byte packs between a head and a tail of single elements (edges), so that all of the body is
 * aligned wherever the row starts. Thread t of a row's `stride` threads has packs t, t + stride, … and edge t: a warp's
 * accesses are whole consecutive lines, and all of a thread's loads are under way before the first is used.
 *
 *   row_part     what one thread holds of a row, or of a piece of a row
 *   row_held     a row that the registers of its threads hold: read once
 *   row_filled   the same, of nothing but packs, as many as its threads hold: nothing is asked about the length
 *   row_reread   a row of any length, read again for each reduction and for the writing
 *
 * An operation (see row_run.cuh) sees any of the last three through
 *   row.sum(f)                 sum over the row of f(x)
 *   row.moments()              sums over the row of x and of x^2; of 16-bit elements by the tensor cores
 *   row.squares()              the latter alone; by the tensor cores in a row_filled
 *   row.reduce(of, merge)      merge over the threads of of(part), where part.each(f) calls f(x, chain) for every x
 *   row.any(b)                 whether to take part in a rare further reduction */
#ifndef RIDGE_KERNELS_CUDA_ROW_CUH
#define RIDGE_KERNELS_CUDA_ROW_CUH

#include <type_traits>

#include "cuda/pack.cuh"
#include "cuda/row_exchange.cuh"
#include "cuda/row_mma.cuh"

namespace ridge {

/* One row of x and of y. Width: elements a pack, 1 where x and y are not aligned alike. Index: int, where columns fit.
 */
template <typename T, typename U, int Width, typename Index>
struct row_span {
    using index = Index;
    static constexpr bool whole = false;
    const T *x;
    U *y;
    Index packs;
    int head, edges; /* elements before the body; those, and the ones behind it */

    /* n: 0 where there is no such row. The body starts where x is aligned, and so is y there. */
    __device__ row_span(const T *x_row, U *y_row, Index n) : x(x_row), y(y_row), packs(n), head(0), edges(0) {
        if constexpr (Width > 1) {
            int before = (int)((0u - (unsigned)(uintptr_t)x_row) % 16 / sizeof(T));
            head = n < before ? (int)n : before;
            packs = (n - head) / Width;
            edges = (int)(n - packs * Width);
        }
    }
    __device__ Index body_column(Index pack) const { return head + pack * Width; }
    __device__ Index edge_column(int edge) const { return edge < head ? edge : edge + packs * Width; }
};

/* A row, or a block's slice of one, of nothing but packs, as many as its threads hold. x and y are the thread's first,
 * and columns count from there, so that all of them are constants. */
template <typename T, typename U, int Width>
struct row_whole_span {
    using index = int;
    static constexpr bool whole = true;
    static constexpr int head = 0, edges = 0;
    const T *x;
    U *y;

    __device__ int edge_column(int) const { return 0; }
};

template <typename T, int Width>
__device__ inline auto row_load(const T *p) {
    if constexpr (Width == pack_width<T>)
        return load_once_words(p);
    else
        return pack<T, Width>{{*p}};
}

/* 16 bytes to shared memory, asynchronously: this thread's, when row_fetched(). Zeros unless present. */
template <typename T, int Width>
__device__ inline void row_fetch(pack<T, Width> *shared, const T *p, bool present) {
    static_assert(sizeof(*shared) == 16);
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(shared)),
                 "l"(p), "r"(present ? 16 : 0), "l"(policy_read())
                 : "memory");
}
__device__ inline void row_fetched(void) { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ inline void row_unpack_pair(__nv_bfloat16, unsigned word, float *low, float *high) {
    *low = __uint_as_float(word << 16);
    *high = __uint_as_float(word & 0xffff0000u);
}
__device__ inline void row_unpack_pair(__half, unsigned word, float *low, float *high) {
    const float2 v = __half22float2(__half2(__half2_raw{(unsigned short)word, (unsigned short)(word >> 16)}));
    *low = v.x, *high = v.y;
}

/* A pack as registers hold it: by words where it has whole ones. Of smaller elements each would be a value of its own
 * to the compiler, with a register of its own wherever control flow meets. */
template <typename T, int Width>
using row_kept = std::conditional_t<sizeof(pack<T, Width>) == 16, uint4, pack<T, Width>>;

template <typename T, int Width>
__device__ inline pack<T, Width> row_elements(const pack<T, Width> &p) {
    return p;
}
template <typename T, int Width>
__device__ inline pack<T, Width> row_elements(const uint4 &bits) {
    union {
        uint4 bits;
        pack<T, Width> elements;
    } u = {bits};
    return u.elements;
}

/* The same words, as far as the compiler knows others: what is computed from them is computed anew, and not kept from
 * one pass over a row to the next, for which there are not the registers. */
template <typename Kept>
__device__ inline Kept row_anew(Kept kept) {
    if constexpr (sizeof kept == 16) asm volatile("" : "+r"(kept.x), "+r"(kept.y), "+r"(kept.z), "+r"(kept.w));
    return kept;
}

/* To fp32. The elements of 16 bits by pairs: said one by one, each costs an instruction more. */
template <typename T, int Width>
__device__ inline void row_unpack(const pack<T, Width> &p, float (&v)[Width]) {
    if constexpr (Width == pack_width<T> && sizeof(T) == 2) {
        union {
            pack<T, Width> elements;
            unsigned word[Width / 2];
        } u = {p};
#pragma unroll
        for (int k = 0; k < Width / 2; k++) row_unpack_pair(T(), u.word[k], &v[2 * k], &v[2 * k + 1]);
    } else {
#pragma unroll
        for (int e = 0; e < Width; e++) v[e] = to_float(p.v[e]);
    }
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

/* Elements: those that a thread holds in packs, at the most. */
template <typename Span, typename T, typename U, int Width, int Threads, int Elements>
class row_part {
    using index = typename Span::index;
    static constexpr int packs = Elements / Width;
    static constexpr int edges = Width == 1 || Span::whole ? 0 : (2 * Width - 2 + Threads - 1) / Threads;
    static constexpr bool by_mma = sizeof(T) == 2 && Width == pack_width<T>;
    static_assert(Elements % Width == 0 && packs >= 1, "whole packs");

    const Span &row;
    index first;              /* its first pack */
    int thread, stride, left; /* among those of the row; packs from one to its next; packs from the first on */
    bool with_edges;
    row_kept<T, Width> body[packs];
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

   public:
    static constexpr int span = Threads * packs; /* packs that a row's threads, or a block's, hold */

    __device__ row_part(const Span &of, int thread_of_row, int threads_of_row)
        : row(of), first(0), thread(thread_of_row), stride(threads_of_row), left(0), with_edges(false) {}

    __device__ int row_body_column() const { return row.head; }

    /* The piece of the row that begins with pack `begin`; the edges count to the first. */
    __device__ void load(index begin) {
        if constexpr (!Span::whole) {
            first = begin + thread;
            const index behind = row.packs - first;
            left = behind < packs * stride ? (int)behind : packs * stride;
            with_edges = begin == 0;
        }
        const T *p = row.x + column_of(0);
#pragma unroll
        for (int i = 0; i < packs; i++)
            if constexpr (by_mma && !Span::whole)
                body[i] = load_once_if(p + i * stride * Width, has_pack(i)); /* what is absent adds nothing */
            else if (has_pack(i))
                body[i] = row_load<T, Width>(p + i * stride * Width);
#pragma unroll
        for (int j = 0; j < edges; j++)
            if (has_edge(j)) edge[j] = row.x[row.edge_column(thread + j * Threads)];
    }

    /* All of its packs, which lie in shared memory. */
    __device__ void take(const uint4 *shared) {
        static_assert(Span::whole);
#pragma unroll
        for (int i = 0; i < packs; i++) body[i] = shared[i * Threads + thread];
    }

    /* A parameter's elements for `write`, on their way to shared memory; zeros where the row has ended. A block's first
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
            row_unpack(row_elements<T, Width>(Span::whole ? row_anew(body[i]) : body[i]), v);
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

    /* The sums of x and of x^2. Of 16-bit packs by the tensor cores (row_mma.cuh): products exact, sums in fp32. */
    __device__ float2 moments(void) const {
        float x[4] = {0.0f, 0.0f, 0.0f, 0.0f}, squares[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        const auto add = [&](float v, int c) { x[c] += v, squares[c] = fmaf(v, v, squares[c]); };
        float2 body_sums = {0.0f, 0.0f};
        if constexpr (by_mma) {
            row_mma_moments<T> sums;
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

    /* finish(v, column) turns x[column], … in v into y[column], …; Fetched: columns as `fetch` has them in
     * shared memory. Apart: by two packs at a time, where the compiler would otherwise mix the arithmetic of all of
     * them and run out of registers. */
    template <bool Fetched, bool Apart = false, typename F>
    __device__ void write(F finish) const {
#pragma unroll
        for (int i = 0; i < packs; i++) {
            if (!has_pack(i)) continue;
            const index column = column_of(i);
            float v[Width];
            pack<U, Width> out;
            row_unpack(row_elements<T, Width>(body[i]), v);
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
};

struct row_plus {
    __device__ float operator()(float a, float b) const { return a + b; }
    __device__ float2 operator()(float2 a, float2 b) const { return make_float2(a.x + b.x, a.y + b.y); }
};

template <typename T, typename U, int Width, int Threads, int Elements, bool Cluster>
class row_held {
    using span = row_span<T, U, Width, int>;
    row_exchange<Threads, Cluster> exchange;
    row_part<span, T, U, Width, Threads, Elements> part;

   public:
    __device__ row_held(const span &row, row_slots<Threads> *slots, int thread, int threads)
        : exchange(slots), part(row, thread, threads) {
        exchange.begin();
        part.load(0);
        exchange.meet();
    }
    template <typename Of, typename Merge>
    __device__ auto reduce(Of of, Merge merge) {
        return exchange.merged(of(part), merge);
    }
    template <typename F>
    __device__ float sum(F f) {
        return exchange.merged(part.sum(f), row_plus());
    }
    __device__ float2 moments(void) { return exchange.merged(part.moments(), row_plus()); }
    __device__ float squares(void) {
        return sum([](float x) { return x * x; });
    }
    __device__ bool any(bool mine) const { return exchange.any(mine); }
    __device__ void fetch(pack<T, Width> *shared, const T *parameter) const { part.fetch(shared, parameter); }
    template <typename F>
    __device__ void write_fetched(F finish) const {
        part.template write<true>(finish);
    }
    template <typename F>
    __device__ void write(F finish) const {
        part.template write<false>(finish);
    }
    __device__ int body_column() const { return part.row_body_column(); }
};

/* A row that exactly fills its threads, in packs, or a block's slice of one. Groups: see row_exchange. */
template <typename T, typename U, int Threads, int Elements, bool Cluster, int Groups>
class row_filled {
    using span = row_whole_span<T, U, pack_width<T>>;
    row_exchange<Threads, Cluster, Groups> exchange;
    row_part<span, T, U, pack_width<T>, Threads, Elements> part;

   public:
    __device__ row_filled(const span &row, row_slots<Threads> *slots, int thread)
        : exchange(slots), part(row, thread, Threads) {}
    __device__ void begin(void) const {
        exchange.begin();
        exchange.meet();
    }
    __device__ void load(void) { part.load(0); }
    /* The same from shared memory, which may then be written again. */
    __device__ void take(const uint4 *shared) {
        part.take(shared);
        exchange.sync();
    }
    template <typename Of, typename Merge>
    __device__ auto reduce(Of of, Merge merge) {
        return exchange.merged(of(part), merge);
    }
    template <typename F>
    __device__ float sum(F f) {
        return exchange.merged(part.sum(f), row_plus());
    }
    __device__ float2 moments(void) { return exchange.merged(part.moments(), row_plus()); }
    __device__ float squares(void) { return exchange.merged(part.squares(), row_plus()); }
    __device__ bool any(bool mine) const { return exchange.any(mine); }
    template <typename F>
    __device__ void write(F finish) const {
        part.template write<false, (Groups > 1)>(finish);
    }
};

template <typename T, typename U, int Width, int Threads, int Elements>
class row_reread {
    using span = row_span<T, U, Width, int64_t>;
    row_exchange<Threads, false> exchange;
    row_part<span, T, U, Width, Threads, Elements> part;
    int64_t packs;

   public:
    __device__ row_reread(const span &row, row_slots<Threads> *slots, int thread)
        : exchange(slots), part(row, thread, Threads), packs(row.packs) {}

    template <typename Of, typename Merge>
    __device__ auto reduce(Of of, Merge merge) {
        part.load(0);
        auto all = of(part);
        for (int64_t begin = part.span; begin < packs; begin += part.span) {
            part.load(begin);
            all = merge(all, of(part));
        }
        return exchange.merged(all, merge);
    }
    template <typename F>
    __device__ float sum(F f) {
        return reduce([&](const auto &piece) { return piece.sum(f); }, row_plus());
    }
    __device__ float2 moments(void) {
        return reduce([](const auto &piece) { return piece.moments(); }, row_plus());
    }
    __device__ float squares(void) {
        return sum([](float x) { return x * x; });
    }
    __device__ bool any(bool mine) const { return mine; }
    __device__ int body_column() const { return part.row_body_column(); }
    template <typename F>
    __device__ void write(F finish) {
        int64_t begin = 0;
        do {
            part.load(begin);
            part.template write<false>(finish);
            begin += part.span;
        } while (begin < packs);
    }
};

}  // namespace ridge

#endif

/* Rows in registers: how a row is cut up among threads, loaded, reduced and written. y[i,:] = f(x[i,:]) for any f whose
 * dependence on the whole row goes through a few sums (or maxima): its statistics.
 *
 * A row is a body of 16-byte packs between a head and a tail of single elements (edges), so that all of the body is
 * aligned wherever the row starts. Thread t of a row's `stride` threads has packs t, t + stride, … and edge t: a warp's
 * accesses are whole consecutive lines, and all of a thread's loads are in flight before the first is used.
 *
 *   row_part     what one thread holds of a row, or of a piece of a row
 *   row_held     a row that the registers of its threads hold: read once
 *   row_filled   the same, of nothing but packs, as many as its threads hold: its length is a constant
 *   row_reread   a row of any length, read again for each reduction and for the writing
 *
 * An operation (see rows/run.cuh) sees any of the last three through
 *   row.sum(f)                 sum over the row of f(x)
 *   row.moments()              sums over the row of x and of x^2; of 16-bit elements by the tensor cores
 *   row.squares()              the latter alone; by the tensor cores in a row_filled
 *   row.reduce(of, merge)      merge over the threads of of(part), where part.each(f) calls f(x, chain) for every x
 *   row.any(b)                 whether to take part in a rare further reduction */
#ifndef RIDGE_KERNELS_CUDA_ROWS_ROW_CUH
#define RIDGE_KERNELS_CUDA_ROWS_ROW_CUH

#include "cuda/pipe/exchange.cuh"
#include "cuda/rows/part.cuh"

namespace ridge {

struct row_plus {
    __device__ float operator()(float a, float b) const { return a + b; }
    __device__ float2 operator()(float2 a, float2 b) const { return make_float2(a.x + b.x, a.y + b.y); }
};

template <class Span, int Threads, int Elements, bool Cluster>
class row_held {
    using T = typename Span::kept;
    static constexpr int Width = Span::Width;
    row_exchange<Threads, Cluster> exchange;
    row_part<Span, T, typename Span::out, Width, Threads, Elements> part;

   public:
    __device__ row_held(const Span &row, row_slots<Threads> *slots, int thread, int threads)
        : exchange(slots), part(row, thread, threads) {
        exchange.begin();
        part.load(0);
        part.forget_places();
        exchange.meet();
    }
    template <typename Of, typename Merge>
    __device__ auto reduce(Of of, Merge merge) {
        const auto mine = of(part);
        part.forget_places();
        return exchange.merged(mine, merge);
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

template <class Span, int Threads, int Elements>
class row_reread {
    row_exchange<Threads, false> exchange;
    row_part<Span, typename Span::kept, typename Span::out, Span::Width, Threads, Elements> part;
    int64_t packs;

   public:
    __device__ row_reread(const Span &row, row_slots<Threads> *slots, int thread)
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
    /* All of it, for what a joined row stores. */
    __device__ void read(void) {
        int64_t begin = 0;
        do {
            part.load(begin);
            begin += part.span;
        } while (begin < packs);
    }
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

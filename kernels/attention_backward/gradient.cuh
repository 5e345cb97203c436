/* From scores in a warpgroup's registers to P and to the gradient of scores, and gradients of rows on their way out. A
 * thread has two own rows of a fragment (tile/fragment.cuh); passing rows run along its columns. */
#ifndef RIDGE_ATTENTION_BACKWARD_GRADIENT_CUH
#define RIDGE_ATTENTION_BACKWARD_GRADIENT_CUH

#include "attention/scores.cuh"
#include "cuda/ptx/global.cuh"
#include "cuda/ptx/shared.cuh"

extern "C" {
#include "attention_backward/problem.h"
}

namespace ridge {

/* Of a tile: whether it owns keys; which gradients it sums. Lines: passing rows of a step. Where queries pass, their
 * statistics pass with them. Parted: blocks have parts of what passes a tile, side by side; it takes registers that make
 * each step a tenth longer where there is one part. */
template <typename Type, int Depth, int Values, int Lines, bool Keys, bool OfX, bool OfY, bool Shaped,
          bool Parted = false>
struct backward_shape : attention_operands<Type, Lines> {
    using T = Type;
    static constexpr int D = Depth, V = Values, N = Lines, groups = 2, M = 64 * groups, threads = 128 * (groups + 1);
    static constexpr bool of_keys = Keys, of_x = OfX, of_y = OfY, shaped = Shaped, packed = false, varlen = false,
                          paged = false, spans = false;
    static constexpr bool parted = Parted;
    static_assert(!Shaped || !Parted, "registers do not suffice");
    using in_parts = backward_shape<Type, Depth, Values, Lines, Keys, OfX, OfY, false, true>;
    static constexpr int scores = N / 2, sums_x = OfX ? D / 2 : 1, sums_y = OfY ? V / 2 : 1; /* of a thread */
    static constexpr int own_x_bytes = M * D * 2, own_y_bytes = OfX ? M * V * 2 : 0;
    static constexpr int x_bytes = N * D * 2, y_bytes = N * V * 2, statistic_bytes = Keys ? N * 4 : 0;
    static constexpr int room = 226 * 1024 - own_x_bytes - own_y_bytes - 4 * statistic_bytes;
    static constexpr int x_stages = 2, y_stages = room >= 2 * (x_bytes + y_bytes) ? 2 : 1;
    static constexpr int producer_registers = OfX && OfY ? 24 : 40, consumer_registers = OfX && OfY ? 240 : 232;
    static_assert(producer_registers + groups * consumer_registers <= registers_of_warpgroups(threads),
                  "setmaxnreg would wait for registers that the block has not");
    static_assert(D % 64 == 0 && V % 64 == 0 && N % 16 == 0 && V <= D,
                  "boxes, slices, and results in the own rows' place");
    static_assert(x_bytes % 1024 == 0 && y_bytes % 1024 == 0, "stages begin at the swizzle's pattern");
};

struct backward_args {
    /* m, heads: of own rows, n: of passing ones; the mask as own rows see passing ones; group: own heads that share a
     * passing one. */
    attention_args own;
    int shared; /* passing heads that share an own one */
    /* [batch, head of queries, line]: exponents of two, and delta; +inf and 0 behind the last query. */
    const float *lse, *delta;
    int64_t line;
    attention_tensor dx, dy;
    float *part_x, *part_y; /* where parts leave their sums [part, batch, head, row, column]; NULL: there is one */
};

/* Steps of a tile, or of its part, along the i-th of the heads that pass: `count` from `step` on. The part's heads are
 * those from `first` to before `end`. */
struct backward_walk {
    int first, end, step, count;
};
template <class S>
__device__ inline backward_walk backward_walk_of(const backward_args &b, const attention_place &place, int i) {
    const attention_steps steps = attention_steps_of<S>(b.own, place);
    const int head = steps.last - steps.first + 1, all = b.shared * head;
    if (head < 1) return {0, 0, 0, 0};
    if constexpr (!S::parted) return {0, b.shared, steps.first, head};
    const int each = (all + b.own.parts - 1) / b.own.parts;
    const int begin = place.part * each, end = min(begin + each, all);
    if (begin >= end) return {0, 0, 0, 0};
    const int from = max(begin - i * head, 0), to = min(end - i * head, head);
    return {begin / head, (end - 1) / head + 1, steps.first + from, to - from};
}

/* Of the tile's head of queries: the i-th of those that pass, or its own. */
__device__ inline int backward_query_head(const backward_args &b, const attention_place &place, int i) {
    return place.head * b.shared + i;
}
__device__ inline int64_t backward_place(const backward_args &b, const attention_place &place, int i) {
    return ((int64_t)place.batch * b.own.heads * b.shared + backward_query_head(b, place, i)) * b.line;
}

/* A thread's rows: what turns scores into P, and D into the gradient of scores. */
template <class S>
struct backward_rows {
    const backward_args &b;
    int first;                     /* own row of the warpgroup */
    float lse[2], delta[2], slope; /* of this thread's rows */

    /* Of this thread: computed where it is needed. */
    __device__ int own(int which) const { return unkept(first) + fragment_row(0) + 8 * which; }
    /* The i-th head of queries. */
    __device__ void of_head(const attention_place &place, int i) {
        slope = S::shaped && b.own.slope ? b.own.slope[backward_query_head(b, place, i)] : 0.0f;
        if constexpr (!S::of_keys) {
            const int64_t at = backward_place(b, place, i);
#pragma unroll
            for (int r = 0; r < 2; r++) lse[r] = b.lse[at + own(r)], delta[r] = b.delta[at + own(r)];
        }
    }

    /* Scores become P. Shaped: D becomes (D - delta) cap'. line: the first passing row. */
    __device__ void probabilities(float (&scores)[S::scores], float (&gradient)[S::scores], uint32_t lse_at,
                                  uint32_t delta_at, int line) const {
        const float factor = b.own.scale * LOG2_E;
        if constexpr (S::shaped && S::of_x)
            each(delta_at, delta, [&](int i, int, int, float less) { gradient[i] -= less; });
        each(lse_at, lse, [&](int i, int r, int column, float less) {
            if constexpr (S::shaped) {
                const float x = scores[i] * b.own.scale;
                if constexpr (S::of_x) gradient[i] *= slant(x);
                scores[i] = bent(x, own(r) + b.own.mask.shift - line - column) * LOG2_E;
            } else {
                scores[i] *= factor;
            }
            scores[i] = ex2_approx_ftz(scores[i] - less);
        });
        const int last = min(first + 63, b.own.m - 1); /* below first: no row exists */
        if (first <= last && attention_sees_all(b.own.mask, first, last, line, line + S::N, {0, b.own.n})) return;
        hide<0>(scores, line), hide<1>(scores, line);
    }
    /* D becomes the gradient of scores. */
    __device__ void gradients(float (&gradient)[S::scores], const float (&p)[S::scores], uint32_t delta_at) const {
        each(delta_at, delta,
             [&](int i, int, int, float less) { gradient[i] = p[i] * (S::shaped ? gradient[i] : gradient[i] - less); });
    }

   private:
    /* f(number, which of the rows, column, statistic) of each of the thread's scores. */
    template <typename F>
    __device__ static void each(uint32_t passing_at, const float (&own_ones)[2], F f) {
#pragma unroll
        for (int j = 0; j < S::N / 8; j++) {
            const int column = 8 * j + fragment_column();
            const float2 passing = S::of_keys ? ld_shared_v2(passing_at + (uint32_t)(column * 4)) : float2{0.0f, 0.0f};
#pragma unroll
            for (int e = 0; e < 4; e++)
                f(4 * j + e, e / 2, column + e % 2, S::of_keys ? (e % 2 ? passing.y : passing.x) : own_ones[e / 2]);
        }
    }
    __device__ float bent(float x, int distance) const {
        return (b.own.softcap > 0.0f ? attention_capped(x, b.own.softcap) : x) - slope * fabsf((float)distance);
    }
    /* cap'(x) = 1 - tanh(x / softcap)^2 = 4 e / (1 + e)^2 with e = exp(-2 |x| / softcap). */
    __device__ float slant(float x) const {
        if (!(b.own.softcap > 0.0f)) return 1.0f;
        const float e = ex2_approx_ftz(-fabsf(x) * (rcp_approx_ftz(b.own.softcap) * (2.0f * LOG2_E)));
        const float part = rcp_approx_ftz(1.0f + e);
        return 4.0f * e * part * part;
    }
    template <int Which>
    __device__ void hide(float (&p)[S::scores], int line) const {
        const attention_keys seen = attention_keys_of(b.own.mask, own(Which), own(Which), b.own.n);
        const int before = line + fragment_column();
        const unsigned count = (unsigned)max(seen.end - seen.begin, 0);
        each_of_row<Which>(p, [&](float &x, int i) {
            if ((unsigned)(before + i / 2 * 8 + i % 2 - seen.begin) >= count) x = 0.0f;
        });
    }
};

/* ---- results ---- */

template <typename T>
__device__ inline T *backward_row(const attention_tensor &to, const attention_place &place, int row) {
    return (T *)to.first + row * to.strides.row + place.batch * to.strides.batch + place.head * to.strides.head;
}

/* A row of a part: its sums in fp32. */
__device__ inline float *backward_part_row(const backward_args &b, float *sums, const attention_place &place,
                                           int columns, int row) {
    const int64_t head = ((int64_t)place.part * b.own.batch + place.batch) * b.own.heads + place.head;
    return sums + (head * b.own.m + row) * backward_part_line(columns);
}
template <int Columns>
__device__ inline void store_part(const backward_args &b, float *to, const attention_place &place, int group,
                                  int columns, const float (&sums)[Columns / 2]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = place.m + group * 64 + fragment_row(0) + 8 * half;
        if (row >= b.own.m) continue;
        float *const line = backward_part_row(b, to, place, columns, row);
#pragma unroll
        for (int j = 0; j < Columns / 8; j++) {
            const int column = unkept(8 * j) + fragment_column();
            if (column < columns)
                st_global_cs_v2(line + column, make_uint2(__float_as_uint(sums[4 * j + 2 * half]),
                                                          __float_as_uint(sums[4 * j + 2 * half + 1])));
        }
    }
}

/* room: of all rows of the tile. */
template <class S, int Columns>
__device__ inline void store_gradient(const attention_args &own, const attention_tensor &to,
                                      const attention_place &place, uint32_t room, int group,
                                      const float (&sums)[Columns / 2]) {
    const attention_rows_out out = {room, group, place.m, own.m, to.columns, to.in_pieces};
    store_rows<S, Columns>(out, sums, [&](int row) { return backward_row<typename S::T>(to, place, row); });
}

/* Of a tile, or a part of one, whose rows see no other. */
template <class S>
__device__ inline void store_no_gradient(const backward_args &b, const attention_place &place, int group) {
    const int first = place.m + group * 64, rows = min(64, b.own.m - first);
    if constexpr (S::parted) {
        const auto none = [&](float *sums, int columns) {
            const int line = (int)backward_part_line(columns);
            for (int i = thread_of_warpgroup(); i < rows * line; i += 128)
                backward_part_row(b, sums, place, columns, first + i / line)[i % line] = 0.0f;
        };
        if (S::of_x) none(b.part_x, b.dx.columns);
        if (S::of_y) none(b.part_y, b.dy.columns);
        return;
    }
    const auto clear = [&](const attention_tensor &to) {
        for (int i = thread_of_warpgroup(); i < rows * to.columns; i += 128)
            backward_row<typename S::T>(to, place, first + i / to.columns)[i % to.columns] =
                from_float<typename S::T>(0.0f);
    };
    if (S::of_x) clear(b.dx);
    if (S::of_y) clear(b.dy);
}

}  // namespace ridge

#endif

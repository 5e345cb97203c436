/* Which tiles of attention a block has, one after the other, and which steps along the keys a tile takes. */
#ifndef RIDGE_ATTENTION_SCHEDULE_CUH
#define RIDGE_ATTENTION_SCHEDULE_CUH

#include <cuda.h>

#include "cuda/mma/sm90.cuh"
#include "cuda/tile/unkept.cuh"
#include "cuda/tile/divisor.cuh"

extern "C" {
#include "attention/problem.h"
}

namespace ridge {

/* What a block of one an SM is launched with, of registers for a thread of each warpgroup together. */
constexpr int registers_of_warpgroups(int threads) { return 65536 / threads / 8 * 8 * (threads / 128); }

/* How keys lie, and with them queries. */
enum class attention_keys_lie {
    in_rows,      /* those of a batch one behind the other, all of one number */
    in_sequences, /* likewise, and several sequences are a batch: queries, too, lie one behind the other */
    in_pages      /* in pages that a table names, so many of a batch as its length says */
};

/* Of products, with steps of that many keys. */
template <typename Type, int Keys, typename Result = Type>
struct attention_operands {
    using T = Type;                             /* of operands */
    using O = Result;                           /* of what leaves */
    static constexpr bool fp8 = sizeof(T) == 1; /* codes, which are multiplied as they are: see fp8.cuh */
    static constexpr bool scaled = fp8;         /* q, k and v have scales of heads */
    static constexpr int line = 128 / (int)sizeof(T), slice = line / 4; /* elements of a line, and of a product's K */
    static constexpr int p_slices = Keys / slice;
};

/* Depth, Values: of the tile, which pads those of the problem. Shaped: scores are more than products times a positive
 * scale. Packed: rows of a tile are the queries of all heads that share keys, row r of query r / group and of that head
 * r % group of them; blocks may have a part of the keys each. Lie: how keys do. */
template <typename Type, int Depth, int Values, int Keys, int Groups, bool Shaped, bool Packed = false,
          attention_keys_lie Lie = attention_keys_lie::in_rows, typename Result = Type>
struct attention_shape : attention_operands<Type, Keys, Result> {
    using base = attention_operands<Type, Keys, Result>;
    using T = Type;
    using O = Result;
    using base::fp8, base::line;
    static constexpr int D = Depth, V = Values, N = Keys, groups = Groups, M = 64 * Groups, stages = fp8 ? 3 : 2;
    static constexpr int threads = 128 * (Groups + 1);
    static constexpr int line_columns = (D + line - 1) / line * line;
    static constexpr int q_operand = M * line_columns * (int)sizeof(T), result = M * V * (int)sizeof(O);
    static constexpr int q_bytes = fp8 && result > q_operand ? result : q_operand;
    static constexpr int k_bytes = N * line_columns * (int)sizeof(T), v_bytes = N * V * (int)sizeof(T);
    /* Of Q: a second one where there is room, so that a tile begins while the result of the one before leaves. */
    static constexpr int q_places = !Packed && 2 * q_bytes + stages * (k_bytes + v_bytes) <= 226 * 1024 ? 2 : 1;
    static constexpr bool across =
        q_places > 1 && Groups < 3 && !(fp8 && V > 64 && N > 128); /* steps of one tile overlap those of the next */
    static constexpr int scores = N / 2, sums = V / 2;             /* of a thread */
    static constexpr int producer_registers = Groups == 2 ? 24 : 32, consumer_registers = Groups == 2 ? 240 : 160;
    static_assert(Groups == 1 || producer_registers + Groups * consumer_registers <= registers_of_warpgroups(threads),
                  "setmaxnreg would wait for registers that the block has not");
    static constexpr bool shaped = Shaped, packed = Packed, parted = Packed;
    /* Whether it is asked each step if scores are shaped: half as many kernels, where there are registers for it. */
    static constexpr bool asks = Packed;
    static constexpr bool varlen = Lie == attention_keys_lie::in_sequences, paged = Lie == attention_keys_lie::in_pages;
    static constexpr bool spans = varlen || paged; /* keys are those of a place's span */
    /* Whether a warpgroup skips a tile's first or last step where it is masked for all of its rows. */
    static constexpr bool skips_steps = Groups > 2 && !fp8 && !across;
    /* Whether TMA stores a tile's result: there are registers for both ways. */
    static constexpr bool sends = !Packed && !(varlen && Groups > 2);
    /* Whether the result's place is given back in the next tile's first step, when it has left: there is another place of Q. In
     * three warpgroups each step would take 5 % longer, and the place is given back at once. */
    static constexpr bool leaves_late = sends && q_places > 1 && Groups < 3;
    static_assert(D % 64 == 0 && V % 64 == 0 && N % 16 == 0 && V <= D, "boxes, slices, and the result in Q's place");
    static constexpr int halves = fp8 ? V / 64 : 1; /* of V, whose sums a step has one after the other */
    static_assert(!fp8 || (N % 32 == 0 && V <= 128 && !Packed), "slices of K, halves; scales are those of one head");
};

/* A tensor of T: strides in elements. */
struct attention_strides {
    int64_t row, batch, head;
};

/* [batch, head, row, column] of T. in_pieces: its rows begin at multiples of 16 bytes and have whole ones. */
struct attention_tensor {
    void *first;
    attention_strides strides;
    int columns;
    bool in_pieces;
};

struct attention_maps {
    CUtensorMap q, k, v; /* [batch, head, row, dimension] */
    CUtensorMap out;     /* where attention_args::out_mapped; a box is a warp's rows */
};

/* Of i32 or i64. */
struct attention_indices {
    const void *first;
    bool wide;
    __device__ int64_t at(int64_t i) const { return wide ? ((const int64_t *)first)[i] : ((const int *)first)[i]; }
};
/* Row b of the table has the pages of batch b. */
struct attention_pages {
    attention_indices table, lengths;
    int64_t table_row;
    int size, count; /* rows of a page; pages */
    /* An entry that is no page is one modulo their number: nothing is read outside. */
    __device__ int of(int batch, int key) const {
        return (int)((uint64_t)table.at(batch * table_row + key / size) % (unsigned)count);
    }
};

/* Of fp8: what codes of a head are multiplied by, [batch, heads] of q, and of k and v for each head of theirs. */
struct attention_scales {
    const float *q, *k, *v; /* NULL: 1 */
    int64_t q_row, k_row, v_row;
};

/* How blocks find a tile's place by its number. */
struct attention_order {
    int m_tiles, section; /* section: heads, of all batches, whose keys stay in L2 together */
    bool longest_first;
    fixed_divisor section_tiles, section_heads, last_heads; /* tiles and heads of a section; heads of the last one */
    fixed_divisor heads, group;
};

struct attention_args {
    const void *q, *k, *v;
    void *out;
    float *lse;
    const float *sink, *slope;                                                   /* NULL: none */
    attention_strides q_strides, k_strides, v_strides, out_strides, lse_strides; /* of pages: batch is the page */
    attention_mask mask;
    int m, n, batch, heads, group; /* group: heads that share keys */
    int depth, values;
    bool out_in_pieces;   /* its rows begin at multiples of 16 bytes and have whole ones */
    bool out_mapped;      /* and TMA stores them, by attention_maps::out */
    float scale, softcap; /* softcap 0: none */
    attention_order order;
    int parts; /* of what passes a tile, which blocks have side by side, where tiles are few */
    /* Packed: scratch for what parts of the keys have of rows (attention_part). NULL: there is one part. */
    float *part_sums;
    float2 *part_ends;
    bool clustered;             /* the blocks of a tile's parts are a cluster, and merge them */
    const int *q_ends, *k_ends; /* of sequences; NULL: there is one */
    int sequences;
    attention_pages pages;
    attention_scales scales;
};

/* What products of a head's queries and keys are multiplied by, and its sums of values. */
__device__ inline float attention_score_scale(const attention_args &a, int batch, int head) {
    if (!a.scales.q) return a.scale;
    return a.scale * (a.scales.q[batch * a.scales.q_row + head] * a.scales.k[batch * a.scales.k_row + head / a.group]);
}
__device__ inline float attention_value_scale(const attention_args &a, int batch, int head) {
    return a.scales.v ? a.scales.v[batch * a.scales.v_row + head / a.group] : 1.0f;
}

/* m: the tile's first row; head: the first of those that share keys, where rows are packed. span: where S::spans. */
struct attention_place {
    int m, head, kv_head, batch, part;
    attention_span span;
};

/* Rows of a head, or of the heads that share keys; the query and the head of a row. */
template <class S>
__device__ inline int attention_rows(const attention_args &a) {
    return S::packed ? a.m * a.group : a.m;
}
/* What a place's tile is bounded by: the row behind its last, its keys, and how they are seen. */
template <class S>
__device__ inline int attention_row_end(const attention_args &a, const attention_place &place) {
    return S::varlen ? place.span.query_end : attention_rows<S>(a);
}
template <class S>
__device__ inline attention_keys attention_all_keys(const attention_args &a, const attention_span &span) {
    return S::spans ? span.keys : attention_keys{0, a.n};
}
template <class S>
__device__ inline attention_mask attention_mask_at(const attention_args &a, const attention_span &span) {
    return S::spans ? attention_mask_within(a.mask, span) : a.mask;
}
template <class S>
__device__ inline int attention_query(const attention_args &a, int row) {
    return S::packed ? row / a.group : row;
}
template <class S>
__device__ inline int attention_head(const attention_args &a, const attention_place &place, int row) {
    return S::packed ? place.head + row % a.group : place.head;
}

/* Blocks take turns, in opposite directions: where tiles get shorter, who had a longer one gets a shorter one next. */
template <class S>
struct attention_schedule {
    const attention_args &a;
    int turn = 0;

    __device__ explicit attention_schedule(const attention_args &args) : a(args) {}
    __device__ int heads(void) const { return a.batch * (S::packed ? a.heads / a.group : a.heads); }
    __device__ int number(void) const {
        const int place = turn % 2 ? (int)gridDim.x - 1 - (int)blockIdx.x : (int)blockIdx.x;
        return turn * (int)gridDim.x + place;
    }
    __device__ bool more(void) const { return number() < a.order.m_tiles * heads() * (S::parted ? a.parts : 1); }
    __device__ void next(void) { turn++; }
    /* Computed again: no registers for it until then. */
    __device__ attention_place place_again(void) const {
        attention_schedule same(a);
        same.turn = unkept(turn);
        return same.place();
    }
    __device__ attention_place place(void) const {
        const int tile = S::parted ? number() / a.parts : number(), part = S::parted ? number() % a.parts : 0;
        const attention_order &order = a.order;
        if constexpr (S::packed) {
            const int kv_heads = a.heads / a.group, head = tile / order.m_tiles;
            const int batch = head / kv_heads;
            return {
                tile % order.m_tiles * S::M, head % kv_heads * a.group, head % kv_heads, batch, part, span_of(batch)};
        }
        const int first = (int)order.section_tiles.quotient((unsigned)tile) * order.section; /* head of the section */
        const bool last = heads() - first < order.section;
        const int rest = tile - first * order.m_tiles, some = last ? heads() - first : order.section;
        const int row = (int)(last ? order.last_heads : order.section_heads).quotient((unsigned)rest);
        const int head_of_all = first + rest - row * some;
        const int batch = (int)order.heads.quotient((unsigned)head_of_all), head = head_of_all - batch * a.heads;
        const int kv_head = (int)order.group.quotient((unsigned)head);
        if constexpr (S::varlen) {
            const int s = attention_sequence_of_tile(a.q_ends, a.sequences, row, S::M, a.m);
            const attention_span span = attention_sequence(a.q_ends, a.k_ends, a.sequences, s, a.m, a.n);
            return {attention_first_of_tile(span, s, row, S::M), head, kv_head, batch, part, span};
        }
        return {
            (order.longest_first ? order.m_tiles - 1 - row : row) * S::M, head, kv_head, batch, part, span_of(batch)};
    }

   private:
    __device__ attention_span span_of(int batch) const {
        if constexpr (S::paged) return attention_ending(a.pages.lengths.at(batch), a.m, a.n);
        return {};
    }
};

/* Steps of N keys, from the last to the first. */
struct attention_steps {
    int first, last;
    __device__ bool none(void) const { return last < first; }
};
/* Those of rows [first, end) of a place's tile. */
template <class S>
__device__ inline attention_steps attention_steps_of_rows(const attention_args &a, const attention_place &place,
                                                          int first, int end) {
    if (S::varlen && end <= first) return {0, -1};
    const attention_keys keys =
        attention_keys_among(attention_mask_at<S>(a, place.span), attention_query<S>(a, first),
                             attention_query<S>(a, end - 1), attention_all_keys<S>(a, place.span));
    if (keys.begin >= keys.end) return {0, -1};
    return {keys.begin / S::N, (keys.end - 1) / S::N};
}
template <class S>
__device__ inline attention_steps attention_steps_of(const attention_args &a, const attention_place &place) {
    const attention_steps all =
        attention_steps_of_rows<S>(a, place, place.m, min(place.m + S::M, attention_row_end<S>(a, place)));
    if constexpr (!S::packed) return all;
    if (all.none()) return all;
    const int count = all.last - all.first + 1, each = (count + a.parts - 1) / a.parts;
    const int first = all.first + place.part * each;
    return {first, min(first + each - 1, all.last)};
}
/* Those of a warpgroup: the tile's, without the first or the last one where that is masked for all of its 64 rows. */
template <class S>
__device__ inline attention_steps attention_steps_of_group(const attention_args &a, const attention_place &place,
                                                           const attention_steps &tile, int group) {
    if constexpr (!S::skips_steps) return tile;
    const int first = place.m + 64 * group, end = min(first + 64, attention_row_end<S>(a, place));
    if (end <= first) return tile;
    const attention_steps own = attention_steps_of_rows<S>(a, place, first, end);
    if (own.none()) return tile;
    return {tile.first + (own.first > tile.first), tile.last - (own.last < tile.last)};
}

}  // namespace ridge

#endif

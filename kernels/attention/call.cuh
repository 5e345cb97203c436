/* From a call of a target of attention to what kernels take. Host code. */
#ifndef RIDGE_ATTENTION_CALL_CUH
#define RIDGE_ATTENTION_CALL_CUH

#include "attention/schedule.cuh"
#include "cuda/host/launch.cuh"
#include "cuda/host/view.cuh"

extern "C" {
#include "attention/fp8.h"
#include "attention/paged.h"
}

namespace ridge {

/* Of a tensor [rows, batch, heads, …]. */
inline attention_strides strides_of(const DLTensor &t) {
    int64_t below[3] = {1, 1, 1}, inner = 1;
    for (int d = t.ndim - 1; d >= 0; d--) {
        if (d < 3) below[d] = inner;
        inner *= t.shape[d];
    }
    if (t.strides)
        for (int d = 0; d < 3; d++) below[d] = t.strides[d];
    return {below[0], below[1], below[2]};
}

/* Rows of 16-bit elements that begin at multiples of 16 bytes, and whole ones. */
inline bool lies_in_pieces(const void *base, const attention_strides &s, int columns) {
    return is_aligned16(base) && columns % 8 == 0 && s.row % 8 == 0 && s.batch % 8 == 0 && s.head % 8 == 0;
}
inline attention_tensor attention_tensor_of(const DLTensor &t) {
    const attention_strides s = strides_of(t);
    const int columns = (int)t.shape[3];
    void *const first = ridge_data(&t);
    return {first, s, columns, lies_in_pieces(first, s, columns)};
}

/* What dims and options say. */
inline void attention_extents_of(const ridge_call *call, attention_args *a) {
    a->mask = attention_mask_of(call->dim, call->option);
    a->m = (int)call->dim[ATTENTION_M], a->n = (int)call->dim[ATTENTION_N];
    a->batch = (int)call->dim[ATTENTION_BATCH], a->heads = (int)call->dim[ATTENTION_HEADS];
    a->group = (int)(call->dim[ATTENTION_HEADS] / call->dim[ATTENTION_KV_HEADS]);
    a->depth = (int)call->dim[ATTENTION_D], a->values = (int)call->dim[ATTENTION_V];
    a->scale = (float)attention_scale(call->dim, call->option);
    a->softcap = (float)call->option[ATTENTION_SOFTCAP];
}

/* All but what depends on the tile. */
inline attention_args attention_args_of(const ridge_call *call) {
    attention_args a = {};
    const DLTensor &out = call->out[ATTENTION_OUT], &lse = call->out[ATTENTION_LSE];
    const attention_tensor result = attention_tensor_of(out);
    a.q = ridge_data(&call->in[ATTENTION_IN_Q]), a.q_strides = strides_of(call->in[ATTENTION_IN_Q]);
    a.k = ridge_data(&call->in[ATTENTION_IN_K]), a.k_strides = strides_of(call->in[ATTENTION_IN_K]);
    a.v = ridge_data(&call->in[ATTENTION_IN_V]), a.v_strides = strides_of(call->in[ATTENTION_IN_V]);
    a.out = result.first, a.out_strides = result.strides, a.out_in_pieces = result.in_pieces;
    a.lse = (float *)ridge_data(&lse), a.lse_strides = strides_of(lse);
    if (call->option[ATTENTION_SINKS] > 0) a.sink = (const float *)ridge_data(&call->in[ATTENTION_IN_SINK]);
    if (call->option[ATTENTION_SLOPES] > 0) a.slope = (const float *)ridge_data(&call->in[ATTENTION_IN_SLOPE]);
    attention_extents_of(call, &a);
    return a;
}
/* And where sequences end. */
inline attention_args attention_varlen_args_of(const ridge_call *call) {
    attention_args a = attention_args_of(call);
    a.q_ends = (const int *)ridge_data(&call->in[ATTENTION_IN_Q_ENDS]);
    a.k_ends = (const int *)ridge_data(&call->in[ATTENTION_IN_K_ENDS]);
    a.sequences = (int)call->dim[ATTENTION_SEQUENCES];
    return a;
}

/* A call of attention_paged with the dims of attention. */
struct attention_paged_call {
    ridge_case rows = {};
    ridge_call call;
    explicit attention_paged_call(const ridge_call *paged) : call(*paged) {
        for (int d = 0; d < RIDGE_MAX_RANK; d++) rows.dim[d] = paged->dim[d];
        rows = attention_paged_rows(&rows);
        call.dim = rows.dim;
    }
    attention_paged_call(const attention_paged_call &) = delete;
};
inline attention_indices attention_indices_of(const DLTensor &t) { return {ridge_data(&t), t.dtype.bits == 64}; }
/* k and v: [pages, page, kv_heads, d]. */
inline attention_args attention_paged_args_of(const ridge_call *paged) {
    const attention_paged_call rows(paged);
    const DLTensor &table = paged->in[ATTENTION_IN_TABLE];
    attention_args a = attention_args_of(&rows.call);
    const auto page_is_batch = [](attention_strides s) { return attention_strides{s.batch, s.row, s.head}; };
    a.k_strides = page_is_batch(a.k_strides), a.v_strides = page_is_batch(a.v_strides);
    a.pages.table = attention_indices_of(table);
    a.pages.lengths = attention_indices_of(paged->in[ATTENTION_IN_LENGTHS]);
    a.pages.table_row = table.strides ? table.strides[0] : table.shape[1];
    a.pages.size = (int)paged->dim[ATTENTION_PAGE], a.pages.count = (int)paged->dim[ATTENTION_PAGES];
    return a;
}
/* And scales of heads. */
inline attention_args attention_fp8_args_of(const ridge_call *call) {
    attention_args a = attention_args_of(call);
    const auto scale = [&](int i) { return (const float *)ridge_data(&call->in[i]); };
    const auto row = [&](int i) { return ridge_row_stride(&call->in[i]); };
    a.scales = {scale(ATTENTION_IN_Q_SCALE), scale(ATTENTION_IN_K_SCALE), scale(ATTENTION_IN_V_SCALE),
                row(ATTENTION_IN_Q_SCALE),   row(ATTENTION_IN_K_SCALE),   row(ATTENTION_IN_V_SCALE)};
    return a;
}
/* Of m_tiles tiles a head, in sections of that many heads. longest_first: from the last rows to the first. */
inline attention_order attention_order_of(const attention_args &a, int m_tiles, int section, bool longest_first) {
    const int left = a.batch * a.heads % section;
    const auto by = [](int64_t d) { return divide_by((uint32_t)d); };
    return {
        m_tiles,     section,    longest_first, by((int64_t)section * m_tiles), by(section), by(left ? left : section),
        by(a.heads), by(a.group)};
}

inline bool attention_is_empty(const attention_args &a) { return a.m == 0 || a.batch == 0 || a.heads == 0; }

/* f.template operator()<T, Shaped>(). Asks: one kernel for both kinds of scores, which asks (attention_shape). */
template <bool Asks = false, typename F>
ridge_status with_attention_kind(const ridge_call *call, const F &f) {
    const bool shaped = attention_is_shaped(call->dim, call->option);
    const auto with_type = [&]<typename T>() {
        if constexpr (!Asks)
            if (!shaped) return f.template operator()<T, false>();
        return f.template operator()<T, true>();
    };
    if (call->dtype == RIDGE_BF16) return with_type.template operator()<__nv_bfloat16>();
    if (call->dtype == RIDGE_F16) return with_type.template operator()<__half>();
    return RIDGE_UNSUPPORTED;
}

}  // namespace ridge

#endif

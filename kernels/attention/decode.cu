/* Launches of attention of few queries, over keys in rows and in pages. */
#include "attention/call.cuh"
#include "attention/decode.cuh"
#include "attention/run.cuh"

namespace ridge {

template <class S>
static ridge_status run_decode(attention_args a, const ridge_call *call) {
    constexpr auto kernel = attention_decode_kernel<S>;
    const int64_t rows = (int64_t)a.batch * a.heads * a.m, tiles = (int64_t)a.batch * (a.heads / a.group);
    const int sms = device_limit(cudaDevAttrMultiProcessorCount);
    const attention_decode plan = attention_decode_of(call->dim, call->option, sms);
    const int bytes = S::q_bytes + plan.warps * S::ring_bytes + attention_part<S>::shared_bytes;
    a.order.m_tiles = 1, a.parts = plan.parts;
    launch_shape shape = {dim3((unsigned)(tiles * a.parts)), 32 * plan.warps, bytes};
    a.clustered = plan.warps == ATTENTION_DECODE_WARPS && device_overlaps() && take_clusters<kernel>(&shape, a.parts);
    a.part_sums = (float *)call->scratch, a.part_ends = (float2 *)(a.part_sums + a.parts * rows * S::V);
    RIDGE_TRY(launch_overlapping(kernel, shape, stream_of(call), device_overlaps(), a));
    return a.parts == 1 || a.clustered ? RIDGE_OK : merge_by_launch<S>(a, stream_of(call));
}

/* rows: the call with the dims of attention. */
template <attention_keys_lie Lie>
static ridge_status run_decode_of(const attention_args &a, const ridge_call *rows) {
    if (attention_is_empty(a)) return RIDGE_OK;
    return with_attention_kind<true>(rows, [&]<typename T, bool>() {
        return a.depth > 64 || a.values > 64 ? run_decode<attention_decode_shape<T, 128, Lie>>(a, rows)
                                             : run_decode<attention_decode_shape<T, 64, Lie>>(a, rows);
    });
}

}  // namespace ridge

extern "C" ridge_status attention_cuda_decode(const ridge_call *call) {
    return ridge::run_decode_of<ridge::attention_keys_lie::in_rows>(ridge::attention_args_of(call), call);
}
extern "C" ridge_status attention_paged_cuda_decode(const ridge_call *call) {
    const ridge::attention_paged_call rows(call);
    return ridge::run_decode_of<ridge::attention_keys_lie::in_pages>(ridge::attention_paged_args_of(call), &rows.call);
}

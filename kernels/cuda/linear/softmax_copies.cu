/* softmax(x w + b) of operands that TMA does not take: copied to aligned memory, the depth filled up with zeros, then
 * by the way that suits the copies. */
#include "cuda/linear/softmax_call.cuh"

namespace ridge {

static linear_softmax_facts facts_of(const linear_softmax_call &c) {
    linear_softmax_facts f = {};
    f.dtype = c.dtype, f.bytes = (int)ridge_dtype_size(c.dtype);
    f.batch = c.x.rows, f.heads = c.heads, f.depth = c.x.columns, f.classes = c.p.columns;
    f.x = linear_facts_of(c.x), f.w = linear_facts_of(c.w), f.w_head = c.heads > 1 ? c.w_head : 0;
    f.sm = device_capability(), f.sm_count = device_limit(cudaDevAttrMultiProcessorCount);
    return f;
}

ridge_status linear_softmax_copies(const linear_softmax_call &c) {
    const int bytes = (int)ridge_dtype_size(c.dtype);
    const int64_t depth = c.x.columns, padded = linear_padded(depth), classes = c.p.columns;
    const linear_copies at = linear_copies_of(c.x.rows, depth, classes, c.heads, bytes);
    linear_softmax_call d = c;
    d.x = linear_copied(c.x, c.scratch + at.x, 0);
    d.w = linear_copied(c.w, c.scratch + at.w, at.w_stride);
    d.scratch = c.scratch + at.bytes;
    linear_copy w = linear_copy_of(c.w, d.w);
    if (c.heads > 1) {
        d.w = {c.scratch + at.w, classes, padded, 1, at.w_stride};
        d.w_head = padded * at.w_stride;
        w = {{c.w.base, classes, depth, c.w.step}, lines_of(d.w), c.heads, c.w_head};
    }
    RIDGE_TRY(linear_copy_both(bytes, linear_copy_of(c.x, d.x), w, c.stream));
    const linear_softmax_facts f = facts_of(d);
    ridge_status status = RIDGE_UNSUPPORTED;
    for (unsigned tried = 0; status == RIDGE_UNSUPPORTED;) {
        const int way = linear_softmax_of_copied(&f, tried);
        if (way < 0) break;
        status = linear_softmax_by(way, d);
        tried |= 1u << way;
    }
    return status;
}

}  // namespace ridge

/* softmax(x w + b) of operands that TMA does not take: copied to aligned memory, the depth filled up with zeros, then
 * by the way that suits the copies. */
#include "cuda/host/tensor_map.cuh"
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

ridge_status linear_softmax_pack(const linear_softmax_call &c, linear_heads_operands *packed) {
    const linear_softmax_scratch at = c.at(LINEAR_TILES_HEADS);
    const int64_t depth = c.x.columns, classes = c.p.columns, wide = linear_heads_wide(classes);
    const matrix_lines of_step = {c.w.base, classes, c.heads, c.w_head}; /* of the depth */
    const linear_copy w = {of_step, {c.scratch + at.w, wide, c.heads, wide}, (int)depth, c.w.step};
    linear_copy x = {};
    if (at.bytes == 0) return RIDGE_UNSUPPORTED;
    packed->x = c.x, packed->w = {c.scratch + at.w, c.heads * wide, depth, 1, c.heads * wide};
    if (!is_tileable<__half>(c.x))
        packed->x = linear_copied(c.x, c.scratch + at.x, 0), x = linear_copy_of(c.x, packed->x);
    return linear_copy_both(2, x, w, c.stream);
}

}  // namespace ridge

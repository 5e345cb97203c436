/* Tensors as lines: where each element lies, and its value as fp64. */
#include "verify/view.h"

ridge_view ridge_operands_view(const ridge_operands *ops, int tensor) {
    const ridge_target *target = ops->target;
    bool input = tensor < target->n_in;
    const DLTensor *t = input ? &ops->in[tensor] : &ops->out[tensor - target->n_in];
    const ridge_tensor_spec *spec = input ? &target->in[tensor] : &target->out[tensor - target->n_in];
    ridge_view view = {.base = ridge_data(t),
                       .dtype = ridge_spec_dtype(spec, &ops->c),
                       .spec = spec,
                       .shape = ops->shape[tensor],
                       .strides = ops->strides[tensor]};
    view.size = ridge_dtype_size(view.dtype);
    view.elements = view.row = 1;
    for (int d = 0; d < t->ndim; d++) {
        view.elements *= t->shape[d];
        if (d > 0) view.row *= t->shape[d];
    }
    view.span = view.line = view.elements;
    if (!t->strides || view.elements == 0) return view;
    view.rank = t->ndim - 1;
    view.line = t->shape[t->ndim - 1];
    view.span = 1;
    for (int d = 0; d < t->ndim; d++) view.span += (t->shape[d] - 1) * t->strides[d];
    return view;
}

int64_t ridge_view_line_offset(const ridge_view *view, int64_t line) {
    int64_t offset = 0;
    for (int d = view->rank - 1; d >= 0; d--) {
        int64_t above = d == 0 ? 0 : line / view->shape[d];
        offset += (line - above * view->shape[d]) * view->strides[d];
        line = above;
    }
    return offset;
}

bool ridge_view_next(const ridge_view *view, int64_t *position, int64_t end, ridge_view_run *run) {
    if (*position >= end) return false;
    int64_t line = view->rank ? *position / view->line : 0, column = *position - line * view->line;
    int64_t n = view->line - column;
    if (n > end - *position) n = end - *position;
    run->first = *position;
    run->n = n;
    run->at = view->base + (size_t)(ridge_view_line_offset(view, line) + column) * view->size;
    *position += n;
    return true;
}

static void load_f32(const char *p, int64_t n, double *values) {
    for (int64_t i = 0; i < n; i++) {
        float v;
        memcpy(&v, p + 4 * i, sizeof v);
        values[i] = v;
    }
}

static void load_bf16(const char *p, int64_t n, double *values) {
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, p + 2 * i, sizeof half);
        uint32_t bits = (uint32_t)half << 16;
        float v;
        memcpy(&v, &bits, sizeof v);
        values[i] = v;
    }
}

void ridge_view_load(const ridge_view *view, int64_t first, int64_t n, double *values) {
    int64_t position = first;
    for (ridge_view_run run; ridge_view_next(view, &position, first + n, &run); values += run.n) {
        if (view->dtype == RIDGE_F32)
            load_f32(run.at, run.n, values);
        else if (view->dtype == RIDGE_BF16)
            load_bf16(run.at, run.n, values);
        else
            for (int64_t i = 0; i < run.n; i++) values[i] = ridge_load(run.at, view->dtype, i);
    }
}

uint64_t ridge_poison_bits(ridge_dtype dtype) {
    switch (dtype) {
        case RIDGE_F32: return 0x7fa5a5a5;
        case RIDGE_BF16: return 0x7fa5;
        case RIDGE_F16: return 0x7da5;
        case RIDGE_F64: return UINT64_C(0x7ff5a5a5a5a5a5a5);
        default: return 0xa5a5a5a5;
    }
}

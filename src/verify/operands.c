/* Places a case's tensors in memory with guards around them, and fills them. */
#include "verify/operands.h"

#include "core/random.h"
#include "verify/view.h"

/* ---- placing ------------------------------------------------------------------------------- */

static const ridge_tensor_spec *spec_of(const ridge_target *target, int tensor) {
    return tensor < target->n_in ? &target->in[tensor] : &target->out[tensor - target->n_in];
}

static bool is_column_major(const ridge_case *c, int tensor) { return c->column_major >> tensor & 1; }

static ridge_status too_large(const ridge_tensor_spec *spec, ridge_error *error) {
    return ridge_fail(error, RIDGE_INVALID, "tensor %s: its size overflows; use smaller sizes", spec->name);
}

/* Strides in elements, every dimension but the contiguous one padded; span as in ridge_view. */
static ridge_status stride_tensor(const ridge_tensor_spec *spec, const ridge_case *c, bool column_major,
                                  int64_t row_pad, int64_t strides[RIDGE_MAX_RANK], int64_t *span, ridge_error *error) {
    int64_t below = 1, elements = 1;
    for (int i = spec->rank - 1; i >= 0; i--) {
        const int d = column_major ? spec->rank - 1 - i : i;
        int64_t extent = c->dim[spec->dim[d]];
        if (extent < 0)
            return ridge_fail(error, RIDGE_INVALID, "tensor %s: extent %lld is negative", spec->name,
                              (long long)extent);
        strides[d] = below;
        if (__builtin_mul_overflow(elements, extent, &elements) || __builtin_mul_overflow(below, extent, &below) ||
            __builtin_add_overflow(below, row_pad, &below))
            return too_large(spec, error);
    }
    *span = elements == 0 ? 0 : below;
    return RIDGE_OK;
}

/* Lines of packed elements begin with whole bytes. */
static int64_t whole_bytes(int64_t elements, ridge_dtype dtype) {
    return elements + (ridge_dtype_is_packed(dtype) ? elements & 1 : 0);
}
static int64_t pad_of(const ridge_layout *layout, int tensor, ridge_dtype dtype) {
    return layout->row_pad ? whole_bytes(layout->row_pad + layout->apart * tensor, dtype) : 0;
}
static int64_t misalign_of(const ridge_layout *layout, int tensor, ridge_dtype dtype) {
    return whole_bytes(layout->misalign + layout->apart * tensor, dtype);
}

/* Bytes of a tensor with its guards: a multiple of 64. */
static ridge_status area_bytes(const ridge_target *target, int tensor, const ridge_case *c, const ridge_layout *layout,
                               size_t *bytes, ridge_error *error) {
    const ridge_tensor_spec *spec = spec_of(target, tensor);
    const ridge_dtype dtype = ridge_spec_dtype(spec, c);
    int64_t strides[RIDGE_MAX_RANK], span = 0, padded;
    RIDGE_TRY(stride_tensor(spec, c, is_column_major(c, tensor), pad_of(layout, tensor, dtype), strides, &span, error));
    if (ridge_dtype_is_packed(dtype) && c->dim[spec->dim[spec->rank - 1]] % 2)
        return ridge_fail(error, RIDGE_INVALID, "tensor %s: its last extent, %lld, must be even: %s lies in pairs",
                          spec->name, (long long)c->dim[spec->dim[spec->rank - 1]], ridge_dtype_name(dtype));
    int64_t size = (int64_t)ridge_dtype_size(dtype);
    const int64_t guards = RIDGE_GUARD_FRONT + RIDGE_GUARD_REAR + 63;
    if (__builtin_add_overflow(span, misalign_of(layout, tensor, dtype), &padded) ||
        __builtin_mul_overflow(padded, size, &padded))
        return too_large(spec, error);
    if (ridge_dtype_is_packed(dtype)) padded /= 2;
    if (__builtin_add_overflow(padded, guards, &padded) || (uint64_t)padded > SIZE_MAX / 2)
        return too_large(spec, error);
    *bytes = (size_t)padded & ~(size_t)63;
    return RIDGE_OK;
}

ridge_status ridge_operands_bytes(const ridge_target *target, const ridge_case *c, const ridge_layout *layout,
                                  size_t *bytes, ridge_error *error) {
    *bytes = 0;
    if (layout->row_pad < 0 || layout->misalign < 0 || layout->apart < 0)
        return ridge_fail(error, RIDGE_INVALID, "a layout's padding and misalignment cannot be negative");
    for (int t = 0; t < target->n_in + target->n_out; t++) {
        size_t area;
        if (is_column_major(c, t) && !spec_of(target, t)->takes_column_major)
            return ridge_fail(error, RIDGE_INVALID, "tensor %s cannot be column-major", spec_of(target, t)->name);
        RIDGE_TRY(area_bytes(target, t, c, layout, &area, error));
        if (__builtin_add_overflow(*bytes, area, bytes)) return too_large(spec_of(target, t), error);
    }
    return RIDGE_OK;
}

static size_t place_tensor(ridge_operands *ops, int tensor, char *area) {
    const ridge_target *target = ops->target;
    const ridge_tensor_spec *spec = spec_of(target, tensor);
    ridge_dtype dtype = ridge_spec_dtype(spec, &ops->c);
    int64_t span = 0;
    size_t bytes = 0;
    const bool column_major = is_column_major(&ops->c, tensor);
    (void)area_bytes(target, tensor, &ops->c, &ops->layout, &bytes, NULL);
    (void)stride_tensor(spec, &ops->c, column_major, pad_of(&ops->layout, tensor, dtype), ops->strides[tensor], &span,
                        NULL);
    DLTensor *t = tensor < target->n_in ? &ops->in[tensor] : &ops->out[tensor - target->n_in];
    *t = (DLTensor){.data = area + RIDGE_GUARD_FRONT,
                    .device = {kDLCPU, 0},
                    .ndim = ridge_spec_shape(spec, &ops->c, ops->shape[tensor]),
                    .dtype = ridge_dtype_to_dlpack(dtype),
                    .shape = ops->shape[tensor],
                    .strides = ops->layout.row_pad || column_major ? ops->strides[tensor] : NULL,
                    .byte_offset = ridge_dtype_bytes(dtype, misalign_of(&ops->layout, tensor, dtype))};
    return bytes;
}

void ridge_operands_place(ridge_operands *ops, const ridge_target *target, const ridge_case *c,
                          const ridge_layout *layout, void *memory) {
    *ops = (ridge_operands){.target = target, .c = *c, .layout = *layout, .memory = memory};
    for (int t = 0; t < ridge_operands_count(ops); t++) ops->bytes += place_tensor(ops, t, ops->memory + ops->bytes);
}

const char *ridge_operands_area_end(const ridge_operands *ops, int tensor) {
    size_t bytes = 0;
    (void)area_bytes(ops->target, tensor, &ops->c, &ops->layout, &bytes, NULL);
    const DLTensor *t = tensor < ops->target->n_in ? &ops->in[tensor] : &ops->out[tensor - ops->target->n_in];
    return (const char *)t->data - RIDGE_GUARD_FRONT + bytes;
}

/* ---- filling ------------------------------------------------------------------------------- */

void ridge_guard_pattern(const ridge_operands *ops, int tensor, unsigned char pattern[2 * RIDGE_GUARD_PERIOD]) {
    ridge_dtype dtype = ridge_spec_dtype(spec_of(ops->target, tensor), &ops->c);
    const ridge_dtype_traits *traits = ridge_dtype_traits_of(dtype);
    const size_t size = ridge_dtype_size(dtype);
    uint64_t seed = ridge_random(ops->seed ^ 0x6775617264, (uint64_t)tensor);
    for (size_t i = 0; i < RIDGE_GUARD_PERIOD / size; i++) {
        /* The payload of a NaN is below the quiet bit and never zero, so that a default NaN written there differs. */
        uint64_t bits = traits->guard | (ridge_random(seed, i) & traits->guard_free);
        memcpy(pattern + i * size, &bits, size); /* little endian */
    }
    memcpy(pattern + RIDGE_GUARD_PERIOD, pattern, RIDGE_GUARD_PERIOD);
}

static void guard_write(const unsigned char *pattern, char *begin, const char *end) {
    while (begin < end) {
        size_t n = (size_t)(end - begin) < RIDGE_GUARD_PERIOD ? (size_t)(end - begin) : RIDGE_GUARD_PERIOD;
        memcpy(begin, pattern + (uintptr_t)begin % RIDGE_GUARD_PERIOD, n);
        begin += n;
    }
}

static void poison_part(void *arg, int rank, int size) {
    const ridge_operands *ops = arg;
    for (int t = ops->target->n_in; t < ridge_operands_count(ops); t++) {
        ridge_view view = ridge_operands_view(ops, t);
        int64_t position, end;
        ridge_share(view.elements, RIDGE_RANDOM_BLOCK, rank, size, &position, &end);
        for (ridge_view_run run; ridge_view_next(&view, &position, end, &run);)
            ridge_poison_write(view.dtype, run.at, run.n);
    }
}

void ridge_operands_poison(ridge_operands *ops, ridge_team *team) {
    ridge_team_run(ridge_operands_team(ops, team), poison_part, ops);
}

/* Fills the gap after a run if the run ends a line other than the last. */
static void fill_gap(const ridge_view *view, const unsigned char *pattern, const ridge_view_run *run) {
    int64_t next = run->first + run->n;
    if (view->rank == 0 || next % view->line != 0 || next == view->elements) return;
    char *end = ridge_view_at(view, ridge_view_line_offset(view, next / view->line));
    guard_write(pattern, run->at + ridge_view_bytes(view, run->n), end);
}

static void fill_part(void *arg, int rank, int size) {
    const ridge_operands *ops = arg;
    char *front = ops->memory;
    unsigned char pattern[2 * RIDGE_GUARD_PERIOD];
    for (int t = 0; t < ridge_operands_count(ops); t++) {
        ridge_view view = ridge_operands_view(ops, t);
        char *area_end = ops->memory + (ridge_operands_area_end(ops, t) - ops->memory);
        int64_t position, end;
        ridge_guard_pattern(ops, t, pattern);
        if (rank == 0) {
            guard_write(pattern, front, view.base);
            guard_write(pattern, ridge_view_at(&view, view.span), area_end);
        }
        front = area_end;
        ridge_share(view.elements, RIDGE_RANDOM_BLOCK, rank, size, &position, &end);
        for (ridge_view_run run; ridge_view_next(&view, &position, end, &run);) {
            if (t < ops->target->n_in)
                ridge_operands_make(ops, t, run.first, run.n, run.at);
            else
                ridge_poison_write(view.dtype, run.at, run.n);
            fill_gap(&view, pattern, &run);
        }
    }
}

void ridge_operands_fill(ridge_operands *ops, ridge_fill_kind kind, uint64_t seed, ridge_team *team) {
    ops->kind = kind;
    ops->seed = seed;
    ridge_team_run(ridge_operands_team(ops, team), fill_part, ops);
}

/* Views of tensors in memory: the address of each element, and its value as fp64. */
#include "verify/view.h"

#include <math.h>
#include <stdio.h>

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
    view.roundoff = fmax(ridge_dtype_roundoff(view.dtype), ridge_dtype_roundoff(ops->c.dtype));
    view.column_major = ops->c.column_major >> tensor & 1;
    view.rows = t->shape[0];
    view.elements = view.row = 1;
    for (int d = 0; d < t->ndim; d++) {
        view.elements *= t->shape[d];
        if (d > 0) view.row *= t->shape[d];
        const int from = view.column_major ? t->ndim - 1 - d : d;
        view.line_shape[d] = t->shape[from];
        view.line_strides[d] = view.strides[from];
    }
    view.span = view.line = view.elements;
    if (!ops->layout.row_pad || view.elements == 0) return view;
    view.rank = t->ndim - 1;
    view.line = view.line_shape[t->ndim - 1];
    view.span = 1;
    for (int d = 0; d < t->ndim; d++) view.span += (t->shape[d] - 1) * t->strides[d];
    return view;
}

int64_t ridge_view_to_memory(const ridge_view *view, int64_t element) {
    return view->column_major ? element % view->row * view->rows + element / view->row : element;
}

int64_t ridge_view_to_rows(const ridge_view *view, int64_t position) {
    return view->column_major ? position % view->rows * view->row + position / view->rows : position;
}

int64_t ridge_view_line_offset(const ridge_view *view, int64_t line) {
    int64_t offset = 0;
    for (int d = view->rank - 1; d >= 0; d--) {
        int64_t above = d == 0 ? 0 : line / view->line_shape[d];
        offset += (line - above * view->line_shape[d]) * view->line_strides[d];
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
    const int64_t offset = ridge_view_line_offset(view, line) + column;
    run->at = ridge_view_at(view, offset);
    run->skip = ridge_dtype_is_packed(view->dtype) ? (int)(offset & 1) : 0;
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

/* Codes of four bits, by a table of their values. */
static void load_halves_of_bytes(const char *at, ridge_dtype dtype, int skip, int64_t n, double *values) {
    double of[16];
    for (int code = 0; code < 16; code++) of[code] = ridge_load(&(unsigned char){(unsigned char)code}, dtype, 0);
    for (int64_t i = skip; i < skip + n; i++) *values++ = of[(unsigned char)at[i >> 1] >> (i & 1 ? 4 : 0) & 15];
}

/* Codes of eight bits likewise. */
static void load_bytes(const char *at, ridge_dtype dtype, int64_t n, double *values) {
    double of[256];
    for (int code = 0; code < 256; code++) of[code] = ridge_load(&(unsigned char){(unsigned char)code}, dtype, 0);
    for (int64_t i = 0; i < n; i++) values[i] = of[(unsigned char)at[i]];
}

static void load_run(const ridge_view *view, const char *at, int skip, int64_t n, double *values) {
    const bool pays = n > 1024; /* to make a table */
    if (view->dtype == RIDGE_F32)
        load_f32(at, n, values);
    else if (view->dtype == RIDGE_BF16)
        load_bf16(at, n, values);
    else if (pays && ridge_dtype_is_packed(view->dtype))
        load_halves_of_bytes(at, view->dtype, skip, n, values);
    else if (pays && view->size == 1)
        load_bytes(at, view->dtype, n, values);
    else
        for (int64_t i = 0; i < n; i++) values[i] = ridge_load(at, view->dtype, skip + i);
}

/* Loads whole rows of a column-major matrix, a piece of each column at a time. */
static void load_column_major_rows(const ridge_view *view, int64_t row, int64_t n, double *values) {
    enum { STEP = 64 };
    double piece[STEP];
    for (int64_t r = 0; r < n; r += STEP) {
        const int64_t part = n - r < STEP ? n - r : STEP;
        for (int64_t c = 0; c < view->row; c++) {
            load_run(view, view->base + (size_t)(c * view->strides[1] + row + r) * view->size, 0, part, piece);
            for (int64_t i = 0; i < part; i++) values[(r + i) * view->row + c] = piece[i];
        }
    }
}

static void load_flipped(const ridge_view *view, int64_t first, int64_t n, double *values) {
    for (int64_t e = first; e < first + n;) {
        const int64_t row = e / view->row, column = e % view->row, left = first + n - e;
        if (column == 0 && left >= view->row) {
            load_column_major_rows(view, row, left / view->row, values);
            e += left / view->row * view->row;
            values += left / view->row * view->row;
        } else {
            load_run(view, view->base + (size_t)(column * view->strides[1] + row) * view->size, 0, 1, values++);
            e++;
        }
    }
}

void ridge_view_load(const ridge_view *view, int64_t first, int64_t n, double *values) {
    int64_t position = first;
    if (view->column_major) {
        load_flipped(view, first, n, values);
        return;
    }
    for (ridge_view_run run; ridge_view_next(view, &position, first + n, &run); values += run.n)
        load_run(view, run.at, run.skip, run.n, values);
}

uint64_t ridge_poison_bits(ridge_dtype dtype) { return ridge_dtype_traits_of(dtype)->poison; }

static void poison_write_packed(char *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) at[i] = (char)(RIDGE_PACKED_POISON >> ((uintptr_t)(at + i) % 8 * 8));
}

void ridge_poison_write(ridge_dtype dtype, char *at, int64_t n) {
    if (ridge_dtype_is_packed(dtype)) {
        poison_write_packed(at, ridge_dtype_bytes(dtype, n));
        return;
    }
    const uint64_t bits = ridge_poison_bits(dtype);
    const size_t size = ridge_dtype_size(dtype), bytes = (size_t)n * size;
    const uint64_t word = size == 1   ? bits * UINT64_C(0x0101010101010101)
                          : size == 2 ? bits * UINT64_C(0x0001000100010001)
                          : size == 4 ? bits * UINT64_C(0x0000000100000001)
                                      : bits;
    size_t i = 0;
    for (; i + 8 <= bytes; i += 8) memcpy(at + i, &word, 8);
    memcpy(at + i, &word, bytes - i);
}

void ridge_view_name(const ridge_view *view, int64_t element, char *text, size_t size) {
    int64_t index[RIDGE_MAX_RANK] = {0};
    for (int d = view->spec->rank - 1; d >= 0; d--) {
        int64_t extent = view->shape[d] > 0 ? view->shape[d] : 1;
        index[d] = element % extent;
        element /= extent;
    }
    int n = snprintf(text, size, "%s[%lld", view->spec->name, (long long)index[0]);
    for (int d = 1; d < view->spec->rank && n > 0 && (size_t)n < size; d++)
        n += snprintf(text + n, size - (size_t)n, ",%lld", (long long)index[d]);
    if (n > 0 && (size_t)n < size) (void)snprintf(text + n, size - (size_t)n, "]");
}

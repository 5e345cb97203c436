#include "verify/on_gpu.h"

#include <math.h>
#include <stdlib.h>

#include "device/device.h"
#include "verify/view.h"

void ridge_where_place(ridge_operands *ops, ridge_where where, const ridge_target *target, const ridge_case *c,
                       const ridge_layout *layout, void *memory) {
    static const DLDeviceType types[] = {
        [RIDGE_IN_DEVICE] = kDLCUDA,
        [RIDGE_IN_HOST_PAGEABLE] = kDLCPU,
        [RIDGE_IN_HOST_PINNED] = kDLCUDAHost,
        [RIDGE_IN_MANAGED] = kDLCUDAManaged,
    };
    ridge_operands_place(ops, target, c, layout, memory);
    for (int t = 0; t < target->n_in; t++) ops->in[t].device = (DLDevice){types[where], 0};
    for (int t = 0; t < target->n_out; t++) ops->out[t].device = (DLDevice){types[where], 0};
}

void ridge_gpu_operands_place(ridge_operands *ops, const ridge_target *target, const ridge_case *c,
                              const ridge_layout *layout, void *memory) {
    ridge_where_place(ops, RIDGE_IN_DEVICE, target, c, layout, memory);
}

ridge_status ridge_where_alloc(ridge_where where, size_t bytes, void **memory, ridge_error *error) {
    switch (where) {
        case RIDGE_IN_HOST_PAGEABLE: return ridge_memory_alloc(bytes, memory, error);
        case RIDGE_IN_HOST_PINNED: return ridge_cuda_alloc_pinned(bytes, memory, error);
        case RIDGE_IN_MANAGED: return ridge_cuda_alloc_managed(bytes, memory, error);
        default: return ridge_cuda_alloc(bytes, memory, error);
    }
}

void ridge_where_free(ridge_where where, void *memory, size_t bytes) {
    if (!memory) return;
    switch (where) {
        case RIDGE_IN_HOST_PAGEABLE: ridge_memory_free(memory, bytes); break;
        case RIDGE_IN_HOST_PINNED: ridge_cuda_free_pinned(memory); break;
        default: ridge_cuda_free(memory); break;
    }
}

/* Copies rows [row, row + n) of a tensor as one block of memory, gaps included. */
static ridge_status fetch_rows(const ridge_view *from, const ridge_view *to, int64_t row, int64_t n,
                               ridge_error *error) {
    if (from->elements == 0) return RIDGE_OK;
    int64_t lines = from->rank ? from->row / from->line : 0;
    int64_t begin = from->rank ? ridge_view_line_offset(from, row * lines) : row * from->row;
    int64_t last =
        from->rank ? ridge_view_line_offset(from, (row + n) * lines - 1) + from->line : begin + n * from->row;
    return ridge_cuda_copy(ridge_view_at(to, begin), ridge_view_at(from, begin), ridge_view_bytes(from, last - begin),
                           error);
}

/* The rows of a column-major matrix are not contiguous. The oracle of other rows needs all of a given output. */
static bool fetched_whole(const ridge_operands *ops, int tensor) {
    const ridge_target *target = ops->target;
    if (ops->c.column_major >> tensor & 1) return true;
    return tensor < target->n_in ? !ridge_input_listed(target, tensor) : target->out[tensor - target->n_in].given;
}

ridge_status ridge_gpu_fetch(const ridge_operands *from, ridge_operands *to, const ridge_rows *rows,
                             ridge_error *error) {
    to->kind = from->kind;
    to->seed = from->seed;
    to->user = from->user;
    if (!rows) return ridge_cuda_copy(to->memory, from->memory, from->bytes, error);
    for (int t = 0; t < ridge_operands_count(from); t++) {
        ridge_view a = ridge_operands_view(from, t), b = ridge_operands_view(to, t);
        if (fetched_whole(from, t)) {
            RIDGE_TRY(ridge_cuda_copy(b.base, a.base, ridge_view_bytes(&a, a.span), error));
            continue;
        }
        const int64_t *row = rows->row[a.spec->dim[0]], n = rows->n[a.spec->dim[0]];
        for (int64_t i = 0, run; i < n; i += run) { /* one copy per run of consecutive rows */
            for (run = 1; i + run < n && row[i + run] == row[i] + run;) run++;
            RIDGE_TRY(fetch_rows(&a, &b, row[i], run, error));
        }
    }
    return RIDGE_OK;
}

ridge_status ridge_gpu_check_sample(const ridge_operands *ops, ridge_operands *mirror, void *space, uint64_t row_seed,
                                    int64_t wanted, ridge_stream *stream, ridge_team *team, ridge_check *check,
                                    ridge_error *error) {
    ridge_gpu_finding found;
    *check = (ridge_check){.rows = ops->c.dim[0], .worst = (double)INFINITY};
    RIDGE_TRY(ridge_gpu_scan(ops, space, stream, &found, error));
    if (found.guard) {
        ridge_check_tell_guard(ops, found.guard_tensor, found.guard_where, check);
        return RIDGE_OK;
    }
    if (found.scan.poison_output >= 0) {
        ridge_check_tell_unwritten(ops, (int)found.scan.poison_output, found.scan.poison_place, check);
        return RIDGE_OK;
    }
    ridge_rows rows;
    RIDGE_TRY(
        ridge_rows_choose(ops, row_seed, wanted > 0 ? wanted : 1, found.scan.odd, found.scan.n_odd, &rows, error));
    ridge_status status = ridge_gpu_fetch(ops, mirror, &rows, error);
    if (status == RIDGE_OK) status = ridge_check_rows(mirror, &rows, team, check, error);
    free(rows.memory);
    return status;
}

#ifndef RIDGE_HAVE_CUDA
ridge_status ridge_gpu_fill(ridge_operands *ops, uint64_t seed, ridge_stream *stream, ridge_error *error) {
    (void)ops, (void)seed, (void)stream;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "this build has no CUDA code");
}
ridge_status ridge_gpu_scan(const ridge_operands *ops, void *space, ridge_stream *stream, ridge_gpu_finding *finding,
                            ridge_error *error) {
    (void)ops, (void)space, (void)stream, (void)finding;
    return ridge_fail(error, RIDGE_UNSUPPORTED, "this build has no CUDA code");
}
#endif

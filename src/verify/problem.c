/* Builds the oracle's fp64 copy of an operand set. */
#include "verify/problem.h"

#include "verify/space.h"
#include "verify/scan.h"

/* fp64 values per thread and oracle call: few enough for the thread's cache, enough to amortize the call. */
enum { CHUNK_VALUES = 32768 };

static ridge_status alloc_doubles(int64_t n, double **values, size_t *bytes, ridge_error *error) {
    void *memory = NULL;
    if (n < 0 || (uint64_t)n > SIZE_MAX / 16)
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for an fp64 copy of %lld values", (long long)n);
    *bytes = (size_t)n * sizeof(double);
    RIDGE_TRY(ridge_space_alloc(*bytes, &memory, error));
    *values = memory;
    return RIDGE_OK;
}

typedef struct copy_job {
    const ridge_view *view;
    double *values;
} copy_job;

static void copy_part(void *arg, int rank, int size) {
    const copy_job *job = arg;
    int64_t begin, end;
    ridge_share(job->view->elements, 4096, rank, size, &begin, &end);
    ridge_view_load(job->view, begin, end - begin, job->values + begin);
}

static ridge_status copy_shared(ridge_oracle_input *p, int tensor, ridge_team *team, ridge_error *error) {
    ridge_view view = ridge_operands_view(p->ops, tensor);
    RIDGE_TRY(alloc_doubles(view.elements, &p->shared[tensor], &p->shared_bytes[tensor], error));
    copy_job job = {&view, p->shared[tensor]};
    ridge_team_run(team, copy_part, &job);
    return RIDGE_OK;
}

/* True for tensors of which the oracle takes the chunk's rows: by_row inputs and outputs with the row dimension. */
static bool comes_by_rows(const ridge_oracle_input *p, int tensor) {
    const ridge_tensor_spec *spec = ridge_operands_view(p->ops, tensor).spec;
    return spec->dim[0] == p->lead && (tensor >= p->ops->target->n_in || spec->by_row);
}

static bool is_shared(const ridge_oracle_input *p, int tensor) {
    if (comes_by_rows(p, tensor)) return false;
    return tensor < p->ops->target->n_in || p->ops->target->out[tensor - p->ops->target->n_in].given;
}

/* 64-bit values per row: fp64 copies, sizes of its outputs, its number. */
static int64_t row_values(const ridge_oracle_input *p) {
    int64_t values = p->ops->target->n_out + 1;
    for (int t = 0; t < ridge_operands_count(p->ops); t++)
        if (comes_by_rows(p, t)) values += ridge_operands_view(p->ops, t).row;
    return values;
}

static ridge_status make_spaces(ridge_oracle_input *p, ridge_team *team, ridge_error *error) {
    int64_t row = row_values(p), size = ridge_team_size(team);
    int64_t chunk = CHUNK_VALUES / row, even = p->n_rows / (4 * size) + 1, space, all;
    if (chunk > even) chunk = even;
    p->chunk = chunk > 0 ? chunk : 1;
    if (__builtin_mul_overflow(row, p->chunk, &space) || __builtin_mul_overflow(space, size, &all)) all = -1, space = 0;
    p->space = (size_t)space;
    return alloc_doubles(all, &p->spaces, &p->spaces_bytes, error);
}

ridge_status ridge_oracle_input_create(const ridge_operands *ops, int lead, const int64_t *rows, int64_t n_rows,
                                       ridge_team *team, ridge_oracle_input *p, ridge_error *error) {
    *p = (ridge_oracle_input){.ops = ops, .lead = lead, .rows = rows, .n_rows = n_rows};
    ridge_status status = make_spaces(p, team, error);
    for (int t = 0; status == RIDGE_OK && t < ridge_operands_count(ops); t++) {
        if (t < ops->target->n_in) p->in_max[t] = ridge_scan_max(ops, t, team);
        if (is_shared(p, t)) status = copy_shared(p, t, team, error);
    }
    if (status != RIDGE_OK) ridge_oracle_input_destroy(p);
    return status;
}

void ridge_oracle_input_destroy(ridge_oracle_input *p) {
    for (int t = 0; t < RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS; t++) ridge_space_free(p->shared[t], p->shared_bytes[t]);
    ridge_space_free(p->spaces, p->spaces_bytes);
    *p = (ridge_oracle_input){0};
}

int64_t ridge_oracle_input_chunks(const ridge_oracle_input *p) { return (p->n_rows + p->chunk - 1) / p->chunk; }

int64_t ridge_chunk_rows(const ridge_oracle_input *p, const ridge_chunk *chunk, int64_t i, int64_t *contiguous) {
    int64_t k = chunk->first + i;
    *contiguous = 1;
    if (p->rows) return p->rows[k];
    *contiguous = chunk->n - i;
    return k;
}

static void load_rows(const ridge_oracle_input *p, const ridge_chunk *chunk, const ridge_view *view, double *values) {
    for (int64_t i = 0, n; i < chunk->n; i += n) {
        int64_t row = ridge_chunk_rows(p, chunk, i, &n);
        ridge_view_load(view, row * view->row, n * view->row, values + i * view->row);
    }
}

void ridge_oracle_input_load(const ridge_oracle_input *p, int64_t number, int rank, ridge_chunk *chunk) {
    const ridge_target *target = p->ops->target;
    double *space = p->spaces + (size_t)rank * p->space;
    chunk->first = number * p->chunk;
    chunk->n = p->n_rows - chunk->first < p->chunk ? p->n_rows - chunk->first : p->chunk;
    memcpy(chunk->dim, p->ops->c.dim, sizeof chunk->dim);
    chunk->dim[p->lead] = chunk->n;
    for (int t = 0; t < ridge_operands_count(p->ops); t++) {
        const int output = t - target->n_in;
        const bool rows = comes_by_rows(p, t);
        ridge_view view = ridge_operands_view(p->ops, t);
        if (output < 0) {
            if (rows) load_rows(p, chunk, &view, space);
            chunk->in[t] = rows ? space : p->shared[t];
        } else {
            chunk->out[output] = rows ? space : NULL;
            chunk->given[output] = p->shared[t];
        }
        space += rows ? view.row * chunk->n : 0;
    }
    memset(space, 0, sizeof *space * (size_t)(target->n_out * chunk->n));
    for (int o = 0; o < target->n_out; o++) chunk->size[o] = space + o * chunk->n;
    chunk->row = (int64_t *)(void *)(space + target->n_out * chunk->n);
    for (int64_t i = 0, run, row; i < chunk->n; i += run) {
        row = ridge_chunk_rows(p, chunk, i, &run);
        for (int64_t k = 0; k < run; k++) chunk->row[i + k] = row + k;
    }
    chunk->call = (ridge_oracle_call){.dim = chunk->dim,
                                      .whole = p->ops->c.dim,
                                      .dtype = p->ops->c.dtype,
                                      .rows = p->lead,
                                      .row = chunk->row,
                                      .option = p->ops->c.option,
                                      .in = chunk->in,
                                      .out = chunk->out,
                                      .given = chunk->given,
                                      .size = chunk->size,
                                      .in_max = p->in_max};
}

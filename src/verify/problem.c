/* Building the oracle's view of a set of operands. */
#include "verify/problem.h"

#include "verify/space.h"
#include "verify/scan.h"

/* About this many fp64 values are in work on each thread: they stay in its cache, and a call's overhead is spread. */
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

static ridge_status copy_shared(ridge_problem *p, int tensor, ridge_team *team, ridge_error *error) {
    ridge_view view = ridge_operands_view(p->ops, tensor);
    RIDGE_TRY(alloc_doubles(view.elements, &p->shared[tensor], &p->shared_bytes[tensor], error));
    copy_job job = {&view, p->shared[tensor]};
    ridge_team_run(team, copy_part, &job);
    return RIDGE_OK;
}

/* fp64 values of one row: of every by_row input and every output. */
static int64_t row_values(const ridge_operands *ops) {
    int64_t values = 0;
    for (int t = 0; t < ridge_operands_count(ops); t++)
        if (t >= ops->target->n_in || ops->target->in[t].by_row) values += ridge_operands_view(ops, t).row;
    return values;
}

static ridge_status make_spaces(ridge_problem *p, ridge_team *team, ridge_error *error) {
    int64_t row = row_values(p->ops), size = ridge_team_size(team);
    int64_t chunk = row > 0 ? CHUNK_VALUES / row : CHUNK_VALUES, even = p->n_rows / (4 * size) + 1, space, all;
    if (chunk > even) chunk = even;
    p->chunk = chunk > 0 ? chunk : 1;
    if (__builtin_mul_overflow(row, p->chunk, &space) || __builtin_mul_overflow(space, size, &all)) all = -1, space = 0;
    p->space = (size_t)space;
    return alloc_doubles(all, &p->spaces, &p->spaces_bytes, error);
}

ridge_status ridge_problem_create(const ridge_operands *ops, const int64_t *rows, int64_t n_rows, ridge_team *team,
                                  ridge_problem *p, ridge_error *error) {
    *p = (ridge_problem){.ops = ops, .rows = rows, .n_rows = n_rows};
    ridge_status status = make_spaces(p, team, error);
    for (int t = 0; status == RIDGE_OK && t < ops->target->n_in; t++) {
        p->in_max[t] = ridge_scan_max(ops, t, team);
        if (!ops->target->in[t].by_row) status = copy_shared(p, t, team, error);
    }
    if (status != RIDGE_OK) ridge_problem_destroy(p);
    return status;
}

void ridge_problem_destroy(ridge_problem *p) {
    for (int t = 0; t < RIDGE_MAX_INPUTS; t++) ridge_space_free(p->shared[t], p->shared_bytes[t]);
    ridge_space_free(p->spaces, p->spaces_bytes);
    *p = (ridge_problem){0};
}

int64_t ridge_problem_chunks(const ridge_problem *p) { return (p->n_rows + p->chunk - 1) / p->chunk; }

int64_t ridge_chunk_rows(const ridge_problem *p, const ridge_chunk *chunk, int64_t i, int64_t *contiguous) {
    int64_t k = chunk->first + i;
    *contiguous = 1;
    if (p->rows) return p->rows[k];
    *contiguous = chunk->n - i;
    return k;
}

static void load_rows(const ridge_problem *p, const ridge_chunk *chunk, const ridge_view *view, double *values) {
    for (int64_t i = 0, n; i < chunk->n; i += n) {
        int64_t row = ridge_chunk_rows(p, chunk, i, &n);
        ridge_view_load(view, row * view->row, n * view->row, values + i * view->row);
    }
}

void ridge_problem_load(const ridge_problem *p, int64_t number, int rank, ridge_chunk *chunk) {
    const ridge_target *target = p->ops->target;
    double *space = p->spaces + (size_t)rank * p->space;
    chunk->first = number * p->chunk;
    chunk->n = p->n_rows - chunk->first < p->chunk ? p->n_rows - chunk->first : p->chunk;
    memcpy(chunk->dim, p->ops->c.dim, sizeof chunk->dim);
    chunk->dim[0] = chunk->n;
    for (int t = 0; t < ridge_operands_count(p->ops); t++) {
        ridge_view view = ridge_operands_view(p->ops, t);
        if (t < target->n_in && !target->in[t].by_row) {
            chunk->in[t] = p->shared[t];
            continue;
        }
        if (t < target->n_in) {
            load_rows(p, chunk, &view, space);
            chunk->in[t] = space;
        } else
            chunk->out[t - target->n_in] = space;
        space += view.row * chunk->n;
    }
    chunk->call = (ridge_oracle_call){
        .dim = chunk->dim, .dtype = p->ops->c.dtype, .in = chunk->in, .out = chunk->out, .in_max = p->in_max};
}

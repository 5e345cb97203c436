/* An operand set in the form that the oracle takes, for one row dimension: fp64 copies. Inputs that feed every row are
 * converted once, the others chunk by chunk, so that memory stays bounded. Internal to verify. */
#ifndef RIDGE_VERIFY_PROBLEM_H
#define RIDGE_VERIFY_PROBLEM_H

#include "verify/view.h"

typedef struct ridge_oracle_input {
    const ridge_operands *ops;
    int lead; /* the row dimension */
    double *shared[RIDGE_MAX_INPUTS +
                   RIDGE_MAX_OUTPUTS]; /* fp64 copies; NULL for tensors loaded per chunk and outputs not given */
    size_t shared_bytes[RIDGE_MAX_INPUTS + RIDGE_MAX_OUTPUTS];
    double in_max[RIDGE_MAX_INPUTS];
    const int64_t *rows; /* the rows to check; NULL: all */
    int64_t n_rows;
    int64_t chunk;  /* rows per oracle call */
    size_t space;   /* doubles per thread for a chunk */
    double *spaces; /* one space per thread */
    size_t spaces_bytes;
} ridge_oracle_input;

ridge_status ridge_oracle_input_create(const ridge_operands *ops, int lead, const int64_t *rows, int64_t n_rows,
                                       ridge_team *team, ridge_oracle_input *problem, ridge_error *error);
void ridge_oracle_input_destroy(ridge_oracle_input *problem);

int64_t ridge_oracle_input_chunks(const ridge_oracle_input *problem);

/* The oracle call for one chunk: inputs loaded, outputs uninitialized. */
typedef struct ridge_chunk {
    ridge_oracle_call call;
    int64_t dim[RIDGE_MAX_RANK];
    const double *in[RIDGE_MAX_INPUTS];
    double *out[RIDGE_MAX_OUTPUTS]; /* NULL: another row dimension */
    const double *given[RIDGE_MAX_OUTPUTS];
    double *size[RIDGE_MAX_OUTPUTS];
    int64_t *row;
    int64_t first; /* position of the chunk's first row in `rows` */
    int64_t n;
} ridge_chunk;
void ridge_oracle_input_load(const ridge_oracle_input *problem, int64_t chunk, int rank, ridge_chunk *loaded);

/* The row number of the chunk's row i. *contiguous: how many rows from i on are consecutive. */
int64_t ridge_chunk_rows(const ridge_oracle_input *problem, const ridge_chunk *chunk, int64_t i, int64_t *contiguous);

#endif

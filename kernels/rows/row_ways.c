/* Row-wise problems of targets in the terms of their ways. */
#include "cuda/rows/ways.h"

#include <string.h>

/* Inputs: x, matrices beside it, parameters. Outputs: y, matrices beside it. */
static row_facts facts_of(const row_traits *traits, const ridge_problem *p) {
    if (traits->of_case) traits = traits->of_case(&p->c);
    const int read = 1 + traits->more_in, n_in = read + traits->parameters, tensors = n_in + 1 + traits->more_out;
    const int bytes = (int)ridge_dtype_size(p->c.dtype);
    const ridge_operand *x = &p->tensor[0];
    const int64_t x_line = x->stride[0] * bytes, n = p->c.dim[1];
    bool packs = true, whole = n * bytes % ROW_PACK_BYTES == 0, dense = true, as_y = true;
    const ridge_operand *y = &p->tensor[n_in];
    for (int t = 0; t < tensors; t++) {
        const ridge_operand *one = &p->tensor[t];
        whole = whole && one->offset % ROW_PACK_BYTES == 0;
        if (t >= read && t < n_in) continue;
        const int64_t line = one->stride[0] * bytes;
        whole = whole && line % ROW_PACK_BYTES == 0;
        dense = dense && one->stride[0] == n;
        packs = packs && row_lies_alike(x->offset, one->offset, x_line, line, true);
        as_y = as_y && (t < n_in || row_lies_alike(y->offset, one->offset, y->stride[0] * bytes, line, true));
    }
    return (row_facts){.rows = p->c.dim[0],
                       .columns = n,
                       .bytes = bytes,
                       .packs = packs,
                       .whole = whole,
                       .piece = dense && packs,
                       .as_y = as_y,
                       .parameters = traits->parameters,
                       .keeps = traits->keeps,
                       .cut = bytes == 4 ? traits->of_4 : traits->of_2,
                       .matrices = read + 1 + traits->more_out,
                       .sm = p->here.sm,
                       .sm_count = p->here.sm_count};
}

const char *row_way_refuses(const ridge_way *way, const ridge_problem *problem) {
    const row_facts facts = facts_of(way->own, problem);
    return row_way_refusal(way->number, &facts);
}

double row_way_cost(const ridge_way *way, const ridge_problem *problem) {
    const row_facts facts = facts_of(way->own, problem);
    return row_way_time(way->number, &facts);
}

/* JSON of how time grows with size. docs/METRICS.md documents each field. */
#include "record/json.h"
#include "record/scaling.h"

/* A line of a run. */
typedef struct one_line {
    const ridge_run *run;
    const ridge_scaling *line;
} one_line;

typedef struct all_lines {
    const ridge_run *run;
    const ridge_scalings *scalings;
} all_lines;

static json_t *piece_item(const void *context, int i) {
    const ridge_scaling *line = context;
    const ridge_power_piece *p = &line->fit.piece[i];
    const double end = i + 1 < line->fit.n ? line->fit.piece[i + 1].begins : line->size[line->n - 1];
    return json_pack("{s:o, s:o, s:o, s:o, s:i, s:s}", "from", ridge_json_number(p->begins), "to",
                     ridge_json_number(end), "exponent", ridge_json_number(p->exponent), "exponent_error",
                     ridge_json_number(p->error), "points", p->n, "regime", line->regime[i]);
}

/* The names of the dimensions that grow, in their order. */
static json_t *grow_item(const void *context, int i) {
    const one_line *one = context;
    const ridge_target *target = one->run->results[one->line->result[0]].target;
    for (int d = 0; d < ridge_target_rank(target); d++)
        if (one->line->axes >> d & 1 && i-- == 0) return ridge_json_text(target->dims[d]);
    return NULL;
}

static json_t *line_item(const void *context, int i) {
    const all_lines *all = context;
    const ridge_scaling *line = &all->scalings->line[i];
    const ridge_result *r = &all->run->results[line->result[0]];
    const one_line one = {all->run, line};
    char name[RIDGE_CASE_NAME];
    ridge_scaling_name(all->run, line, name, sizeof name);
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:i, s:o, s:o}", "target", ridge_json_text(r->target->name), "case",
                     ridge_json_text(name), "backend", ridge_backend_name(ridge_variant_backend(r->variant)), "variant",
                     ridge_json_text(r->variant->name), "grows",
                     ridge_json_array(__builtin_popcount(line->axes), grow_item, &one), "points", line->n,
                     "residual_pct", ridge_json_number(100 * line->fit.residual), "pieces",
                     ridge_json_array(line->fit.n, piece_item, line));
}

json_t *ridge_json_scaling(const ridge_run *run) {
    ridge_scalings scalings;
    json_t *json = NULL;
    if (ridge_run_scalings(run, &scalings) == RIDGE_OK) {
        const all_lines all = {run, &scalings};
        json = ridge_json_array(scalings.n, line_item, &all);
    }
    ridge_scalings_free(&scalings);
    return json;
}

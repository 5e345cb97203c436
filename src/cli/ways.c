#include "cli/ways.h"

#include <stdio.h>
#include <stdlib.h>

static int ways_of(const ridge_target *target) {
    int n = 0;
    for (int v = 0; v < target->n_variants; v++) n += target->variants[v].n_ways;
    return n;
}

bool ridge_target_has_ways(const ridge_target *target) { return ways_of(target) > 0; }

ridge_status ridge_expand_ways(const ridge_target *target, ridge_expanded *e, ridge_error *error) {
    const int ways = ways_of(target);
    *e = (ridge_expanded){.target = *target};
    e->variants = calloc((size_t)target->n_variants + (size_t)ways + 1, sizeof *e->variants);
    e->names = calloc((size_t)ways + 1, sizeof *e->names);
    if (!e->variants || !e->names) {
        ridge_expanded_free(e);
        return ridge_fail(error, RIDGE_NO_MEMORY, "no memory for the ways of %s", target->name);
    }
    int n = 0, name = 0;
    for (int v = 0; v < target->n_variants; v++) {
        const ridge_variant *variant = &target->variants[v];
        e->variants[n++] = *variant;
        for (int w = 0; w < variant->n_ways; w++, name++) {
            (void)snprintf(e->names[name], sizeof e->names[name], "%.40s:%.50s", variant->name, variant->ways[w].name);
            e->variants[n++] = ridge_variant_of_way(variant, &variant->ways[w], e->names[name]);
        }
    }
    e->target.variants = e->variants;
    e->target.n_variants = n;
    return RIDGE_OK;
}

void ridge_expanded_free(ridge_expanded *e) {
    free(e->variants);
    free(e->names);
    *e = (ridge_expanded){0};
}

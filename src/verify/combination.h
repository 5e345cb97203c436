/* The fills and layouts with which verification runs a case, and which of them a variant takes. */
#ifndef RIDGE_VERIFY_COMBINATION_H
#define RIDGE_VERIFY_COMBINATION_H

#include "verify/operands.h"

typedef enum ridge_combination_when { RIDGE_RUN_ALWAYS, RIDGE_RUN_EDGE, RIDGE_RUN_CHEAP } ridge_combination_when;

typedef struct ridge_combination {
    const char *name;
    ridge_fill_kind kind;
    ridge_layout layout;
    ridge_combination_when when; /* RUN_EDGE: edge cases and cheap ones; RUN_CHEAP: cheap cases only */
} ridge_combination;

enum { RIDGE_COMBINATIONS = 12 };
extern const ridge_combination ridge_combinations[RIDGE_COMBINATIONS];

/* The combinations that apply to a case, in the order in which they are tried: the seed and the case draw the first
 * one. Returns their number. */
int ridge_combinations_draw(const ridge_target *target, const ridge_case *c, uint64_t seed,
                            int order[RIDGE_COMBINATIONS]);

/* The way that runs the case in this layout; NULL: none takes it, and *why has the reason, or the variant has no ways
 * and *why is NULL. */
const ridge_way *ridge_combination_way(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                                       const ridge_abilities *here, const ridge_layout *layout, const char **why);

/* How many combinations of the case a variant with ways takes. */
int ridge_combinations_taken(const ridge_target *target, const ridge_variant *variant, const ridge_case *c,
                             const ridge_abilities *here);

/* A variant that chooses among ways runs nothing that these ways do not run by themselves, where each of the first
 * `layouts` combinations (0: all) that it takes goes to the same way, and that way takes no other one. Returns this
 * way, or NULL. */
const ridge_way *ridge_combinations_sole_way(const ridge_target *target, const ridge_variant *variant,
                                             const ridge_case *c, const ridge_abilities *here, uint64_t seed,
                                             int layouts);

#endif

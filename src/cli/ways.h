/* Variants narrowed to one way each, for --variant cuda/optimized:WAY and for verify. */
#ifndef RIDGE_CLI_WAYS_H
#define RIDGE_CLI_WAYS_H

#include "ridge/target.h"

/* A copy of the target that has, behind each variant with ways, one for each of its ways. Owns variants and names. */
typedef struct ridge_expanded {
    ridge_target target;
    ridge_variant *variants;
    char (*names)[96];
} ridge_expanded;

bool ridge_target_has_ways(const ridge_target *target);
ridge_status ridge_expand_ways(const ridge_target *target, ridge_expanded *expanded, ridge_error *error);
void ridge_expanded_free(ridge_expanded *expanded);

#endif

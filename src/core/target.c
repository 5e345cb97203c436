/* What can be said of a target from its descriptor alone. */
#include "ridge/target.h"

#include <string.h>

const char *ridge_isa_name(ridge_isa isa) {
    static const char *const names[] = {
#define ISA_NAME(name) #name,
        RIDGE_ISA_LIST(ISA_NAME)
#undef ISA_NAME
    };
    return (unsigned)isa < RIDGE_ISA_COUNT ? names[isa] : "?";
}

const char *ridge_role_name(ridge_role role) {
    static const char *const names[] = {"baseline", "optimized", "peer"};
    return (unsigned)role < 3 ? names[role] : "?";
}

const char *ridge_variant_obstacle(const ridge_variant *variant, const ridge_case *c, ridge_isa isa) {
    if (!variant->run[isa]) return "has no code for this instruction set";
    return variant->unavailable ? variant->unavailable(c) : NULL;
}

const ridge_target *ridge_target_find(const char *name) {
    for (int i = 0; i < ridge_target_count; i++)
        if (strcmp(ridge_targets[i]->name, name) == 0) return ridge_targets[i];
    return NULL;
}

int ridge_target_rank(const ridge_target *target) {
    int rank = 0;
    while (rank < RIDGE_MAX_RANK && target->dims[rank]) rank++;
    return rank;
}

int ridge_spec_shape(const ridge_tensor_spec *spec, const ridge_case *c, int64_t shape[RIDGE_MAX_RANK]) {
    for (int d = 0; d < spec->rank; d++) shape[d] = c->dim[spec->dim[d]];
    return spec->rank;
}

ridge_dtype ridge_spec_dtype(const ridge_tensor_spec *spec, const ridge_case *c) {
    return spec->dtype == RIDGE_DTYPE_NONE ? c->dtype : spec->dtype;
}

int64_t ridge_spec_elements(const ridge_tensor_spec *spec, const ridge_case *c) {
    int64_t n = 1;
    for (int d = 0; d < spec->rank; d++) n *= c->dim[spec->dim[d]];
    return n;
}

/* Queries on a target's descriptor. */
#include "ridge/target.h"

#include <math.h>
#include <string.h>

#include "core/cuda.h"

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

static const char *const backend_names[] = {
#define BACKEND_NAME(name) #name,
    RIDGE_BACKEND_LIST(BACKEND_NAME)
#undef BACKEND_NAME
};

const char *ridge_backend_name(ridge_backend backend) {
    return (unsigned)backend < RIDGE_BACKEND_COUNT ? backend_names[backend] : "?";
}

ridge_backend ridge_variant_backend(const ridge_variant *variant) {
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) {
        size_t n = strlen(backend_names[b]);
        if (strncmp(variant->name, backend_names[b], n) == 0 && variant->name[n] == '/') return (ridge_backend)b;
    }
    return RIDGE_BACKEND_cpu;
}

static const char *gpu_obstacle(const ridge_variant *variant, const ridge_abilities *here) {
    if (!ridge_variant_has_code(variant, here->isa)) {
        const char *why = ridge_cuda_absent();
        return why ? why : "this target was compiled without CUDA code";
    }
    if (here->sm == 0) return here->no_gpu ? here->no_gpu : "no GPU";
    if (here->sm >= (variant->needs ? variant->needs : 80)) return NULL;
    return variant->needs >= 100  ? "needs a GPU of compute capability 10.0 or later"
           : variant->needs >= 90 ? "needs a GPU of compute capability 9.0 or later"
                                  : "needs a GPU of compute capability 8.0 or later";
}

const char *ridge_variant_obstacle(const ridge_variant *variant, const ridge_case *c, const ridge_abilities *here) {
    ridge_backend backend = ridge_variant_backend(variant);
    if (!ridge_case_is_for(c, backend)) return "this case is for another backend";
    const char *why = backend == RIDGE_BACKEND_cuda ? gpu_obstacle(variant, here) : NULL;
    if (why) return why;
    if (!ridge_variant_has_code(variant, here->isa)) return "has no code for this instruction set";
    return variant->unavailable ? variant->unavailable(c) : NULL;
}

bool ridge_target_has(const ridge_target *target, ridge_backend backend) {
    for (int v = 0; v < target->n_variants; v++)
        if (ridge_variant_backend(&target->variants[v]) == backend) return true;
    return false;
}

bool ridge_target_takes(const ridge_target *target, ridge_backend backend, ridge_dtype dtype) {
    for (int i = 0; i < target->n_cases; i++)
        if (target->cases[i].dtype == dtype && ridge_case_is_for(&target->cases[i], backend)) return true;
    return false;
}

int ridge_target_rank(const ridge_target *target) {
    int rank = 0;
    while (rank < RIDGE_MAX_RANK && target->dims[rank]) rank++;
    return rank;
}

unsigned ridge_target_leads(const ridge_target *target) {
    unsigned leads = 0;
    for (int o = 0; o < target->n_out; o++) leads |= 1u << target->out[o].dim[0];
    return leads;
}

int ridge_target_option(const ridge_target *target, const char *name) {
    for (int i = 0; i < RIDGE_MAX_OPTIONS && target->options[i].name; i++)
        if (strcmp(target->options[i].name, name) == 0) return i;
    return -1;
}

void ridge_target_options(const ridge_target *target, double option[RIDGE_MAX_OPTIONS]) {
    for (int i = 0; i < RIDGE_MAX_OPTIONS; i++) option[i] = target->options[i].fallback;
}

bool ridge_case_same(const ridge_case *a, const ridge_case *b) {
    bool same = a->dtype == b->dtype && a->column_major == b->column_major;
    for (int d = 0; d < RIDGE_MAX_RANK; d++) same = same && a->dim[d] == b->dim[d];
    for (int i = 0; i < RIDGE_MAX_OPTIONS; i++)
        same = same && !(a->option[i] < b->option[i] || a->option[i] > b->option[i]);
    return same;
}

int ridge_spec_shape(const ridge_tensor_spec *spec, const ridge_case *c, int64_t shape[RIDGE_MAX_RANK]) {
    for (int d = 0; d < spec->rank; d++) shape[d] = c->dim[spec->dim[d]];
    return spec->rank;
}

ridge_dtype ridge_spec_dtype(const ridge_tensor_spec *spec, const ridge_case *c) {
    const int wide = spec->wide_option;
    if (wide > 0 && fpclassify(c->option[wide - 1]) != FP_ZERO) return RIDGE_F32;
    return ridge_dtype_stored(spec->dtype == RIDGE_DTYPE_NONE ? c->dtype : spec->dtype);
}

bool ridge_spec_given(const ridge_tensor_spec *spec, const ridge_case *c) {
    return spec->given_option == 0 || fpclassify(c->option[spec->given_option - 1]) != FP_ZERO;
}

int64_t ridge_spec_elements(const ridge_tensor_spec *spec, const ridge_case *c) {
    int64_t n = 1;
    for (int d = 0; d < spec->rank; d++) n *= c->dim[spec->dim[d]];
    return n;
}

/* All targets: those of the build, and those that a program adds. */
#include <string.h>

#include "ridge/targets.h"

static bool has_code(const ridge_variant *v) {
    bool any = v->ways && v->n_ways > 0;
    for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) any = any || v->run[isa];
    return any || ridge_variant_backend(v) != RIDGE_BACKEND_cpu;
}

static bool names_backend(const char *name) {
    for (int b = 0; b < RIDGE_BACKEND_COUNT; b++) {
        const char *backend = ridge_backend_name((ridge_backend)b);
        const size_t n = strlen(backend);
        if (strncmp(name, backend, n) == 0 && name[n] == '/' && name[n + 1]) return true;
    }
    return false;
}

static const char *fault_of_tensors(const ridge_target *t, const ridge_tensor_spec *spec, int n, int most) {
    if (n < 0 || n > most || (n > 0 && !spec)) return "has too many tensors, or no table of them";
    for (int i = 0; i < n; i++) {
        if (!spec[i].name || spec[i].rank < 1 || spec[i].rank > RIDGE_MAX_RANK)
            return "has a tensor without a name or a rank";
        for (int d = 0; d < spec[i].rank; d++)
            if (spec[i].dim[d] < 0 || spec[i].dim[d] >= ridge_target_rank(t))
                return "has a tensor of a dimension that it does not name";
    }
    return NULL;
}

static const char *fault_of_variants(const ridge_target *t) {
    if (t->n_variants < 1 || !t->variants) return "has no variants";
    for (int v = 0; v < t->n_variants; v++) {
        if (!t->variants[v].name || !names_backend(t->variants[v].name))
            return "has a variant whose name does not begin with a backend (cpu/mine)";
        if (!t->variants[v].idea) return "has a variant without its idea";
        if (!has_code(&t->variants[v])) return "has a variant without code";
    }
    return NULL;
}

/* What is missing in a descriptor, or NULL. */
static const char *fault_of(const ridge_target *t) {
    if (!t->name || !*t->name || strchr(t->name, '/') || strchr(t->name, ':')) return "has no name that can be typed";
    if (!t->chapter || !t->summary) return "has no chapter or no summary";
    if (ridge_target_rank(t) == 0) return "names no dimensions";
    if (t->n_cases < 1 || !t->cases) return "has no cases";
    if (!t->work || !t->oracle || !t->bound) return "lacks its work, its oracle or its bound";
    const char *fault = fault_of_tensors(t, t->in, t->n_in, RIDGE_MAX_INPUTS);
    if (!fault) fault = fault_of_tensors(t, t->out, t->n_out, RIDGE_MAX_OUTPUTS);
    if (!fault && t->n_out < 1) fault = "has no output";
    return fault ? fault : fault_of_variants(t);
}

static const ridge_target *added[RIDGE_MOST_ADDED_TARGETS];
static int n_added;

int ridge_target_total(void) { return ridge_target_count + n_added; }

const ridge_target *ridge_target_at(int i) {
    return i < ridge_target_count ? ridge_targets[i] : added[i - ridge_target_count];
}

/* Every call of an operation asks for its target by name. The build's are sorted, those of RIDGE_EXTRA_TARGETS aside. */
static const ridge_target *find_sorted(const char *name) {
    for (int low = 0, end = ridge_target_count; low < end;) {
        const int middle = low + (end - low) / 2, order = strcmp(name, ridge_targets[middle]->name);
        if (order == 0) return ridge_targets[middle];
        if (order < 0)
            end = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const ridge_target *ridge_target_find(const char *name) {
    const ridge_target *sorted = find_sorted(name);
    if (sorted) return sorted;
    for (int i = 0; i < ridge_target_total(); i++)
        if (strcmp(ridge_target_at(i)->name, name) == 0) return ridge_target_at(i);
    return NULL;
}

ridge_status ridge_target_add(const ridge_target *target, ridge_error *error) {
    const char *fault = fault_of(target);
    if (fault) return ridge_fail(error, RIDGE_INVALID, "the target %.60s %s", target->name ? target->name : "?", fault);
    if (ridge_target_find(target->name))
        return ridge_fail(error, RIDGE_INVALID, "ridge has a target %.60s already", target->name);
    if (n_added == RIDGE_MOST_ADDED_TARGETS)
        return ridge_fail(error, RIDGE_INVALID, "%d targets were added already", RIDGE_MOST_ADDED_TARGETS);
    added[n_added++] = target;
    return RIDGE_OK;
}

/* Every variant of every target is right on its edge and small cases, and on each of these every mutant that applies is
 * caught. A target on which fewer than six mutants apply is checked too little. */
#include "verify_fixture.h"

#include <stdio.h>

#include "machine/identity/machine.h"
#include "sanitized.h"
#include "verify/verify.h"

enum { ENOUGH = 6 };
/* What costs more, timed or edge, is left to `ridge verify`, which tests/run calls for every target. Under a sanitizer all
 * costs up to thirty times as much, and what it finds does not depend on the size. */
#define SMALL_COST (UNDER_SANITIZER ? 2e5 : 1e6)

static ridge_isa best_isa(void) {
    int isa = RIDGE_ISA_COUNT - 1;
    while (isa > 0 && !ridge_isa_supported((ridge_isa)isa)) isa--;
    return (ridge_isa)isa;
}

/* Libraries bring threads of an OpenMP run-time that sanitizers do not know: they see races and leaks where there are none. */
static bool is_tested(const ridge_variant *variant) { return !UNDER_SANITIZER || !variant->own_threads; }

static bool looked_at(const ridge_target *target, const ridge_case *c) {
    if (!ridge_case_is_for(c, RIDGE_BACKEND_cpu)) return false; /* what GPUs take is for tests/gpu */
    return ridge_check_full_cost(target, c) <= SMALL_COST;
}

static void variants_are_right(void **state) {
    ridge_team *team = *state;
    if (UNDER_SANITIZER) skip(); /* tests/run verifies all cheap edge cases there */
    for (int t = 0; t < ridge_target_count; t++) {
        const ridge_target *target = ridge_targets[t];
        for (int v = 0; v < target->n_variants * RIDGE_ISA_COUNT; v++) {
            const ridge_variant *variant = &target->variants[v / RIDGE_ISA_COUNT];
            ridge_isa isa = (ridge_isa)(v % RIDGE_ISA_COUNT);
            for (int i = 0; i < target->n_cases && ridge_isa_supported(isa); i++) {
                const ridge_case *c = &target->cases[i];
                if (!looked_at(target, c) || (variant->role == RIDGE_PEER && isa != 0) || !is_tested(variant)) continue;
                ridge_verified_runs got;
                ridge_error error;
                ridge_status status = ridge_verify_variant(target, c, variant, &(ridge_abilities){.isa = isa}, team,
                                                           (uint64_t)i, 0, &got, &error);
                if (status == RIDGE_UNSUPPORTED) continue;
                if (status != RIDGE_OK || !got.check.ok)
                    fail_msg("%s %s %s, case %d (%s): %s", target->name, variant->name, ridge_isa_name(isa), i,
                             ridge_dtype_name(c->dtype), status == RIDGE_OK ? got.check.text : error.text);
                assert_true(got.runs >= 2);
            }
        }
    }
}

/* Of a mutant on one variant: it applied to a case, it was caught on one. */
typedef struct met {
    bool applied, caught;
} met;

static void mutate_variant(const ridge_target *target, const ridge_variant *variant, ridge_team *team, met *of) {
    for (int i = 0; i < target->n_cases; i++) {
        if (!looked_at(target, &target->cases[i])) continue;
        ridge_mutants_met now;
        ridge_error error;
        ridge_status status = ridge_verify_mutants(
            target, &target->cases[i], variant, &(ridge_abilities){.isa = best_isa()}, team, (uint64_t)i, &now, &error);
        if (status == RIDGE_UNSUPPORTED) return;
        if (status != RIDGE_OK) fail_msg("%s", error.text);
        for (int m = 0; m < ridge_mutant_count; m++) {
            const bool applied = now.applied >> m & 1, caught = now.caught >> m & 1;
            if (applied && !caught && ridge_mutants[m].shortcut == RIDGE_DTYPE_NONE)
                fail_msg("%s %s, case %d: mutant %s passed for right", target->name, variant->name, i,
                         ridge_mutants[m].name);
            of[m].applied = of[m].applied || applied;
            of[m].caught = of[m].caught || caught;
        }
    }
}

/* Shortcuts are refuted by far on one case at least. */
static int count_met(const ridge_target *target, const ridge_variant *variant, const met *of) {
    int n = 0;
    for (int m = 0; m < ridge_mutant_count; m++) {
        n += of[m].applied;
        if (of[m].applied && !of[m].caught)
            fail_msg("%s %s: no case refutes mutant %s", target->name, variant->name, ridge_mutants[m].name);
    }
    return n;
}

static void mutants_are_caught(void **state) {
    ridge_team *team = *state;
    if (UNDER_SANITIZER) skip(); /* what judges an output is looked at by the other tests */
    assert_true(ridge_mutant_count >= 8);
    for (int t = 0; t < ridge_target_count; t++) {
        const ridge_target *target = ridge_targets[t];
        for (int v = 0; v < target->n_variants; v++) {
            /* Which mutants a GPU's variants meet is for `ridge verify --mutants` where there is one. */
            if (target->variants[v].role == RIDGE_PEER || !is_tested(&target->variants[v])) continue;
            if (ridge_variant_backend(&target->variants[v]) == RIDGE_BACKEND_cuda) continue;
            met *of = calloc((size_t)ridge_mutant_count, sizeof *of);
            assert_non_null(of);
            mutate_variant(target, &target->variants[v], team, of);
            const int n = count_met(target, &target->variants[v], of);
            free(of);
            if (n < ENOUGH) fail_msg("%s %s: only %d mutants apply", target->name, target->variants[v].name, n);
        }
    }
}

/* The same answer for every split into threads: each member count leaves other remainders. */
static void any_team_is_right(void **state) {
    (void)state;
    const ridge_isa isa = UNDER_TSAN ? RIDGE_ISA_scalar : best_isa(); /* TSan sees the scalar kernels alone */
    for (int size = UNDER_SANITIZER ? 3 : 1; size <= (UNDER_SANITIZER ? 3 : 5); size += 2) {
        ridge_team *team = NULL;
        ridge_error error;
        assert_int_equal(ridge_team_create(size, NULL, &team, &error), RIDGE_OK);
        for (int t = 0; t < ridge_target_count; t++) {
            const ridge_target *target = ridge_targets[t];
            for (int v = 0; v < target->n_variants; v++) {
                const ridge_variant *variant = &target->variants[v];
                for (int i = 0; i < target->n_cases; i++) {
                    const ridge_case *c = &target->cases[i];
                    ridge_verified_runs got;
                    if (!looked_at(target, c) || variant->role == RIDGE_PEER || !is_tested(variant)) continue;
                    ridge_status status = ridge_verify_variant(target, c, variant, &(ridge_abilities){.isa = isa}, team,
                                                               77, 0, &got, &error);
                    if (status == RIDGE_UNSUPPORTED) continue;
                    if (status != RIDGE_OK || !got.check.ok)
                        fail_msg("%s %s, %d threads, case %d: %s", target->name, variant->name, size, i,
                                 status == RIDGE_OK ? got.check.text : error.text);
                }
            }
        }
        ridge_team_destroy(team);
    }
}

/* The most whole tiles of 128 rows that cost no more, two at least, for any limit; the tail, the extents beside it and cheap cases
   stay as they are. */
static void a_cut_case_is_the_largest_that_fits(void **state) {
    (void)state;
    for (int t = 0; t < ridge_target_count; t++) {
        const ridge_target *target = ridge_targets[t];
        for (int i = 0; i < target->n_cases; i++) {
            const ridge_case whole = target->cases[i];
            ridge_case usual = whole;
            if (target->derive) target->derive(usual.dim);
            if (!ridge_case_same(&usual, &whole)) continue; /* stays whole */
            double most = 1e3;
            for (int limit = 0; limit < 7; limit++, most *= 30) {
                ridge_case c = whole, next = whole;
                ridge_case_cut(target, most, &c);
                const double cost = ridge_check_full_cost(target, &c);
                const bool cut = c.dim[0] != whole.dim[0], least = c.dim[0] / 128 <= 2;
                assert_true(c.dim[0] % 128 == whole.dim[0] % 128);
                assert_true(cost <= most || least);
                next.dim[0] = c.dim[0] + 128;
                if (target->derive) target->derive(next.dim);
                assert_true(!cut || (c.dim[0] / 128 >= 2 && ridge_check_full_cost(target, &next) > most));
                c.dim[0] = whole.dim[0];
                if (target->derive) target->derive(c.dim);
                assert_true(ridge_case_same(&c, &whole));
            }
        }
    }
}

static const ridge_variant *tested_on_cpu(const ridge_target *target) {
    for (int v = 0; v < target->n_variants; v++) {
        const ridge_variant *variant = &target->variants[v];
        if (ridge_variant_backend(variant) == RIDGE_BACKEND_cpu && is_tested(variant)) return variant;
    }
    return NULL;
}

/* Some tensor without an element: its output may be the same for all seeds. */
static bool is_empty(const ridge_tensor_spec *specs, int count, const ridge_case *c) {
    for (int i = 0; i < count; i++)
        if (ridge_spec_elements(&specs[i], c) == 0) return true;
    return false;
}

/* Drawn layouts are a part of all; digests tell outputs apart that differ, and only those. */
static void digests_and_drawn_layouts(void **state) {
    ridge_team *team = *state;
    ridge_error error;
    for (int t = 0; t < ridge_target_count; t++) {
        const ridge_target *target = ridge_targets[t];
        const ridge_variant *variant = tested_on_cpu(target);
        const ridge_case *c = NULL;
        for (int i = 0; i < target->n_cases; i++)
            if (looked_at(target, &target->cases[i]) && target->cases[i].dim[0] > 1 &&
                !is_empty(target->in, target->n_in, &target->cases[i]) &&
                !is_empty(target->out, target->n_out, &target->cases[i]))
                c = &target->cases[i];
        if (!c || !variant) continue;
        ridge_verified_runs all, two, again, other;
        assert_int_equal(ridge_verify_variant(target, c, variant, &(ridge_abilities){0}, team, 5, 0, &all, &error),
                         RIDGE_OK);
        assert_int_equal(ridge_verify_variant(target, c, variant, &(ridge_abilities){0}, team, 5, 2, &two, &error),
                         RIDGE_OK);
        assert_int_equal(ridge_verify_variant(target, c, variant, &(ridge_abilities){0}, team, 5, 2, &again, &error),
                         RIDGE_OK);
        assert_int_equal(ridge_verify_variant(target, c, variant, &(ridge_abilities){0}, team, 6, 2, &other, &error),
                         RIDGE_OK);
        assert_true(all.runs > 2 && two.runs == 2 && other.runs == 2);
        if (two.digest != again.digest || two.digest == other.digest || two.digest == all.digest)
            fail_msg("%s %s: case %d", target->name, variant->name, (int)(c - target->cases));
    }
}

int main(void) {
    ridge_team *team = NULL;
    ridge_error error;
    if (ridge_team_create(2, NULL, &team, &error) != RIDGE_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(variants_are_right, team),
        cmocka_unit_test_prestate(mutants_are_caught, team),
        cmocka_unit_test(any_team_is_right),
        cmocka_unit_test(a_cut_case_is_the_largest_that_fits),
        cmocka_unit_test_prestate(digests_and_drawn_layouts, team),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ridge_team_destroy(team);
    return failed;
}

/* Sums over rows of few distinct values, whose roundings all err alike: the error of every instruction set stays well within
 * the bound, however long the row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/random.h"
#include "machine/identity/machine.h"
#include "sanitized.h"
#include "verify/check.h"
#include "verify/trial.h"

/* Of the bound. With partial sums of 256 additions layer_norm reached 1.00 in rows of 2113 elements. */
static const double MOST = 0.45;

static double worst_of(const ridge_target *target, const ridge_variant *variant, int isa, const ridge_case *c,
                       uint64_t seed, ridge_team *team) {
    ridge_trial trial;
    ridge_error error;
    bool clean;
    const ridge_layout dense = {0};
    const ridge_abilities here = {.isa = (ridge_isa)isa};
    ridge_check check = {0};
    assert_int_equal(ridge_trial_create(&trial, target, c, variant, &here, team, &error), RIDGE_OK);
    assert_int_equal(ridge_trial_run(&trial, &dense, RIDGE_EXACT, seed, &clean, &error), RIDGE_OK);
    assert_true(clean);
    assert_int_equal(ridge_check_full(&trial.ops, team, &check, &error), RIDGE_OK);
    ridge_trial_destroy(&trial);
    assert_true(check.ok);
    return check.worst;
}

static void errors_do_not_grow_with_the_row(void **state) {
    ridge_team *team = *state;
    static const char *const names[] = {"layer_norm",       "rms_norm",        "norm_activation",
                                        "online_softmax",   "scaled_softmax",  "layer_norm_backward",
                                        "softmax_backward", "l2_norm_backward"};
    enum { NAMES = sizeof names / sizeof *names };
    for (uint64_t seed = 1; seed <= 14; seed++) {
        const ridge_target *target = ridge_target_find(names[seed % NAMES]);
        ridge_case c = {.dim = {repetitions(600), 1500 + (int64_t)(ridge_random(seed, 1) % 3000)}, .dtype = RIDGE_F32};
        ridge_target_options(target, c.option);
        for (int v = 0; v < target->n_variants; v++)
            for (int isa = 0; isa < RIDGE_ISA_COUNT; isa++) {
                const ridge_variant *variant = &target->variants[v];
                if (ridge_variant_backend(variant) != RIDGE_BACKEND_cpu || variant->role == RIDGE_PEER) continue;
                if (!ridge_isa_supported((ridge_isa)isa)) continue;
                const double worst = worst_of(target, variant, isa, &c, seed, team);
                if (worst > MOST)
                    fail_msg("%s %s %s, %d columns, seed %d: %.2f of the bound", target->name, variant->name,
                             ridge_isa_name((ridge_isa)isa), (int)c.dim[1], (int)seed, worst);
            }
    }
}

int main(void) {
    ridge_team *team = NULL;
    ridge_error error;
    if (ridge_team_create(2, NULL, &team, &error) != RIDGE_OK) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(errors_do_not_grow_with_the_row, team)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ridge_team_destroy(team);
    return failed;
}

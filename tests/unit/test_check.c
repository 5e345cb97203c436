/* The check: passes what is right in every layout and type, and fails every single thing that is not. */
#include "verify_fixture.h"

#include <math.h>

#include "verify/check.h"
#include "verify/view.h"

static const ridge_layout layouts[] = {{0, 0}, {3, 0}, {0, 1}, {17, 5}};
enum { LAYOUTS = 4 };

static ridge_case case_of(int64_t rows, int64_t cols, int64_t table, ridge_dtype dtype) {
    return (ridge_case){.dim = {rows, cols, table}, .dtype = dtype};
}

static ridge_case random_case(uint64_t seed) {
    static const ridge_dtype dtypes[] = {RIDGE_F32, RIDGE_BF16, RIDGE_F16, RIDGE_F64};
    return case_of(1 + (int64_t)(ridge_random(seed, 1) % 40), 1 + (int64_t)(ridge_random(seed, 2) % 70),
                   1 + (int64_t)(ridge_random(seed, 3) % 9), dtypes[ridge_random(seed, 4) % 4]);
}

static ridge_check full(const ridge_operands *ops, ridge_team *team) {
    ridge_check check;
    ridge_error error;
    assert_int_equal(ridge_check_full(ops, team, &check, &error), RIDGE_OK);
    return check;
}

static ridge_check sampled(const ridge_operands *ops, uint64_t seed, int64_t rows, ridge_team *team) {
    ridge_check check;
    ridge_error error;
    assert_int_equal(ridge_check_sample(ops, seed, rows, team, &check, &error), RIDGE_OK);
    return check;
}

static void right_passes(void **state) {
    ridge_team *team = *state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        ridge_operands *ops = operands_new(&fixture_target, random_case(seed), layouts[seed % LAYOUTS]);
        for (int kind = RIDGE_EXACT; kind <= RIDGE_SPECIAL; kind++) {
            ridge_operands_fill(ops, (ridge_fill_kind)kind, seed, seed & 1 ? team : NULL);
            fixture_run(ops);
            ridge_check check = full(ops, seed & 2 ? team : NULL);
            if (!check.ok) fail_msg("seed %d kind %d: %s", (int)seed, kind, check.text);
            assert_true(check.worst <= 1);
            assert_int_equal(check.rows_checked, ops->c.dim[0]);
            check = sampled(ops, seed, 5, team);
            if (!check.ok) fail_msg("seed %d kind %d, sampled: %s", (int)seed, kind, check.text);
        }
        operands_delete(ops);
    }
}

int main(void) {
    ridge_team *team = NULL;
    ridge_error error;
    if (ridge_team_create(3, NULL, &team, &error) != RIDGE_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(right_passes, team),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ridge_team_destroy(team);
    return failed;
}

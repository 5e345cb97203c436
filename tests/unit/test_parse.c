/* Option values that users type: good, bad and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/parse.c"
#include "core/random.h"

static void settings_are_a_name_and_a_number(void **state) {
    (void)state;
    static const char *const bad[] = {"", "a", "=1",
                                      "a=", "a_name_that_is_far_too_long_to_be_that_of_an_option_of_any_target=1"};
    static const char *const no_number[] = {"x", "1x", " 1", "nan", "inf", "1e999"};
    static const ridge_option smoothing = {.name = "smoothing"};
    char name[64];
    const char *text = NULL;
    double value = 0;
    int n = 0;
    ridge_error error = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(ridge_parse_setting(bad[i], name, sizeof name, &text, &error), RIDGE_INVALID);
        assert_non_null(strstr(error.text, "--option"));
    }
    for (size_t i = 0; i < sizeof no_number / sizeof no_number[0]; i++) {
        assert_int_equal(ridge_parse_option_values(&smoothing, no_number[i], &value, &n, &error), RIDGE_INVALID);
        assert_non_null(strstr(error.text, "--option takes NAME=VALUE, a number, not 'smoothing="));
    }
    for (uint64_t seed = 0; seed < 200; seed++) {
        char setting[80];
        const double want = (ridge_random_unit(seed, 0) - 0.5) * 1e6;
        (void)snprintf(setting, sizeof setting, "smoothing=%.17g", want);
        assert_int_equal(ridge_parse_setting(setting, name, sizeof name, &text, NULL), RIDGE_OK);
        assert_int_equal(ridge_parse_option_values(&smoothing, text, &value, &n, NULL), RIDGE_OK);
        assert_string_equal(name, "smoothing");
        assert_true(!(value < want) && !(value > want));
    }
}

/* The words are the option's own: two options of one name may have different ones. */
static void words_are_the_options_own(void **state) {
    static const char *const first[] = {"off", "on", NULL}, *const second[] = {"on", NULL};
    static const ridge_option a = {.name = "switch", .words = first}, b = {.name = "switch", .words = second};
    double value = 9;
    int n = 0;
    ridge_error error = {0};
    (void)state;
    assert_int_equal(ridge_parse_option_values(&a, "on", &value, &n, &error), RIDGE_OK);
    assert_true(value >= 1 && value <= 1);
    assert_int_equal(ridge_parse_option_values(&b, "on", &value, &n, &error), RIDGE_OK);
    assert_true(value >= 0 && value <= 0);
    assert_int_equal(ridge_parse_option_values(&b, "off", &value, &n, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "--option switch: 'off' is unknown"));
    assert_non_null(strstr(error.text, "(known: on)"));
    assert_int_equal(ridge_parse_option_values(&b, "7", &value, &n, &error), RIDGE_OK); /* the target rejects it */
    assert_string_equal(ridge_option_word_of(&a, 1), "on");
    assert_null(ridge_option_word_of(&b, 1));
    assert_null(ridge_option_word_of(&a, 0.5));
    assert_null(ridge_option_word_of(&a, strtod("nan", NULL)));
    assert_int_equal(ridge_option_words(&(ridge_option){.name = "eps"}), 0);
}

/* Lists: every value by itself, in its order; none may be missing. */
static void values_are_lists(void **state) {
    static const char *const modes[] = {"off", "on", NULL};
    static const ridge_option option = {.name = "mode", .words = modes};
    static const char *const bad[] = {"", ",", "1,", ",1", "1,,2", "on,of", "1 ,2", "on off"};
    double value[RIDGE_MAX_VALUES];
    char many[4 * RIDGE_MAX_VALUES] = "";
    int n = 0;
    ridge_error error = {0};
    (void)state;
    assert_int_equal(ridge_parse_option_values(&option, "on,off,0.5", value, &n, &error), RIDGE_OK);
    assert_int_equal(n, 3);
    assert_true(value[0] >= 1 && value[0] <= 1 && value[1] >= 0 && value[1] <= 0 && value[2] >= 0.5 && value[2] <= 0.5);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (ridge_parse_option_values(&option, bad[i], value, &n, &error) != RIDGE_INVALID)
            fail_msg("'%s' was taken", bad[i]);
    for (int i = 0; i < RIDGE_MAX_VALUES; i++) strcat(many, i ? ",7" : "7");
    assert_int_equal(ridge_parse_option_values(&option, many, value, &n, &error), RIDGE_OK);
    assert_int_equal(n, RIDGE_MAX_VALUES);
    strcat(many, ",7");
    assert_int_equal(ridge_parse_option_values(&option, many, value, &n, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "more than"));
}

/* What strtod and strtol take besides plain decimals, each as every kind of number an option can be. */
static void numbers_are_plain_decimals(void **state) {
    static const char *const bad[] = {"0x10",   "0X1p3", "0x1p3", "1e400", "-1e400", "inf",   "-inf", "infinity", "nan",
                                      "nan(1)", " 5",    "5 ",    "\t5",   "+5",     "5.",    ".5",   "1e",       "1e+",
                                      "1e-",    "-",     "--1",   "1_0",   "1,,5",   "1.2.3", "5\n",  "١",        "1f"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        static const ridge_option option = {.name = "a"};
        double value = 0;
        int n = 0;
        int64_t count = 0;
        uint64_t seed = 0;
        if (ridge_parse_decimal(bad[i], &value) ||
            ridge_parse_seconds(bad[i], "--max-time", &value, NULL) != RIDGE_INVALID ||
            ridge_parse_count(bad[i], "--threads", 0, 100000, &count, NULL) != RIDGE_INVALID ||
            ridge_parse_seed(bad[i], &seed, NULL) != RIDGE_INVALID ||
            ridge_parse_option_values(&option, bad[i], &value, &n, NULL) != RIDGE_INVALID)
            fail_msg("'%s' was taken", bad[i]);
    }
    static const char *const good[] = {"0", "12", "007", "0.25", "1e3", "1.5E-3", "2e+1", "-3.5", "1e-400"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double value = 1;
        assert_true(ridge_parse_decimal(good[i], &value));
        assert_true(!(value < strtod(good[i], NULL)) && !(value > strtod(good[i], NULL)));
    }
    uint64_t seed = 0;
    assert_int_equal(ridge_parse_seed("010", &seed, NULL), RIDGE_OK);
    assert_int_equal(seed, 10); /* not octal */
}

static void counts_hold_their_range(void **state) {
    static const struct {
        const char *text;
        ridge_status status;
        int64_t value;
    } rows[] = {
        {"1", RIDGE_OK, 1},       {"100", RIDGE_OK, 100},
        {"0", RIDGE_INVALID, 0},  {"101", RIDGE_INVALID, 0},
        {"", RIDGE_INVALID, 0},   {" 5", RIDGE_INVALID, 0},
        {"5x", RIDGE_INVALID, 0}, {"99999999999999999999", RIDGE_INVALID, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t value = 0;
        assert_int_equal(ridge_parse_count(rows[i].text, "--threads", 1, 100, &value, NULL), rows[i].status);
        if (rows[i].status == RIDGE_OK) assert_int_equal(value, rows[i].value);
    }
}

static void seconds_are_finite_and_positive(void **state) {
    static const char *const bad[] = {"", "0", "-1", "nan", "inf", "1e9", "2s", " 1", "0x"};
    (void)state;
    double seconds = 0;
    assert_int_equal(ridge_parse_seconds("0.25", "--max-time", &seconds, NULL), RIDGE_OK);
    assert_true(seconds > 0.2499 && seconds < 0.2501);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (ridge_parse_seconds(bad[i], "--max-time", &seconds, NULL) != RIDGE_INVALID)
            fail_msg("'%s' was taken", bad[i]);
}

static void work_is_finite_and_positive(void **state) {
    static const char *const bad[] = {"", "0", "-1", "nan", "inf", "1e999", "2G", " 1", "0x1"};
    (void)state;
    double flop = 0;
    assert_int_equal(ridge_parse_work("2e8", "--work", &flop, NULL), RIDGE_OK);
    assert_true(flop > 1.999e8 && flop < 2.001e8);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (ridge_parse_work(bad[i], "--work", &flop, NULL) != RIDGE_INVALID) fail_msg("'%s' was taken", bad[i]);
}

static void seeds_take_all_64_bits(void **state) {
    (void)state;
    uint64_t seed = 0;
    assert_int_equal(ridge_parse_seed("18446744073709551615", &seed, NULL), RIDGE_OK);
    assert_true(seed == UINT64_MAX);
    assert_int_equal(ridge_parse_seed("18446744073709551616", &seed, NULL), RIDGE_INVALID);
    assert_int_equal(ridge_parse_seed("-1", &seed, NULL), RIDGE_INVALID);
}

static void patterns_name_chapters_and_targets(void **state) {
    static const ridge_target target = {.name = "online_softmax", .chapter = "ch09"};
    static const char *const yes[] = {"ch09", "online_softmax", "ch09:online_softmax", "*softmax*", "ch0?", "*:online*",
                                      "*"};
    static const char *const no[] = {"ch9", "softmax", "ch09:", "online_softmax:ch09", "", "ONLINE*"};
    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) assert_true(ridge_pattern_matches(yes[i], &target));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) assert_false(ridge_pattern_matches(no[i], &target));
}

static void inputs_are_split_at_the_first_equals(void **state) {
    (void)state;
    char name[8];
    const char *file;
    assert_int_equal(ridge_parse_input("x=a=b.npy", name, sizeof name, &file, NULL), RIDGE_OK);
    assert_string_equal(name, "x");
    assert_string_equal(file, "a=b.npy");
    static const char *const bad[] = {"", "x", "=f", "x=", "longername=f"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(ridge_parse_input(bad[i], name, sizeof name, &file, NULL), RIDGE_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_a_name_and_a_number),
        cmocka_unit_test(words_are_the_options_own),
        cmocka_unit_test(values_are_lists),
        cmocka_unit_test(numbers_are_plain_decimals),
        cmocka_unit_test(counts_hold_their_range),
        cmocka_unit_test(seconds_are_finite_and_positive),
        cmocka_unit_test(work_is_finite_and_positive),
        cmocka_unit_test(seeds_take_all_64_bits),
        cmocka_unit_test(patterns_name_chapters_and_targets),
        cmocka_unit_test(inputs_are_split_at_the_first_equals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

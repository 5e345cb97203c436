/* Mistyped words and what they stand for; the words that options take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/values.h"
#include "core/random.h"

static void errors_are_counted(void **state) {
    static const struct {
        const char *a, *b;
        int distance;
    } rows[] = {
        {"", "", 0},
        {"run", "run", 0},
        {"", "run", 3},
        {"rnu", "run", 1},
        {"urn", "run", 1},
        {"rn", "run", 1},
        {"runn", "run", 1},
        {"ran", "run", 1},
        {"RUN", "run", 0},
        {"nur", "run", 2},
        {"ca", "abc", 3},
        {"siezs", "sizes", 1},
        {"kitten", "sitting", 3},
        {"verfiy", "verify", 1},
        {"nuerx", "urnex", 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (ridge_edit_distance(rows[i].a, rows[i].b) != rows[i].distance)
            fail_msg("%s, %s: %d", rows[i].a, rows[i].b, ridge_edit_distance(rows[i].a, rows[i].b));
        assert_int_equal(ridge_edit_distance(rows[i].b, rows[i].a), rows[i].distance);
    }
    char long_word[200];
    memset(long_word, 'a', sizeof long_word - 1);
    long_word[sizeof long_word - 1] = '\0';
    assert_int_equal(ridge_edit_distance(long_word, "a"), 64);
    assert_int_equal(ridge_edit_distance("a", long_word), 64);
    assert_int_equal(ridge_edit_distance(long_word + 199 - 63, "a"), 62);
}

/* One random insertion, deletion, replacement or swap. */
static void mistype(char *word, uint64_t seed) {
    const size_t n = strlen(word), at = ridge_random(seed, 1) % n;
    const char letter = (char)('a' + ridge_random(seed, 2) % 26), next = word[at + 1];
    switch (ridge_random(seed, 0) % 4) {
        case 0:
            memmove(word + at + 1, word + at, n - at + 1);
            word[at] = letter;
            break;
        case 1: memmove(word + at, word + at + 1, n - at); break;
        case 2: word[at] = letter; break;
        default:
            if (!next) break;
            word[at + 1] = word[at];
            word[at] = next;
    }
}

static void one_error_is_forgiven(void **state) {
    ridge_words words = {0};
    (void)state;
    ridge_target_words(&words);
    assert_int_equal(words.n, ridge_target_count);
    for (uint64_t seed = 0; seed < 5000; seed++) {
        const char *meant = words.word[ridge_random(seed, 3) % (uint64_t)words.n];
        char typed[80];
        (void)snprintf(typed, sizeof typed, "%s", meant);
        mistype(typed, seed);
        if (ridge_edit_distance(typed, meant) > 1) fail_msg("%s, %s are more than one error apart", typed, meant);
        const char *nearest = ridge_words_nearest(&words, typed);
        assert_non_null(nearest);
        if (ridge_edit_distance(typed, nearest) > 1) fail_msg("%s for %s, not %s", nearest, typed, meant);
    }
}

static const char *nearest_of_three(const char *typed) {
    ridge_words words = {0};
    ridge_words_add(&words, "run");
    ridge_words_add(&words, "roofline");
    ridge_words_add(&words, "compare");
    ridge_words_add(&words, "run");
    assert_int_equal(words.n, 3);
    const char *nearest = ridge_words_nearest(&words, typed);
    return nearest ? nearest : "(none)";
}

static void far_words_are_not_suggested(void **state) {
    (void)state;
    assert_string_equal(nearest_of_three("rnu"), "run");
    assert_string_equal(nearest_of_three("roo"), "roofline"); /* by its beginning */
    assert_string_equal(nearest_of_three("ruflin"), "(none)");
    assert_string_equal(nearest_of_three("roflin"), "roofline");
    assert_string_equal(nearest_of_three("r"), "(none)"); /* two words begin with it */
    assert_string_equal(nearest_of_three("c"), "compare");
    assert_string_equal(nearest_of_three("x"), "(none)");
    assert_string_equal(nearest_of_three(""), "(none)");
    assert_string_equal(nearest_of_three("fly"), "(none)");
}

static void lists_are_cut_at_a_word(void **state) {
    ridge_words words = {0};
    char text[64];
    (void)state;
    ridge_words_join(&words, text, sizeof text);
    assert_string_equal(text, "");
    ridge_words_add(&words, "one");
    ridge_words_add(&words, "two");
    ridge_words_add(&words, "three");
    ridge_words_join(&words, text, sizeof text);
    assert_string_equal(text, "one, two, three");
    ridge_words_join(&words, text, sizeof "one, two, three");
    assert_string_equal(text, "one, two, three");
    ridge_words_join(&words, text, sizeof "one, two, three" - 1);
    assert_string_equal(text, "one, two, …");
    for (size_t size = 1; size < 20; size++) {
        char *exact = malloc(size); /* a sanitizer sees a write beyond it */
        assert_non_null(exact);
        ridge_words_join(&words, exact, size);
        assert_true(strlen(exact) < size);
        free(exact);
    }
}

static void hints_ask(void **state) {
    ridge_words words = {0};
    char text[64];
    (void)state;
    ridge_words_add(&words, "cuda");
    assert_string_equal(ridge_words_hint(&words, "cdua", text, sizeof text), ": did you mean 'cuda'?");
    assert_string_equal(ridge_words_hint(&words, "metal", text, sizeof text), "");
}

static void types_have_other_names(void **state) {
    static const struct {
        const char *name;
        ridge_dtype dtype;
    } rows[] = {
        {"f32", RIDGE_F32},      {"F32", RIDGE_F32},         {"fp32", RIDGE_F32},       {"float32", RIDGE_F32},
        {"float", RIDGE_F32},    {"Single", RIDGE_F32},      {"fp16", RIDGE_F16},       {"float16", RIDGE_F16},
        {"half", RIDGE_F16},     {"bfloat16", RIDGE_BF16},   {"BF16", RIDGE_BF16},      {"double", RIDGE_F64},
        {"float64", RIDGE_F64},  {"tf32", RIDGE_TF32},       {"", RIDGE_DTYPE_NONE},    {"f128", RIDGE_DTYPE_NONE},
        {"?", RIDGE_DTYPE_NONE}, {"f32 ", RIDGE_DTYPE_NONE}, {"int", RIDGE_DTYPE_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (ridge_dtype_by_any_name(rows[i].name) != rows[i].dtype) fail_msg("'%s'", rows[i].name);
}

static void words_are_those_of_the_library(void **state) {
    ridge_words words = {0};
    (void)state;
    ridge_isa_words(&words);
    assert_int_equal(words.n, RIDGE_ISA_COUNT);
    for (int i = 0; i < words.n; i++) assert_string_equal(words.word[i], ridge_isa_name((ridge_isa)i));
    words.n = 0;
    ridge_variants_of(ridge_target_find("fused_l2norm"), &words);
    assert_true(ridge_words_find(&words, "cpu/optimized") >= 0 && ridge_words_find(&words, "optimized") >= 0);
    assert_int_equal(ridge_words_find(&words, "cpu"), -1);
    words.n = 0;
    ridge_dtype_words(&words);
    for (int i = 0; i < words.n; i++) assert_true(ridge_dtype_by_any_name(words.word[i]) != RIDGE_DTYPE_NONE);
}

/* A part of a word is enough, with as many errors as a whole one may have; two letters are near to everything. */
static void parts_of_words_are_near_too(void **state) {
    (void)state;
    static const ridge_words all = {4, {"fused_l2norm", "online_softmax", "scaled_softmax", "rms_norm"}};
    static const struct {
        const char *typed, *want;
    } cases[] = {{"l2nrm", "fused_l2norm"},
                 {"sofmax", "online_softmax, scaled_softmax"},
                 {"rmsnrm", "rms_norm"},
                 {"onlinesoftmx", "online_softmax"},
                 {"xyz", ""},
                 {"no", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ridge_words found = {0};
        char text[80];
        ridge_words_near_parts(&all, cases[i].typed, &found);
        ridge_words_join(&found, text, sizeof text);
        assert_string_equal(text, cases[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_counted),
        cmocka_unit_test(one_error_is_forgiven),
        cmocka_unit_test(far_words_are_not_suggested),
        cmocka_unit_test(lists_are_cut_at_a_word),
        cmocka_unit_test(hints_ask),
        cmocka_unit_test(types_have_other_names),
        cmocka_unit_test(words_are_those_of_the_library),
        cmocka_unit_test(parts_of_words_are_near_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Words beside a status: one line, kept for each thread, given once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ridge/status.h"

static void words_are_given_once(void **state) {
    (void)state;
    assert_string_equal(ridge_why(), "");
    ridge_note_why("%s: error %d", "first", 1);
    ridge_note_why("%s: error %d", "second", 2);
    assert_string_equal(ridge_why(), ": second: error 2");
    assert_string_equal(ridge_why(), "");
}

static void words_are_one_line_of_bounded_length(void **state) {
    char longest[1000];
    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    ridge_note_why("two\nlines\x1b[31m");
    assert_string_equal(ridge_why(), ": two?lines?[31m");
    ridge_note_why("%s", longest);
    assert_in_range(strlen(ridge_why()), 100, 250);
}

static void *why_of_thread(void *arg) {
    *(size_t *)arg = strlen(ridge_why());
    ridge_note_why("of the other thread");
    return NULL;
}

static void words_stay_with_their_thread(void **state) {
    (void)state;
    pthread_t other;
    size_t found = 99;
    ridge_note_why("of this thread");
    assert_int_equal(pthread_create(&other, NULL, why_of_thread, &found), 0);
    pthread_join(other, NULL);
    assert_int_equal(found, 0);
    assert_string_equal(ridge_why(), ": of this thread");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_given_once),
        cmocka_unit_test(words_are_one_line_of_bounded_length),
        cmocka_unit_test(words_stay_with_their_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Programs that the command starts: what they write, and for how long they may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/spawn.h"
#include "device/device.h"

typedef struct ended {
    ridge_status status;
    char *text;
    int code;
    double seconds;
    ridge_error error;
} ended;

static ended run(const char *script, double limit_s) {
    const char *const arguments[] = {"sh", "-c", script, NULL};
    const uint64_t began = ridge_clock_ns();
    ended e = {0};
    pid_t pid;
    int output;
    assert_int_equal(ridge_spawn(arguments, &pid, &output, &e.error), RIDGE_OK);
    e.status = ridge_spawn_read(pid, output, limit_s, &e.text, &e.error);
    assert_int_equal(ridge_spawn_wait(pid, &e.code, &e.error), RIDGE_OK);
    e.seconds = ridge_seconds_since(began);
    return e;
}

static void all_that_is_written_is_read(void **state) {
    ended e = run("printf one; sleep 0.1; printf two; head -c 100000 /dev/zero | tr '\\0' x; exit 3", 30);
    (void)state;
    assert_int_equal(e.status, RIDGE_OK);
    assert_int_equal(e.code, 3);
    assert_int_equal(strlen(e.text), 6 + 100000);
    assert_memory_equal(e.text, "onetwoxxx", 9);
    free(e.text);
    e = run("exit 0", 30);
    assert_string_equal(e.text, "");
    free(e.text);
}

/* Silent, and one that never stops to write. */
static void what_takes_too_long_is_killed(void **state) {
    const char *const scripts[] = {"exec sleep 20", "exec yes"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        ended e = run(scripts[i], 0.3);
        assert_int_equal(e.status, RIDGE_FAILED);
        assert_string_equal(e.error.text, "no end within 0.3 s");
        assert_int_equal(e.code, -1);
        assert_true(e.seconds < 10);
        free(e.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_written_is_read),
        cmocka_unit_test(what_takes_too_long_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Waiting for the threads of a library that spin after their work. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/device.h"
#include "measure/threads.h"

typedef struct spinner {
    double seconds;
    atomic_bool started, done;
} spinner;

static void *spin(void *arg) {
    spinner *s = arg;
    const uint64_t began = ridge_clock_ns();
    atomic_store(&s->started, true);
    while (ridge_seconds_since(began) < s->seconds) continue;
    atomic_store(&s->done, true);
    return NULL;
}

static bool done_after_rest(double seconds, double limit_s) {
    spinner s = {.seconds = seconds};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, spin, &s), 0);
    while (!atomic_load(&s.started)) continue;
    ridge_threads_rest(limit_s);
    const bool done = atomic_load(&s.done);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return done;
}

static void a_thread_that_spins_is_waited_for(void **state) {
    (void)state;
    assert_true(done_after_rest(0.05, 10));
}

static void but_not_for_ever(void **state) {
    (void)state;
    assert_false(done_after_rest(0.5, 0.01));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_spins_is_waited_for),
        cmocka_unit_test(but_not_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

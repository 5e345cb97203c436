/* What is said of this machine holds together, follows the process's own affinity, and is found quickly. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "device/device.h"
#include "machine/doctor/doctor.h"
#include "machine/identity/machine.h"
#include "machine/identity/system.h"

static ridge_machine m, again;

static void test_detect(void **state) {
    (void)state;
    ridge_error error = {0};
    assert_int_equal(ridge_machine_detect(&m, &error), RIDGE_OK);
    assert_true(m.cores >= 1 && m.threads >= m.cores);
    assert_true(m.memory_bytes > 1 << 20);
    assert_true(m.cpu[0] && m.arch[0] && m.kernel[0] && m.compiler[0] && m.key[0]);
    assert_true(ridge_isa_supported(m.isa));
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int i = 0; i < m.threads; i++) {
        assert_true(CPU_ISSET((size_t)m.cpus[i], &set));
        for (int j = 0; j < i; j++) assert_int_not_equal(m.cpus[i], m.cpus[j]);
    }
    assert_int_equal(CPU_COUNT(&set), m.threads);
}

static void test_key_is_a_file_name(void **state) {
    (void)state;
    static const char good[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    ridge_error error;
    assert_int_equal(strspn(m.key, good), strlen(m.key));
    assert_true(m.key[0] != '-' && m.key[0] != '.');
    assert_int_equal(ridge_machine_detect(&again, &error), RIDGE_OK);
    assert_string_equal(again.key, m.key);
}

/* The best of five: the first may wait for a disk, and any may be interrupted. */
static void test_detect_is_quick(void **state) {
    (void)state;
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        ridge_error error;
        uint64_t begin = ridge_clock_ns();
        assert_int_equal(ridge_machine_detect(&again, &error), RIDGE_OK);
        double ms = (double)(ridge_clock_ns() - begin) / 1e6;
        if (ms < best) best = ms;
    }
    if (best > (m.gpu.sm ? 10000 : 60)) /* the driver is asked in a child: seconds where it is loaded for each */
        fail_msg("detection takes %.0f ms", best); /* usually under 10; more only where hundreds of cores are */
}

static void test_affinity_narrows(void **state) {
    (void)state;
    cpu_set_t before, one;
    ridge_error error;
    int last = m.cpus[m.threads - 1];
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)last, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    ridge_status status = ridge_machine_detect(&again, &error);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(status, RIDGE_OK);
    assert_int_equal(again.threads, 1);
    assert_int_equal(again.cores, 1);
    assert_int_equal(again.cpus[0], last);
}

static void test_features(void **state) {
    (void)state;
    assert_true(ridge_isa_supported(RIDGE_ISA_scalar));
    assert_false(ridge_cpu_has(""));
    assert_false(ridge_cpu_has("avx9000"));
    char copy[sizeof m.features], *rest = copy;
    (void)snprintf(copy, sizeof copy, "%s", m.features);
    for (char *word; (word = strsep(&rest, " "));)
        if (*word) assert_true(ridge_cpu_has(word));
#if defined(__x86_64__)
    __builtin_cpu_init();
    assert_int_equal(ridge_cpu_has("avx2"), !!__builtin_cpu_supports("avx2"));
    assert_int_equal(ridge_cpu_has("fma"), !!__builtin_cpu_supports("fma"));
    assert_int_equal(ridge_cpu_has("avx512f"), !!__builtin_cpu_supports("avx512f"));
    assert_int_equal(ridge_cpu_has("avx512_vnni"), !!__builtin_cpu_supports("avx512vnni"));
    if (ridge_isa_supported(RIDGE_ISA_avx512)) assert_true(ridge_cpu_has("avx2"));
#endif
}

static void test_system_line(void **state) {
    (void)state;
    char text[16];
    assert_false(ridge_system_line("/nonexistent/file", text, (int)sizeof text));
    assert_string_equal(text, "");
    if (ridge_system_line("/proc/sys/kernel/ostype", text, (int)sizeof text)) assert_null(strchr(text, '\n'));
    assert_true(ridge_system_cpu_quota() >= 0);
}

static void test_doctor(void **state) {
    (void)state;
    ridge_finding f[RIDGE_MAX_FINDINGS];
    static const char *const wanted[] = {"governor", "turbo", "hypervisor", "load", "counters",
                                         "pages",    "peers", "gnuplot",    "gpu"};
    int n = ridge_doctor(&m, f);
    assert_in_range(n, 8, RIDGE_MAX_FINDINGS);
    for (size_t w = 0; w < sizeof wanted / sizeof wanted[0]; w++) {
        int seen = 0;
        for (int i = 0; i < n; i++) seen += strcmp(f[i].what, wanted[w]) == 0;
        if (seen != 1) fail_msg("%d findings on %s", seen, wanted[w]);
    }
    for (int i = 0; i < n; i++) {
        assert_true(f[i].found[0] && !strchr(f[i].found, '\n') && !strchr(f[i].advice, '\n'));
        assert_in_range(f[i].health, RIDGE_HEALTH_GOOD, RIDGE_HEALTH_BAD);
        if (f[i].health == RIDGE_HEALTH_BAD && !f[i].advice[0]) fail_msg("no advice on %s", f[i].what);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detect),          cmocka_unit_test(test_key_is_a_file_name),
        cmocka_unit_test(test_detect_is_quick), cmocka_unit_test(test_affinity_narrows),
        cmocka_unit_test(test_features),        cmocka_unit_test(test_system_line),
        cmocka_unit_test(test_doctor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

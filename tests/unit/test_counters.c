/* What NVIDIA's profiler prints, taken apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/counters.h"

#define HEADER \
    "\"ID\",\"Kernel Name\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\"\n\"\",\"\",\"byte\",\"byte\"\n"

static bool counts(const char *text, double *read, double *written) {
    return ridge_counters_parse(text, read, written, NULL) == RIDGE_OK;
}

static void sums_over_kernels(void **state) {
    (void)state;
    double r, w;
    assert_true(counts("==PROF== Connected to process 1\n" HEADER "\"0\",\"square(float, int)\",\"1,000,000\",\"250\"\n"
                       "\"1\",\"a \"\"quoted\"\" name\",\"24\",\"1.5\"\n"
                       "==PROF== Disconnected\n",
                       &r, &w));
    assert_true(r == 1000024);
    assert_true(w == 251.5);
    assert_true(
        counts(HEADER "\"0\",\"k\",\"0\",\"12,345,678.25\"\r\n", &r, &w)); /* a line of Windows, no bytes read */
    assert_true(r == 0);
    assert_true(w == 12345678.25);
}

static void columns_may_change_places(void **state) {
    (void)state;
    double r, w;
    assert_true(
        counts("\"dram__bytes_write.sum\",\"x\",\"dram__bytes_read.sum\"\n\"byte\",\"\",\"byte\"\n"
               "\"7\",\"\",\"9\"\n",
               &r, &w));
    assert_true(r == 9 && w == 7);
}

static void refuse(const char *text, ridge_status status, const char *words) {
    double r = 1, w = 1;
    ridge_error error = {0};
    if (ridge_counters_parse(text, &r, &w, &error) != status) fail_msg("taken, or not as %s: %s", words, text);
    assert_true(r == 0 && w == 0);
    if (!strstr(error.text, words) || strchr(error.text, '\n')) fail_msg("said '%s' of %s", error.text, text);
}

static void what_is_no_number_of_bytes_is_refused(void **state) {
    static const char *const values[] = {"-1",       "-0",       "nan",   "NaN",     "inf",
                                         "-inf",     "1e400",    "1e19",  "n/a",     "",
                                         " 5",       "5 ",       "+5",    "0x10",    "1,00",
                                         "1,0000",   "1000,000", ",100",  "100,",    "1,,000",
                                         "1,000,00", "1.000,5",  "1 000", "12 byte", "99999999999999999999"};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[400];
        (void)snprintf(text, sizeof text, HEADER "\"0\",\"k\",\"%s\",\"1\"\n", values[i]);
        refuse(text, RIDGE_CORRUPT, "no number that counts");
        (void)snprintf(text, sizeof text, HEADER "\"0\",\"k\",\"1\",\"1\"\n\"1\",\"k\",\"1\",\"%s\"\n", values[i]);
        refuse(text, RIDGE_CORRUPT, "dram__bytes_write.sum");
    }
    /* Longer than a field that is kept: its beginning must not pass for it. */
    char text[400] = HEADER "\"0\",\"k\",\"";
    memset(text + strlen(text), '1', 120);
    strcat(text, "\",\"1\"\n");
    refuse(text, RIDGE_CORRUPT, "no number that counts");
}

static void what_is_no_whole_table_is_refused(void **state) {
    static const struct {
        const char *text;
        ridge_status status;
        const char *words;
    } rows[] = {
        {"", RIDGE_NOT_FOUND, "no table"},
        {"\n", RIDGE_NOT_FOUND, "no table"},
        {"==ERROR== ERR_NVGPUCTRPERM", RIDGE_NOT_FOUND, "no table"},
        {",,,\n,,", RIDGE_NOT_FOUND, "no table"},
        {HEADER, RIDGE_NOT_FOUND, "no table"},
        {"\"dram__bytes_read.sum\"\n\"byte\"\n\"5\"\n", RIDGE_CORRUPT, "no column dram__bytes_write.sum"},
        {"\"dram__bytes_write.sum\"\n\"byte\"\n\"5\"\n", RIDGE_CORRUPT, "no column dram__bytes_read.sum"},
        {"\"dram__bytes_read.sum\",\"dram__bytes_write.sum\"\n\"Kbyte\",\"byte\"\n\"5\",\"5\"\n", RIDGE_CORRUPT,
         "Kbyte"},
        {"\"dram__bytes_read.sum\",\"dram__bytes_write.sum\"\n\"5\",\"5\"\n", RIDGE_CORRUPT, "not in byte"},
        {HEADER "\"0\",\"k\"\n", RIDGE_CORRUPT, "line 3"},
        {HEADER "\"0\",\"k\",\"1\",\"1\",\"1\"\n", RIDGE_CORRUPT, "line 3"},
        {HEADER "\"0\",\"k\",\"1\",\"1\"\n\"1\",\"k\",\"1\"", RIDGE_CORRUPT, "line 4"},
        {HEADER "\"0\",\"k\",\"1\",\"1", RIDGE_CORRUPT, "line 3"},
        {HEADER "\"0\",\"k\"x,\"1\",\"1\"\n", RIDGE_CORRUPT, "line 3"},
        {HEADER "\"unended", RIDGE_CORRUPT, "line 3"},
        {"\"", RIDGE_CORRUPT, "line 1"},
        {"\"\"\"", RIDGE_CORRUPT, "line 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) refuse(rows[i].text, rows[i].status, rows[i].words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_over_kernels),
        cmocka_unit_test(columns_may_change_places),
        cmocka_unit_test(what_is_no_number_of_bytes_is_refused),
        cmocka_unit_test(what_is_no_whole_table_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

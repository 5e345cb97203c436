/* Tables and pages: columns give way by rank, nothing is wider than its page, and CSV and Markdown hold the same cells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "report/table.h"

static char text[1 << 15];

static ridge_page open_page(int width, ridge_format format) {
    memset(text, 0, sizeof text);
    FILE *stream = fmemopen(text, sizeof text - 1, "w");
    assert_non_null(stream);
    return (ridge_page){.tables = stream, .prose = stream, .width = width, .height = 24, .format = format};
}

static const char *print(const ridge_table *table, ridge_page page) {
    ridge_table_print(table, &page);
    assert_int_equal(fclose(page.tables), 0);
    return text;
}

enum { NAME, TIME, TIME_LOW, RATE, WHY, COLUMNS };
static const ridge_column columns[COLUMNS] = {
    [NAME] = {.header = "name", .field = "name", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 8},
    [TIME] = {.header = "µs of time", .brief = "µs", .field = "time_us", .align = 'r', .shorten = 20},
    [TIME_LOW] = {.field = "time_low_us", .align = 'r'},
    [RATE] = {.header = "rate", .field = "rate_gbps", .align = 'r', .drop = 30},
    [WHY] = {.header = "why", .field = "why", .align = 'l', .fit = RIDGE_FIT_WRAP, .least = 10},
};

static ridge_table *make(void) {
    ridge_table *table = ridge_table_new(columns, COLUMNS);
    ridge_table_row(table);
    ridge_table_text(table, NAME, "matrix_product");
    ridge_table_text(table, TIME, "12.50 ±0.3%");
    ridge_table_brief(table, TIME, "12.50");
    ridge_table_number(table, TIME, 12.5);
    ridge_table_number(table, TIME_LOW, 12.25);
    ridge_table_text(table, RATE, "≈1×");
    ridge_table_number(table, RATE, (double)NAN);
    ridge_table_text(table, WHY, "a \"quoted\" pipe | and\ttab");
    ridge_table_heading(table, "a heading");
    ridge_table_row(table);
    ridge_table_text(table, NAME, "matrix_product");
    ridge_table_ditto(table, NAME);
    ridge_table_text(table, RATE, "22,5");
    return table;
}

static void a_wide_page_shows_all(void **state) {
    (void)state;
    ridge_table *table = make();
    assert_string_equal(print(table, open_page(80, RIDGE_FORMAT_TABLE)),
                        "name             µs of time  rate  why\n"
                        "matrix_product  12.50 ±0.3%   ≈1×  a \"quoted\" pipe | and tab\n"
                        "\n"
                        "a heading\n"
                        "                             22,5\n");
    ridge_page narrow = open_page(10, RIDGE_FORMAT_TABLE);
    narrow.wide = true;
    assert_non_null(strstr(print(table, narrow), "matrix_product  12.50 ±0.3%   ≈1×  a \"quoted\" pipe | and tab\n"));
    ridge_table_free(table);
    ridge_table_free(NULL);
}

static void columns_give_way_by_rank(void **state) {
    (void)state;
    ridge_table *table = make();
    assert_string_equal(print(table, open_page(39, RIDGE_FORMAT_TABLE)), /* broken first, at a joint of the word */
                        "name       µs of time  rate  why\n"
                        "matrix_   12.50 ±0.3%   ≈1×  a \"quoted\"\n"
                        "product                      pipe | and\n"
                        "                             tab\n"
                        "\n"
                        "a heading\n"
                        "                       22,5\n");
    assert_string_equal(print(table, open_page(33, RIDGE_FORMAT_TABLE)), /* then the highest rank: the rate goes */
                        "name       µs of time  why\n"
                        "matrix_   12.50 ±0.3%  a \"quoted\"\n"
                        "product                pipe | and\n"
                        "                       tab\n"
                        "\n"
                        "a heading\n"
                        "\n");
    assert_non_null(strstr(print(table, open_page(30, RIDGE_FORMAT_TABLE)), "  12.50  a"));
    ridge_table_free(table);
}

static void csv_and_markdown_hold_the_same_cells(void **state) {
    (void)state;
    ridge_table *table = make();
    assert_string_equal(print(table, open_page(20, RIDGE_FORMAT_CSV)),
                        "name,time_us,time_low_us,rate_gbps,why\n"
                        "matrix_product,12.5,12.25,,\"a \"\"quoted\"\" pipe | and tab\"\n"
                        "matrix_product,,,\"22,5\",\n");
    assert_string_equal(print(table, open_page(20, RIDGE_FORMAT_MARKDOWN)),
                        "| name | µs of time | rate | why |\n"
                        "| --- | ---: | ---: | --- |\n"
                        "| matrix_product | 12.50 ±0.3% | ≈1× | a \"quoted\" pipe \\| and tab |\n"
                        "| matrix_product |  | 22,5 |  |\n");
    static const ridge_column other[] = {{.header = "rate", .field = "rate_gbps", .align = 'r'},
                                         {.header = "more", .field = "more", .align = 'l'}};
    ridge_table *second = ridge_table_new(other, 2);
    ridge_table_row(second);
    ridge_table_text(second, 0, "7");
    ridge_table_text(second, 1, "x");
    ridge_page page = open_page(20, RIDGE_FORMAT_CSV);
    const ridge_table *both[] = {table, second};
    ridge_tables_print(both, 2, &page);
    assert_int_equal(fclose(page.tables), 0);
    assert_non_null(strstr(text, "name,time_us,time_low_us,rate_gbps,why,more\n"));
    assert_non_null(strstr(text, "\n,,,7,,x\n"));
    ridge_table_free(second);
    ridge_table_free(table);
}

static void colors_come_around_cells_and_count_no_columns(void **state) {
    (void)state;
    ridge_table *table = make();
    ridge_table_color(table, RATE, RIDGE_RED);
    ridge_page page = open_page(80, RIDGE_FORMAT_TABLE);
    page.color = true;
    assert_non_null(strstr(print(table, page), "  \033[31m22,5\033[0m\n"));
    ridge_table_free(table);
}

static int columns_of(const char *line, size_t length) {
    int n = 0;
    for (size_t i = 0; i < length; i++) n += ((unsigned char)line[i] & 0xc0) != 0x80;
    return n;
}

static void expect_fits(const char *all, int width, uint64_t seed) {
    for (const char *line = all; *line;) {
        size_t length = strcspn(line, "\n");
        if (columns_of(line, length) > width)
            fail_msg("seed %llu, page of %d: %.*s", (unsigned long long)seed, width, (int)length, line);
        if (length && line[length - 1] == ' ') fail_msg("ends with a blank: %.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void draw_words(char *words, size_t size, uint64_t seed, uint64_t *i, int most) {
    static const char *const some[] = {"a", "µs", "word", "—", "12.5", "linear_cross_entropy_backward", "≈1.00×"};
    int n = (int)(ridge_random(seed, (*i)++) % (uint64_t)(most + 1));
    words[0] = '\0';
    for (int k = 0; k < n; k++)
        (void)snprintf(words + strlen(words), size - strlen(words), "%s%s", k ? " " : "",
                       some[ridge_random(seed, (*i)++) % 7]);
}

static ridge_column draw_column(uint64_t seed, uint64_t *i) {
    ridge_column column = {.header = "header", .brief = "h", .field = "f"};
    column.align = ridge_random(seed, (*i)++) % 2 ? 'l' : 'r';
    column.fit = (ridge_fit)(ridge_random(seed, (*i)++) % 2);
    column.least = 1 + (int)(ridge_random(seed, (*i)++) % 12);
    column.shorten = (int)(ridge_random(seed, (*i)++) % 5);
    column.drop = (int)(ridge_random(seed, (*i)++) % 5);
    return column;
}

static void any_table_fits_any_page(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        uint64_t i = 0;
        ridge_column any[8] = {{.header = NULL}};
        int n = 1 + (int)(ridge_random(seed, i++) % 8), width = 20 + (int)(ridge_random(seed, i++) % 160);
        for (int c = 0; c < n; c++) any[c] = draw_column(seed, &i);
        ridge_table *table = ridge_table_new(any, n);
        for (int r = 0; r < 4; r++) {
            ridge_table_row(table);
            for (int c = 0; c < n; c++) {
                char words[400];
                draw_words(words, sizeof words, seed, &i, 8);
                ridge_table_text(table, c, words);
            }
        }
        expect_fits(print(table, open_page(width, RIDGE_FORMAT_TABLE)), width, seed);
        ridge_table_free(table);
    }
}

static void prose_is_broken_at_blanks_and_keeps_its_indent(void **state) {
    (void)state;
    static const struct {
        int width;
        const char *text, *want;
    } cases[] = {
        {20, "short\n", "short\n"},
        {20, "  one two three four five\n", "  one two three four\n  five\n"},
        {30, "  --name   what it is and what it does\n", "  --name   what it is and what\n           it does\n"},
        {20, "a\n\nb", "a\n\nb\n"},
        {20, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", "aaaaaaaaaaaaaaaaaaaa\naaaaaaaaaa b\n"},
        {20, "µµµµµµµµµµ µµµµµµµµµ", "µµµµµµµµµµ µµµµµµµµµ\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ridge_page page = open_page(cases[i].width, RIDGE_FORMAT_TABLE);
        ridge_print_wrapped(page.prose, cases[i].width, cases[i].text);
        assert_int_equal(fclose(page.prose), 0);
        assert_string_equal(text, cases[i].want);
    }
}

static void a_page_heeds_the_environment(void **state) {
    (void)state;
    assert_int_equal(setenv("COLUMNS", "132", 1), 0);
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ridge_page_on(file, file, RIDGE_FORMAT_TABLE, false, RIDGE_AUTO).width, 132);
    static const char *const bad[] = {"", "0", "-5", "wide", "99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(setenv("COLUMNS", bad[i], 1), 0);
        assert_int_equal(ridge_page_on(file, file, RIDGE_FORMAT_TABLE, false, RIDGE_AUTO).width, 80);
    }
    assert_int_equal(unsetenv("COLUMNS"), 0);
    assert_false(ridge_page_on(file, file, RIDGE_FORMAT_TABLE, false, RIDGE_AUTO).color); /* no terminal */
    assert_true(ridge_page_on(file, file, RIDGE_FORMAT_TABLE, false, RIDGE_ALWAYS).color);
    assert_false(ridge_page_on(file, file, RIDGE_FORMAT_CSV, false, RIDGE_ALWAYS).color);
    assert_ptr_equal(ridge_page_on(file, stderr, RIDGE_FORMAT_TABLE, false, RIDGE_AUTO).prose, file);
    assert_ptr_equal(ridge_page_on(file, stderr, RIDGE_FORMAT_CSV, false, RIDGE_AUTO).prose, stderr);
    (void)fclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_page_shows_all),
        cmocka_unit_test(columns_give_way_by_rank),
        cmocka_unit_test(csv_and_markdown_hold_the_same_cells),
        cmocka_unit_test(colors_come_around_cells_and_count_no_columns),
        cmocka_unit_test(any_table_fits_any_page),
        cmocka_unit_test(prose_is_broken_at_blanks_and_keeps_its_indent),
        cmocka_unit_test(a_page_heeds_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

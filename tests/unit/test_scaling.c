/* Which results form a line over sizes, what is fitted to them, and what is said to bound each piece. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fixture_run.h"
#include "record/json.h"
#include "record/scaling.h"
#include "report/report.h"

static ridge_run run;

static int open_run(void **state) {
    (void)state;
    run = (ridge_run){.machine = fixture_machine(), .ceilings = fixture_ceilings()};
    run.settings = (ridge_settings){.threads = 2};
    run.results = calloc(128, sizeof *run.results);
    return run.results ? 0 : -1;
}

static int close_run(void **state) {
    (void)state;
    ridge_run_free(&run);
    return 0;
}

static ridge_result *add_norm(int variant, int64_t rows, int64_t cols, double us, ridge_verdict verdict) {
    const ridge_case c = {.dim = {rows, cols}, .dtype = RIDGE_F32};
    ridge_target target = fixture_norm;
    target.cases = &c;
    ridge_result *r = fixture_add(&run, &target, 0, variant, us, verdict);
    r->target = &fixture_norm;
    return r;
}

static ridge_result *add_product(int64_t m, int64_t k, int64_t n, double us) {
    const ridge_case c = {.dim = {m, k, n}, .dtype = RIDGE_F32};
    ridge_target target = fixture_matmul;
    target.cases = &c;
    ridge_result *r = fixture_add(&run, &target, 0, 1, us, RIDGE_VERDICT_OK);
    r->target = &fixture_matmul;
    return r;
}

static void assert_near(double got, double want, double within) {
    if (!(fabs(got - want) <= within)) fail_msg("%g, want %g within %g", got, want, within);
}

/* Flat until 1024 rows, then linear; in no order. */
static void one_dimension_grows(void **state) {
    (void)state;
    static const int order[] = {5, 0, 9, 3, 7, 1, 8, 2, 6, 4, 11, 10};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const int64_t rows = 16 << order[i];
        const double us = 20 * fmax(1, (double)rows / 1024);
        add_norm(0, rows, 512, 3 * us, RIDGE_VERDICT_OK);
        add_norm(1, rows, 512, us, rows < 64 ? RIDGE_VERDICT_FRAME : RIDGE_VERDICT_OK);
    }
    ridge_scalings s;
    assert_int_equal(ridge_run_scalings(&run, &s), RIDGE_OK);
    assert_int_equal(s.n, 2);
    for (int l = 0; l < s.n; l++) {
        const ridge_scaling *line = &s.line[l];
        char name[80];
        assert_int_equal(line->n, 12);
        assert_int_equal(line->axes, 1);
        for (int i = 0; i < line->n; i++) assert_near(line->size[i], 16 << i, 1e-9 * (16 << i));
        assert_int_equal(line->fit.n, 2);
        assert_near(line->fit.piece[0].exponent, 0, 0.02);
        assert_near(line->fit.piece[1].exponent, 1, 0.02);
        assert_near(line->fit.piece[1].begins, 1024, 60);
        assert_string_equal(line->regime[0], "launch");
        assert_string_equal(line->regime[1], "DRAM");
        ridge_scaling_name(&run, line, name, sizeof name);
        assert_string_equal(name, "rowsx512");
    }
    ridge_scalings_free(&s);
}

/* Cubes: the mean of the extents is n, and time grows with its third power. */
static void several_dimensions_grow_together(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) add_product(256 << i, 256 << i, 256 << i, 100.0 * (1 << 3 * i));
    ridge_scalings s;
    char name[80];
    assert_int_equal(ridge_run_scalings(&run, &s), RIDGE_OK);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.line[0].axes, 7);
    assert_near(s.line[0].size[4], 4096, 1e-6);
    assert_near(s.line[0].fit.piece[0].exponent, 3, 0.02);
    assert_string_equal(s.line[0].regime[0], "compute");
    ridge_scaling_name(&run, &s.line[0], name, sizeof name);
    assert_string_equal(name, "mxkxn");
    ridge_scalings_free(&s);
}

/* A grid has a line for each choice of the other dimensions. Time is rows to the 1 and columns to the 0.5. */
static void grids_have_lines_along_each_dimension(void **state) {
    (void)state;
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 5; c++) add_norm(0, 64 << r, 32 << c, 10 * pow(2, r + 0.5 * c), RIDGE_VERDICT_OK);
    ridge_scalings s;
    int along[2] = {0, 0};
    assert_int_equal(ridge_run_scalings(&run, &s), RIDGE_OK);
    for (int l = 0; l < s.n; l++) {
        const int d = s.line[l].axes == 2;
        assert_int_equal(s.line[l].axes, d ? 2 : 1);
        assert_int_equal(s.line[l].n, d ? 5 : 4);
        assert_near(s.line[l].fit.piece[0].exponent, d ? 0.5 : 1, 0.02);
        along[d]++;
    }
    assert_int_equal(along[0], 5);
    assert_int_equal(along[1], 4);
    ridge_scalings_free(&s);
}

/* Three points, another type in between, a case without a time, and one case twice are no line. */
static void what_is_no_line(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) add_norm(0, 64 << i, 32, 10 << i, RIDGE_VERDICT_OK);
    add_norm(0, 512, 32, 80, RIDGE_VERDICT_OK)->c.dtype = RIDGE_BF16;
    add_norm(0, 1024, 32, 160, RIDGE_VERDICT_WRONG);
    for (int i = 0; i < 3; i++) add_norm(1, 64 << i, 32, 10 << i, RIDGE_VERDICT_OK);
    add_norm(1, 64, 32, 11, RIDGE_VERDICT_OK);
    ridge_scalings s;
    assert_int_equal(ridge_run_scalings(&run, &s), RIDGE_OK);
    assert_int_equal(s.n, 0);
    ridge_scalings_free(&s);
}

static void json_and_text_tell_the_same(void **state) {
    (void)state;
    static char text[4096];
    for (int i = 0; i < 6; i++) add_norm(1, 1024 << i, 512, 20 << i, RIDGE_VERDICT_OK);
    FILE *stream = fmemopen(text, sizeof text, "w");
    const ridge_page page = {.tables = stream, .prose = stream, .width = 78, .height = 24};
    ridge_report_scaling(&run, &page);
    assert_int_equal(fclose(stream), 0);
    assert_non_null(strstr(text, "toy_norm  time against size"));
    assert_non_null(strstr(text, "rowsx512"));
    assert_non_null(strstr(text, "n^1.00 ±0.0"));
    assert_non_null(strstr(text, "DRAM"));
    json_t *json = ridge_json_scaling(&run), *line = json_array_get(json, 0);
    json_t *piece = json_array_get(json_object_get(line, "pieces"), 0);
    assert_int_equal(json_array_size(json), 1);
    assert_string_equal(json_string_value(json_object_get(line, "case")), "rowsx512");
    assert_string_equal(json_string_value(json_array_get(json_object_get(line, "grows"), 0)), "rows");
    assert_int_equal(json_integer_value(json_object_get(line, "points")), 6);
    assert_near(json_number_value(json_object_get(piece, "exponent")), 1, 0.02);
    assert_near(json_number_value(json_object_get(piece, "from")), 1024, 1e-6);
    assert_near(json_number_value(json_object_get(piece, "to")), 32768, 1e-6);
    assert_string_equal(json_string_value(json_object_get(piece, "regime")), "DRAM");
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_dimension_grows, open_run, close_run),
        cmocka_unit_test_setup_teardown(several_dimensions_grow_together, open_run, close_run),
        cmocka_unit_test_setup_teardown(grids_have_lines_along_each_dimension, open_run, close_run),
        cmocka_unit_test_setup_teardown(what_is_no_line, open_run, close_run),
        cmocka_unit_test_setup_teardown(json_and_text_tell_the_same, open_run, close_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

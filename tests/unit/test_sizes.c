/* --sizes: single shapes, ranges and their products, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/sizes.c"
#include "core/random.h"

static ridge_sizes want, got; /* too large for a stack */

static void sizes_are_read_back(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        char text[1024] = "";
        want.n = 1 + (int)(ridge_random(seed, 0) % 5);
        for (int i = 0; i < want.n; i++) {
            want.size[i] = (ridge_size){0};
            want.size[i].rank = 1 + (int)(ridge_random(seed, 10 + (uint64_t)i) % RIDGE_MAX_RANK);
            for (int d = 0; d < want.size[i].rank; d++) {
                want.size[i].dim[d] = (int64_t)(ridge_random(seed, 100 + 8 * (uint64_t)i + (uint64_t)d) >> 24);
                (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld",
                               d   ? "x"
                               : i ? ","
                                   : "",
                               (long long)want.size[i].dim[d]);
            }
        }
        assert_int_equal(ridge_parse_sizes(text, &got, NULL), RIDGE_OK);
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.size, want.size, (size_t)want.n * sizeof want.size[0]);
    }
}

/* Appends an extent in one of the three ways to write it. */
static void append_extent(char *text, size_t size, int64_t value, uint64_t way) {
    const size_t used = strlen(text);
    int twos = 0;
    while (value > 0 && (value >> twos) % 2 == 0) twos++;
    if (way == 0 && value >> twos == 1)
        (void)snprintf(text + used, size - used, "2^%d", twos);
    else if (way == 1 && twos >= 10)
        (void)snprintf(text + used, size - used, "%lld%c", (long long)(value >> 10), value % 3 ? 'K' : 'k');
    else
        (void)snprintf(text + used, size - used, "%lld", (long long)value);
}

/* A random range, appended to text, and its extents one by one. Returns how many there are. */
static int append_range(char *text, size_t size, uint64_t seed, uint64_t *i, int most, int64_t *extents) {
    const uint64_t kind = ridge_random(seed, (*i)++) % 4; /* one extent, doubling, steps, multiplying */
    int64_t value = (int64_t)1 << ridge_random(seed, (*i)++) % 20;
    if (ridge_random(seed, (*i)++) % 2) value += (int64_t)(ridge_random(seed, (*i)++) % 100);
    const int64_t step = 1 + (int64_t)(ridge_random(seed, (*i)++) % 3000);
    const int64_t factor = kind == 1 ? 2 : 2 + (int64_t)(ridge_random(seed, (*i)++) % 9);
    const int n = kind == 0 ? 1 : 1 + (int)(ridge_random(seed, (*i)++) % (uint64_t)most);
    extents[0] = value;
    for (int k = 1; k < n; k++) extents[k] = kind == 2 ? value + k * step : extents[k - 1] * factor;
    append_extent(text, size, value, ridge_random(seed, (*i)++) % 3);
    if (kind == 0) return n;
    /* The end of a range need not be one of its extents. */
    const int64_t gap = kind == 2 ? step : extents[n - 1] * (factor - 1);
    (void)strcat(text, "..");
    const int64_t end = extents[n - 1] + (int64_t)(ridge_random(seed, (*i)++) % (uint64_t)gap);
    append_extent(text, size, end, ridge_random(seed, (*i)++) % 3);
    if (kind >= 2) (void)strcat(text, kind == 2 ? ":" : "*");
    if (kind >= 2) append_extent(text, size, kind == 2 ? step : factor, ridge_random(seed, (*i)++) % 3);
    return n;
}

/* A range, or a list of up to three, with at most six extents. */
static int append_axis(char *text, size_t size, uint64_t seed, uint64_t *i, int64_t *extents) {
    const int ranges = (int)(ridge_random(seed, (*i)++) % 4);
    if (ranges == 0) return append_range(text, size, seed, i, 6, extents);
    int n = 0;
    for (int k = 0; k < ranges; k++) {
        (void)strcat(text, k ? "," : "[");
        n += append_range(text, size, seed, i, 2, extents + n);
    }
    (void)strcat(text, "]");
    return n;
}

static void ranges_are_the_product_of_their_extents(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        uint64_t draw = 0;
        char text[1024] = "";
        int64_t extents[RIDGE_MAX_RANK][8];
        int n[RIDGE_MAX_RANK], total = 1;
        const int rank = 1 + (int)(ridge_random(seed, draw++) % 4); /* more would be too many shapes */
        for (int d = 0; d < rank; d++) {
            if (d) (void)strcat(text, "x");
            n[d] = append_axis(text, sizeof text, seed, &draw, extents[d]);
            total *= n[d];
        }
        if (ridge_parse_sizes(text, &got, NULL) != RIDGE_OK) fail_msg("'%s' was refused", text);
        if (got.n != total) fail_msg("'%s' gave %d shapes, not %d", text, got.n, total);
        for (int i = 0; i < total; i++) {
            assert_int_equal(got.size[i].rank, rank);
            for (int d = rank - 1, rest = i; d >= 0; rest /= n[d--])
                if (got.size[i].dim[d] != extents[d][rest % n[d]]) fail_msg("'%s': extent %d of shape %d", text, d, i);
        }
    }
}

static void the_limits_themselves_are_taken(void **state) {
    static const struct {
        const char *text;
        int n;
        int64_t first, last; /* first extents of the first and the last shape */
    } rows[] = {
        {"0", 1, 0, 0},
        {"2^40", 1, INT64_C(1) << 40, INT64_C(1) << 40},
        {"1024G", 1, INT64_C(1) << 40, INT64_C(1) << 40},
        {"1M", 1, 1 << 20, 1 << 20},
        {"1..2^40", 41, 1, INT64_C(1) << 40},
        {"3..20", 3, 3, 12},
        {"5..5", 1, 5, 5},
        {"0..0:1", 1, 0, 0},
        {"0..9:4", 3, 0, 8},
        {"1..4096:1", RIDGE_MAX_SIZES, 1, 4096},
        {"1..64:1x1..64:1", RIDGE_MAX_SIZES, 1, 64},
        {"2^10..2^16x4096", 7, 1024, 65536},
        {"1..2^40:2^40", 1, 1, 1},
        {"1..10^6*10", 7, 1, 1000000},
        {"1..2^40*2^40", 2, 1, INT64_C(1) << 40},
        {"3..2^40*2^40", 1, 3, 3},
        {"2^40..2^40*1024G", 1, INT64_C(1) << 40, INT64_C(1) << 40},
        {"[7]", 1, 7, 7},
        {"[4,2,4]", 3, 4, 4}, /* in the order given, twice if given twice */
        {"[64,1000..4000:1000]x64", 5, 64, 4000},
        {"[1,2]x[3,4,5],9x9", 7, 1, 9},
        {"[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32]", 32, 1, 32},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (ridge_parse_sizes(rows[i].text, &got, NULL) != RIDGE_OK) fail_msg("'%s' was refused", rows[i].text);
        assert_int_equal(got.n, rows[i].n);
        assert_true(got.size[0].dim[0] == rows[i].first && got.size[got.n - 1].dim[0] == rows[i].last);
    }
}

static void malformed_sizes_are_named(void **state) {
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "missing"},
        {"x", "missing"},
        {"1x", "missing"},
        {"x1", "missing"},
        {"1xx2", "missing"},
        {"1,", "missing"},
        {",1", "missing"},
        {"-1", "missing"},
        {" 1", "missing"},
        {"1x-2", "missing"},
        {"１", "missing"},
        {"1..", "missing"},
        {"..1", "missing"},
        {"1...2", "missing"},
        {"1..4:", "missing"},
        {"2^", "missing"},
        {"^2", "missing"},
        {"K", "missing"},
        {"1x2x3x4x5x6x7x8x9", "8 dim"},
        {"1.5", "separated"},
        {"0x10z", "separated"},
        {"1 ", "separated"},
        {"1;2", "separated"},
        {"1X2", "separated"},
        {"1:2", "separated"},
        {"1..4+1", "separated"},
        {"1..2..3", "separated"},
        {"2^10^2", "separated"},
        {"1T", "separated"},
        {"1KK", "separated"},
        {"2..1", "A <= B"},
        {"0..4", "double"},
        {"1..4:0", "above 0"},
        {"1..4096:1,1", "4096"},
        {"1..4097:1", "4096"},
        {"1..2^40:1", "4096"},
        {"2^41", "exponent"},
        {"2^63", "exponent"},
        {"2^18446744073709551617", "2^40"},
        {"3^26", "2^40"},
        {"1025G", "2^40"},
        {"1099511627777", "2^40"},
        {"1..1025G", "2^40"},
        {"1..64:1x1..65:1", "4096"},
        {"99999999999999999999999", "2^40"},
        {"1..4*", "missing"},
        {"1..4*1", "above 1"},
        {"1..4*0", "above 1"},
        {"0..4*3", "double"},
        {"4*2", "separated"},
        {"1..4:2*2", "separated"},
        {"1..4*1025G", "2^40"},
        {"[", "missing"},
        {"[]", "missing"},
        {"[1", "needs its ]"},
        {"[1,", "missing"},
        {"[1x2]", "needs its ]"},
        {"[[1]]", "missing"},
        {"1]", "separated"},
        {"[1]2", "separated"},
        {"[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33]", "32 ranges"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ridge_error error = {0};
        if (ridge_parse_sizes(rows[i].text, &got, &error) != RIDGE_INVALID) fail_msg("'%s' was taken", rows[i].text);
        assert_non_null(strstr(error.text, "--sizes"));
        assert_null(strchr(error.text, '\n'));
        const char *why = strstr(error.text, "': ");
        if (!why || !strstr(why, rows[i].why)) fail_msg("'%s': %s", rows[i].text, error.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read_back),
        cmocka_unit_test(ranges_are_the_product_of_their_extents),
        cmocka_unit_test(the_limits_themselves_are_taken),
        cmocka_unit_test(malformed_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The .npy reader: what NumPy writes is read, everything else is refused with one line that says why. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/random.h"
#include "verify/npy.h"

enum { SPACE = 4096 };

/* A file in memory: magic, version, header padded as NumPy pads it, data. Returns its size. */
static size_t make(unsigned char *file, int version, const char *header, const void *data, size_t bytes) {
    size_t prefix = version == 1 ? 10 : 12, length = strlen(header) + 1, whole = (prefix + length + 63) / 64 * 64;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (unsigned char)version, file[7] = 0;
    for (size_t i = 8; i < prefix; i++) file[i] = (unsigned char)((whole - prefix) >> 8 * (i - 8));
    memcpy(file + prefix, header, length - 1);
    memset(file + prefix + length - 1, ' ', whole - prefix - length);
    file[whole - 1] = '\n';
    if (bytes) memcpy(file + whole, data, bytes);
    return whole + bytes;
}

static ridge_status parse(const void *file, size_t size, ridge_npy *npy, ridge_error *error) {
    error->text[0] = '\0';
    /* Memory of exactly this size: a sanitizer sees a read beyond it. */
    void *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, file, size);
    ridge_status status = ridge_npy_parse(exact, size, "a.npy", npy, error);
    free(exact);
    if (status != RIDGE_OK) {
        assert_null(npy->data);
        assert_true(strncmp(error->text, "a.npy: ", 7) == 0);
        assert_null(strchr(error->text, '\n'));
    }
    return status;
}

static void what_numpy_writes_is_read(void **state) {
    (void)state;
    static const float data[6] = {1, -2, 3.5F, 0, 1e-40F, INFINITY};
    static const struct {
        const char *header;
        int rank;
        int64_t shape[4];
    } good[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 2, {2, 3}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", 1, {6}},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 1, 3), }", 4, {1, 2, 1, 3}},
        {"{\"shape\":(3,2),\"descr\":\"<f4\",\"fortran_order\":False}", 2, {3, 2}},
        {" { 'fortran_order' : False , 'shape' : ( 3 , 2 , ) , 'descr' : '<f4' } ", 2, {3, 2}},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        for (int version = 1; version <= 3; version++) {
            unsigned char file[SPACE];
            ridge_npy npy;
            ridge_error error;
            size_t size = make(file, version, good[i].header, data, sizeof data);
            if (parse(file, size, &npy, &error) != RIDGE_OK) fail_msg("%s: %s", good[i].header, error.text);
            assert_int_equal(npy.rank, good[i].rank);
            for (int d = 0; d < npy.rank; d++) assert_int_equal(npy.shape[d], good[i].shape[d]);
            assert_int_equal(npy.bytes, sizeof data);
            assert_memory_equal(npy.data, data, sizeof data);
            ridge_npy_free(&npy);
        }
}

static void damage_is_named(void **state) {
    (void)state;
    static const struct {
        const char *header;
        const char *says;
    } bad[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (6,), }", "big endian"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (6,), }", "'|O'"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", "'<c8'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }", "structured"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "Fortran"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3), }", "fortran_order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "scalar"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 6, }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2,3), }", "more than 8 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-6,), }", "extent"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3,), }", "comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", "extent"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "extent"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }",
         "overflows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }", "overflows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }",
         "truncated: 24 bytes of data, the shape needs 28"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", "24 bytes of data, the shape needs only 20"},
        {"{'descr': '<f4', 'fortran_order': False, }", "missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (6,), }", "twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'more': 1}", "unknown key"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), } x", "follows"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (6,), }", "comma"},
        {"{'descr': '<f4\\'', 'fortran_order': False, 'shape': (6,), }", "descr"},
        {"{'descr': '<f4", "descr"},
        {"{'descr'", "key"},
        {"{", "key"},
        {"", "dictionary"},
        {"hello", "dictionary"},
    };
    static const float data[6] = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        unsigned char file[SPACE];
        ridge_npy npy;
        ridge_error error;
        size_t size = make(file, 1, bad[i].header, data, sizeof data);
        assert_true(parse(file, size, &npy, &error) != RIDGE_OK);
        if (!strstr(error.text, bad[i].says)) fail_msg("%s: says '%s'", bad[i].header, error.text);
    }
}

static const char plain[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

static void every_truncation_is_refused(void **state) {
    (void)state;
    unsigned char file[SPACE];
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    for (int version = 1; version <= 3; version++) {
        size_t size = make(file, version, plain, data, sizeof data);
        for (size_t n = 0; n < size; n++) {
            ridge_npy npy;
            ridge_error error;
            if (parse(file, n, &npy, &error) == RIDGE_OK)
                fail_msg("version %d: %zu of %zu bytes passed", version, n, size);
        }
    }
}

static void bad_magic_versions_and_lengths_are_refused(void **state) {
    (void)state;
    static const struct {
        size_t at;
        unsigned char value;
    } bad[] = {{0, 0x92}, {1, 'n'}, {5, 'X'}, {6, 0}, {6, 4}, {6, 255}, {7, 1}, {9, 255}};
    static const float data[6] = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        unsigned char file[SPACE];
        ridge_npy npy;
        ridge_error error;
        size_t size = make(file, 1, plain, data, sizeof data);
        file[bad[i].at] = bad[i].value;
        assert_true(parse(file, size, &npy, &error) != RIDGE_OK);
    }
    unsigned char file[SPACE];
    ridge_npy npy;
    ridge_error error;
    size_t size = make(file, 2, plain, data, sizeof data);
    file[11] = 0x7f; /* a header of two gigabytes */
    assert_true(parse(file, size, &npy, &error) != RIDGE_OK);
    assert_non_null(strstr(error.text, "header"));
}

/* ---- conversion ---------------------------------------------------------------------------- */

static ridge_npy npy_of(const char *descr, const void *data, int64_t n) {
    ridge_npy npy = {.rank = 1, .shape = {n}, .bytes = (size_t)n * (size_t)(descr[2] - '0')};
    memcpy(npy.descr, descr, 4);
    npy.data = malloc(npy.bytes);
    assert_non_null(npy.data);
    memcpy(npy.data, data, npy.bytes);
    return npy;
}

static void floats_convert_as_stores_do(void **state) {
    (void)state;
    static const ridge_dtype to[] = {RIDGE_F32, RIDGE_BF16, RIDGE_F16, RIDGE_F64};
    double values[64];
    for (int i = 0; i < 64; i++) values[i] = ldexp(2 * ridge_random_unit(3, (uint64_t)i) - 1, i / 2 - 20);
    values[7] = (double)INFINITY, values[9] = -0.0;
    ridge_npy npy = npy_of("<f8", values, 64);
    for (int d = 0; d < 4; d++) {
        void *data;
        ridge_error error;
        assert_int_equal(ridge_npy_convert(&npy, to[d], 0, "x", &data, &error), RIDGE_OK);
        for (int64_t i = 0; i < 64; i++) {
            char want[8];
            ridge_store(want, to[d], 0, values[i]);
            assert_memory_equal((char *)data + (size_t)i * ridge_dtype_size(to[d]), want, ridge_dtype_size(to[d]));
        }
        free(data);
    }
    ridge_npy_free(&npy);
}

static void bf16_comes_as_u2(void **state) {
    (void)state;
    static const uint16_t bits[4] = {0x3f80, 0xc000, 0x7fa5, 0x0001};
    ridge_npy npy = npy_of("<u2", bits, 4);
    void *data;
    ridge_error error;
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_BF16, 0, "x", &data, &error), RIDGE_OK);
    const uint16_t *got = data;
    assert_int_equal(got[0], 0x3f80);
    assert_int_equal(got[1], 0xc000);
    assert_true((got[2] & 0x7fc0) == 0x7fc0); /* NaN, but not the signalling one that marks what was never written */
    assert_int_equal(got[3], 1);
    free(data);
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_F32, 0, "x", &data, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "bf16"));
    ridge_npy_free(&npy);
}

/* As NumPy writes the arrays of ml_dtypes, and as it writes bytes; e2m1 has one value in each byte. */
static void small_types_come_as_bits(void **state) {
    (void)state;
    static const unsigned char bits[4] = {0x38, 0x42, 0x7f, 0x01};
    static const char *const descrs[] = {"<V1", "<f1", "<u1"};
    static const ridge_dtype to[] = {RIDGE_E4M3, RIDGE_E5M2, RIDGE_UE4M3};
    static const unsigned char pair[4] = {1, 15, 2, 7};
    void *data;
    ridge_error error;
    for (int i = 0; i < 9; i++) {
        ridge_npy npy = npy_of(descrs[i / 3], bits, 4);
        assert_int_equal(ridge_npy_convert(&npy, to[i % 3], 0, "x", &data, &error), RIDGE_OK);
        assert_memory_equal(data, bits, 4);
        free(data);
        assert_int_equal(ridge_npy_convert(&npy, RIDGE_F32, 0, "x", &data, &error), RIDGE_INVALID);
        assert_non_null(strstr(error.text, "8 bits"));
        assert_null(data);
        ridge_npy_free(&npy);
    }
    ridge_npy npy = npy_of("<V1", pair, 4);
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_E2M1, 0, "x", &data, &error), RIDGE_OK);
    assert_memory_equal(data, ((unsigned char[]){0xf1, 0x72}), 2);
    free(data);
    ridge_npy_free(&npy);
    npy = npy_of("<f4", (float[]){0.3F, -5.5F, 1e9F}, 3);
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_E4M3, 0, "x", &data, &error), RIDGE_OK);
    assert_memory_equal(data, ((unsigned char[]){0x2a, 0xcb, 0x7e}), 3);
    free(data);
    ridge_npy_free(&npy);
}

/* NumPy has them: bytes without a sign are not taken for them. */
static void small_integers_are_checked(void **state) {
    (void)state;
    static const signed char bits[4] = {-128, -1, 0, 127};
    void *data;
    ridge_error error;
    ridge_npy npy = npy_of("|i1", bits, 4);
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_I8, 0, "x", &data, &error), RIDGE_OK);
    assert_memory_equal(data, bits, 4);
    free(data);
    ridge_npy_free(&npy);
    npy = npy_of("|u1", bits, 4);
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_I8, 0, "x", &data, &error), RIDGE_INVALID);
    ridge_npy_free(&npy);
    static const double good[2] = {-128, 127}, wide[2] = {0, 128};
    npy = npy_of("<f8", good, 2);
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_I8, 0, "x", &data, &error), RIDGE_OK);
    assert_memory_equal(data, ((signed char[]){-128, 127}), 2);
    free(data);
    ridge_npy_free(&npy);
    npy = npy_of("<f8", wide, 2);
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_I8, 0, "x", &data, &error), RIDGE_INVALID);
    assert_non_null(strstr(error.text, "[-128, 127]"));
    ridge_npy_free(&npy);
}

static void descrs_of_bits_are_read(void **state) {
    (void)state;
    static const char *const descrs[] = {"<V1", "|V1", "<f1", "|u1", "<V2"};
    for (int i = 0; i < 5; i++) {
        unsigned char file[SPACE];
        char header[96];
        const size_t element = i == 4 ? 2 : 1;
        (void)snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }", descrs[i]);
        ridge_npy npy;
        ridge_error error;
        const size_t size = make(file, 1, header, "abcdef", 3 * element);
        assert_int_equal(parse(file, size, &npy, &error), RIDGE_OK);
        assert_int_equal(npy.bytes, 3 * element);
        ridge_npy_free(&npy);
    }
}

static void integers_must_be_integers_in_range(void **state) {
    (void)state;
    static const struct {
        double value;
        int64_t limit;
        bool good;
    } cases[] = {{0, 10, true},
                 {9, 10, true},
                 {10, 10, false},
                 {-1, 10, false},
                 {-1, 0, true},
                 {0.5, 10, false},
                 {(double)NAN, 10, false},
                 {(double)INFINITY, 0, false},
                 {2147483647, 0, true},
                 {2147483648.0, 0, false},
                 {-2147483648.0, 0, true},
                 {1e300, INT64_MAX, false},
                 {2147483647, INT64_MAX, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double values[3] = {0, 0, cases[i].value};
        ridge_npy npy = npy_of("<f8", values, 3);
        void *data;
        ridge_error error = {.text = ""};
        ridge_status status = ridge_npy_convert(&npy, RIDGE_I32, cases[i].limit, "k", &data, &error);
        if (cases[i].good) {
            assert_int_equal(status, RIDGE_OK);
            assert_true(((int32_t *)data)[2] == (int32_t)cases[i].value);
            free(data);
        } else {
            assert_int_equal(status, RIDGE_INVALID);
            assert_null(data);
            assert_non_null(strstr(error.text, "k: element 2"));
        }
        ridge_npy_free(&npy);
    }
    static const int64_t wide[2] = {7, INT64_C(4294967303)}; /* the second is 7 in 32 bits */
    ridge_npy npy = npy_of("<i8", wide, 2);
    void *data;
    ridge_error error;
    assert_int_equal(ridge_npy_convert(&npy, RIDGE_I32, 100, "k", &data, &error), RIDGE_INVALID);
    ridge_npy_free(&npy);
}

/* ---- files --------------------------------------------------------------------------------- */

static void files_are_read_and_odd_ones_refused(void **state) {
    (void)state;
    char folder[] = "/tmp/ridge-npy-XXXXXX", path[64], fifo[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.npy", folder);
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    enum { N = 100000 };
    float *values = malloc(N * sizeof *values);
    unsigned char *file = malloc(SPACE + N * sizeof *values);
    assert_true(values && file);
    for (int i = 0; i < N; i++) values[i] = (float)i;
    size_t size =
        make(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 100), }", values, N * sizeof *values);
    for (int cut = 0; cut < 3; cut++) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        size_t n = cut == 0 ? size : cut == 1 ? size - 1 : 0;
        assert_int_equal(fwrite(file, 1, n, f), n);
        assert_int_equal(fclose(f), 0);
        ridge_npy npy;
        ridge_error error;
        ridge_status status = ridge_npy_read(path, &npy, &error);
        assert_int_equal(status, cut ? RIDGE_CORRUPT : RIDGE_OK);
        if (cut == 0)
            assert_memory_equal(npy.data, values, N * sizeof *values);
        else
            assert_true(strstr(error.text, path) && !npy.data);
        ridge_npy_free(&npy);
    }
    ridge_npy npy;
    ridge_error error;
    assert_int_equal(ridge_npy_read(folder, &npy, &error), RIDGE_INVALID);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(ridge_npy_read(fifo, &npy, &error), RIDGE_INVALID);
    assert_int_equal(ridge_npy_read("/dev/zero", &npy, &error), RIDGE_INVALID);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(ridge_npy_read(path, &npy, &error), RIDGE_NOT_FOUND);
    assert_non_null(strstr(error.text, path));
    (void)unlink(fifo);
    (void)rmdir(folder);
    free(values);
    free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_numpy_writes_is_read),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(bad_magic_versions_and_lengths_are_refused),
        cmocka_unit_test(floats_convert_as_stores_do),
        cmocka_unit_test(bf16_comes_as_u2),
        cmocka_unit_test(small_types_come_as_bits),
        cmocka_unit_test(small_integers_are_checked),
        cmocka_unit_test(descrs_of_bits_are_read),
        cmocka_unit_test(integers_must_be_integers_in_range),
        cmocka_unit_test(files_are_read_and_odd_ones_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

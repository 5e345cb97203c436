/* SHA-256 on the examples of its standard, in pieces of every size, and across the ends of blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "record/sha256.h"

static void hash(const char *text, size_t piece, char hex[RIDGE_SHA256_HEX]) {
    ridge_sha256 sha;
    const size_t size = strlen(text);
    ridge_sha256_begin(&sha);
    for (size_t at = 0; at < size; at += piece)
        ridge_sha256_add(&sha, text + at, size - at < piece ? size - at : piece);
    ridge_sha256_end(&sha, hex);
}

static void the_standards_examples(void **state) {
    static const char *const rows[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[RIDGE_SHA256_HEX];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece < 70; piece++) {
            hash(rows[i][0], piece, hex);
            assert_string_equal(hex, rows[i][1]);
        }
}

/* A million times "a", as the standard has it. */
static void a_long_text(void **state) {
    ridge_sha256 sha;
    char piece[1000], hex[RIDGE_SHA256_HEX];
    (void)state;
    memset(piece, 'a', sizeof piece);
    ridge_sha256_begin(&sha);
    for (int i = 0; i < 1000; i++) ridge_sha256_add(&sha, piece, sizeof piece);
    ridge_sha256_end(&sha, hex);
    assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_standards_examples), cmocka_unit_test(a_long_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

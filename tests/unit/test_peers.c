/* The words of --peers, and the variant of a peer: what is told of it, and why it cannot run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/peers.h"

static void test_words_are_bits(void **state) {
    (void)state;
    ridge_error error = {0};
    assert_int_equal(ridge_peer_kinds("eager", &error), 1);
    assert_int_equal(ridge_peer_kinds("liger", &error), 8);
    assert_int_equal(ridge_peer_kinds("compile,triton", &error), 6);
    assert_int_equal(ridge_peer_kinds("torch", &error), RIDGE_PEERS_ALL);
    assert_int_equal(ridge_peer_kinds("eager,torch", &error), RIDGE_PEERS_ALL);
}

static void test_other_words_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "eager,", ",eager", "eager,,liger", "eager liger", "trch"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ridge_error error = {0};
        assert_int_equal(ridge_peer_kinds(wrong[i], &error), 0);
        assert_int_equal(error.status, RIDGE_INVALID);
    }
    char list[400];
    memset(list, 'e', sizeof list - 1);
    list[sizeof list - 1] = '\0';
    assert_int_equal(ridge_peer_kinds(list, NULL), 0);
}

static void test_the_reason_is_the_variants_own(void **state) {
    (void)state;
    static ridge_python_peer peers[12];
    ridge_variant variants[12];
    const ridge_abilities here = {.isa = RIDGE_ISA_scalar};
    const ridge_case c = {.dim = {1, 1}, .dtype = RIDGE_F32};
    for (int i = 0; i < 12; i++) {
        (void)snprintf(peers[i].name, sizeof peers[i].name, "cpu/peer_%d", i);
        if (i > 0) (void)snprintf(peers[i].absent, sizeof peers[i].absent, "reason %d", i % 4);
        variants[i] = ridge_python_variant(&peers[i]);
        assert_true(ridge_python_is(&variants[i]));
        assert_int_equal(variants[i].role, RIDGE_PEER);
    }
    assert_null(ridge_variant_obstacle(&variants[0], &c, &here));
    for (int i = 1; i < 12; i++) assert_string_equal(ridge_variant_obstacle(&variants[i], &c, &here), peers[i].absent);
}

static void test_copies_have_the_peers_of_their_target(void **state) {
    (void)state;
    static ridge_python_peer own[2];
    ridge_peers peers = {.peer = own, .n = 2};
    const ridge_target *norm = ridge_target_find("fused_l2norm"), *softmax = ridge_target_find("online_softmax");
    ridge_expanded e;
    own[0] = (ridge_python_peer){.target = norm, .name = "cpu/one"};
    own[1] = (ridge_python_peer){.target = softmax, .name = "cpu/other"};
    assert_true(ridge_peers_have(&peers, norm));
    assert_false(ridge_peers_have(&peers, ridge_target_find("gemm")));
    assert_int_equal(ridge_expand_peers(norm, &peers, &e, NULL), RIDGE_OK);
    assert_int_equal(e.target.n_variants, norm->n_variants + 1);
    assert_string_equal(e.target.variants[norm->n_variants].name, "cpu/one");
    ridge_expanded_free(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_are_bits),
        cmocka_unit_test(test_other_words_are_refused),
        cmocka_unit_test(test_the_reason_is_the_variants_own),
        cmocka_unit_test(test_copies_have_the_peers_of_their_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

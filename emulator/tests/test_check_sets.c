/* Sets of accesses (check/record.h): which members a set that many join remembers, and what remains of one that is sieved. */
#include "check/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint32_t walk(uint32_t set, uint32_t *member) {
    uint32_t n = 0;
    while (set) {
        assert_true(n < EMU_MOST_MEMBERS);
        member[n++] = emu_set_next(&set);
    }
    return n;
}

/* The newest members in their order, then the oldest; never fewer than EMU_MEMBERS_KEPT once so many have joined. */
static void a_set_remembers(void **state) {
    enum { JOINING = 500 };
    uint32_t node[JOINING], member[EMU_MOST_MEMBERS], set = 0;
    (void)state;
    emu_records_clear();
    for (uint32_t i = 0; i < JOINING; i++) {
        node[i] = emu_node_new();
        set = emu_set_add(set, node[i]);
        const uint32_t n = walk(set, member), joined = i + 1;
        assert_true(n >= (joined < EMU_MEMBERS_KEPT ? joined : EMU_MEMBERS_KEPT));
        for (uint32_t k = 0; k + 1 < n; k++) assert_int_equal(member[k], node[i - k]);
        assert_int_equal(member[n - 1], node[0]);
    }
}

/* A sieved set has the members kept, in their order; one of which nothing is dropped is the same set. */
static void a_sieve_keeps_what_it_is_told(void **state) {
    uint32_t member[EMU_MOST_MEMBERS], want[EMU_MOST_MEMBERS], got[EMU_MOST_MEMBERS];
    (void)state;
    emu_records_clear();
    srand(7);
    for (int round = 0; round < 20000; round++) {
        uint32_t set = 0, n_want = 0;
        for (int joining = 1 + rand() % EMU_MOST_MEMBERS; joining > 0; joining--)
            set = emu_set_add(set, emu_node_new());
        const int keeps = rand() % 5; /* of four */
        emu_sieve sieve = {.rest = set};
        for (uint32_t rest = set; rest;) {
            const uint32_t one = emu_set_next(&rest);
            if (rand() % 4 < keeps)
                emu_sieve_keep(&sieve, want[n_want++] = one);
            else
                emu_sieve_drop(&sieve, rest);
        }
        const uint32_t left = emu_sieve_set(&sieve), n = walk(left, got);
        assert_int_equal(n, n_want);
        for (uint32_t k = 0; k < n; k++) assert_int_equal(got[k], want[k]);
        if (walk(set, member) == n) assert_int_equal(left, set);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_set_remembers),
                                       cmocka_unit_test(a_sieve_keeps_what_it_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The counts of an mbarrier beside a model that keeps a list of what happened in the phase and adds it up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "async/internal.h"

enum { MOST_EVENTS = 4096 };
typedef struct model {
    uint32_t expected, expected_next;
    int64_t bytes[MOST_EVENTS]; /* expected above zero, arrived below */
    uint32_t arrivals[MOST_EVENTS];
    int n;
    uint64_t completed;
} model;

static int64_t bytes_of(const model *m) {
    int64_t sum = 0;
    for (int i = 0; i < m->n; i++) sum += m->bytes[i];
    return sum;
}
static uint64_t arrivals_of(const model *m) {
    uint64_t sum = 0;
    for (int i = 0; i < m->n; i++) sum += m->arrivals[i];
    return sum;
}

/* What the event must come to; the model takes it unless it is refused. */
static emu_phase_event model_event(model *m, uint32_t arrivals, bool drop, int64_t bytes) {
    if (arrivals > m->expected - arrivals_of(m) || (drop && arrivals > m->expected_next)) return EMU_PHASE_TOO_MANY;
    int64_t sum = bytes_of(m) + bytes;
    if (sum >= 1 << 20 || sum <= -(1 << 20)) return EMU_PHASE_RANGE;
    assert_true(m->n < MOST_EVENTS);
    m->bytes[m->n] = bytes;
    m->arrivals[m->n++] = arrivals;
    if (drop) m->expected_next -= arrivals;
    if (arrivals_of(m) != m->expected || sum != 0) return EMU_PHASE_OPEN;
    m->n = 0;
    m->expected = m->expected_next;
    m->completed++;
    return EMU_PHASE_COMPLETED;
}

static void random_interleavings(void **state) {
    (void)state;
    emu_random random;
    emu_random_seed(&random, 7);
    for (int round = 0; round < 300; round++) {
        emu_phase phase;
        model m = {0};
        uint32_t count = 1 + emu_random_below(&random, round % 3 ? 6 : EMU_MBARRIER_MOST);
        emu_phase_init(&phase, count);
        m.expected = m.expected_next = count;
        for (int i = 0; i < 400 && m.n < MOST_EVENTS - 1; i++) {
            uint32_t kind = emu_random_below(&random, 8);
            bool drop = kind == 0;
            if (m.expected == 0) break;
            if (kind < 4) {
                uint32_t n = emu_random_below(&random, 3) ? 1 : emu_random_below(&random, count + 2);
                if (m.expected_next <= 1) drop = false; /* the last one that takes part stays */
                emu_phase_event want = model_event(&m, n, drop, 0), got = emu_phase_arrive(&phase, n, drop);
                /* Nothing happens on an arrival of nobody, but that the phase is looked at. */
                assert_int_equal(want, got);
            } else {
                int64_t bytes = emu_random_below(&random, 20) ? 16 * emu_random_below(&random, 100)
                                                              : emu_random_below(&random, 1 << 20);
                if (kind >= 6) bytes = -bytes;
                if (kind == 7 && emu_random_below(&random, 2)) bytes = -bytes_of(&m); /* just what is missing */
                assert_int_equal(model_event(&m, 0, false, bytes), emu_phase_transfer(&phase, bytes));
            }
            assert_int_equal(phase.number, m.completed);
            assert_int_equal(phase.tx, bytes_of(&m));
            assert_int_equal(phase.pending, m.expected - arrivals_of(&m));
            assert_int_equal(phase.expected, m.expected_next);
        }
    }
}

/* As a ring of stages has it: all bytes arrive before the only arrival, half of them, or none. */
static void bytes_may_come_first(void **state) {
    (void)state;
    for (int before = 0; before <= 4; before++) {
        emu_phase phase;
        emu_phase_init(&phase, 1);
        for (int part = 0; part < before; part++) assert_int_equal(emu_phase_transfer(&phase, -64), EMU_PHASE_OPEN);
        assert_int_equal(emu_phase_transfer(&phase, 4 * 64), EMU_PHASE_OPEN); /* the arrival is pending */
        emu_phase_event event = emu_phase_arrive(&phase, 1, false);
        assert_int_equal(event, before == 4 ? EMU_PHASE_COMPLETED : EMU_PHASE_OPEN);
        for (int part = before; part < 4; part++)
            assert_int_equal(emu_phase_transfer(&phase, -64), part == 3 ? EMU_PHASE_COMPLETED : EMU_PHASE_OPEN);
        assert_int_equal(phase.number, 1);
        assert_int_equal(phase.pending, 1);
    }
}

static void tokens(void **state) {
    (void)state;
    emu_mbarrier barrier = {.phase = {.expected = 9, .pending = 5, .number = 123456789}};
    uint64_t token = emu_mbarrier_token(&barrier), number;
    assert_true(emu_mbarrier_token_phase(token, &number));
    assert_int_equal(number, 123456789);
    assert_int_equal(emu_mbarrier_token_pending(token), 5);
    assert_false(emu_mbarrier_token_phase(0, &number));
    assert_false(emu_mbarrier_token_phase(1, &number));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_interleavings), cmocka_unit_test(bytes_may_come_first),
                                       cmocka_unit_test(tokens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The map of allocations against a plain list: random allocations and frees, and addresses at every edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "memory/parts.h"

enum { SLOTS = 300, ROUNDS = 20000, ALIGN = 512 };

typedef struct slot {
    uint8_t *memory;
    uint64_t bytes;
    emu_memory_kind kind;
} slot;
static slot live[SLOTS];

static uint64_t draw_bytes(emu_random *random) {
    switch (emu_random_below(random, 4)) {
        case 0: return emu_random_below(random, 8);
        case 1: return 4090 + emu_random_below(random, 12);
        case 2: return emu_random_below(random, 1 << 20);
        default: return 1 + emu_random_below(random, 2000);
    }
}

static void check_edges(const slot *s) {
    emu_allocation *found = emu_memory_find(s->memory);
    if (s->bytes == 0) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_ptr_equal(found->memory, s->memory);
        assert_int_equal(found->bytes, s->bytes);
        assert_int_equal(found->kind, s->kind);
        assert_ptr_equal(emu_memory_find(s->memory + s->bytes - 1), found);
        assert_ptr_equal(emu_memory_find(s->memory + s->bytes / 2), found);
    }
    assert_null(emu_memory_find(s->memory + s->bytes));
    assert_null(emu_memory_find(s->memory - 1));
    assert_null(emu_memory_find(s->memory + s->bytes + ALIGN - 1));
    assert_null(emu_memory_find(s->memory - ALIGN));
}

static void random_allocations(void **state) {
    (void)state;
    emu_random random;
    emu_random_seed(&random, 1);
    uint64_t in_use = emu_memory_in_use();
    for (int round = 0; round < ROUNDS; round++) {
        slot *s = &live[emu_random_below(&random, SLOTS)];
        if (s->memory != NULL) {
            check_edges(s);
            if (s->bytes > 1) assert_false(emu_memory_free(s->memory + 1));
            assert_true(emu_memory_free(s->memory));
            assert_false(emu_memory_free(s->memory));
            assert_null(emu_memory_find(s->memory));
            if (s->kind == EMU_DEVICE || s->kind == EMU_MANAGED) in_use -= s->bytes;
            s->memory = NULL;
        } else {
            s->kind = (emu_memory_kind)emu_random_below(&random, 3);
            s->bytes = draw_bytes(&random);
            s->memory = emu_memory_allocate(s->bytes, s->kind);
            assert_non_null(s->memory);
            assert_int_equal((uintptr_t)s->memory % ALIGN, 0);
            check_edges(s);
            memset(s->memory, round, s->bytes);
            if (s->kind == EMU_DEVICE || s->kind == EMU_MANAGED) in_use += s->bytes;
        }
        assert_int_equal(emu_memory_in_use(), in_use);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (live[i].memory == NULL) continue;
        check_edges(&live[i]);
        for (int k = 0; k < SLOTS; k++) {
            if (k == i || live[k].memory == NULL || live[k].memory < live[i].memory) continue;
            assert_true(live[i].memory + live[i].bytes + ALIGN <= live[k].memory);
        }
    }
    for (int i = 0; i < SLOTS; i++)
        if (live[i].memory != NULL) assert_true(emu_memory_free(live[i].memory));
}

/* What one allocation holds is not another's: each is filled with its own value. */
static void contents(void **state) {
    (void)state;
    enum { N = 64 };
    uint8_t *memory[N];
    for (int i = 0; i < N; i++) {
        memory[i] = emu_memory_allocate((uint64_t)(i * 777 + 1), EMU_DEVICE);
        assert_non_null(memory[i]);
        memset(memory[i], i, (size_t)(i * 777 + 1));
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < i * 777 + 1; k++) assert_int_equal(memory[i][k], i);
    for (int i = 0; i < N; i++) assert_true(emu_memory_free(memory[i]));
}

static void registered(void **state) {
    (void)state;
    static uint8_t variable[1000];
    emu_allocation *a = emu_memory_register(variable, sizeof(variable), EMU_VARIABLE, "counter");
    assert_non_null(a);
    assert_string_equal(a->name, "counter");
    assert_ptr_equal(emu_memory_find(variable + 999), a);
    assert_null(emu_memory_find(variable + 1000));
    assert_null(emu_memory_register(variable + 500, 1000, EMU_PINNED, NULL));
    assert_true(emu_memory_free(variable));
    assert_null(emu_memory_find(variable));
    assert_non_null(emu_memory_register(variable + 500, 500, EMU_PINNED, NULL)); /* where one was freed */
    assert_true(emu_memory_free(variable + 500));
}

static void too_much(void **state) {
    (void)state;
    assert_null(emu_memory_allocate(emu_memory_capacity() + 1, EMU_DEVICE));
    assert_null(emu_memory_allocate(UINT64_MAX - 100, EMU_DEVICE));
    void *all[100]; /* addresses end before memory does, or the other way round */
    int n = 0;
    while (n < 100 && (all[n] = emu_memory_allocate(UINT64_C(1) << 28, EMU_DEVICE)) != NULL) n++;
    assert_in_range(n, 8, 15);
    assert_int_equal(emu_memory_in_use(), (uint64_t)n << 28);
    for (int i = 0; i < n; i++) assert_true(emu_memory_free(all[i]));
    assert_int_equal(emu_memory_in_use(), 0);
}

/* Freed addresses are not given out again at once. */
static void freed_stay_away(void **state) {
    (void)state;
    uint8_t *first = emu_memory_allocate(4096, EMU_DEVICE);
    assert_true(emu_memory_free(first));
    for (int i = 0; i < 1000; i++) {
        uint8_t *next = emu_memory_allocate(4096, EMU_DEVICE);
        assert_ptr_not_equal(next, first);
        assert_true(emu_memory_free(next));
    }
}

/* At the end of the reserved addresses it begins anew, around what is still live. */
static void around(void **state) {
    (void)state;
    enum { STAYS = 10000, LARGE = 40 << 20 };
    uint8_t *stays = emu_memory_allocate(STAYS, EMU_DEVICE), *last = stays;
    memset(stays, 7, STAYS);
    int wraps = 0;
    for (int i = 0; i < 10000 && wraps < 5; i++) {
        uint8_t *next = emu_memory_allocate(LARGE, EMU_DEVICE);
        assert_non_null(next);
        assert_true(next + LARGE + ALIGN <= stays || stays + STAYS + ALIGN <= next);
        if (next < last) wraps++;
        last = next;
        next[0] = next[LARGE - 1] = 1;
        assert_true(emu_memory_free(next));
    }
    assert_int_equal(wraps, 5);
    for (int i = 0; i < STAYS; i++) assert_int_equal(stays[i], 7);
    assert_true(emu_memory_free(stays));
}

static int set_up(void **state) {
    (void)state;
    return emu_memory_reserve(UINT64_C(4) << 30) ? 0 : 1; /* little, so that tests come to its end */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_allocations), cmocka_unit_test(contents),        cmocka_unit_test(registered),
        cmocka_unit_test(too_much),           cmocka_unit_test(freed_stay_away), cmocka_unit_test(around),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}

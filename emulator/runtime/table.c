#include "runtime/table.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/core.h"

static struct emu_table_entry *place(const emu_table *table, const void *key) {
    uint64_t hash = (uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (table->size - 1);
    while (table->entry[i].key && table->entry[i].key != key) i = (i + 1) & (table->size - 1);
    return &table->entry[i];
}

void *emu_table_find(const emu_table *table, const void *key) {
    return table->size && key ? place(table, key)->value : NULL;
}

static void grow(emu_table *table) {
    emu_table larger = {.size = table->size ? table->size * 2 : 256};
    larger.entry = emu_alloc(larger.size * sizeof *larger.entry);
    for (size_t i = 0; i < table->size; i++)
        if (table->entry[i].key) *place(&larger, table->entry[i].key) = table->entry[i];
    larger.used = table->used;
    free(table->entry);
    *table = larger;
}

void emu_table_set(emu_table *table, const void *key, void *value) {
    if (table->used * 2 >= table->size) grow(table);
    struct emu_table_entry *e = place(table, key);
    if (!e->key) table->used++;
    *e = (struct emu_table_entry){key, value};
}

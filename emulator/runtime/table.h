/* Map from addresses to objects: open addressing, grows when half full. Nothing is ever removed. */
#ifndef EMULATOR_RUNTIME_TABLE_H
#define EMULATOR_RUNTIME_TABLE_H

#include <stddef.h>

typedef struct emu_table {
    struct emu_table_entry {
        const void *key;
        void *value;
    } * entry;
    size_t size, used;
} emu_table;
void *emu_table_find(const emu_table *, const void *key); /* NULL: none */
void emu_table_set(emu_table *, const void *key, void *value);
#endif

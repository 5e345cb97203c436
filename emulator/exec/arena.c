/* Memory that is freed all at once, and a hash map from two words to 32 bits. */
#include "exec/program.h"

#include <stdlib.h>
#include <string.h>

struct emu_chunk {
    emu_chunk *next;
    size_t used, size;
};
enum { CHUNK = 1 << 16, ALIGN = 64 };

static uint8_t *bytes_of(emu_chunk *chunk) {
    uintptr_t first = (uintptr_t)(chunk + 1);
    return (uint8_t *)((first + ALIGN - 1) / ALIGN * ALIGN);
}

void *emu_arena_take(emu_arena *arena, size_t bytes) {
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!arena->chunk || arena->chunk->used + bytes > arena->chunk->size) {
        size_t size = bytes > CHUNK ? bytes : CHUNK;
        emu_chunk *chunk = emu_alloc(sizeof *chunk + ALIGN + size);
        chunk->size = size;
        chunk->next = arena->chunk;
        arena->chunk = chunk;
    }
    uint8_t *taken = bytes_of(arena->chunk) + arena->chunk->used;
    arena->chunk->used += bytes;
    return taken;
}

void emu_arena_free(emu_arena *arena) {
    while (arena->chunk) {
        emu_chunk *next = arena->chunk->next;
        free(arena->chunk);
        arena->chunk = next;
    }
}

static uint32_t slot_of(const emu_map *map, uint64_t key, uint64_t key2) {
    uint64_t hash = (key * UINT64_C(0x9e3779b97f4a7c15)) ^ (key2 * UINT64_C(0xc2b2ae3d27d4eb4f));
    uint32_t slot = (uint32_t)((hash ^ (hash >> 29)) >> 7) & (map->capacity - 1);
    while (map->entry[slot].used && (map->entry[slot].key != key || map->entry[slot].key2 != key2))
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

static void widen(emu_map *map) {
    emu_map old = *map;
    map->capacity = old.capacity ? old.capacity * 2 : 64;
    map->entry = emu_alloc(map->capacity * sizeof *map->entry);
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.entry[i].used) map->entry[slot_of(map, old.entry[i].key, old.entry[i].key2)] = old.entry[i];
    free(old.entry);
}

uint32_t *emu_map_at(emu_map *map, uint64_t key, uint64_t key2, bool *fresh) {
    if (2 * (map->n + 1) > map->capacity) widen(map);
    struct emu_map_entry *entry = map->entry + slot_of(map, key, key2);
    *fresh = !entry->used;
    if (*fresh) {
        *entry = (struct emu_map_entry){.key = key, .key2 = key2, .used = true};
        map->n++;
    }
    return &entry->value;
}

const uint32_t *emu_map_find(const emu_map *map, uint64_t key, uint64_t key2) {
    if (!map->capacity) return NULL;
    const struct emu_map_entry *entry = map->entry + slot_of(map, key, key2);
    return entry->used ? &entry->value : NULL;
}

void emu_map_free(emu_map *map) {
    free(map->entry);
    *map = (emu_map){0};
}

/* Memory of a module: an arena, arrays that grow, tables of names. */
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "ptx/parser.h"

struct ptx_chunk {
    ptx_chunk *older;
    _Alignas(16) unsigned char data[];
};

enum { CHUNK = 1 << 18 };

void *ptx_arena_take(ptx_arena *arena, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > CHUNK / 4) { /* one of its own, behind the one in use */
        ptx_chunk *chunk = emu_alloc(sizeof *chunk + bytes);
        if (arena->chunk) {
            chunk->older = arena->chunk->older;
            arena->chunk->older = chunk;
        } else {
            arena->chunk = chunk;
        }
        return chunk->data;
    }
    if (bytes > arena->room - arena->used) {
        ptx_chunk *chunk = emu_alloc(sizeof *chunk + CHUNK);
        chunk->older = arena->chunk;
        *arena = (ptx_arena){.chunk = chunk, .room = CHUNK};
    }
    void *data = arena->chunk->data + arena->used;
    arena->used += bytes;
    return data;
}

void ptx_arena_free(ptx_arena *arena) {
    for (ptx_chunk *chunk = arena->chunk, *older; chunk; chunk = older) {
        older = chunk->older;
        free(chunk);
    }
    *arena = (ptx_arena){0};
}

void *ptx_list_add(ptx_list *list, size_t size) {
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->data = emu_grow(list->data, list->room, size);
    }
    return memset((char *)list->data + size * list->count++, 0, size);
}

void *ptx_list_copy(const ptx_list *list, ptx_arena *arena, size_t size) {
    void *copy = ptx_arena_take(arena, size * list->count + 1);
    if (list->count) memcpy(copy, list->data, size * list->count);
    return copy;
}

void ptx_list_free(ptx_list *list) {
    free(list->data);
    *list = (ptx_list){0};
}

uint32_t ptx_hash(const char *text, size_t length) {
    uint32_t hash = 2166136261u; /* FNV-1a; the lexer computes the same while it reads a name */
    for (size_t k = 0; k < length; k++) hash = (hash ^ (unsigned char)text[k]) * 16777619u;
    return hash;
}

static uint32_t bucket_of(uint32_t hash) { return (hash ^ hash >> 15) & (PTX_BUCKETS - 1); }

ptx_symbol *ptx_table_add(ptx_table *table, ptx_arena *arena, ptx_symbol_kind kind, const char *text, uint32_t length,
                          uint32_t hash) {
    ptx_symbol *symbol = ptx_arena_take(arena, sizeof *symbol);
    ptx_symbol **bucket = &table->bucket[bucket_of(hash)];
    *symbol = (ptx_symbol){
        .next = *bucket, .older = table->newest, .text = text, .length = length, .hash = hash, .kind = kind};
    return table->newest = *bucket = symbol;
}

ptx_symbol *ptx_table_find(const ptx_table *table, int kinds, const char *text, uint32_t length, uint32_t hash) {
    for (ptx_symbol *s = table->bucket[bucket_of(hash)]; s; s = s->next)
        if (s->hash == hash && s->length == length && ((int)s->kind & kinds) && memcmp(s->text, text, length) == 0)
            return s;
    return NULL;
}

ptx_symbol *ptx_table_hidden(const ptx_symbol *by) {
    for (ptx_symbol *s = by->next; s; s = s->next)
        if (s->hash == by->hash && s->length == by->length && s->kind == by->kind &&
            memcmp(s->text, by->text, s->length) == 0)
            return s;
    return NULL;
}

void ptx_table_leave(ptx_table *table, int depth) {
    for (ptx_symbol *s = table->newest; s && s->depth >= depth; s = s->older) {
        table->bucket[bucket_of(s->hash)] = s->next;
        table->newest = s->older;
    }
}

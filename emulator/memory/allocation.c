/* Allocations of global memory, found by address.
 *
 * One range of virtual addresses is reserved, not accessible. An allocation makes its pages accessible; what lies
 * between two stays as it is. Addresses are given out upwards and used again only when the range is at its end, so that
 * a pointer to freed memory keeps meaning that memory for a long time. */
#include "check/witness.h"
#include "memory/parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, MAX_FREED = 4096, RECENT = 256, LEAST_GAP = 65536 };

/* Sorted by address; freed ones among them. */
static struct {
    emu_allocation **entry;
    int n, capacity, n_freed;
    uint64_t in_use, count;
    uint8_t *first, *cursor, *end; /* the reserved range */
} map;

/* The last hit of each instruction, by a hash of its address. */
static emu_allocation *recent[RECENT];

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }
static uint64_t start_of(const emu_allocation *a) { return (uint64_t)(uintptr_t)a->memory; }
/* No other allocation may lie within; one of no bytes keeps its address to itself. */
static uint64_t end_of(const emu_allocation *a) {
    uint64_t bytes = a->reach > 0 ? a->reach : a->bytes;
    return start_of(a) + (bytes > 0 ? bytes : 1);
}

/* Index of the first entry that begins after the address. */
static int upper(uint64_t address) {
    int low = 0, high = map.n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (start_of(map.entry[middle]) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

emu_allocation *emu_memory_find(const void *address) {
    uint64_t a = (uint64_t)(uintptr_t)address;
    int i = upper(a) - 1;
    if (i < 0) return NULL;
    emu_allocation *found = map.entry[i];
    return !found->freed && a - start_of(found) < found->bytes ? found : NULL;
}

emu_allocation *emu_memory_find_for(const emu_op *op, uint64_t address) {
    emu_allocation **hit = &recent[((uintptr_t)op / sizeof(emu_op)) % RECENT];
    emu_allocation *a = *hit;
    if (a != NULL && address - start_of(a) < a->bytes) return a;
    a = emu_memory_find((const void *)(uintptr_t)address);
    if (a != NULL) *hit = a;
    return a;
}

void emu_memory_neighbours(uint64_t address, emu_allocation **before, emu_allocation **after) {
    int i = upper(address);
    *before = i > 0 ? map.entry[i - 1] : NULL;
    *after = i < map.n ? map.entry[i] : NULL;
}

static void remove_entry(int i) {
    emu_allocation *gone = map.entry[i];
    if (gone->freed) map.n_freed--;
    map.n--;
    memmove(map.entry + i, map.entry + i + 1, (size_t)(map.n - i) * sizeof(map.entry[0]));
    free(gone);
}

/* Forgets freed ones within [first, end). False: a live one is there; *blocking is its end. */
static bool clear_range(uint64_t first, uint64_t end, uint64_t *blocking) {
    int i = upper(first) - 1;
    if (i < 0 || end_of(map.entry[i]) <= first) i++;
    for (int k = i; k < map.n && start_of(map.entry[k]) < end; k++) {
        if (map.entry[k]->freed) continue;
        *blocking = end_of(map.entry[k]);
        return false;
    }
    while (i < map.n && start_of(map.entry[i]) < end) remove_entry(i);
    return true;
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* So that a program that allocates in a loop does not grow the map for ever: the older half of the freed ones goes. */
static void forget_freed(void) {
    if (map.n_freed <= MAX_FREED) return;
    uint64_t *numbers = emu_alloc((size_t)map.n_freed * sizeof(numbers[0]));
    int n = 0;
    for (int i = 0; i < map.n; i++)
        if (map.entry[i]->freed) numbers[n++] = map.entry[i]->number;
    qsort(numbers, (size_t)n, sizeof(numbers[0]), by_number);
    uint64_t oldest_kept = numbers[n / 2];
    free(numbers);
    int kept = 0;
    for (int i = 0; i < map.n; i++) {
        emu_allocation *a = map.entry[i];
        if (a->freed && a->number < oldest_kept) {
            map.n_freed--;
            free(a);
        } else {
            map.entry[kept++] = a;
        }
    }
    map.n = kept;
}

static emu_allocation *insert(uint8_t *memory, uint64_t bytes, emu_memory_kind kind, const char *name, uint64_t reach) {
    emu_allocation *a = emu_alloc(sizeof(*a));
    *a = (emu_allocation){
        .memory = memory, .bytes = bytes, .kind = kind, .name = name, .number = ++map.count, .reach = reach};
    a->shadow = emu_shadow_create(memory, bytes, false);
    if (kind == EMU_PINNED || kind == EMU_MANAGED) emu_witness_hosted(a->shadow);
    if (kind != EMU_DEVICE && bytes > 0) emu_shadow_fresh(a->shadow, 0, bytes, true);
    if (map.n == map.capacity) {
        map.capacity = map.capacity > 0 ? 2 * map.capacity : 64;
        map.entry = emu_grow(map.entry, (size_t)map.capacity, sizeof(map.entry[0]));
    }
    int i = upper((uint64_t)(uintptr_t)memory);
    memmove(map.entry + i + 1, map.entry + i, (size_t)(map.n - i) * sizeof(map.entry[0]));
    map.entry[i] = a;
    map.n++;
    return a;
}

emu_allocation *emu_memory_register(void *memory, uint64_t bytes, emu_memory_kind kind, const char *name) {
    uint64_t first = (uint64_t)(uintptr_t)memory, blocking;
    if (!clear_range(first, first + (bytes > 0 ? bytes : 1), &blocking)) return NULL;
    return insert(memory, bytes, kind, name, 0);
}

/* The same addresses in every run where the system allows it: what a program does by them is repeatable. */
bool emu_memory_reserve(uint64_t bytes) {
    if (map.first != NULL) return false;
    void *hint = (void *)(uintptr_t)UINT64_C(0x200000000000);
    void *got = mmap(hint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return false;
    map.first = map.cursor = got;
    map.end = map.first + bytes;
    return true;
}

static bool reserve(void) {
    for (int shift = 42; map.first == NULL && shift >= 36; shift--) (void)emu_memory_reserve(UINT64_C(1) << shift);
    return map.first != NULL;
}

/* First place from the cursor on, or else from the start on, with no live allocation in it. */
static uint8_t *place(uint64_t reach) {
    for (int turn = 0; turn < 2; turn++) {
        uint64_t first = (uint64_t)(uintptr_t)map.cursor, end = (uint64_t)(uintptr_t)map.end;
        while (end - first >= reach) {
            uint64_t blocking;
            if (clear_range(first, first + reach, &blocking)) {
                map.cursor = (uint8_t *)(uintptr_t)(first + reach);
                return (uint8_t *)(uintptr_t)first;
            }
            first = round_up(blocking, PAGE);
        }
        map.cursor = map.first;
    }
    return NULL;
}

static bool of_device(emu_memory_kind kind) { return kind == EMU_DEVICE || kind == EMU_MANAGED; }

void *emu_memory_allocate(uint64_t bytes, emu_memory_kind kind) {
    if (bytes > emu_memory_capacity() || (of_device(kind) && map.in_use + bytes > emu_memory_capacity())) return NULL;
    if (map.first == NULL && !reserve()) return NULL;
    uint64_t pages = round_up(bytes > 0 ? bytes : 1, PAGE);
    uint64_t gap =
        round_up(pages < LEAST_GAP ? LEAST_GAP : pages, PAGE); /* an index twice too large still hits nothing */
    uint8_t *memory = place(pages + gap);
    if (memory == NULL) memory = place(pages + LEAST_GAP);
    if (memory == NULL || mprotect(memory, pages, PROT_READ | PROT_WRITE) != 0) return NULL;
    insert(memory, bytes, kind, NULL, (uint64_t)(map.cursor - memory));
    if (of_device(kind)) map.in_use += bytes;
    return memory;
}

bool emu_memory_free(void *memory) {
    int i = upper((uint64_t)(uintptr_t)memory) - 1;
    if (i < 0 || map.entry[i]->memory != memory || map.entry[i]->freed) return false;
    emu_allocation *a = map.entry[i];
    memset(recent, 0, sizeof(recent));
    if (a->shadow != NULL) emu_shadow_destroy(a->shadow);
    a->shadow = NULL;
    a->freed = true;
    map.n_freed++;
    if (a->reach > 0) {
        uint64_t pages = round_up(a->bytes > 0 ? a->bytes : 1, PAGE);
        madvise(memory, pages, MADV_DONTNEED);
        mprotect(memory, pages, PROT_NONE);
        if (of_device(a->kind)) map.in_use -= a->bytes;
    }
    forget_freed();
    return true;
}

uint64_t emu_memory_in_use(void) { return map.in_use; }

uint64_t emu_memory_capacity(void) { return emu_options_get()->memory << 20; }

void emu_memory_host_wrote(void *address, uint64_t bytes) {
    emu_allocation *a = emu_memory_find(address);
    if (a == NULL || bytes == 0) return;
    uint64_t at = (uint64_t)((uint8_t *)address - a->memory);
    emu_shadow_fresh(a->shadow, at, bytes < a->bytes - at ? bytes : a->bytes - at, true);
}

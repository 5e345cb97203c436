/* ld, ldu, st: between registers and memory. */
#include "memory/parts.h"

#include <string.h>

enum { MOST = 8 };

/* One element of each lane's: pointers are of elements[0]. */
typedef void move_lanes(void *reg, emu_mask, uint8_t *const pointer[EMU_LANES], uint32_t at);
/* Is what a store left in memory what each of its lanes has stored? */
typedef bool same_lanes(const void *reg, emu_mask, uint8_t *const pointer[EMU_LANES], uint32_t at);

#define GATHER(name, from, to, extended)                                                         \
    static void name(void *reg, emu_mask mask, uint8_t *const pointer[EMU_LANES], uint32_t at) { \
        to *d = reg;                                                                             \
        from value;                                                                              \
        for (int lane = 0; mask == EMU_ALL_LANES && lane < EMU_LANES; lane++) {                  \
            memcpy(&value, pointer[lane] + at, sizeof(value));                                   \
            d[lane] = extended;                                                                  \
        }                                                                                        \
        for (emu_mask left = mask + 1 ? mask : 0; left != 0; left &= left - 1) {                 \
            int lane = __builtin_ctz(left);                                                      \
            memcpy(&value, pointer[lane] + at, sizeof(value));                                   \
            d[lane] = extended;                                                                  \
        }                                                                                        \
    }
/* The low bytes of the register: hosts are little-endian, as the device is. */
#define SCATTER(name, from, bytes)                                                                            \
    static void name(void *reg, emu_mask mask, uint8_t *const pointer[EMU_LANES], uint32_t at) {              \
        const from *s = reg;                                                                                  \
        for (int lane = 0; mask == EMU_ALL_LANES && lane < EMU_LANES; lane++)                                 \
            memcpy(pointer[lane] + at, &s[lane], bytes);                                                      \
        for (emu_mask left = mask + 1 ? mask : 0; left != 0; left &= left - 1) {                              \
            int lane = __builtin_ctz(left);                                                                   \
            memcpy(pointer[lane] + at, &s[lane], bytes);                                                      \
        }                                                                                                     \
    }                                                                                                         \
    static bool name##_same(const void *reg, emu_mask mask, uint8_t *const pointer[EMU_LANES], uint32_t at) { \
        const from *s = reg;                                                                                  \
        bool different = false;                                                                               \
        for (; mask != 0; mask &= mask - 1) {                                                                 \
            int lane = __builtin_ctz(mask);                                                                   \
            different = different || memcmp(pointer[lane] + at, &s[lane], bytes) != 0;                        \
        }                                                                                                     \
        return !different;                                                                                    \
    }
typedef struct pair {
    uint64_t word[2];
} pair;

/* Memory of 1, 2, 4, 8, 16 bytes by registers of 2, 4, 8, 16. */
GATHER(load_1_2, uint8_t, uint16_t, value)
GATHER(load_1_4, uint8_t, uint32_t, value)
GATHER(load_1_8, uint8_t, uint64_t, value)
GATHER(load_2_2, uint16_t, uint16_t, value)
GATHER(load_2_4, uint16_t, uint32_t, value)
GATHER(load_2_8, uint16_t, uint64_t, value)
GATHER(load_4_4, uint32_t, uint32_t, value)
GATHER(load_4_8, uint32_t, uint64_t, value)
GATHER(load_8_8, uint64_t, uint64_t, value)
GATHER(load_16_16, pair, pair, value)
GATHER(load_s1_2, uint8_t, int16_t, (int16_t)((int32_t)(value ^ 0x80u) - 0x80))
GATHER(load_s1_4, uint8_t, int32_t, (int32_t)((int32_t)(value ^ 0x80u) - 0x80))
GATHER(load_s1_8, uint8_t, int64_t, (int64_t)((int32_t)(value ^ 0x80u) - 0x80))
GATHER(load_s2_4, int16_t, int32_t, value)
GATHER(load_s2_8, int16_t, int64_t, value)
GATHER(load_s4_8, int32_t, int64_t, value)
SCATTER(store_2_1, uint16_t, 1)
SCATTER(store_4_1, uint32_t, 1)
SCATTER(store_8_1, uint64_t, 1)
SCATTER(store_2_2, uint16_t, 2)
SCATTER(store_4_2, uint32_t, 2)
SCATTER(store_8_2, uint64_t, 2)
SCATTER(store_4_4, uint32_t, 4)
SCATTER(store_8_4, uint64_t, 4)
SCATTER(store_8_8, uint64_t, 8)
SCATTER(store_16_16, pair, 16)

/* By log2 of the bytes in memory and of the register's; NULL: the register is too narrow. */
static move_lanes *const loads[5][5] = {
    {NULL, load_1_2, load_1_4, load_1_8, NULL}, {NULL, load_2_2, load_2_4, load_2_8, NULL},
    {NULL, NULL, load_4_4, load_4_8, NULL},     {NULL, NULL, NULL, load_8_8, NULL},
    {NULL, NULL, NULL, NULL, load_16_16},
};
static move_lanes *const signed_loads[5][5] = {
    {NULL, load_s1_2, load_s1_4, load_s1_8, NULL},
    {NULL, load_2_2, load_s2_4, load_s2_8, NULL},
    {NULL, NULL, load_4_4, load_s4_8, NULL},
    {NULL, NULL, NULL, load_8_8, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
typedef struct store_form {
    move_lanes *move;
    same_lanes *same;
} store_form;
#define STORE(name) \
    { name, name##_same }
static const store_form stores[5][5] = {
    {{0}, STORE(store_2_1), STORE(store_4_1), STORE(store_8_1), {0}},
    {{0}, STORE(store_2_2), STORE(store_4_2), STORE(store_8_2), {0}},
    {{0}, {0}, STORE(store_4_4), STORE(store_8_4), {0}},
    {{0}, {0}, {0}, STORE(store_8_8), {0}},
    {{0}, {0}, {0}, {0}, STORE(store_16_16)},
};

typedef struct transfer {
    emu_access access;
    emu_address address;
    emu_operand value[MOST];
    move_lanes *move[MOST]; /* NULL: not asked for */
    same_lanes *same[MOST]; /* of stores */
    int n;
    uint32_t bytes; /* an element's, in memory */
    bool plain;     /* one element, as wide as its register: lanes that follow each other are one copy */
    bool words;     /* two or four elements of 32 bits in such registers */
} transfer;

EMU_LANEWISE static bool in_a_row(uint8_t *const pointer[EMU_LANES], uint32_t bytes) {
    uint64_t first = (uint64_t)(uintptr_t)pointer[0], off = 0;
    for (int lane = 0; lane < EMU_LANES; lane++)
        off |= (uint64_t)(uintptr_t)pointer[lane] - first - (uint64_t)lane * bytes;
    return off == 0;
}

/* ---- vectors of two and four words by all lanes: four lanes at a time are a small matrix that is transposed ---- */
typedef uint32_t words4 __attribute__((vector_size(16)));
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

static void transpose(words4 m[4]) {
    words4 a = LOW(m[0], m[2]), b = HIGH(m[0], m[2]), c = LOW(m[1], m[3]), d = HIGH(m[1], m[3]);
    m[0] = LOW(a, c), m[1] = HIGH(a, c), m[2] = LOW(b, d), m[3] = HIGH(b, d);
}

static void load_words(uint32_t *const d[4], int n, uint8_t *const pointer[EMU_LANES]) {
    for (int lane = 0; lane < EMU_LANES; lane += 4) {
        words4 m[4] = {{0}};
        for (int i = 0; i < 4; i++) memcpy(&m[i], pointer[lane + i], n == 4 ? 16 : 8);
        transpose(m);
        for (int k = 0; k < n; k++) memcpy(d[k] + lane, &m[k], sizeof(m[k]));
    }
}

static void store_words(uint32_t *const s[4], int n, uint8_t *const pointer[EMU_LANES]) {
    for (int lane = 0; lane < EMU_LANES; lane += 4) {
        words4 m[4] = {{0}};
        for (int k = 0; k < n; k++) memcpy(&m[k], s[k] + lane, sizeof(m[k]));
        transpose(m);
        for (int i = 0; i < 4; i++) memcpy(pointer[lane + i], &m[i], n == 4 ? 16 : 8);
    }
}

typedef void move_words(uint32_t *const reg[4], int n, uint8_t *const pointer[EMU_LANES]);
static void move_all(const emu_warp *warp, const transfer *t, uint8_t *const pointer[EMU_LANES], move_words *move) {
    uint32_t *reg[4];
    for (int k = 0; k < 4; k++) reg[k] = emu_u32(warp, t->value[k < t->n ? k : 0]);
    if (t->n == 4)
        move(reg, 4, pointer);
    else
        move(reg, 2, pointer);
}

static emu_result run_load(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const transfer *t = op->detail;
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    emu_addresses(warp, &t->address, address);
    if (!emu_memory_lanes(warp, op, mask, &t->access, address, pointer)) return EMU_ABORT;
    if (t->plain && mask == EMU_ALL_LANES && in_a_row(pointer, t->bytes)) {
        memcpy(emu_at(warp, t->value[0].at), pointer[0], (size_t)EMU_LANES * t->bytes);
        return EMU_NEXT;
    }
    if (t->words && mask == EMU_ALL_LANES) {
        move_all(warp, t, pointer, load_words);
        return EMU_NEXT;
    }
    for (int k = 0; k < t->n; k++)
        if (t->move[k] != NULL) t->move[k](emu_at(warp, t->value[k].at), mask, pointer, (uint32_t)k * t->bytes);
    return EMU_NEXT;
}

/* No two lanes at one place, told from addresses that only grow. */
EMU_LANEWISE static bool all_apart(uint8_t *const pointer[EMU_LANES]) {
    uint64_t back = 0;
    for (int lane = 0; lane + 1 < EMU_LANES; lane++)
        back |= (uint64_t)(uintptr_t)pointer[lane + 1] - (uint64_t)(uintptr_t)pointer[lane] - 1;
    return (int64_t)back >= 0;
}

/* Of lanes that store to one place the last wins; PTX does not say which. Another value of another lane is then a race.
 */
static void check_stored(emu_warp *warp, const emu_op *op, emu_mask mask, const transfer *t,
                         uint8_t *const pointer[EMU_LANES]) {
    for (int k = 0; k < t->n; k++) {
        if (t->move[k] == NULL || t->same[k](emu_at(warp, t->value[k].at), mask, pointer, (uint32_t)k * t->bytes))
            continue;
        uint8_t *element[EMU_LANES];
        for (emu_mask left = mask; left != 0; left &= left - 1)
            element[__builtin_ctz(left)] = pointer[__builtin_ctz(left)] + (uint32_t)k * t->bytes;
        emu_check_stored(warp, op, mask, t->bytes, element, emu_at(warp, t->value[k].at), t->value[k].bytes);
        return;
    }
}

static emu_stored stored_of(const emu_warp *warp, const transfer *t) {
    emu_stored s = {.elements = (uint32_t)t->n, .bytes = t->bytes, .stride = t->value[0].bytes};
    for (int k = 0; k < t->n; k++) s.element[k] = t->move[k] != NULL ? emu_at(warp, t->value[k].at) : NULL;
    return s;
}

static emu_result run_store(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const transfer *t = op->detail;
    uint64_t address[EMU_LANES];
    uint8_t *pointer[EMU_LANES];
    const emu_stored stored = stored_of(warp, t);
    emu_access access = t->access;
    access.stored = &stored;
    emu_addresses(warp, &t->address, address);
    if (!emu_memory_lanes(warp, op, mask, &access, address, pointer)) return EMU_ABORT;
    if (t->plain && mask == EMU_ALL_LANES && in_a_row(pointer, t->bytes)) {
        memcpy(pointer[0], emu_at(warp, t->value[0].at), (size_t)EMU_LANES * t->bytes);
        return EMU_NEXT;
    }
    if (t->words && mask == EMU_ALL_LANES) {
        move_all(warp, t, pointer, store_words);
    } else {
        for (int k = 0; k < t->n; k++)
            if (t->move[k] != NULL) t->move[k](emu_at(warp, t->value[k].at), mask, pointer, (uint32_t)k * t->bytes);
    }
    bool checked = t->access.semantics == EMU_WEAK && (mask & (mask - 1)) != 0;
    if (checked && !(mask == EMU_ALL_LANES && all_apart(pointer))) check_stored(warp, op, mask, t, pointer);
    return EMU_NEXT;
}

static bool is_signed(ptx_type type) { return type == PTX_S8 || type == PTX_S16 || type == PTX_S32 || type == PTX_S64; }

/* Registers of the value, one or a vector. */
static bool decode_value(emu_decoding *d, transfer *t, const ptx_operand *value, ptx_type type, bool load) {
    bool vector = value->kind == PTX_VECTOR;
    if (vector ? value->n_parts != t->n : t->n != 1)
        return emu_decode_fail(d, "not as many registers as the vector has elements");
    for (int k = 0; k < t->n; k++) {
        const ptx_operand *part = vector ? &value->parts[k] : value;
        if (part->kind == PTX_SINK) continue;
        bool ok =
            load ? emu_decode_destination(d, part, type, &t->value[k]) : emu_decode_source(d, part, type, &t->value[k]);
        if (!ok) return false;
        int memory_log = __builtin_ctz(t->bytes),
            reg_log = t->value[k].bytes > 0 ? __builtin_ctz(t->value[k].bytes) : 0;
        t->move[k] =
            load ? (is_signed(type) ? signed_loads : loads)[memory_log][reg_log] : stores[memory_log][reg_log].move;
        t->same[k] = load ? NULL : stores[memory_log][reg_log].same;
        if (t->move[k] == NULL)
            return emu_decode_fail(d, "a register of %d bytes for a value of %u", t->value[k].bytes, t->bytes);
    }
    t->words = (t->n == 2 || t->n == 4) && t->bytes == 4;
    for (int k = 0; k < t->n; k++) t->words = t->words && t->move[k] != NULL && t->value[k].bytes == 4;
    t->plain = t->n == 1 && t->move[0] != NULL && t->value[0].bytes == t->bytes;
    return true;
}

static bool decode_transfer(emu_decoding *d, uint32_t allowed, emu_access_kind kind) {
    emu_memory_words given;
    if (!emu_memory_words_take(d, allowed, &given) || !emu_memory_operands(d, &given, 2)) return false;
    bool load = kind == EMU_READ;
    const ptx_operand *operand = d->instruction->operand, *address = &operand[load ? 1 : 0];
    ptx_type type = (ptx_type)given.value[EMU_WORD_TYPE];
    transfer *t = emu_decode_alloc(d, sizeof(*t));
    t->n = given.given & EMU_WORD_BIT(VECTOR) ? given.value[EMU_WORD_VECTOR] : 1;
    t->bytes = ptx_type_bytes[type];
    t->access = emu_memory_words_access(&given, kind, t->bytes * (uint32_t)t->n);
    if (t->access.bytes > 32) return emu_decode_fail(d, "%u bytes at once", t->access.bytes);
    if (!load && t->access.space == PTX_CONST) return emu_decode_fail(d, "a store to .const");
    if (address->kind != PTX_ADDRESS || !emu_decode_address(d, address, t->access.space, &t->address))
        return address->kind == PTX_ADDRESS ? false : emu_decode_fail(d, "no address where one is expected");
    if (!decode_value(d, t, &operand[load ? 0 : 1], type, load)) return false;
    d->op->detail = t;
    d->op->run = load ? run_load : run_store;
    return true;
}

#define HINTS (EMU_WORD_BIT(CACHE) | EMU_WORD_BIT(EVICT_L1) | EMU_WORD_BIT(EVICT_L2) | EMU_WORD_BIT(HINT))
#define COMMON                                                                                            \
    (HINTS | EMU_WORD_BIT(SEMANTICS) | EMU_WORD_BIT(SCOPE) | EMU_WORD_BIT(SPACE) | EMU_WORD_BIT(VECTOR) | \
     EMU_WORD_BIT(MMIO) | EMU_WORD_BIT(TYPE))

bool emu_decode_load(emu_decoding *d) {
    return decode_transfer(d, COMMON | EMU_WORD_BIT(PREFETCH) | EMU_WORD_BIT(NC) | EMU_WORD_BIT(UNIFIED), EMU_READ);
}

bool emu_decode_store(emu_decoding *d) {
    if (ptx_take(&d->words, "bulk")) return emu_decode_clear(d);
    if (d->instruction->n_words > 1 && strcmp(d->instruction->word[1], "async") == 0) return emu_decline(d);
    return decode_transfer(d, COMMON, EMU_WRITE);
}

bool emu_decode_ldu(emu_decoding *d) {
    return decode_transfer(d, EMU_WORD_BIT(SPACE) | EMU_WORD_BIT(VECTOR) | EMU_WORD_BIT(TYPE), EMU_READ);
}

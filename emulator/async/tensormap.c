/* tensormap.replace: a field of a tensor map in global or shared memory; tensormap.cp_fenceproxy: a map from shared to
 * global memory (PTX ISA, "tensormap.replace", "tensormap.cp_fenceproxy"). */
#include "async/copy.h"

#include <inttypes.h>
#include <string.h>

typedef enum map_field {
    FIELD_ADDRESS,
    FIELD_RANK,
    FIELD_BOX,
    FIELD_SIZE,
    FIELD_STRIDE,
    FIELD_STEP,
    FIELD_TYPE,
    FIELD_INTERLEAVE,
    FIELD_SWIZZLE,
    FIELD_ATOM,
    FIELD_FILL,
    N_FIELDS
} map_field;
static const char *const field_words[] = {
    "global_address", "rank",     "box_dim",           "global_dim",   "global_stride",
    "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity",
    "fill_mode",      NULL};

/* kind: the field; value: its ordinal. Operand 0: the new value. */
typedef struct map_detail {
    emu_address to, from;
    ptx_space to_space, from_space;
} map_detail;

enum { PIECE = 16 };

/* The 128 bytes, as the warp's own accesses. NULL: reported. */
static uint8_t *map_bytes(emu_warp *warp, const emu_op *op, int lane, ptx_space space, uint64_t address,
                          emu_access_kind kind) {
    const emu_access access = {.kind = kind, .space = space, .bytes = PIECE};
    uint64_t addresses[EMU_LANES];
    uint8_t *pointer[EMU_LANES], *first = NULL;
    if (address % 64) {
        emu_find(warp, op, lane, EMU_DESCRIPTOR, address, "0x%" PRIx64 ": a tensor map is aligned to 64 bytes",
                 address);
        return NULL;
    }
    for (uint32_t at = 0; at < EMU_TENSOR_MAP_BYTES; at += PIECE) {
        addresses[lane] = address + at;
        if (!emu_memory_lanes(warp, op, 1u << lane, &access, addresses, pointer)) return NULL;
        if (at == 0) first = pointer[lane];
    }
    return first;
}

/* PTX numbers element types in another order than cuda.h. */
static const uint8_t element_types[] = {
    EMU_TENSOR_U8,       EMU_TENSOR_U16,       EMU_TENSOR_U32,        EMU_TENSOR_S32,
    EMU_TENSOR_U64,      EMU_TENSOR_S64,       EMU_TENSOR_F16,        EMU_TENSOR_F32,
    EMU_TENSOR_F32_FTZ,  EMU_TENSOR_F64,       EMU_TENSOR_BF16,       EMU_TENSOR_TF32,
    EMU_TENSOR_TF32_FTZ, EMU_TENSOR_U4_ALIGN8, EMU_TENSOR_U4_ALIGN16, EMU_TENSOR_U6_ALIGN16};

/* False: the value is out of range. */
static bool set_field(emu_tensor_map *map, map_field field, int64_t ordinal, uint64_t value) {
    switch (field) {
        case FIELD_ADDRESS: map->address = value; return value % 16 == 0;
        case FIELD_RANK: map->rank = (uint8_t)(value + 1); return value < EMU_TENSOR_RANKS;
        case FIELD_BOX: map->box[ordinal] = (uint16_t)value; return value >= 1 && value <= 256;
        case FIELD_SIZE: map->last[ordinal] = (uint32_t)value - 1; return value >= 1;
        case FIELD_STRIDE: map->stride[ordinal] = value; return value % 16 == 0 && value >> 40 == 0;
        case FIELD_STEP: map->step[ordinal] = (uint8_t)value; return value >= 1 && value <= 8;
        case FIELD_TYPE:
            if (value >= sizeof element_types) return false;
            map->type = element_types[value];
            return value <= 12 || emu_options_get()->architecture >= 100;
        case FIELD_SWIZZLE: map->swizzle = (uint8_t)value; return value <= EMU_SWIZZLE_128B;
        case FIELD_FILL: map->fill = (uint8_t)value; return value <= EMU_FILL_NAN;
        default: return value == 0; /* interleave, atoms other than 16 bytes */
    }
}

static emu_result run_replace(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const map_detail *detail = op->detail;
    uint64_t address[EMU_LANES], value[EMU_LANES];
    emu_addresses(warp, &detail->to, address);
    emu_lanes_read(warp, op->operand[0], value);
    for (emu_mask rest = mask; rest; rest &= rest - 1) {
        const int lane = __builtin_ctz(rest);
        uint8_t *memory = map_bytes(warp, op, lane, detail->to_space, address[lane], EMU_READ);
        if (!memory || !map_bytes(warp, op, lane, detail->to_space, address[lane], EMU_WRITE)) return EMU_ABORT;
        emu_tensor_map map;
        memcpy(&map, memory, sizeof map);
        const char *wrong = emu_tensor_map_wrong(&map);
        if (!wrong && !set_field(&map, (map_field)op->kind, op->value, value[lane]))
            wrong = "the new value is out of range, or is not emulated";
        if (wrong) {
            emu_find(warp, op, lane, EMU_DESCRIPTOR, op->kind, "tensormap.replace .%s with 0x%" PRIx64 ": %s",
                     field_words[op->kind], value[lane], wrong);
            return EMU_ABORT;
        }
        emu_tensor_map_seal(&map);
        memcpy(memory, &map, sizeof map);
    }
    return EMU_NEXT;
}

/* All lanes give the same addresses: one copy. */
static emu_result run_copy_map(emu_warp *warp, const emu_op *op, emu_mask mask) {
    const map_detail *detail = op->detail;
    const int lane = __builtin_ctz(mask);
    uint64_t to[EMU_LANES], from[EMU_LANES];
    emu_addresses(warp, &detail->to, to);
    emu_addresses(warp, &detail->from, from);
    const uint8_t *source = map_bytes(warp, op, lane, detail->from_space, from[lane], EMU_READ);
    uint8_t *target = source ? map_bytes(warp, op, lane, detail->to_space, to[lane], EMU_WRITE) : NULL;
    if (!target) return EMU_ABORT;
    memcpy(target, source, EMU_TENSOR_MAP_BYTES);
    return EMU_NEXT;
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */
static ptx_space take_space(emu_decoding *d) {
    if (ptx_take(&d->words, "global")) return PTX_GLOBAL;
    return ptx_take(&d->words, "shared::cta") || ptx_take(&d->words, "shared") ? PTX_SHARED : PTX_GENERIC;
}

static bool decode_replace(emu_decoding *d, map_detail *detail) {
    const ptx_instruction *instruction = d->instruction;
    int field = ptx_take(&d->words, "tile") ? ptx_take_of(&d->words, field_words, -1) : -1;
    if (field < 0) return emu_decode_fail(d, "a field of tensor maps that is not known");
    detail->to_space = take_space(d);
    ptx_type type = ptx_take(&d->words, "b1024") ? ptx_take_type(&d->words) : PTX_NONE;
    if (type != (field == FIELD_ADDRESS || field == FIELD_STRIDE ? PTX_B64 : PTX_B32) || !ptx_words_end(&d->words))
        return emu_decode_fail(d, "types that this field does not have");
    bool ordinal = field >= FIELD_BOX && field <= FIELD_STEP;
    if (instruction->n_operands != 2 + ordinal) return emu_decode_fail(d, "%d operands", instruction->n_operands);
    if (ordinal) {
        const ptx_operand *which = &instruction->operand[1];
        int64_t most = field == FIELD_STRIDE ? EMU_TENSOR_RANKS - 1 : EMU_TENSOR_RANKS;
        d->op->value = (int64_t)which->bits;
        if (which->kind != PTX_INTEGER || d->op->value < 0 || d->op->value >= most)
            return emu_decode_fail(d, "the ordinal is a constant below %d", (int)most);
    }
    d->op->kind = (uint8_t)field;
    d->op->run = run_replace;
    return emu_decode_address(d, &instruction->operand[0], detail->to_space, &detail->to) &&
           emu_decode_source(d, &instruction->operand[1 + ordinal], type, &d->op->operand[0]);
}

/* .global.shared::cta.tensormap::generic.release.scope.sync.aligned [to], [from], 128 */
static bool decode_copy(emu_decoding *d, map_detail *detail) {
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", NULL};
    const ptx_instruction *instruction = d->instruction;
    detail->to_space = PTX_GLOBAL;
    detail->from_space = PTX_SHARED;
    bool known = ptx_take(&d->words, "global") && take_space(d) == PTX_SHARED &&
                 ptx_take(&d->words, "tensormap::generic") && ptx_take(&d->words, "release") &&
                 ptx_take_of(&d->words, scopes, -1) >= 0 && ptx_take(&d->words, "sync") &&
                 ptx_take(&d->words, "aligned") && ptx_words_end(&d->words);
    if (!known || instruction->n_operands != 3) return emu_decode_fail(d, "no such tensormap.cp_fenceproxy");
    d->op->aligned = true;
    d->op->run = run_copy_map;
    return emu_decode_address(d, &instruction->operand[0], PTX_GLOBAL, &detail->to) &&
           emu_decode_address(d, &instruction->operand[1], PTX_SHARED, &detail->from);
}

bool emu_decode_tensormap(emu_decoding *d) {
    map_detail *detail = emu_decode_alloc(d, sizeof *detail);
    d->op->detail = detail;
    if (ptx_take(&d->words, "replace")) return decode_replace(d, detail);
    if (ptx_take(&d->words, "cp_fenceproxy")) return decode_copy(d, detail);
    return emu_decode_fail(d, "tensormap has .replace and .cp_fenceproxy");
}

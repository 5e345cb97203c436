/* cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col: the checks that cuda.h documents, and the geometry of a box. */
#include "async/tensor_map.h"

#include "async/async.h"

#include <string.h>

enum { CU_SUCCESS = 0, CU_ERROR_INVALID_VALUE = 1, CU_ERROR_NOT_SUPPORTED = 801 };
enum { MAGIC = 0x50414d54 }; /* "TMAP" */
enum { MOST_BOX = 256, MOST_PIXELS = 1024, MOST_STEP = 8, MOST_BYTES = 228 * 1024 };
static const uint64_t most_size = UINT64_C(1) << 32, end_of_strides = UINT64_C(1) << 40;

/* Packed types: 16 elements lie together, in shared memory in 8 or 16 bytes. */
typedef struct type_fact {
    uint8_t bits;
    bool floating;
    uint8_t piece; /* bytes of 16 elements that leave a gap to the next 16 bytes; 0: there is none */
} type_fact;
static const type_fact type_facts[EMU_N_TENSOR_TYPES] = {
    [EMU_TENSOR_U8] = {8, false, 0},         [EMU_TENSOR_U16] = {16, false, 0},
    [EMU_TENSOR_U32] = {32, false, 0},       [EMU_TENSOR_S32] = {32, false, 0},
    [EMU_TENSOR_U64] = {64, false, 0},       [EMU_TENSOR_S64] = {64, false, 0},
    [EMU_TENSOR_F16] = {16, true, 0},        [EMU_TENSOR_F32] = {32, true, 0},
    [EMU_TENSOR_F64] = {64, true, 0},        [EMU_TENSOR_BF16] = {16, true, 0},
    [EMU_TENSOR_F32_FTZ] = {32, true, 0},    [EMU_TENSOR_TF32] = {32, true, 0},
    [EMU_TENSOR_TF32_FTZ] = {32, true, 0},   [EMU_TENSOR_U4_ALIGN8] = {4, false, 0},
    [EMU_TENSOR_U4_ALIGN16] = {4, false, 8}, [EMU_TENSOR_U6_ALIGN16] = {6, false, 12},
};
static const uint32_t swizzle_span[EMU_N_SWIZZLES] = {0, 32, 64, 128, 128, 128, 128};
enum { GAP_ELEMENTS = 128 /* of a row of the box, where there are gaps */ };

uint32_t emu_tensor_type_bits(emu_tensor_type type) { return type_facts[type].bits; }
static bool is_packed(int type) { return type_facts[type].bits < 8; }
static bool has_gaps(int type) { return type_facts[type].piece > 0; }

/* ---- checks ------------------------------------------------------------------------------------------------------ */
static const char *wrong_kinds(int type, uint32_t rank, int interleave, int swizzle, int promotion, int fill) {
    if (type < 0 || type >= EMU_N_TENSOR_TYPES) return "the data type is none of CUtensorMapDataType";
    if (rank == 0 || rank > EMU_TENSOR_RANKS) return "the rank must be 1 to 5";
    if (interleave < 0 || interleave > EMU_INTERLEAVE_32B) return "the interleave is none of CUtensorMapInterleave";
    if (interleave != EMU_INTERLEAVE_NONE && rank < 3) return "an interleaved tensor has at least 3 dimensions";
    if (swizzle < 0 || swizzle >= EMU_N_SWIZZLES) return "the swizzle is none of CUtensorMapSwizzle";
    if (promotion < 0 || promotion > 3) return "the L2 promotion is none of CUtensorMapL2promotion";
    if (fill < 0 || fill > EMU_FILL_NAN) return "the fill is none of CUtensorMapFloatOOBfill";
    if (has_gaps(type) && swizzle != EMU_SWIZZLE_NONE && swizzle < EMU_SWIZZLE_128B)
        return "types with gaps in shared memory take swizzles of 128 bytes alone";
    if (has_gaps(type) && swizzle == EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B)
        return "types with gaps in shared memory take no swizzle that flips 8 bytes";
    if (fill == EMU_FILL_NAN && !type_facts[type].floating) return "only floating-point tensors are filled with NaN";
    return NULL;
}

static const char *wrong_tensor(const emu_tensor_map *map, const uint64_t *sizes, const uint64_t *strides) {
    uint64_t unit = map->interleave == EMU_INTERLEAVE_32B || has_gaps(map->type) ? 32 : 16;
    if (map->address % unit)
        return unit == 32 ? "the global address must be 32-byte aligned" : "the global address must be 16-byte aligned";
    for (int i = 0; i < map->rank; i++)
        if (sizes[i] == 0 || sizes[i] > most_size) return "each size of the tensor must be 1 to 2^32";
    if (has_gaps(map->type) && sizes[0] % GAP_ELEMENTS) return "the inner size must be a multiple of 128 elements";
    if (is_packed(map->type) && sizes[0] % 2) return "the inner size must be a multiple of 2 elements";
    for (int i = 0; i + 1 < map->rank; i++) {
        if (strides[i] % unit)
            return unit == 32 ? "each stride must be a multiple of 32 bytes"
                              : "each stride must be a multiple of 16 bytes";
        if (strides[i] >= end_of_strides) return "each stride must be less than 2^40 bytes";
    }
    return NULL;
}

static const char *wrong_row(const emu_tensor_map *map, uint32_t elements) {
    const uint64_t bits = type_facts[map->type].bits, inner = (uint64_t)elements * bits / 8;
    if (has_gaps(map->type) && elements != GAP_ELEMENTS) return "the inner row of the box must be 128 elements";
    if (inner % 16 || elements * bits % 8) return "the inner row of the box must be a multiple of 16 bytes";
    if (map->swizzle != EMU_SWIZZLE_NONE && inner > swizzle_span[map->swizzle])
        return "the inner row of the box is longer than the swizzle's span";
    return NULL;
}

static const char *wrong_steps(const emu_tensor_map *map, const uint32_t *steps) {
    for (int i = 0; i < map->rank; i++)
        if (steps[i] == 0 || steps[i] > MOST_STEP) return "each element stride must be 1 to 8";
    return NULL;
}

/* The driver refuses boxes that no SM's shared memory could hold, and counts rows rounded down (seen with driver 580).
 */
static const char *wrong_box(const emu_tensor_map *map, const uint32_t *box, const uint32_t *steps) {
    uint64_t all = type_facts[map->type].bits;
    for (int i = 0; i < map->rank; i++) {
        if (box[i] == 0 || box[i] > MOST_BOX) return "each size of the box must be 1 to 256";
        if (steps[i] == 0) continue;
        all *= box[i] / steps[i];
    }
    const char *why = wrong_steps(map, steps);
    if (!why) why = wrong_row(map, box[0]);
    return why || all / 8 <= MOST_BYTES ? why : "the box is larger than shared memory (233472 bytes)";
}

/* Ranges of the corners, by rank. */
static const char *wrong_pixels(const emu_tensor_map *map, const int *lower, const int *upper, uint32_t channels,
                                uint32_t pixels, const uint32_t *steps) {
    static const int most[EMU_TENSOR_RANKS + 1] = {[3] = 32767, [4] = 127, [5] = 15};
    const int end = most[map->rank];
    for (int i = 0; i + 2 < map->rank; i++)
        if (lower[i] < -end - 1 || lower[i] > end || upper[i] < -end - 1 || upper[i] > end)
            return "a corner is out of range: 16 bits of 3 dimensions, 8 bits of 4, 5 bits of 5";
    if (channels == 0 || channels > MOST_BOX) return "the channels of a pixel must be 1 to 256";
    if (pixels == 0 || pixels > MOST_PIXELS) return "the pixels of a column must be 1 to 1024";
    const char *why = wrong_steps(map, steps);
    return why ? why : wrong_row(map, channels);
}

/* What both kinds of maps have. Returns a CUresult; *why: what is wrong. */
static int begin_map(emu_tensor_map *map, const emu_tensor_request *r, const char **why) {
    /* Of memory that a kernel will name, CUTLASS encodes the address 0. */
    if (!r->out || !r->sizes || !r->steps || (r->rank > 1 && !r->strides)) *why = "a pointer is NULL";
    if (!*why && (uintptr_t)r->out % 64) *why = "the tensor map must be 64-byte aligned";
    if (!*why) *why = wrong_kinds(r->type, r->rank, r->interleave, r->swizzle, r->promotion, r->fill);
    if (*why) return CU_ERROR_INVALID_VALUE;
    if (emu_options_get()->architecture < 100) {
        if (is_packed(r->type)) *why = "packed 4- and 6-bit types need sm_100";
        if (r->swizzle > EMU_SWIZZLE_128B) *why = "swizzles of 32- and 64-byte atoms need sm_100";
    }
    if (r->interleave != EMU_INTERLEAVE_NONE) *why = "interleaved tensors are not emulated";
    if (*why) return CU_ERROR_NOT_SUPPORTED;
    *map = (emu_tensor_map){.magic = MAGIC,
                            .type = (uint8_t)r->type,
                            .rank = (uint8_t)r->rank,
                            .interleave = (uint8_t)r->interleave,
                            .swizzle = (uint8_t)r->swizzle,
                            .fill = (uint8_t)r->fill,
                            .promotion = (uint8_t)r->promotion,
                            .address = (uintptr_t)r->address};
    *why = wrong_tensor(map, r->sizes, r->strides);
    return *why ? CU_ERROR_INVALID_VALUE : CU_SUCCESS;
}

static void end_map(emu_tensor_map *map, const emu_tensor_request *r) {
    for (uint32_t i = 0; i < r->rank; i++) {
        map->last[i] = (uint32_t)(r->sizes[i] - 1);
        map->step[i] = i == 0 ? 1 : (uint8_t)r->steps[i];
        if (i + 1 < r->rank) map->stride[i] = r->strides[i];
    }
    emu_tensor_map_seal(map);
    memcpy(r->out, map, sizeof *map);
}

int emu_tensor_map_tiled(const emu_tensor_request *r, const uint32_t *box, const char **why) {
    emu_tensor_map map;
    *why = box ? NULL : "a pointer is NULL";
    const int result = *why ? CU_ERROR_INVALID_VALUE : begin_map(&map, r, why);
    if (result != CU_SUCCESS) return result;
    if ((*why = wrong_box(&map, box, r->steps))) return CU_ERROR_INVALID_VALUE;
    for (uint32_t i = 0; i < r->rank; i++) map.box[i] = (uint16_t)box[i];
    end_map(&map, r);
    return CU_SUCCESS;
}

int emu_tensor_map_im2col(const emu_tensor_request *r, const int *lower, const int *upper, uint32_t channels,
                          uint32_t pixels, const char **why) {
    emu_tensor_map map;
    *why = !lower || !upper ? "a pointer is NULL" : r->rank < 3 ? "a tensor of pixels has 3 to 5 dimensions" : NULL;
    const int result = *why ? CU_ERROR_INVALID_VALUE : begin_map(&map, r, why);
    if (result != CU_SUCCESS) return result;
    if ((*why = wrong_pixels(&map, lower, upper, channels, pixels, r->steps))) return CU_ERROR_INVALID_VALUE;
    map.box[0] = (uint16_t)channels;
    map.pixels = (uint16_t)pixels;
    for (uint32_t i = 0; i + 2 < r->rank; i++) map.lower[i] = (int16_t)lower[i], map.upper[i] = (int16_t)upper[i];
    end_map(&map, r);
    return CU_SUCCESS;
}

/* ---- the 128 bytes ----------------------------------------------------------------------------------------------- */
static uint32_t checksum_of(const emu_tensor_map *map) {
    emu_tensor_map copy = *map;
    copy.checksum = 0;
    uint32_t sum = 2166136261u; /* FNV-1a */
    const uint8_t *byte = (const uint8_t *)&copy;
    for (size_t i = 0; i < sizeof copy; i++) sum = (sum ^ byte[i]) * 16777619u;
    return sum;
}

void emu_tensor_map_seal(emu_tensor_map *map) { map->checksum = checksum_of(map); }

const char *emu_tensor_map_wrong(const emu_tensor_map *map) {
    if (map->magic != MAGIC) return "these 128 bytes are no tensor map";
    if (map->checksum != checksum_of(map)) return "the tensor map was changed after it was encoded";
    return NULL;
}

/* ---- geometry ---------------------------------------------------------------------------------------------------- */
static uint32_t count_along(const emu_tensor_map *map, int dimension) {
    return ((uint32_t)map->box[dimension] + map->step[dimension] - 1) / map->step[dimension];
}

uint32_t emu_tensor_row_bytes(const emu_tensor_map *map) {
    return (uint32_t)map->box[0] * type_facts[map->type].bits / 8;
}

uint32_t emu_tensor_piece(const emu_tensor_map *map) { return has_gaps(map->type) ? type_facts[map->type].piece : 16; }

uint32_t emu_tensor_pitch(const emu_tensor_map *map) {
    if (map->swizzle != EMU_SWIZZLE_NONE) return swizzle_span[map->swizzle];
    return emu_tensor_row_bytes(map) / emu_tensor_piece(map) * 16;
}

uint32_t emu_tensor_rows(const emu_tensor_map *map, emu_tensor_mode mode) {
    if (mode == EMU_TENSOR_FOUR) return 4;
    if (mode == EMU_TENSOR_IM2COL) return map->pixels;
    uint32_t rows = 1;
    for (int i = 1; i < map->rank; i++) rows *= count_along(map, i);
    return rows;
}

/* Coordinates of a row, of its first element. */
static void row_at(const emu_tensor_map *map, const emu_tensor_place *place, uint32_t row,
                   int64_t at[EMU_TENSOR_RANKS]) {
    if (place->mode == EMU_TENSOR_IM2COL) {
        emu_tensor_pixel(map, place, row, at);
        return;
    }
    at[0] = place->coordinate[0];
    if (place->mode == EMU_TENSOR_FOUR) {
        at[1] = place->coordinate[1 + row];
        return;
    }
    for (int i = 1; i < map->rank; i++) {
        uint32_t count = count_along(map, i);
        at[i] = (int64_t)place->coordinate[i] + (int64_t)(row % count) * map->step[i];
        row /= count;
    }
}

void emu_tensor_row(const emu_tensor_map *map, const emu_tensor_place *place, uint32_t row, uint32_t *from,
                    uint32_t *to, uint64_t *address) {
    const int64_t bits = type_facts[map->type].bits;
    int64_t at[EMU_TENSOR_RANKS] = {0};
    *address = map->address;
    *from = *to = 0;
    row_at(map, place, row, at);
    for (int i = 1; i < map->rank; i++) {
        if (at[i] < 0 || at[i] > map->last[i]) return;
        *address += (uint64_t)at[i] * map->stride[i - 1];
    }
    int64_t first = at[0] < 0 ? -at[0] : 0;
    int64_t end = (int64_t)map->last[0] + 1 - at[0];
    if (end > map->box[0]) end = map->box[0];
    if (first >= end) return;
    *from = (uint32_t)(first * bits / 8);
    *to = (uint32_t)(end * bits / 8);
    *address += (uint64_t)((at[0] + first) * bits / 8);
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */
/* A NaN in every type, and what an H200 fills with. */
enum { FILL_NAN = 0x7ff7 };

void emu_tensor_fill(const emu_tensor_map *map, uint8_t *bytes, uint32_t n) {
    const uint16_t fill = map->fill == EMU_FILL_NAN ? FILL_NAN : 0;
    for (uint32_t at = 0; at < n; at += 2) memcpy(bytes + at, &fill, 2);
}

/* TF32 keeps 10 bits of the fraction: to nearest even, one NaN. */
static uint32_t round_tf32(uint32_t word) {
    if ((word & 0x7fffffff) > 0x7f800000) return 0x7fffe000;
    return (word + 0xfff + (word >> 13 & 1)) & 0xffffe000;
}

void emu_tensor_convert(const emu_tensor_map *map, uint8_t *bytes, uint32_t n) {
    if (map->type != EMU_TENSOR_TF32 && map->type != EMU_TENSOR_TF32_FTZ) return;
    for (uint32_t at = 0; at < n; at += 4) {
        uint32_t word;
        memcpy(&word, bytes + at, 4);
        word = round_tf32(word);
        memcpy(bytes + at, &word, 4);
    }
}

/* Reductions of engines: element by element, as atom and red do (PTX ISA, "cp.reduce.async.bulk"). */
#include "async/copy.h"

#include <math.h>
#include <string.h>

const char *const emu_reduce_words[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", NULL};

#define BIT(kind) (1u << EMU_REDUCE_##kind)
enum {
    BITWISE = BIT(AND) | BIT(OR) | BIT(XOR),
    ORDERED = BIT(ADD) | BIT(MIN) | BIT(MAX),
    COUNTING = BIT(INC) | BIT(DEC)
};

bool emu_reduce_valid(emu_reduce_kind kind, ptx_type type, bool shared) {
    static const struct {
        ptx_type type;
        uint32_t global, shared;
    } rows[] = {
        {PTX_U32, ORDERED | COUNTING, ORDERED | COUNTING},
        {PTX_S32, ORDERED, ORDERED},
        {PTX_U64, ORDERED, BIT(ADD)},
        {PTX_S64, BIT(MIN) | BIT(MAX), 0},
        {PTX_B32, BITWISE, BITWISE},
        {PTX_B64, BITWISE, 0},
        {PTX_F16, ORDERED, 0},
        {PTX_BF16, ORDERED, 0},
        {PTX_F32, BIT(ADD), 0},
        {PTX_F64, BIT(ADD), 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type) return (shared ? rows[i].shared : rows[i].global) >> kind & 1;
    return false;
}

/* ---- floats of 16 bits as float
 * -------------------------------------------------------------------------------------------- */
static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
    float magnitude = exponent ? float_of((exponent + 112) << 23 | fraction << 13) : (float)fraction * 0x1p-24f;
    return float_of(bits_of(magnitude) | sign);
}

/* To nearest even. Subnormal results: the addition aligns the last bit, and rounds. */
static uint16_t half_of_float(float value) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)0x7fff;
    if (magnitude >= 0x47800000) return (uint16_t)(sign | 0x7c00); /* 65536 and above */
    if (magnitude < 0x38800000) return (uint16_t)(sign | (bits_of(float_of(magnitude) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

static float bfloat_to_float(uint16_t bits) { return float_of((uint32_t)bits << 16); }
static uint16_t bfloat_of_float(float value) {
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float combine(emu_reduce_kind kind, float a, float b) {
    if (kind == EMU_REDUCE_ADD) return a + b;
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
    if (a == b) return signbit(a) == (kind == EMU_REDUCE_MIN) ? a : b; /* -0 is less than +0 */
    return (a < b) == (kind == EMU_REDUCE_MIN) ? a : b;
}

static float flush(float value) {
    uint32_t bits = bits_of(value);
    return bits & 0x7f800000 ? value : float_of(bits & 0x80000000);
}

/* ---- elements
 * -------------------------------------------------------------------------------------------------------------------
 */
static uint64_t reduce_integer(emu_reduce_kind kind, ptx_type type, uint64_t a, uint64_t b) {
    bool is_signed = type == PTX_S32 || type == PTX_S64;
    bool less = is_signed ? (type == PTX_S32 ? (int32_t)a < (int32_t)b : (int64_t)a < (int64_t)b) : a < b;
    switch (kind) {
        case EMU_REDUCE_ADD: return a + b;
        case EMU_REDUCE_MIN: return less ? a : b;
        case EMU_REDUCE_MAX: return less ? b : a;
        case EMU_REDUCE_INC: return a >= b ? 0 : a + 1;
        case EMU_REDUCE_DEC: return a == 0 || a > b ? b : a - 1;
        case EMU_REDUCE_AND: return a & b;
        case EMU_REDUCE_OR: return a | b;
        default: return a ^ b;
    }
}

static uint64_t reduce_element(emu_reduce_kind kind, ptx_type type, bool global, uint64_t a, uint64_t b) {
    double x, y;
    switch (type) {
        case PTX_F16: return half_of_float(combine(kind, half_to_float((uint16_t)a), half_to_float((uint16_t)b)));
        case PTX_BF16:
            return bfloat_of_float(combine(kind, bfloat_to_float((uint16_t)a), bfloat_to_float((uint16_t)b)));
        case PTX_F32:
            if (!global) return bits_of(float_of((uint32_t)a) + float_of((uint32_t)b));
            return bits_of(flush(flush(float_of((uint32_t)a)) + flush(float_of((uint32_t)b))));
        case PTX_F64:
            memcpy(&x, &a, sizeof x);
            memcpy(&y, &b, sizeof y);
            x += y;
            memcpy(&a, &x, sizeof a);
            return a;
        default: return reduce_integer(kind, type, a, b);
    }
}

void emu_reduce(emu_reduce_kind kind, ptx_type type, bool global, uint8_t *memory, const uint8_t *operand,
                uint32_t bytes) {
    const uint32_t size = ptx_type_bytes[type];
    for (uint32_t at = 0; at < bytes; at += size) {
        uint64_t a = 0, b = 0;
        memcpy(&a, memory + at, size);
        memcpy(&b, operand + at, size);
        a = reduce_element(kind, type, global, a, b);
        memcpy(memory + at, &a, size);
    }
}

/* Data types: sizes, names, what their bits mean, and conversion of single elements to and from fp64. */
#include "core/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct dtype_info {
    const char *name;
    int bits;
    double roundoff;
} dtype_info;

static const dtype_info dtypes[RIDGE_DTYPE_COUNT] = {[RIDGE_DTYPE_NONE] = {"?", 0, 0.0},
#define DTYPE_INFO(dtype, text, bits, unit) [RIDGE_##dtype] = {text, bits, unit},
                                                     RIDGE_DTYPE_LIST(DTYPE_INFO)
#undef DTYPE_INFO
};

/* ---- what the bits mean ---------------------------------------------------------------------------------------- */

static const ridge_dtype_traits traits[RIDGE_DTYPE_COUNT] = {
    [RIDGE_F32] = {.code = kDLFloat,
                   .exponent = 0x7f800000,
                   .poison = 0x7fa5a5a5,
                   .guard = 0x7fc00001,
                   .guard_free = 0x3fffff,
                   .least = 0x1p-149,
                   .most = FLT_MAX,
                   .overflows = true},
    [RIDGE_BF16] = {.code = kDLBfloat,
                    .exponent = 0x7f80,
                    .poison = 0x7fa5,
                    .guard = 0x7fc1,
                    .guard_free = 0x3f,
                    .least = 0x1p-133,
                    .most = 0x1.fep127,
                    .overflows = true},
    [RIDGE_F16] = {.code = kDLFloat,
                   .exponent = 0x7c00,
                   .poison = 0x7da5,
                   .guard = 0x7e01,
                   .guard_free = 0x1ff,
                   .least = 0x1p-24,
                   .most = 65504,
                   .overflows = true},
    [RIDGE_F64] = {.code = kDLFloat,
                   .exponent = UINT64_C(0x7ff0000000000000),
                   .poison = UINT64_C(0x7ff5a5a5a5a5a5a5),
                   .guard = UINT64_C(0x7ff8000000000001),
                   .guard_free = UINT64_C(0x7ffffffffffff),
                   .least = 0x1p-1074,
                   .most = DBL_MAX,
                   .overflows = true},
    [RIDGE_I32] = {.code = kDLInt,
                   .poison = 0xa5a5a5a5,
                   .guard = 0x40000001,
                   .guard_free = 0x3fffffff,
                   .most = INT32_MAX,
                   .overflows = true},
    [RIDGE_I64] = {.code = kDLInt,
                   .poison = 0xa5a5a5a5,
                   .guard = 0x40000001,
                   .guard_free = 0x3fffffff,
                   .most = 0x1p63,
                   .overflows = true},
    /* Arithmetic in tf32 may flush what its 11 bits cannot hold. */
    [RIDGE_TF32] = {.code = kDLFloat, .exponent = 0x7f800000, .least = 0x1p-136, .most = FLT_MAX, .overflows = true},
    [RIDGE_E4M3] = {.code = RIDGE_DLPACK_E4M3,
                    .exponent = 0x7f,
                    .poison = 0xff,
                    .guard = 0x7f,
                    .guard_free = 0x80,
                    .least = 0x1p-9,
                    .most = 448,
                    .exponent_bits = 4,
                    .fraction_bits = 3,
                    .is_signed = true},
    [RIDGE_E5M2] = {.code = RIDGE_DLPACK_E5M2,
                    .exponent = 0x7c,
                    .poison = 0xfd,
                    .guard = 0x7d,
                    .guard_free = 0x82,
                    .least = 0x1p-16,
                    .most = 57344,
                    .exponent_bits = 5,
                    .fraction_bits = 2,
                    .is_signed = true,
                    .has_infinity = true},
    [RIDGE_E2M1] = {.code = RIDGE_DLPACK_E2M1,
                    .guard = 0x80,
                    .guard_free = 0x7f,
                    .least = 0.5,
                    .most = 6,
                    .exponent_bits = 2,
                    .fraction_bits = 1,
                    .is_signed = true},
    /* All codes of ue8m0 have a meaning. Its poison is 2^127, which scales no block of fp32 numbers; it counts as odd, so
     * that a scan that looks for NaN finds it. */
    [RIDGE_UE8M0] = {.code = RIDGE_DLPACK_UE8M0,
                     .exponent = 0xfe,
                     .poison = 0xfe,
                     .guard = 0xff,
                     .least = 0x1p-127,
                     .most = 0x1p127},
    [RIDGE_UE4M3] = {.code = RIDGE_DLPACK_E4M3,
                     .exponent = 0x7f,
                     .poison = 0xff,
                     .guard = 0x7f,
                     .guard_free = 0x80,
                     .least = 0x1p-9,
                     .most = 448,
                     .exponent_bits = 4,
                     .fraction_bits = 3},
    /* All codes of i8 have a meaning. Its poison is -128, which symmetric quantizers do not make. */
    [RIDGE_I8] = {.code = kDLInt, .poison = 0x80, .guard = 0x41, .guard_free = 0xbe, .most = 127},
};

const ridge_dtype_traits *ridge_dtype_traits_of(ridge_dtype dtype) {
    return &traits[(unsigned)dtype < RIDGE_DTYPE_COUNT ? dtype : RIDGE_DTYPE_NONE];
}

/* ---- names and sizes ------------------------------------------------------------------------------------------- */

static const dtype_info *info(ridge_dtype dtype) {
    return &dtypes[(unsigned)dtype < RIDGE_DTYPE_COUNT ? dtype : RIDGE_DTYPE_NONE];
}

const char *ridge_dtype_name(ridge_dtype dtype) { return info(dtype)->name; }
int ridge_dtype_bits(ridge_dtype dtype) { return info(dtype)->bits; }
size_t ridge_dtype_size(ridge_dtype dtype) { return ((size_t)info(dtype)->bits + 7) / 8; }
size_t ridge_dtype_bytes(ridge_dtype dtype, int64_t elements) {
    const size_t n = (size_t)elements;
    return ridge_dtype_is_packed(dtype) ? (n + 1) / 2 : n * ridge_dtype_size(dtype);
}
double ridge_dtype_roundoff(ridge_dtype dtype) { return info(dtype)->roundoff; }

ridge_dtype ridge_dtype_parse(const char *name) {
    for (int d = 1; d < RIDGE_DTYPE_COUNT; d++)
        if (strcmp(name, dtypes[d].name) == 0) return (ridge_dtype)d;
    return RIDGE_DTYPE_NONE;
}

DLDataType ridge_dtype_to_dlpack(ridge_dtype dtype) {
    if (info(dtype)->bits == 0) return (DLDataType){kDLOpaqueHandle, 0, 0};
    return (DLDataType){ridge_dtype_traits_of(dtype)->code, (uint8_t)info(dtype)->bits, 1};
}

ridge_dtype ridge_dtype_of(const DLTensor *tensor) {
    for (int d = 1; d < RIDGE_DTYPE_COUNT; d++) {
        const DLDataType type = ridge_dtype_to_dlpack((ridge_dtype)d);
        if (type.code == tensor->dtype.code && type.bits == tensor->dtype.bits && tensor->dtype.lanes == 1)
            return (ridge_dtype)d;
    }
    return RIDGE_DTYPE_NONE;
}

/* ---- conversion ------------------------------------------------------------------------------------------------ */

static double load_bf16(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* 2^exponent, of exponents of normal numbers. The library's ldexp took half of the time of checking small types. */
static double power_of_two(int exponent) {
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* The exponent of a positive number; below that of the smallest normal number for what is smaller. */
static int exponent_of(double magnitude) {
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    return (int)(bits >> 52) - 1023;
}

/* The value of exponent and fraction of a type of at most 16 bits. */
static double value_of_fields(unsigned fields, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1, exponent = (int)(fields >> fraction_bits);
    const unsigned one = 1u << fraction_bits, significand = (fields & (one - 1)) | (exponent ? one : 0);
    return significand * power_of_two((exponent ? exponent : 1) - bias - fraction_bits);
}

/* Its inverse, of a magnitude that the type has. */
static unsigned fields_of_value(double magnitude, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    if (magnitude < power_of_two(1 - bias)) return (unsigned)(magnitude * power_of_two(bias - 1 + fraction_bits));
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    return (unsigned)((bits >> (52 - fraction_bits)) - ((uint64_t)(1023 - bias) << fraction_bits));
}

static double load_f16(uint16_t h) {
    const unsigned fields = h & 0x7fff;
    const double magnitude = fields > 0x7c00    ? (double)NAN
                             : fields == 0x7c00 ? (double)INFINITY
                                                : value_of_fields(fields, 5, 10);
    return h >> 15 ? -magnitude : magnitude;
}

/* A magnitude with `digits` significant bits, rounded to nearest even, with the smallest normal exponent emin. A sum with
 * 1.5 * 2^52 units of the last digit has no room for less than such a unit. */
static double round_digits(double magnitude, int digits, int emin) {
    const int exponent = exponent_of(magnitude);
    const double units = 1.5 * power_of_two(52 + (exponent < emin ? emin : exponent) + 1 - digits);
    return magnitude + units - units;
}

/* The same of any value; magnitudes above max become infinity. */
static double round_to(double value, int digits, int emin, double max) {
    if (!isfinite(value) || value == 0.0) return value;
    const double magnitude = fabs(value);
    if (magnitude >= 2 * max) return copysign((double)INFINITY, value);
    const double rounded = round_digits(magnitude, digits, emin);
    return copysign(rounded > max ? (double)INFINITY : rounded, value);
}

static uint16_t store_bf16(double value) {
    float f = (float)round_to(value, 8, -126, 0x1.fep127);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(isnan(value) ? (bits >> 16 | 0x40) : bits >> 16);
}

static uint16_t store_f16(double value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value)) return sign | 0x7e00;
    const double magnitude = fabs(round_to(value, 11, -14, 65504.0));
    return sign | (uint16_t)(isinf(magnitude) ? 0x7c00 : fields_of_value(magnitude, 5, 10));
}

/* A code of a type of at most 8 bits. */
static double load_small(unsigned code, ridge_dtype dtype) {
    const ridge_dtype_traits *t = ridge_dtype_traits_of(dtype);
    const unsigned sign = 1u << (t->exponent_bits + t->fraction_bits), fields = code & (sign - 1);
    if (!t->is_signed && code >= sign) return (double)NAN; /* no value of the type */
    double value;
    if (t->exponent && (fields & t->exponent) == t->exponent)
        value = t->has_infinity && fields == t->exponent ? (double)INFINITY : (double)NAN;
    else
        value = value_of_fields(fields, t->exponent_bits, t->fraction_bits);
    return code & sign ? -value : value;
}

static bool small_has(const ridge_dtype_traits *t, double value) {
    return !isnan(value) && (t->is_signed || !(value < 0));
}

/* The magnitude of what such a type has nearest to a value: at most its largest, or infinity if it has that. */
static double round_small(const ridge_dtype_traits *t, double value) {
    const double magnitude = fabs(value);
    if (magnitude > t->most) return isinf(value) && t->has_infinity ? magnitude : t->most;
    return round_digits(magnitude, t->fraction_bits + 1, 2 - (1 << (t->exponent_bits - 1)));
}

static unsigned store_small(double value, ridge_dtype dtype) {
    const ridge_dtype_traits *t = ridge_dtype_traits_of(dtype);
    const unsigned sign = signbit(value) && t->is_signed ? 1u << (t->exponent_bits + t->fraction_bits) : 0;
    if (!small_has(t, value)) return t->exponent ? 0x7f : 7;
    const double magnitude = round_small(t, value);
    if (isinf(magnitude)) return sign | (unsigned)t->exponent;
    return sign | fields_of_value(magnitude, t->exponent_bits, t->fraction_bits);
}

static double rounded_small(double value, ridge_dtype dtype) {
    const ridge_dtype_traits *t = ridge_dtype_traits_of(dtype);
    if (!small_has(t, value)) return t->exponent ? (double)NAN : t->most;
    return t->is_signed ? copysign(round_small(t, value), value) : round_small(t, value);
}

static double load_ue8m0(unsigned code) { return code == 0xff ? (double)NAN : power_of_two((int)code - 127); }

static unsigned store_ue8m0(double value) {
    if (isnan(value) || value < 0) return 0xff;
    if (value >= 0x1.8p126) return 0xfe;
    if (value < 0x1.8p-127) return 0;
    int exponent;
    const double fraction = frexp(value, &exponent);
    return (unsigned)(exponent - 1 + (fraction >= 0.75) + 127);
}

/* Integers: round to nearest even; NaN becomes the minimum; values out of range saturate. */
static int32_t store_i32(double value) {
    if (!(value > INT32_MIN)) return INT32_MIN;
    return value >= INT32_MAX ? INT32_MAX : (int32_t)nearbyint(value);
}

static int64_t store_i64(double value) {
    if (!(value > -0x1p63)) return INT64_MIN;
    return value >= 0x1p63 ? INT64_MAX : (int64_t)nearbyint(value);
}

static int8_t store_i8(double value) {
    if (!(value > INT8_MIN)) return INT8_MIN;
    return value >= INT8_MAX ? INT8_MAX : (int8_t)nearbyint(value);
}

static int half_of_byte(int64_t index) { return index & 1 ? 4 : 0; }

double ridge_load(const void *data, ridge_dtype dtype, int64_t index) {
    if (dtype == RIDGE_E2M1)
        return load_small(((const unsigned char *)data)[index / 2] >> half_of_byte(index) & 15u, dtype);
    const char *p = (const char *)data + (size_t)index * ridge_dtype_size(dtype);
    switch (ridge_dtype_stored(dtype)) {
        case RIDGE_F32: {
            float v;
            memcpy(&v, p, sizeof v);
            return v;
        }
        case RIDGE_F64: {
            double v;
            memcpy(&v, p, sizeof v);
            return v;
        }
        case RIDGE_I32: {
            int32_t v;
            memcpy(&v, p, sizeof v);
            return v;
        }
        case RIDGE_I64: {
            int64_t v;
            memcpy(&v, p, sizeof v);
            return (double)v;
        }
        case RIDGE_BF16: {
            uint16_t v;
            memcpy(&v, p, sizeof v);
            return load_bf16(v);
        }
        case RIDGE_F16: {
            uint16_t v;
            memcpy(&v, p, sizeof v);
            return load_f16(v);
        }
        case RIDGE_E4M3:
        case RIDGE_E5M2:
        case RIDGE_UE4M3: return load_small((unsigned char)*p, dtype);
        case RIDGE_UE8M0: return load_ue8m0((unsigned char)*p);
        case RIDGE_I8: return (double)(int8_t)*p;
        default: return (double)NAN;
    }
}

static void store_half_of_byte(unsigned char *byte, int half, unsigned code) {
    *byte = (unsigned char)((*byte & ~(15u << half)) | code << half);
}

void ridge_store(void *data, ridge_dtype dtype, int64_t index, double value) {
    if (dtype == RIDGE_E2M1) {
        store_half_of_byte((unsigned char *)data + index / 2, half_of_byte(index), store_small(value, dtype));
        return;
    }
    char *p = (char *)data + (size_t)index * ridge_dtype_size(dtype);
    switch (ridge_dtype_stored(dtype)) {
        case RIDGE_F32: {
            float v = (float)value;
            memcpy(p, &v, sizeof v);
            break;
        }
        case RIDGE_F64: memcpy(p, &value, sizeof value); break;
        case RIDGE_I32: {
            int32_t v = store_i32(value);
            memcpy(p, &v, sizeof v);
            break;
        }
        case RIDGE_I64: {
            int64_t v = store_i64(value);
            memcpy(p, &v, sizeof v);
            break;
        }
        case RIDGE_BF16: {
            uint16_t v = store_bf16(value);
            memcpy(p, &v, sizeof v);
            break;
        }
        case RIDGE_F16: {
            uint16_t v = store_f16(value);
            memcpy(p, &v, sizeof v);
            break;
        }
        case RIDGE_E4M3:
        case RIDGE_E5M2:
        case RIDGE_UE4M3: *(unsigned char *)p = (unsigned char)store_small(value, dtype); break;
        case RIDGE_UE8M0: *(unsigned char *)p = (unsigned char)store_ue8m0(value); break;
        case RIDGE_I8: *(int8_t *)p = store_i8(value); break;
        default: break;
    }
}

double ridge_rounded(ridge_dtype dtype, double value) {
    switch (ridge_dtype_stored(dtype)) {
        case RIDGE_F32: return (double)(float)value;
        case RIDGE_BF16: return round_to(value, 8, -126, 0x1.fep127);
        case RIDGE_F16: return round_to(value, 11, -14, 65504.0);
        case RIDGE_E4M3:
        case RIDGE_E5M2:
        case RIDGE_UE4M3:
        case RIDGE_E2M1: return rounded_small(value, dtype);
        default: break;
    }
    char stored[8] = {0};
    ridge_store(stored, dtype, 0, value);
    return ridge_load(stored, dtype, 0);
}

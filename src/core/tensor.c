/* Data types: sizes, names, and conversion of single elements to and from fp64. */
#include "ridge/tensor.h"

#include <math.h>
#include <string.h>

typedef struct dtype_info {
    const char *name;
    size_t bytes;
    double roundoff;
    DLDataType dlpack;
} dtype_info;

#define CODE(dtype) \
    ((dtype) == RIDGE_BF16 ? kDLBfloat : (dtype) == RIDGE_I32 || (dtype) == RIDGE_I64 ? kDLInt : kDLFloat)

static const dtype_info dtypes[RIDGE_DTYPE_COUNT] = {[RIDGE_DTYPE_NONE] = {"?", 0, 0.0, {kDLOpaqueHandle, 0, 0}},
#define DTYPE_INFO(dtype, text, size, unit) [RIDGE_##dtype] = {text, size, unit, {CODE(RIDGE_##dtype), (size)*8, 1}},
                                                     RIDGE_DTYPE_LIST(DTYPE_INFO)
#undef DTYPE_INFO
};

static const dtype_info *info(ridge_dtype dtype) {
    return &dtypes[(unsigned)dtype < RIDGE_DTYPE_COUNT ? dtype : RIDGE_DTYPE_NONE];
}

const char *ridge_dtype_name(ridge_dtype dtype) { return info(dtype)->name; }
size_t ridge_dtype_size(ridge_dtype dtype) { return info(dtype)->bytes; }
double ridge_dtype_roundoff(ridge_dtype dtype) { return info(dtype)->roundoff; }

ridge_dtype ridge_dtype_parse(const char *name) {
    for (int d = 1; d < RIDGE_DTYPE_COUNT; d++)
        if (strcmp(name, dtypes[d].name) == 0) return (ridge_dtype)d;
    return RIDGE_DTYPE_NONE;
}

DLDataType ridge_dtype_to_dlpack(ridge_dtype dtype) { return info(dtype)->dlpack; }

ridge_dtype ridge_dtype_of(const DLTensor *tensor) {
    for (int d = 1; d < RIDGE_DTYPE_COUNT; d++) {
        const DLDataType *type = &dtypes[d].dlpack;
        if (type->code == tensor->dtype.code && type->bits == tensor->dtype.bits && tensor->dtype.lanes == 1)
            return (ridge_dtype)d;
    }
    return RIDGE_DTYPE_NONE;
}

static double load_bf16(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static double load_f16(uint16_t h) {
    int exponent = (h >> 10) & 31, mantissa = h & 1023;
    double magnitude = exponent == 31 ? (mantissa ? (double)NAN : (double)INFINITY)
                       : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                      : ldexp(mantissa, -24);
    return h >> 15 ? -magnitude : magnitude;
}

/* Rounds to `digits` significant bits, to nearest even, with the smallest normal exponent emin. Magnitudes above max
 * become infinity. */
static double round_to(double value, int digits, int emin, double max) {
    if (!isfinite(value) || value == 0.0) return value;
    int exponent;
    (void)frexp(value, &exponent); /* |value| = f * 2^exponent, f in [0.5, 1) */
    if (exponent - 1 < emin) exponent = emin + 1;
    double rounded = ldexp(nearbyint(ldexp(value, digits - exponent)), exponent - digits);
    return fabs(rounded) > max ? copysign((double)INFINITY, value) : rounded;
}

static uint16_t store_bf16(double value) {
    float f = (float)round_to(value, 8, -126, 0x1.fep127);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(isnan(value) ? (bits >> 16 | 0x40) : bits >> 16);
}

static uint16_t store_f16(double value) {
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (isnan(value)) return sign | 0x7e00;
    double magnitude = fabs(round_to(value, 11, -14, 65504.0));
    if (isinf(magnitude)) return sign | 0x7c00;
    if (magnitude < 0x1p-14) return (uint16_t)(sign | (uint16_t)ldexp(magnitude, 24));
    int exponent;
    double fraction = frexp(magnitude, &exponent);
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(fraction, 11) - 1024));
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

double ridge_load(const void *data, ridge_dtype dtype, int64_t index) {
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
        default: return (double)NAN;
    }
}

void ridge_store(void *data, ridge_dtype dtype, int64_t index, double value) {
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
        default: break;
    }
}

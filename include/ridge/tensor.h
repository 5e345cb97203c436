/* Tensors are DLPack's DLTensor, owned by the caller. NumPy, PyTorch and C arrays pass without copies.
 *
 * The last dimension is contiguous (stride 1). Every other stride is at least the span of the dimensions below it.
 * strides == NULL means dense row-major. Strides count elements, not bytes. Some matrices may be column-major instead:
 * strides {1, >= rows}. */
#ifndef RIDGE_TENSOR_H
#define RIDGE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "ridge/export.h"

/* If the compiler finds no DLPack header, ridge's installed copy is used. */
#if defined(__has_include)
#if !__has_include(<dlpack/dlpack.h>)
#define RIDGE_OWN_DLPACK
#endif
#endif
#ifdef RIDGE_OWN_DLPACK
#include "ridge/dlpack.h"
#undef RIDGE_OWN_DLPACK
#else
#include <dlpack/dlpack.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { RIDGE_MAX_RANK = 8 };        /* of a tensor in a target's descriptor */
enum { RIDGE_MAX_TENSOR_RANK = 8 }; /* of a caller's tensor: leading dimensions fold into rows */

/* Name, bits of an element, unit roundoff (0: integers). tf32 is stored as f32; arithmetic may round each factor of a
 * product to 11 significant bits, and its roundoff is that of the factors. tf32 follows f32, so that DLPack's float32
 * maps to f32.
 *
 * The types of 8 bits and less are those of the OCP formats. e4m3 has no infinity and reaches 448, e5m2 reaches 57344.
 * e2m1 has neither infinity nor NaN, reaches 6, and lies in pairs: value 2i is the low half of byte i. ue8m0 (powers of
 * two from 2^-127 to 2^127) and ue4m3 (e4m3 without a sign) are types of scales. DLPack has no ue4m3: it passes as
 * e4m3.
 *
 * i32 and i64 are indices. i8 is a factor of products, from -128 to 127. */
#define RIDGE_DTYPE_LIST(X)      \
    X(F32, "f32", 32, 0x1p-24)   \
    X(BF16, "bf16", 16, 0x1p-8)  \
    X(F16, "f16", 16, 0x1p-11)   \
    X(F64, "f64", 64, 0x1p-53)   \
    X(I32, "i32", 32, 0.0)       \
    X(I64, "i64", 64, 0.0)       \
    X(TF32, "tf32", 32, 0x1p-11) \
    X(E4M3, "e4m3", 8, 0x1p-4)   \
    X(E5M2, "e5m2", 8, 0x1p-3)   \
    X(E2M1, "e2m1", 4, 0x1p-2)   \
    X(UE8M0, "ue8m0", 8, 0x1p-1) \
    X(UE4M3, "ue4m3", 8, 0x1p-4) \
    X(I8, "i8", 8, 0.0)

/* Codes of DLPack 1.1, which older headers do not name. */
enum { RIDGE_DLPACK_E4M3 = 10, RIDGE_DLPACK_E5M2 = 12, RIDGE_DLPACK_UE8M0 = 14, RIDGE_DLPACK_E2M1 = 17 };

typedef enum ridge_dtype {
    RIDGE_DTYPE_NONE = 0,
#define RIDGE_DTYPE_ENUM(name, text, bytes, unit) RIDGE_##name,
    RIDGE_DTYPE_LIST(RIDGE_DTYPE_ENUM)
#undef RIDGE_DTYPE_ENUM
        RIDGE_DTYPE_COUNT
} ridge_dtype;
/* The storage type: f32 for tf32, else the type itself. */
static inline ridge_dtype ridge_dtype_stored(ridge_dtype dtype) { return dtype == RIDGE_TF32 ? RIDGE_F32 : dtype; }

static inline int ridge_dtype_is_integer(ridge_dtype dtype) {
    return dtype == RIDGE_I32 || dtype == RIDGE_I64 || dtype == RIDGE_I8;
}

/* Types and statuses share the prefix RIDGE_; no name is in both lists. */

RIDGE_API const char *ridge_dtype_name(ridge_dtype dtype); /* "f32"; "?" for an unknown value */
RIDGE_API ridge_dtype ridge_dtype_parse(const char *name); /* RIDGE_DTYPE_NONE if unknown */
RIDGE_API size_t ridge_dtype_size(ridge_dtype dtype);      /* bytes of an element, e2m1: a pair; 0 if unknown */
RIDGE_API int ridge_dtype_bits(ridge_dtype dtype);         /* of one element; 0 for an unknown value */
/* Bytes of so many elements that lie side by side. */
RIDGE_API size_t ridge_dtype_bytes(ridge_dtype dtype, int64_t elements);
RIDGE_API double ridge_dtype_roundoff(ridge_dtype dtype); /* half an ulp at 1.0 */
RIDGE_API DLDataType ridge_dtype_to_dlpack(ridge_dtype dtype);
RIDGE_API ridge_dtype ridge_dtype_of(const DLTensor *tensor); /* RIDGE_DTYPE_NONE if not supported */

/* Address of the first element: data + byte_offset. */
static inline void *ridge_data(const DLTensor *t) { return (char *)t->data + t->byte_offset; }

/* Elements from one row (index of dimension 0) to the next. */
static inline int64_t ridge_row_stride(const DLTensor *t) {
    if (t->strides) return t->strides[0];
    int64_t stride = 1;
    for (int d = 1; d < t->ndim; d++) stride *= t->shape[d];
    return stride;
}

/* ridge_load converts one element to fp64. ridge_store rounds an fp64 value to the type, to nearest even. index counts
 * elements from data; a store to e2m1 keeps the other half of its byte.
 *
 * Types of 8 bits and less saturate: what rounds beyond the largest finite value becomes that value, and so does
 * infinity where the type has none; integers saturate, too. ue8m0, whose values have no significand, rounds a tie up.
 * NaN is stored as 0x7f, in ue8m0 as 0xff; in e2m1, which has no NaN, it becomes 6, as cvt.satfinite of PTX has it. A
 * negative number is NaN in ue8m0 and ue4m3, and zero is the least value of ue8m0. */
RIDGE_API double ridge_load(const void *data, ridge_dtype dtype, int64_t index);
RIDGE_API void ridge_store(void *data, ridge_dtype dtype, int64_t index, double value);

/* What ridge_load gives of what ridge_store makes of a value. */
RIDGE_API double ridge_rounded(ridge_dtype dtype, double value);

#ifdef __cplusplus
}
#endif
#endif
